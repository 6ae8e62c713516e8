"""Bounds on a mean proven by bets, with rounding that keeps them valid; shares no code with the solvers.

Losses from 0 to M bet against "the mean is m or more". The capital starts at 1, a share of it at each of some
stakes; each loss x multiplies the part at stake s by ``1 + s (m - x) / (M - m)``, which is above zero for s
below 1. If the mean is m or more, the expected capital is at most 1, and it reaches 1 / (1 - confidence) with
a probability of at most ``1 - confidence``. The capital increases with m: if one m is refuted, so are all
above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from foregone.certifying.bounds import CAPITAL, STAKES
from foregone.solving.exact import Interval

__all__ = ["bounded_by_bets"]

DIGITS = 50
HALVINGS = 50  # width of the interval that contains the bound
DOWN, UP = (Context(prec=DIGITS, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))

# The stakes are part of the theorem: fixed in advance, whatever the items are. Shares sum to exactly one.
STAKED = [Fraction(stake) for stake in STAKES.tolist()]
SHARES = [Fraction(share) / sum(map(Fraction, CAPITAL.tolist())) for share in CAPITAL.tolist()]


def bounded_by_bets(risks: Sequence[Interval], counts: Sequence[int], confidence: Fraction) -> Interval:
    """Return an interval around the largest mean loss that the items' bets do not refute.

    Parameters
    ----------
    risks : sequence of Interval
        Intervals around the loss of an item, for every full vote, whether such an item occurs or not.
    counts : sequence of int
        How many items there are with each full vote.
    confidence : Fraction
        Strictly between 0 and 1.

    Examples
    --------
    >>> exactly_zero, half = (Fraction(0),) * 2, (Fraction(1, 2),) * 2
    >>> low, high = bounded_by_bets([exactly_zero, half], [300, 0], Fraction(95, 100))
    >>> round(float(low), 6), round(float(high), 6)
    (0.005597, 0.005597)
    """
    most = max(high for _, high in risks)
    wanted = 1 / (1 - confidence)
    seen = [(risk, times) for risk, times in zip(risks, counts, strict=True) if times]
    smallest, largest = ([(risk[end], times) for risk, times in seen] for end in (0, 1))
    return _between(smallest, most, wanted, UP)[0], _between(largest, most, wanted, DOWN)[1]


def _between(
    losses: Sequence[tuple[Fraction, int]], most: Fraction, wanted: Fraction, rounded: Context
) -> Interval:
    """Return two means, close together: bets against the first win too little, against the second enough.

    No bet is needed to refute a mean above the largest loss.
    """
    low, high = Fraction(0), most
    if not losses or not most:
        return most, most
    for _ in range(HALVINGS):
        mean = (low + high) / 2
        if _capital(losses, mean, most, rounded) >= wanted:
            high = mean
        else:
            low = mean
    return low, high


def _capital(
    losses: Sequence[tuple[Fraction, int]], mean: Fraction, most: Fraction, rounded: Context
) -> Fraction:
    """Return the capital of bets against a mean, rounded down or up at every step."""
    total = Fraction(0)
    for stake, share in zip(STAKED, SHARES, strict=True):
        part = _decimal(share, rounded)
        for loss, times in losses:
            part = rounded.multiply(
                part, _power(_decimal(1 + stake * (mean - loss) / (most - mean), rounded), times, rounded)
            )
        total += Fraction(part)
    return total


def _decimal(value: Fraction, rounded: Context) -> Decimal:
    return rounded.divide(Decimal(value.numerator), Decimal(value.denominator))


def _power(base: Decimal, times: int, rounded: Context) -> Decimal:
    """Return a power by squaring; all factors are positive, so every step rounds in the same direction."""
    result = Decimal(1)
    while times:
        if times % 2:
            result = rounded.multiply(result, base)
        base, times = rounded.multiply(base, base), times // 2
    return result
