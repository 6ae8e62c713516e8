"""A simplex method for linear programs with a handful of rows, to full double precision.

General solvers stop at tolerances around 1e-9 and start anew each time; here the prices must be right to
the last digits and a column is added at every turn, so the basis is kept and solved afresh at each pivot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foregone.errors import SolverError
from foregone.votes import FloatArray

__all__ = ["SmallSimplex"]

_TOLERANCE = 1e-14  # of what a reduced cost is summed from: less is rounding
_PATIENCE = 60  # pivots after which rounding is taken to be ten times as large, so that the search ends
_SINGULAR = 1e15  # condition number of a basis that is none


class SmallSimplex:
    """Minimise ``cost @ x`` subject to ``sum of x_k * column_k == right_side`` and ``x >= 0``.

    Columns are added one at a time; `basis` names as many of them as there are rows and must be feasible
    when `optimise` is called, which leaves an optimal one there.

    Examples
    --------
    >>> program = SmallSimplex([4.0])
    >>> program.basis = [program.add([1.0], cost=3.0)]
    >>> cheaper = program.add([2.0], cost=5.0)
    >>> program.optimise()
    >>> program.objective
    10.0
    """

    def __init__(self, right_side: Sequence[float] | FloatArray) -> None:
        self.right_side = np.array(right_side, dtype=np.float64)
        self.columns = np.zeros((len(self.right_side), 0))
        self.costs = np.zeros(0)
        self._units = np.zeros(0)  # variables are counted in such units that no column exceeds one
        self.basis: list[int] = []

    def add(self, column: Sequence[float] | FloatArray, cost: float) -> int:
        """Add a variable and return its number."""
        entries = np.asarray(column, dtype=np.float64)
        unit = 1.0 / max(float(np.abs(entries).max()), 1.0)
        self.columns = np.column_stack([self.columns, entries * unit])
        self.costs = np.append(self.costs, cost * unit)
        self._units = np.append(self._units, unit)
        return len(self.costs) - 1

    @property
    def _basic_values(self) -> FloatArray:
        values: FloatArray = np.linalg.solve(self.columns[:, self.basis], self.right_side)
        return np.maximum(values, 0.0)

    @property
    def duals(self) -> FloatArray:
        """Price of each row: the rise of the objective per unit of right side."""
        duals: FloatArray = np.linalg.solve(self.columns[:, self.basis].T, self.costs[self.basis])
        return duals

    @property
    def objective(self) -> float:
        """Cost of the current basis."""
        return float(self.costs[self.basis] @ self._basic_values)

    def solution(self) -> FloatArray:
        """Return the values of all variables."""
        values = np.zeros(len(self.costs))
        values[self.basis] = self._basic_values * self._units[self.basis]
        return values

    def optimise(self) -> None:
        """Pivot until no variable can lower the cost."""
        useless: list[int] = []  # columns too like the basis to be told from it
        for pivot in range(14 * _PATIENCE):
            tolerance = _TOLERANCE * 10.0 ** (pivot // _PATIENCE)
            duals = self.duals
            reduced = self.costs - duals @ self.columns
            reduced[self.basis + useless] = 0.0
            rounding = np.abs(self.costs) + np.abs(duals) @ np.abs(self.columns)
            improving = np.flatnonzero(reduced < -tolerance * rounding)
            if len(improving) == 0:
                return
            entering = int(improving[np.argmin(reduced[improving])])
            direction = np.linalg.solve(self.columns[:, self.basis], self.columns[:, entering])
            rising = np.flatnonzero(direction > 1e-11)
            if len(rising) == 0:
                raise SolverError("the small linear program has no finite optimum; please report this case")
            ratios = self._basic_values[rising] / direction[rising]
            tied = rising[ratios <= ratios.min() * (1 + 1e-12) + 1e-15]
            leaving = int(tied[np.argmax(direction[tied])])
            left, self.basis[leaving] = self.basis[leaving], entering
            if np.linalg.cond(self.columns[:, self.basis]) > _SINGULAR:
                self.basis[leaving] = left
                useless.append(entering)
        raise SolverError("the small linear program did not settle; please report this case")
