"""Solving for the worst full vote: a linear program whose strategies and limits are found as needed.

The strategies known so far are mixed at the least cost within the limits known so far; the duals of that
program are prices, at which backward induction on the lattice finds the best strategy of all. It either
improves the mixture, or proves it. There are too many full votes to list a limit for each: those that the
mixture at hand breaks are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from foregone._kernels import plurality as kernels
from foregone.errors import SolverError
from foregone.plurality.evaluation import evaluate_plurality
from foregone.plurality.evidence import Evidence, best_stops
from foregone.plurality.mixing import mix_stops
from foregone.plurality.never_wrong import never_wrong
from foregone.plurality.problem import PluralityProblem
from foregone.plurality.strategy import PluralityStrategy
from foregone.votes import FloatArray

__all__ = ["solve_worst_case"]

_MOST_ROUNDS = 2_000
_BROKEN = 1 + 1e-10  # a limit exceeded by this factor is broken
_PULL = 0.7  # towards the best prices so far: where many limits bind, the program's own jump about


@dataclass(frozen=True, eq=False)
class _Column:
    """A strategy without randomised states, and what it does for every full vote."""

    stops: npt.NDArray[np.uint8]  # as bits
    votes: FloatArray
    disagreement: FloatArray


class _Program:
    """Mixes the strategies known so far within the limits known so far."""

    def __init__(self, problem: PluralityProblem) -> None:
        self.problem = problem
        self.columns: list[_Column] = []
        self.cuts: list[FloatArray] = []
        self.costly: list[FloatArray] = []  # distributions whose votes are at most what is minimised
        self._risks: list[list[float]] = []  # of each cut, for each column
        self._costs: list[list[float]] = []

    def add_column(self, column: _Column) -> None:
        for cut, risks in zip(self.cuts, self._risks, strict=True):
            risks.append(float(cut @ column.disagreement))
        for weights, costs in zip(self.costly, self._costs, strict=True):
            costs.append(float(weights @ column.votes))
        self.columns.append(column)

    def add_cut(self, weights: FloatArray) -> None:
        self.cuts.append(weights)
        self._risks.append([float(weights @ column.disagreement) for column in self.columns])

    def add_costly(self, weights: FloatArray) -> None:
        self.costly.append(weights)
        self._costs.append([float(weights @ column.votes) for column in self.columns])

    def solve(self) -> tuple[FloatArray, Evidence]:
        """Return the weights of the columns and the prices of the limits."""
        problem, n_columns, n_cuts = self.problem, len(self.columns), len(self.cuts)
        worst = problem.minimises_the_worst
        # The last variable is the cost of the worst full vote.
        votes = [float(problem.mean @ column.votes) for column in self.columns]
        objective = np.append(np.zeros(n_columns) if worst else votes, 1.0 if worst else 0.0)
        rows = np.hstack([np.array(self._risks) / problem.limit, np.zeros((n_cuts, 1))])
        if worst:
            rows = np.vstack([rows, np.hstack([np.array(self._costs), np.full((len(self.costly), 1), -1.0)])])
        right = np.append(np.ones(n_cuts), np.zeros(len(rows) - n_cuts))
        result = linprog(
            objective, A_ub=rows, b_ub=right, A_eq=[[1.0] * n_columns + [0.0]], b_eq=[1.0],
            bounds=[(0, None)] * (n_columns + 1), method="highs-ds",
        )  # fmt: skip
        if result.status != 0:
            raise SolverError(f"the program over strategies could not be solved: {result.message}")
        duals = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        risk = duals[:n_cuts] / problem.limit
        risk_weights = _combined(risk, self.cuts, len(problem.mean))
        cost_weights = problem.mean
        if worst:
            cost = duals[n_cuts:]
            cost_weights = _combined(cost / cost.sum(), self.costly, len(problem.mean))
        return result.x[:n_columns], Evidence(cost_weights, risk_weights, float(risk.sum()))

    def mixed(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return votes and disagreement of a mixture, for every full vote."""
        votes, disagreement = np.zeros((2, len(self.problem.mean)))
        for share, column in zip(shares, self.columns, strict=True):
            if share > 0:
                votes += share * column.votes
                disagreement += share * column.disagreement
        return votes, disagreement


