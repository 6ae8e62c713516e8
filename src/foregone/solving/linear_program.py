"""The paper's linear program, on HiGHS: an independent reference for the fast solver.

Symbols: ``N`` voters, ``n`` of them would say yes; state ``(i, j)``: i asked, j of them said yes;
``alpha``, the limit on the disagreement. States are numbered row by row: (0,0), (1,0), (1,1), (2,0), ...

The variables are the paper's flows, without those of impossible states: pi (stop in a state) and pibar
(go on), each times the probability ``1 / (i + 1)`` of its state when every n is equally likely. The stops
then sum to one, and the flow's coefficients are Laplace's: ``(j + 1) / (i + 2)`` for a yes to follow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from foregone.errors import SolverError
from foregone.solving.problem import Problem
from foregone.solving.solution import Multipliers
from foregone.strategy import StoppingStrategy
from foregone.votes import FloatArray

__all__ = ["solve_linear_program"]

TOLERANCE = 1e-10  # HiGHS's feasibility tolerances, the tightest it accepts; absolute
SCALE = 1e4  # of rows and objective: HiGHS drops coefficients below 1e-9
LARGEST_COEFFICIENT = 1e14  # HiGHS refuses those of 1e15
NEVER_STOP_BELOW = 1e-12  # where alpha allows no larger stop probability than this, never stop
ATTEMPTS = 4  # each keeps back more of alpha, if the strategy exceeds it by residuals
UNUSED = 1e-14  # share of alpha kept back at first
ROUNDING = 2e-15  # relative error of a disagreement computed in floating point
TIE = 1e-11  # how much worse than minimax, relatively, the strategy that breaks its ties may be
TIE_OF_NOTHING = 1e-12  # the same, as a share of all votes
DUST = 1e-13  # flows, and distances of a stop probability from 0 and 1, that are residuals


def solve_linear_program(problem: Problem) -> tuple[StoppingStrategy, float, Multipliers]:
    """Solve the paper's linear program.

    HiGHS computes in floating point and meets constraints within 1e-10 of their scaled size. Up to some 40
    voters cost and bound come out right to about 1e-9 relatively, and the disagreement not above the limit
    by more than that. Far beyond, its tolerances eat the answer when the limit is small.

    Returns
    -------
    strategy : StoppingStrategy
        An optimal strategy, within HiGHS's tolerance.
    lower_bound : float
        What weak duality gives from the multipliers.
    multipliers : Multipliers
        HiGHS's dual values, as prices.

    Raises
    ------
    SolverError
        If HiGHS ends without an optimal solution.
    """
    N, votes, middle = problem.n_voters, problem.votes.probabilities, problem.n_voters // 2
    # The worst disagreement is at one of the two n next to the middle (the paper's last lemma).
    risky_n = () if problem.bounds_the_mean else (middle, middle + 1)
    risk_weights = [np.eye(N + 1)[n] for n in risky_n] or [votes]
    program = _Program(_States(N), risk_weights, problem.max_disagreement)
    for _ in range(ATTEMPTS):
        flow, prices, cost_weights = _least_cost(program, votes, problem.minimises_the_worst)
        strategy, excess = program.strategy(flow)
        if excess <= 0:
            break
        program.unused = 10 * (program.unused + excess)
    prices = program.forbid(prices, cost_weights)
    multipliers = Multipliers(
        mean_disagreement=0.0 if risky_n else prices[0],
        disagreement_at=tuple(zip(risky_n, prices, strict=False)),
        cost_at=tuple(enumerate(cost_weights.tolist())) if problem.minimises_the_worst else (),
    )
    return strategy, program.weak_duality(prices, cost_weights), multipliers


def _least_cost(
    program: _Program, votes: FloatArray, minimise_the_worst: bool
) -> tuple[FloatArray, list[float], FloatArray]:
    """Return an optimal flow, the price of each disagreement and the weight of the cost given each n."""
    mean_cost = program.cost(votes)
    if not minimise_the_worst:
        flow, prices, _ = program.minimise(mean_cost)
        return flow, prices, votes
    worst_cost = np.append(np.zeros(len(mean_cost) - 1), SCALE)
    each_cost = [program.cost(weights) - worst_cost for weights in np.eye(len(votes))]
    flow, prices, cost_weights = program.minimise(worst_cost, each_cost)
    ties, _, _ = program.minimise(mean_cost, each_cost, at_most=flow[-1] * (1 + TIE) + TIE_OF_NOTHING)
    return ties, prices, cost_weights


class _States:
    """The states in order, and what is likely in them."""

    def __init__(self, N: int) -> None:
        self.N = N
        self.i, self.j = np.tril_indices(N + 1)
        self.says_yes = 2 * self.j > self.i

    def row(self, i: int) -> slice:
        """Return where the states with i votes asked are."""
        return slice(i * (i + 1) // 2, (i + 1) * (i + 2) // 2)

    def chances(self, weights: FloatArray) -> FloatArray:
        """Return ``sum_n weights[n] h_n(i, j)`` per state: a vote is deleted at random, one by one."""
        rows = [weights]
        for i in range(self.N - 1, -1, -1):
            j, after = np.arange(i + 1), rows[-1]
            rows.append(((i + 1 - j) * after[:-1] + (j + 1) * after[1:]) / (i + 1))
        return np.concatenate(rows[::-1])

    def wrong(self, weights: FloatArray) -> FloatArray:
        """Return the part of ``chances`` in which stopping in the state disagrees with the full vote."""
        full_vote_is_yes = 2 * np.arange(self.N + 1) > self.N
        when_yes, when_no = (
            self.chances(weights * ~full_vote_is_yes),
            self.chances(weights * full_vote_is_yes),
        )
        return np.where(self.says_yes, when_yes, when_no)


class _Program:
    """The linear program: its rows, and its answers turned into prices and a strategy.

    A flow is one array: the stops of all states, the go-ons of all but the last row, the worst cost.
    """

    def __init__(self, states: _States, risk_weights: list[FloatArray], alpha: float) -> None:
        self.states, self.alpha = states, alpha
        self.wrong = [states.wrong(weights) for weights in risk_weights]
        self.could_disagree = np.any([states.wrong(np.sign(weights)) > 0 for weights in risk_weights], axis=0)
        self.never_stop = self.could_disagree & (alpha <= NEVER_STOP_BELOW * np.sum(self.wrong, axis=0))
        self.scales = [self._scale(wrong) for wrong in self.wrong]
        self.unused = UNUSED if alpha < 1 else 0.0

    def _scale(self, wrong: FloatArray) -> float:
        """Return what to multiply a disagreement row with; 0 if nothing is left of the row."""
        largest = float((wrong * (self.states.i + 1))[~self.never_stop].max(initial=0.0))
        return min(SCALE / self.alpha, LARGEST_COEFFICIENT / largest) if largest > 0 else 0.0

    def cost(self, weights: FloatArray) -> FloatArray:
        """Return the row whose product with a flow is the mean votes asked, by weights over n, scaled."""
        states = self.states
        go_on = (states.chances(weights) * (states.i + 1))[: -(states.N + 1)]
        return np.concatenate([np.zeros(len(states.i)), go_on * (SCALE / states.N), [0.0]])

    def minimise(
        self, objective: FloatArray, cost_rows: Sequence[FloatArray] = (), at_most: float = np.inf
    ) -> tuple[FloatArray, list[float], FloatArray]:
        """Return the flow, the price of each disagreement and the weight of each cost row (all <= 0).

        ``at_most`` bounds the worst cost.
        """
        states = self.states
        n_stop, n_go_on = len(states.i), len(states.i) - states.N - 1
        risk_rows = np.zeros((len(self.wrong), len(objective)))
        for row, wrong, scale in zip(risk_rows, self.wrong, self.scales, strict=True):
            row[:n_stop] = np.where(self.never_stop, 0.0, wrong * (states.i + 1) * scale)
        limits = [scale * self.alpha * (1 - self.unused) for scale in self.scales]
        upper = np.concatenate([np.where(self.never_stop, 0.0, 1.0), np.ones(n_go_on), [at_most]])
        result = linprog(
            objective,
            A_ub=sparse.csr_array(np.vstack([risk_rows, *cost_rows])),
            b_ub=np.concatenate([limits, np.zeros(len(cost_rows))]),
            A_eq=self._conservation(),
            b_eq=np.eye(1, n_stop).ravel(),
            bounds=np.column_stack([np.zeros(len(upper)), upper]),
            method="highs-ds",
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )
        if result.status != 0:
            raise SolverError(
                f"HiGHS did not solve the linear program ({result.message.strip()}): "
                "use the default method, which does not depend on it"
            )
        marginals = np.maximum(-result.ineqlin.marginals, 0.0)
        n_risks = len(self.wrong)
        prices = [
            float(m * scale * states.N / SCALE)
            for m, scale in zip(marginals[:n_risks], self.scales, strict=True)
        ]
        return result.x, prices, marginals[n_risks:]

    def _conservation(self) -> sparse.csr_array:
        """Return the rows that say: what reaches a state stops there or goes on."""
        i, j = self.states.i, self.states.j
        n_stop, n_go_on = len(i), len(i) - self.states.N - 1
        every, going = np.arange(n_stop), np.arange(n_go_on)
        i, j = i[:n_go_on], j[:n_go_on]
        no, yes = going + i + 1, going + i + 2  # the successor after a "no", and after a "yes"
        rows = np.concatenate([every, going, no, yes])
        columns = np.concatenate([every, n_stop + going, n_stop + going, n_stop + going])
        values = np.concatenate([np.ones(n_stop + n_go_on), -(i + 1 - j) / (i + 2), -(j + 1) / (i + 2)])
        return sparse.csr_array((values, (rows, columns)), shape=(n_stop, n_stop + n_go_on + 1))

    def forbid(self, prices: list[float], cost_weights: FloatArray) -> list[float]:
        """Raise prices until stopping where it must not is dearer than asking everybody.

        Such states have no price of their own; by `NEVER_STOP_BELOW` this hardly weakens the bound.
        """
        states = self.states
        ask_all = states.chances(cost_weights) * (states.N - states.i)
        raised = []
        for price, wrong in zip(prices, self.wrong, strict=True):
            where = self.never_stop & (wrong > 0)
            raised.append(max(price, float((ask_all[where] / wrong[where]).max(initial=0.0))))
        return raised

    def weak_duality(self, prices: list[float], cost_weights: FloatArray) -> float:
        """Return the lower bound that prices and weights prove, by backward induction."""
        states, N = self.states, self.states.N
        stop = sum((p * wrong for p, wrong in zip(prices, self.wrong, strict=True)), np.zeros(len(states.i)))
        go_on = states.chances(cost_weights)
        value = stop[states.row(N)]
        for i in range(N - 1, -1, -1):
            j = np.arange(i + 1)
            later = ((i + 1 - j) * value[:-1] + (j + 1) * value[1:]) / (i + 1)
            value = np.minimum(stop[states.row(i)], go_on[states.row(i)] + later)
        total = cost_weights.sum()
        return float(value[0] - self.alpha * sum(prices)) / total if total > 0 else 0.0

    def strategy(self, flow: FloatArray) -> tuple[StoppingStrategy, float]:
        """Return theta = pi / p, and by what share its disagreement may exceed alpha.

        States never reached are stops; residual flows take no risk.
        """
        states, N = self.states, self.states.N
        flow, n_stop = np.maximum(flow, 0.0), len(states.i)
        theta, reach, risks = np.ones((N + 1, N + 1)), np.ones(1), np.zeros(len(self.wrong))
        for i in range(N):
            row = states.row(i)
            stop, total = flow[row], flow[row] + flow[n_stop + row.start : n_stop + row.stop]
            share = np.where(total > DUST, stop / np.maximum(total, DUST), ~self.could_disagree[row])
            share[share < DUST], share[reach == 0] = 0.0, 1.0
            share[~self.could_disagree[row] & (share > 1 - DUST)] = 1.0
            theta[i, : i + 1] = share
            risks += [wrong[row] @ (reach * share) for wrong in self.wrong]
            j, go_on = np.arange(i + 2), reach * (1 - share)
            reach = ((i + 1 - j) * np.append(go_on, 0.0) + j * np.append(0.0, go_on)) / (i + 1)
        excess = float(risks.max() / self.alpha - 1) + ROUNDING if 0 < self.alpha < 1 else 0.0
        return StoppingStrategy.from_table(theta), excess
