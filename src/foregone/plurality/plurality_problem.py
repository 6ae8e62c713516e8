"""PluralityProblem: what is minimised, and what is bounded under which distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.plurality.bet import Bet
from foregone.plurality.compositions import CompositionDistribution, likely
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.possible import Anything, NestedSets, Possible
from foregone.plurality.rules import adaptive_consistency
from foregone.solving.budget import OneDistribution
from foregone.strategy.limits import Criterion, traits_of

__all__ = ["PluralityProblem", "difficulty_ranks"]

_RANKED_BY = 0.9  # of the rule whose disagreement is the measure
_RANK_FACTOR = 1.5  # between the disagreement of one rank and the next
_LEAST_RANKED = 1e-5  # all below are one rank


@dataclass(frozen=True, eq=False)
class PluralityProblem:
    """Minimise the mean votes, or those of the worst full vote, within a limit on the disagreement.

    | criterion | minimise | subject to |
    |---|---|---|
    | minimax | the expected votes of the worst full vote | the disagreement of every full vote <= limit |
    | minimean | the mean expected votes | the mean disagreement <= limit |
    | minimixed | the mean expected votes | the disagreement of every full vote <= limit |

    With a confidence, the mean is over what the sample suggests. Between two answers, minimean keeps the
    limit under all distributions that the sample leaves possible. Among more, any is possible, and items that
    had no part in finding the strategy bet on its mean disagreement.

    Attributes
    ----------
    lattice : Lattice
        The states.
    mean : ndarray of shape (n_compositions,)
        The distribution of the full vote that the mean is over.
    possible : Possible
        The distributions under which the mean disagreement must keep to the limit.
    limit : float
        From 0 to 1.
    minimises_the_worst : bool
        Whether the votes of the worst full vote are minimised.
    bet : Bet or None
        The items that certify the mean disagreement, if that is how the limit is kept.
    confidence : float or None
        How surely.
    """

    lattice: Lattice
    mean: FloatArray
    possible: Possible
    limit: float
    minimises_the_worst: bool = False
    bet: Bet | None = None
    confidence: float | None = None

    @classmethod
    def of(
        cls,
        lattice: Lattice,
        criterion: Criterion,
        distribution: CompositionDistribution,
        limit: float,
        confidence: float | None,
        bet: Bet | None = None,
    ) -> PluralityProblem:
        """Put it together; with a confidence, minimean needs a distribution that was observed."""
        weights, traits = distribution.weights_on(lattice), traits_of(criterion)
        if not traits.bounds_the_mean:
            return cls(lattice, weights, Anything.on(lattice), limit, traits.minimises_the_worst)
        if confidence is None:
            return cls(lattice, weights, OneDistribution(weights), limit)
        guess = likely(lattice, weights)
        if bet is not None:
            return cls(lattice, guess, Anything.on(lattice), limit, bet=bet, confidence=confidence)
        counts = distribution.counts_on(lattice).astype(np.float64)
        possible = NestedSets.observed(difficulty_ranks(lattice), counts, 1 - confidence)
        return cls(lattice, guess, possible, limit, confidence=confidence)

    @property
    def margin(self) -> float:
        """Share of the limit to stay below it, so that no rounding matters, not even in a certificate."""
        roundings = (self.lattice.n_voters + 1) * (2 * self.lattice.n_classes + 8)
        return max(1e-12, 4 * roundings * 2.0**-53)

    def cost(self, evaluation: PluralityEvaluation) -> float:
        """Return what is minimised."""
        return self.cost_of(evaluation.expected_votes)

    def cost_of(self, votes: FloatArray) -> float:
        """Return what is minimised, given the expected votes for every full vote."""
        return float(votes.max() if self.minimises_the_worst else self.mean @ votes)

    def risk(self, evaluation: PluralityEvaluation) -> float:
        """Return what the limit is for."""
        if self.bet is not None:
            assert self.confidence is not None
            return self.bet.bound(evaluation, self.confidence)
        disagreement = evaluation.disagreement
        return min(float(self.possible.worst_for(disagreement) @ disagreement), 1.0)


@lru_cache(maxsize=4)
def difficulty_ranks(lattice: Lattice) -> IntArray:
    """Return a rank for every full vote: 0 for those most easily taken for another, and up, none left out.

    The measure is the disagreement of one rule that is fixed beforehand (Adaptive-Consistency's), so that the
    ranks depend on nothing that is observed. Any ranks lead to a valid guarantee; where the strategy to be
    bounded disagrees in about the same order, its bound is a good one. Ranking by how close the
    leader and the next answer are is much worse: with many answers, votes scattered over all of them
    are wrong far more often than close ones, and far rarer.
    """
    rule = adaptive_consistency(lattice.n_voters, _RANKED_BY, n_classes=lattice.n_classes)
    disagreement = np.maximum(evaluate_plurality(rule).disagreement, _LEAST_RANKED)
    steps = np.floor(-np.log(np.minimum(disagreement, 1.0)) / np.log(_RANK_FACTOR))
    _, ranks = np.unique(steps, return_inverse=True)
    return np.asarray(ranks, np.int64).ravel()
