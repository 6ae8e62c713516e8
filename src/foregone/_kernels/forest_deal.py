"""Dealing rows over several orders of the trees: which one a row gets is a function of (seed, row)."""

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_random import SHIFT_32, bits_of_row, random_bits

DEAL = np.int64(-1)  # the counter


@inner
def dealt_order(seed, row, n_orders):
    """Return the number of the order that a row is dealt."""
    return np.int64(((random_bits(seed, row, DEAL) >> SHIFT_32) * np.uint64(n_orders)) >> SHIFT_32)


@compiled
def fill_dealt(seed, bits, n_orders, dealt):
    """Fill ``dealt[k]`` with the number of the order that the row with ``bits[k]`` is dealt."""
    for k in range(len(bits)):
        dealt[k] = dealt_order(seed, bits[k], n_orders)


@compiled
def fill_bits(keys, stride, shift, n_features, bits):
    """Fill ``bits[k]`` with the 64 bits that stand for the values of row k."""
    stride, shift = np.uint64(stride), np.uint64(shift)
    for k in range(len(bits)):
        bits[k] = bits_of_row(keys, shift, np.uint64(k) * stride, n_features)
