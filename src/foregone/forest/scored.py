"""ScoredForest: trees whose leaves carry scores, added up in full or until a strategy stops."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foregone._kernels.score_run import run_block, run_row_32, run_row_64
from foregone.errors import InvalidInputError
from foregone.forest.execution import Scratch
from foregone.forest.forest import Forest
from foregone.forest.importers.by_model import import_model
from foregone.forest.importers.found import Found, LeafKind
from foregone.forest.layout import NodeArray
from foregone.forest.link import Link
from foregone.forest.rows import RowFormat, Rows
from foregone.forest.schedule import Order
from foregone.forest.score_schedule import ScoreSchedule
from foregone.scores import ScoreStrategy
from foregone.strategy.json_file import Fields

__all__ = ["ScoreOutcome", "ScoredForest"]


class ScoreOutcome(NamedTuple):
    """What became of rows: the answers (True for yes), how many trees were asked, the running score then."""

    answers: npt.NDArray[np.bool_]
    asked: npt.NDArray[np.int32]
    score: npt.NDArray[np.float64]


class ScoredForest(Forest[ScoreStrategy, ScoreOutcome]):
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

    leaf = LeafKind.SCORE
    _file_kind = "scored forest"
    _row_kernels = (run_row_32, run_row_64)

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
        self.start = start
        self.link = link
        self.in_order = in_order
        super().__init__(nodes, tree_start, classes, rows, categories)

    def _prepare(self) -> None:
        super()._prepare()
        self._bounds = self._score_bounds()

    def _check(self) -> None:
        """Do nothing: the bounds of the scores are made of the leaves, and that checks them."""

    def _score_bounds(self) -> npt.NDArray[np.float64]:
        """Return the lowest and the highest score of each tree, shape (2, n_trees).

        Raises
        ------
        InvalidInputError
            If a walk could go astray, a score is not finite, or a sum could become so large that it is not.
        """
        words, first = self._payloads()
        scores = self.leaf.from_words(words)
        if not (np.isfinite(scores).all() and np.isfinite(self.start)):
            raise InvalidInputError(
                "every score must be finite, that of a leaf and that before the first tree"
            )
        bounds = np.array([np.minimum.reduceat(scores, first), np.maximum.reduceat(scores, first)])
        with np.errstate(over="ignore"):
            largest = np.abs(self.start) + np.abs(bounds).max(axis=0).sum()
        if not np.isfinite(largest):
            raise InvalidInputError("the scores are too large to be added up")
        return bounds

    @property
    def score_bounds(self) -> npt.NDArray[np.float64]:
        """The smallest and the largest score that each tree can give, shape (2, n_trees)."""
        return self._bounds.copy()

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Pack a fitted two-class model; the model itself is not kept.

        Parameters
        ----------
        model : fitted classifier
            From scikit-learn RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier,
            BaggingClassifier or AdaBoostClassifier of decision trees, GradientBoostingClassifier,
            HistGradientBoostingClassifier; a classifier of LightGBM or XGBoost.
        """
        return cls.from_imported(import_model(model, cls.leaf))

    @classmethod
    def _found_besides(cls, found: Found) -> dict[str, Any]:
        return {"start": float(found.start), "link": found.link, "in_order": found.in_order}

    @classmethod
    def _read_besides(cls, fields: Fields) -> dict[str, Any]:
        # Files from before version 3 say nothing of link and order.
        return {
            "start": fields.number("start"),
            "link": Link.from_fields(fields.section("link")) if "link" in fields else None,
            "in_order": "in_order" in fields and bool(fields.whole("in_order", 0, 1)),
        }

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest among other things."""
        fields, arrays = super().to_parts()
        link = None if self.link is None else self.link.to_fields()
        return {**fields, "start": self.start, "link": link, "in_order": int(self.in_order)}, arrays

    def scores(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return every tree's score of every row, shape (n_rows, n_trees), trees in the model's order."""
        return self._leaf_matrix(X)

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
        return self._run(X, strategy, 0, "shared", n_threads)

    def run_one(self, x: npt.ArrayLike, strategy: ScoreStrategy | None) -> tuple[bool, int, float]:
        """Ask trees about a single row until the strategy stops: the outcome of `run`, fastest.

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
        return self._run_one(x, strategy, 0, "shared")  # type: ignore[no-any-return]  # a kernel's

    def _new_schedule(self, strategy: ScoreStrategy | None, seed: int, order: Order) -> ScoreSchedule:
        return ScoreSchedule.make(self.tree_start[:-1], self.start, self._bounds, self.rows, strategy)

    def _new_outcome(self, n_rows: int) -> ScoreOutcome:
        return ScoreOutcome(np.empty(n_rows, np.bool_), np.empty(n_rows, np.int32), np.empty(n_rows))

    def _run_block(self, schedule: ScoreSchedule, block: Rows, scratch: Scratch, outcome: list[Any]) -> None:
        common = (self._trees, schedule.roots, schedule.lower, schedule.upper, schedule.start, schedule.ahead)
        run_block(*common, *self._looping.load(block, scratch, schedule.roots), *outcome)
