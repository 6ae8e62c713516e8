"""Small trees without walks: every split of a tree clears the leaves that it rules out, for 64 rows at once.

The leaves of a tree are bits, from left to right. A row that goes right at a split cannot come to the leaves
on its left; whatever the row, the lowest bit that no split has cleared is the leaf it comes to (as in
QuickScorer, Lucchese et al. 2015). The bits are taken eight at a time, a byte for each row: a split is looked
at once for every byte that it can clear bits of, which for most splits is one. So one instruction compares as
many rows as a vector has bytes, and there are no branches.

Rows are compared by their ranks (`foregone._kernels.row_ranks`), which lie column by column, for `LANES` rows
at a time. Rows keep their lanes until half of them are done; then the others move up.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_nodes import U0, U1
from foregone._kernels.row_ranks import LANES

LOG_LANES, LANE = np.uint64(6), np.uint64(LANES - 1)
BITS = 8  # leaves that a byte stands for
MOST_LEAVES = 256  # whose numbers are bytes
FIRST_BYTE, END_OF_BYTES, FIRST_LEAF = 0, 1, 2
DENSEST = np.uint64(2)  # lanes for each row that is left: with more, rows move up


class MaskTrees(NamedTuple):
    """Trees as bytes of leaves.

    ``clears[starts[byte] : starts[byte + 1]]`` are the splits that clear leaves of a byte, as
    ``column << 16 | rank << 8 | leaves``.
    """

    clears: Any
    starts: Any


class Lanes(NamedTuple):
    """Ranks of a block: by row, and by column for rows in lanes.

    ``ranks`` has the rows of a block one after another; ``columns[(64 * group + lane) ...]`` those in lanes;
    ``lane_of[row]`` is where a row is, and ``n_lanes[0]`` how many lanes are taken. ``numbers`` is scratch
    for the leaves of `LANES` rows.
    """

    ranks: Any
    columns: Any
    lane_of: Any
    n_lanes: Any
    numbers: Any


@compiled
def fill_left_sides(offset, start, most_leaves, sides, leaf_of):
    """Fill what lies to the left of every split of looping trees, given their offsets and where each begins.

    ``sides`` becomes a line for each split, those of a tree together: its place, and its first leaf and the
    end of its leaves on the left, in the tree. ``leaf_of`` becomes the place of each leaf in the looping
    trees, ``most_leaves`` for each tree.
    """
    stack = np.empty(2 * most_leaves + 2, np.int64)
    # Of a split whose left side is being walked: that it is, and the leaves found before it.
    is_back = np.empty(2 * most_leaves + 2, np.bool_)
    before = np.empty(2 * most_leaves + 2, np.int64)
    split = 0
    for tree in range(len(start)):
        stack[0], is_back[0], before[0] = start[tree], False, 0
        depth, n_leaves = 1, 0
        while depth:
            depth -= 1
            place = stack[depth]
            if is_back[depth]:
                sides[split, 0], sides[split, 1], sides[split, 2] = place, before[depth], n_leaves
                split += 1
            elif offset[place] == 0:
                leaf_of[tree * most_leaves + n_leaves] = place
                n_leaves += 1
            else:
                stack[depth], is_back[depth] = place + offset[place] + 1, False
                stack[depth + 1], is_back[depth + 1], before[depth + 1] = place, True, n_leaves
                stack[depth + 2], is_back[depth + 2] = place + offset[place], False
                depth += 3


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


@intrinsic
def number_leaves(_typing, clears, starts, first, end, columns, start, numbers):
    """Fill ``numbers`` with the leaf of a tree that each row of a group of lanes comes to.

    ``first`` and ``end`` bound the bytes of the tree, ``columns[start]`` is the group's first rank. The
    vectors are written out so that what is cleared stays in registers from split to split.
    """
    signature = types.void(clears, starts, types.uint64, types.uint64, columns, types.uint64, numbers)

    def generate(context, builder, _signature, arguments):
        bit, byte, word, size = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
        vector = ir.VectorType(byte, LANES)
        one = ir.Constant(size, 1)
        lowest_bits = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector, bit]), f"llvm.cttz.v{LANES}i8"
        )

        def data(array_type, array):
            return context.make_array(array_type)(context, builder, array).data

        def splat(value):
            first_lane = builder.insert_element(
                ir.Constant(vector, ir.Undefined), value, ir.Constant(word, 0)
            )
            zeros = ir.Constant(ir.VectorType(word, LANES), None)
            return builder.shuffle_vector(first_lane, ir.Constant(vector, ir.Undefined), zeros)

        def vector_at(pointer, place):
            return builder.bitcast(builder.gep(pointer, [place]), vector.as_pointer())

        clears_at, starts_at = data(clears, arguments[0]), data(starts, arguments[1])
        first_byte, end_byte = arguments[2], arguments[3]
        columns_at = builder.gep(data(columns, arguments[4]), [arguments[5]])
        numbers_at = data(numbers, arguments[6])
        nothing = ir.Constant(vector, None)
        everything = ir.Constant(vector, [ir.Constant(byte, 0xFF)] * LANES)
        number = cgutils.alloca_once_value(builder, nothing)
        cleared = cgutils.alloca_once_value(builder, nothing)
        count = builder.sub(end_byte, first_byte)
        # From the last byte to the first, so that the lowest leaf is the one that stays.
        with cgutils.for_range(builder, count) as loop:
            left = builder.sub(builder.sub(count, loop.index), one)
            at = builder.add(first_byte, left)
            builder.store(nothing, cleared)
            begin = builder.zext(builder.load(builder.gep(starts_at, [at])), size)
            after = builder.zext(builder.load(builder.gep(starts_at, [builder.add(at, one)])), size)
            with cgutils.for_range_slice(builder, begin, after, one, size) as (place, _):
                split = builder.load(builder.gep(clears_at, [place]))
                column = builder.zext(builder.lshr(split, ir.Constant(word, 16)), size)
                lane_0 = builder.mul(column, ir.Constant(size, LANES))
                ranks = builder.load(vector_at(columns_at, lane_0), align=LANES)
                rank = splat(builder.trunc(builder.lshr(split, ir.Constant(word, 8)), byte))
                goes_right = builder.icmp_unsigned(">", ranks, rank)
                leaves = builder.select(goes_right, splat(builder.trunc(split, byte)), nothing)
                builder.store(builder.or_(builder.load(cleared), leaves), cleared)
            possible = builder.xor(builder.load(cleared), everything)
            lowest = builder.call(lowest_bits, [possible, ir.Constant(bit, 0)])
            own = builder.add(lowest, splat(builder.trunc(builder.shl(left, ir.Constant(size, 3)), byte)))
            is_here = builder.icmp_unsigned("!=", possible, nothing)
            builder.store(builder.select(is_here, own, builder.load(number)), number)
        builder.store(builder.load(number), vector_at(numbers_at, ir.Constant(size, 0)), align=1)
        return context.get_dummy_value()

    return signature, generate


def mask_out(batch, order, tree, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the number of the leaf that ``rows[k]`` comes to, among those of all trees.

    The parameters are those of `foregone._kernels.looping_walk.find_leaves`.
    """
    trees, _, bounds, _, lanes, n_columns = batch
    first, end = np.uint64(bounds[order, tree, FIRST_BYTE]), np.uint64(bounds[order, tree, END_OF_BYTES])
    leaf = np.uint64(bounds[order, tree, FIRST_LEAF])
    lane_of, numbers = lanes.lane_of, lanes.numbers
    group_size = np.uint64(LANES) * n_columns
    k, n_rows = U0, np.uint64(n_rows)
    if n_rows == lanes.n_lanes[0]:  # every row is in the lane of its number
        for group in range(n_rows >> LOG_LANES):
            number_leaves(trees.clears, trees.starts, first, end, lanes.columns, group * group_size, numbers)
            for lane in range(np.uint64(LANES)):
                places[k + lane] = leaf + np.uint64(numbers[lane])
            k += np.uint64(LANES)
    while k < n_rows:
        group = np.uint64(lane_of[rows[k]]) >> LOG_LANES
        number_leaves(trees.clears, trees.starts, first, end, lanes.columns, group * group_size, numbers)
        while k < n_rows:
            lane = np.uint64(lane_of[rows[k]])
            if lane >> LOG_LANES != group:
                break
            places[k] = leaf + np.uint64(numbers[lane & LANE])
            k += U1
