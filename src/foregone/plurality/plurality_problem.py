"""PluralityProblem: the objective, the limit, and the distributions that the limit must hold for."""

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

_RANKED_BY = 0.9  # of the rule whose disagreement measures difficulty
_RANK_FACTOR = 1.5  # between the disagreement of one rank and the next
_LEAST_RANKED = 1e-5  # all below form one rank


@dataclass(frozen=True, eq=False)
class PluralityProblem:
    """Minimise the mean votes, or those of the worst full vote, subject to a limit on the disagreement.

    | criterion | minimise | subject to |
    |---|---|---|
    | minimax | the expected votes of the worst full vote | the disagreement of every full vote <= limit |
    | minimean | the mean expected votes | the mean disagreement <= limit |
    | minimixed | the mean expected votes | the disagreement of every full vote <= limit |

    With a confidence, the mean is over a smoothed sample. For two answers, minimean keeps the limit for all
    distributions consistent with the sample. For more, held-out items bound the mean disagreement by bets.

    Attributes
    ----------
    lattice : Lattice
        The states.
    mean : ndarray of shape (n_compositions,)
        The distribution of the full vote used for the mean.
    possible : Possible
        The distributions for which the mean disagreement must keep the limit.
    limit : float
        From 0 to 1.
    minimises_the_worst : bool
        Whether the votes of the worst full vote are minimised.
    bet : Bet or None
        The items that certify the mean disagreement, if the limit is certified by bets.
    confidence : float or None
        The probability with which the limit must hold.
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
        """Make a problem; with a confidence, minimean needs an observed distribution."""
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
        """Share of the limit kept as a margin, so that rounding cannot break it, even in a certificate."""
        roundings = (self.lattice.n_voters + 1) * (2 * self.lattice.n_classes + 8)
        return max(1e-12, 4 * roundings * 2.0**-53)

    def cost(self, evaluation: PluralityEvaluation) -> float:
        """Return the objective."""
        return self.cost_of(evaluation.expected_votes)

    def cost_of(self, votes: FloatArray) -> float:
        """Return the objective, given the expected votes for every full vote."""
        return float(votes.max() if self.minimises_the_worst else self.mean @ votes)

    def risk(self, evaluation: PluralityEvaluation) -> float:
        """Return the limited quantity."""
        if self.bet is not None:
            assert self.confidence is not None
            return self.bet.bound(evaluation, self.confidence)
        disagreement = evaluation.disagreement
        return min(float(self.possible.worst_for(disagreement) @ disagreement), 1.0)


@lru_cache(maxsize=4)
def difficulty_ranks(lattice: Lattice) -> IntArray:
    """Return a rank for every full vote, by difficulty: 0 for the most difficult, ascending without gaps.

    Difficulty is the disagreement of one fixed rule (Adaptive-Consistency's), so the ranks do not depend on
    observations. Any ranks give a valid guarantee; the bound is tight if the strategy's disagreement follows
    about the same order. Ranking by the lead over the next answer is much worse: with many answers, scattered
    votes are wrong far more often than close ones, and are far rarer.
    """
    rule = adaptive_consistency(lattice.n_voters, _RANKED_BY, n_classes=lattice.n_classes)
    disagreement = np.maximum(evaluate_plurality(rule).disagreement, _LEAST_RANKED)
    steps = np.floor(-np.log(np.minimum(disagreement, 1.0)) / np.log(_RANK_FACTOR))
    _, ranks = np.unique(steps, return_inverse=True)
    return np.asarray(ranks, np.int64).ravel()
