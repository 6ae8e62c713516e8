"""Rows on a GPU: the keys of their values, what is among these, and the bits that stand for a row.

On the CPU a row with missing values has two keys a value. Here a value has one, and the walk looks at the
node's column to know where a missing one goes.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types

from foregone._kernels.forest_keys import (
    ABOVE_32,
    ABOVE_64,
    ALMOST_ZERO,
    BELOW_32,
    BELOW_64,
    CATEGORY,
    FINITE,
    MISSING,
    NAN_RIGHT,
    NO_CATEGORY,
    TOO_LARGE,
    ZERO_IS_MISSING,
    category_of,
    key_32,
    key_64,
)
from foregone._kernels.forest_random import MINUS_ZERO_32, MINUS_ZERO_64, mix_key
from foregone._kernels.row_ranks import CUTS_A_COLUMN

WARP = 32  # lanes
CHUNK_WIDTH = WARP + 1  # one more, so that columns are in different banks
WARPS = 4  # of a block, at most
U_WIDTH = np.uint64(CHUNK_WIDTH)
CHUNK_SIZE = WARPS * WARP * CHUNK_WIDTH
RANK_BITS = 8  # of ranks, which stand in the place of keys
BEFORE, WIDTH, COLUMNS = 0, 1, 2  # of a line of the table of cuts
S0, S1, S2, S3, S4, S8, S32, S_CUTS = (np.uint32(number) for number in (0, 1, 2, 3, 4, 8, 32, CUTS_A_COLUMN))


class KernelShape(NamedTuple):
    """What trees and rows a kernel is made for.

    Attributes
    ----------
    is_compact : bool
        Whether a node is one word, see `foregone._kernels.forest_nodes`.
    key_bits : {8, 32, 64}
        Size of rows' keys, or of the ranks that are compared instead, see `ranks_kernel`.
    has_categories, has_rules : bool
        Whether nodes may split by categories, and whether columns have rules.
    takes_missing : bool
        Whether values may be missing.
    lanes : int
        How many lanes work on a row: a power of two, at most `WARP`.
    """

    is_compact: bool
    key_bits: int
    has_categories: bool
    has_rules: bool
    takes_missing: bool
    lanes: int


@cache
def group_placer(lanes: int) -> Any:
    """Return the device function that says which lane of which group a thread is."""
    all_lanes = np.uint32((1 << lanes) - 1)

    @cuda.jit(device=True)
    def place_group():
        """Return the lane, the first lane of the group in the warp and the mask of all of them.

        Then the number of the group, and that of groups.
        """
        thread = cuda.threadIdx.x
        lane = thread % lanes
        first = np.uint32(thread % WARP - lane)
        in_block = cuda.blockDim.x // lanes
        group = cuda.blockIdx.x * in_block + thread // lanes
        return lane, first, np.uint32(all_lanes << first), group, cuda.gridDim.x * in_block

    return place_group


@cache
def key_reader(shape: KernelShape) -> Any:
    """Return the device function that gives the key of a feature's value, and says whether it is missing."""
    is_short, has_rules, takes_missing = shape.key_bits == 32, shape.has_rules, shape.takes_missing
    key_of = key_32 if is_short else key_64

    @cuda.jit(device=True)
    def read_plain(given, rules, feature):
        return key_of(given), takes_missing and given != given

    @cuda.jit(device=True)
    def read_ruled(given, rules, feature):
        value = np.float64(np.float32(given)) if is_short else np.float64(given)
        is_missing = value != value or (rules[feature] & ZERO_IS_MISSING and abs(value) <= ALMOST_ZERO)
        key = category_of(value) if rules[feature] & CATEGORY else np.uint64(key_of(value))
        return key, is_missing

    return read_ruled if has_rules else read_plain


@cache
def status_reader(key_bits: int) -> Any:
    """Return the device function that says what a value is: FINITE, MISSING or TOO_LARGE."""
    key_of, below, above = (key_32, BELOW_32, ABOVE_32) if key_bits == 32 else (key_64, BELOW_64, ABOVE_64)

    @cuda.jit(device=True)
    def status_of_value(value):
        key = key_of(value)
        strange = np.uint32(TOO_LARGE) if (key == below) | (key == above) else np.uint32(MISSING)
        return np.uint32(FINITE) if (key > below) & (key < above) else strange

    return status_of_value


