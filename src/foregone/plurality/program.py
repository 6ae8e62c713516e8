"""Mixtures of strategies: a mixture behaves as if one strategy were drawn before the first vote.

`Program` finds the cheapest mixture within limits; strategies and limits are added as they are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foregone.checks import BoolArray, FloatArray
from foregone.errors import SolverError
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_evaluation import votes_and_disagreement
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_solution import Evidence
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["Column", "Program", "mix_stops"]


@dataclass(frozen=True, eq=False)
class Column:
    """A strategy without randomised states, and its votes and disagreement for every full vote."""

    stops: npt.NDArray[np.uint8]  # as bits
    votes: FloatArray
    disagreement: FloatArray

    @classmethod
    def of(cls, problem: PluralityProblem, stops: BoolArray) -> Column:
        """Evaluate a strategy that stops in these states."""
        return cls(np.packbits(stops), *votes_and_disagreement(problem.lattice, stops.astype(np.float64)))

    def stop_probabilities(self, problem: PluralityProblem) -> FloatArray:
        """Return the stop probabilities, each 0 or 1."""
        return np.unpackbits(self.stops, count=problem.lattice.n_states).astype(np.float64)


class Program:
    """Linear program that mixes the strategies found so far within the limits found so far."""

    def __init__(self, problem: PluralityProblem) -> None:
        self.problem = problem
        self.columns: list[Column] = []
        self.cuts: list[FloatArray] = []
        self.costly: list[FloatArray] = []  # distributions whose mean votes are at most the objective
        self._risks: list[list[float]] = []  # of each cut, for each column
        self._costs: list[list[float]] = []

    def add_column(self, column: Column) -> bool:
        """Add a strategy; return whether it was new."""
        if any(np.array_equal(column.stops, other.stops) for other in self.columns):
            return False
        for cut, risks in zip(self.cuts, self._risks, strict=True):
            risks.append(float(cut @ column.disagreement))
        for weights, costs in zip(self.costly, self._costs, strict=True):
            costs.append(float(weights @ column.votes))
        self.columns.append(column)
        return True

    def add_cut(self, weights: FloatArray) -> None:
        """Add a distribution for which the mean disagreement is limited."""
        self.cuts.append(weights)
        self._risks.append([float(weights @ column.disagreement) for column in self.columns])

    def add_costly(self, weights: FloatArray) -> None:
        """Add a distribution whose mean votes are at most the objective, if the worst case is minimised."""
        self.costly.append(weights)
        self._costs.append([float(weights @ column.votes) for column in self.columns])

    def solve(self) -> tuple[FloatArray, Evidence]:
        """Return the weights of the columns and the prices of the limits."""
        from scipy.optimize import linprog  # slow to import, and rarely needed

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
            raise SolverError(f"the linear program over strategies could not be solved: {result.message}")
        duals = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        risk = duals[:n_cuts] / problem.limit
        risk_weights = _combined(risk, self.cuts, len(problem.mean))
        cost_weights = problem.mean
        if worst:
            cost = duals[n_cuts:]
            cost_weights = _combined(cost / cost.sum(), self.costly, len(problem.mean))
        return result.x[:n_columns], Evidence(cost_weights, risk_weights, float(risk.sum()))

    def mixed(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the votes and the disagreement of a mixture, for every full vote."""
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


def mix_stops(lattice: Lattice, parts: Sequence[tuple[float, FloatArray]]) -> PluralityStrategy:
    """Return the strategy whose flow is the weighted sum of the flows of the parts.

    For every full vote, its votes asked and its disagreement are the weighted means of the parts'.

    Parameters
    ----------
    lattice : Lattice
        The states.
    parts : sequence of (weight, stop probabilities)
        The weights are positive; they are normalised to sum to one. In states that no part
        reaches, the first part decides.
    """
    total = sum(weight for weight, _ in parts)
    reached, stopped = np.zeros((2, lattice.n_states))
    for weight, stop in parts:
        flow = lattice.push_reach(stop)
        reached += (weight / total) * flow
        stopped += (weight / total) * flow * stop
    theta = parts[0][1].copy()
    # Where all parts agree, the mixture does the same, without rounding.
    differ = np.zeros(lattice.n_states, np.bool_)
    for _, stop in parts[1:]:
        differ |= stop != parts[0][1]
    some = differ & (reached > 0)
    theta[some] = np.minimum(stopped[some] / reached[some], 1.0)
    return PluralityStrategy.from_probabilities(lattice, theta)
