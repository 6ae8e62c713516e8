"""ScoreRows: the scores of voters on rows, how they are to be added up, and how the rows are divided."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from foregone.certifying import Parts, RowLabels
from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.scores.curtailing import check_bounds, curtailing
from foregone.scores.paths import (
    check_order,
    check_scores,
    check_start,
    foretelling_order,
    full_answers,
    running_scores,
)
from foregone.scores.trial import Trial
from foregone.strategy.limits import Limits

__all__ = ["ScoreRows"]

ORDERS = ("given", "random", "optimized")
OPTIONS = ("order", "start", "answers", "random_state", "bounds", "groups", "clusters")


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Rows that thresholds on a running score are learned from and certified with, as `plan` takes them.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters)
        What each voter adds to the sum of each row. The rows must not be those that the voters were trained
        on.
    start : float, default 0.0
        The score before the first voter.
    order : {"given", "random", "optimized"}, array-like of int or None
        In which order voters are asked, as in `foregone.solve_scores`; None if ``scores`` are running scores.
    answers : array-like of bool, shape (n_rows,), optional
        What each row is to be answered with, where that is not what its full sum says.
    random_state : int, Generator or None
        Draws the halves to learn from and to certify with, and a random order. A generator is used once: all
        that is done with these rows is done with the same halves.
    bounds : array-like of shape (2, n_voters), optional
        The smallest and the largest score that each voter can give.
    groups, clusters : array-like of shape (n_rows,), optional
        Labels of the rows, as in `foregone.solve_scores`.
    labels : RowLabels
        Both, as numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = ScoreRows(rng.normal(rng.normal(size=(800, 1)), 1, size=(800, 50)))
    >>> rows
    <ScoreRows: 800 rows, 50 voters>
    """

    scores: FloatArray = field(repr=False)
    start: float = 0.0
    order: Any = "given"
    answers: Any = None
    random_state: Any = 0
    bounds: Any = None
    groups: Any = None
    clusters: Any = None
    labels: RowLabels = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scores = check_scores(self.scores, "paths" if self.order is None else "scores")
        n_rows, n_voters = scores.shape
        checked = {
            "scores": scores,
            "start": check_start(self.start),
            "order": _check_order(self.order, n_voters),
            "answers": _check_answers(self.answers, n_rows),
            "random_state": _seed(self.random_state),
            "bounds": None if self.bounds is None else check_bounds(self.bounds, n_voters),
            "labels": self.groups
            if isinstance(self.groups, RowLabels)
            else RowLabels.of(self.groups, self.clusters, n_rows),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.bounds is not None:
            self._check_within(self.bounds)

    def _check_within(self, bounds: FloatArray) -> None:
        """Raise if a score, or the step from one running score to the next, is outside of its bounds."""
        low, high = bounds
        if self.order is None:
            before = np.concatenate([np.full((self.n_rows, 1), self.start), self.scores[:, :-1]], axis=1)
            low, high = before + low, before + high
        outside = (self.scores < low) | (self.scores > high)
        if outside.any():
            row, voter = np.argwhere(outside)[0]
            raise InvalidInputError(
                f"the score of voter {voter} in row {row} is outside of its bounds, {bounds[0, voter]} to "
                f"{bounds[1, voter]}: give the smallest and the largest score that each voter can give to "
                "any row, or leave bounds out"
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.scores.shape[1])

    @property
    def added_up(self) -> dict[str, Any]:
        """How they are added up, as options of `foregone.solve_scores`."""
        return {name: getattr(self, name) for name in OPTIONS}

    @cached_property
    def halves(self) -> tuple[IntArray, IntArray]:
        """Rows to learn from, and rows to certify with; the same whatever the limit, order and looks."""
        return self.labels.split(self.n_rows, 0.5, np.random.default_rng(self.random_state))

    @cached_property
    def orders(self) -> tuple[IntArray, ...]:
        """The order in which voters are asked, or those from which the learning half shall choose."""
        given = np.arange(self.n_voters, dtype=np.int64)
        if self.order is None or isinstance(self.order, np.ndarray):
            return (given if self.order is None else self.order,)
        if self.order == "random":
            rng = np.random.default_rng([self.random_state, 1])
            return (rng.permutation(self.n_voters).astype(np.int64),)
        learning = self.halves[0]
        if self.order == "given" or len(learning) == 0:
            return (given,)
        return given, foretelling_order(self.scores[learning], self.start)

    def trial(self, rows: IntArray, limits: Limits, order: IntArray, steps: IntArray) -> Trial:
        """Return some rows to try thresholds on, with voters asked in this order, stopped at these steps."""
        part = self.scores[rows]
        running = np.asfortranarray(part) if self.order is None else running_scores(part, order, self.start)
        final_yes = running[:, -1] > 0 if self.answers is None else np.asarray(self.answers)[rows]
        labels = self.labels.take(rows)
        return Trial(
            running,
            final_yes,
            labels,
            Parts.of(limits, final_yes, labels),
            curtailing(self.bounds_in(order), steps, self.n_voters),
        )

    def bounds_in(self, order: IntArray) -> FloatArray | None:
        """Return the bounds in the order asked."""
        return None if self.bounds is None else np.asarray(self.bounds)[:, order]

    def right(self, order: IntArray) -> BoolArray:
        """Return what rows are to be answered with: ``answers``, or else what their full sums say."""
        if self.answers is None:
            return full_answers(self.scores, order, self.start)
        return np.asarray(self.answers)

    def __repr__(self) -> str:
        return f"<ScoreRows: {self.n_rows:,} rows, {self.n_voters:,} voters>"


def _check_order(order: Any, n_voters: int) -> Any:
    if order is None or (isinstance(order, str) and order in ORDERS):
        return order
    if isinstance(order, str):
        raise InvalidInputError(
            f"order must be None, one of {', '.join(ORDERS)}, or a row of voters, not {order!r}"
        )
    return check_order(order, n_voters)


def _check_answers(answers: Any, n_rows: int) -> BoolArray | None:
    if answers is None:
        return None
    given = np.asarray(answers)
    if given.dtype != np.bool_ or given.shape != (n_rows,):
        raise InvalidInputError(
            f"answers must hold True or False for each of the {n_rows} rows, got {given.dtype} of shape "
            f"{given.shape}"
        )
    return given


def _seed(random_state: Any) -> int:
    """Return the number itself, or one that is drawn."""
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be a whole number, a numpy Generator or None, not {random_state!r}"
        ) from error
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(rng.integers(2**63))
