"""Packing trees given as arrays. The node format itself is in ``_kernels/forest_nodes.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels import forest_nodes
from foregone._kernels.forest_nodes import U4, U9, U13, U32, U36, U63
from foregone.errors import InvalidInputError
from foregone.forest.importers.found import LeafKind, Tree

__all__ = ["NodeArray", "find_payloads", "is_sound", "pack", "threshold_keys"]

NodeArray = npt.NDArray[np.uint64]

COMPACT_OFFSET_LIMIT = int(forest_nodes.OFFSET_MASK)
COMPACT_COLUMN_LIMIT = int(forest_nodes.COLUMN_MASK)
OFFSET_LIMITS = {32: int(forest_nodes.OFFSET_59), 64: int(forest_nodes.OFFSET_27)}  # of wide nodes


def threshold_keys(threshold: npt.NDArray[np.float64], key_bits: int = 32) -> npt.NDArray[Any]:
    """Return integers that compare with the keys of values as the thresholds compare with the values.

    ``x <= t`` for a float32 x is ``x <= f`` for the largest float32 f not above t, and floats of one
    sign are ordered as their bits are.

    Examples
    --------
    >>> [hex(key) for key in threshold_keys(np.array([0.0, -0.0, 1.0, -1.0]))]
    ['0x80000000', '0x80000000', '0xbf800000', '0x407fffff']
    """
    if key_bits == 64:
        bits = (threshold + 0.0).view(np.uint64)  # -0.0 as a threshold must let +0.0 go left
        return np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
        floor = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    short = (floor + np.float32(0)).view(np.uint32)
    return np.where(short >> 31, ~short, short | np.uint32(1 << 31)).astype(np.uint32)


def pack(
    trees: Callable[[], Iterator[Tree]], n_features: int, key_bits: int, leaf: LeafKind
) -> tuple[NodeArray, npt.NDArray[np.int64]]:
    """Pack trees one after another, with leaves of this kind.

    Returns
    -------
    nodes : ndarray of uint64
        Compact, shape (n_nodes,), when keys have 32 bits, nothing is split by categories, and every feature
        number and offset fits; else wide, (n_nodes, 2).
    tree_start : ndarray of int, shape (n_trees + 1,)
        Where each tree's root is; strictly ascending from 0 to n_nodes.
    """
    packed = None
    if key_bits == 32 and 2 * n_features - 1 <= COMPACT_COLUMN_LIMIT:
        packed = _pack(trees(), 32, leaf, compact=True)
    if packed is None:
        packed = _pack(trees(), key_bits, leaf, compact=False)
    if packed is None:
        raise InvalidInputError(
            f"a tree is too large: at most {OFFSET_LIMITS[64]:,} nodes may lie between a node and its "
            "children. Train with a smaller max_depth or a larger min_samples_leaf"
        )
    tree_start = np.concatenate([[0], np.cumsum([len(nodes) for nodes in packed])]).astype(np.int64)
    return np.concatenate(packed), tree_start


def _pack(trees: Iterator[Tree], key_bits: int, leaf: LeafKind, *, compact: bool) -> list[NodeArray] | None:
    """Pack each tree; None if one does not fit the node format."""
    packed = []
    for given in trees:
        tree = given.with_a_split()
        place, base = np.full((2, len(tree.left)), -1, np.int64)
        size, largest = forest_nodes.place_nodes(
            tree.left, tree.right, tree.weight, place, base, leaf.is_payload
        )
        keys = threshold_keys(tree.threshold, key_bits)
        by_category = tree.category_start >= 0
        has_categories = bool(by_category.any())
        if has_categories:
            keys[by_category] = tree.category_start[by_category]
        if largest > (COMPACT_OFFSET_LIMIT if compact else OFFSET_LIMITS[key_bits]):
            return None
        if compact and has_categories:
            return None
        nodes: NodeArray = np.zeros((size, 1 if compact else 2), np.uint64)
        said = tree.leaves(leaf)
        is_leaf = tree.left < 0
        sides = np.where(is_leaf, 1 if leaf.is_payload else said.astype(np.int64) + 2, 0)
        own = np.flatnonzero((place >= 0) & ~is_leaf)
        left, right = sides[tree.left[own]], sides[tree.right[own]]
        both_vote = (left & right) >= 2
        column = 2 * tree.feature[own] + tree.missing_left[own]
        offset = np.where(both_vote, 0, base[own] - place[own])
        parts = (keys[own], column, left | right << 2, offset, by_category[own])
        nodes[place[own]] = _words((compact, key_bits), [np.asarray(part, np.uint64) for part in parts])
        if leaf.is_payload:
            reached = np.flatnonzero(is_leaf & (place >= 0))
            nodes[place[reached], 0] = leaf.to_words(said[reached])
        packed.append(nodes.ravel() if compact else nodes)
    return packed


def _words(layout: tuple[bool, int], parts: list[NodeArray]) -> NodeArray:
    """Return nodes in one of the formats of `foregone._kernels.forest_nodes`, one per line."""
    is_compact, key_bits = layout
    key, column, sides, offset, category = parts
    if is_compact:
        words = [key << U32 | offset << U13 | sides << U9 | column]
    elif key_bits == 32:
        words = [key << U32 | column, category << U63 | offset << U4 | sides]
    else:
        words = [key, category << U63 | offset << U36 | sides << U32 | column]
    return np.stack(words, axis=1)


def _no_keys(key_bits: int) -> npt.NDArray[Any]:
    return np.empty(0, np.uint32 if key_bits == 32 else np.uint64)


def _are_starts(tree_start: npt.NDArray[np.int64], n_places: int) -> bool:
    if len(tree_start) < 2 or tree_start[0] != 0 or tree_start[-1] != n_places:
        return False
    return bool((np.diff(tree_start) > 0).all())


def is_sound(
    nodes: NodeArray,
    tree_start: npt.NDArray[np.int64],
    n_features: int,
    key_bits: int,
    categories: npt.NDArray[np.uint32],
) -> bool:
    """Whether every walk stays in its tree, ends, and uses valid sets of categories only.

    For trees whose leaves are votes.
    """
    return _are_starts(tree_start, len(nodes)) and bool(
        forest_nodes.first_unsound_node(nodes, _no_keys(key_bits), categories, tree_start, n_features) < 0
    )


def find_payloads(
    nodes: NodeArray,
    tree_start: npt.NDArray[np.int64],
    n_features: int,
    key_bits: int,
    categories: npt.NDArray[np.uint32],
) -> tuple[NodeArray, npt.NDArray[np.int64]] | None:
    """Return the payloads of all leaves and where those of each tree begin among them; None if unsound.

    In sound trees every walk stays in its tree, ends, and uses valid sets of categories only, whatever the
    values of the row.
    """
    if not _are_starts(tree_start, len(nodes)):
        return None
    keys, kinds = _no_keys(key_bits), np.zeros(len(nodes), np.uint8)
    if forest_nodes.first_unsound_place(nodes, keys, categories, tree_start, n_features, kinds) >= 0:
        return None
    is_leaf = kinds == forest_nodes.LEAF
    first = np.concatenate([[0], np.cumsum(is_leaf)])[tree_start[:-1]]
    return (nodes if nodes.ndim == 1 else nodes[:, 0])[is_leaf], first
