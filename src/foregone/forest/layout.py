"""From trees as arrays to packed nodes. The node format itself is in ``_kernels/forest_nodes.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels import forest_nodes
from foregone.errors import InvalidInputError
from foregone.forest.importers.found import ScoredTree

__all__ = [
    "ClassTree",
    "NodeArray",
    "TreeArrays",
    "find_payloads",
    "is_sound",
    "pack",
    "threshold_keys",
]

NodeArray = npt.NDArray[np.uint64]

COMPACT_OFFSET_LIMIT = int(forest_nodes.OFFSET_MASK)
COMPACT_COLUMN_LIMIT = int(forest_nodes.COLUMN_MASK)
OFFSET_LIMITS = {32: int(forest_nodes.OFFSET_59), 64: int(forest_nodes.OFFSET_27)}  # of wide nodes


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


class ClassTree(NamedTuple):
    """One tree that votes for any of several classes.

    Attributes
    ----------
    left, right, feature, threshold, missing_left, weight : ndarray
        As in `TreeArrays`.
    says : ndarray of uint64
        The numbers of the classes that the leaves vote for.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]
    says: NodeArray


AnyTree = TreeArrays | ClassTree | ScoredTree


class _Leaves(NamedTuple):
    """What the nodes of one tree are as leaves: ``sides``, as the node format has it, and payloads if any."""

    sides: npt.NDArray[np.uint64]
    payloads: NodeArray | None

    @classmethod
    def of(cls, tree: AnyTree, as_votes: bool) -> _Leaves:
        if isinstance(tree, TreeArrays):
            return cls(tree.says_yes + np.uint64(2), None)
        if isinstance(tree, ClassTree):
            return cls(np.ones(len(tree.left), np.uint64), tree.says)
        if as_votes:
            return cls((tree.score > 0) + np.uint64(2), None)
        return cls(np.ones(len(tree.left), np.uint64), tree.score.view(np.uint64))


def _grown(tree: AnyTree) -> AnyTree:
    """Return a tree with a split: a lone leaf becomes both sides of one, as it has no node to live in."""
    if tree.left[0] >= 0:
        return tree
    three = type(tree)(*(np.repeat(part[:1], 3) for part in tree))  # type: ignore[arg-type]  # all are arrays
    feature, numeric = np.zeros(3, np.int64), np.full(3, -1)
    split = three._replace(left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), feature=feature)
    return split._replace(category_start=numeric) if isinstance(split, ScoredTree) else split


def threshold_keys(threshold: npt.NDArray[np.float64], key_bits: int = 32) -> npt.NDArray[Any]:
    """Return integers that compare with the keys of values as the thresholds do with the values.

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
    trees: Callable[[], Iterator[AnyTree]],
    n_features: int,
    key_bits: int = 32,
    as_votes: bool = False,
) -> tuple[NodeArray, npt.NDArray[np.int64]]:
    """Pack trees one after another.

    With ``as_votes``, the leaf of a tree with scores is a vote: yes if its score is above 0.

    Returns
    -------
    nodes : ndarray of uint64
        Compact, shape (n_nodes,), when keys have 32 bits, nothing is split by categories, and every feature
        number and offset fits; else wide, (n_nodes, 2).
    tree_start : ndarray of int, shape (n_trees + 1,)
        Where each tree's root is; strictly rising from 0 to n_nodes.
    """
    packed = None
    if key_bits == 32 and 2 * n_features - 1 <= COMPACT_COLUMN_LIMIT:
        packed = _pack(trees(), 32, True, as_votes)
    if packed is None:
        packed = _pack(trees(), key_bits, False, as_votes)
    if packed is None:
        raise InvalidInputError(
            f"a tree is too large to be packed: at most {OFFSET_LIMITS[64]:,} nodes may lie between a node "
            "and its children"
        )
    tree_start = np.concatenate([[0], np.cumsum([len(nodes) for nodes in packed])]).astype(np.int64)
    return np.concatenate(packed), tree_start


def _pack(trees: Iterator[AnyTree], key_bits: int, compact: bool, as_votes: bool) -> list[NodeArray] | None:
    """Pack each tree; None when one does not fit into such nodes."""
    packed = []
    for given in trees:
        tree = _grown(given)
        leaves = _Leaves.of(tree, as_votes)
        place, base = np.full((2, len(tree.left)), -1, np.int64)
        size, largest = forest_nodes.place_nodes(
            tree.left, tree.right, tree.weight, place, base, leaves.payloads is not None
        )
        keys = threshold_keys(tree.threshold, key_bits)
        by_category = np.zeros(len(keys), np.bool_)
        if isinstance(tree, ScoredTree):
            by_category = tree.category_start >= 0
            keys[by_category] = tree.category_start[by_category]
        if largest > (COMPACT_OFFSET_LIMIT if compact else OFFSET_LIMITS[key_bits]):
            return None
        if compact and by_category.any():
            return None
        nodes: NodeArray = np.zeros(size if compact else (size, 2), np.uint64)
        column = 2 * tree.feature + tree.missing_left
        forest_nodes.pack_tree(
            tree.left, tree.right, column, keys, by_category, leaves.sides, place, base, nodes
        )
        if leaves.payloads is not None:
            reached = np.flatnonzero((tree.left < 0) & (place >= 0))
            (nodes if compact else nodes[:, 0])[place[reached]] = leaves.payloads[reached]
        packed.append(nodes)
    return packed


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
    """Whether no row can lead a walk out of its tree, round in circles, or to a set that is none.

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

    Sound trees are such that no row, whatever its values, can lead a walk out of its tree or round in
    circles, nor to a set of categories that is none.
    """
    if not _are_starts(tree_start, len(nodes)):
        return None
    keys, kinds = _no_keys(key_bits), np.zeros(len(nodes), np.uint8)
    if forest_nodes.first_unsound_place(nodes, keys, categories, tree_start, n_features, kinds) >= 0:
        return None
    is_leaf = kinds == forest_nodes.LEAF
    first = np.concatenate([[0], np.cumsum(is_leaf)])[tree_start[:-1]]
    return (nodes if nodes.ndim == 1 else nodes[:, 0])[is_leaf], first
