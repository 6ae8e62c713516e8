"""Rows of hypergeometric and binomial probabilities, for an increasing number of draws.

They are sums of products of non-negative numbers, so there is no cancellation and no overflow. Probabilities
below 1e-300 may be zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foregone.checks import FloatArray

__all__ = ["coin_tails", "marked_drawn"]


def marked_drawn(population: int, marked: int) -> Iterator[FloatArray]:
    """Yield, for 0 to ``population`` draws without replacement, the distribution of the marked ones drawn.

    Entry j of the row for i draws is the probability that exactly j of them are marked.
    """
    row = np.ones(1)
    yield row
    for drawn in range(population):
        held = np.arange(drawn + 1)
        left = population - drawn
        longer = np.zeros(drawn + 2)
        marked_left = np.maximum(marked - held, 0)  # impossible counts have probability zero
        longer[:-1] = row * np.maximum(left - marked_left, 0) / left
        longer[1:] += row * marked_left / left
        row = longer
        yield row


def coin_tails() -> Iterator[FloatArray]:
    """Yield, for 1, 2, ... tosses of a fair coin, the probabilities of at most 0, 1, ... heads."""
    row = np.array([0.5, 1.0])
    while True:
        yield row
        row = np.append(row, 1.0)
        row[1:-1] = (row[1:-1] + row[:-2]) / 2
        row[0] /= 2