@cache
def looking_kernel(key_bits: int) -> Any:
    """Return the kernel that says by ``status`` what is among values, which lie in a line."""
    status_of = status_reader(key_bits)

    @cuda.jit
    def look_at(values, status):
        seen = np.uint32(FINITE)
        stride, place = cuda.gridsize(1), cuda.grid(1)
        while place + 3 * stride < len(values):  # four loads at a time
            first, second = values[place], values[place + stride]
            third, fourth = values[place + 2 * stride], values[place + 3 * stride]
            seen |= status_of(first) | status_of(second) | status_of(third) | status_of(fourth)
            place += 4 * stride
        while place < len(values):
            seen |= status_of(values[place])
            place += stride
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return look_at


def minus_zero_key(shape: KernelShape) -> np.uint64:
    """Return the key of -0.0."""
    return MINUS_ZERO_32 if shape.key_bits == 32 else MINUS_ZERO_64


@cache
def bits_key_reader(shape: KernelShape) -> Any:
    """Return the device function that gives the key that stands for a value in the bits of its row."""
    has_rules, read_key = shape.has_rules, key_reader(shape)
    key_type = types.uint32 if shape.key_bits == 32 else types.uint64
    no_value = NAN_RIGHT >> np.uint64(64 - shape.key_bits)

    @cuda.jit(device=True)
    def key_for_bits(value, rules, feature):
        key, is_missing = read_key(value, rules, feature)
        if is_missing:
            key = NO_CATEGORY if has_rules and rules[feature] & CATEGORY else no_value
        return key_type(key)

    return key_for_bits


@cache
def bits_finder(shape: KernelShape, is_filled: bool) -> Any:
    """Return the device function that finds the bits of a row: where they are filled, or from its values."""
    key_for_bits, zero = bits_key_reader(shape), minus_zero_key(shape)

    @cuda.jit(device=True)
    def find_bits(values, rules, bits, row):
        if is_filled:
            return bits[row]
        mixed = np.uint64(0)
        for feature in range(values.shape[1]):
            mixed = mix_key(mixed, np.uint64(key_for_bits(values[row, feature], rules, feature)), zero)
        return np.int64(mixed)

    return find_bits


