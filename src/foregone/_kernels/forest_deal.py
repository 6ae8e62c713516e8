"""Dealing rows over several orders of the trees: which one a row gets is a function of (seed, row).

``ends`` says where the rows of each order end in a list of a block's rows by order; those of the next begin
there.
"""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.forest_random import SHIFT_32, bits_of_row, random_bits

DEAL = -1  # the counter


@compiled
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


@compiled
def deal_rows(seed, keys, stride, shift, n_features, n_rows, n_orders, rows):
    """Return the rows of a block by order, and ``ends``; ``rows`` is scratch.

    One order alone gets all of them, and no list.
    """
    ends = np.zeros(n_orders, np.int64)
    if n_orders == 1:
        ends[0] = n_rows
        return np.empty(0, np.int64), ends
    by_order = np.empty(n_rows, np.int64)
    for k in range(n_rows):
        order = dealt_order(seed, bits_of_row(keys, shift, np.uint64(k) * stride, n_features), n_orders)
        rows[k] = order
        ends[order] += 1
    start = 0
    for order in range(n_orders):
        start, ends[order] = start + ends[order], start
    for k in range(n_rows):
        place = ends[rows[k]]
        by_order[place] = k
        ends[rows[k]] = place + 1
    return by_order, ends


@compiled
def list_rows(order, by_order, ends, rows):
    """Write the rows of an order to the front of ``rows``; return how many there are."""
    if len(ends) == 1:
        for k in range(ends[0]):
            rows[k] = k
        return ends[0]
    start = ends[order - 1] if order > 0 else 0
    for k in range(start, ends[order]):
        rows[k - start] = by_order[k]
    return ends[order] - start
