"""Cost, risk and the dual bound for `certify_plurality`, sharing no code with the solvers.

Symbols: ``N`` voters, at most ``K`` answers; a state ``c`` is the counts of i votes in descending order.

Orders of votes are counted instead of computing with probabilities. Treat the parts of c as different
answers, even if they are equal: each is the last one voted for in some orders of c, and these are orders of
the state with one vote less in this part. So numbers of orders are sums over parts, without any division. Of
the ``N! / (c_1! c_2! ...)`` orders of a full vote, this counts how many stopped and how many went on.

Backwards, answers are numbered by their first occurrence, so orders that differ only in the names of answers
form one pattern. A full vote has as many patterns as orders, divided by m! for each m parts of equal size.
The weight of one pattern is the sum of the weights of all its successors: one more vote for any of its parts,
or for a new answer.

All numbers added and multiplied are non-negative. In integers nothing is rounded; in floats the relative
error of a result is at most ``(number of roundings on its longest path) * 2 ** -53``, which is known.
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

_UNDERFLOW = Fraction(1, 10**200)  # exceeds all underflow errors, for inputs where floats are allowed


class Levels:
    """The states, level by level, in the strategy's order: lexicographic."""

    def __init__(self, n_voters: int, n_classes: int) -> None:
        self.n_voters = n_voters
        self.n_classes = n_classes

    def __getitem__(self, asked: int) -> list[SortedCounts]:
        return list(_partitions(asked, self.n_classes, asked))


def _partitions(total: int, most_parts: int, largest: int) -> Iterator[SortedCounts]:
    """Yield the partitions of a total in lexicographic order."""
    if total == 0:
        yield ()
        return
    if most_parts == 0:
        return
    for first in range(-(-total // most_parts), min(total, largest) + 1):
        for rest in _partitions(total - first, most_parts - 1, first):
            yield (first, *rest)


class _Numbers(NamedTuple):
    """The arithmetic used to count orders."""

    whole: Callable[[int], Any]
    split: Callable[[Any, float], tuple[Any, Any]]  # the stopping and the continuing part, both times `scale`
    scale: int  # of one level to the next

    @classmethod
    def named(cls, name: Arithmetic, chances: FloatArray) -> _Numbers:
        """Return the arithmetic for a level with these stop probabilities."""
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

    If the full vote has several leaders, each is correct, or only the first, which is the answer after all
    votes.
    """
    N, K = strategy.n_voters, strategy.lattice.n_classes
    levels, theta, first = Levels(N, K), strategy.stop_probabilities(), 1
    ties = math.lcm(*range(1, min(N, K) + 1)) if arithmetic == "rational" else 1
    # Of the orders of c: how many go on from it; how many votes they have asked; and, for each size of a
    # part, how many stopped with one such part as the answer, times `ties`. All times `unit`.
    whole = _Numbers.named(arithmetic, theta[:1]).whole
    unit = 1
    going: dict[SortedCounts, Any] = {(): whole(1)}
    asked: dict[SortedCounts, Any] = {(): whole(0)}
    answered: dict[SortedCounts, dict[int, Any]] = {(): {}}
    not_the_first: dict[SortedCounts, Any] = {}  # of full votes: stopped early with a losing leader
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
                    # For one part of this size: votes taken from others, and from itself.
                    others = times - (1 if part == size else 0)
                    if others:
                        said[part] += others * before[part]
                    if part == size and part > 1:
                        said[part] += before[part - 1]
            stops, goes_on = numbers.split(reached, chance)
            now_asked[c] = (votes + reached) * numbers.scale
            for part in said:
                said[part] *= numbers.scale
            leaders = c.count(c[0])  # each is equally likely to have been cast first
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
    """Return a lower bound on the least ``sum of cost * expected votes + risk * disagreement``.

    Parameters
    ----------
    levels : Levels
        The states.
    cost, risk : list of Fraction
        Weights, one for each full vote.
    arithmetic : {"rational", "float"}
        The arithmetic to use.
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

    # For one pattern of c, times `common * power`: the weight of going on; for each size of a part, of that
    # part losing the full vote; and the least weight from c on.
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
    """Return the state with one vote less in a part of this size."""
    place = len(c) - 1 - c[::-1].index(size)
    return (*c[:place], size - 1, *c[place + 1 :]) if size > 1 else c[:place]


def _with(c: SortedCounts, size: int) -> SortedCounts:
    """Return the state with one vote more in a part of this size."""
    place = c.index(size)
    return (*c[:place], size + 1, *c[place + 1 :])


def _rounding(arithmetic: Arithmetic, N: int, K: int) -> Fraction:
    """Return a bound on the relative error: at each level, sums have at most K terms of a few products."""
    return Fraction(0) if arithmetic == "rational" else Fraction(2 * (N + 1) * (2 * K + 8), 2**53)


def _enclose(value: Any, divisor: int, slack: Fraction) -> Interval:
    exact = Fraction(value) / divisor
    if not slack:
        return exact, exact
    return max(exact * (1 - slack) - _UNDERFLOW, Fraction(0)), exact * (1 + slack) + _UNDERFLOW
