"""Votes for one of many classes on a GPU: counted until a strategy stops, or all of them.

The strategy is the arrays of `foregone._kernels.plurality_run`. The lanes of a group find the votes of as
many trees; the first lane counts them one by one. ``standings`` has room for what is known of one row for
each group.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_nodes import U2
from foregone._kernels.forest_random import stop_draw
from foregone._kernels.gpu.gpu_rows import KernelShape, group_placer
from foregone._kernels.gpu.gpu_votes import DEALT, OWN, order_drawer
from foregone._kernels.gpu.gpu_walk import walker
from foregone._kernels.plurality_run import CERTAIN, LINES, chance_to_stop, count_vote, leader_of


@cache
def stopping_kernel(shape: KernelShape, by_order: int) -> Any:
    """Return the kernel that counts votes until a strategy stops; ``by_order`` is as in `gpu_votes`."""
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk, draw_next = group_placer(lanes), walker(shape), order_drawer(shape)

    @cuda.jit
    def run_rows(
        values, rules, bits, nodes, categories, orders, own_roots, n_trees,
        level, P, looks, by_top, stop_bits, start, exceptions, seed, standings, n_slots,
        answers, asked_of, votes_of,
    ):  # fmt: skip
        n_rows = len(answers)
        lane, first, mask, group, n_groups = place_group()
        row, asked, order = group, 0, 0
        at, slots = np.uint64(group * LINES * n_slots), np.uint64(n_slots)
        while row < n_rows:
            if asked == 0:
                for place in range(lane, LINES * n_slots, lanes):
                    standings[at + np.uint64(place)] = 0
                cuda.syncwarp(mask)
                if by_order == DEALT:
                    order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)
            if by_order == OWN:
                own = own_roots[group * n_trees : (group + 1) * n_trees]
                draw_next(orders, own, asked, seed, bits[row], lane, mask)
            tree = asked + lane
            said = np.int32(0)
            if tree < n_trees:
                root = own_roots[group * n_trees + tree] if by_order == OWN else orders[order + tree]
                leaf, _ = walk(nodes, categories, values, rules, row, root)
                said = np.int32(nodes[leaf] if is_compact else nodes[U2 * leaf])
            stopped_at = 0
            for source in range(lanes):
                vote = cuda.shfl_sync(mask, said, np.int32(first) + source)
                if lane == 0 and stopped_at == 0 and asked + source < n_trees:
                    count_vote(standings, at, slots, np.uint16(vote))
                    n_asked = asked + source + 1
                    if looks[n_asked]:
                        chance = chance_to_stop(
                            level, P, by_top, stop_bits, start, exceptions, n_asked, standings, at, slots
                        )
                        if chance >= CERTAIN or (
                            chance >= 0 and stop_draw(seed, bits[row], np.int64(n_asked)) < chance
                        ):
                            stopped_at = n_asked
            if lane == 0 and stopped_at > 0:
                leader, votes = leader_of(standings, at, slots, stopped_at == n_trees)
                answers[row], asked_of[row], votes_of[row] = leader, stopped_at, votes
            asked += lanes
            if cuda.shfl_sync(mask, np.int32(stopped_at), np.int32(first)) > 0:
                row += n_groups
                asked = 0
            cuda.syncwarp(mask)

    return run_rows


@cache
def counting_kernel(shape: KernelShape) -> Any:
    """Return the kernel that adds the votes of all trees to ``counts[row, class]``, and finds who leads."""
    lanes, is_compact = shape.lanes, shape.is_compact
    place_group, walk = group_placer(lanes), walker(shape)

    @cuda.jit
    def count_votes(
        values, rules, bits, nodes, categories, roots, n_trees, counts, answers, asked_of, votes_of
    ):
        n_rows, n_classes = counts.shape
        lane, _, mask, row, n_groups = place_group()
        while row < n_rows:
            for number in range(lane, n_classes, lanes):
                counts[row, number] = 0
            cuda.syncwarp(mask)
            for tree in range(lane, n_trees, lanes):
                leaf, _ = walk(nodes, categories, values, rules, row, roots[tree])
                said = np.int64(nodes[leaf] if is_compact else nodes[U2 * leaf])
                cuda.atomic.add(counts, (row, said), np.int32(1))
            cuda.syncwarp(mask)
            if lane == 0:
                best = 0
                for number in range(1, n_classes):
                    if counts[row, number] > counts[row, best]:
                        best = number
                answers[row], asked_of[row], votes_of[row] = best, n_trees, counts[row, best]
            row += n_groups

    return count_votes
