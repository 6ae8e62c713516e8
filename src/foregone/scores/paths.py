"""Score matrices: checked, added up in the order in which voters are asked, and followed until a stop.

Each check raises InvalidInputError if something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import BoolArray, FloatArray, IntArray, as_float, as_numbers
from foregone.errors import InvalidInputError

__all__ = [
    "blocks",
    "check_order",
    "check_scores",
    "check_start",
    "follow",
    "foretelling_order",
    "full_answers",
    "greedy_order",
    "look_steps",
    "running_scores",
    "weighted_covariance",
]

BLOCK_SCORES = 2**22  # that are dealt with at once: 32 MB


def check_scores(scores: npt.ArrayLike, what: str, n_voters: int | None = None) -> FloatArray:
    """Return a matrix of finite scores, one row per input and one column per voter."""
    matrix = as_numbers(scores, what)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInputError(
            f"{what} must be a matrix, one row per input and one column per voter, got shape {matrix.shape}"
        )
    if n_voters is not None and matrix.shape[1] != n_voters:
        raise InvalidInputError(
            f"{what} must have a column for each of the {n_voters} voters, got {matrix.shape[1]}"
        )
    checked: FloatArray = matrix.astype(np.float64, copy=False)  # nobody writes into it
    _check_finite(checked, what)
    return checked


def _check_finite(matrix: FloatArray, what: str) -> None:
    if np.isfinite(matrix).all():
        return
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    raise InvalidInputError(
        f"{what} must be finite: row {row}, column {column} is {matrix[row, column]}. "
        "Leave such rows out, or repair the voter that gives no score"
    )


def check_start(start: Any) -> float:
    """Return the score before anyone was asked as a float."""
    number = as_float(start)
    if not np.isfinite(number):
        raise InvalidInputError(
            f"start must be a finite number, the score before the first voter, not {start!r}"
        )
    return number


def check_order(order: npt.ArrayLike, n_voters: int | None = None) -> IntArray:
    """Return a copy of an order in which every voter stands once."""
    given = as_numbers(order, "order")
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
        raise InvalidInputError("order must be one row of whole numbers: the voters in the order asked")
    if n_voters is not None and len(given) != n_voters:
        raise InvalidInputError(f"order must name each of the {n_voters} voters, got {len(given)} of them")
    if not np.array_equal(np.sort(given), np.arange(len(given))):
        raise InvalidInputError(f"order must hold each of the numbers 0 to {len(given) - 1} once")
    return given.astype(np.int64)


def blocks(scores: FloatArray) -> list[slice]:
    """Return the rows in parts, so that what is made of each stays small."""
    size = max(1, BLOCK_SCORES // scores.shape[1])
    return [slice(start, min(start + size, len(scores))) for start in range(0, len(scores), size)]


def full_answers(scores: FloatArray, order: IntArray, start: float) -> BoolArray:
    """Return what the sums of all scores say, added one by one in order; a sum that is NaN says no."""
    total = np.full(len(scores), start)
    for voter in order:
        total += scores[:, voter]
    return np.asarray(total > 0)


def running_scores(scores: FloatArray, order: IntArray, start: float) -> FloatArray:
    """Return the score after each voter: ``start`` plus the scores so far, added one by one in order.

    The result is stored by column, because that is how it is read.
    """
    running = np.asfortranarray(scores[:, order])
    with np.errstate(over="ignore", invalid="ignore"):
        running[:, 0] += start
        for step in range(1, running.shape[1]):
            running[:, step] += running[:, step - 1]
    _check_finite(running, "the running scores")
    return running


def look_steps(lower: FloatArray, upper: FloatArray) -> IntArray:
    """Return the numbers of voters after which these thresholds may stop."""
    return np.flatnonzero((lower > -np.inf) | (upper < np.inf)).astype(np.int64)


def follow(
    running: FloatArray, lower: FloatArray, upper: FloatArray, start: float = 0.0
) -> tuple[BoolArray, IntArray]:
    """Return the answers, and how many voters each row took, at thresholds on the running score.

    Rows leave as they are answered, so that it takes time in proportion to the voters asked.
    """
    answers = np.zeros(len(running), dtype=np.bool_)
    asked = np.zeros(len(running), dtype=np.int64)
    rows = np.arange(len(running))
    for step in look_steps(lower, upper):
        if len(rows) == 0:
            break
        scores = running[rows, step - 1] if step else np.full(len(rows), start)
        no = scores <= lower[step]
        stop = no | (scores >= upper[step])
        answers[rows[stop]] = ~no[stop]
        asked[rows[stop]] = step
        rows = rows[~stop]
    return answers, asked


def foretelling_order(scores: FloatArray, start: float) -> IntArray:
    """Return the voters, each the one with which the sum so far correlates best with the full sum.

    Rows far from the decision count less, because they are soon answered in any order.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_voters)
        Scores of single voters.
    start : float
        The score before the first voter.
    """
    size = np.abs(scores).max() or 1.0
    scores, start = scores / size, start / size  # so that no square overflows
    return greedy_order(weighted_covariance([scores], start + scores.sum(axis=1)))


def weighted_covariance(
    parts: Iterable[FloatArray], lead: FloatArray, share_near: float = 0.75
) -> FloatArray:
    """Return how voters vary together, added up over parts of what they say.

    Parameters
    ----------
    parts : iterable of ndarray of shape (n_rows, n_voters)
        What voters say, or whether they are for each of many classes.
    lead : ndarray of shape (n_rows,)
        How far each row is from the decision: those far from it count less.
    share_near : float
        The share of rows that are not far from it.
    """
    near = np.quantile(np.abs(lead), share_near) or 1.0
    weight = 1 / (1 + (lead / near) ** 2)
    weight /= weight.sum()
    covariance: Any = 0.0
    for part in parts:
        centred = part - weight @ part
        covariance = covariance + (centred * weight[:, None]).T @ centred
    return np.asarray(covariance)


def greedy_order(covariance: FloatArray) -> IntArray:
    """Return the voters, each the one with which the sum so far correlates best with the full sum."""
    with_full = covariance.sum(axis=1)
    n_voters = len(covariance)
    order = np.empty(n_voters, dtype=np.int64)
    left = np.ones(n_voters, dtype=bool)
    # Of the sum so far: its covariance with the full sum, its variance, its covariance with each voter.
    shared, variance, with_sum = 0.0, 0.0, np.zeros(n_voters)
    for step in range(n_voters):
        total = variance + 2 * with_sum + np.diag(covariance)
        gain = shared + with_full
        quality = np.divide(gain * np.abs(gain), total, out=np.zeros(n_voters), where=total > 0)
        voter = int(np.argmax(np.where(left, quality, -np.inf)))
        order[step] = voter
        left[voter] = False
        shared, variance = shared + with_full[voter], float(total[voter])
        with_sum += covariance[voter]
    return order
