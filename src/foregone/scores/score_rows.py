"""ScoreRows: the scores of voters on rows, how they are to be added up, and how the rows are divided."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
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
from foregone.scores.trial import Trial
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
    """Rows that thresholds on a running score are learned from and certified with, as `plan` takes them.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters) or (n_rows, n_voters, n_classes), or ClassScores
        What each voter adds to the sum of each row; of more than two classes, to that of each class. The rows
        must not be those that the voters were trained on.
    start : float or array-like of float, default 0.0
        The score before the first voter; of more than two classes, one for all or one for each.
    order : {"given", "random", "optimized"}, array-like of int or None
        In which order voters are asked, as in `foregone.solve_scores`; None if ``scores`` are running scores.
    answers : array-like of bool or int, shape (n_rows,), optional
        What each row is to be answered with, where that is not what its full sum says: True for yes; of more
        than two classes, the number of one.
    random_state : int, Generator or None
        Draws the halves to learn from and to certify with, and a random order. A generator is used once: all
        that is done with these rows is done with the same halves.
    bounds : array-like of shape (2, n_voters) or (2, n_voters, n_classes), optional
        The smallest and the largest score that each voter can give.
    groups, clusters : array-like of shape (n_rows,), optional
        Labels of the rows, as in `foregone.solve_scores`.
    drops_classes : bool
        Whether each class has voters of its own, as in `foregone.solve_scores`.
    labels : array-like of bool or int, shape (n_rows,), or RowLosses, optional
        The true answers. With them limits are on the loss of accuracy.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[truth, answer]``: with them limits are on the rise of the mean cost.
    row_labels : RowLabels
        Groups and clusters, as numbers.
    losses : RowLosses
        What rows lose by other answers, of what is limited.

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

    def __post_init__(self) -> None:
        scores = check_scores(self.scores, "paths" if self.order is None else "scores")
        n_rows, n_voters = scores.shape[:2]
        n_classes = scores.shape[2] if isinstance(scores, ClassScores) else None
        start = check_start(self.start, n_classes)
        if isinstance(start, float) != (n_classes is None):
            raise InvalidInputError("start must be one number, where a voter gives one number")
        if self.drops_classes and n_classes is None:
            raise InvalidInputError(
                "drops_classes is for scores of more than two classes; on the command line, --drop-classes"
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
        """Raise if a score, or the step from one running score to the next, is outside of its bounds."""
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
        """Raise if there is a score outside of its bounds, by the places of those that are."""
        if len(outside):
            row, column = outside[0]
            voter = int(column) if voter is None else voter
            raise InvalidInputError(
                f"the score of voter {voter} in row {first_row + row} is outside of its bounds: give the "
                "smallest and the largest score that each voter can give to any row, or leave bounds out"
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @property
    def n_voters(self) -> int:
        """Number of voters; where each class has its own, those of all classes."""
        return self.n_steps * (self.n_classes if self.drops_classes else 1)

    @property
    def n_steps(self) -> int:
        """How often someone is asked at most."""
        return int(self.scores.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if isinstance(self.start, float) else len(self.start)

    @property
    def added_up(self) -> dict[str, Any]:
        """How they are added up, as options of `foregone.solve_scores`."""
        return {name: getattr(self, name) for name in OPTIONS}

    @cached_property
    def learning_share(self) -> float:
        """The share of the rows to learn from."""
        return share_to_learn_from(self.losses)

    @cached_property
    def halves(self) -> tuple[IntArray, IntArray]:
        """Rows to learn from, and rows to certify with; the same whatever the limit, order and looks.

        Those to learn disagreement from include those to learn losses from.
        """
        rng = np.random.default_rng(self.random_state)
        return self.row_labels.split(self.n_rows, self.learning_share, rng)

    @cached_property
    def orders(self) -> tuple[IntArray, ...]:
        """The order in which voters are asked, or those from which the learning half shall choose."""
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
        """Check a limit on what the losses are of; of costs, return it as a share of their unit."""
        if isinstance(given, Limits) or self.losses.costs is None:
            limits = Limits.of(given)
            if limits.by_answer and self.n_classes > 2:
                raise InvalidInputError(
                    'limits for "yes" and "no" are for two classes: of more, the lead is followed without '
                    "regard to who leads. Give one limit"
                )
            return limits
        limit = as_float(given)
        if not 0 <= limit < np.inf:
            raise InvalidInputError(
                "with costs there is one limit, a number of at least 0 in the unit of the costs, not "
                f"{given!r}"
            )
        return Limits.of(min(limit / self.losses.costs.unit, 1.0))

    def losing(self, loss: LossKind) -> ScoreRows:
        """Return the same rows with limits on this; accuracy and costs take labels."""
        if loss == self.losses.kind:
            return self
        if loss != "disagreement" and (self.losses.truth is None or loss == "cost"):
            what = "labels" if loss == "accuracy" else "labels and costs"
            raise InvalidInputError(f"a limit on {loss} takes {what}, which these rows do not have")
        return self._with(RowLosses(loss, None if loss == "disagreement" else self.losses.truth))

    def with_and_without_gains(self) -> list[ScoreRows]:
        """Return them as they are and, if a loss may be a gain, without gains: there is a choice."""
        return [self, *(self._with(losses) for losses in self.losses.with_and_without_gains()[1:])]

    def _with(self, losses: RowLosses) -> ScoreRows:
        """Return the same rows, divided in the same way, with limits on other losses."""
        same = {"halves": self.halves, "learning_share": self.learning_share}
        other = copy(self)
        for name, value in {**same, "losses": losses, "labels": losses, "costs": None}.items():
            object.__setattr__(other, name, value)
        return other

    def learning_trial(self, limits: Limits, order: IntArray, steps: IntArray) -> Trial:
        """Return the rows to learn from, judged as if they were as many as there will be to certify with."""
        rows = self.halves[0]
        times = (1 - share_to_learn_from(self.losses)) / self.learning_share
        return self.trial(rows, limits, order, steps, times)

    def trial(
        self, rows: IntArray, limits: Limits, order: IntArray, steps: IntArray, times: float = 1.0
    ) -> Trial:
        """Return some rows to try thresholds on, with voters asked in this order, stopped at these steps.

        Where they are judged, each counts ``times``.
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
        """Return what rows are to be answered with: ``answers``, or else what their full sums say."""
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
            f"order must be None, one of {', '.join(ORDERS)}, or a row of voters, got {order!r}"
        )
    return check_order(order, n_voters)


def share_to_learn_from(losses: RowLosses) -> float:
    """Return a half, but less of accuracy and costs: they vary so much that certifying is what takes rows."""
    return 0.5 if losses.kind == "disagreement" else LEARNING_SHARE_OF_LOSSES


def _losses_of(labels: Any, costs: Any, n_rows: int, n_classes: int | None) -> RowLosses:
    """Return what rows lose by other answers: given the truth, accuracy or costs, else agreement."""
    truth = _check_answers(labels, n_rows, n_classes, "labels")
    if truth is None:
        if costs is not None:
            raise InvalidInputError("costs are of answers to known truths: give labels, too")
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
    """Return the number itself, or one that is drawn."""
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be an integer, a numpy Generator or None, got {random_state!r}"
        ) from error
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(rng.integers(2**63))
