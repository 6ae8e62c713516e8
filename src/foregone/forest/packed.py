"""PackedForest: a fitted forest as compact arrays, run in full or until a strategy stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_run import fill_vote_matrix, run_block, run_row_32, run_row_64, run_rows
from foregone._system.atomic_file import PathLike
from foregone.checks import check_seed
from foregone.errors import InvalidInputError
from foregone.forest import container
from foregone.forest.checks import row_format
from foregone.forest.execution import Scratch, block_bytes, for_each_block
from foregone.forest.forest_file import from_parts, to_parts
from foregone.forest.grown_elsewhere import GrownElsewhere
from foregone.forest.importers.found import ImportedScores
from foregone.forest.layout import NodeArray, is_sound, pack
from foregone.forest.rows import FLOAT32, FLOAT64, RowFormat, Rows
from foregone.forest.schedule import Order, Schedule, random_order, row_bits
from foregone.strategy import StoppingStrategy
from foregone.strategy.json_file import Fields

__all__ = ["PackedForest"]

Outcome = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.int32]]

KIND = "forest"


class PackedForest(GrownElsewhere):
    """A two-class forest for prediction only; each tree casts one vote, yes meaning ``classes[1]``.

    A tree's vote is the one its own ``predict`` would give, bit for bit: values are compared as its library
    does (scikit-learn rounds them to float32), a tie inside a leaf is for ``classes[0]``, a missing value
    goes where the tree sends it. Make one with `from_sklearn`, `load`, or from a forest that was grown
    elsewhere: `from_treelite`, `from_ydf`, `from_spark`, `from_ranger`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only. Every walk through them ends.
    n_trees, n_features : int
        Numbers of voters and of columns of the rows.
    classes : ndarray of shape (2,)
        Labels for no and yes.
    rows : RowFormat
        What rows it takes.
    categories : ndarray of uint32
        The sets of categories that splits send to the left.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = PackedForest.from_sklearn(RandomForestClassifier(11, random_state=0).fit(X, y))
    >>> forest.votes(X[:3])
    array([1, 0, 0], dtype=int32)
    """

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        classes: npt.NDArray[Any],
        rows: RowFormat,
        categories: npt.NDArray[np.uint32],
    ) -> None:
        self.nodes = nodes
        self.tree_start = tree_start
        self.n_trees = len(tree_start) - 1
        self.n_features = rows.n_features
        self.classes = classes
        self.rows = rows
        self.categories = categories
        self._prepare()

    def _prepare(self) -> None:
        for array in (self.nodes, self.tree_start, self.categories):
            array.setflags(write=False)
        self._trees = (self.nodes, self.categories) if len(self.categories) else self.nodes
        self._block_bytes = block_bytes(self.nodes.nbytes // self.n_trees, fetched_ahead=False)
        self._run_row = run_row_32 if self.rows.key_bits == 32 else run_row_64
        # Of a row that is ready to be run; none is, where categories have to be looked up.
        self._row_shape = None if self.rows.encodes_arrays else (self.n_features,)
        self._schedule = Schedule.make(self.tree_start, self.rows)  # the last one used

    @classmethod
    def from_sklearn(cls, model: Any) -> PackedForest:
        """Pack a fitted scikit-learn model; the model itself is not kept.

        Parameters
        ----------
        model : RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier or BaggingClassifier
            Fitted on two classes; a bag must hold decision trees, and may have given each its own features.
        """
        from foregone.forest.importers.sklearn import import_forest

        found = import_forest(model)
        nodes, tree_start = pack(found.trees, found.n_features)
        rows = RowFormat(cls.__name__, found.n_features, found.takes_missing)
        return cls(nodes, tree_start, found.classes, rows, np.empty(0, np.uint32))

    @classmethod
    def from_imported(cls, found: ImportedScores) -> PackedForest:
        """Pack what an importer found, provided that each tree has a vote: yes if its score is above 0."""
        if not found.trees_vote:
            raise InvalidInputError(
                "the trees of this model do not vote, their scores are added up: use ScoredForest instead"
            )
        nodes, tree_start = pack(found.trees, found.n_features, found.key_bits, as_votes=True)
        rows, categories = row_format(found, cls.__name__), np.array(found.categories, np.uint32)
        if not is_sound(nodes, tree_start, rows.n_features, rows.key_bits, categories):
            raise InvalidInputError("the nodes do not form trees")
        return cls(nodes, tree_start, np.asarray(found.classes), rows, categories)

    @property
    def n_voters(self) -> int:
        """Number of voters: every tree is one."""
        return self.n_trees

    @property
    def takes_missing(self) -> bool:
        """Whether rows may hold NaN."""
        return self.rows.takes_missing

    @property
    def nbytes(self) -> int:
        """Memory of the packed trees, in bytes."""
        return self.nodes.nbytes + self.tree_start.nbytes + self.categories.nbytes

    def __repr__(self) -> str:
        size = f"{self.n_trees} tree{'s' if self.n_trees > 1 else ''}, {self.n_features} features"
        return f"<PackedForest of {size}, {self.nbytes / 1e6:.3g} MB>"

    # Voting ----------------------------------------------------------------------------------

    def votes(self, X: npt.ArrayLike, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return how many of all trees vote yes, for each row."""
        return self.run(X, None, seed=0, n_threads=n_threads)[2]

    def vote_matrix(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return every tree's vote on every row, shape (n_rows, n_trees), trees in the model's order."""
        rows = self.rows.as_rows(X)
        roots = self.tree_start[:-1].copy()
        votes = np.empty((len(rows), self.n_trees), np.bool_)

        def work(start: int, end: int, scratch: Scratch) -> None:
            block = np.empty((self.n_trees, end - start), np.int32)
            fill_vote_matrix(self._trees, roots, *scratch.load(rows[start:end]), scratch.rows, block)
            votes[start:end] = block.T

        for_each_block(work, rows, self.rows, self._block_bytes, 1)
        return votes

    def order(self, seed: int, x: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Return the order in which a seed asks the trees: the shared one, or that of the row ``x``."""
        row = None if x is None else row_bits(self.rows.as_row(x), self.rows)
        return random_order(self.n_trees, check_seed(seed), row)

    def run(
        self,
        X: npt.ArrayLike,
        strategy: StoppingStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
    ) -> Outcome:
        """Ask trees until the strategy stops, for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            float32 or float64 in C order is used as it is.
        strategy : StoppingStrategy or None
            For ``n_trees`` voters. None asks every tree.
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
        answers : ndarray of bool
            What the strategy answers at the stop, True for yes. Unless it has answers of its own, that is
            whether the majority of the asked trees says yes; a tie is no.
        asked, yes : ndarray of int
            How many trees were asked, and how many of them said yes.
        """
        rows = self.rows.as_rows(X)
        if len(rows) == 1:
            answer, n_asked, n_yes = self._run_ready(np.array(rows[0]), strategy, seed, order)
            return np.array([answer]), np.array([n_asked], np.int32), np.array([n_yes], np.int32)
        schedule = self._schedule_for(strategy, seed, order)
        answers = np.empty(len(rows), np.bool_)
        asked, yes = np.empty((2, len(rows)), np.int32)
        self._run_blocks(schedule, rows, n_threads, (answers, asked, yes))
        return answers, asked, yes

    def _run_blocks(self, schedule: Schedule, X: Rows, n_threads: int | None, outcome: Outcome) -> None:
        """Fill answers, votes asked and yes votes for every row of X."""
        common = (self._trees, schedule.roots, schedule.steps, schedule.exceptions, schedule.signed_seed)

        def work(start: int, end: int, scratch: Scratch) -> None:
            keys = scratch.load(X[start:end])
            parts = [part[start:end] for part in outcome]
            if schedule.order == "shared":
                run_block(*common, *keys, scratch.rows, *parts)
            else:
                run_rows(*common, *keys, *parts)

        for_each_block(work, X, self.rows, self._block_bytes, n_threads)

    def run_one(
        self,
        x: npt.ArrayLike,
        strategy: StoppingStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
    ) -> tuple[bool, int, int]:
        """Ask trees about a single row until the strategy stops: the outcome of `run`, soonest.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Fastest as a writable, contiguous array of float32 or float64.
        strategy, seed, order
            As in `run`.

        Returns
        -------
        answer : bool
            What the strategy answers at the stop, as in `run`.
        asked, yes : int
            How many trees were asked, and how many of them said yes.
        """
        # Half of the time would go into checks, so they are few here, and what fails them is looked at again.
        if not (
            type(x) is np.ndarray
            and x.shape == self._row_shape
            and (x.dtype is FLOAT64 or x.dtype is FLOAT32)
            and x.flags.carray
        ):
            x = self.rows.as_row(x)
        return self._run_ready(x, strategy, seed, order)

    def _run_ready(
        self, x: npt.NDArray[Any], strategy: StoppingStrategy | None, seed: int, order: Order
    ) -> tuple[bool, int, int]:
        """Run a row that is a writable, contiguous array of float32 or float64, categories replaced."""
        schedule = self._schedule
        if schedule.strategy is not strategy or schedule.seed != seed or schedule.order != order:
            schedule = self._schedule_for(strategy, seed, order)
        asked, yes, answer = self._run_row(x, self._trees, schedule.packed)
        if asked < 0:
            self.rows.refuse(x)
        return answer, asked, yes

    def _schedule_for(self, strategy: StoppingStrategy | None, seed: int, order: Order) -> Schedule:
        """Return the schedule, the last one if it is the same: making one takes longer than many a run."""
        schedule = self._schedule
        if schedule.strategy is not strategy or schedule.seed != seed or schedule.order != order:
            schedule = Schedule.make(self.tree_start, self.rows, strategy, seed, order)
            self._schedule = schedule
        return schedule

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the forest to one file, atomically; `load` gives it back without scikit-learn or pickle."""
        container.write(path, KIND, *self.to_parts())

    @classmethod
    def load(cls, path: PathLike) -> PackedForest:
        """Read a forest that `save` wrote.

        Everything is checked, so that no file, damaged or made to harm, can lead a walk astray.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or not a forest.
        """
        return cls.from_parts(*container.read(path, KIND))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest among other things."""
        return to_parts(self.nodes, self.tree_start, self.classes, self.rows, self.categories)

    @classmethod
    def from_parts(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> PackedForest:
        """Check what `to_parts` gave and make the forest."""
        nodes, tree_start, classes, rows, categories = from_parts(fields, arrays, cls.__name__)
        if not is_sound(nodes, tree_start, rows.n_features, rows.key_bits, categories):
            raise fields.error("nodes", "do not form trees")
        return cls(nodes, tree_start, classes, rows, categories)

    def __getstate__(self) -> dict[str, Any]:
        made = ("_trees", "_block_bytes", "_run_row", "_row_shape", "_schedule")
        state = {name: value for name, value in self.__dict__.items() if name not in made}
        if self.rows.is_plain:  # nothing but arrays and numbers, which skops takes unasked
            del state["rows"], state["categories"]
            state["takes_missing"] = self.takes_missing
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "rows" not in state:
            plain = RowFormat(type(self).__name__, state["n_features"], state["takes_missing"])
            state = {**state, "rows": plain, "categories": np.empty(0, np.uint32)}
        self.__dict__.update(
            {name: value for name, value in state.items() if name not in ("takes_missing", "_row_shape")}
        )
        self._prepare()
