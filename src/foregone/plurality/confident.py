"""Solving when the distribution of the full vote is known only as far as a sample tells.

The disagreement is bounded by the worst of all distributions that the sample allows. There are too many full
votes for the exact optimum over them, and none is needed: whatever the strategy, its bound is computed
exactly and holds; prices that a few rounds of play against the worst distribution come to make it a good one,
and say how far from the best it can be.
"""

from __future__ import annotations

import math

import numpy as np

from foregone.plurality.evaluation import evaluate_plurality
from foregone.plurality.evidence import Evidence, best_stops
from foregone.plurality.never_wrong import never_wrong
from foregone.plurality.problem import PluralityProblem
from foregone.plurality.strategy import PluralityStrategy
from foregone.votes import FloatArray

__all__ = ["solve_confidently"]

_ROUNDS = 4
_TRIES = 4  # of a price, in each round
_NEAR_ENOUGH = 0.93  # share of the limit that is used up


def solve_confidently(
    problem: PluralityProblem, first: FloatArray
) -> tuple[PluralityStrategy, float, Evidence]:
    """Return a strategy within the limit, a lower bound, and the prices that prove it.

    Parameters
    ----------
    problem : PluralityProblem
        With a set of possible distributions.
    first : ndarray of shape (n_compositions,)
        A distribution of the set to begin with, spread out so that no full vote is left out.
    """
    lattice, limit = problem.lattice, problem.limit
    reach = lattice.pull_back(problem.mean)
    weights, wrong = first, lattice.pull_back_wrong(first)
    best = never_wrong(lattice)
    least = problem.cost(evaluate_plurality(best))
    bound, evidence = -math.inf, Evidence(problem.mean, np.zeros(len(first)), 0.0)
    price = 20.0 / limit
    for number in range(_ROUNDS):
        too_cheap, dear_enough = 0.0, math.inf
        for _ in range(_TRIES):
            stops, cost = best_stops(lattice, reach, price * wrong)
            if cost - price * limit > bound:
                bound = cost - price * limit
                evidence = Evidence(problem.mean, price * weights, price)
            strategy = PluralityStrategy.from_probabilities(lattice, stops)
            evaluation = evaluate_plurality(strategy)
            worst = problem.possible.worst_for(evaluation.disagreement)
            used = float(worst @ evaluation.disagreement) / limit
            if used <= 1.0:
                dear_enough = price
                if problem.cost(evaluation) < least:
                    best, least = strategy, problem.cost(evaluation)
                if used >= _NEAR_ENOUGH:
                    break
            else:
                too_cheap = price
            if too_cheap and math.isfinite(dear_enough):
                price = math.sqrt(too_cheap * dear_enough)
            else:  # the disagreement is roughly in inverse proportion to its price
                price *= min(max(used, 0.2), 20.0)
        share = 1.0 / (number + 2)
        weights = (1 - share) * weights + share * worst
        wrong = (1 - share) * wrong + share * lattice.pull_back_wrong(worst)
    return best, bound, evidence
