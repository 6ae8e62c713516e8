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
    when `optimise` is called, which leaves an optimal one there and sets `duals`, the price of each row: the
    rise of the objective per unit of its right side.

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
        self.duals = np.zeros(len(self.right_side))
        self._basic_values = np.zeros(len(self.right_side))

    def add(self, column: Sequence[float] | FloatArray, cost: float) -> int:
        """Add a variable and return its number."""
        entries = np.asarray(column, dtype=np.float64)
        unit = 1.0 / max(float(np.abs(entries).max()), 1.0)
        self.columns = np.column_stack([self.columns, entries * unit])
        self.costs = np.append(self.costs, cost * unit)
        self._units = np.append(self._units, unit)
        return len(self.costs) - 1

    @property
    def objective(self) -> float:
        """Cost of the optimal basis."""
        return float(self.costs[self.basis] @ self._basic_values)

    def solution(self) -> FloatArray:
        """Return the values of all variables in the optimal basis."""
        values = np.zeros(len(self.costs))
        values[self.basis] = self._basic_values * self._units[self.basis]
        return values

    def optimise(self) -> None:
        """Pivot until no variable can lower the cost, or rounding makes the search go round in circles.

        The basis stays feasible either way.
        """
        useless: list[int] = []  # columns too like the basis to be told from it
        for pivot in range(14 * _PATIENCE):
            tolerance = _TOLERANCE * 10.0 ** (pivot // _PATIENCE)
            matrix = self.columns[:, self.basis]
            inverse = np.linalg.inv(matrix).astype(np.float64)
            duals = _solve(matrix.T, inverse.T, self.costs[self.basis])
            values = np.maximum(_solve(matrix, inverse, self.right_side), 0.0)
            self.duals, self._basic_values = duals, values
            reduced = self.costs - duals @ self.columns
            reduced[self.basis + useless] = 0.0
            rounding = np.abs(self.costs) + np.abs(duals) @ np.abs(self.columns)
            improving = np.flatnonzero(reduced < -tolerance * rounding)
            if len(improving) == 0:
                return
            # Steepest first; then the lowest number, which does not go round in circles (Bland).
            careful = pivot >= _PATIENCE
            entering = int(improving[0] if careful else improving[np.argmin(reduced[improving])])
            direction = _solve(matrix, inverse, self.columns[:, entering])
            rising = np.flatnonzero(direction > 1e-11)
            if len(rising) == 0:
                raise SolverError("the small linear program has no finite optimum; please report this case")
            ratios = values[rising] / direction[rising]
            tied = rising[ratios <= ratios.min() * (1 + 1e-12) + 1e-15]
            numbers = np.array(self.basis)[tied]
            leaving = int(tied[np.argmin(numbers) if careful else np.argmax(direction[tied])])
            left, self.basis[leaving] = self.basis[leaving], entering
            if not _is_regular(self.columns[:, self.basis]):
                self.basis[leaving] = left
                useless.append(entering)


def _is_regular(matrix: FloatArray) -> bool:
    return bool(np.linalg.cond(matrix, 1) < _SINGULAR)


def _solve(matrix: FloatArray, inverse: FloatArray, right_side: FloatArray) -> FloatArray:
    """Solve a linear system so that every row is met to rounding of its own, however the rows are scaled."""
    x: FloatArray = inverse @ right_side
    for _ in range(2):
        x = x + inverse @ (right_side - matrix @ x)
    return x
