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

from foregone._kernels.compiled import compiled, compiled_only

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

SIGN_32, MAGNITUDE_32 = np.uint32(1 << 31), np.uint32((1 << 31) - 1)
SIGN_64, MAGNITUDE_64 = np.uint64(1 << 63), np.uint64((1 << 63) - 1)
INFINITE_32, INFINITE_64 = 0x7F800000, np.uint64(0x7FF << 52)  # those of NaN are greater


def rounded(value, keys):
    """Return a value as a float64, rounded first where ``keys`` are made for float32."""
    compiled_only()


@overload(rounded)
def _rounded(value, keys):
    if keys.dtype == types.uint32:
        return lambda value, keys: np.float64(np.float32(value))
    return lambda value, keys: np.float64(value)


def bits_of(value, keys):
    """Return the bits of a value as the float that ``keys`` are made for, as an unsigned integer."""
    compiled_only()


@overload(bits_of)
def _bits_of(value, keys):
    if keys.dtype == types.uint32:
        return lambda value, keys: np.float32(value).view(np.uint32)
    return lambda value, keys: np.float64(value).view(np.uint64)


def key_of(bits):
    """Return the integer that compares with others as the floats do."""
    compiled_only()


@overload(key_of)
def _key_of(bits):
    if bits == types.uint32:
        return lambda bits: np.uint32(~bits) if bits >= SIGN_32 else np.uint32(bits | SIGN_32)
    return lambda bits: ~bits if bits >= SIGN_64 else bits | SIGN_64


def magnitude_of(bits):
    """Return the bits without the sign."""
    compiled_only()


@overload(magnitude_of)
def _magnitude_of(bits):
    if bits == types.uint32:
        return lambda bits: np.uint32(bits & MAGNITUDE_32)
    return lambda bits: bits & MAGNITUDE_64


def what_is(magnitude):
    """Return FINITE, MISSING or TOO_LARGE for the bits of a float without the sign."""
    compiled_only()


@overload(what_is)
def _what_is(magnitude):
    infinite = INFINITE_32 if magnitude == types.uint32 else INFINITE_64

    def status(magnitude):
        if magnitude < infinite:
            return FINITE
        return TOO_LARGE if magnitude == infinite else MISSING

    return status


@compiled(nogil=True)
def fill_keys(values, keys):
    """Fill one key a value; return MISSING if any is NaN, else TOO_LARGE if any is infinite, else FINITE."""
    worst = magnitude_of(bits_of(0.0, keys))
    for k in range(len(values)):
        bits = bits_of(values[k], keys)
        worst = max(worst, magnitude_of(bits))
        keys[k] = key_of(bits)
    return what_is(worst)


@compiled(nogil=True)
def fill_paired_keys(values, keys):
    """Fill two keys a value, any of which may be NaN; return the bits of all that is among them."""
    status = FINITE
    for k in range(len(values)):
        bits = bits_of(values[k], keys)
        found = what_is(magnitude_of(bits))
        status |= found
        if found == MISSING:
            keys[2 * k] = NAN_RIGHT
            keys[2 * k + 1] = NAN_LEFT
        else:
            keys[2 * k] = keys[2 * k + 1] = key_of(bits)
    return status


@compiled
def is_in_set(categories, start, number):
    """Whether a category is in the set that begins at ``start`` with its length in words."""
    word = number >> U5
    if word >= np.uint64(categories[start]):
        return False
    bits = np.uint64(categories[start + np.uint64(1) + word])
    return (bits >> (number & U31)) & np.uint64(1) != np.uint64(0)


@compiled
def category_of(value):
    """Return the number of a category, its value cut to a whole number, or NO_CATEGORY."""
    return np.uint64(np.int64(value)) if -1.0 < value < MOST_CATEGORIES else NO_CATEGORY


@compiled(nogil=True)
def fill_ruled_keys(values, keys, rules):
    """Fill two keys a value for columns that have rules; return the bits of all that is among the values."""
    status = FINITE
    n_features = len(rules)
    for first in range(0, len(values), n_features):
        for feature in range(n_features):
            value = rounded(values[first + feature], keys)
            status |= what_is(magnitude_of(bits_of(value, keys)))
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
                keys[k] = keys[k + 1] = key_of(bits_of(value, keys))
    return status


@compiled(nogil=True)
def load_keys(values, keys, takes, rules):
    """Fill the keys of rows, one after another, and return the ``shift`` that goes with them, or REFUSED.

    ``keys`` has room for two keys a value; ``takes`` are the bits of what may be among the values;
    ``rules`` is empty if no column has any.
    """
    if len(rules):
        return REFUSED if fill_ruled_keys(values, keys, rules) & ~takes else 0
    status = fill_keys(values, keys)
    if status & ~takes:
        return REFUSED
    if status & MISSING:
        return REFUSED if fill_paired_keys(values, keys) & ~takes else 0
    return 1
