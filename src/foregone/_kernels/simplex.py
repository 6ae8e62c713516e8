"""The pivots of a small dense simplex method."""

import numpy as np

from foregone._kernels.compiled import compiled, inner

TOLERANCE = 1e-14  # of what a reduced cost is summed from: less is rounding
PATIENCE = 60  # pivots after which rounding is taken to be ten times as large, so that the search ends
SINGULAR = 1e15  # condition number of a singular basis
LEAST_PIVOT = 1e-14  # small, since columns are scaled: one that breaks a limit of 1e-12 holds no entry above


@inner
def invert(matrix, inverse):
    """Fill ``inverse`` by elimination with row exchanges; return whether the matrix is regular."""
    size = len(matrix)
    work = matrix.copy()
    for k in range(size):
        for column in range(size):
            inverse[k, column] = 1.0 if k == column else 0.0
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
        total, inverse_total = 0.0, 0.0
        for row in range(size):
            total += abs(matrix[row, column])
            inverse_total += abs(inverse[row, column])
        norm, inverse_norm = max(norm, total), max(inverse_norm, inverse_total)
    return norm * inverse_norm < SINGULAR


@inner
def refine(matrix, inverse, is_transposed, right_side, rest, x):
    """Fill ``x`` with the solution of ``matrix x = right_side``, each row met to rounding of its own size.

    With ``is_transposed``, both matrices are read by columns. ``rest`` is scratch.
    """
    size = len(right_side)
    for row in range(size):
        x[row], rest[row] = 0.0, right_side[row]
    for turn in range(3):
        for row in range(size):
            total = 0.0
            for column in range(size):
                entry = inverse[column, row] if is_transposed else inverse[row, column]
                total += entry * rest[column]
            x[row] += total
        if turn == 2:
            break
        for row in range(size):
            total = right_side[row]
            for column in range(size):
                entry = matrix[column, row] if is_transposed else matrix[row, column]
                total -= entry * x[column]
            rest[row] = total


@inner
def load_column(columns, number, out):
    """Copy a column."""
    for row in range(len(out)):
        out[row] = columns[row, number]


@compiled
def optimise(columns, costs, right_side, basis, duals, values):
    """Pivot from a feasible basis to an optimal one; fill its duals and the values of its variables.

    Ends when no column can lower the cost, or when rounding makes the search go round in circles; the
    basis stays feasible. Returns False when the cost has no lower limit.
    """
    size, n_columns = columns.shape
    matrix, inverse = np.empty((size, size)), np.empty((size, size))
    direction, given, rest = np.empty(size), np.empty(size), np.empty(size)
    usable = np.empty(n_columns, np.bool_)  # not too like the basis to be told from it
    for column in range(n_columns):
        usable[column] = True
    for k in range(size):
        load_column(columns, basis[k], matrix[:, k])
    invert(matrix, inverse)
    for pivot in range(14 * PATIENCE):
        tolerance = TOLERANCE * 10.0 ** (pivot // PATIENCE)
        careful = pivot >= PATIENCE
        for k in range(size):
            given[k] = costs[basis[k]]
        refine(matrix, inverse, np.bool_(1), given, rest, duals)
        refine(matrix, inverse, np.bool_(0), right_side, rest, values)
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
                in_basis = False
                for k in range(size):
                    in_basis |= basis[k] == column
                if in_basis:
                    continue
                entering, least = column, reduced
                if careful:
                    break
        if entering < 0:
            return True
        load_column(columns, entering, given)
        refine(matrix, inverse, np.bool_(0), given, rest, direction)
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
        load_column(columns, entering, matrix[:, leaving])
        if not invert(matrix, inverse):
            basis[leaving] = left
            load_column(columns, left, matrix[:, leaving])
            invert(matrix, inverse)
            usable[entering] = False
    return True
