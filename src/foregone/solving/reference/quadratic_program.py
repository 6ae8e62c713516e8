"""The paper's quadratic program, on SCIP: the stopping problem without reformulation, for a few voters.

Symbols: ``N`` voters, ``n`` of them would say yes; state ``(i, j)``: i asked, j of them said yes.

The variables are theta itself and, for every n, the probabilities of stopping and of going on in each
state; that a state is left by stopping with probability theta makes the constraints bilinear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError, MissingExtraError, SolverError
from foregone.solving.budget import NestedBounds, OneDistribution
from foregone.solving.problem import Problem
from foregone.solving.solution import Multipliers
from foregone.strategy import StoppingStrategy

__all__ = ["solve_quadratic_program"]

MOST_VOTERS = 12
TOLERANCE = 1e-8  # SCIP's feasibility tolerance, the tightest its LP solver takes without complaint


def solve_quadratic_program(problem: Problem) -> tuple[StoppingStrategy, float, Multipliers]:
    """Solve the paper's quadratic program by branch and bound.

    The time grows exponentially: seconds for 5 to 7 voters, minutes for a few more. Ties of the minimax
    criterion are not broken. There are no multipliers, because the lower bound is proven by enumeration. So
    `certify` can prove the risk of the strategy, but not that it is optimal.

    Returns
    -------
    strategy : StoppingStrategy
        An optimal strategy, within SCIP's absolute tolerance of 1e-8 per constraint.
    lower_bound : float
        SCIP's dual bound.
    multipliers : Multipliers
        Empty.

    Raises
    ------
    InvalidInputError
        For more than 12 voters.
    MissingExtraError
        If PySCIPOpt is not installed.
    SolverError
        If SCIP ends without an optimal solution.
    """
    N = problem.n_voters
    if N > MOST_VOTERS:
        raise InvalidInputError(
            f"the quadratic program is for up to {MOST_VOTERS} voters, got {N}: "
            'use method="dual" (fast) or method="linear_program"'
        )
    try:
        from pyscipopt import Model, quicksum
    except ImportError:
        raise MissingExtraError("PySCIPOpt", "reference", "The quadratic program") from None
    model = Model()
    model.hideOutput()
    model.setParam("numerics/feastol", TOLERANCE)
    model.setParam("limits/gap", TOLERANCE)
    looks = set(problem.may_stop_after)
    theta = {
        (i, j): model.addVar(lb=float(i == N), ub=float(i in looks))
        for i in range(N + 1)
        for j in range(i + 1)
    }
    costs, risks = [], []
    for n in range(N + 1):
        stop, go_on = _walk(model, theta, N, n)
        costs.append(quicksum(go_on.values()))
        yes = bool(problem.full_yes[n])
        risks.append(quicksum(p for (i, j), p in stop.items() if (j >= problem.yes_from[i]) != yes))
    for budget in problem.budgets:
        scale = 1 / budget.limit if budget.limit > 0 else 1.0
        lost = [scale * value * risk for value, risk in zip(budget.values.tolist(), risks, strict=True)]
        for bounded in _bounded_means(model, budget.distributions, lost):
            model.addCons(bounded <= scale * budget.limit)
    if problem.minimises_the_worst:
        worst_cost = model.addVar(lb=0, ub=N)
        for cost in costs:
            model.addCons(cost <= worst_cost)
        model.setObjective(worst_cost)
    else:
        model.setObjective(_mean(problem.votes.probabilities, costs))
    model.optimize()
    if model.getStatus() not in ("optimal", "gaplimit"):
        raise SolverError(
            f"SCIP did not solve the quadratic program (status {model.getStatus()}): "
            'use the default, method="dual"'
        )
    return _strategy(model, theta, problem), float(model.getDualbound()), Multipliers()


def _walk(
    model: Any, theta: dict[tuple[int, int], Any], N: int, n: int
) -> tuple[dict[tuple[int, int], Any], dict[tuple[int, int], Any]]:
    """Add the probabilities of stopping and of going on in each state that n yes votes can reach."""
    stop: dict[tuple[int, int], Any] = {}
    go_on: dict[tuple[int, int], Any] = {}
    for i in range(N + 1):
        for j in range(max(0, i - (N - n)), min(i, n) + 1):
            reach: Any = float(i == 0)
            if (i - 1, j) in go_on:
                reach = reach + go_on[i - 1, j] * ((N - n - (i - 1 - j)) / (N - i + 1))
            if (i - 1, j - 1) in go_on:
                reach = reach + go_on[i - 1, j - 1] * ((n - j + 1) / (N - i + 1))
            stop[i, j] = model.addVar(lb=0, ub=1)
            model.addCons(stop[i, j] == theta[i, j] * reach)
            if i < N:
                go_on[i, j] = model.addVar(lb=0, ub=1)
                model.addCons(stop[i, j] + go_on[i, j] == reach)
    return stop, go_on


def _mean(weights: FloatArray, terms: list[Any]) -> Any:
    return sum(weight * term for weight, term in zip(weights.tolist(), terms, strict=True))


def _bounded_means(model: Any, distributions: OneDistribution | NestedBounds, risks: list[Any]) -> list[Any]:
    """Return expressions that are all within a limit if the mean risk is, under each of the distributions.

    If every distribution is possible, these are the risks one by one, as in the paper. Under bounds on the
    distribution it is the dual of the largest mean: a price on all weight, and one on the weight of the r
    values of n next to the middle, for each r and either side. An n pays for all that it is part of.
    """
    if isinstance(distributions, OneDistribution):
        return [_mean(distributions.weights, risks)]
    if all(
        (bounds == bounds[-1:]).all() and set(bounds.tolist()) <= {0, 1}
        for bounds in (distributions.yes, distributions.no)
    ):
        return [risk for risk, possible in zip(risks, distributions.possible(), strict=True) if possible]
    m = len(distributions.no) - 1
    in_all = total = model.addVar(lb=0)
    for bounds, outwards in ((distributions.yes, risks[m + 1 :]), (distributions.no, risks[: m + 1][::-1])):
        paid = in_all
        for bound, risk in reversed(list(zip(bounds.tolist(), outwards, strict=True))):
            if bound > 0:  # otherwise there is no such n
                price = model.addVar(lb=0)
                total, paid = total + bound * price, paid + price
                model.addCons(paid >= risk)
    return [total]


def _strategy(model: Any, theta: dict[tuple[int, int], Any], problem: Problem) -> StoppingStrategy:
    table = np.ones((problem.n_voters + 1, problem.n_voters + 1))
    for state, variable in theta.items():
        value = model.getVal(variable)
        dust = 10 * TOLERANCE
        table[state] = 0.0 if value < dust else 1.0 if value > 1 - dust else value
    return StoppingStrategy.from_table(table, yes_from=problem.yes_from)