@cache
def chunk_loader(shape: KernelShape) -> Any:
    """Return the device function by which a warp loads keys of 32 rows, of 32 features at most, into a chunk.

    Key k of the row of lane l is at ``chunk[start + l * CHUNK_WIDTH + k]``. Values lie in a line, row by row.
    """
    status_of, key_for_bits = status_reader(shape.key_bits), bits_key_reader(shape)

    @cuda.jit(device=True)
    def load_chunk(values, n_rows, n_features, rules, chunk, place, row, feature):
        """Load a feature of 32 rows, with the others of the warp; return what is among the values."""
        seen, last = np.uint32(FINITE), np.uint32(n_rows - S1)
        width, at = np.uint64(n_features), np.uint64(feature)
        for _ in range(WARP // 4):  # four loads at a time
            second, third = min(np.uint32(row + S1), last), min(np.uint32(row + S2), last)
            a = values[np.uint64(min(row, last)) * width + at]
            b, c = values[np.uint64(second) * width + at], values[np.uint64(third) * width + at]
            d = values[np.uint64(min(np.uint32(row + S3), last)) * width + at]
            seen |= status_of(a) | status_of(b) | status_of(c) | status_of(d)
            chunk[place] = key_for_bits(a, rules, feature)
            chunk[place + U_WIDTH] = key_for_bits(b, rules, feature)
            chunk[place + U_WIDTH + U_WIDTH] = key_for_bits(c, rules, feature)
            chunk[place + U_WIDTH + U_WIDTH + U_WIDTH] = key_for_bits(d, rules, feature)
            row, place = np.uint32(row + S4), place + U_WIDTH + U_WIDTH + U_WIDTH + U_WIDTH
        return seen

    return load_chunk


@cache
def bits_kernel(shape: KernelShape) -> Any:
    """Return the kernel that fills the bits of rows, as `forest_random.bits_of_row` does; it looks, too.

    A warp loads the keys of 32 rows together, value by value of a row, and then each lane mixes those of one.
    """
    zero, key_type = minus_zero_key(shape), types.uint32 if shape.key_bits == 32 else types.uint64
    load_chunk, place_group = chunk_loader(shape), group_placer(WARP)

    @cuda.jit
    def fill_bits(values, n_rows, n_features, rules, bits, status):
        chunk = cuda.shared.array(CHUNK_SIZE, key_type)
        lane, _, mask, group, n_groups = place_group()
        start = np.uint64((cuda.threadIdx.x // WARP) * WARP * CHUNK_WIDTH)
        seen = np.uint32(FINITE)
        first_row = np.uint32(group * WARP)
        while first_row < n_rows:
            mixed = np.uint64(0)
            for first in range(0, n_features, WARP):
                feature = min(first + lane, n_features - 1)  # some are loaded twice, which does no harm
                seen |= load_chunk(
                    values, n_rows, n_features, rules, chunk, start + np.uint64(lane), first_row, feature
                )
                cuda.syncwarp(mask)
                own = start + np.uint64(lane) * U_WIDTH
                for k in range(min(WARP, n_features - first)):
                    mixed = mix_key(mixed, np.uint64(chunk[own + np.uint64(k)]), zero)
                cuda.syncwarp(mask)
            row = np.uint32(first_row + np.uint32(lane))
            if row < n_rows:
                bits[row] = np.int64(mixed)
            first_row = np.uint32(first_row + np.uint32(n_groups * WARP))
        if seen:
            cuda.atomic.or_(status, 0, seen)

    return fill_bits


@cache
def ranks_kernel(shape: KernelShape) -> Any:
    """Return the kernel that fills the ranks of rows; it looks, too. Keys have 32 bits.

    A rank is how many of the keys that a feature is compared with lie below its own. ``table`` has a line for
    each feature: the place before these keys, which rise, in ``cuts``; the first width of a search among
    them, a power of two or 0; and how many columns of ranks it has, each for `CUTS_A_COLUMN` of them, see
    `foregone._kernels.row_ranks`. Column c of row r is in the byte c % 4 of ``ranks[c // 4 * n_rows + r]``.
    """
    load_chunk, place_group = chunk_loader(shape), group_placer(WARP)

    @cuda.jit
    def fill_ranks(values, n_rows, n_features, rules, status, cuts, table, ranks):
        chunk = cuda.shared.array(CHUNK_SIZE, types.uint32)
        lane, _, mask, group, n_groups = place_group()
        start = np.uint64((cuda.threadIdx.x // WARP) * WARP * CHUNK_WIDTH)
        seen = np.uint32(FINITE)
        first_row = np.uint32(group * WARP)
        while first_row < n_rows:
            row = min(np.uint32(first_row + np.uint32(lane)), np.uint32(n_rows - S1))
            four, shift, place = S0, S0, np.uint64(row)
            for first in range(0, n_features, WARP):
                feature = min(first + lane, n_features - 1)  # some are loaded twice, which does no harm
                seen |= load_chunk(
                    values, n_rows, n_features, rules, chunk, start + np.uint64(lane), first_row, feature
                )
                cuda.syncwarp(mask)
                own = start + np.uint64(lane) * U_WIDTH
                for k in range(min(WARP, n_features - first)):
                    key = chunk[own + np.uint64(k)]
                    below, width = np.uint32(0), np.uint32(table[first + k, WIDTH])
                    before = np.uint32(table[first + k, BEFORE])
                    while width != S0:
                        if key > cuts[np.uint32(before + below + width)]:
                            below = np.uint32(below + width)
                        width = np.uint32(width >> S1)
                    n_columns = np.uint32(table[first + k, COLUMNS])
                    while n_columns != S0:
                        four = np.uint32(four | np.uint32(min(below, S_CUTS) << shift))
                        below = np.uint32(below - min(below, S_CUTS))
                        shift, n_columns = np.uint32(shift + S8), np.uint32(n_columns - S1)
                        if shift == S32:
                            ranks[place] = four
                            four, shift, place = S0, S0, place + np.uint64(n_rows)
                cuda.syncwarp(mask)
            if shift != S0:
                ranks[place] = four
            first_row = np.uint32(first_row + np.uint32(n_groups * WARP))
        if seen:
            cuda.atomic.or_(status, 0, seen)

    return fill_ranks
