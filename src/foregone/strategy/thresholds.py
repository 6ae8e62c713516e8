"""Checks for the parts of a stopping strategy: thresholds, exceptions, answers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError

__all__ = [
    "always_stop",
    "answers_for",
    "check_exceptions",
    "check_quota",
    "check_row",
    "check_thresholds",
    "check_yes_from",
    "majority",
    "quota_for",
]


def majority(n_voters: int) -> int:
    """Return the quota of a majority: the fewest yes votes for a full vote of yes; a tie is "no"."""
    return n_voters // 2 + 1


def answers_for(n_voters: int, quota: int) -> IntArray:
    """Return, for each step, the fewest yes votes with which a stop answers yes.

    The share of yes votes so far is compared with a threshold halfway between ``quota - 1`` and ``quota`` of
    all voters. For a majority quota this is the majority so far; a tie is "no".

    Examples
    --------
    >>> answers_for(4, 3), answers_for(4, 1), answers_for(4, 4)
    (array([1, 1, 2, 2, 3]), array([1, 1, 1, 1, 1]), array([1, 1, 2, 3, 4]))
    """
    asked = np.arange(n_voters + 1, dtype=np.int64)
    if quota == 0:
        return np.zeros_like(asked)
    return (2 * quota - 1) * asked // (2 * n_voters) + 1


def check_quota(quota: Any, n_voters: int) -> int:
    """Return the quota, by default that of a majority. Raises InvalidInputError unless 0 to ``n_voters``."""
    if quota is None:
        return majority(n_voters)
    if isinstance(quota, bool | np.bool_) or not isinstance(quota, int | np.integer):
        raise InvalidInputError(
            f"quota must be an integer, the fewest yes votes with which the full vote is yes, got {quota!r}"
        )
    if not 0 <= quota <= n_voters:
        raise InvalidInputError(
            f"quota must be from 0 (always yes) to n_voters={n_voters} (all must say yes), got {quota}"
        )
    return int(quota)


def quota_for(threshold: float, n_voters: int) -> int:
    """Return the fewest votes whose share of all votes is at least ``threshold``, in floating point.

    Examples
    --------
    >>> quota_for(0.2, 101), quota_for(0.5, 100), quota_for(0, 10), quota_for(1, 10)
    (21, 50, 0, 10)
    """
    return int(np.argmax(np.arange(n_voters + 1) / n_voters >= threshold))


def check_yes_from(yes_from: npt.ArrayLike | None, n_voters: int) -> IntArray:
    """Return a copy of ``yes_from``, by default that of a majority. Raises InvalidInputError if invalid."""
    if yes_from is None:
        return answers_for(n_voters, majority(n_voters))
    given = as_numbers(yes_from, "yes_from")
    if given.shape != (n_voters + 1,):
        raise InvalidInputError(
            f"yes_from must be one row of n_voters + 1 = {n_voters + 1} integers, got shape {given.shape}"
        )
    if given.dtype.kind not in "iu":
        raise InvalidInputError(f"yes_from must be integers, got dtype {given.dtype}")
    broken = np.flatnonzero((given < 0) | (given > np.arange(n_voters + 1) + 1))
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"yes_from of step {step} must be from 0 (always yes) to {step + 1} (always no), got "
            f"{given[step]}"
        )
    if given[-1] > n_voters:
        raise InvalidInputError(
            f"yes_from of the last step, the quota of the full vote, must be at most n_voters={n_voters}, "
            f"got {given[-1]}: the full vote could never be yes"
        )
    return given.astype(np.int64)


def always_stop(n_voters: int) -> tuple[IntArray, IntArray]:
    """Return the thresholds of a strategy that stops at every step."""
    lower = np.arange(n_voters + 1, dtype=np.int64) // 2
    return lower, lower + 1


def check_row(row: npt.ArrayLike, asked: int) -> FloatArray:
    """Return the stop probabilities of one step as floats. Raises InvalidInputError if invalid."""
    stop: FloatArray = as_numbers(row, f"the stop probabilities of step {asked}").astype(np.float64)
    if stop.shape != (asked + 1,):
        raise InvalidInputError(
            f"step {asked} must have {asked + 1} stop probabilities, one for each number of yes votes, got "
            f"shape {stop.shape}"
        )
    if not ((stop >= 0) & (stop <= 1)).all():  # also False for NaN
        raise InvalidInputError(
            f"the stop probabilities of step {asked} must be from 0 to 1, got {stop.min():g} to "
            f"{stop.max():g}"
        )
    return stop


def check_thresholds(lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Return copies of the thresholds. Raises InvalidInputError if they are invalid."""
    low, high = as_numbers(lower, "lower"), as_numbers(upper, "upper")
    if low.ndim != 1 or low.shape != high.shape or len(low) < 2:
        raise InvalidInputError(
            "lower and upper must be two rows of n_voters + 1 integers (at least 2), got shapes "
            f"{low.shape} and {high.shape}"
        )
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        raise InvalidInputError(f"lower and upper must be integers, got dtypes {low.dtype} and {high.dtype}")
    broken = np.flatnonzero((low < -1) | (low >= high) | (high > np.arange(len(low)) + 1))
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"thresholds of step {step} must satisfy -1 <= lower < upper <= {step + 1}, "
            f"got {low[step]} and {high[step]}"
        )
    if high[-1] != low[-1] + 1:
        raise InvalidInputError(
            f"the last step must always stop, so its upper must be lower + 1, got {high[-1]} and {low[-1]}"
        )
    return low.astype(np.int64), high.astype(np.int64)


def check_exceptions(
    exceptions: Iterable[tuple[int, int, float]], lower: IntArray, upper: IntArray
) -> list[tuple[int, int, float]]:
    """Return the exceptions in order. Raises InvalidInputError if they are invalid."""
    try:
        states = sorted(
            (operator.index(asked), operator.index(yes), float(p)) for asked, yes, p in exceptions
        )
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            "every exception must be a tuple (asked, yes, probability) of two integers and a number"
        ) from None
    for asked, yes, probability in states:
        if not (0 <= asked < len(lower) and int(lower[asked]) < yes < int(upper[asked])):
            raise InvalidInputError(
                f"exceptions must be strictly between the thresholds, got state ({asked}, {yes}): move the "
                "threshold instead"
            )
        if not 0 < probability <= 1:  # also True for NaN
            raise InvalidInputError(
                f"the stop probability of state ({asked}, {yes}) must be in (0, 1], got {probability}"
            )
    for state, following in pairwise(states):
        if state[:2] == following[:2]:
            raise InvalidInputError(
                f"exceptions must have each state once, got ({state[0]}, {state[1]}) twice: remove one"
            )
    return states
