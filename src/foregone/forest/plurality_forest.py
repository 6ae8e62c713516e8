"""PluralityForest: a fitted forest of any number of classes, run in full or until a strategy stops."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.plurality_run import add_class_votes, run_block, run_row_32, run_row_64, run_rows
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import Device, check_device
from foregone.forest.execution import Scratch, for_each_block
from foregone.forest.gpu_jobs import class_votes_job
from foregone.forest.importers.found import MOST_CLASSES, LeafKind
from foregone.forest.plurality_schedule import PluralitySchedule
from foregone.forest.rows import Rows
from foregone.forest.schedule import Order, Record
from foregone.forest.voting_forest import VotingForest
from foregone.plurality import PluralityStrategy

__all__ = ["PluralityForest", "PluralityOutcome"]


class PluralityOutcome(NamedTuple):
    """Outcome of a run: each row's answer (the number of a class), trees asked, and votes for the answer."""

    answers: npt.NDArray[np.int32]
    asked: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]


class PluralityForest(VotingForest[PluralityStrategy, PluralityOutcome, int]):
    """A forest for prediction only; each tree votes for one of the classes, by its number.

    A tree's vote is exactly the one its own ``predict`` would give: values are compared as its library
    compares them (scikit-learn rounds them to float32), a tie inside a leaf goes to the first class, and a
    missing value goes where the tree sends it. For two classes, `PackedForest` is faster and smaller. Make
    one with `from_sklearn` or `load`, or from a model of another library: `from_treelite`, `from_ydf`,
    `from_spark`, `from_ranger`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only, and checked: every walk through them ends.
    n_trees, n_features : int
        Number of voters, and of columns in each row.
    classes : ndarray of shape (n_classes,)
        The labels.
    takes_missing : bool
        Whether rows may hold NaN.
    rows : RowFormat
        Format of the rows it accepts.
    categories : ndarray of uint32
        The sets of categories that splits send left.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = PluralityForest.from_sklearn(RandomForestClassifier(11, random_state=0).fit(X, y))
    >>> forest.votes(X[[0, 50, 70]])
    array([[11,  0,  0],
           [ 0, 11,  0],
           [ 0,  5,  6]], dtype=int32)
    """

    _leaf = LeafKind.CLASS
    _file_kind = "plurality forest"
    _most_classes = MOST_CLASSES
    _row_kernels = (run_row_32, run_row_64)
    _rows_in_full = 0  # rows that all trees were asked about

    def _check(self) -> None:
        numbers, _ = self._payloads()
        if numbers.max() >= self.n_classes:
            raise InvalidInputError("a leaf votes for an unknown class: the model or file is damaged")

    def votes(
        self, X: npt.ArrayLike, *, n_threads: int | None = None, device: Device = "cpu"
    ) -> npt.NDArray[np.int32]:
        """Return the number of votes for each class, shape (n_rows, n_classes); all trees are asked."""
        if check_device(device) == "cuda":
            counts_there: npt.NDArray[np.int32] = self._count_on_gpu(X)[0]
            return counts_there
        rows = self.rows.as_rows(X)
        counts = np.zeros((len(rows), self.n_classes), np.int32)
        self._rows_in_full += len(rows)
        record = Record(self._rows_in_full, 1, self.n_trees)

        def work(start: int, end: int, scratch: Scratch) -> None:
            loaded = self._batch.load(rows[start:end], scratch, None, record)
            add_class_votes(loaded.batch, loaded.shift, *loaded.lists, counts[start:end])

        for_each_block(work, rows, self.rows, self._block_bytes, n_threads)
        return counts

    def _count_on_gpu(self, X: Any) -> list[Any]:
        """Return the votes for each class, the leader, the number of trees, and the leader's votes."""
        return self._on_gpu().run(X, "all votes", partial(class_votes_job, n_classes=self.n_classes))

    def vote_matrix(self, X: npt.ArrayLike, *, device: Device = "cpu") -> npt.NDArray[np.uint16]:
        """Return every tree's vote on every row, as the number of a class; trees are in the model's order.

        The shape is (n_rows, n_trees).
        """
        return self._leaf_matrix(X, device)

    def _run(
        self,
        X: Any,
        strategy: PluralityStrategy | None,
        seed: int,
        order: Order,
        n_threads: int | None,
        device: Device = "cpu",
    ) -> PluralityOutcome:
        if strategy is not None:
            return super()._run(X, strategy, seed, order, n_threads, device)
        if check_device(device) == "cuda":
            return PluralityOutcome(*self._count_on_gpu(X)[1:])
        counts = self.votes(X, n_threads=n_threads)
        asked = np.full(len(counts), self.n_trees, np.int32)
        return PluralityOutcome(counts.argmax(axis=1).astype(np.int32), asked, counts.max(axis=1))

    def _new_schedule(self, strategy: PluralityStrategy | None, seed: int, order: Order) -> PluralitySchedule:
        if strategy is None:
            raise InvalidInputError("run_one needs a strategy here: to ask every tree, use run or votes")
        return PluralitySchedule.make(self.tree_start, self.n_classes, strategy, seed, order, self.rows)

    def _new_outcome(self, n_rows: int) -> PluralityOutcome:
        return PluralityOutcome(*np.empty((3, n_rows), np.int32))

    @staticmethod
    def _as_outcome(parts: list[Any]) -> PluralityOutcome:
        return PluralityOutcome(*parts)

    def _run_block(
        self, schedule: PluralitySchedule, block: Rows, scratch: Scratch, outcome: list[Any]
    ) -> None:
        roots, rule = schedule.roots, (schedule.rule, schedule.signed_seed, schedule.n_slots)
        if schedule.own_orders:
            run_rows(self._trees, roots[0], *rule, *scratch.load(block), *outcome)
        else:
            loaded = self._batch.load(block, scratch, roots, schedule.record)
            dealt = schedule.deal(loaded, len(block), self.n_features)
            run_block(*rule, *loaded[:-1], *dealt, *loaded.lists, *outcome)
