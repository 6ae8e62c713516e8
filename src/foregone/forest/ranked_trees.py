"""RankedTrees: trees that compare ranks (one byte each) instead of keys; pays off for long runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_nodes import LOW_32, OFFSET_27, OFFSET_59, U4, U32, U36
from foregone._kernels.leaf_masks import BITS, MOST_LEAVES, MaskTrees, fill_left_sides
from foregone._kernels.looping_nodes import OFFSET_23, U55
from foregone._kernels.row_ranks import (
    CUTS_A_COLUMN,
    END_OF_CUTS,
    FIRST_CUT,
    MOST_ONE_BY_ONE,
    STRIDE,
    TABLE_WIDTH,
)
from foregone.checks import IntArray

__all__ = ["Cuts", "RankedTrees", "looping_parts", "rank_trees"]

MOST_COLUMNS, MOST_OFFSET, NO_RANK = 256, 0xFFFF, 0xFF

# Nanoseconds, measured on forests of 2 to 40 MB: only their ratios matter, and not much.
MAKING, MAKING_A_PLACE = 2e7, 60.0
STEP, STEP_SAVED = 0.55, 0.12  # of a walk, and what ranks save of it
CLEAR, BYTE = 0.016, 0.05  # of a tree that needs no walks
COLUMN, COMPARED, SEARCHED, SPLIT_COLUMN = 0.9, 0.02, 5.0, 0.5  # of making ranks
LANE_COLUMN = 1.0  # of putting ranks into lanes, and moving them up


class Cuts(NamedTuple):
    """The keys that each column is compared with; see `foregone._kernels.row_ranks.fill_ranks`."""

    cuts: npt.NDArray[Any]
    table: IntArray
    n_columns: int

    @classmethod
    def of(cls, columns: IntArray, keys: npt.NDArray[Any]) -> tuple[Cuts, IntArray, IntArray] | None:
        """Return the cuts of nodes that compare these columns with these keys; None if there are too many.

        Also returns the columns of ranks that the nodes compare, and the ranks to compare with.
        """
        parts: list[npt.NDArray[Any]] = []
        lines: list[tuple[int, ...]] = []
        n_cuts = n_columns = 0
        rank_columns, ranks = np.empty((2, len(columns)), np.int64)
        by_column = np.argsort(
            columns.astype(np.uint16), kind="stable"
        )  # a column number has 16 bits at most
        used, first = np.unique(columns[by_column], return_index=True)
        for column, nodes in zip(used, np.split(by_column, first[1:]), strict=True):
            own, number = np.unique(keys[nodes], return_inverse=True)
            rank_columns[nodes], ranks[nodes] = np.divmod(number, CUTS_A_COLUMN)
            rank_columns[nodes] += n_columns
            filling = -len(own) % STRIDE if len(own) > MOST_ONE_BY_ONE else 0
            parts.append(np.pad(own, (0, filling), constant_values=np.iinfo(own.dtype).max))
            lines.append((column, n_cuts, n_cuts + len(parts[-1]), n_columns))
            n_cuts += len(parts[-1])
            n_columns += -(-len(own) // CUTS_A_COLUMN)
            if n_columns > MOST_COLUMNS:
                return None
        table = np.array([*lines, (0, n_cuts, n_cuts, n_columns)], np.int64).reshape(-1, TABLE_WIDTH)
        return cls(np.concatenate(parts), table, n_columns), rank_columns, ranks

    @property
    def cost(self) -> float:
        """Cost of computing the ranks of a row."""
        number = self.table[:-1, END_OF_CUTS] - self.table[:-1, FIRST_CUT]
        is_searched = number > MOST_ONE_BY_ONE
        compared = np.where(is_searched, number / STRIDE, number)
        more_columns = self.n_columns - len(number)
        return float(
            COLUMN * len(number)
            + COMPARED * compared.sum()
            + SEARCHED * is_searched.sum()
            + SPLIT_COLUMN * more_columns
        )


class RankedTrees(NamedTuple):
    """Trees that compare ranks: looping trees, or splits with masks of leaves.

    Attributes
    ----------
    trees : ndarray or MaskTrees
        See `foregone._kernels.looping_nodes` and `foregone._kernels.leaf_masks`.
    leaves : ndarray or None
        The contents of leaves; None if they are votes in the trees themselves.
    bounds : ndarray of int, shape (n_trees, 2 or 3)
        Where each tree begins and ends, and with masks where its leaves begin.
    phases : ndarray of int
        As for looping trees.
    cuts : Cuts
        Turns keys into ranks.
    saved : float
        Time saved per row and tree, compared with a walk that compares keys.
    """

    trees: Any
    leaves: npt.NDArray[Any] | None
    bounds: IntArray
    phases: IntArray
    cuts: Cuts
    saved: float

    @staticmethod
    def could_pay(n_places: int, steps: float, n_rows: int) -> bool:
        """Whether ``n_rows`` rows, with walks of ``steps`` steps each, could pay for making these trees."""
        return n_rows * STEP * steps > MAKING + MAKING_A_PLACE * n_places

    def pays(self, n_asked: float) -> bool:
        """Whether it pays to compute the ranks of rows that ask ``n_asked`` trees on average."""
        in_lanes = LANE_COLUMN * self.cuts.n_columns if isinstance(self.trees, MaskTrees) else 0.0
        return n_asked * self.saved > self.cuts.cost + in_lanes


def rank_trees(
    trees: npt.NDArray[Any],
    leaves: npt.NDArray[Any] | None,
    bounds: IntArray,
    phases: IntArray,
    steps: float,
    no_keys: npt.NDArray[Any],
    shift: int,
) -> RankedTrees | None:
    """Convert looping trees, for keys of this ``shift``, to trees that compare ranks; None if impossible.

    The other parameters are those of `foregone.forest.batch_trees.LoopingTrees`; of ``no_keys`` only the type
    matters.
    """
    key, column, offset = looping_parts(trees, no_keys.dtype)
    splits = np.flatnonzero(offset)
    found = Cuts.of(column[splits] >> (shift if trees.ndim == 2 else 0), key[splits])
    if found is None:
        return None
    cuts, columns, ranks = found
    n_leaves = np.diff(np.searchsorted(splits, np.append(bounds[:, 0], len(trees)))) + 1
    if n_leaves.max() <= MOST_LEAVES:
        words = np.zeros(len(trees), np.uint32)
        words[splits] = columns << 16 | ranks << 8
        masked, limits, leaf_of = _mask_trees(words, offset, bounds[:, 0], n_leaves)
        cost = (CLEAR * len(masked.clears) + BYTE * len(masked.starts)) / len(bounds)
        if cost < (STEP - STEP_SAVED) * steps:
            said = column[leaf_of].astype(np.uint8) if leaves is None else leaves[leaf_of]
            return RankedTrees(masked, said, limits, phases, cuts, STEP * steps - cost)
    if offset.max() > MOST_OFFSET:
        return None
    ranked = (column << 8 | NO_RANK).astype(np.uint32)  # leaves, and their votes
    ranked[splits] = offset[splits] << 16 | columns << 8 | ranks
    return RankedTrees(ranked, leaves, bounds, phases, cuts, STEP_SAVED * steps)


def _mask_trees(
    words: npt.NDArray[np.uint32], offset: IntArray, start: IntArray, n_leaves: IntArray
) -> tuple[MaskTrees, IntArray, IntArray]:
    """Return trees as bytes of leaves, the bounds of each tree, and each leaf's place in the looping trees.

    ``words`` holds what each place of the looping trees compares, ``start`` where each tree begins.
    """
    n_trees, most = len(start), int(n_leaves.max())
    sides, leaf_of = (
        np.empty((int(n_leaves.sum()) - n_trees, 3), np.int64),
        np.zeros(n_trees * most, np.int64),
    )
    fill_left_sides(offset, start.copy(), most, sides, leaf_of)
    n_bytes = -(-n_leaves // BITS)
    end_of_bytes = np.cumsum(n_bytes)
    limits = np.stack([end_of_bytes - n_bytes, end_of_bytes, np.arange(n_trees) * most], axis=1)
    place, first, end = sides.T
    n_parts = (end - 1) // BITS - first // BITS + 1  # bytes that a split clears leaves of
    split = np.repeat(np.arange(len(sides)), n_parts)
    part = np.arange(len(split)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts) + first[split] // BITS
    from_bit, to_bit = np.maximum(first[split] - BITS * part, 0), np.minimum(end[split] - BITS * part, BITS)
    clears = words[place[split]] | ((1 << to_bit) - (1 << from_bit)).astype(np.uint32)
    byte = np.repeat(limits[:, 0], n_leaves - 1)[split] + part
    in_order = np.argsort(byte, kind="stable")
    starts = np.searchsorted(byte[in_order], np.arange(end_of_bytes[-1] + 1))
    return MaskTrees(clears[in_order], starts.astype(np.uint32)), limits, leaf_of


def looping_parts(
    trees: npt.NDArray[Any], key_type: np.dtype[Any]
) -> tuple[npt.NDArray[Any], IntArray, IntArray]:
    """Return key, column and offset of the places of looping trees; the column of a leaf is its vote."""
    if trees.ndim == 1:
        key, column, offset = trees, trees >> U55, trees >> U32 & OFFSET_23
    elif key_type == np.uint32:
        key, column, offset = trees[:, 0] >> U32, trees[:, 0] & LOW_32, trees[:, 1] >> U4 & OFFSET_59
    else:
        key, column, offset = trees[:, 0], trees[:, 1] & LOW_32, trees[:, 1] >> U36 & OFFSET_27
    return key.astype(key_type), column.astype(np.int64), offset.astype(np.int64)
