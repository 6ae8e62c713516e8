"""Random numbers that are a function of (seed, row, counter), independent of all other draws.

Three rounds of the finaliser of SplitMix64 (Steele, Lea and Flood 2014). ``row`` is a 64-bit hash of the
row's values: the same row gets the same random numbers in any batch and at any position. Counters are even
for the decision to stop after ``asked`` votes (``2 * asked``) and odd for the order of the trees: above 0 to
draw it, -1 to deal a row one of several.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
SHIFT_11, SHIFT_32 = np.uint64(11), np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
MINUS_ZERO_32 = np.uint64((1 << 31) - 1)  # the key of -0.0; that of +0.0 is the next one
MINUS_ZERO_64 = np.uint64((1 << 63) - 1)
ONE = np.uint64(1)
ORDER_OF_ALL = -1  # the "row" whose order is the one that all rows share
ATTEMPTS = 512  # counters set aside for each place of an order


@inner
def mix(z):
    """Return 64 bits mixed thoroughly."""
    z = (z ^ (z >> SHIFT_30)) * MIX_1
    z = (z ^ (z >> SHIFT_27)) * MIX_2
    return z ^ (z >> SHIFT_31)


def minus_zero(keys):
    """Return the key of -0.0 among such keys."""
    compiled_only()


@overload(minus_zero)
def _minus_zero(keys):
    if keys.dtype == types.uint32:
        return lambda keys: MINUS_ZERO_32
    return lambda keys: MINUS_ZERO_64


@inner
def mix_key(mixed, key, zero):
    """Return the bits of a row with one more key; ``zero`` is the key of -0.0, which stands for +0.0."""
    mixed = (mixed ^ (key + np.uint64(key == zero))) * MIX_1
    return mixed ^ (mixed >> SHIFT_31)


@inner
def bits_of_row(keys, shift, base, n_features):
    """Return 64 bits that stand for the values of the row whose keys begin at ``base``.

    Of paired keys the first of each pair is read: the bits do not depend on what else is in the block.
    """
    mixed = np.uint64(0)
    for feature in range(n_features):
        key = np.uint64(keys[base + (np.uint64(2 * feature) >> shift)])
        mixed = mix_key(mixed, key, minus_zero(keys))
    return np.int64(mixed)


@inner
def random_bits(seed, row, counter):
    """Return 64 random bits."""
    mixed = mix(np.uint64(seed) + GOLDEN)
    mixed = mix(mixed + (np.uint64(row) + ONE) * GOLDEN)
    return mix(mixed + (np.uint64(counter) + ONE) * GOLDEN)


@compiled
def stop_draw(seed, row, asked):
    """Return an integer below 2**53, to be compared with ``probability * 2**53``."""
    return np.int64(random_bits(seed, row, 2 * asked) >> SHIFT_11)


@inner
def swap_in(order, place, seed, row):
    """Draw ``order[place]`` uniformly from ``order[place:]`` by a swap (one step of Fisher and Yates).

    The product of 32 random bits and the number of choices is cut where it would favour some (Lemire 2019).
    """
    choices = np.uint64(len(order) - place)
    counter = 2 * ATTEMPTS * place + 1
    while True:
        product = (random_bits(seed, row, counter) >> SHIFT_32) * choices
        # Values below 2**32 % choices would come up once too often.
        if product & LOW_32 >= (LOW_32 + ONE) % choices:
            break
        counter += 2
    other = place + np.int64(product >> SHIFT_32)
    drawn = order[other]
    order[other] = order[place]
    order[place] = drawn


@compiled
def fill_order(order, seed, row):
    """Fill ``order`` with a random permutation of 0, 1, ..."""
    for place in range(len(order)):
        order[place] = place
    for place in range(len(order) - 1):
        swap_in(order, place, seed, row)
