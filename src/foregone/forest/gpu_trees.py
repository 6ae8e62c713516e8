"""Packed trees in the memory of a GPU, in the forms that its kernels walk through.

Each form sends rows the way that the packed trees do:

usual   the packed trees themselves
narrow  nodes of half the size, for rows of float32 and trees whose keys have 64 bits
ranked  nodes of 4 bytes that compare ranks, for trees that vote on features with few thresholds

In all of them the upper levels of a tree come first, level by level: rows that walk through a tree together
read the same few lines of memory there. What lies below stays in its order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_nodes import LOW_32, OFFSET_27, OFFSET_59, U3, U4, U9, U13, U15, U32, U36, U63
from foregone.checks import IntArray
from foregone.forest.batch_trees import rank_votes
from foregone.forest.device_arrays import DeviceArray
from foregone.forest.layout import COMPACT_COLUMN_LIMIT, COMPACT_OFFSET_LIMIT, NodeArray, threshold_keys
from foregone.forest.ranked_trees import MOST_OFFSET, Cuts
from foregone.forest.rows import RowFormat

__all__ = ["GpuTrees", "Ranks", "TreeForms", "narrowed", "upper_levels_first"]

UPPER_LEVELS = 9  # of a tree, that come first
RANK_BITS = 8
VOTE = 2  # the lowest of the bits of a side that say: a leaf that votes, without a place


class Ranks(NamedTuple):
    """What makes ranks of keys on a GPU, see `foregone._kernels.gpu.gpu_rows.ranks_kernel`.

    ``n_words`` words hold the ranks of a row; ``n_steps`` are searched for all of them.
    """

    cuts: DeviceArray
    table: DeviceArray
    n_words: int
    n_steps: int


class GpuTrees(NamedTuple):
    """Trees in the memory of a GPU.

    Attributes
    ----------
    nodes, leaves : device array
        The words of all nodes in a line, and the same memory as floats.
    categories : device array
        The sets of categories; of one number if there are none.
    packed_roots, roots : ndarray of uint64
        Where trees begin, in the packed trees and in these.
    upload : callable
        Brings an array to the GPU.
    is_compact : bool
        Whether a node is one word.
    key_bits : {8, 32, 64}
        Size of what they compare: ranks, or keys.
    ranks : Ranks or None
        What makes ranks, if they compare these.
    """

    nodes: DeviceArray
    leaves: DeviceArray
    categories: DeviceArray
    packed_roots: npt.NDArray[np.uint64]
    roots: npt.NDArray[np.uint64]
    upload: Callable[[npt.NDArray[Any]], DeviceArray]
    is_compact: bool
    key_bits: int
    ranks: Ranks | None = None

    def upload_roots(self, packed_roots: IntArray) -> DeviceArray:
        """Bring roots to the GPU, which are given as those of the packed trees, in a line."""
        number = np.searchsorted(self.packed_roots, packed_roots.ravel().astype(np.uint64))
        return self.upload(self.roots[number])


class Children(NamedTuple):
    """What some nodes lead to.

    Attributes
    ----------
    offset : ndarray of int
        From a node's own place to that of its left child; the right one lies behind it.
    are_nodes, have_places : pair of ndarray of bool
        Whether the left and the right child are nodes again, and whether they have a place at all.
    """

    offset: IntArray
    are_nodes: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
    have_places: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]


class TreeForms:
    """The trees of a forest, each form made when it is first asked for.

    Parameters
    ----------
    cuda : module
        ``numba.cuda``.
    nodes, categories, tree_start : ndarray
        Of the forest.
    rows : RowFormat
        What rows it takes.
    leaves_vote : bool
        Whether leaves are votes between two classes.
    """

    def __init__(
        self,
        cuda: Any,
        nodes: NodeArray,
        categories: npt.NDArray[np.uint32],
        tree_start: IntArray,
        rows: RowFormat,
        leaves_vote: bool,
    ) -> None:
        self._cuda, self._nodes, self._tree_start, self._format = cuda, nodes, tree_start, rows
        self._leaves_vote, self._has_categories = leaves_vote, len(categories) > 0
        self._categories = self._upload(categories if self._has_categories else np.zeros(1, np.uint32))

    @cached_property
    def usual(self) -> GpuTrees:
        """The packed trees."""
        return self._packed(self._nodes, self._format.key_bits)

    @cached_property
    def narrow(self) -> GpuTrees | None:
        """Trees of half the size that send rows of float32 the same way, if the usual ones are not such."""
        if self._format.key_bits == 32 or len(self._format.rules):
            return None
        compact = narrowed(self._nodes, self._tree_start)
        return None if compact is None else self._packed(compact, 32)

    @cached_property
    def ranked(self) -> GpuTrees | None:
        """Trees that compare ranks, if features have few enough thresholds."""
        rows = self._format
        if not self._leaves_vote or rows.key_bits != 32 or rows.takes_missing or len(rows.rules):
            return None
        found = None if self._has_categories else rank_votes(self._nodes, self._tree_start)
        if found is None:
            return None
        tree_start = np.append(found.bounds[:, 0], len(found.trees))
        moved = ranked_in_levels(found.trees, tree_start)
        return self._uploaded(moved, tree_start[:-1], RANK_BITS, self._ranks(found.cuts))

    def _ranks(self, cuts: Cuts) -> Ranks:
        table = np.zeros((self._format.n_features, 3), np.int32)
        padded: list[npt.NDArray[Any]] = []
        n_cuts = 0
        for line, following in zip(cuts.table[:-1], cuts.table[1:], strict=True):
            source, begin, end, column = line
            own = cuts.cuts[begin:end]
            steps = len(own).bit_length()
            missing = (1 << steps) - 1 - len(own)
            padded.append(np.pad(own, (0, missing), constant_values=np.iinfo(own.dtype).max))
            table[source] = n_cuts, steps, following[3] - column
            n_cuts += len(padded[-1])
        every = np.concatenate(padded).astype(np.uint32)
        n_words, n_steps = -(-cuts.n_columns // 4), int(table[:, 1].sum())
        return Ranks(self._upload(every), self._upload(table), n_words, n_steps)

    def _packed(self, nodes: NodeArray, key_bits: int) -> GpuTrees:
        in_order = in_levels(nodes, self._tree_start, key_bits)
        return self._uploaded(in_order, self._tree_start[:-1], key_bits)

    def _uploaded(
        self, nodes: npt.NDArray[Any], roots: IntArray, key_bits: int, ranks: Ranks | None = None
    ) -> GpuTrees:
        words = self._upload(nodes.ravel())
        leaves = words if ranks else words.view(np.float64)
        return GpuTrees(
            nodes=words,
            leaves=leaves,
            categories=self._categories,
            packed_roots=self._tree_start[:-1].astype(np.uint64),
            roots=roots.astype(np.uint64),
            upload=self._upload,
            is_compact=nodes.ndim == 1,
            key_bits=key_bits,
            ranks=ranks,
        )

    def _upload(self, array: npt.NDArray[Any]) -> DeviceArray:
        return self._cuda.to_device(np.ascontiguousarray(array))


def upper_levels_first(
    tree_start: IntArray, children: Callable[[IntArray], Children], levels: int = UPPER_LEVELS
) -> tuple[IntArray, IntArray, npt.NDArray[np.bool_]]:
    """Return a new place for each place of some trees, the upper levels of each tree first.

    Children that are both leaves stay behind, so that upper levels have nodes only.

    Returns
    -------
    place_of, offset : ndarray of int
        The new place of each old one, and the new offset of each old node.
    is_node : ndarray of bool
        Which of the old places hold nodes.
    """
    n_places = int(tree_start[-1])
    level_of, is_node = np.full(n_places, levels), np.zeros(n_places, bool)
    offset, first_child = np.zeros((2, n_places), np.int64)
    places, level = tree_start[:-1].astype(np.int64), 0
    level_of[places] = 0
    while len(places):
        level += 1
        is_node[places] = True
        found = children(places)
        left = places + found.offset
        move = (found.are_nodes[0] | found.are_nodes[1]) & (level < levels)
        level_of[left[move & found.have_places[0]]] = level
        level_of[left[move & found.have_places[1]] + 1] = level
        # Offsets count from where the left child is, or would be beside the right one.
        offset[places] = found.have_places[0] * 1 + (~found.have_places[0] & found.have_places[1]) * 2
        first_child[places] = left
        places = np.concatenate([left[found.are_nodes[0]], left[found.are_nodes[1]] + 1])
    n_levels = levels + 1
    tree = np.repeat(np.arange(len(tree_start) - 1), np.diff(tree_start))
    place_of = np.empty(n_places, np.int64)
    place_of[np.argsort(tree * n_levels + level_of, kind="stable")] = np.arange(n_places)
    by_left, by_right = np.flatnonzero(offset == 1), np.flatnonzero(offset == 2)
    offset[by_left] = place_of[first_child[by_left]] - place_of[by_left]
    offset[by_right] = place_of[first_child[by_right] + 1] - 1 - place_of[by_right]
    return place_of, offset, is_node


def _children_of(nodes: NodeArray, key_bits: int) -> Callable[[IntArray], Children]:
    """Return what says where packed nodes lead."""

    def children(places: IntArray) -> Children:
        if nodes.ndim == 1:
            word = nodes[places]
            offset, sides = word >> U13, word >> U9  # the lower half of the word: the key comes off below
            offset = offset & np.uint64(COMPACT_OFFSET_LIMIT)
        elif key_bits == 32:
            more = nodes[places, 1]
            offset, sides = (more >> U4) & OFFSET_59, more
        else:
            more = nodes[places, 1]
            offset, sides = (more >> U36) & OFFSET_27, more >> U32
        left, right = sides & U3, (sides & U15) >> np.uint64(2)
        return Children(offset.astype(np.int64), (left == 0, right == 0), (left < VOTE, right < VOTE))

    return children


def in_levels(nodes: NodeArray, tree_start: IntArray, key_bits: int) -> NodeArray:
    """Return packed nodes with the upper levels of each tree first; as they are, if offsets do not fit."""
    place_of, offset, is_node = upper_levels_first(tree_start, _children_of(nodes, key_bits))
    shift, mask = (U13, COMPACT_OFFSET_LIMIT) if nodes.ndim == 1 else (U4, int(OFFSET_59))
    if nodes.ndim == 2 and key_bits == 64:
        shift, mask = U36, int(OFFSET_27)
    if offset.max() > mask:
        return nodes
    words = (nodes if nodes.ndim == 1 else nodes[:, 1]).copy()
    words[is_node] &= ~(np.uint64(mask) << shift)
    words[is_node] |= offset[is_node].astype(np.uint64) << shift
    moved: NodeArray = np.empty_like(nodes)
    if nodes.ndim == 1:
        moved[place_of] = words
    else:
        moved[place_of] = np.stack([nodes[:, 0], words], axis=1)
    return moved


def ranked_in_levels(nodes: npt.NDArray[np.uint32], tree_start: IntArray) -> npt.NDArray[np.uint32]:
    """Return nodes that compare ranks with the upper levels of each tree first, if offsets fit."""
    old, low = (nodes >> 16).astype(np.int64), nodes & np.uint32(0xFFFF)

    def children(places: IntArray) -> Children:
        left = places + old[places]
        always = np.ones(len(places), bool)
        return Children(old[places], (old[left] > 0, old[left + 1] > 0), (always, always))

    place_of, offset, _ = upper_levels_first(tree_start, children)
    offset[old == 0] = 0
    if offset.max() > MOST_OFFSET:
        return nodes
    moved = np.empty_like(nodes)
    moved[place_of] = offset.astype(np.uint32) << np.uint32(16) | low
    return moved


def narrowed(nodes: NodeArray, tree_start: IntArray) -> NodeArray | None:
    """Return wide nodes with keys of 64 bits as compact ones, which send rows of float32 the same way.

    None if a node does not fit, or splits by categories. Places stay the same.
    """
    _, _, is_node = upper_levels_first(tree_start, _children_of(nodes, 64))
    key, more = nodes.T
    column, offset, sides = more & LOW_32, (more >> U36) & OFFSET_27, (more >> U32) & U15
    if (
        column[is_node].max() > COMPACT_COLUMN_LIMIT
        or offset[is_node].max() > COMPACT_OFFSET_LIMIT
        or (more[is_node] >> U63).any()
    ):
        return None
    sign = np.uint64(1 << 63)
    threshold = np.where(key & sign, key ^ sign, ~key).view(np.float64)[is_node]
    compact: NodeArray = key.copy()  # payloads stay what they are
    shorter = threshold_keys(threshold).astype(np.uint64)
    compact[is_node] = shorter << U32 | offset[is_node] << U13 | sides[is_node] << U9 | column[is_node]
    return compact
