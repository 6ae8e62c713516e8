"""From values to keys: order-preserving integers that nodes compare.

Keys of 32 bits are of values rounded to float32, keys of 64 bits of values as float64; the type of the array
to be filled decides. Without missing values a row has one key a feature and ``shift`` is 1: a node's column,
shifted, is the feature. With missing values it has two (``shift`` 0): they differ only for NaN, which is
above every threshold in the first and below every one in the second, for the nodes that send it left.
The key of a category is its number.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner

FINITE, MISSING, TOO_LARGE = 0, 1, 2  # bits: what is among the values
REFUSED = -1  # instead of a shift

# What a column's values mean, bit by bit.
ZERO_IS_MISSING, CATEGORY = 1, 2
ALMOST_ZERO = np.float64(np.float32(1e-35))  # values up to this size count as zero
MOST_CATEGORIES = 2.0**31

NAN_RIGHT, NAN_LEFT = np.uint64(2**64 - 1), np.uint64(0)  # as many of their bits as a key has
NO_CATEGORY, ANY_CATEGORY = np.uint64(2**32 - 1), np.uint64(2**32 - 2)  # in no set, and in every one
NO_RULES = np.empty(0, np.int64)
U5, U31 = np.uint64(5), np.uint64(31)

SIGN_32, SIGN_64 = np.uint32(1 << 31), np.uint64(1 << 63)
# The keys of minus infinity and of infinity: those of NaN lie outside, those of all other values between.
BELOW_32, ABOVE_32 = np.uint32(0x007FFFFF), np.uint32(0xFF800000)
BELOW_64, ABOVE_64 = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0xFFF0000000000000)


def rounded(value, keys):
    """Return a value as a float64, rounded first where ``keys`` are made for float32."""
    compiled_only()


@overload(rounded)
def _rounded(value, keys):
    if keys.dtype == types.uint32:
        return lambda value, keys: np.float64(np.float32(value))
    return lambda value, keys: np.float64(value)


@inner
def key_32(value):
    """Return the integer that compares with others as the values do, rounded to float32."""
    bits = np.float32(value).view(np.uint32)
    return np.uint32(~bits) if bits >= SIGN_32 else np.uint32(bits | SIGN_32)


@inner
def key_64(value):
    """Return the integer that compares with others as the values do, as float64."""
    bits = np.float64(value).view(np.uint64)
    return ~bits if bits >= SIGN_64 else bits | SIGN_64


def key_of(value, keys):
    """Return the integer that compares with others as the floats do that ``keys`` are made for."""
    compiled_only()


@overload(key_of)
def _key_of(value, keys):
    if keys.dtype == types.uint32:
        return lambda value, keys: key_32(value)
    return lambda value, keys: key_64(value)


@inner
def status_32(key):
    """Return FINITE, MISSING or TOO_LARGE for a key of 32 bits."""
    if key > BELOW_32 and key < ABOVE_32:
        return FINITE
    return TOO_LARGE if key in (BELOW_32, ABOVE_32) else MISSING


@inner
def status_64(key):
    """Return FINITE, MISSING or TOO_LARGE for a key of 64 bits."""
    if key > BELOW_64 and key < ABOVE_64:
        return FINITE
    return TOO_LARGE if key in (BELOW_64, ABOVE_64) else MISSING


def what_is(key):
    """Return FINITE, MISSING or TOO_LARGE for the key of a value."""
    compiled_only()


@overload(what_is)
def _what_is(key):
    return (lambda key: status_32(key)) if key == types.uint32 else (lambda key: status_64(key))


@inner
def fill_keys(values, keys):
    """Fill one key a value; return whether all values are finite."""
    strange = 0
    for k in range(len(values)):
        key = key_of(values[k], keys)
        strange |= what_is(key)
        keys[k] = key
    return strange == FINITE


@inner
def fill_paired_keys(values, keys):
    """Fill two keys a value, any of which may be NaN; return the bits of all that is among them."""
    status = FINITE
    for k in range(len(values)):
        key = key_of(values[k], keys)
        found = what_is(key)
        status |= found
        if found == MISSING:
            keys[2 * k] = NAN_RIGHT
            keys[2 * k + 1] = NAN_LEFT
        else:
            keys[2 * k] = keys[2 * k + 1] = key
    return status


@inner
def is_in_set(categories, start, number):
    """Whether a category is in the set that begins at ``start`` with its length in words."""
    word = number >> U5
    if word >= np.uint64(categories[start]):
        return False
    bits = np.uint64(categories[start + np.uint64(1) + word])
    return (bits >> (number & U31)) & np.uint64(1) != np.uint64(0)


@inner
def category_of(value):
    """Return the number of a category, its value cut to an integer, or NO_CATEGORY."""
    return np.uint64(np.int64(value)) if -1.0 < value < MOST_CATEGORIES else NO_CATEGORY


@inner
def fill_ruled_keys(values, keys, rules):
    """Fill two keys a value for columns that have rules; return the bits of all that is among the values."""
    status = FINITE
    n_features = len(rules)
    for first in range(0, len(values), n_features):
        for feature in range(n_features):
            value = rounded(values[first + feature], keys)
            status |= what_is(key_of(value, keys))
            if rules[feature] & ZERO_IS_MISSING and abs(value) <= ALMOST_ZERO:
                value = np.nan
            k = 2 * (first + feature)
            if rules[feature] & CATEGORY:
                keys[k] = category_of(value)
                keys[k + 1] = ANY_CATEGORY if np.isnan(value) else category_of(value)
            elif np.isnan(value):
                keys[k] = NAN_RIGHT
                keys[k + 1] = NAN_LEFT
            else:
                keys[k] = keys[k + 1] = key_of(value, keys)
    return status


def load_keys(values, keys, takes, rules):
    """Fill the keys of rows, one after another, and return the ``shift`` that goes with them, or REFUSED.

    ``keys`` has room for two keys a value; ``takes`` are the bits of what may be among the values;
    ``rules`` is None if no column has any.
    """
    compiled_only()


@overload(load_keys)
def _load_keys(values, keys, takes, rules):
    if not isinstance(rules, types.NoneType):
        return lambda values, keys, takes, rules: (
            REFUSED if fill_ruled_keys(values, keys, rules) & ~takes else 0
        )

    def load(values, keys, takes, rules):
        if fill_keys(values, keys):
            return 1
        status = fill_paired_keys(values, keys)
        if status & ~takes:
            return REFUSED
        if status & MISSING:
            return 0
        fill_keys(values, keys)
        return 1

    return load


@compiled
def fill_block_keys(values, keys, takes, rules):
    """Do what `load_keys` does, for a block of rows."""
    return load_keys(values, keys, takes, rules)


def numbers_of(packed):
    """Return the array of a schedule that is one array, or a pair of it and the columns' rules."""
    compiled_only()


@overload(numbers_of)
def _numbers_of(packed):
    return (lambda packed: packed) if isinstance(packed, types.Array) else (lambda packed: packed[0])


def rules_of(packed):
    """Return the columns' rules of such a schedule, or None."""
    compiled_only()


@overload(rules_of)
def _rules_of(packed):
    return (lambda packed: None) if isinstance(packed, types.Array) else (lambda packed: packed[1])
