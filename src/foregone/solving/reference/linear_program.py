"""The paper's linear program, on HiGHS: an independent reference for the fast solver.

Symbols: ``N`` voters, ``n`` of them would say yes; state ``(i, j)``: i asked, j of them said yes.

The variables are the paper's flows, without those of impossible states: pi (stop in a state) and pibar
(go on), each times the probability ``1 / (i + 1)`` of its state when every n is equally likely. The stops
then sum to one, and the flow's coefficients are Laplace's: ``(j + 1) / (i + 2)`` for a yes to follow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult, linprog

from foregone.checks import FloatArray
from foregone.errors import SolverError
from foregone.solving.problem import Problem
from foregone.solving.reference.linear_program_rows import SCALE, RiskRows, States
from foregone.solving.solution import Multipliers
from foregone.strategy import StoppingStrategy

__all__ = ["solve_linear_program"]

TOLERANCE = 1e-10  # HiGHS's feasibility tolerances, the tightest it accepts; absolute
ATTEMPTS = 4  # each keeps back more of the limits, if the strategy exceeds one by residuals
UNUSED = 1e-14  # share of the limits kept back at first
ROUNDING = 2e-15  # relative error of a disagreement computed in floating point
TIE = 1e-11  # how much worse than minimax, relatively, the strategy that breaks its ties may be
TIE_OF_NOTHING = 1e-12  # the same, as a share of all votes
DUST = 1e-13  # flows, and distances of a stop probability from 0 and 1, that are residuals


def solve_linear_program(problem: Problem) -> tuple[StoppingStrategy, float, Multipliers]:
    """Solve the paper's linear program.

    HiGHS computes in floating point and meets constraints within 1e-10 of their scaled size. Up to about 40
    voters the relative error of cost and bound is about 1e-9, and the disagreement exceeds the limit by no
    more than that. With many more voters, its tolerances exceed small limits.

    Returns
    -------
    strategy : StoppingStrategy
        An optimal strategy, within HiGHS's tolerance.
    lower_bound : float
        The lower bound that weak duality derives from the multipliers.
    multipliers : Multipliers
        HiGHS's dual values, as prices.

    Raises
    ------
    SolverError
        If HiGHS ends without an optimal solution.
    """
    program = _Program(problem)
    for _ in range(ATTEMPTS):
        flow, prices, cost_weights = _least_cost(program)
        strategy, excess = program.strategy(flow)
        if excess <= 0:
            break
        program.unused = 10 * (program.unused + excess)
    states, risks = program.states, program.risks
    prices = risks.deterring(prices, worth=states.chances(cost_weights) * (states.N - states.i))
    one_price = problem.budgets[0].is_over_the_votes
    multipliers = Multipliers(
        mean_disagreement=float(prices.sum()) if one_price else 0.0,
        disagreement_at=() if one_price else _positive(prices @ risks.weights),
        cost_at=_positive(cost_weights) if problem.minimises_the_worst else (),
    )
    return strategy, program.weak_duality(prices, cost_weights), multipliers


def _positive(per_n: FloatArray) -> tuple[tuple[int, float], ...]:
    return tuple((n, value) for n, value in enumerate(per_n.tolist()) if value > 0)


def _least_cost(program: _Program) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return an optimal flow, the prices of the risk rows and the weight of the cost given each n."""
    votes = program.problem.votes.probabilities
    mean_cost = program.cost(votes)
    if not program.problem.minimises_the_worst:
        flow, prices, _ = program.minimise(mean_cost)
        return flow, prices, votes
    worst_cost = SCALE * np.eye(1, len(mean_cost), program.worst)[0]
    each_cost = [program.cost(weights) - worst_cost for weights in np.eye(len(votes))]
    flow, prices, cost_weights = program.minimise(worst_cost, each_cost)
    at_most = flow[program.worst] * (1 + TIE) + TIE_OF_NOTHING
    ties, _, _ = program.minimise(mean_cost, each_cost, at_most)
    return ties, prices, cost_weights


