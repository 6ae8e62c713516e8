"""A simplex solver for linear programs with a few rows, to full double precision.

General solvers stop at tolerances around 1e-9 and restart on each call. Here the prices must be right to the
last digits and a column is added in every round, so the basis is kept and solved again at each pivot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foregone._kernels import simplex
from foregone.checks import FloatArray
from foregone.errors import SolverError

__all__ = ["SmallSimplex"]


class SmallSimplex:
    """Minimise ``cost @ x`` subject to ``sum of x_k * column_k == right_side`` and ``x >= 0``.

    Add columns one at a time. Set `basis` to as many feasible columns as there are rows, then call
    `optimise`. It sets `basis` to an optimal one and `duals` to the price of each row: the rise of the
    objective per unit of its right side.

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
        self.right_side: FloatArray = np.array(right_side, dtype=np.float64)
        n_rows = len(self.right_side)
        self._columns = np.zeros((n_rows, 64))  # room to grow
        self._costs, self._units = np.zeros((2, 64))
        self.n_columns: int = 0
        self.basis: list[int] = []
        self.duals: FloatArray = np.zeros(n_rows)
        self._basic_values = np.zeros(n_rows)

    def add(self, column: Sequence[float] | FloatArray, cost: float) -> int:
        """Add a variable and return its number."""
        number = self.n_columns
        if number == len(self._costs):
            self._columns = np.hstack([self._columns, np.zeros_like(self._columns)])
            self._costs = np.append(self._costs, np.zeros_like(self._costs))
            self._units = np.append(self._units, np.zeros_like(self._units))
        entries = np.asarray(column, dtype=np.float64)
        # Scale variables so that no entry of a column exceeds one.
        unit = 1.0 / max(float(np.abs(entries).max()), 1.0)
        self._columns[:, number] = entries * unit
        self._costs[number] = cost * unit
        self._units[number] = unit
        self.n_columns += 1
        return number

    @property
    def objective(self) -> float:
        """Cost of the optimal basis."""
        return float(self._costs[self.basis] @ self._basic_values)

    def solution(self) -> FloatArray:
        """Return the values of all variables in the optimal basis."""
        values = np.zeros(self.n_columns)
        values[self.basis] = self._basic_values * self._units[self.basis]
        return values

    def optimise(self) -> None:
        """Find an optimal basis."""
        basis = np.array(self.basis)
        columns = np.ascontiguousarray(self._columns[:, : self.n_columns])  # a single layout to compile
        costs = self._costs[: self.n_columns]
        bounded = simplex.optimise(columns, costs, self.right_side, basis, self.duals, self._basic_values)
        if not bounded:
            raise SolverError("the small linear program has no finite optimum: please report this problem")
        self.basis = basis.tolist()
