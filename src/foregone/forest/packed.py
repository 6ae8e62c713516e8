"""PackedForest: a fitted forest as compact arrays, run in full or until a strategy stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_run import run_block, run_row_32, run_row_64, run_rows
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import Device
from foregone.forest.execution import Scratch
from foregone.forest.importers.found import LeafKind
from foregone.forest.layout import is_sound
from foregone.forest.rows import Rows
from foregone.forest.schedule import Order, Schedule
from foregone.forest.voting_forest import VotingForest
from foregone.strategy import StoppingStrategy

__all__ = ["PackedForest"]

Outcome = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.int32]]


class PackedForest(VotingForest[StoppingStrategy, Outcome, bool]):
    """A two-class forest for prediction only; each tree casts one vote, yes meaning ``classes[1]``.

    A tree's vote is exactly the one its own ``predict`` would give: values are compared as its library
    compares them (scikit-learn rounds them to float32), a tie inside a leaf goes to ``classes[0]``, and a
    missing value goes where the tree sends it. Make one with `from_sklearn` or `load`, or from a model of
    another library: `from_treelite`, `from_ydf`, `from_spark`, `from_ranger`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only, and checked: every walk through them ends.
    n_trees, n_features : int
        Number of voters, and of columns in each row.
    classes : ndarray of shape (2,)
        Labels for no and yes.
    rows : RowFormat
        Format of the rows it accepts.
    categories : ndarray of uint32
        The sets of categories that splits send left.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = PackedForest.from_sklearn(RandomForestClassifier(11, random_state=0).fit(X, y))
    >>> forest.votes(X[:3])
    array([1, 0, 0], dtype=int32)
    """

    _leaf = LeafKind.VOTE
    _file_kind = "forest"
    _row_kernels = (run_row_32, run_row_64)

    def _check(self) -> None:
        if not is_sound(self.nodes, self.tree_start, self.n_features, self.rows.key_bits, self.categories):
            raise InvalidInputError("the nodes do not form valid trees: the model or file is damaged")

    def votes(
        self, X: npt.ArrayLike, *, n_threads: int | None = None, device: Device = "cpu"
    ) -> npt.NDArray[np.int32]:
        """Return the number of trees that vote yes, for each row; all trees are asked."""
        return self.run(X, None, seed=0, n_threads=n_threads, device=device)[2]

    def vote_matrix(self, X: npt.ArrayLike, *, device: Device = "cpu") -> npt.NDArray[np.bool_]:
        """Return every tree's vote on every row, shape (n_rows, n_trees), trees in the model's order."""
        return self._leaf_matrix(X, device)

    def _new_schedule(self, strategy: StoppingStrategy | None, seed: int, order: Order) -> Schedule:
        return Schedule.make(self.tree_start, self.rows, strategy, seed, order)

    def _new_outcome(self, n_rows: int) -> Outcome:
        return np.empty(n_rows, np.bool_), np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)

    @staticmethod
    def _as_outcome(parts: list[Any]) -> Outcome:
        answers, asked, yes = parts
        return answers, asked, yes

    def _run_block(self, schedule: Schedule, block: Rows, scratch: Scratch, outcome: list[Any]) -> None:
        rule = (schedule.steps, schedule.exceptions, schedule.signed_seed)
        if schedule.own_orders:
            run_rows(self._trees, schedule.roots[0], *rule, *scratch.load(block), *outcome)
        else:
            loaded = self._batch.load(block, scratch, schedule.roots, schedule.record)
            dealt = schedule.deal(loaded, len(block), self.n_features)
            run_block(*rule, *loaded[:-1], *dealt, *loaded.lists, *outcome)
