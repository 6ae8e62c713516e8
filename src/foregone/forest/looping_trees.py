"""LoopingTrees: packed trees with payloads once more, in the form that batches walk through."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.looping_nodes import MOST_PLACES, fill_looping
from foregone.checks import IntArray
from foregone.forest.execution import Scratch
from foregone.forest.importers.found import LeafKind
from foregone.forest.layout import NodeArray
from foregone.forest.rows import Keys, Rows

__all__ = ["LoopingTrees"]

Numbers = npt.NDArray[np.uint64]  # of rows, places or walks
Loaded = tuple[tuple[Any, ...], Keys, int, int, Numbers, Numbers, Numbers]

MOST_SHARED = MOST_PLACES - 1  # places of a tree whose leaves may be shared
MOST_LEVELS = 64  # that are told apart
SORTING_OUT = 4  # steps that take as long as to see whether a walk has to go on


class LoopingTrees:
    """Trees whose leaves lead back to themselves, so that a walk may take more steps than it needs.

    They are made when the first batch comes, and take, together with what their leaves carry, up to twice as
    much memory as the packed ones.

    Parameters
    ----------
    nodes, tree_start : ndarray
        The packed trees, sound ones.
    key_bits : {32, 64}
        Size of rows' keys.
    categories : ndarray of uint32
        The sets of categories that splits send to the left; may be empty.
    leaf : LeafKind
        What leaves carry: the number of a class or a score.
    """

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: IntArray,
        key_bits: int,
        categories: npt.NDArray[np.uint32],
        leaf: LeafKind,
    ) -> None:
        self._nodes, self._tree_start = nodes, tree_start
        self._key = np.empty(0, np.uint32 if key_bits == 32 else np.uint64)
        self._categories = categories
        self._leaf = leaf
        self._made: dict[int, tuple[Any, npt.NDArray[Any], IntArray, IntArray]] = {}
        self._ordered: tuple[IntArray | None, int, tuple[Any, ...]] = (None, -1, ())  # what was asked last

    def load(self, block: Rows, scratch: Scratch, roots: IntArray | None = None) -> Loaded:
        """Load a block of rows and return what kernels want to run it.

        Parameters
        ----------
        block, scratch
            The rows, and the memory for their keys.
        roots : ndarray of int, optional
            Roots of the packed trees in the order asked, by default that in which they are stored.

        Returns
        -------
        tuple
            The trees, what their leaves carry, their bounds in the same order and the phases of walks, in
            one tuple; keys, stride and shift of the rows; the lists to be written.
        """
        keys, stride, shift = scratch.load(block)
        last_roots, last_shift, looping = self._ordered
        if last_roots is not roots or last_shift != shift:
            looping = self._in_order(roots, shift)
            self._ordered = roots, shift, looping
        return looping, keys, stride, shift, scratch.rows, scratch.places, scratch.walking

    def _in_order(self, roots: IntArray | None, shift: int) -> tuple[Any, ...]:
        made = self._made.get(shift)
        if made is None:  # by two threads at once: then they make the same
            made = self._made[shift] = self._make(shift)
        trees, leaves, bounds, phases = made
        if roots is not None:
            bounds = bounds[np.searchsorted(self._tree_start, roots)]
        return trees, leaves, bounds, phases

    def _make(self, shift: int) -> tuple[Any, npt.NDArray[Any], IntArray, IntArray]:
        """Return the trees for keys of this ``shift``, what their leaves carry, their bounds, and phases."""
        trees, leaves = np.empty_like(self._nodes), np.empty(len(self._nodes), np.uint64)
        start, by_level = np.empty(len(self._tree_start) - 1, np.int64), np.zeros(MOST_LEVELS + 1, np.int64)
        n_places = fill_looping(
            self._nodes, self._key, self._tree_start, shift, MOST_SHARED, trees, leaves, start, by_level
        )
        trees, leaves = trees[:n_places].copy(), leaves[:n_places].copy()
        bounds = np.stack([start, np.append(start[1:], n_places)], axis=1)
        return (
            (trees, self._categories) if len(self._categories) else trees,
            self._leaf.from_words(leaves),
            bounds,
            best_phases(np.trim_zeros(by_level, "b")),
        )


def best_phases(by_level: IntArray) -> IntArray:
    """Return how many steps walks should take before those at their leaves are sorted out, each time.

    Parameters
    ----------
    by_level : ndarray of int
        How many walks end after 0, 1, ... steps. The last of these numbers is not 0.

    Returns
    -------
    ndarray of int
        Numbers of steps, which add up to those of the longest walk, with the fewest steps in all; sorting
        out one walk counts as many as `SORTING_OUT`.

    Examples
    --------
    >>> best_phases(np.array([0, 0, 10, 10, 10])).tolist()
    [4]
    >>> best_phases(np.array([0, 0, 100] + [0] * 15 + [1])).tolist()
    [2, 16]
    """
    going_on = by_level.sum() - np.cumsum(by_level)
    longest = len(by_level) - 1
    steps = np.zeros(longest, np.int64)  # of the best next phase from each level on
    cost = np.zeros(longest + 1)  # of all that follow
    for level in range(longest - 1, -1, -1):
        costs = going_on[level] * (np.arange(1, longest - level + 1) + SORTING_OUT) + cost[level + 1 :]
        steps[level] = np.argmin(costs) + 1
        cost[level] = costs[steps[level] - 1]
    phases = []
    level = 0
    while level < longest:
        phases.append(steps[level])
        level += steps[level]
    return np.array(phases)
