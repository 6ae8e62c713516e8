"""Checking the children of nodes that came out of a file of somebody else's."""

from __future__ import annotations

import numpy as np

from foregone.checks import IntArray

__all__ = ["check_links"]


def check_links(left: IntArray, right: IntArray) -> None:
    """Raise ValueError unless nodes form a tree with its root at 0: leaves have -1 on both sides.

    Examples
    --------
    >>> check_links(np.array([1, -1, -1]), np.array([2, -1, -1]))
    >>> check_links(np.array([1, 0, -1]), np.array([2, 2, -1]))
    Traceback (most recent call last):
    ValueError: the nodes do not form a tree
    """
    is_split = left >= 0
    children = np.sort(np.concatenate([left[is_split], right[is_split]]))
    # Every node but the root is the child of one other. Then what cannot be reached from the root goes round
    # in circles, which no walk from the root enters.
    if (
        len(left) < 1
        or not np.array_equal(children, np.arange(1, len(left)))
        or (left[~is_split] != -1).any()
    ):
        raise ValueError("the nodes do not form a tree")
    if ((right >= 0) != is_split).any():
        raise ValueError("the nodes do not form a tree")
