"""Ties among many classes: the full vote gives them to the first class, and stopping early has to agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.plurality.betting import BOLDNESS, ladder
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import lattice_of
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.plurality_solution import PluralitySolution
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.solve_plurality import solve_plurality
from foregone.strategy.limits import Criterion, traits_of

__all__ = ["bound_with_ties", "disagreement_with_ties", "ladder_with_ties", "settle_ties", "solve_with_ties"]

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
    limit, counts = max_disagreement, _distribution(counts)
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


def ladder_with_ties(
    counts: npt.NDArray[Any] | CompositionDistribution,
    limit: float,
    n_voters: int,
    boldness: npt.ArrayLike = BOLDNESS,
) -> Iterator[PluralityStrategy]:
    """Yield strategies from careful to bold, learned from the full votes of some rows, with ties settled.

    The first always gives the answer of the full vote, ties included. None depends on rows that are not
    given, so that they can be certified on others.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes), or CompositionDistribution
        Votes for each class, or how they are distributed.
    limit : float
        The largest mean disagreement that is to be kept, from 0 to 1.
    n_voters : int
        Number of voters.
    boldness : array-like of float, rising
        The shares of the limit that are solved for; by default from a tenth of it to thirty times as much.

    Examples
    --------
    >>> import numpy as np
    >>> learning = np.array([[9, 0, 0], [8, 1, 0], [5, 3, 1]] * 30)
    >>> careful, *bolder = ladder_with_ties(learning, 0.05, 9)
    >>> careful.stop_probability([4, 3, 1]), careful.stop_probability([5]), len(bolder)
    (0.0, 1.0, 11)
    """
    votes = _distribution(counts)
    lattice = lattice_of(n_voters, votes.n_classes)
    return map(settle_ties, ladder(lattice, votes.weights_on(lattice), limit, boldness))


def _distribution(counts: npt.NDArray[Any] | CompositionDistribution) -> CompositionDistribution:
    if isinstance(counts, CompositionDistribution):
        return counts
    return CompositionDistribution.from_counts(counts, n_classes=counts.shape[1])


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
    lattice, stop = strategy.lattice, strategy.stop_probabilities()
    all_asked = lattice.push_reach(stop)[lattice.level[-2] :]
    _, answered = lattice.push_forward(stop, counts_votes=False)
    leaders = lattice.edge_start[lattice.level[-2] : -1]
    n_leaders = lattice.times[leaders].astype(np.float64)
    # Each leader by itself, and without a difference of rounded sums where it is never answered early.
    stopped_at_one = np.maximum(answered[leaders - leaders[0]] - all_asked / n_leaders, 0.0)
    return np.asarray(evaluate_plurality(strategy).disagreement + stopped_at_one * (n_leaders - 1))
