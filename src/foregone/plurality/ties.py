"""Ties among many classes: the full vote gives them to the first class, and stopping early has to agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.plurality_evaluation import evaluate_plurality, votes_and_disagreement
from foregone.plurality.plurality_solution import PluralitySolution
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.solve_plurality import solve_plurality
from foregone.strategy.limits import Criterion, traits_of

__all__ = ["bound_with_ties", "disagreement_with_ties", "settle_ties", "solve_with_ties"]

ROUNDS = 4  # of solving for a tighter limit


def solve_with_ties(
    counts: npt.NDArray[Any] | CompositionDistribution,
    max_disagreement: float,
    *,
    n_voters: int,
    criterion: Criterion = "minimean",
    confidence: float | None = 0.95,
) -> tuple[PluralityStrategy, PluralitySolution]:
    """Return a strategy that keeps the limit where only the first of several leaders is right.

    Solvers take any leader of the full vote for right. What that leaves to ties is measured on the rows, and
    under minimean the limit is tightened until there is room for it. Other criteria only settle ties.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes), or CompositionDistribution
        Votes for each class, or how they are distributed.
    max_disagreement, n_voters, criterion, confidence
        As in `foregone.solve_plurality`.
    """
    limit = max_disagreement
    if not isinstance(counts, CompositionDistribution):
        counts = CompositionDistribution.from_counts(counts, n_classes=counts.shape[1])
    for _ in range(ROUNDS):
        solution = solve_plurality(
            counts,
            limit,
            n_voters=n_voters,
            n_classes=counts.n_classes,
            confidence=confidence,
            criterion=criterion,
        )
        strategy = settle_ties(solution.strategy)
        if not traits_of(criterion).bounds_the_mean:
            break
        found = bound_with_ties(strategy, solution)
        if found <= max_disagreement:
            break
        limit *= 0.9 * max_disagreement / found
    return strategy, solution


def bound_with_ties(strategy: PluralityStrategy, solution: PluralitySolution) -> float:
    """Return the largest mean disagreement: the solution's, and what ties add on average over its rows."""
    weights = solution.distribution.weights_on(strategy.lattice)
    by_ties = disagreement_with_ties(strategy) - evaluate_plurality(strategy).disagreement
    return solution.disagreement + float(weights @ by_ties)


def settle_ties(strategy: PluralityStrategy) -> PluralityStrategy:
    """Return the strategy that goes on where the leader can still be tied with, though not overtaken.

    The answer is among the leaders at all those states, so that going on adds no disagreement.
    """
    lattice = strategy.lattice
    top, second = lattice.top_two()
    left = lattice.n_voters - lattice.votes_so_far()
    stop = strategy.stop_probabilities()
    stop[(top - second == left) & (left > 0)] = 0.0
    return PluralityStrategy.from_probabilities(lattice, stop)


def disagreement_with_ties(strategy: PluralityStrategy) -> FloatArray:
    """Return, for every full vote, how likely the answer is not the first of its leaders.

    Of k leaders, which have the same number of votes, a stop before the end answers each equally often; when
    everyone was asked, it answers the first.
    """
    lattice = strategy.lattice
    evaluation = evaluate_plurality(strategy)
    stop = strategy.stop_probabilities()
    stop[lattice.level[-3] : lattice.level[-2]] = 1.0
    without_last, _ = votes_and_disagreement(lattice, stop)
    all_asked = evaluation.expected_votes - without_last
    rows = lattice.compositions()
    n_leaders = (rows == rows[:, :1]).sum(axis=1)
    stopped_right = np.maximum(1 - evaluation.disagreement - all_asked, 0.0)
    return np.asarray(evaluation.disagreement + stopped_right * (1 - 1 / n_leaders))
