"""PluralityTally: what has been counted in a poll whose answers can be anything."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from functools import lru_cache

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_strategy import PluralityStrategy, leader
from foregone.tally import Verdict, shorten

__all__ = ["PluralityTally"]


class PluralityTally:
    """The tally of a `PluralityStrategy`: how many votes each answer has, in the order first cast."""

    def __init__(self, strategy: PluralityStrategy, votes: CompositionDistribution | None) -> None:
        if votes is not None and not isinstance(votes, CompositionDistribution):
            raise InvalidInputError(
                "a strategy for many answers takes votes as a CompositionDistribution, "
                f"not a {type(votes).__name__}"
            )
        if votes is not None and votes.n_voters != strategy.n_voters:
            raise InvalidInputError(
                f"the votes are for {votes.n_voters} voters, the strategy for {strategy.n_voters}: "
                "use equal ones"
            )
        self.n_voters = strategy.n_voters
        self.asked = 0
        self._counts: dict[Hashable, int] = {}
        self._strategy = strategy
        self._votes = votes

    def check(self, vote: object) -> Hashable:
        """Return the answer, numbers of numpy as Python's own, or say why it is none."""
        if isinstance(vote, np.generic):
            vote = vote.item()
        if vote is None or (isinstance(vote, float) and math.isnan(vote)):
            raise InvalidInputError(
                f"{vote!r} is no answer: count a voter without an answer as a failure, by raising an error, "
                'or give such answers a name of their own, such as "none"'
            )
        try:
            hash(vote)
        except TypeError:
            raise InvalidInputError(
                f"an answer must be hashable, such as a text or a number, not {shorten(vote)}: turn what "
                "counts as the same answer into the same text before it is counted"
            ) from None
        return vote

    def check_all(self, votes: Iterable[object]) -> list[Hashable]:
        """Return votes to be counted together, each checked; they must not be too many different ones."""
        checked = [self.check(vote) for vote in votes]
        different = dict(self._counts)
        for vote in checked:
            different.setdefault(vote, 0)
            if len(different) > self._strategy.lattice.n_classes:
                raise InvalidInputError(
                    f"{shorten(vote)} is one answer too many: the strategy is for at most "
                    f"{self._strategy.lattice.n_classes} different ones: solve for more (n_classes)"
                )
        return checked

    def add(self, vote: Hashable) -> None:
        """Count a checked vote."""
        self.check_all([vote])
        self.asked += 1
        self._counts[vote] = self._counts.get(vote, 0) + 1

    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""
        return self._strategy.stop_probability(list(self._counts.values()))

    def needed_at_least(self) -> int:
        """Return after how many more votes, at least one, a stop is possible for the first time."""
        counts = list(self._counts.values())
        least = self._strategy.votes_needed_at_least(counts)
        if least > 0:
            return least
        # Chance has decided to go on from here, so the question is what a vote may lead to.
        following = [[*counts[:k], count + 1, *counts[k + 1 :]] for k, count in enumerate(counts)]
        if len(counts) < self._strategy.lattice.n_classes:
            following.append([*counts, 1])
        return 1 + min(map(self._strategy.votes_needed_at_least, following))

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""
        return min(most, self._strategy.votes_needed_at_most(list(self._counts.values())))

    def verdict(self) -> Verdict:
        """Return what a stop here says."""
        answer = leader(self._counts)
        return Verdict(answer, self.asked, self._counts[answer], self._risk())

    def _risk(self) -> float | None:
        """Return the probability that the leader is none of the full vote, given the votes seen."""
        first, second = sorted([*self._counts.values(), 0, 0], reverse=True)[:2]
        if first - second >= self.n_voters - self.asked:
            return 0.0
        if self._votes is None:
            return None
        reach, wrong = _chances(self._strategy.lattice, self._votes)
        state = self._strategy.lattice.number_of(list(self._counts.values()))
        return float(min(wrong[state] / reach[state], 1.0)) if reach[state] > 0 else None


@lru_cache(maxsize=2)
def _chances(lattice: Lattice, votes: CompositionDistribution) -> tuple[FloatArray, FloatArray]:
    """Return how likely each state is, and how likely it is together with its leader not being right."""
    weights = votes.weights_on(lattice)
    return lattice.pull_back(weights), lattice.pull_back_wrong(weights)
