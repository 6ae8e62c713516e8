"""Small trees without walks: every split of a tree clears the leaves that it rules out, for 64 rows at once.

The leaves of a tree are the bits of a word, from left to right, 32 or 64 of them. A row that goes right at a
split cannot come to the leaves on its left; whatever the row, the lowest bit that no split has cleared is the
leaf it comes to (as in QuickScorer, Lucchese et al. 2015). There are no branches, and one instruction
compares as many rows as a vector holds: on trees of up to 32 leaves this is twice as fast as walking.

Rows are compared by their ranks (`foregone._kernels.row_ranks`), which lie column by column, for `LANES` rows
at a time. Rows keep their lanes until half of them are done; then the others move up.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_nodes import U0, U1
from foregone._kernels.row_ranks import LANES

LOG_LANES, LANE = np.uint64(6), np.uint64(LANES - 1)
RANK_BITS, LOW_8 = np.uint32(8), np.uint32(0xFF)
FIRST_SPLIT, END_OF_SPLITS, FIRST_LEAF = 0, 1, 2
DENSEST = np.uint64(2)  # lanes for each row that is left: with more, rows move up


class MaskTrees(NamedTuple):
    """Trees as splits, ``column << 8 | rank``, and what each leaves over of the leaves of its tree."""

    splits: Any
    masks: Any


class Lanes(NamedTuple):
    """Ranks of a block: by row, and by column for rows in lanes.

    ``ranks`` has the rows of a block one after another; ``columns[(64 * group + lane) ...]`` those in lanes;
    ``lane_of[row]`` is where a row is, and ``n_lanes[0]`` how many lanes are taken. ``possible`` is scratch
    for the leaves of `LANES` rows.
    """

    ranks: Any
    columns: Any
    lane_of: Any
    n_lanes: Any
    possible: Any


@intrinsic
def lowest_bit(_typing, word):
    """Return the number of the lowest bit that is set; there must be one."""

    def generate(_context, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate if isinstance(word, types.Integer) else None


@compiled
def fill_masks(offset, start, most_leaves, split_of, splits, masks, leaf_of, bounds):
    """Fill `MaskTrees` from looping trees, given their offsets and, for each place, what it compares.

    ``bounds[tree]`` becomes where the splits of a tree begin and end, and its leaves begin; ``leaf_of`` the
    place of each leaf in the looping trees, ``most_leaves`` for each tree. ``start`` is where each looping
    tree begins.
    """
    everything = ~masks.dtype.type(0)
    stack = np.empty(2 * most_leaves + 2, np.int64)
    # Of a split whose left side is being walked: its number, and the leaves found before it.
    is_back = np.empty(2 * most_leaves + 2, np.bool_)
    before = np.empty(2 * most_leaves + 2, np.int64)
    n_splits = 0
    for tree in range(len(start)):
        bounds[tree, FIRST_SPLIT] = n_splits
        bounds[tree, FIRST_LEAF] = tree * most_leaves
        stack[0], is_back[0], before[0] = start[tree], False, 0
        depth, n_leaves = 1, 0
        while depth:
            depth -= 1
            place = stack[depth]
            if is_back[depth]:
                # All that lies to the left of this split has been found.
                left = masks.dtype.type(0)
                for bit in range(before[depth], n_leaves):
                    left |= masks.dtype.type(1) << masks.dtype.type(bit)
                splits[n_splits], masks[n_splits] = split_of[place], everything ^ left
                n_splits += 1
                continue
            if offset[place] == 0:
                leaf_of[tree * most_leaves + n_leaves] = place
                n_leaves += 1
                continue
            stack[depth], is_back[depth] = place + offset[place] + 1, False
            stack[depth + 1], is_back[depth + 1], before[depth + 1] = place, True, n_leaves
            stack[depth + 2], is_back[depth + 2] = place + offset[place], False
            depth += 3
        bounds[tree, END_OF_SPLITS] = n_splits


@inner
def fill_lanes(lanes, n_columns, rows, n_rows):
    """Give the first ``n_rows`` of ``rows`` a lane each."""
    ranks, columns, lane_of = lanes.ranks, lanes.columns, lanes.lane_of
    lanes.n_lanes[0] = n_rows
    group_size = np.uint64(LANES) * n_columns
    for k in range(np.uint64(n_rows)):
        row = np.uint64(rows[k])
        lane_of[row] = k
        source, target = row * n_columns, (k >> LOG_LANES) * group_size + (k & LANE)
        for column in range(n_columns):
            columns[target + (column << LOG_LANES)] = ranks[source + column]


@inner
def rule_out(splits, masks, columns, possible):
    """Fill which leaves are still possible after all splits of a tree, for the rows of one group of lanes."""
    everything = ~masks.dtype.type(0)
    for lane in range(LANES):
        possible[lane] = everything
    for split in range(len(splits)):
        word, mask = splits[split], masks[split]
        rank, start = np.uint8(word & LOW_8), np.uint64(word >> RANK_BITS) << LOG_LANES
        column = columns[start : start + np.uint64(LANES)]
        for lane in range(LANES):
            possible[lane] &= mask if column[lane] > rank else everything


def mask_out(batch, order, tree, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the number of the leaf that ``rows[k]`` comes to, among those of all trees.

    The parameters are those of `foregone._kernels.looping_walk.find_leaves`.
    """
    trees, _, bounds, _, lanes, n_columns = batch
    first, end = bounds[order, tree, FIRST_SPLIT], bounds[order, tree, END_OF_SPLITS]
    leaf = np.uint64(bounds[order, tree, FIRST_LEAF])
    splits, masks = trees.splits[first:end], trees.masks[first:end]
    columns, lane_of, possible = lanes.columns, lanes.lane_of, lanes.possible
    group_size = np.uint64(LANES) * n_columns
    k, n_rows = U0, np.uint64(n_rows)
    while k < n_rows:
        group = np.uint64(lane_of[rows[k]]) >> LOG_LANES
        rule_out(splits, masks, columns[group * group_size : (group + U1) * group_size], possible)
        while k < n_rows:
            lane = np.uint64(lane_of[rows[k]])
            if lane >> LOG_LANES != group:
                break
            places[k] = leaf + np.uint64(lowest_bit(possible[lane & LANE]))
            k += U1
