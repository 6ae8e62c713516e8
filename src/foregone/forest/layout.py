"""From trees as arrays to packed nodes. The node format itself is in ``_kernels/forest_nodes.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels import forest_nodes

__all__ = ["NodeArray", "TreeArrays", "is_sound", "pack", "threshold_keys"]

NodeArray = npt.NDArray[np.uint64]

COMPACT_OFFSET_LIMIT = int(forest_nodes.OFFSET_MASK)
COMPACT_COLUMN_LIMIT = int(forest_nodes.COLUMN_MASK)


class TreeArrays(NamedTuple):
    """One tree, an entry for each of its nodes; node 0 is the root. What an importer has to deliver.

    Attributes
    ----------
    left, right : ndarray of int
        Children; negative in a leaf. A row goes left when ``float32(value) <= threshold``.
    feature, threshold : ndarray
        Ignored in leaves. Thresholds are compared as they are, so float64 ones keep all their digits.
    missing_left : ndarray of bool
        Whether a missing value goes left.
    weight : ndarray
        How many rows are expected to pass; only speed depends on it.
    says_yes : ndarray of bool
        The votes of the leaves.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]
    says_yes: npt.NDArray[np.bool_]


def constant_tree(says_yes: bool) -> TreeArrays:
    """Return a tree with one split and the same vote on both sides: a leaf alone has no node to live in."""
    votes = np.array([says_yes] * 3)
    return TreeArrays(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.zeros(3, np.int64),
        threshold=np.zeros(3),
        missing_left=np.zeros(3, np.bool_),
        weight=np.ones(3),
        says_yes=votes,
    )


def threshold_keys(threshold: npt.NDArray[np.float64]) -> npt.NDArray[np.uint32]:
    """Return integers that compare with the keys of float32 values as the thresholds do with the values.

    ``x <= t`` for a float32 x is ``x <= f`` for the largest float32 f not above t, and floats of one
    sign are ordered as their bits are.

    Examples
    --------
    >>> [hex(key) for key in threshold_keys(np.array([0.0, -0.0, 1.0, -1.0]))]
    ['0x80000000', '0x80000000', '0xbf800000', '0x407fffff']
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    floor = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    floor[floor == 0] = 0.0  # -0.0 as a threshold must let +0.0 go left
    bits = floor.view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)


def pack(
    trees: Callable[[], Iterator[TreeArrays]], n_features: int
) -> tuple[NodeArray, npt.NDArray[np.int64]]:
    """Pack trees one after another.

    Returns
    -------
    nodes : ndarray of uint64
        Compact, shape (n_nodes,), when every feature number and offset fits; else wide, (n_nodes, 2).
    tree_start : ndarray of int, shape (n_trees + 1,)
        Where each tree's root is; strictly rising from 0 to n_nodes.
    """
    packed = None
    if 2 * n_features - 1 <= COMPACT_COLUMN_LIMIT:
        packed = _pack(trees(), compact=True)
    if packed is None:
        packed = _pack(trees(), compact=False)
    assert packed is not None  # wide nodes have room for any tree
    tree_start = np.concatenate([[0], np.cumsum([len(nodes) for nodes in packed])]).astype(np.int64)
    return np.concatenate(packed), tree_start


def _pack(trees: Iterator[TreeArrays], compact: bool) -> list[NodeArray] | None:
    """Pack each tree; None when an offset does not fit into a compact node."""
    packed = []
    for tree in trees:
        if tree.left[0] < 0:
            tree = constant_tree(bool(tree.says_yes[0]))
        place, base = np.full((2, len(tree.left)), -1, np.int64)
        size, largest = forest_nodes.place_nodes(tree.left, tree.right, tree.weight, place, base)
        if compact and largest > COMPACT_OFFSET_LIMIT:
            return None
        nodes: NodeArray = np.zeros(size if compact else (size, 2), np.uint64)
        column = 2 * tree.feature + tree.missing_left
        keys = threshold_keys(tree.threshold)
        forest_nodes.pack_tree(tree.left, tree.right, column, keys, tree.says_yes, place, base, nodes)
        packed.append(nodes)
    return packed


def is_sound(nodes: NodeArray, tree_start: npt.NDArray[np.int64], n_features: int) -> bool:
    """Whether no row, whatever its values, can lead a walk out of its tree or round in circles."""
    if len(tree_start) < 2 or tree_start[0] != 0 or tree_start[-1] != len(nodes):
        return False
    if not (np.diff(tree_start) > 0).all():
        return False
    return bool(forest_nodes.first_unsound_node(nodes, tree_start, n_features) < 0)
