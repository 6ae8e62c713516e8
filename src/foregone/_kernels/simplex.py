"""The pivots of a small dense simplex method."""

import numpy as np

from foregone._kernels.compiled import compiled

TOLERANCE = 1e-14  # of what a reduced cost is summed from: less is rounding
PATIENCE = 60  # pivots after which rounding is taken to be ten times as large, so that the search ends
SINGULAR = 1e15  # condition number of a basis that is none
LEAST_PIVOT = 1e-14  # small, since columns are scaled: one that breaks a limit of 1e-12 holds no entry above


@compiled
def invert(matrix, inverse):
    """Fill ``inverse`` by elimination with row exchanges; return whether the matrix is regular."""
    size = len(matrix)
    work = matrix.copy()
    inverse[:, :] = 0.0
    for k in range(size):
        inverse[k, k] = 1.0
    for k in range(size):
        best = k
        for row in range(k + 1, size):
            if abs(work[row, k]) > abs(work[best, k]):
                best = row
        if work[best, k] == 0.0:
            return False
        if best != k:
            for column in range(size):
                work[k, column], work[best, column] = work[best, column], work[k, column]
                inverse[k, column], inverse[best, column] = inverse[best, column], inverse[k, column]
        scale = 1.0 / work[k, k]
        for column in range(size):
            work[k, column] *= scale
            inverse[k, column] *= scale
        for row in range(size):
            factor = work[row, k]
            if row != k and factor != 0.0:
                for column in range(size):
                    work[row, column] -= factor * work[k, column]
                    inverse[row, column] -= factor * inverse[k, column]
    norm, inverse_norm = 0.0, 0.0
    for column in range(size):
        norm = max(norm, np.abs(matrix[:, column]).sum())
        inverse_norm = max(inverse_norm, np.abs(inverse[:, column]).sum())
    return norm * inverse_norm < SINGULAR


@compiled
def refine(matrix, inverse, right_side, x):
    """Fill ``x`` with the solution of ``matrix x = right_side``, each row met to rounding of its own size."""
    size = len(right_side)
    x[:] = 0.0
    rest = right_side.copy()
    for turn in range(3):
        for row in range(size):
            total = 0.0
            for column in range(size):
                total += inverse[row, column] * rest[column]
            x[row] += total
        if turn == 2:
            break
        for row in range(size):
            total = right_side[row]
            for column in range(size):
                total -= matrix[row, column] * x[column]
            rest[row] = total


@compiled
def optimise(columns, costs, right_side, basis, duals, values):
    """Pivot from a feasible basis to an optimal one; fill its duals and the values of its variables.

    Ends when no column can lower the cost, or when rounding makes the search go round in circles; the
    basis stays feasible. Returns False when the cost has no lower limit.
    """
    size, n_columns = columns.shape
    matrix = np.zeros((size, size))
    inverse = np.zeros((size, size))
    direction = np.zeros(size)
    usable = np.ones(n_columns, np.bool_)  # not too like the basis to be told from it
    for k in range(size):
        matrix[:, k] = columns[:, basis[k]]
    invert(matrix, inverse)
    for pivot in range(14 * PATIENCE):
        tolerance = TOLERANCE * 10.0 ** (pivot // PATIENCE)
        careful = pivot >= PATIENCE
        refine(matrix.T, inverse.T, costs[basis], duals)
        refine(matrix, inverse, right_side, values)
        for k in range(size):
            values[k] = max(values[k], 0.0)
        # Steepest first; then the lowest number, which does not go round in circles (Bland).
        entering, least = -1, 0.0
        for column in range(n_columns):
            if not usable[column]:
                continue
            reduced = costs[column]
            rounding = abs(costs[column])
            for row in range(size):
                reduced -= duals[row] * columns[row, column]
                rounding += abs(duals[row] * columns[row, column])
            if reduced < -tolerance * rounding and (reduced < least or entering < 0):
                if (basis == column).any():
                    continue
                entering, least = column, reduced
                if careful:
                    break
        if entering < 0:
            return True
        refine(matrix, inverse, columns[:, entering].copy(), direction)
        shortest = np.inf
        for k in range(size):
            if direction[k] > LEAST_PIVOT:
                shortest = min(shortest, values[k] / direction[k])
        if shortest == np.inf:
            return False
        leaving = -1
        for k in range(size):
            if direction[k] > LEAST_PIVOT and values[k] / direction[k] <= shortest * (1 + 1e-12) + 1e-15:
                better = basis[k] < basis[leaving] if careful else direction[k] > direction[leaving]
                if leaving < 0 or better:
                    leaving = k
        left = basis[leaving]
        basis[leaving] = entering
        matrix[:, leaving] = columns[:, entering]
        if not invert(matrix, inverse):
            basis[leaving] = left
            matrix[:, leaving] = columns[:, left]
            invert(matrix, inverse)
            usable[entering] = False
    return True
