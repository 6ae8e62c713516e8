"""Scores of two classes on a GPU: added up until thresholds stop, see `foregone._kernels.score_run`.

Every lane has the score of one tree. All lanes add the same scores, one after another in the order asked, so
that sums are those of the CPU, bit for bit, and each keeps the sum up to its own tree.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from foregone._kernels.forest_nodes import U2
from foregone._kernels.gpu.gpu_rows import KernelShape, group_placer
from foregone._kernels.gpu.gpu_walk import walker
from foregone._kernels.gpu.gpu_words import in_few_registers


@cache
def adding_kernel(shape: KernelShape) -> Any:
    """Return the kernel; ``leaves`` are the nodes again, as floats."""
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk = group_placer(lanes), walker(shape)
    all_lanes = np.uint32((1 << lanes) - 1)

    @in_few_registers
    def add_scores(
        values, rules, bits, nodes, leaves, categories, roots, lower, upper, start,
        answers, asked_of, score_of,
    ):  # fmt: skip
        n_rows, n_trees = len(answers), len(roots)
        lane, first, mask, row, n_groups = place_group()
        asked, score = 0, start
        while row < n_rows:
            stops = asked == 0 and (start <= lower[0] or start >= upper[0])
            if not stops:
                tree = asked + lane
                own, low, high = 0.0, -np.inf, np.inf
                if tree < n_trees:
                    low, high = lower[tree + 1], upper[tree + 1]
                    place, _ = walk(nodes, categories, values, rules, row, roots[tree])
                    own = leaves[place] if is_compact else leaves[U2 * place]
                total = mine = score
                for source in range(lanes):
                    total += cuda.shfl_sync(mask, own, np.int32(first) + source)
                    if source == lane:
                        mine = total
                stops_here = (mine <= low) | (mine >= high)
                found = (np.uint32(cuda.ballot_sync(mask, stops_here)) >> first) & all_lanes
                stops = found != 0
                if stops:
                    counted = np.int32(cuda.ffs(np.uint32(found)))
                    asked += counted
                    score = cuda.shfl_sync(mask, mine, np.int32(first) + counted - 1)
                else:
                    asked += lanes
                    score = total
            if stops:
                if lane == 0:
                    answers[row] = score > lower[asked]
                    asked_of[row], score_of[row] = asked, score
                row += n_groups
                asked, score = 0, start

    return add_scores
