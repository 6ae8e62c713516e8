"""evaluate_plurality(strategy): what it costs and risks, exactly, for every possible full vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone._kernels import plurality as kernels
from foregone.errors import InvalidInputError
from foregone.evaluation import Figures
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice
from foregone.plurality.strategy import PluralityStrategy
from foregone.votes import FloatArray

__all__ = ["PluralityEvaluation", "evaluate_plurality", "votes_and_disagreement"]


@dataclass(frozen=True, eq=False)
class PluralityEvaluation:
    """What a strategy does for every composition of the full vote, in the order of the lattice.

    Attributes
    ----------
    strategy : PluralityStrategy
        What was evaluated.
    expected_votes : ndarray of shape (n_compositions,)
        Mean number of votes asked, over all orders of the voters.
    disagreement : ndarray of shape (n_compositions,)
        Probability that the answer is not among the leaders of the full vote.
    """

    strategy: PluralityStrategy
    expected_votes: FloatArray
    disagreement: FloatArray

    def mean(self, compositions: CompositionDistribution) -> Figures:
        """Return the figures averaged over a distribution of the full vote."""
        if not isinstance(compositions, CompositionDistribution):
            raise InvalidInputError(
                f"compositions must be a CompositionDistribution, not {type(compositions).__name__}: make "
                "one with CompositionDistribution.from_counts or from_answers"
            )
        weights = compositions.weights_on(self.strategy.lattice)
        return Figures(float(weights @ self.expected_votes), float(weights @ self.disagreement))

    def worst(self) -> Figures:
        """Return the largest expected votes and the largest disagreement (not for the same full vote)."""
        return Figures(float(self.expected_votes.max()), float(self.disagreement.max()))


def evaluate_plurality(strategy: PluralityStrategy) -> PluralityEvaluation:
    """Evaluate a strategy for every full vote in one pass over the lattice.

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
            f"strategy must be a PluralityStrategy, not {type(strategy).__name__}: give the .strategy of a "
            "PluralitySolution, or one of foregone.plurality.rules; for a StoppingStrategy use evaluate"
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