def _combined(amounts: FloatArray, rows: list[FloatArray], length: int) -> FloatArray:
    total = np.zeros(length)
    for amount, row in zip(amounts, rows, strict=True):
        if amount > 0:
            total += amount * row
    return total


def solve_worst_case(
    problem: PluralityProblem, tolerance: float
) -> tuple[PluralityStrategy, float, Evidence]:
    """Return a strategy, a lower bound on the cost of any, and the prices that prove it.

    The search ends when the strategy costs at most ``tolerance`` more than the bound, relatively, or when
    rounding leaves nothing to gain.
    """
    lattice = problem.lattice
    program = _Program(problem)
    for weights in problem.possible.first_cuts():
        program.add_cut(weights)
    if problem.minimises_the_worst:
        program.add_costly(problem.mean)
    program.add_column(_column_of(problem, never_wrong(lattice).stops))
    bound, best = -np.inf, Evidence(problem.mean, np.zeros(len(problem.mean)), 0.0)
    least, chosen, pull = np.inf, np.ones(1), 0.0
    for _ in range(_MOST_ROUNDS):
        shares, prices = program.solve()
        cost, kept = _within_the_limit(program, shares)
        if cost < least:
            least, chosen = cost, kept
        tried = prices.pulled_to(best, pull) if pull else prices
        reach, wrong = lattice.pull_back(tried.cost_weights), lattice.pull_back_wrong(tried.risk_weights)
        stops, priced = best_stops(lattice, reach, wrong)
        proven = priced - problem.limit * tried.price
        if proven > bound:
            bound, best = proven, tried
        if least - bound <= tolerance * max(least, 1.0):
            break
        column = _column_of(problem, stops)
        is_new = not any(np.array_equal(column.stops, other.stops) for other in program.columns)
        added = _add_broken(program, shares)
        if is_new:
            program.add_column(column)
        elif not added and not pull:
            break
        pull = _PULL if is_new else 0.0
    parts = [
        (share, np.unpackbits(column.stops, count=lattice.n_states).astype(np.float64))
        for share, column in zip(chosen, program.columns, strict=False)  # some have come since
        if share > 0
    ]
    return _to_the_last_digit(problem, mix_stops(lattice, parts)), bound, best


def _column_of(problem: PluralityProblem, stops: npt.NDArray[np.bool_]) -> _Column:
    votes, disagreement = np.zeros((2, len(problem.mean)))
    kernels.push_forward(*problem.lattice.edges, stops.astype(np.float64), votes, disagreement)
    return _Column(np.packbits(stops), votes, disagreement)


def _add_broken(program: _Program, shares: FloatArray) -> bool:
    """Add limits that the mixture breaks, and votes that cost more than they should."""
    problem = program.problem
    votes, disagreement = program.mixed(shares)
    broken = problem.possible.bad_for(disagreement, problem.limit * _BROKEN)
    for cut in broken:
        program.add_cut(cut)
    if problem.minimises_the_worst:
        most = max(float(weights @ votes) for weights in program.costly)
        if votes.max() > most * _BROKEN:
            program.add_costly(np.eye(1, len(votes), int(np.argmax(votes)))[0])
            return True
    return bool(broken)


def _within_the_limit(program: _Program, shares: FloatArray) -> tuple[float, FloatArray]:
    """Return the mixture with as much of the strategy that is never wrong as the limit needs, and its cost."""
    problem = program.problem
    votes, disagreement = program.mixed(shares)
    risk = float(problem.possible.worst_for(disagreement) @ disagreement)
    keep = 1.0
    if risk > problem.limit * (1 - 1e-12):
        keep = problem.limit * (1 - 1e-12) / risk
    votes = keep * votes + (1 - keep) * program.columns[0].votes
    kept = keep * shares
    kept[0] += 1 - keep
    return float(votes.max() if problem.minimises_the_worst else problem.mean @ votes), kept


def _to_the_last_digit(problem: PluralityProblem, strategy: PluralityStrategy) -> PluralityStrategy:
    """Return the strategy, stopping a little less often where rounding has lifted it above the limit."""
    theta = strategy.stop_probabilities()
    inside = problem.lattice.level[-2]
    for _ in range(40):
        if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
            return strategy
        theta[:inside] *= 1 - 1e-11
        strategy = PluralityStrategy.from_probabilities(problem.lattice, theta)
    raise SolverError("could not keep the limit to the last digit; please report this case")
