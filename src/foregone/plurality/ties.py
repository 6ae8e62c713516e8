"""Ties among many classes: the full vote answers the first class, and an early answer must agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.plurality.betting import BOLDNESS, ladder
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import lattice_of
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.plurality_solution import PluralitySolution
from foregone.plurality.plurality_strategy import PluralityStrategy, settle_ties
from foregone.plurality.solve_plurality import solve_answers
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
    random_state: int = 0,
) -> tuple[PluralityStrategy, PluralitySolution]:
    """Return a strategy that keeps the limit if only the first of several leaders is correct.

    With a confidence and more than two answers, the rows bet on exactly this disagreement. Otherwise solvers
    treat any leader of the full vote as correct: the effect of ties is measured on the rows, and for minimean
    the limit is tightened until there is room for it. Other criteria only settle ties.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes), or CompositionDistribution
        Votes for each class, or their distribution.
    max_disagreement, n_voters, criterion, confidence, random_state
        As in `foregone.solve_plurality`.
    """
    limit, counts = max_disagreement, _distribution(counts)
    for _ in range(ROUNDS):
        solution = solve_answers(
            counts,
            limit,
            n_voters=n_voters,
            n_classes=counts.n_classes,
            confidence=confidence,
            criterion=criterion,
            random_state=random_state,
            first_leader_only=True,
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

    The first always gives the answer of the full vote, including ties. All depend only on the given rows, so
    they can be certified on others.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes), or CompositionDistribution
        Votes for each class, or the distribution of counted votes.
    limit : float
        The limit on the mean disagreement, from 0 to 1.
    n_voters : int
        Number of voters.
    boldness : array-like of float, ascending
    The multiples of the limit that are solved for; by default from 0.1 to 30.

    Examples
    --------
    >>> import numpy as np
    >>> learning = np.array([[9, 0, 0], [8, 1, 0], [5, 3, 1]] * 30)
    >>> careful, *bolder = ladder_with_ties(learning, 0.05, 9)
    >>> careful.stop_probability([4, 3, 1]), careful.stop_probability([5]), len(bolder)
    (0.0, 1.0, 16)
    """
    votes = _distribution(counts)
    lattice = lattice_of(n_voters, votes.n_classes)
    return ladder(lattice, votes.counts_on(lattice), limit, boldness=boldness, first_leader_only=True)


def _distribution(counts: npt.NDArray[Any] | CompositionDistribution) -> CompositionDistribution:
    if isinstance(counts, CompositionDistribution):
        return counts
    return CompositionDistribution.from_counts(counts, n_classes=counts.shape[1])


def bound_with_ties(strategy: PluralityStrategy, solution: PluralitySolution) -> float:
    """Return the bound on the mean disagreement if only the first of several leaders is correct.

    With a bet, it is the bound of the bet; otherwise the solution's bound plus the mean effect of ties on its
    rows.
    """
    if solution.bet is not None and solution.bet.first_leader_only:
        return solution.disagreement
    weights = solution.distribution.weights_on(strategy.lattice)
    by_ties = disagreement_with_ties(strategy) - evaluate_plurality(strategy).disagreement
    return solution.disagreement + float(weights @ by_ties)


def disagreement_with_ties(strategy: PluralityStrategy) -> FloatArray:
    """Return, for every full vote, the probability that the answer is not the first of its leaders."""
    return evaluate_plurality(strategy).disagreement_with_ties
