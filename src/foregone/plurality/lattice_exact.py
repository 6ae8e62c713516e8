"""Cost, risk and the dual bound for `certify_plurality`, sharing no code with the solvers.

Symbols: ``N`` voters, at most ``K`` answers; a state ``c`` is the counts of i votes in falling order.

Orders of votes are counted instead of taking probabilities. Take the parts of c for different answers, even
where they are equal: each is the last one voted for in some of the orders of c, which are then orders of the
state with one vote fewer in this part. So numbers of orders are sums over parts, without any division; of the
``N! / (c_1! c_2! ...)`` orders of a full vote in the end, so many were stopped, or asked for more.

Backwards, answers are called by the order in which they turn up, so that orders that differ only in the
names of answers are one pattern. A full vote has as many patterns as orders, divided by m! for each m parts
of equal size. The weight of one pattern is the sum of those of all its successors: one more vote for any of
its parts, or for an answer of its own.

All that is added and multiplied is non-negative. In integers nothing is rounded; in floats the relative
error of a result is at most ``(number of roundings on its longest way) * 2 ** -53``, which is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone.checks import FloatArray
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.solving.exact import Interval

__all__ = ["Arithmetic", "Levels", "cost_and_risk", "least_priced_cost"]

Arithmetic = Literal["rational", "float"]
SortedCounts = tuple[int, ...]

_UNDERFLOW = Fraction(1, 10**200)  # more than all that floats can lose next to zero, where they are allowed


class Levels:
    """The states, level by level, in the order of the strategy's own: lexicographic."""

    def __init__(self, n_voters: int, n_classes: int) -> None:
        self.n_voters, self.n_classes = n_voters, n_classes

    def __getitem__(self, asked: int) -> list[SortedCounts]:
        return list(_partitions(asked, self.n_classes, asked))


