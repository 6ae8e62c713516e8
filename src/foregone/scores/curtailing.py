"""Curtailment of scores: where the voters not yet asked cannot change the answer.

For two classes, the answer is the sign of the sum. Sums are rounded after each addition, and rounding is
monotone: the larger of two running scores stays at least as large if the same number is added to both. So the
largest possible sum is the one in which every later voter gives its largest score, with the same rounding as
in use, and the result is exact to the last bit.

For many classes, the leader is certain if its lead exceeds the most that the rest can add to another class
plus the most they can take from the leader. Two sums are rounded here, and the lead does not bound their
size, so a bound on all rounding errors is added to the threshold.
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
from foregone.scores.paths import Start

__all__ = ["check_bounds", "curtailing", "largest_before"]

LARGEST, SMALLEST = sys.float_info.max, 5e-324


def check_bounds(bounds: Any, shape: tuple[int, ...] | None = None) -> FloatArray:
    """Return the bounds as float64: each voter's smallest score, then its largest.

    Raises InvalidInputError if they are not valid. ``shape`` is the expected shape of each half:
    ``(n_voters,)``, or ``(n_voters, n_classes)`` if each class has its own bounds.
    """
    given = as_numbers(bounds, "bounds").astype(np.float64)
    fits = given.ndim in (2, 3) and len(given) == 2 and given.size > 0
    if not fits or shape not in (None, given.shape[1:]):
        wanted = ", ".join(map(str, ("n_voters",) if shape is None else shape))
        raise InvalidInputError(
            f"bounds must have shape (2, {wanted}): each voter's smallest score, then its largest; "
            f"got shape {given.shape}"
        )
    broken = np.argwhere(~(np.isfinite(given).all(axis=0) & (given[0] <= given[1])))
    if len(broken):
        voter, *of_class = broken[0].tolist()
        low, high = given[:, voter, *of_class]
        where = f" for class {of_class[0]}" if of_class else ""
        raise InvalidInputError(
            f"the bounds of voter {voter}{where} must be finite and the smallest score must come first, "
            f"got {low} and {high}"
        )
    return given


def curtailing(
    bounds: FloatArray | None, steps: IntArray, n_voters: int, start: Start, *, drops_classes: bool = False
) -> Thresholds:
    """Return thresholds that stop only where the answer of the full sum is certain.

    Parameters
    ----------
    bounds : ndarray of shape (2, n_voters) or (2, n_voters, n_classes), or None
        The smallest and the largest score of each voter, in the order asked. Without them, nothing is
        certain until all voters have been asked.
    steps : ndarray of int
        The numbers of voters after which it may stop.
    n_voters : int
        How many voters there are.
    start : float or ndarray of float, shape (n_classes,)
        The score before the first voter, or that of each class.
    drops_classes : bool
        Whether there is a threshold for each class: how far it may trail before it can no longer win.

    Examples
    --------
    >>> bounds, steps = np.array([[-1.0, -2.0, -1.0], [1.0, 0.5, 1.0]]), np.arange(1, 3)
    >>> lower, upper = curtailing(bounds, steps, 3, 0.0)
    >>> lower.tolist(), np.round(upper, 6).tolist()
    ([-inf, -1.5, -1.0, 0.0], [inf, 3.0, 1.0, 0.0])
    """
    of_leads = not isinstance(start, float)
    if bounds is None:
        never = np.full((len(steps), *np.shape(start)) if drops_classes else len(steps), np.inf)
        return everywhere(n_voters, steps, None if of_leads else -never, never)
    if of_leads:
        certain = _certain_gaps(bounds, np.abs(start))[steps]
        return everywhere(n_voters, steps, None, certain if drops_classes else certain.max(axis=1))
    smallest, largest = bounds.tolist()
    lower = _backwards(largest, 0.0)
    # The sum ends above 0 if its negative ends at or below the largest float below 0; rounding is symmetric.
    upper = -_backwards([-score for score in smallest], -SMALLEST)
    return everywhere(n_voters, steps, lower[steps], upper[steps])


def _certain_gaps(bounds: FloatArray, start: FloatArray) -> FloatArray:
    """Return, for each step from 0 on and each class, how far the class may trail and still win.

    The most and the least that the rest can add to each class are sums from the end. No sum of a class ever
    exceeds ``size``, so n additions are off by at most ``n * size`` half units in the last place; the errors
    of both classes' sums, the lead, and the sums computed here stay far below eight times as many units.
    """
    n_voters, n_classes = bounds.shape[1:]
    rest = np.zeros((2, n_voters + 1, n_classes))
    with np.errstate(over="ignore", invalid="ignore"):
        rest[:, :-1] = np.cumsum(bounds[:, ::-1], axis=1)[:, ::-1]
        least, most = rest
        # The least that the rest adds to any leader other than the class; for the class with the least, the
        # second.
        by_size = np.sort(least, axis=1)
        is_smallest = least.argmin(axis=1)[:, None] == np.arange(n_classes)
        leaders = np.where(is_smallest, by_size[:, [1]], by_size[:, [0]])
        size = float((start + np.abs(bounds).max(axis=0).sum(axis=0)).max())
        certain = most - leaders + 8 * (n_voters + 2) * sys.float_info.epsilon * size
    return np.where(np.isfinite(certain), np.maximum(certain, 0.0), np.inf)


def _backwards(added: Iterable[float], last: float) -> FloatArray:
    """Return, for each step, the largest running score that ends at or below ``last``."""
    found = [last]
    for score in reversed([*added]):
        found.append(largest_before(found[-1], score))
    return np.array(found[::-1])


def largest_before(total: float, added: float) -> float:
    """Return the largest float to which ``added`` can be added, with rounding, without exceeding ``total``.

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
    # Numbers up to half a gap above ``total`` round to it. The difference is known exactly, as a float and
    # its rounding error, so the guess is off by at most a few last bits, which the steps correct.
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
