"""ScoredForest: trees whose leaves hold scores, added up in full or until a strategy stops."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foregone._kernels import class_score_run
from foregone._kernels.score_run import run_block, run_row_32, run_row_64
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import Device, beside, to_host
from foregone.forest.execution import Scratch
from foregone.forest.forest import Forest
from foregone.forest.gpu_jobs import Job, job_for
from foregone.forest.gpu_trees import GpuTrees
from foregone.forest.importers.by_model import import_model
from foregone.forest.importers.found import MOST_CLASSES, Found, LeafKind
from foregone.forest.layout import NodeArray
from foregone.forest.leaf_table import share_leaves, vote_leaves
from foregone.forest.link import Link
from foregone.forest.rows import RowFormat, Rows
from foregone.forest.schedule import Order
from foregone.forest.score_schedule import ScoreSchedule
from foregone.scores import ClassScores, ScoreStrategy
from foregone.scores.paths import Scores, Start
from foregone.strategy.json_file import Fields

__all__ = ["ScoreOutcome", "ScoredForest"]


class ScoreOutcome(NamedTuple):
    """Outcome of a run: the answers, the numbers of voters asked, and the running scores at the stop.

    For two classes, answers are True for yes and a row has one score. For more, answers are numbers of
    classes and a row has one score per class, ``-inf`` if the class was dropped.
    """

    answers: npt.NDArray[Any]
    asked: npt.NDArray[np.int32]
    score: npt.NDArray[np.float64]


class ScoredForest(Forest[ScoreStrategy, ScoreOutcome]):
    """An ensemble of trees whose scores are added up.

    For two classes there is one sum, and the answer is yes if it is above 0. For more, every class has a sum,
    and the answer is the class with the largest (the first of several). A tree has a score for each class, or
    each class has separate trees. In the latter case a round asks one tree of each class, and a class that
    trails too far is dropped: its trees are asked no more.

    Sums are computed in float64, voter by voter in the order asked, so every result is bit for bit the
    strategy's result on the matrix of `scores`. Make one with `from_model` or `load`.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only, and checked: every walk through them ends.
    n_trees, n_features : int
        Number of voters, and of columns in each row.
    classes : ndarray of shape (n_classes,)
        The labels; for two classes, those of no and yes.
    start : float or ndarray of shape (n_classes,)
        The score before the first tree; for more than two classes, one per class.
    rows : RowFormat
        Format of the rows it accepts.
    categories : ndarray of uint32
        The sets of categories that splits send left.
    link : Link or None
        How full sums are turned into the model's probabilities; None if the model has none.
    in_order : bool
        Whether trees are best asked in the model's order, as in boosted models.
    trees_a_round : int
        1, or the number of classes if each has separate trees: those of a round are adjacent.
    table : ndarray of float or None
        If a tree has a score for each of many classes: the scores that the numbers in its leaves refer to,
        see `foregone.forest.leaf_table.share_leaves`.
    adds_votes : bool
        Whether the score of a class is its number of votes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer, load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(11, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest = ScoredForest.from_model(model)
    >>> strategy = ScoreStrategy.from_thresholds([-np.inf] + [-0.7] * 10 + [0], [np.inf] + [0.7] * 10 + [0])
    >>> answers, asked, score = forest.run(X, strategy)
    >>> bool(asked.mean() < 3), bool((model.predict(X) == answers).mean() > 0.98)
    (True, True)

    Three classes:

    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(11, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest = ScoredForest.from_model(model)
    >>> strategy = ScoreStrategy.from_thresholds(None, [np.inf] + [1.5] * 10 + [0], start=[0, 0, 0])
    >>> answers, asked, score = forest.run(X, strategy)
    >>> bool(asked.mean() < 4), bool((model.predict(X) == answers).mean() > 0.98), score.shape
    (True, True, (150, 3))
    """

    _leaf = LeafKind.SCORE
    _file_kind = "scored forest"
    _most_classes = MOST_CLASSES
    _row_kernels = (run_row_32, run_row_64)

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        start: Start,
        classes: npt.NDArray[Any],
        rows: RowFormat,
        categories: npt.NDArray[np.uint32],
        link: Link | None = None,
        in_order: bool = False,
        trees_a_round: int = 1,
        table: npt.NDArray[Any] | None = None,
        adds_votes: bool = False,
    ) -> None:
        self.start = start
        self.link = link
        self.in_order = in_order
        self.trees_a_round = trees_a_round
        self.table = table
        self.adds_votes = adds_votes
        super().__init__(nodes, tree_start, classes, rows, categories)

    def _prepare(self) -> None:
        super()._prepare()
        if self.adds_by_class:
            self._run_row = (class_score_run.run_row_32, class_score_run.run_row_64)[self.rows.key_bits == 64]
        if self.table is not None:
            self.table.setflags(write=False)
        self._bounds = self._score_bounds()

    @property
    def leaf(self) -> LeafKind:
        """What a leaf holds."""
        return LeafKind.SCORE if self.table is None else LeafKind.SCORES

    @property
    def adds_by_class(self) -> bool:
        """Whether every class has a sum; otherwise two classes share one."""
        return not isinstance(self.start, float)

    @property
    def n_steps(self) -> int:
        """The largest number of steps: one tree each, or one per class if classes have separate trees."""
        return self.n_trees // self.trees_a_round

    @property
    def drops_classes(self) -> bool:
        """Whether each class has separate trees, so that a class can be dropped."""
        return self.trees_a_round > 1

    @property
    def nbytes(self) -> int:
        """Memory of the packed trees and the table of their scores, in bytes.

        Batches use a copy of the trees in another format, which takes up to twice as much as the trees.
        """
        return super().nbytes + (0 if self.table is None else self.table.nbytes)

    def _check(self) -> None:
        """Do nothing: `_score_bounds` checks the leaves."""

    def _score_bounds(self) -> npt.NDArray[np.float64]:
        """Return the smallest and the largest score that each step can add.

        Raises
        ------
        InvalidInputError
            If a walk could leave its tree, a score is not finite, or a sum could overflow.
        """
        words, first = self._payloads()
        if self.table is not None and words.max() >= len(self.table):
            raise InvalidInputError("a leaf refers to a missing line of scores: the model or file is damaged")
        said = self.leaf.from_words(words)
        known = said if self.table is None else self.table
        if not (np.isfinite(known).all() and np.isfinite(self.start).all()):
            raise InvalidInputError("the scores of all leaves and the start must be finite")
        if self.table is not None:
            bounds = self._table_bounds(said, first)
        else:
            bounds = np.array([np.minimum.reduceat(said, first), np.maximum.reduceat(said, first)])
            if self.adds_by_class:
                bounds = bounds.reshape(2, -1, self.n_classes)
        with np.errstate(over="ignore"):
            largest = np.abs(self.start) + np.abs(bounds).max(axis=0).sum(axis=0)
        if not np.isfinite(largest).all():
            raise InvalidInputError("the scores are too large: their sum could overflow a float64")
        return bounds

    def _table_bounds(
        self, numbers: npt.NDArray[np.uint32], first: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return the same if leaves hold line numbers: shape (2, n_trees, n_classes)."""
        assert self.table is not None
        bounds = np.zeros((2, self.n_trees, self.n_classes))
        for tree, own in enumerate(np.split(numbers, first[1:])):
            different = np.unique(own)
            if self.table.ndim == 1:
                bounds[1, tree, different] = self.table[different]
                if len(different) == 1:  # whatever the row
                    bounds[0, tree, different] = self.table[different]
            else:
                lines = self.table[different]
                bounds[:, tree] = lines.min(axis=0), lines.max(axis=0)
        return bounds

    @property
    def score_bounds(self) -> npt.NDArray[np.float64]:
        """The smallest and the largest score that each step can add.

        The shape is (2, n_steps), or (2, n_steps, n_classes) for more than two classes.
        """
        return self._bounds.copy()

    @classmethod
    def from_model(cls, model: Any, *, of_votes: bool = False) -> Self:
        """Pack a fitted model of any number of classes; the model itself is not kept.

        Parameters
        ----------
        model : fitted classifier
            From scikit-learn RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier,
            BaggingClassifier or AdaBoostClassifier of decision trees, GradientBoostingClassifier,
            HistGradientBoostingClassifier; a classifier of LightGBM, XGBoost or CatBoost.
        of_votes : bool
            Whether each tree adds 1 to the class it votes for, instead of its scores. Only for more than two
            classes and trees that vote.
        """
        found = import_model(model, LeafKind.CLASS if of_votes else cls._leaf)
        if not of_votes:
            return cls.from_imported(found)
        if len(found.classes) == 2:
            raise InvalidInputError("of_votes=True needs more than two classes: for two, use PackedForest")
        numbered, table = vote_leaves(found)
        link = Link("mean", 1 / sum(1 for _ in found.trees()))
        numbered = numbered._replace(link=link, start=np.zeros(len(found.classes)))
        return cls._packed_as(LeafKind.SCORES, numbered, table=table, adds_votes=True)

    @classmethod
    def _packed(cls, found: Found) -> Self:
        if len(found.classes) == 2 or found.trees_a_round > 1:
            return super()._packed(found)
        numbered, table = share_leaves(found)
        return cls._packed_as(LeafKind.SCORES, numbered, table=table)

    @classmethod
    def _found_besides(cls, found: Found) -> dict[str, Any]:
        n_classes = len(found.classes)
        many = np.broadcast_to(np.asarray(found.start, np.float64), (n_classes,)).copy()
        return {
            "start": float(found.start) if n_classes == 2 else many,
            "link": found.link,
            "in_order": found.in_order,
            "trees_a_round": found.trees_a_round,
        }

    @classmethod
    def _read_besides(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
        # Files before version 3 have neither link nor order, those before 5 hold two classes only.
        n_classes, table = len(fields.entries("classes")), arrays.get("table")
        if table is not None and (
            table.dtype not in (np.float32, np.float64) or table.shape[-1:] != (n_classes,) or table.ndim > 2
        ):
            raise fields.error("table", "must hold lines with one score per class")
        a_voter = fields.whole("trees_a_round", 1) if "trees_a_round" in fields else 1
        n_trees = fields.whole("n_trees", 1)
        by_class = n_classes > 2
        if a_voter not in (1, n_classes) or n_trees % a_voter or by_class == (a_voter == 1 and table is None):
            raise fields.error("trees_a_round", "must be 1 or the number of classes, and fit the table")
        return {
            "start": fields.numbers("start", n_classes) if by_class else fields.number("start"),
            "link": Link.from_fields(fields.section("link")) if "link" in fields else None,
            "in_order": "in_order" in fields and bool(fields.whole("in_order", 0, 1)),
            "trees_a_round": a_voter,
            "table": table,
            "adds_votes": "adds_votes" in fields and bool(fields.whole("adds_votes", 0, 1)),
        }

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest and more."""
        fields, arrays = super().to_parts()
        besides = {
            "start": self.start if isinstance(self.start, float) else self.start.tolist(),
            "link": None if self.link is None else self.link.to_fields(),
            "in_order": int(self.in_order),
            "trees_a_round": self.trees_a_round,
            "adds_votes": int(self.adds_votes),
        }
        return {**fields, **besides}, arrays if self.table is None else {**arrays, "table": self.table}

    def scores(self, X: npt.ArrayLike, *, device: Device = "cpu") -> npt.NDArray[np.float64]:
        """Return every tree's score for every row; trees are in the model's order.

        The shape is (n_rows, n_trees), or (n_rows, n_steps, n_classes) for more than two classes.
        """
        known = self.compact_scores(X, device=device)
        if not isinstance(known, ClassScores):
            return known
        voters = [known.of_voter(voter) for voter in range(self.n_steps)]
        scores = np.stack(voters, axis=1).astype(np.float64, copy=False)
        return beside(X, scores) if device == "cuda" else scores

    def compact_scores(self, X: npt.ArrayLike, *, device: Device = "cpu") -> Scores:
        """Return the same; for many classes as `ClassScores`, which are compact and in host memory."""
        said = self._leaf_matrix(X, device)
        if device == "cuda" and self.adds_by_class:
            said = to_host(said)
        if not self.adds_by_class:
            return said
        if self.table is None:
            return ClassScores(None, said.reshape(len(said), self.n_steps, self.n_classes))
        table = np.diag(self.table) if self.table.ndim == 1 else self.table
        return ClassScores(said, table.astype(np.float64))

    def full_scores(
        self, X: npt.ArrayLike, *, n_threads: int | None = None, device: Device = "cpu"
    ) -> npt.NDArray[np.float64]:
        """Return the full sum for each row: the start plus the scores of all trees, in the model's order.

        For more than two classes there is one per class: the shape is (n_rows, n_classes).
        """
        return self.run(X, None, n_threads=n_threads, device=device).score

    def run(
        self,
        X: npt.ArrayLike,
        strategy: ScoreStrategy | None,
        *,
        n_threads: int | None = None,
        device: Device = "cpu",
    ) -> ScoreOutcome:
        """Ask trees until the strategy stops, for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            float32 or float64 in C order is used as it is.
        strategy : ScoreStrategy or None
            For ``n_trees`` voters and the same ``start``. None asks every tree, in the model's order.
        n_threads : int, optional
            Maximum number of threads; by default all cores of the process. Small batches use one. No result
            depends on it.
        device : {"cpu", "cuda"}
            Where trees are run, see docs/gpu.md. With "cuda", rows may be in GPU memory, and outcomes are
            returned in the same memory as the rows. No result depends on it.

        Returns
        -------
        ScoreOutcome
            ``answers, asked, score``. For two classes, the answer at a stop is no if the score is at most the
            lower threshold, else yes; after all trees, yes if the score is above 0. For more, the answer is
            the number of the leading class.
        """
        return self._run(X, strategy, 0, "shared", n_threads, device)

    def run_one(self, x: npt.ArrayLike, strategy: ScoreStrategy | None) -> tuple[int, int, Start]:
        """Ask trees about a single row until the strategy stops: same outcome as `run`, lower latency.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            A writable, contiguous array of float32 or float64 is fastest.
        strategy : ScoreStrategy or None
            As in `run`.

        Returns
        -------
        answer : bool or int
            The strategy's answer at the stop; for more than two classes, the number of a class.
        asked : int
            How many trees were asked.
        score : float or ndarray
            The running score at the stop; for more than two classes, one per class.
        """
        return self._run_one(x, strategy, 0, "shared")  # type: ignore[no-any-return]  # a kernel's

    def _new_schedule(self, strategy: ScoreStrategy | None, seed: int, order: Order) -> ScoreSchedule:
        roots = self.tree_start[:-1].reshape(self.n_steps, self.trees_a_round)
        return ScoreSchedule.make(roots, self.start, self._bounds, self.table, self.rows, strategy)

    def _new_outcome(self, n_rows: int) -> ScoreOutcome:
        answers: npt.NDArray[Any] = np.empty(n_rows, np.int32 if self.adds_by_class else np.bool_)
        return ScoreOutcome(answers, np.empty(n_rows, np.int32), np.empty((n_rows, *np.shape(self.start))))

    @staticmethod
    def _as_outcome(parts: list[Any]) -> ScoreOutcome:
        return ScoreOutcome(*parts)

    def _gpu_job(self, trees: GpuTrees, schedule: Any) -> Job:
        return job_for(trees, schedule, self.table, self.trees_a_round)

    def _run_block(self, schedule: ScoreSchedule, block: Rows, scratch: Scratch, outcome: list[Any]) -> None:
        loaded = self._batch.load(block, scratch, schedule.roots, schedule.record)
        walks = (loaded.batch, loaded.shift, *loaded.lists)
        if self.adds_by_class:
            by_lead = (schedule.upper, schedule.start, self.trees_a_round)
            class_score_run.run_block(self.table, *by_lead, *walks, *outcome)
        else:
            run_block(schedule.lower, schedule.upper, schedule.start, *walks, *outcome)
