"""The small simplex method against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from foregone.errors import SolverError
from foregone.solving.small_simplex import SmallSimplex


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_highs_on_random_programs(seed):
    random = np.random.default_rng(seed)
    n_rows, n_columns = random.integers(1, 6), random.integers(3, 30)
    matrix = random.random((n_rows, n_columns)) * 10.0 ** random.integers(-3, 4, n_columns)
    right_side, cost = random.random(n_rows), random.normal(size=n_columns)
    program = SmallSimplex(right_side)
    program.basis = [program.add(np.eye(n_rows)[row], 0.0) for row in range(n_rows)]
    for column, price in zip(matrix.T, cost, strict=True):
        program.add(column, price)
    program.optimise()
    expected = linprog(cost, A_ub=matrix, b_ub=right_side)
    assert program.objective == pytest.approx(expected.fun, rel=1e-9)
    assert (matrix @ program.solution()[n_rows:] <= right_side + 1e-9).all()
    assert program.duals == pytest.approx(expected.ineqlin.marginals, rel=1e-6, abs=1e-9)


def test_a_program_without_a_least_cost_is_reported():
    program = SmallSimplex([1.0])
    program.basis = [program.add([1.0], 0.0)]
    program.add([-1.0], -1.0)
    with pytest.raises(SolverError, match="no finite optimum"):
        program.optimise()