def _partitions(total: int, most_parts: int, largest: int) -> Iterator[SortedCounts]:
    """Yield the partitions of a total, the lexicographically least first."""
    if total == 0:
        yield ()
        return
    if most_parts == 0:
        return
    for first in range(-(-total // most_parts), min(total, largest) + 1):
        for rest in _partitions(total - first, most_parts - 1, first):
            yield (first, *rest)


class _Numbers(NamedTuple):
    """The arithmetic that orders are counted in."""

    whole: Callable[[int], Any]
    split: Callable[[Any, float], tuple[Any, Any]]  # what stops and what goes on, both times `scale`
    scale: int  # of one level to the next

    @classmethod
    def named(cls, name: Arithmetic, chances: FloatArray) -> _Numbers:
        """Return the numbers for a level in which these chances to stop occur."""
        if name == "float":
            return cls(float, lambda x, p: (x * p, x * (1.0 - p)), 1)
        # All denominators are powers of two.
        scale = max((p.as_integer_ratio()[1] for p in np.unique(chances).tolist()), default=1)

        def split(x: int, p: float) -> tuple[int, int]:
            numerator, denominator = p.as_integer_ratio()
            share = numerator * (scale // denominator)
            return x * share, x * (scale - share)

        return cls(int, split, scale)


def cost_and_risk(
    strategy: PluralityStrategy, arithmetic: Arithmetic, *, first_leader_only: bool = False
) -> tuple[list[Interval], list[Interval]]:
    """Return the expected votes and the disagreement for every full vote, in the order of the states.

    Any of several leaders of the full vote is right, or the first of them only, which is the answer when
    everyone was asked.
    """
    N, K = strategy.n_voters, strategy.lattice.n_classes
    levels, theta, first = Levels(N, K), strategy.stop_probabilities(), 1
    ties = math.lcm(*range(1, min(N, K) + 1)) if arithmetic == "rational" else 1
    # Of the orders of c: how many go on beyond it; how many votes they have asked; and, for each size of a
    # part, how many were stopped with one such part as the answer, times `ties`. All times `unit`.
    whole = _Numbers.named(arithmetic, theta[:1]).whole
    unit = 1
    going: dict[SortedCounts, Any] = {(): whole(1)}
    asked: dict[SortedCounts, Any] = {(): whole(0)}
    answered: dict[SortedCounts, dict[int, Any]] = {(): {}}
    not_the_first: dict[SortedCounts, Any] = {}  # of full votes: stopped early at a leader that is not
    for i in range(1, N + 1):
        states = levels[i]
        chances = theta[first : first + len(states)] if i < N else np.ones(len(states))
        numbers = _Numbers.named(arithmetic, chances)
        first, unit = first + len(states), unit * numbers.scale
        now_going, now_asked, now_answered = {}, {}, {}
        for c, chance in zip(states, chances.tolist(), strict=True):
            reached, votes = whole(0), whole(0)
            said = dict.fromkeys(c, whole(0))
            for size in set(c):
                fewer = _without(c, size)
                times = c.count(size)
                reached += times * going[fewer]
                votes += times * asked[fewer]
                before = answered[fewer]
                for part in said:
                    # As seen from one part of this size: votes taken from others, and from itself.
                    others = times - (1 if part == size else 0)
                    if others:
                        said[part] += others * before[part]
                    if part == size and part > 1:
                        said[part] += before[part - 1]
            stops, goes_on = numbers.split(reached, chance)
            now_asked[c] = (votes + reached) * numbers.scale
            for part in said:
                said[part] *= numbers.scale
            leaders = c.count(c[0])  # each is as likely as the others to have been cast first
            if i == N and first_leader_only:
                not_the_first[c] = (leaders - 1) * said[c[0]]  # of stops at each leader before the end
            said[c[0]] += stops / leaders if arithmetic == "float" else stops * ties // leaders
            now_going[c], now_answered[c] = goes_on, said
        going, asked, answered = now_going, now_asked, now_answered
    slack = _rounding(arithmetic, N, K)
    costs, risks = [], []
    for c in states:
        orders = math.factorial(N) // math.prod(map(math.factorial, c)) * unit
        costs.append(_enclose(asked[c], orders, slack))
        wrong = sum(c.count(part) * times for part, times in answered[c].items() if part != c[0])
        wrong += not_the_first.get(c, 0)
        low, high = _enclose(wrong, orders * ties, slack)
        risks.append((low, min(high, Fraction(1))))
    return costs, risks


def least_priced_cost(
    levels: Levels, cost: list[Fraction], risk: list[Fraction], arithmetic: Arithmetic
) -> Fraction:
    """Return a lower end of the least ``sum of cost * expected votes + risk * disagreement``.

    Parameters
    ----------
    levels : Levels
        The states.
    cost, risk : list of Fraction
        Weights, one for each full vote.
    arithmetic : {"rational", "float"}
        What is computed in.
    """
    N, K = levels.n_voters, levels.n_classes
    states = levels[N]
    patterns = [
        math.factorial(N) // math.prod(math.factorial(k) for k in (*c, *map(c.count, set(c)))) for c in states
    ]
    common = math.lcm(*patterns) if arithmetic == "rational" else 1
    power = max(weight.denominator for weight in (*cost, *risk)) if arithmetic == "rational" else 1

    def per_pattern(weight: Fraction, n: int) -> Any:
        if arithmetic == "rational":
            return int(weight * power) * (common // n)
        return float(weight / n)

    # Of one pattern of c, times `common * power`: the weight of going on; for each size of a part, of that
    # part losing in the end; and the least weight from c on.
    go_on = {c: per_pattern(w, n) for c, w, n in zip(states, cost, patterns, strict=True)}
    wrong = {c: per_pattern(w, n) for c, w, n in zip(states, risk, patterns, strict=True)}
    loses = {c: {part: (0 if part == c[0] else wrong[c]) for part in c} for c in states}
    value: dict[SortedCounts, Any] = dict.fromkeys(states, 0)
    for i in range(N - 1, -1, -1):
        more_go_on: dict[SortedCounts, Any] = {}
        more_loses: dict[SortedCounts, dict[int, Any]] = {}
        more_value: dict[SortedCounts, Any] = {}
        for c in levels[i]:
            after = [(size, c.count(size), _with(c, size)) for size in set(c)]
            if len(c) < K:
                after.append((0, 1, (*c, 1)))
            more_go_on[c] = sum(times * go_on[d] for _, times, d in after)
            more_loses[c] = {}
            for part in c:
                total = 0
                for size, times, d in after:
                    others = times - (1 if part == size else 0)
                    if others:
                        total += others * loses[d][part]
                    if part == size:
                        total += loses[d][part + 1]
                more_loses[c][part] = total
            later = more_go_on[c] + sum(times * value[d] for _, times, d in after)
            more_value[c] = min(later, more_loses[c][c[0]]) if i else later
        go_on, loses, value = more_go_on, more_loses, more_value
    low, _ = _enclose(value[()], common * power, _rounding(arithmetic, N, K))
    return max(low, Fraction(0))


def _without(c: SortedCounts, size: int) -> SortedCounts:
    """Return the state with one vote fewer in a part of this size."""
    place = len(c) - 1 - c[::-1].index(size)
    return (*c[:place], size - 1, *c[place + 1 :]) if size > 1 else c[:place]


def _with(c: SortedCounts, size: int) -> SortedCounts:
    """Return the state with one vote more in a part of this size."""
    place = c.index(size)
    return (*c[:place], size + 1, *c[place + 1 :])


def _rounding(arithmetic: Arithmetic, N: int, K: int) -> Fraction:
    """Return the largest relative error: on each level each sum has at most K terms of a few products."""
    return Fraction(0) if arithmetic == "rational" else Fraction(2 * (N + 1) * (2 * K + 8), 2**53)


def _enclose(value: Any, divisor: int, slack: Fraction) -> Interval:
    exact = Fraction(value) / divisor
    if not slack:
        return exact, exact
    return max(exact * (1 - slack) - _UNDERFLOW, Fraction(0)), exact * (1 + slack) + _UNDERFLOW
