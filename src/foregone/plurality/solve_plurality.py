"""solve_plurality(): find optimal strategies for many answers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_confidence, check_max_disagreement, check_whole
from foregone.errors import InvalidInputError
from foregone.plurality.bet import Bet
from foregone.plurality.betting import climb_by_bets, divide_items, ladder, makes_bets
from foregone.plurality.compositions import CompositionDistribution, are_answers, pessimistic
from foregone.plurality.known_distribution import solve_known, solve_known_without_risk
from foregone.plurality.lattice import Lattice, is_decided, lattice_of
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_solution import Evidence, PluralitySolution
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.possible import NestedSets
from foregone.plurality.worst_case import solve_sampled, solve_worst_case
from foregone.solving.budget import OneDistribution
from foregone.strategy.limits import Criterion, traits_of

__all__ = ["solve_answers", "solve_plurality"]

# Limits up to the first are treated as zero if that is good enough, because the linear program cannot
# resolve them. Up to the second they always are: prices are inversely proportional to the limit.
_NEXT_TO_ZERO = 1e-14
_AS_GOOD_AS_ZERO = 1e-290
_GOOD_ENOUGH = 1e-10  # a gap
_PROHIBITIVE = 1e250  # a price; its product with a weight stays finite


def solve_plurality(
    compositions_or_distribution: (
        npt.ArrayLike | Sequence[Sequence[Hashable]] | CompositionDistribution | None
    ),
    max_disagreement: float,
    *,
    n_voters: int,
    n_classes: int | None = None,
    confidence: float | None = 0.95,
    criterion: Criterion = "minimean",
    random_state: int = 0,
) -> PluralitySolution:
    """Find when to stop asking voters whose answers can be anything, within a limit on the disagreement.

    The full vote is the answer that most voters give. A strategy stops earlier and answers the leader so far;
    it disagrees if that is not among the leaders of the full vote.

    Parameters
    ----------
    compositions_or_distribution : array-like, lists of answers, CompositionDistribution or None
        Past full votes. Either counts: one row per item with the votes for each answer, in any order; short
        rows are padded with zeros. Or answers: one list per item, of which the first ``n_voters`` are used;
        None is not a vote. Rows of numbers are treated as counts; for answers that are numbers use
        `CompositionDistribution.from_answers`. None assumes that every composition is equally likely.
    max_disagreement : float
        Largest allowed probability that the answer differs from the full vote, from 0 to 1.
    n_voters : int
        Number of voters.
    n_classes : int, optional
        The largest possible number of different answers; by default any number, which can be solved for up
        to about 60 voters.
    confidence : float or None, default 0.95
        With at least this probability over the sample of items, minimean keeps its limit for the true
        distribution of items, whatever that is. With more than two answers, a strategy is learned on some of
        the items and certified on the others. None treats the observed distribution as the true one, which is
        far too optimistic with few items. The other criteria bound every single item and need no confidence.
        Ignored without past full votes.
    criterion : {"minimean", "minimixed", "minimax"}
        As in `foregone.solve`. Minimixed and minimax bound the disagreement of every possible full vote,
        however scattered; with many answers, they save little.
    random_state : int, default 0
        Seeds the split into learning and certification items. The confidence holds for one value chosen in
        advance: trying several and keeping the best result invalidates it.

    Returns
    -------
    PluralitySolution
        The strategy, its cost and risk, and a lower bound on the cost of any strategy. With a confidence and
        more than two answers, the bound is 1, because the optimum depends on the true distribution.

    Examples
    --------
    >>> from foregone import solve_plurality
    >>> past = [[9, 0, 0]] * 150 + [[8, 1, 0]] * 40 + [[5, 3, 1]] * 10
    >>> solution = solve_plurality(past, 0.05, n_voters=9)
    >>> round(solution.expected_votes, 1), solution.disagreement <= 0.05
    (1.5, True)
    >>> solution.strategy.stop_probability([2]), solution.strategy.stop_probability([1, 1])
    (1.0, 0.0)

    The same from the answers themselves:

    >>> answers = [["4"] * 9] * 150 + [["7"] * 8 + ["8"]] * 40 + [list("aaaaabbbc")] * 10
    >>> solve_plurality(answers, 0.05, n_voters=9).distribution == solution.distribution
    True

    If the past items are treated as the true distribution, it asks fewer, with no guarantee for new items:

    >>> round(solve_plurality(past, 0.05, n_voters=9, confidence=None).expected_votes, 2)
    1.0

    Without past items every composition is assumed to be equally likely:

    >>> round(solve_plurality(None, 0.05, n_voters=9).expected_votes, 2)
    5.31
    """
    return solve_answers(
        compositions_or_distribution,
        max_disagreement,
        n_voters=n_voters,
        n_classes=n_classes,
        confidence=confidence,
        criterion=criterion,
        random_state=random_state,
    )


def solve_answers(
    compositions_or_distribution: Any,
    max_disagreement: float,
    *,
    n_voters: int,
    n_classes: int | None,
    confidence: float | None,
    criterion: Criterion,
    random_state: int,
    first_leader_only: bool = False,
) -> PluralitySolution:
    """Solve like `solve_plurality`; bets may count only the first of several leaders as correct."""
    traits, limit = traits_of(criterion), check_max_disagreement(max_disagreement)
    if not traits.bounds_the_mean or compositions_or_distribution is None:
        confidence = None  # every single item is bounded, or no item was observed
    elif confidence is not None:
        confidence = check_confidence(confidence)
    lattice = lattice_of(n_voters, n_classes)
    distribution = _distribution(compositions_or_distribution, lattice)
    if confidence is not None and distribution.n_observations is None:
        raise InvalidInputError(
            "a confidence needs observed items, but these compositions were assumed or weighted: pass the "
            'counted votes of past items, or use confidence=None or criterion="minimixed"'
        )
    seed = check_whole(random_state, "random_state", 0)
    if confidence is not None and limit > 0 and makes_bets(lattice):
        learning, certifying = divide_items(distribution.counts_on(lattice), seed)
        bet = Bet(certifying, first_leader_only)
        rungs = ladder(lattice, learning, limit, first_leader_only=first_leader_only)
        strategy = climb_by_bets(rungs, bet, limit, confidence)
        problem = PluralityProblem.of(lattice, criterion, distribution, limit, confidence, bet)
        nothing = Evidence(problem.mean, np.zeros(lattice.n_compositions), 0.0)
        return PluralitySolution.of(criterion, distribution, confidence, problem, (strategy, 1.0, nothing))
    problem = PluralityProblem.of(lattice, criterion, distribution, limit, confidence)
    found = _solve(problem, distribution.weights_on(lattice))
    return PluralitySolution.of(criterion, distribution, confidence, problem, found)


def _distribution(given: Any, lattice: Lattice) -> CompositionDistribution:
    if given is None:
        return CompositionDistribution.flat(lattice)
    if isinstance(given, CompositionDistribution):
        return given
    if hasattr(given, "__array__"):
        given = np.asarray(given)
    if are_answers(given):
        return CompositionDistribution.from_answers(given, n_voters=lattice.n_voters)
    return CompositionDistribution.from_counts(given)


def _solve(problem: PluralityProblem, observed: FloatArray) -> tuple[PluralityStrategy, float, Evidence]:
    if problem.limit == 0:
        return _without_risk(problem)
    known, sampled = (isinstance(problem.possible, kind) for kind in (OneDistribution, NestedSets))
    first = observed if known else np.full(len(observed), 1.0 / len(observed))
    if isinstance(problem.possible, NestedSets):
        first = problem.possible.spread(pessimistic(problem.lattice, observed))
    if problem.limit <= _NEXT_TO_ZERO:
        strategy, without, evidence = _without_risk(replace(problem, limit=0.0))
        bound, evidence = _proof_with(problem, evidence.cost_weights, first)
        if without - bound <= _GOOD_ENOUGH * without or problem.limit <= _AS_GOOD_AS_ZERO:
            return strategy, bound, evidence
    if known:
        return solve_known(problem, observed)
    if sampled or problem.limit <= _NEXT_TO_ZERO:
        return solve_sampled(problem, first)
    return solve_worst_case(problem, first)


def _proof_with(
    problem: PluralityProblem, cost_weights: FloatArray, risk: FloatArray
) -> tuple[float, Evidence]:
    """Return a lower bound for a limit close to zero, at the highest price that is good enough."""
    price = min(_GOOD_ENOUGH / 10 / problem.limit, _PROHIBITIVE)
    lattice, prices = problem.lattice, Evidence(cost_weights, price * risk, price)
    reach, wrong = lattice.pull_back(cost_weights), lattice.pull_back_wrong(prices.risk_weights)
    return lattice.best_stops(reach, wrong)[1] - problem.limit * price, prices


def _without_risk(problem: PluralityProblem) -> tuple[PluralityStrategy, float, Evidence]:
    if isinstance(problem.possible, OneDistribution):
        return solve_known_without_risk(problem)
    return _never_wrong(problem)


def _never_wrong(problem: PluralityProblem) -> tuple[PluralityStrategy, float, Evidence]:
    """Return the optimal strategy that is never wrong: it stops as soon as the vote is decided."""
    strategy = PluralityStrategy.from_probabilities(problem.lattice, is_decided(problem.lattice))
    evaluation = evaluate_plurality(strategy)
    votes, cost_weights = evaluation.expected_votes, problem.mean
    if problem.minimises_the_worst:
        cost_weights = np.eye(1, len(votes), int(np.argmax(votes)))[0]
    return strategy, problem.cost(evaluation), Evidence(cost_weights, np.zeros(len(votes)), 0.0)
