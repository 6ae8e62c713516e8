"""Sums of many classes: who leads, and by how much.

The sums of a row are ``n_classes`` numbers of ``sums``, from ``at`` on. Of several that lead, the first one
does.
"""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.forest_nodes import U0, U1


@compiled
def leader_of(sums, at, n_classes):
    """Return the number of the class with the largest sum, and its lead over the second largest."""
    leader, first, second = U0, sums[at], -np.inf
    for number in range(U1, n_classes):
        value = sums[at + number]
        if value > first:
            leader, first, second = number, value, first
        elif value > second:
            second = value
    return leader, first - second


@compiled
def fill_leads(sums, leads, leaders):
    """Fill what `leader_of` returns for each row of a matrix with one column a class."""
    n_rows, n_classes = sums.shape
    flat = sums.reshape(-1)
    for row in range(n_rows):
        leaders[row], leads[row] = leader_of(flat, np.uint64(row * n_classes), np.uint64(n_classes))
