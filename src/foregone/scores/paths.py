"""Score matrices: checked, added up in the order in which voters are asked, and followed until a stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError

__all__ = [
    "BoolArray",
    "check_order",
    "check_scores",
    "check_start",
    "follow",
    "look_steps",
    "running_scores",
]

BoolArray = npt.NDArray[np.bool_]


def check_scores(scores: npt.ArrayLike, what: str, n_voters: int | None = None) -> FloatArray:
    """Return a matrix of finite scores, one row per input and one column per voter, or say what is wrong."""
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
    """Return the score before anyone was asked as a float, or say why it is none."""
    try:
        if isinstance(start, bool | np.bool_ | str):
            raise TypeError
        number = float(start)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInputError(
            f"start must be a finite number, the score before the first voter, not {start!r}"
        )
    return number


def check_order(order: npt.ArrayLike, n_voters: int | None = None) -> IntArray:
    """Return a copy of an order in which every voter stands once, or say what is wrong with it."""
    given = as_numbers(order, "order")
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
        raise InvalidInputError("order must be one row of whole numbers: the voters in the order asked")
    if n_voters is not None and len(given) != n_voters:
        raise InvalidInputError(f"order must name each of the {n_voters} voters, got {len(given)} of them")
    if not np.array_equal(np.sort(given), np.arange(len(given))):
        raise InvalidInputError(f"order must hold each of the numbers 0 to {len(given) - 1} once")
    return given.astype(np.int64)


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