class _Program:
    """The linear program: its rows, and its answers turned into prices and a strategy.

    A flow is one array: the stops of all states, the go-ons of all but the last row, the worst cost (whose
    place is ``worst``), and the y of the risk rows.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.states, self.unused = problem, States(problem), UNUSED
        states = self.states
        limiting = [budget for budget in problem.budgets if budget.limit < 1]
        allows_nothing = [states.could_disagree(budget) for budget in limiting if budget.limit == 0]
        self.risks = RiskRows([budget for budget in limiting if budget.limit > 0], states)
        self.could_disagree = np.zeros(len(states.i), bool)
        for budget in limiting:
            self.could_disagree |= states.could_disagree(budget)
        self.forbidden = np.any([~states.is_look, *allows_nothing], axis=0)
        self.never_stop = self.forbidden | self.risks.too_risky.any(axis=0)
        self.worst = 2 * len(states.i) - states.N - 1
        stops, self.scales = self.risks.scaled(np.where(self.never_stop, 0.0, states.i + 1.0))
        nothing = np.zeros((len(stops), self.worst + 1 - len(states.i)))
        covered = (self.scales * self.risks.limits)[:, None] * self.risks.cover
        self.risk_rows = np.hstack([stops, nothing, -covered])

    def cost(self, weights: FloatArray) -> FloatArray:
        """Return the row whose product with a flow is the mean votes asked, by weights over n, scaled."""
        states, row = self.states, np.zeros(self.risk_rows.shape[1])
        go_on = (states.chances(weights) * (states.i + 1))[: -(states.N + 1)]
        row[len(states.i) : self.worst] = go_on * (SCALE / states.N)
        return row

    def minimise(
        self, objective: FloatArray, cost_rows: Sequence[FloatArray] = (), at_most: float = np.inf
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the flow, the price of each risk row and the weight of each cost row (all <= 0).

        ``at_most`` bounds the worst cost.
        """
        n_stop, n_risks, n_budgets = len(self.states.i), len(self.risk_rows), len(self.risks.sums)
        sums = np.hstack([np.zeros((n_budgets, self.worst + 1)), SCALE * self.risks.sums])
        rows = np.vstack([self.risk_rows, sums, *cost_rows])
        right = np.zeros(len(rows))
        right[n_risks : n_risks + n_budgets] = SCALE * (1 - self.unused)
        upper = np.ones(len(objective))
        upper[:n_stop], upper[self.worst] = ~self.never_stop, at_most
        y = np.zeros(0)
        if self.risks.cover.shape[1] == n_budgets:
            # The only y of a budget is what it may be at most: without it this is the paper's own program.
            y = np.full(n_budgets, 1 - self.unused)
            right[:n_risks] = -self.risk_rows[:, self.worst + 1 :] @ y
            end = self.worst + 1
            objective, upper, rows = objective[:end], upper[:end], rows[:, :end]
            kept = np.r_[:n_risks, n_risks + n_budgets : len(rows)]
            rows, right, n_budgets = rows[kept], right[kept], 0
        result = self._highs(objective, rows, right, upper)
        marginals = np.maximum(-result.ineqlin.marginals, 0.0)
        prices = marginals[:n_risks] * self.scales * (self.states.N / SCALE)
        return np.concatenate([result.x, y]), prices, marginals[n_risks + n_budgets :]

    def _highs(
        self, objective: FloatArray, rows: FloatArray, right: FloatArray, upper: FloatArray
    ) -> OptimizeResult:
        """Minimise, where what goes on is conserved, ``rows @ flow <= right`` and ``0 <= flow <= upper``."""
        for presolve in (True, False):  # on ill-conditioned rows it may err, and find no solution
            result = linprog(
                objective,
                A_ub=sparse.csr_array(rows),
                b_ub=right,
                A_eq=self._conservation(len(objective)),
                b_eq=np.eye(1, len(self.states.i)).ravel(),
                bounds=np.column_stack([np.zeros(len(upper)), upper]),
                method="highs-ds",
                options={
                    "presolve": presolve,
                    "primal_feasibility_tolerance": TOLERANCE,
                    "dual_feasibility_tolerance": TOLERANCE,
                },
            )
            if result.status == 0:
                return result
        raise SolverError(
            f"HiGHS did not solve the linear program ({result.message.strip()}): "
            'use the default, method="dual", which does not need it'
        )

    def _conservation(self, n_variables: int) -> sparse.csr_array:
        """Return the rows for conservation: flow that reaches a state stops there or continues."""
        i, j = self.states.i, self.states.j
        n_stop, n_go_on = len(i), len(i) - self.states.N - 1
        every, going = np.arange(n_stop), np.arange(n_go_on)
        i, j = i[:n_go_on], j[:n_go_on]
        no, yes = going + i + 1, going + i + 2  # the successor after a "no", and after a "yes"
        rows = np.concatenate([every, going, no, yes])
        columns = np.concatenate([every, n_stop + going, n_stop + going, n_stop + going])
        values = np.concatenate([np.ones(n_stop + n_go_on), -(i + 1 - j) / (i + 2), -(j + 1) / (i + 2)])
        return sparse.csr_array((values, (rows, columns)), shape=(n_stop, n_variables))

    def weak_duality(self, prices: FloatArray, cost_weights: FloatArray) -> float:
        """Return the lower bound that prices and weights prove, by backward induction."""
        states, N = self.states, self.states.N
        stop = np.where(self.forbidden, np.inf, states.wrong(prices @ self.risks.lost))
        go_on = states.chances(cost_weights)
        value = stop[states.row(N)]
        for i in range(N - 1, -1, -1):
            j = np.arange(i + 1)
            later = ((i + 1 - j) * value[:-1] + (j + 1) * value[1:]) / (i + 1)
            value = np.minimum(stop[states.row(i)], go_on[states.row(i)] + later)
        total = cost_weights.sum()
        return float(value[0] - self.risks.most_spent(prices)) / total if total > 0 else 0.0

    def strategy(self, flow: FloatArray) -> tuple[StoppingStrategy, float]:
        """Return theta = pi / p, and by what share its disagreement may exceed a limit.

        States never reached are stops; residual flows take no risk.
        """
        states, N = self.states, self.states.N
        flow, n_stop = np.maximum(flow, 0.0), len(states.i)
        theta, reach, meant = np.ones((N + 1, N + 1)), np.ones(1), np.zeros(n_stop)
        safe = states.is_look & ~self.could_disagree
        for i in range(N):
            row = states.row(i)
            stop, total = flow[row], flow[row] + flow[n_stop + row.start : n_stop + row.stop]
            share = np.where(total > DUST, stop / np.maximum(total, DUST), safe[row])
            share[share < DUST], share[reach == 0] = 0.0, 1.0
            share[safe[row] & (share > 1 - DUST)] = 1.0
            share[~states.is_look[row]] = 0.0
            theta[i, : i + 1] = share
            meant[row] = reach * share / (i + 1)
            j, go_on = np.arange(i + 2), reach * (1 - share)
            reach = ((i + 1 - j) * np.append(go_on, 0.0) + j * np.append(0.0, go_on)) / (i + 1)
        return StoppingStrategy.from_table(theta, yes_from=self.problem.yes_from), self._excess(meant, flow)

    def _excess(self, stops: FloatArray, flow: FloatArray) -> float:
        """Return by what share of a limit the stops may exceed it, as the y of the flow prove."""
        if not len(self.risk_rows):
            return 0.0
        uncovered = self.risk_rows @ np.concatenate([stops, flow[len(stops) :]])
        in_all = np.maximum(uncovered / (self.scales * self.risks.limits), 0.0).sum()
        return float(in_all + (self.risks.sums @ flow[self.worst + 1 :]).max() - 1 + ROUNDING)
