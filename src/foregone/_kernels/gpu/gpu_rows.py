"""Rows on a GPU: the keys of their values, what is among these, and the bits that stand for a row.

On the CPU a row with missing values has two keys a value. Here a value has one, and the walk looks at the
node's column to know where a missing one goes.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types

from foregone._kernels.forest_keys import (
    ALMOST_ZERO,
    CATEGORY,
    FINITE,
    NAN_RIGHT,
    NO_CATEGORY,
    ZERO_IS_MISSING,
    category_of,
    key_32,
    key_64,
    status_32,
    status_64,
)
from foregone._kernels.forest_random import MINUS_ZERO_32, MINUS_ZERO_64, mix_key

WARP = 32  # lanes
WARPS = 4  # of a block, at most


class KernelShape(NamedTuple):
    """What trees and rows a kernel is made for.

    Attributes
    ----------
    is_compact : bool
        Whether a node is one word, see `foregone._kernels.forest_nodes`.
    key_bits : {32, 64}
        Size of rows' keys.
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
def status_reader(shape: KernelShape) -> Any:
    """Return the device function that says what a value is: FINITE, MISSING or TOO_LARGE."""
    key_of, status_of = (key_32, status_32) if shape.key_bits == 32 else (key_64, status_64)

    @cuda.jit(device=True)
    def status_of_value(value):
        return status_of(key_of(value))

    return status_of_value


@cache
def looking_kernel(key_bits: int) -> Any:
    """Return the kernel that says by ``status`` what is among values, which lie in a line."""
    key_of, status_of = (key_32, status_32) if key_bits == 32 else (key_64, status_64)

    @cuda.jit
    def look_at(values, status):
        seen = FINITE
        stride, place = cuda.gridsize(1), cuda.grid(1)
        while place + 3 * stride < len(values):  # four loads at a time
            first, second = values[place], values[place + stride]
            third, fourth = values[place + 2 * stride], values[place + 3 * stride]
            seen |= status_of(key_of(first)) | status_of(key_of(second))
            seen |= status_of(key_of(third)) | status_of(key_of(fourth))
            place += 4 * stride
        while place < len(values):
            seen |= status_of(key_of(values[place]))
            place += stride
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return look_at


@cache
def bits_kernel(shape: KernelShape) -> Any:
    """Return the kernel that fills the bits of rows, as `forest_random.bits_of_row` does; it looks, too.

    A warp loads the keys of 32 rows together, value by value of a row, and then each lane mixes those of one.
    """
    has_rules, is_short, read_key = shape.has_rules, shape.key_bits == 32, key_reader(shape)
    key_of, status_of = (key_32, status_32) if is_short else (key_64, status_64)
    zero, key_type = (MINUS_ZERO_32, types.uint32) if is_short else (MINUS_ZERO_64, types.uint64)
    no_value, place_group = NAN_RIGHT >> np.uint64(64 - shape.key_bits), group_placer(WARP)
    width, size = WARP + 1, WARPS * WARP * (WARP + 1)  # one more, so that columns are in different banks

    @cuda.jit
    def fill_bits(values, rules, bits, status):
        tile = cuda.shared.array(size, key_type)
        n_rows, n_features = values.shape
        lane, _, mask, group, n_groups = place_group()
        start = (cuda.threadIdx.x // WARP) * WARP * width
        seen = FINITE
        for first_row in range(group * WARP, n_rows, n_groups * WARP):
            mixed = np.uint64(0)
            for first in range(0, n_features, WARP):
                feature = min(first + lane, n_features - 1)  # some are loaded twice, which does no harm
                for k in range(0, WARP, 4):
                    row = first_row + k
                    loaded = (
                        values[min(row, n_rows - 1), feature],
                        values[min(row + 1, n_rows - 1), feature],
                        values[min(row + 2, n_rows - 1), feature],
                        values[min(row + 3, n_rows - 1), feature],
                    )  # four loads at a time
                    for number in range(4):
                        value = loaded[number]
                        seen |= status_of(key_of(value))
                        key, is_missing = read_key(value, rules, feature)
                        if is_missing:
                            key = no_value
                            if has_rules and rules[feature] & CATEGORY:
                                key = NO_CATEGORY
                        tile[start + (k + number) * width + lane] = key
                cuda.syncwarp(mask)
                for k in range(min(WARP, n_features - first)):
                    mixed = mix_key(mixed, np.uint64(tile[start + lane * width + k]), zero)
                cuda.syncwarp(mask)
            if first_row + lane < n_rows:
                bits[first_row + lane] = np.int64(mixed)
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return fill_bits
