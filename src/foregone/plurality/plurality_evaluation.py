"""evaluate_plurality(strategy): its exact cost and risk for every possible full vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from foregone._kernels import lattice_flow as kernels
from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.strategy.evaluation import ExactFigures, Figures

__all__ = [
    "PluralityEvaluation",
    "StopsAfter",
    "evaluate_plurality",
    "votes_and_disagreement",
]


class StopsAfter(NamedTuple):
    """Where a strategy can stop after a number of votes, by the lead of the first answer over the second.

    Attributes
    ----------
    asked : int
        The number of votes.
    probability : float
        Probability of asking exactly this number.
    may_stop_from : int
        The smallest lead with which it may stop.
    stops_from : int or None
        The smallest lead from which it always stops; None if it may go on even with the largest.
    """

    asked: int
    probability: float
    may_stop_from: int
    stops_from: int | None


@dataclass(frozen=True, eq=False, repr=False)
class PluralityEvaluation(ExactFigures):
    """Exact cost and risk of a strategy for every composition of the full vote, in the lattice's order.

    Attributes
    ----------
    strategy : PluralityStrategy
        The evaluated strategy.
    expected_votes : ndarray of shape (n_compositions,)
        Mean number of votes asked, over all orders of the voters.
    disagreement : ndarray of shape (n_compositions,)
        Probability that the answer is not among the leaders of the full vote.
    """

    strategy: PluralityStrategy

    def mean(self, compositions: CompositionDistribution) -> Figures:
        """Return the figures averaged over a distribution of the full vote."""
        return self.averaged(self._weights(compositions))

    def worst_by_lead(self) -> dict[int, Figures]:
        """Return the largest figures by the lead of the full vote's first answer over the second.

        Leads that no full vote has are omitted. With lead 0 there are several leaders, and each is correct.
        """
        lattice = self.strategy.lattice
        top, second = (counts[lattice.level[-2] :] for counts in lattice.top_two())
        leads, place = np.unique(top - second, return_inverse=True)
        votes, risk = np.zeros((2, len(leads)))
        np.maximum.at(votes, place, self.expected_votes)
        np.maximum.at(risk, place, self.disagreement)
        return {
            lead: Figures(*figures)
            for lead, *figures in zip(leads.tolist(), votes.tolist(), risk.tolist(), strict=True)
        }

    @cached_property
    def disagreement_with_ties(self) -> FloatArray:
        """Probability, for every full vote, that the answer is not the first of its leaders.

        An early stop answers each of k leaders, which have the same number of votes, equally often; after all
        votes, it answers the first.
        """
        lattice, stop = self.strategy.lattice, self.strategy.stop_probabilities()
        stop[lattice.level[-2] :] = 0.0
        _, answered_early = lattice.push_forward(stop, counts_votes=False)
        leaders = lattice.edge_start[lattice.level[-2] : -1]
        not_the_first = lattice.times[leaders] - 1.0
        return np.asarray(self.disagreement + not_the_first * answered_early[leaders - leaders[0]])

    def votes_asked(self, compositions: CompositionDistribution) -> FloatArray:
        """Return the distribution of the number of votes asked.

        Parameters
        ----------
        compositions : CompositionDistribution
            Distribution of the full vote.

        Returns
        -------
        ndarray of shape (n_voters + 1,)
            Entry i is the probability that exactly i votes are asked; the entries sum to one.
        """
        lattice, stop = self.strategy.lattice, self.strategy.stop_probabilities()
        stopped = lattice.pull_back(self._weights(compositions)) * lattice.push_reach(stop) * stop
        return np.bincount(lattice.votes_so_far(), stopped).astype(np.float64)

    def stops(self, compositions: CompositionDistribution) -> list[StopsAfter]:
        """Return where it can stop, for each number of votes after which it can."""
        lattice, stop = self.strategy.lattice, self.strategy.stop_probabilities()
        shares, is_reached = self.votes_asked(compositions).tolist(), lattice.push_reach(stop) > 0
        top, second = lattice.top_two()
        found = []
        for asked, (start, end) in enumerate(pairwise(lattice.level.tolist())):
            reached = start + np.flatnonzero(is_reached[start:end])
            leads, chance = top[reached] - second[reached], stop[reached]
            if chance.any():
                sure = leads[leads > leads[chance < 1].max(initial=-1)]
                least = int(leads[chance > 0].min())
                found.append(StopsAfter(asked, shares[asked], least, int(sure.min()) if len(sure) else None))
        return found

    def _weights(self, compositions: CompositionDistribution) -> FloatArray:
        if not isinstance(compositions, CompositionDistribution):
            raise InvalidInputError(
                f"compositions must be a CompositionDistribution, got {type(compositions).__name__}: make "
                "one with CompositionDistribution.from_counts or from_answers"
            )
        return compositions.weights_on(self.strategy.lattice)


def evaluate_plurality(strategy: PluralityStrategy) -> PluralityEvaluation:
    """Evaluate a strategy for every full vote in one pass over the lattice; used by `foregone.evaluate`.

    Examples
    --------
    >>> from foregone.plurality import CompositionDistribution, evaluate_plurality, rules
    >>> evaluation = evaluate_plurality(rules.lead(5, 2))
    >>> figures = evaluation.mean(CompositionDistribution.from_counts([[4, 1], [3, 2]]))
    >>> round(figures.expected_votes, 3), round(figures.disagreement, 3)
    (3.2, 0.05)
    """
    if not isinstance(strategy, PluralityStrategy):
        raise InvalidInputError(
            f"strategy must be a PluralityStrategy, got {type(strategy).__name__}: use foregone.evaluate, "
            "which takes every kind"
        )
    return PluralityEvaluation(
        strategy, *votes_and_disagreement(strategy.lattice, strategy.stop_probabilities())
    )


def votes_and_disagreement(lattice: Lattice, stop: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected votes and the disagreement for every full vote, given all stop probabilities."""
    votes, answered = lattice.push_forward(stop, counts_votes=False)
    wrong = np.zeros(lattice.n_compositions)
    kernels.sum_losers(*lattice.edges, answered, wrong)
    return votes, wrong
