"""Curtailment of scores: where the voters not yet asked cannot change the sign of the sum.

Sums are rounded after each addition, and rounding never turns an order round: of two running scores the
larger one stays at least as large, whatever is added to both. So the largest sum that can still come about
is the one in which every later voter gives its largest score, rounded as in use, and what follows from that
holds to the last bit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from foregone.checks import FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError
from foregone.scores.families import Thresholds, everywhere

__all__ = ["check_bounds", "curtailing", "largest_before"]

LARGEST, SMALLEST = sys.float_info.max, 5e-324


def check_bounds(bounds: Any, n_voters: int | None = None) -> FloatArray:
    """Return the smallest and the largest score of each voter. Raises InvalidInputError if they are not."""
    given = as_numbers(bounds, "bounds").astype(np.float64)
    wanted = "n_voters" if n_voters is None else n_voters
    if given.ndim != 2 or len(given) != 2 or given.shape[1] == 0 or n_voters not in (None, given.shape[1]):
        raise InvalidInputError(
            f"bounds must have the shape (2, {wanted}): the smallest score of each voter, then the largest; "
            f"got shape {given.shape}"
        )
    broken = np.flatnonzero(~(np.isfinite(given).all(axis=0) & (given[0] <= given[1])))
    if len(broken):
        voter = broken[0]
        raise InvalidInputError(
            f"bounds of voter {voter} must be finite, the smallest score first: got "
            f"{given[0, voter]} and {given[1, voter]}"
        )
    return given


def curtailing(bounds: FloatArray | None, steps: IntArray, n_voters: int) -> Thresholds:
    """Return the thresholds that stop only where the sign of the full sum is certain.

    Parameters
    ----------
    bounds : ndarray of shape (2, n_voters) or None
        The smallest and the largest score of each voter, in the order asked. Without them nothing is certain
        before everyone was asked.
    steps : ndarray of int
        The numbers of voters after which it may stop.
    n_voters : int
        How many voters there are.

    Examples
    --------
    >>> lower, upper = curtailing(np.array([[-1.0, -2.0, -1.0], [1.0, 0.5, 1.0]]), np.arange(1, 3), 3)
    >>> lower.tolist(), np.round(upper, 6).tolist()
    ([-inf, -1.5, -1.0, 0.0], [inf, 3.0, 1.0, 0.0])
    """
    if bounds is None:
        return everywhere(n_voters, steps, (np.full(len(steps), -np.inf), np.full(len(steps), np.inf)))
    smallest, largest = bounds.tolist()
    lower = _backwards(largest, 0.0)
    # To end above 0 is to have the opposite at or below the first number under 0; rounding is symmetric.
    upper = -_backwards([-score for score in smallest], -SMALLEST)
    return everywhere(n_voters, steps, (lower[steps], upper[steps]))


def _backwards(added: Iterable[float], last: float) -> FloatArray:
    """Return, for each step, the largest running score that ends at ``last`` or below."""
    found = [last]
    for score in reversed([*added]):
        found.append(largest_before(found[-1], score))
    return np.array(found[::-1])


def largest_before(total: float, added: float) -> float:
    """Return the largest number to which ``added`` can be added, and rounded, without exceeding ``total``.

    Examples
    --------
    >>> largest_before(1.0, 1.0), 2.0**-53 + 1.0 == 1.0
    (1.1102230246251565e-16, True)
    """
    difference = total - added
    if difference == -math.inf:
        return -math.inf
    if difference == math.inf:
        return LARGEST
    # What rounds to ``total`` lies up to half a gap above it. The difference is known exactly, as itself and
    # its rounding error, so that the guess is at most a few last bits off; the steps make it right.
    part = difference - total
    error = (total - (difference - part)) - (added + part)
    above = math.nextafter(total, math.inf)
    gap = math.ulp(total) if above == math.inf else above - total
    guess = min(difference + (error + gap / 2), LARGEST)
    while guess + added > total:
        guess = math.nextafter(guess, -math.inf)
    while guess < LARGEST and math.nextafter(guess, math.inf) + added <= total:
        guess = math.nextafter(guess, math.inf)
    return guess
