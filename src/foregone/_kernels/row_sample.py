"""Rows that are audited: a share of them, chosen by their values, so that every machine chooses the same.

A row's hash is multilinear, ``sum of multiplier[feature] * bits of the value`` modulo 2**64, mixed at the
end. Values are rounded to float32, -0.0 is 0.0, and every NaN is the same: an array of float32 and one of
float64 that hold the same numbers are sampled alike. The products do not wait for each other: a value takes
about a third of a nanosecond.
"""

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_random import mix, random_bits

NAN_BITS = np.uint32(0x7FC00000)


@compiled
def fill_multipliers(seed, multipliers):
    """Fill one odd multiplier for each feature; the last place is left for the largest hash to be chosen."""
    for feature in range(len(multipliers) - 1):
        multipliers[feature] = random_bits(seed, feature, 0) | np.uint64(1)


@inner
def _is_chosen(rows, row, multipliers):
    total = np.uint64(0)
    for feature in range(np.uint64(len(multipliers) - 1)):
        value = np.float32(rows[row, feature])
        bits = np.float32(value + np.float32(0.0)).view(np.uint32) if value == value else NAN_BITS
        total += multipliers[feature] * np.uint64(bits)
    return mix(total) <= multipliers[-1]


@compiled
def list_chosen(rows, multipliers, chosen):
    """Write the numbers of the rows that are chosen to ``chosen``; return how many there are."""
    n_chosen = 0
    for row in range(len(rows)):
        chosen[n_chosen] = row
        n_chosen += np.int64(_is_chosen(rows, np.uint64(row), multipliers))
    return n_chosen


@compiled
def count_stops(asked, answers, counts):
    """Add one to ``counts[answer, asked]`` for each row; return False if one lies outside of the table."""
    n_classes, n_asked = counts.shape
    for row in range(len(asked)):
        answer = np.int64(answers[row])
        if not (0 <= answer < n_classes and 0 <= asked[row] < n_asked):
            return False
        counts[answer, asked[row]] += 1
    return True
