"""The parts of a stopping strategy, checked one by one: thresholds, exceptions, answers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError

__all__ = [
    "always_stop",
    "check_exceptions",
    "check_row",
    "check_thresholds",
    "check_yes_from",
    "majority_answers",
]


def majority_answers(n_voters: int) -> IntArray:
    """Return, for each step, the fewest yes votes that are a majority; a tie is "no".

    Examples
    --------
    >>> majority_answers(4)
    array([1, 1, 2, 2, 3])
    """
    return np.arange(n_voters + 1, dtype=np.int64) // 2 + 1


def check_yes_from(yes_from: npt.ArrayLike | None, n_voters: int) -> IntArray:
    """Return a copy of the answers, those of the majority if None. Raises InvalidInputError if not valid."""
    majority = majority_answers(n_voters)
    if yes_from is None:
        return majority
    given = as_numbers(yes_from, "yes_from")
    if given.shape != (n_voters + 1,):
        raise InvalidInputError(
            f"yes_from must be one row of n_voters + 1 = {n_voters + 1} numbers, got shape {given.shape}"
        )
    if given.dtype.kind not in "iu":
        raise InvalidInputError("yes_from must be whole numbers")
    broken = np.flatnonzero((given < 0) | (given > np.arange(n_voters + 1) + 1))
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"yes_from of step {step} must lie between 0 (always yes) and {step + 1} (always no), "
            f"got {given[step]}"
        )
    if given[-1] != majority[-1]:
        raise InvalidInputError(
            f"yes_from of the last step must be {majority[-1]}, not {given[-1]}: when everyone was asked, "
            "the answer is that of the full vote"
        )
    return given.astype(np.int64)


def always_stop(n_voters: int) -> tuple[IntArray, IntArray]:
    """Return the thresholds of the strategy that stops at every step."""
    lower = np.arange(n_voters + 1, dtype=np.int64) // 2
    return lower, lower + 1


def check_row(row: npt.ArrayLike, asked: int) -> FloatArray:
    """Return the stop probabilities of one step as floats. Raises InvalidInputError if not valid."""
    stop: FloatArray = as_numbers(row, f"the stop probabilities of step {asked}").astype(np.float64)
    if stop.shape != (asked + 1,):
        raise InvalidInputError(f"step {asked} needs {asked + 1} stop probabilities, got shape {stop.shape}")
    if not ((stop >= 0) & (stop <= 1)).all():  # also False for NaN
        raise InvalidInputError(f"the stop probabilities of step {asked} must lie between 0 and 1")
    return stop


def check_thresholds(lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Return copies of the thresholds. Raises InvalidInputError if they are not valid."""
    low, high = as_numbers(lower, "lower"), as_numbers(upper, "upper")
    if low.ndim != 1 or low.shape != high.shape or len(low) < 2:
        raise InvalidInputError("lower and upper must be two rows of n_voters + 1 numbers each")
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        raise InvalidInputError("lower and upper must be whole numbers")
    broken = np.flatnonzero((low < -1) | (low >= high) | (high > np.arange(len(low)) + 1))
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"thresholds of step {step} must satisfy -1 <= lower < upper <= {step + 1}, "
            f"got {low[step]} and {high[step]}"
        )
    if high[-1] != low[-1] + 1:
        raise InvalidInputError("the last step must always stop: upper must be lower + 1 there")
    return low.astype(np.int64), high.astype(np.int64)


def check_exceptions(
    exceptions: Iterable[tuple[int, int, float]], lower: IntArray, upper: IntArray
) -> list[tuple[int, int, float]]:
    """Return the exceptions in order. Raises InvalidInputError if they are not valid."""
    try:
        states = sorted(
            (operator.index(asked), operator.index(yes), float(p)) for asked, yes, p in exceptions
        )
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("every exception must be (asked, yes, probability)") from None
    for asked, yes, probability in states:
        if not (0 <= asked < len(lower) and int(lower[asked]) < yes < int(upper[asked])):
            raise InvalidInputError(f"state ({asked}, {yes}) does not lie between the thresholds")
        if not 0 < probability <= 1:  # also True for NaN
            raise InvalidInputError(
                f"the stop probability of state ({asked}, {yes}) is {probability}: it must be in (0, 1]"
            )
    for state, following in pairwise(states):
        if state[:2] == following[:2]:
            raise InvalidInputError(f"state ({state[0]}, {state[1]}) is given twice")
    return states
