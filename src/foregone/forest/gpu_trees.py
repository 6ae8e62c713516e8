"""Packed trees in GPU memory, in the formats used by its kernels.

Rows reach the same leaves in all formats:

usual   the packed trees themselves
narrow  nodes of half the size, for rows of float32 and trees whose keys have 64 bits
ranked  nodes of 4 bytes that compare ranks, for trees that vote on features with few thresholds
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_nodes import LOW_32, OFFSET_27, U0, U1, U2, U3, U9, U13, U15, U32, U36, U63
from foregone.checks import IntArray
from foregone.forest.batch_trees import rank_votes
from foregone.forest.device_arrays import DeviceArray
from foregone.forest.layout import COMPACT_COLUMN_LIMIT, COMPACT_OFFSET_LIMIT, NodeArray, threshold_keys
from foregone.forest.ranked_trees import Cuts
from foregone.forest.rows import RowFormat

__all__ = ["GpuTrees", "Ranks", "TreeForms", "narrowed"]

RANK_BITS = 8
MOST_CUTS = 1 << 14  # keys of 4 bytes, which have to stay in the first cache


class Ranks(NamedTuple):
    """Inputs for converting keys to ranks on a GPU, see `foregone._kernels.gpu.gpu_rows.ranks_kernel`.

    ``n_words`` words hold the ranks of a row; ``n_steps`` are searched for all of them.
    """

    cuts: DeviceArray
    table: DeviceArray
    n_words: int
    n_steps: int


class GpuTrees(NamedTuple):
    """Trees in GPU memory.

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
        """Copy the roots of trees to the GPU, flattened, given their roots in the packed trees."""
        number = np.searchsorted(self.packed_roots, packed_roots.ravel().astype(np.uint64))
        return self.upload(self.roots[number])


class TreeForms:
    """The trees of a forest, each format created on first use.

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
        """Trees of half the size for rows of float32; None if there are none that are smaller."""
        if self._format.key_bits == 32 or len(self._format.rules):
            return None
        compact = narrowed(self._nodes, self._tree_start)
        return None if compact is None else self._packed(compact, 32)

    @cached_property
    def ranked(self) -> GpuTrees | None:
        """Trees that compare ranks, for rows without missing values, if features have few thresholds."""
        rows = self._format
        if not self._leaves_vote or rows.key_bits != 32 or len(rows.rules):
            return None
        found = None if self._has_categories else rank_votes(self._nodes, self._tree_start)
        if found is None:
            return None
        ranks = self._ranks(found.cuts)
        return None if ranks is None else self._uploaded(found.trees, found.bounds[:, 0], RANK_BITS, ranks)

    def _ranks(self, cuts: Cuts) -> Ranks | None:
        """Return the inputs for converting keys to ranks; None if too many cuts make it slow."""
        table = np.zeros((self._format.n_features, 3), np.int32)
        padded: list[npt.NDArray[Any]] = []
        n_cuts = n_steps = 0
        for line, following in zip(cuts.table[:-1], cuts.table[1:], strict=True):
            source, begin, end, column = line
            own = cuts.cuts[begin:end]
            steps = len(own).bit_length()
            missing = (1 << steps) - 1 - len(own)
            padded.append(np.pad(own, (0, missing), constant_values=np.iinfo(own.dtype).max))
            table[source] = n_cuts - 1, 1 << steps - 1, following[3] - column
            n_cuts, n_steps = n_cuts + len(padded[-1]), n_steps + steps
        if n_cuts > MOST_CUTS:
            return None
        every = np.concatenate(padded).astype(np.uint32)
        return Ranks(self._upload(every), self._upload(table), -(-cuts.n_columns // 4), n_steps)

    def _packed(self, nodes: NodeArray, key_bits: int) -> GpuTrees:
        return self._uploaded(nodes, self._tree_start[:-1], key_bits)

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


def narrowed(nodes: NodeArray, tree_start: IntArray) -> NodeArray | None:
    """Convert wide nodes with 64-bit keys to compact ones that are equivalent for rows of float32.

    Returns None if a node does not fit, or splits by categories. Places stay the same.
    """
    key, more = nodes.T
    column, offset, sides = more & LOW_32, (more >> U36) & OFFSET_27, (more >> U32) & U15
    is_node, places = np.zeros(len(nodes), bool), tree_start[:-1].astype(np.uint64)
    while len(places):  # level by level: in the places of leaves lies what they carry
        is_node[places] = True
        left = places + offset[places]
        left_is_node, right_is_node = sides[places] & U3 == U0, sides[places] >> U2 == U0
        places = np.concatenate([left[left_is_node], left[right_is_node] + U1])
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
