"""Scores of many classes on a GPU: added up until the lead stops, see `foregone._kernels.class_score_run`.

Where each class has trees of its own, a lane asks the tree of one class after another. Else the lanes of a
group ask as many trees, whose scores are then added one tree after another, every lane for some classes. The
first lane looks who leads. Sums are those of the CPU, bit for bit.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from foregone._kernels.class_sums import leader_of, looks, stops_here
from foregone._kernels.forest_nodes import U2
from foregone._kernels.gpu.gpu_rows import KernelShape, group_placer
from foregone._kernels.gpu.gpu_walk import walker


@cache
def table_kernel(shape: KernelShape, has_lines: bool) -> Any:
    """Return the kernel for trees that have a score for every class.

    ``table`` is as in `foregone._kernels.class_score_run`, in a line: with ``has_lines``, one line a number.
    """
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk = group_placer(lanes), walker(shape)

    @cuda.jit
    def add_scores(
        values, rules, bits, nodes, categories, roots, table, upper, start, answers, asked_of, sums
    ):
        n_rows, n_trees, n_classes = len(answers), len(roots), len(start)
        lane, first, mask, row, n_groups = place_group()
        asked = 0
        while row < n_rows:
            at = row * n_classes
            stopped = False
            stopped_at = np.int32(-1)
            if asked == 0:
                for number in range(lane, n_classes, lanes):
                    sums[at + number] = start[number]
                cuda.syncwarp(mask)
                leader, lead = leader_of(sums, np.uint64(at), np.uint64(n_classes))
                if lead >= upper[0]:
                    stopped, stopped_at = True, np.int32(0)
                    if lane == 0:
                        answers[row] = leader
            if not stopped:
                tree = asked + lane
                said = np.int64(0)
                if tree < n_trees:
                    leaf, _ = walk(nodes, categories, values, rules, row, roots[tree])
                    said = np.int64(nodes[leaf] if is_compact else nodes[U2 * leaf])
                for source in range(lanes):
                    line = cuda.shfl_sync(mask, said, np.int32(first) + source)
                    step = asked + source + 1
                    if stopped_at >= 0 or step > n_trees:
                        continue
                    if has_lines:
                        for number in range(lane, n_classes, lanes):
                            sums[at + number] += np.float64(table[line * n_classes + number])
                    elif lane == 0:
                        sums[at + line] += np.float64(table[line])
                    if upper[step] == np.inf:
                        continue
                    cuda.syncwarp(mask)
                    if lane == 0:
                        stops, leader, _ = stops_here(
                            sums, np.uint64(at), np.uint64(n_classes), upper, step, 1
                        )
                        if stops:
                            stopped_at = np.int32(step)
                            answers[row] = leader
                    stopped_at = cuda.shfl_sync(mask, stopped_at, np.int32(first))
                asked += lanes
            if stopped_at >= 0:
                if lane == 0:
                    asked_of[row] = stopped_at
                row += n_groups
                asked = 0
            cuda.syncwarp(mask)

    return add_scores


@cache
def rounds_kernel(shape: KernelShape) -> Any:
    """Return the kernel for rounds of one tree of each class that is not out; ``leaves`` are the nodes."""
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk = group_placer(lanes), walker(shape)

    @cuda.jit
    def add_scores(
        values, rules, bits, nodes, leaves, categories, roots, upper, start, answers, asked_of, sums
    ):
        n_rows, n_classes = len(answers), len(start)
        lane, first, mask, row, n_groups = place_group()
        step, asked = 0, np.int32(0)
        while row < n_rows:
            at = row * n_classes
            if step == 0:
                for number in range(lane, n_classes, lanes):
                    sums[at + number] = start[number]
                cuda.syncwarp(mask)
            for number in range(lane, n_classes, lanes):
                if sums[at + number] > -np.inf:
                    root = roots[step * n_classes + number]
                    leaf, _ = walk(nodes, categories, values, rules, row, root)
                    sums[at + number] += leaves[leaf] if is_compact else leaves[U2 * leaf]
                    asked += np.int32(1)
            step += 1
            cuda.syncwarp(mask)
            stopped = np.int32(0)
            if lane == 0 and looks(upper, step, n_classes):
                stops, leader, _ = stops_here(
                    sums, np.uint64(at), np.uint64(n_classes), upper, step, n_classes
                )
                if stops:
                    stopped = np.int32(1)
                    answers[row] = leader
            if cuda.shfl_sync(mask, stopped, np.int32(first)) > 0:
                total = np.int32(0)
                for source in range(lanes):
                    total += cuda.shfl_sync(mask, asked, np.int32(first) + source)
                if lane == 0:
                    asked_of[row] = total
                row += n_groups
                step, asked = 0, np.int32(0)
            cuda.syncwarp(mask)

    return add_scores
