"""Exact cost, risk and dual bound for `certify`; shares no code with the solvers.

Symbols: ``N`` voters, ``n`` of them would say yes; state ``(i, j)``: i asked, j of them said yes.

Two Pascal triangles make this fast. The forward triangle counts orders of votes instead of probabilities:
the number of orders in state ``(i, j)`` is added to ``(i + 1, j)`` and to ``(i + 1, j + 1)``. Orders that
stop are continued in separate triangles. So entry n of the last row counts those of the ``binomial(N, n)``
orders of a vote with n yes that were stopped, or that asked for more.

In the backward triangle, the weight of one order in state ``(i, j)`` is the sum of the weights of its two
successors::

    a(i, j) = a(i + 1, j) + a(i + 1, j + 1),      a(N, n) = w_n / binomial(N, n)

Only whole rows are added and nothing is divided: over a common denominator all numbers are integers, and
Python's integers are fast enough for thousands of voters. Balls compute the same sums in 128 bits with an
error bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.errors import MissingExtraError
from foregone.strategy import StoppingStrategy

__all__ = [
    "BALL_BITS",
    "Interval",
    "NumberSystem",
    "arithmetic_named",
    "cost_and_risk",
    "largest_of",
    "least_covering",
    "least_priced_cost",
    "mean_of",
    "round_down",
    "round_up",
]

Row = npt.NDArray[np.object_]  # one number per number of yes votes
Interval = tuple[Fraction, Fraction]  # encloses the true value; both ends are equal when it is exact

BALL_BITS = 128  # each of the O(N^2) additions loses at most one unit in the last of these


class NumberSystem(NamedTuple):
    """The arithmetic of the sums in the triangles."""

    number: Callable[[int], Any]
    smaller: Callable[[Row, Row], Row]  # elementwise minimum
    enclose: Callable[[Any, int], Interval]  # of a number divided by an integer

    def row(self, values: Iterable[int]) -> Row:
        """Turn integers into a row."""
        return np.array([self.number(value) for value in values], dtype=object)


@contextmanager
def arithmetic_named(name: Literal["rational", "ball"]) -> Iterator[NumberSystem]:
    """Provide the number system; balls are valid only inside the ``with`` block."""
    if name == "rational":
        yield NumberSystem(int, np.minimum, lambda x, d: (Fraction(x, d), Fraction(x, d)))
        return
    try:
        import flint
    except ImportError:
        raise MissingExtraError("python-flint", "exact", "A certificate in ball arithmetic") from None

    def enclose(x: Any, divisor: int) -> Interval:
        ball = flint.arb(x) / divisor
        low, high = ([int(part) for part in end.man_exp()] for end in (ball.lower(), ball.upper()))
        return Fraction(low[0]) * Fraction(2) ** low[1], Fraction(high[0]) * Fraction(2) ** high[1]

    before, flint.ctx.prec = flint.ctx.prec, BALL_BITS
    try:
        yield NumberSystem(flint.arb, np.frompyfunc(flint.arb.min, 2, 1), enclose)
    finally:
        flint.ctx.prec = before


def cost_and_risk(strategy: StoppingStrategy, numbers: NumberSystem) -> tuple[list[Interval], list[Interval]]:
    """Return E[votes asked | n] and the disagreement given n, for every n."""
    N, shift = strategy.n_voters, 0
    reach = numbers.row([1])  # orders that reach (i, j), times 2 ** shift, as all other rows
    asked, said_yes, said_no = numbers.row([]), numbers.row([]), numbers.row([])
    for i in range(N + 1):
        theta = strategy.stop_probabilities(i)
        stop, go_on = np.where(theta == 1, reach, 0), np.where(theta == 0, reach, 0)
        asked, said_yes, said_no = _add_a_vote(asked), _add_a_vote(said_yes), _add_a_vote(said_no)
        chance = np.flatnonzero((theta > 0) & (theta < 1))
        if len(chance):
            ratios = [theta[j].as_integer_ratio() for j in chance]
            scale = max(denominator for _, denominator in ratios)  # all are powers of two
            shift += scale.bit_length() - 1
            stop, go_on, asked, said_yes, said_no = (
                row * scale for row in (stop, go_on, asked, said_yes, said_no)
            )
            for j, (numerator, denominator) in zip(chance, ratios, strict=True):
                share = numerator * (scale // denominator)
                stop[j], go_on[j] = reach[j] * share, reach[j] * (scale - share)
        asked += go_on  # every continuation asks one vote
        first_yes = int(strategy.yes_from[i])
        said_no[:first_yes] += stop[:first_yes]
        said_yes[first_yes:] += stop[first_yes:]
        reach = _add_a_vote(go_on)
    quota = int(strategy.yes_from[-1])
    wrong = np.concatenate([said_yes[:quota], said_no[quota:]])
    denominators = [binomial << shift for binomial in _binomials(N)]
    costs = [numbers.enclose(x, d) for x, d in zip(asked, denominators, strict=True)]
    risks = [numbers.enclose(x, d) for x, d in zip(wrong, denominators, strict=True)]
    return costs, [(low, min(high, Fraction(1))) for low, high in risks]


def _add_a_vote(row: Row) -> Row:
    """Continue each order with one more "no" (same entry) and one more "yes" (the next entry)."""
    longer: Row = np.zeros(len(row) + 1, dtype=object)
    longer[:-1] = row
    longer[1:] += row
    return longer


def _binomials(N: int) -> list[int]:
    row = [1]
    for n in range(N):
        row.append(row[-1] * (N - n) // (n + 1))
    return row


def least_priced_cost(
    cost: list[Fraction],
    risk: list[Fraction],
    numbers: NumberSystem,
    yes_from: Sequence[int],
    looks: Sequence[int],
) -> Fraction:
    """Return a lower bound on the least ``sum_n cost_n E[votes | n] + risk_n disagreement(n)``.

    Parameters
    ----------
    cost, risk : list of Fraction
        Weights, one for each n.
    numbers : NumberSystem
        The arithmetic.
    yes_from : sequence of int
        Per step, the fewest yes votes with which the answer is yes; the last entry is the quota of the full
        vote. Where the full vote is decided, the answer must be right.
    looks : sequence of int
        The steps at which it may stop.
    """
    N, quota = len(cost) - 1, yes_from[-1]
    may_stop = set(looks)
    power = max(w.denominator for w in cost + risk)  # all are powers of two: the weights were floats
    # The least common multiple of all binomial(N, n); one by one, so that an interruption is noticed.
    least_common = reduce(math.lcm, range(1, N + 2)) // (N + 1)
    per_order = [least_common // binomial for binomial in _binomials(N)]
    # Weight of one order that reaches (i, j): for continuing; for a wrong yes; for a wrong no.
    go_on = numbers.row(int(w * power) * each for w, each in zip(cost, per_order, strict=True))
    wrong = numbers.row(int(w * power) * each for w, each in zip(risk, per_order, strict=True))
    yes_wrong, no_wrong = wrong.copy(), wrong
    yes_wrong[quota:] = no_wrong[:quota] = numbers.row([0])[0]
    value = numbers.row([0] * (N + 1))  # least weight per order from (i, j) on; 0 at the end, without errors
    for i in range(N - 1, -1, -1):
        go_on, yes_wrong, no_wrong = (row[:-1] + row[1:] for row in (go_on, yes_wrong, no_wrong))
        if i not in may_stop:
            value = go_on + value[:-1] + value[1:]
            continue
        answers_no = yes_from[i]
        stop = np.concatenate([no_wrong[:answers_no], yes_wrong[answers_no:]])
        # Outside these bounds the full vote is decided: stopping is right and has the value 0.
        open_ = slice(max(0, i - (N - quota)), min(i, quota - 1) + 1)
        later = value[:-1][open_] + value[1:][open_]
        value = stop
        value[open_] = numbers.smaller(stop[open_], go_on[open_] + later)
    return numbers.enclose(value[0], least_common * power)[0]


def largest_of(intervals: Sequence[Interval]) -> Interval:
    """Return an interval that encloses the largest of some values."""
    return max(low for low, _ in intervals), max(high for _, high in intervals)


def mean_of(intervals: Sequence[Interval], weights: Sequence[Fraction]) -> Interval:
    """Return an interval that encloses the weighted mean of some values, whatever the weights sum to."""
    total = sum(weights, Fraction(0))
    pairs = [(pair, weight) for pair, weight in zip(intervals, weights, strict=True) if weight]
    low, high = (sum((pair[end] * weight for pair, weight in pairs), Fraction(0)) for end in (0, 1))
    return low / total, high / total


def least_covering(pairs: Iterable[tuple[Fraction, Fraction]]) -> Fraction | None:
    """Return the least t with ``t * weight >= price`` for each (price, weight); None if there is none."""
    priced = [(price, weight) for price, weight in pairs if price > 0]
    if any(weight == 0 for _, weight in priced):
        return None
    return max((price / weight for price, weight in priced), default=Fraction(0))


def round_down(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def round_up(value: Fraction) -> float:
    """Return the least float that is at least ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
