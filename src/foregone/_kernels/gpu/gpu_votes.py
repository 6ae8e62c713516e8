"""Votes between two classes on a GPU: counted until a strategy stops, or all of them.

Schedules are those of `foregone._kernels.forest_run`: ``steps`` with 32 bits a number, ``orders`` one after
another in a line. ``own_roots`` has room for the roots of one row for each group.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_nodes import U1
from foregone._kernels.forest_random import stop_draw, swap_in
from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone._kernels.gpu.gpu_rows import KernelShape, bits_finder, group_placer
from foregone._kernels.gpu.gpu_walk import S0, S1, walker
from foregone._kernels.gpu.gpu_words import in_few_registers

SAME, DEALT, OWN = 0, 1, 2  # how rows get their order


@cuda.jit(device=True)
def lowest(n_bits):
    """Return a word whose lowest bits, at least one, are set."""
    return (np.uint64(2) << np.uint64(n_bits - S1)) - U1


@cache
def stop_drawer(shape: KernelShape, has_bits: bool) -> Any:
    """Return the device function that draws whether a row between the thresholds stops.

    It does by an exception, from ``begin`` to before ``end``. ``has_bits`` is whether the bits of rows are
    filled: where few rows draw, they are found when they do.
    """
    find_bits = bits_finder(shape._replace(key_bits=max(shape.key_bits, 32)), has_bits)

    @cuda.jit(device=True)
    def draws_a_stop(values, rules, exceptions, begin, end, seed, asked, yes, bits, row):
        for k in range(begin, end):
            if exceptions[k, 0] == yes:
                drawn = stop_draw(seed, find_bits(values, rules, bits, row), np.int64(asked))
                return drawn < exceptions[k, 1]
        return False

    return draws_a_stop


@cache
def order_drawer(shape: KernelShape) -> Any:
    """Return the device function by which a group draws the next trees of a row's own order.

    ``drawn`` trees are drawn already, none of a new row; up to one for each lane is drawn.
    """
    lanes = shape.lanes

    @cuda.jit(device=True)
    def draw_next(roots, own_roots, drawn, seed, bits, lane, mask):
        n_trees = len(own_roots)
        if drawn == 0:
            for tree in range(lane, n_trees, lanes):
                own_roots[tree] = roots[tree]
            cuda.syncwarp(mask)
        if lane == 0:
            for place in range(drawn, min(drawn + lanes, n_trees - 1)):
                swap_in(own_roots, place, seed, bits)
        cuda.syncwarp(mask)

    return draw_next


@cache
def stopping_kernel(shape: KernelShape, by_order: int, stops_unasked: bool) -> Any:
    """Return the kernel that counts votes until a strategy stops.

    ``by_order`` is SAME, DEALT or OWN; ``stops_unasked`` whether a row may stop before the first vote.
    """
    draws_a_stop, lanes = stop_drawer(shape, True), shape.lanes
    place_group, walk, draw_next = group_placer(lanes), walker(shape), order_drawer(shape)
    all_lanes = np.uint32((1 << lanes) - 1)

    @in_few_registers
    def run_rows(
        values, rules, bits, nodes, categories, orders, own_roots, steps, exceptions, seed,
        answers, asked_of, yes_of,
    ):  # fmt: skip
        n_rows, n_trees = len(answers), steps.shape[0] - 2
        lane, first, mask, group, n_groups = place_group()
        row, asked, yes, order = group, 0, 0, 0
        if by_order == DEALT and row < n_rows:
            order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)
        while row < n_rows:
            stops = False
            if stops_unasked and asked == 0:
                stops = steps[0, LOWER] >= 0 or steps[0, UPPER] <= 0
                stops |= draws_a_stop(
                    values, rules, exceptions, steps[0, START], steps[1, START], seed, 0, 0, bits, row
                )
            if not stops:
                tree = asked + lane
                says_yes = False
                if by_order == OWN:
                    own = own_roots[group * n_trees : (group + 1) * n_trees]
                    draw_next(orders, own, asked, seed, bits[row], lane, mask)
                # What the vote will be compared with is loaded at once, while the walk is under way.
                lower, upper, begin, end = 0, 0, 0, 0
                excepted = np.int64(-1)
                if tree < n_trees:
                    root = own_roots[group * n_trees + tree] if by_order == OWN else orders[order + tree]
                    lower, upper = steps[tree + 1, LOWER], steps[tree + 1, UPPER]
                    begin, end = steps[tree + 1, START], steps[tree + 2, START]
                    if begin < end:
                        excepted = exceptions[begin, 0]
                    _, side = walk(nodes, categories, values, rules, row, root)
                    says_yes = (side & S1) != S0
                votes = (np.uint32(cuda.ballot_sync(mask, says_yes)) >> first) & all_lanes
                so_far = yes + cuda.popc(np.uint32(votes & lowest(np.uint32(lane) + S1)))
                stops_here = False
                if tree < n_trees:
                    stops_here = (so_far <= lower) | (so_far >= upper)
                    if so_far == excepted:
                        stops_here |= stop_draw(seed, bits[row], np.int64(tree + 1)) < exceptions[begin, 1]
                    elif begin + 1 < end and not stops_here:
                        stops_here = draws_a_stop(
                            values, rules, exceptions, begin + 1, end, seed, tree + 1, so_far, bits, row
                        )
                found = (np.uint32(cuda.ballot_sync(mask, stops_here)) >> first) & all_lanes
                stops = found != 0
                counted = np.uint32(lanes)
                if stops:
                    counted = np.uint32(cuda.ffs(np.uint32(found)))
                asked += counted
                yes += cuda.popc(np.uint32(votes & lowest(counted)))
            if stops:
                if lane == 0:
                    answers[row] = yes >= steps[asked, YES_FROM]
                    asked_of[row], yes_of[row] = asked, yes
                row += n_groups
                asked, yes = 0, 0
                if by_order == DEALT and row < n_rows:
                    order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)

    return run_rows


@cache
def counting_kernel(shape: KernelShape) -> Any:
    """Return the kernel that counts the yes votes of all trees."""
    lanes, place_group, walk = shape.lanes, group_placer(shape.lanes), walker(shape)

    @cuda.jit
    def count_votes(
        values, rules, bits, nodes, categories, roots, n_trees, yes_from, answers, asked_of, yes_of
    ):
        n_rows = len(answers)
        lane, first, mask, row, n_groups = place_group()
        while row < n_rows:
            yes = np.int32(0)
            for tree in range(lane, n_trees, lanes):
                _, side = walk(nodes, categories, values, rules, row, roots[tree])
                yes += np.int32(side & S1)
            distance = lanes // 2
            while distance > 0:
                yes += cuda.shfl_sync(mask, np.int32(yes), np.int32(first) + (lane ^ distance))
                distance //= 2
            if lane == 0:
                answers[row] = yes >= yes_from
                asked_of[row], yes_of[row] = n_trees, yes
            row += n_groups

    return count_votes
