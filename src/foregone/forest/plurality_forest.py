"""PluralityForest: a fitted forest of any number of classes, run in full or until a strategy stops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.plurality_run import add_class_votes, run_block, run_row, run_rows
from foregone._kernels.resting_walk import fill_leaf_matrix
from foregone._system.atomic_file import PathLike
from foregone.checks import check_seed
from foregone.forest import container
from foregone.forest.execution import Scratch, block_bytes, for_each_block
from foregone.forest.forest_file import from_parts, to_parts
from foregone.forest.importers.sklearn import MOST_CLASSES, import_classes
from foregone.forest.layout import NodeArray, find_payloads, pack
from foregone.forest.plurality_schedule import PluralitySchedule
from foregone.forest.resting import RestingTrees
from foregone.forest.rows import FLOAT32, FLOAT64, RowFormat
from foregone.forest.schedule import Order, random_order, row_bits
from foregone.plurality import PluralityStrategy
from foregone.strategy.json_file import Fields

__all__ = ["PluralityForest", "PluralityOutcome"]

KIND = "plurality forest"
_NO_CATEGORIES = np.empty(0, np.uint32)


class PluralityOutcome(NamedTuple):
    """What became of rows: the number of the class answered, how many trees were asked, and its votes."""

    answers: npt.NDArray[np.int32]
    asked: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]


class PluralityForest:
    """A forest for prediction only; each tree votes for one of the classes, by its number.

    A tree's vote is the one its own ``predict`` would give, bit for bit: values are rounded to float32
    as scikit-learn does, a tie inside a leaf is for the first class, a missing value goes where the tree
    sends it. For two classes, `PackedForest` is faster and smaller. Make one with `from_sklearn` or `load`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only. Every walk through them ends.
    n_trees, n_features : int
        Numbers of voters and of columns of the rows.
    classes : ndarray of shape (n_classes,)
        The labels.
    takes_missing : bool
        Whether rows may hold NaN.
    rows : RowFormat
        What rows it takes.

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

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        n_features: int,
        classes: npt.NDArray[Any],
        takes_missing: bool,
    ) -> None:
        self.nodes = nodes
        self.tree_start = tree_start
        self.n_trees = len(tree_start) - 1
        self.n_features = n_features
        self.classes = classes
        self.takes_missing = takes_missing
        self._prepare()

    def _prepare(self) -> None:
        for array in (self.nodes, self.tree_start):
            array.setflags(write=False)
        self.rows = RowFormat("PluralityForest", self.n_features, self.takes_missing)
        self._row_shape = (self.n_features,)
        self._resting = RestingTrees(
            self.nodes, self.tree_start, self.rows.key_bits, _NO_CATEGORIES, np.uint16
        )
        self._block_bytes = block_bytes(self.nodes.nbytes // self.n_trees, fetched_ahead=True)
        self._n_slots = min(len(self.classes), self.n_trees)  # classes that a row can have votes for
        self._schedule: PluralitySchedule | None = None  # the last one used

    @classmethod
    def from_sklearn(cls, model: Any) -> PluralityForest:
        """Pack a fitted scikit-learn model; the model itself is not kept.

        Parameters
        ----------
        model : RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier or BaggingClassifier
            Fitted on two classes or more; a bag must hold decision trees, and may have given each its own
            features.
        """
        found = import_classes(model)
        nodes, tree_start = pack(found.trees, found.n_features)
        return cls(nodes, tree_start, found.n_features, found.classes, found.takes_missing)

    @property
    def n_voters(self) -> int:
        """Number of voters: every tree is one."""
        return self.n_trees

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def nbytes(self) -> int:
        """Memory of the packed trees, in bytes, without the form of them that batches walk through."""
        return self.nodes.nbytes + self.tree_start.nbytes

    def __repr__(self) -> str:
        size = f"{self.n_trees} tree{'s' if self.n_trees > 1 else ''}, {self.n_features} features"
        return f"<PluralityForest of {size}, {self.n_classes} classes, {self.nbytes / 1e6:.3g} MB>"

    # Voting ----------------------------------------------------------------------------------

    def votes(self, X: npt.ArrayLike, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return how many of all trees vote for each class, shape (n_rows, n_classes)."""
        rows = self.rows.as_rows(X)
        counts = np.zeros((len(rows), self.n_classes), np.int32)

        def work(start: int, end: int, scratch: Scratch) -> None:
            add_class_votes(*self._resting.load(rows[start:end], scratch), counts[start:end])

        for_each_block(work, rows, self.rows, self._block_bytes, n_threads)
        return counts

    def vote_matrix(self, X: npt.ArrayLike) -> npt.NDArray[np.uint16]:
        """Return the number of the class that every tree votes for, trees in the model's order.

        Its shape is (n_rows, n_trees).
        """
        rows = self.rows.as_rows(X)
        votes = np.empty((len(rows), self.n_trees), np.uint16)

        def work(start: int, end: int, scratch: Scratch) -> None:
            block = np.empty((self.n_trees, end - start), np.uint16)
            fill_leaf_matrix(*self._resting.load(rows[start:end], scratch), block)
            votes[start:end] = block.T

        for_each_block(work, rows, self.rows, self._block_bytes, 1)
        return votes

    def order(self, seed: int, x: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Return the order in which a seed asks the trees: the shared one, or that of the row ``x``."""
        row = None if x is None else row_bits(self.rows.as_row(x))
        return random_order(self.n_trees, check_seed(seed), row)

    def run(
        self,
        X: npt.ArrayLike,
        strategy: PluralityStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
    ) -> PluralityOutcome:
        """Ask trees until the strategy stops, for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            float32 or float64 in C order is used as it is.
        strategy : PluralityStrategy or None
            For ``n_trees`` voters, and for as many different answers as there are classes, or any number.
            None asks every tree.
        seed : int
            Decides the random order of the trees, and the draws where the strategy leaves it to chance.
            A row's outcome is a function of its values and the seed, on every machine, in any batch and
            with any number of threads.
        order : {"shared", "per_row"}
            One random order for all rows, which keeps the trees in the cache, or an independent one for
            each row: several times slower, but then rows do not share their luck.
        n_threads : int, optional
            At most this many threads; by default as many as the process may use. Small work stays on one.

        Returns
        -------
        PluralityOutcome
            ``answers, asked, votes``. The answer is the leader, by its number in ``classes``; of several, the
            one that was voted for first, or if all trees were asked the first one in ``classes``. ``votes``
            is how many of the trees asked voted for it.
        """
        rows = self.rows.as_rows(X)
        n_rows = len(rows)
        if strategy is None:
            counts = self.votes(rows, n_threads=n_threads)
            leaders = counts.argmax(axis=1).astype(np.int32)
            return PluralityOutcome(leaders, np.full(n_rows, self.n_trees, np.int32), counts.max(axis=1))
        outcome = PluralityOutcome(*np.empty((3, n_rows), np.int32))
        if n_rows == 1:
            answer, n_asked, n_votes = self.run_one(rows[0], strategy, seed=seed, order=order)
            outcome.answers[0], outcome.asked[0], outcome.votes[0] = answer, n_asked, n_votes
            return outcome
        schedule = self._schedule_for(strategy, seed, order)
        common = (self.nodes, schedule.roots, schedule.rule, schedule.signed_seed, self._n_slots)

        def work(start: int, end: int, scratch: Scratch) -> None:
            parts = [part[start:end] for part in outcome]
            if schedule.order == "shared":
                loaded = self._resting.load(rows[start:end], scratch, schedule.roots)
                run_block(*common, *loaded, *parts)
            else:
                run_rows(*common, *scratch.load(rows[start:end]), *parts)

        for_each_block(work, rows, self.rows, self._block_bytes, n_threads)
        return outcome

    def run_one(
        self, x: npt.ArrayLike, strategy: PluralityStrategy, *, seed: int, order: Order = "shared"
    ) -> tuple[int, int, int]:
        """Ask trees about a single row until the strategy stops: the outcome of `run`, soonest.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Fastest as a writable, contiguous array of float32 or float64.
        strategy, seed, order
            As in `run`.

        Returns
        -------
        answer : int
            The number of the class that leads at the stop.
        asked, votes : int
            How many trees were asked, and how many of them voted for it.
        """
        schedule = self._schedule_for(strategy, seed, order)
        # Half of the time would go into checks, so they are few here, and what fails them is looked at again.
        if not (
            type(x) is np.ndarray
            and x.shape == self._row_shape
            and (x.dtype is FLOAT64 or x.dtype is FLOAT32)
            and x.flags.carray
        ):
            x = self.rows.as_row(x)
        outcome: tuple[int, int, int] = run_row(
            x,
            self.nodes,
            schedule.roots,
            schedule.rule,
            schedule.signed_seed,
            order == "per_row",
            self.rows.takes,
            self._n_slots,
        )
        if outcome[1] < 0:
            self.rows.refuse(x)
        return outcome

    def _schedule_for(self, strategy: PluralityStrategy, seed: int, order: Order) -> PluralitySchedule:
        """Return the schedule, the last one if it is the same: making one takes longer than many a run."""
        last = self._schedule
        if last is None or last.strategy is not strategy or last.seed != seed or last.order != order:
            last = PluralitySchedule.make(self.tree_start, self.n_classes, strategy, seed, order)
            self._schedule = last
        return last

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the forest to one file, atomically; `load` gives it back without scikit-learn or pickle."""
        container.write(path, KIND, *self.to_parts())

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> PluralityForest:
        """Read a forest that `save` wrote.

        Everything is checked, so that no file, damaged or made to harm, can lead a walk astray.

        Parameters
        ----------
        path : path
            Of the file.
        max_memory : float, optional
            Bytes that may be used besides 100 times the size of the file; by default 256 MiB.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or not a forest of many classes.
        """
        return cls.from_parts(*container.read(path, KIND, max_memory))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest among other things."""
        return to_parts(self.nodes, self.tree_start, self.classes, self.rows, _NO_CATEGORIES)

    @classmethod
    def from_parts(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> PluralityForest:
        """Check what `to_parts` gave and make the forest."""
        nodes, tree_start, classes, rows, _ = from_parts(fields, arrays, cls.__name__, MOST_CLASSES)
        if not rows.is_plain:
            raise fields.error("key_bits", "is of rows that forests of many classes do not take")
        found = find_payloads(nodes, tree_start, rows.n_features, 32, _NO_CATEGORIES)
        if found is None:
            raise fields.error("nodes", "do not form trees")
        if found[0].max() >= len(classes):
            raise fields.error("nodes", "vote for classes that there are not")
        return cls(nodes, tree_start, rows.n_features, classes, rows.takes_missing)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "rows" and name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
