"""Slow and obvious: every order of the votes, one by one, in exact numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations

StopOf = Callable[[tuple[int, ...]], float]  # the stop probability after these votes, in order


def orders(composition: list[int]) -> Iterator[tuple[int, ...]]:
    """Every order of the votes of a composition, equal votes counted as different."""
    votes = [answer for answer, times in enumerate(composition) for _ in range(times)]
    return permutations(votes)


def leaders(votes: tuple[int, ...]) -> list[int]:
    """Answers with the most votes, in the order of their first votes."""
    counts = Counter(votes)
    return [answer for answer, times in counts.items() if times == max(counts.values())]


def votes_and_disagreement(composition: list[int], stop_of: StopOf) -> tuple[Fraction, Fraction]:
    """Expected votes and disagreement for a composition, averaged over all orders."""
    asked, wrong, n_orders = Fraction(0), Fraction(0), 0
    for order in orders(composition):
        n_orders += 1
        going = Fraction(1)
        right = leaders(order)
        for i in range(1, len(order) + 1):
            stop = Fraction(stop_of(order[:i])) if i < len(order) else Fraction(1)
            asked += going * stop * i
            if leaders(order[:i])[0] not in right:
                wrong += going * stop
            going *= 1 - stop
    return asked / n_orders, wrong / n_orders


def sorted_counts(votes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(Counter(votes).values(), reverse=True))
