"""ScoreRows: the scores of voters on rows, how to add them up, and how the rows are split."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from foregone.certifying import LossKind, Parts, RowLabels, RowLosses, check_costs
from foregone.checks import FloatArray, IntArray, as_float, check_order
from foregone.errors import InvalidInputError
from foregone.scores.class_scores import ClassScores
from foregone.scores.curtailing import check_bounds, curtailing
from foregone.scores.orders import foretelling_order
from foregone.scores.paths import (
    Answers,
    Scores,
    Start,
    blocks,
    check_scores,
    check_start,
    full_answers,
    paths_given,
    paths_of,
)
from foregone.scores.trial import Fits, Trial
from foregone.strategy.limits import Limits

__all__ = ["ScoreRows"]

LEARNING_SHARE_OF_LOSSES = 0.2
ORDERS = ("given", "random", "optimized")
OPTIONS = (
    "order",
    "start",
    "answers",
    "random_state",
    "bounds",
    "groups",
    "clusters",
    "drops_classes",
    "labels",
    "costs",
)


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Rows of scores, to learn thresholds from and to certify them with; an input of `plan`.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters) or (n_rows, n_voters, n_classes), or ClassScores
        What each voter adds to the sum of each row; for more than two classes, to the sum of each class. Do
        not use rows that the voters were trained on.
    start : float or array-like of float, default 0.0
        The score before the first voter; for more than two classes, one number for all or one per class.
    order : {"given", "random", "optimized"}, array-like of int or None
        The order of the voters, as in `foregone.solve_scores`; None if ``scores`` are running scores.
    answers : array-like of bool or int, shape (n_rows,), optional
        The answer that each row should get, if that is not the answer of its full sum: True for yes; for more
        than two classes, the number of a class.
    random_state : int, Generator or None
        Seeds the split into a learning and a certification half, and a random order. A generator is used
        once, so these rows are always split in the same way.
    bounds : array-like of shape (2, n_voters) or (2, n_voters, n_classes), optional
        The smallest and the largest score that each voter can give.
    groups, clusters : array-like of shape (n_rows,), optional
        Labels of the rows, as in `foregone.solve_scores`.
    drops_classes : bool
        Whether each class has separate voters, as in `foregone.solve_scores`.
    labels : array-like of bool or int, shape (n_rows,), or RowLosses, optional
        The true answers. If given, limits apply to the loss of accuracy.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[truth, answer]``. If given, limits apply to the increase of the mean cost.
    row_labels : RowLabels
        Groups and clusters, as numbers.
    losses : RowLosses
        What rows lose by other answers, in the limited quantity.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = ScoreRows(rng.normal(rng.normal(size=(800, 1)), 1, size=(800, 50)))
    >>> rows
    <ScoreRows: 800 rows, 50 voters>
    """

    scores: Scores = field(repr=False)
    start: Start = 0.0
    order: Any = "given"
    answers: Any = None
    random_state: Any = 0
    bounds: Any = None
    groups: Any = None
    clusters: Any = None
    drops_classes: bool = False
    labels: Any = None
    costs: Any = None
    row_labels: RowLabels = field(init=False, repr=False)
    losses: RowLosses = field(init=False, repr=False)
    _fits: dict[bytes, Fits] = field(init=False, repr=False, default_factory=dict)  # by order

    def __post_init__(self) -> None:
        scores = check_scores(self.scores, "paths" if self.order is None else "scores")
        n_rows, n_voters = scores.shape[:2]
        n_classes = scores.shape[2] if isinstance(scores, ClassScores) else None
        start = check_start(self.start, n_classes)
        if isinstance(start, float) != (n_classes is None):
            raise InvalidInputError(f"start must be one number for two classes, got {self.start!r}")
        if self.drops_classes and n_classes is None:
            raise InvalidInputError(
                "drops_classes (--drop-classes on the command line) needs scores of more than two classes"
            )
        checked = {
            "scores": scores,
            "start": start,
            "order": _check_order(self.order, n_voters),
            "answers": _check_answers(self.answers, n_rows, n_classes, "answers"),
            "random_state": _seed(self.random_state),
            "bounds": None if self.bounds is None else check_bounds(self.bounds, scores.shape[1:]),
            "row_labels": self.groups
            if isinstance(self.groups, RowLabels)
            else RowLabels.of(self.groups, self.clusters, n_rows),
            "losses": self.labels
            if isinstance(self.labels, RowLosses)
            else _losses_of(self.labels, self.costs, n_rows, n_classes),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.bounds is not None:
            self._check_within(self.bounds)

    def _check_within(self, bounds: FloatArray) -> None:
        """Raise if a score, or the difference of two successive running scores, is out of bounds."""
        if isinstance(self.scores, ClassScores):
            before: Any = self.start
            for voter in range(self.n_steps):
                said, (low, high) = self.scores.of_voter(voter), bounds[:, voter]
                if self.order is None:
                    low, high, before = before + low, before + high, said
                self._refuse(np.argwhere((said < low) | (said > high)), voter=voter)
            return
        for rows in blocks(self.scores.shape):
            part, (low, high) = self.scores[rows], bounds
            if self.order is None:
                before = np.column_stack([np.full(len(part), self.start), part[:, :-1]])
                low, high = before + low, before + high
            self._refuse(np.argwhere((part < low) | (part > high)), first_row=rows.start)

    def _refuse(self, outside: IntArray, *, voter: int | None = None, first_row: int = 0) -> None:
        """Raise if ``outside``, the positions of scores that are out of bounds, is not empty."""
        if len(outside):
            row, column = outside[0]
            voter = int(column) if voter is None else voter
            raise InvalidInputError(
                f"the score of voter {voter} in row {first_row + row} is out of bounds: bounds must be the "
                "smallest and the largest score that a voter can give to any row. Correct or omit them"
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @property
    def n_voters(self) -> int:
        """Number of voters; if classes have separate voters, those of all classes."""
        return self.n_steps * (self.n_classes if self.drops_classes else 1)

    @property
    def n_steps(self) -> int:
        """The largest number of steps."""
        return int(self.scores.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if isinstance(self.start, float) else len(self.start)

    @property
    def added_up(self) -> dict[str, Any]:
        """How the scores are added up, as options of `foregone.solve_scores`."""
        return {name: getattr(self, name) for name in OPTIONS}

    @cached_property
    def learning_share(self) -> float:
        """Share of the rows used for learning."""
        return share_to_learn_from(self.losses)

    @cached_property
    def halves(self) -> tuple[IntArray, IntArray]:
        """Rows for learning and rows for certification, independent of limit, order and looks.

        The learning rows for disagreement include those for losses.
        """
        rng = np.random.default_rng(self.random_state)
        return self.row_labels.split(self.n_rows, self.learning_share, rng)

    @cached_property
    def orders(self) -> tuple[IntArray, ...]:
        """The order in which voters are asked, or the candidates that the learning half chooses from."""
        given = np.arange(self.n_steps, dtype=np.int64)
        if self.order is None or isinstance(self.order, np.ndarray):
            return (given if self.order is None else self.order,)
        if self.order == "random":
            rng = np.random.default_rng([self.random_state, 1])
            return (rng.permutation(self.n_steps).astype(np.int64),)
        learning = self.halves[0]
        if self.order == "given" or len(learning) == 0:
            return (given,)
        return given, foretelling_order(self.scores[learning], self.start)

    def limits(self, given: Any) -> Limits:
        """Check a limit on the losses and return it; for costs, as a share of their unit."""
        if isinstance(given, Limits) or self.losses.costs is None:
            limits = Limits.of(given)
            if limits.by_answer and self.n_classes > 2:
                raise InvalidInputError(
                    'limits for "yes" and "no" need two classes: give one limit, because with more classes '
                    "thresholds are on the lead of any class"
                )
            return limits
        limit = as_float(given)
        if not 0 <= limit < np.inf:
            raise InvalidInputError(
                "with costs, the limit must be one number of at least 0, in the unit of the costs, got "
                f"{given!r}"
            )
        return Limits.of(min(limit / self.losses.costs.unit, 1.0))

    def losing(self, loss: LossKind) -> ScoreRows:
        """Return the same rows with limits on another loss; accuracy and costs need labels."""
        if loss == self.losses.kind:
            return self
        if loss != "disagreement" and (self.losses.truth is None or loss == "cost"):
            what = "labels" if loss == "accuracy" else "labels and costs"
            raise InvalidInputError(f"a limit on {loss} needs {what}: pass them to ScoreRows")
        return self._with(RowLosses(loss, None if loss == "disagreement" else self.losses.truth))

    def with_and_without_gains(self) -> list[ScoreRows]:
        """Return the alternatives: the rows as they are and, if losses may be negative, without gains."""
        return [self, *(self._with(losses) for losses in self.losses.with_and_without_gains()[1:])]

    def _with(self, losses: RowLosses) -> ScoreRows:
        """Return the same rows with the same split and limits on other losses."""
        same = {"halves": self.halves, "learning_share": self.learning_share}
        other = copy(self)
        for name, value in {**same, "losses": losses, "labels": losses, "costs": None}.items():
            object.__setattr__(other, name, value)
        return other

    def learning_trial(self, limits: Limits, order: IntArray, steps: IntArray) -> Trial:
        """Return the learning rows, weighted to count as many as the certification rows."""
        rows = self.halves[0]
        times = (1 - share_to_learn_from(self.losses)) / self.learning_share
        fits = self._fits.setdefault(order.tobytes(), {})
        return replace(self.trial(rows, limits, order, steps, times), fits=fits)

    def trial(
        self, rows: IntArray, limits: Limits, order: IntArray, steps: IntArray, times: float = 1.0
    ) -> Trial:
        """Return some rows to test thresholds on, with this order of voters and these steps to stop at.

        When they are judged, each row counts ``times``.
        """
        part: Any = self.scores[rows]
        drops = self.drops_classes
        if self.order is None:
            paths = paths_given(part, self.start, drops_classes=drops)
        else:
            paths = paths_of(part, order, self.start, drops_classes=drops)
        final = paths.final if self.answers is None else np.asarray(self.answers)[rows]
        labels, losses = self.row_labels.take(rows), self.losses.take(rows)
        return Trial(
            paths,
            final,
            labels,
            Parts.losing(limits, losses, final, labels),
            curtailing(self.bounds_in(order), steps, self.n_steps, self.start, drops_classes=drops),
            losses,
            times,
        )

    def bounds_in(self, order: IntArray) -> FloatArray | None:
        """Return the bounds in the order asked."""
        return None if self.bounds is None else np.asarray(self.bounds)[:, order]

    def right(self, order: IntArray) -> Answers:
        """Return the answers that rows should get: ``answers``, or else those of their full sums."""
        if self.answers is None:
            return full_answers(self.scores, order, self.start)
        return np.asarray(self.answers)

    def __repr__(self) -> str:
        classes = "" if self.n_classes == 2 else f", {self.n_classes} classes"
        return f"<ScoreRows: {self.n_rows:,} rows, {self.n_voters:,} voters{classes}>"


def _check_order(order: Any, n_voters: int) -> Any:
    if order is None or (isinstance(order, str) and order in ORDERS):
        return order
    if isinstance(order, str):
        raise InvalidInputError(
            f"order must be None, one of {', '.join(ORDERS)}, or a list of all voters, got {order!r}"
        )
    return check_order(order, n_voters)


def share_to_learn_from(losses: RowLosses) -> float:
    """Return one half, or less for accuracy and costs: they vary more, so certifying needs more rows."""
    return 0.5 if losses.kind == "disagreement" else LEARNING_SHARE_OF_LOSSES


def _losses_of(labels: Any, costs: Any, n_rows: int, n_classes: int | None) -> RowLosses:
    """Return what rows lose by other answers: accuracy or costs if labels are given, else agreement."""
    truth = _check_answers(labels, n_rows, n_classes, "labels")
    if truth is None:
        if costs is not None:
            raise InvalidInputError("costs need the true answers: pass labels as well")
        return RowLosses()
    numbers = truth.astype(np.int64)
    if costs is None:
        return RowLosses("accuracy", numbers)
    return RowLosses("cost", numbers, check_costs(costs, n_classes or 2))


def _check_answers(answers: Any, n_rows: int, n_classes: int | None, name: str) -> Answers | None:
    if answers is None:
        return None
    given = np.asarray(answers)
    if n_classes is None and (given.dtype != np.bool_ or given.shape != (n_rows,)):
        raise InvalidInputError(
            f"{name} must hold True or False for each of the {n_rows} rows, got {given.dtype} of shape "
            f"{given.shape}"
        )
    if n_classes is not None and (
        given.dtype.kind not in "iu" or given.shape != (n_rows,) or ((given < 0) | (given >= n_classes)).any()
    ):
        raise InvalidInputError(
            f"{name} must hold the number of a class, 0 to {n_classes - 1}, for each of the {n_rows} rows"
        )
    return given


def _seed(random_state: Any) -> int:
    """Return ``random_state`` itself if it is an integer, else a random seed."""
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be an integer, a numpy Generator or None, got {random_state!r}"
        ) from error
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(rng.integers(2**63))
