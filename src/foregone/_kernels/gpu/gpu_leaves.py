"""What every tree says about every row, on a GPU: a matrix in the model's order; values by their number."""

from functools import cache
from typing import Any

from numba import cuda

from foregone._kernels.forest_nodes import U2
from foregone._kernels.gpu.gpu_rows import KernelShape, group_placer
from foregone._kernels.gpu.gpu_walk import S1, walker


@cache
def matrix_kernel(shape: KernelShape, are_votes: bool) -> Any:
    """Return the kernel that fills ``matrix[row, tree]``; ``leaves`` are the nodes again, maybe as floats."""
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk = group_placer(lanes), walker(shape)

    @cuda.jit
    def fill_matrix(values, rules, bits, nodes, leaves, categories, roots, matrix):
        n_rows, n_trees = matrix.shape
        lane, _, _, row, n_groups = place_group()
        while row < n_rows:
            for tree in range(lane, n_trees, lanes):
                place, side = walk(nodes, categories, values, rules, row, roots[tree])
                if are_votes:
                    matrix[row, tree] = side & S1
                else:
                    matrix[row, tree] = leaves[place] if is_compact else leaves[U2 * place]
            row += n_groups

    return fill_matrix


@cuda.jit
def take(table, numbers, out):
    """Fill ``out[k]`` with ``table[numbers[k]]``."""
    for k in range(cuda.grid(1), len(out), cuda.gridsize(1)):
        out[k] = table[int(numbers[k])]
