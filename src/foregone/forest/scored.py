"""ScoredForest: trees whose leaves carry scores, added up in full or until a strategy stops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.resting_walk import fill_leaf_matrix
from foregone._kernels.score_run import run_block, run_row_32, run_row_64
from foregone._system.atomic_file import PathLike
from foregone.errors import InvalidInputError
from foregone.forest import container
from foregone.forest.checks import row_format, score_bounds
from foregone.forest.execution import Scratch, block_bytes, for_each_block
from foregone.forest.forest_file import from_parts, to_parts
from foregone.forest.grown_elsewhere import GrownElsewhere
from foregone.forest.importers.found import ImportedScores
from foregone.forest.layout import NodeArray, pack
from foregone.forest.link import Link
from foregone.forest.resting import RestingTrees
from foregone.forest.rows import FLOAT32, FLOAT64, RowFormat
from foregone.forest.score_schedule import ScoreSchedule
from foregone.scores import ScoreStrategy
from foregone.strategy.json_file import Fields

__all__ = ["ScoreOutcome", "ScoredForest"]

KIND = "scored forest"


class ScoreOutcome(NamedTuple):
    """What became of rows: the answers (True for yes), how many trees were asked, the running score then."""

    answers: npt.NDArray[np.bool_]
    asked: npt.NDArray[np.int32]
    score: npt.NDArray[np.float64]


class ScoredForest(GrownElsewhere):
    """A two-class ensemble of trees whose scores are added up; the sum says yes if it is above 0.

    Sums are made in float64, one tree after another in the order asked, so that every result is, bit for
    bit, what the strategy says about the matrix of `scores`. Make one with `from_model` or `load`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only. Every walk through them ends.
    n_trees, n_features : int
        Numbers of voters and of columns of the rows.
    classes : ndarray of shape (2,)
        Labels for no and yes.
    start : float
        The score before the first tree.
    rows : RowFormat
        What rows it takes.
    categories : ndarray of uint32
        The sets of categories that splits send to the left.
    link : Link or None
        How a full sum becomes the source's own probability of yes; None if the source tells none.
    in_order : bool
        Whether trees are best asked in the model's order, as those of boosted models are.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(11, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest = ScoredForest.from_model(model)
    >>> strategy = ScoreStrategy.from_thresholds([-np.inf] + [-0.7] * 10 + [0], [np.inf] + [0.7] * 10 + [0])
    >>> answers, asked, score = forest.run(X, strategy)
    >>> bool(asked.mean() < 3), bool((model.predict(X) == answers).mean() > 0.98)
    (True, True)
    """

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        start: float,
        classes: npt.NDArray[Any],
        rows: RowFormat,
        categories: npt.NDArray[np.uint32],
        link: Link | None = None,
        in_order: bool = False,
    ) -> None:
        self.nodes = nodes
        self.tree_start = tree_start
        self.n_trees = len(tree_start) - 1
        self.n_features = rows.n_features
        self.classes = classes
        self.start = start
        self.rows = rows
        self.categories = categories
        self.link = link
        self.in_order = in_order
        self._bounds = score_bounds(nodes, tree_start, start, rows, categories)
        self._prepare()

    def _prepare(self) -> None:
        for array in (self.nodes, self.tree_start, self.categories):
            array.setflags(write=False)
        self._trees = (self.nodes, self.categories) if len(self.categories) else self.nodes
        self._resting = RestingTrees(
            self.nodes, self.tree_start, self.rows.key_bits, self.categories, np.float64
        )
        self._block_bytes = block_bytes(self.nodes.nbytes // self.n_trees, fetched_ahead=True)
        self._run_row = run_row_32 if self.rows.key_bits == 32 else run_row_64
        # Of a row that is ready to be run; none is, where categories have to be looked up.
        self._row_shape = None if self.rows.encodes_arrays else (self.n_features,)
        self._schedule = self._new_schedule(None)  # the last one used

    @classmethod
    def from_model(cls, model: Any) -> ScoredForest:
        """Pack a fitted two-class model; the model itself is not kept.

        Parameters
        ----------
        model : fitted classifier
            From scikit-learn RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier,
            BaggingClassifier or AdaBoostClassifier of decision trees, GradientBoostingClassifier,
            HistGradientBoostingClassifier; a classifier of LightGBM or XGBoost.
        """
        from foregone.forest.importers.by_model import import_scores

        return cls.from_imported(import_scores(model))

    @classmethod
    def from_imported(cls, found: ImportedScores) -> ScoredForest:
        """Pack what an importer found."""
        nodes, tree_start = pack(found.trees, found.n_features, found.key_bits)
        rows, categories = row_format(found, cls.__name__), np.array(found.categories, np.uint32)
        start, classes = float(found.start), np.asarray(found.classes)
        return cls(nodes, tree_start, start, classes, rows, categories, found.link, found.in_order)

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
        """Memory of the packed trees, in bytes, without the form of them that batches walk through."""
        return self.nodes.nbytes + self.tree_start.nbytes + self.categories.nbytes

    def __repr__(self) -> str:
        size = f"{self.n_trees} tree{'s' if self.n_trees > 1 else ''}, {self.n_features} features"
        return f"<ScoredForest of {size}, {self.nbytes / 1e6:.3g} MB>"

    # Adding up -------------------------------------------------------------------------------

    def scores(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return every tree's score of every row, shape (n_rows, n_trees), trees in the model's order."""
        rows = self.rows.as_rows(X)
        scores = np.empty((len(rows), self.n_trees), np.float64)

        def work(start: int, end: int, scratch: Scratch) -> None:
            block = np.empty((self.n_trees, end - start), np.float64)
            fill_leaf_matrix(*self._resting.load(rows[start:end], scratch), block)
            scores[start:end] = block.T

        for_each_block(work, rows, self.rows, self._block_bytes, 1)
        return scores

    def full_scores(self, X: npt.ArrayLike, *, n_threads: int | None = None) -> npt.NDArray[np.float64]:
        """Return the start plus the scores of all trees, added in the model's order, for each row."""
        return self.run(X, None, n_threads=n_threads).score

    def run(
        self, X: npt.ArrayLike, strategy: ScoreStrategy | None, *, n_threads: int | None = None
    ) -> ScoreOutcome:
        """Ask trees until the strategy stops, for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            float32 or float64 in C order is used as it is.
        strategy : ScoreStrategy or None
            For ``n_trees`` voters and with the same ``start``. None asks every tree, in the model's order.
        n_threads : int, optional
            At most this many threads; by default as many as the process may use. Small work stays on one.
            No result depends on it.

        Returns
        -------
        ScoreOutcome
            ``answers, asked, score``. The answer at a stop is no if the score is at most the lower
            threshold, else yes; when everyone was asked, whether the score is above 0.
        """
        rows = self.rows.as_rows(X)
        if len(rows) == 1:
            answer, n_asked, total = self._run_ready(np.array(rows[0]), strategy)
            return ScoreOutcome(np.array([answer]), np.array([n_asked], np.int32), np.array([total]))
        schedule = self._schedule_for(strategy)
        n_rows = len(rows)
        outcome = ScoreOutcome(np.empty(n_rows, np.bool_), np.empty(n_rows, np.int32), np.empty(n_rows))
        common = (self._trees, schedule.roots, schedule.lower, schedule.upper, schedule.start, schedule.ahead)

        def work(start: int, end: int, scratch: Scratch) -> None:
            loaded = self._resting.load(rows[start:end], scratch, schedule.roots)
            run_block(*common, *loaded, *(part[start:end] for part in outcome))

        for_each_block(work, rows, self.rows, self._block_bytes, n_threads)
        return outcome

    def run_one(self, x: npt.ArrayLike, strategy: ScoreStrategy | None) -> tuple[bool, int, float]:
        """Ask trees about a single row until the strategy stops: the outcome of `run`, soonest.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Fastest as a writable, contiguous array of float32 or float64.
        strategy : ScoreStrategy or None
            As in `run`.

        Returns
        -------
        answer : bool
            What the strategy answers at the stop.
        asked : int
            How many trees were asked.
        score : float
            The running score then.
        """
        # Half of the time would go into checks, so they are few here, and what fails them is looked at again.
        if not (
            type(x) is np.ndarray
            and x.shape == self._row_shape
            and (x.dtype is FLOAT64 or x.dtype is FLOAT32)
            and x.flags.carray
        ):
            x = self.rows.as_row(x)
        return self._run_ready(x, strategy)

    def _run_ready(self, x: npt.NDArray[Any], strategy: ScoreStrategy | None) -> tuple[bool, int, float]:
        """Run a row that is a writable, contiguous array of float32 or float64."""
        schedule = self._schedule
        if schedule.strategy is not strategy:
            schedule = self._schedule_for(strategy)
        outcome: tuple[bool, int, float] = self._run_row(x, self._trees, schedule.packed)
        if outcome[1] < 0:
            self.rows.refuse(x)
        return outcome

    def refuse_values(self, X: npt.ArrayLike) -> None:
        """Raise the error for values that it cannot take, without asking any tree."""
        rows = self.rows.as_rows(X)

        def work(start: int, end: int, scratch: Scratch) -> None:
            scratch.load(rows[start:end])

        for_each_block(work, rows, self.rows, self._block_bytes, 1)

    def _schedule_for(self, strategy: ScoreStrategy | None) -> ScoreSchedule:
        """Return the schedule, the last one if it is the same: making one takes longer than many a run."""
        schedule = self._schedule
        if schedule.strategy is not strategy:
            schedule = self._schedule = self._new_schedule(strategy)
        return schedule

    def _new_schedule(self, strategy: ScoreStrategy | None) -> ScoreSchedule:
        return ScoreSchedule.make(self.tree_start[:-1], self.start, self._bounds, self.rows, strategy)

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the forest to one file, atomically; `load` gives it back without the model or pickle."""
        container.write(path, KIND, *self.to_parts())

    @classmethod
    def load(cls, path: PathLike) -> ScoredForest:
        """Read a forest that `save` wrote.

        Everything is checked, so that no file, damaged or made to harm, can lead a walk astray.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or not a forest with scores.
        """
        return cls.from_parts(*container.read(path, KIND))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest among other things."""
        fields, arrays = to_parts(self.nodes, self.tree_start, self.classes, self.rows, self.categories)
        link = None if self.link is None else self.link.to_fields()
        return {**fields, "start": self.start, "link": link, "in_order": int(self.in_order)}, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> ScoredForest:
        """Check what `to_parts` gave and make the forest.

        Files from before version 3 say nothing of link and order.
        """
        nodes, tree_start, classes, rows, categories = from_parts(fields, arrays, cls.__name__)
        start = fields.number("start")
        link = Link.from_fields(fields.section("link")) if "link" in fields else None
        in_order = "in_order" in fields and bool(fields.whole("in_order", 0, 1))
        try:
            return cls(nodes, tree_start, start, classes, rows, categories, link, in_order)
        except InvalidInputError as error:
            raise fields.error("nodes", f"cannot be used: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        made = ("_trees", "_resting", "_block_bytes", "_run_row", "_row_shape", "_schedule")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
