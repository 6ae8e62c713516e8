"""RestingTrees: packed trees with payloads once more, in the form that batches walk through."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.resting_trees import fill_resting
from foregone.forest.execution import Scratch
from foregone.forest.layout import NodeArray
from foregone.forest.rows import Rows

__all__ = ["RestingTrees"]

MOST_STEPS = 6  # of a phase: few are taken for nothing, and looking around after each would cost more


class RestingTrees:
    """Trees in which a walk that has arrived rests; made when first asked for, as large as the packed ones.

    Parameters
    ----------
    nodes, tree_start
        The packed trees, sound ones.
    key_bits : {32, 64}
        Size of rows' keys.
    categories : ndarray of uint32
        The sets of categories that splits send to the left; may be empty.
    """

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        key_bits: int,
        categories: npt.NDArray[np.uint32] | tuple[()] = (),
    ) -> None:
        self._packed = nodes, np.empty(0, np.uint32 if key_bits == 32 else np.uint64), tree_start
        self._categories = categories
        self._made: dict[int, tuple[Any, int]] = {}

    def load(self, block: Rows, scratch: Scratch) -> tuple[Any, ...]:
        """Load a block of rows and return what kernels want: trees, steps of a phase, keys, and the lists."""
        keys, stride, shift = scratch.load(block)
        made = self._made.get(shift)
        if made is None:  # by two threads at once: then they make the same
            made = self._made[shift] = self._make(shift)
        return *made, keys, stride, shift, scratch.rows, scratch.places, scratch.walking

    def _make(self, shift: int) -> tuple[Any, int]:
        """Return the trees for keys of this ``shift``, and how many steps make a phase."""
        trees = np.empty_like(self._packed[0])
        depth = fill_resting(*self._packed, shift, trees)
        # As few phases as it takes, and all of one length.
        steps = math.ceil(depth / math.ceil(depth / MOST_STEPS))
        return ((trees, self._categories) if len(self._categories) else trees), steps
