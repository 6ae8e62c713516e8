"""BatchTrees: copies of packed trees in the formats that are fastest for batches of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.leaf_masks import Lanes, MaskTrees
from foregone._kernels.looping_nodes import MOST_PLACES, fill_looping, fill_looping_votes
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.forest.execution import Loaded, Scratch
from foregone.forest.importers.found import LeafKind
from foregone.forest.layout import NodeArray
from foregone.forest.ranked_trees import RankedTrees, looping_parts, rank_trees
from foregone.forest.rows import Keys, Rows
from foregone.forest.schedule import Record

__all__ = ["BatchTrees", "rank_votes"]


MOST_SHARED = MOST_PLACES - 1  # places of a tree whose leaves may be shared
MOST_NUMBERED = 1 << 32  # places that have a number
MOST_STEPS = 256  # that are told apart
SAMPLED_ROWS, SAMPLED_TREES = 32, 16  # whose walks are counted
SORTING_OUT = 4  # steps that take as long as to see whether a walk has to go on


class LoopingTrees(NamedTuple):
    """Trees whose leaves point to themselves, so a walk may overshoot.

    Attributes
    ----------
    trees : ndarray, or pair of ndarray
        In the format of `foregone._kernels.looping_nodes`; with the sets of categories, if there are any.
    leaves : ndarray or None
        What leaves carry, by their place; None if they are votes.
    bounds : ndarray of int, shape (n_trees, 2)
        Where each tree begins and ends.
    phases : ndarray of int
        How many steps walks take in each phase, before those at their leaves are sorted out.
    steps : float
        Mean number of steps of a walk, including the cost of sorting out.
    """

    trees: Any
    leaves: npt.NDArray[Any] | None
    bounds: IntArray
    phases: IntArray
    steps: float


class BatchTrees:
    """The trees of a forest in the formats used for batches, each created once it pays off.

    The first batch creates trees whose leaves point to themselves. Once enough rows have been run, and if the
    trees allow it, trees that compare ranks are created as well. No result depends on which are used.

    Parameters
    ----------
    nodes, tree_start : ndarray
        The packed trees, sound ones.
    key_bits : {32, 64}
        Size of rows' keys.
    categories : ndarray of uint32
        The sets of categories that splits send to the left; may be empty.
    leaf : LeafKind
        What leaves mean.
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
        self._no_keys = np.empty(0, np.uint32 if key_bits == 32 else np.uint64)
        self._categories = categories
        self._leaf = leaf
        # By the shift of keys. Two threads at once may make one twice: then they make the same.
        self._looping: dict[int, LoopingTrees] = {}
        self._ranked: dict[int, RankedTrees | None] = {}
        self._ordered: tuple[
            Any, ...
        ] = ()  # what was asked last: roots, trees, and their bounds in that order

    @property
    def are_made(self) -> bool:
        """Whether any batch has been run."""
        return bool(self._looping)

    @property
    def nbytes(self) -> int:
        """Memory of what has been made, in bytes."""
        made = [*self._looping.values(), *filter(None, self._ranked.values())]
        return sum({id(array): array.nbytes for form in made for array in _arrays_in(form)}.values())

    def load(
        self, block: Rows, scratch: Scratch, roots: IntArray | None = None, record: Record | None = None
    ) -> Loaded:
        """Load a block of rows and return what kernels want to run it.

        Parameters
        ----------
        block, scratch
            The rows, and the memory for their keys.
        roots : ndarray of int, optional
            Roots of the packed trees in the order asked, a line for each order; by default one line in the
            order in which they are stored.
        record : Record, optional
            What is known of rows that are run in this way. By default nothing.

        Returns
        -------
        Loaded
            The trees in one of the forms, and the rows.
        """
        keys, stride, shift = scratch.load(block)
        looping = self._looping.get(shift)
        if looping is None:
            looping = self._looping[shift] = self._make(shift, keys, stride, len(block))
        made: LoopingTrees | RankedTrees = looping
        if record is not None and not len(self._categories):
            made = self._ranked_if_it_pays(looping, shift, record) or looping
        values: Any = keys
        width = stride
        if isinstance(made, RankedTrees):
            values, width = scratch.ranks(made.cuts, keys, stride, len(block)), made.cuts.n_columns
            if isinstance(made.trees, MaskTrees):
                values = Lanes(values, *scratch.lanes(width))
        bounds = self._in_order(made, roots)
        batch = (made.trees, made.leaves, bounds, made.phases, values, np.uint64(width))
        return Loaded(batch, keys, stride, shift, (scratch.rows, scratch.places, scratch.walking))

    def _in_order(self, made: LoopingTrees | RankedTrees, roots: IntArray | None) -> IntArray:
        last = self._ordered
        if last and last[0] is roots and last[1] is made.bounds:
            bounds: IntArray = last[2]
            return bounds
        bounds = made.bounds[None]
        if roots is not None:
            bounds = made.bounds[np.searchsorted(self._tree_start, np.atleast_2d(roots))]
        self._ordered = roots, made.bounds, bounds
        return bounds

    def _ranked_if_it_pays(self, looping: LoopingTrees, shift: int, record: Record) -> RankedTrees | None:
        if not record.n_done:
            return None
        n_asked = record.n_asked / record.n_done
        if shift not in self._ranked:
            if not RankedTrees.could_pay(len(looping.trees), looping.steps * n_asked, record.n_rows):
                return None
            self._ranked[shift] = rank_trees(*looping, self._no_keys, shift)
        ranked = self._ranked[shift]
        return ranked if ranked is not None and ranked.pays(n_asked) else None

    def _make(self, shift: int, keys: Keys, stride: int, n_rows: int) -> LoopingTrees:
        """Return the trees for keys of this ``shift``; the rows at hand say how long walks are."""
        n_trees = len(self._tree_start) - 1
        most = int(np.diff(self._tree_start).max())
        start = np.empty(n_trees, np.int64)
        shape = (len(self._nodes), *self._nodes.shape[1:])
        common = (self._nodes, self._no_keys, self._tree_start, most, shift)
        if self._leaf.is_payload:
            trees, words = np.empty(shape, np.uint64), np.empty(shape[0], np.uint64)
            n_places = fill_looping(*common, MOST_SHARED, trees, words, start)
            leaves = self._leaf.from_words(words[:n_places].copy())
        else:
            trees, leaves = _room_for_votes(self._nodes, n_trees), None
            n_places = fill_looping_votes(*common, trees, start)
        if n_places > MOST_NUMBERED:
            raise InvalidInputError(
                f"the forest is too large for batches: its trees have {n_places:,} nodes, and at most "
                f"{MOST_NUMBERED:,} are supported. Run rows one by one, with run_one"
            )
        trees = trees[:n_places].copy()
        bounds = np.stack([start, np.append(start[1:], n_places)], axis=1)
        walked = (trees, self._categories) if len(self._categories) else trees
        some = start[:: -(-n_trees // SAMPLED_TREES)]
        by_steps = _count_steps(trees, keys, stride, shift, some, min(n_rows, SAMPLED_ROWS))
        return LoopingTrees(walked, leaves, bounds, *best_phases(by_steps))


def _room_for_votes(nodes: NodeArray, n_trees: int) -> NodeArray:
    return np.empty((2 * len(nodes) + 8 * n_trees, *nodes.shape[1:]), np.uint64)


def rank_votes(nodes: NodeArray, tree_start: IntArray) -> RankedTrees | None:
    """Return trees that vote as nodes that compare ranks; None if they cannot.

    For packed trees with keys of 32 bits, without categories, and rows without missing values.
    """
    n_trees, no_keys = len(tree_start) - 1, np.empty(0, np.uint32)
    trees, start = _room_for_votes(nodes, n_trees), np.empty(n_trees, np.int64)
    most = int(np.diff(tree_start).max())
    n_places = fill_looping_votes(nodes, no_keys, tree_start, most, 1, trees, start)
    bounds = np.stack([start, np.append(start[1:], n_places)], axis=1)
    # Walks of no steps: none that other forms than nodes could save.
    return rank_trees(trees[:n_places], None, bounds, np.empty(0, np.int64), 0.0, no_keys, 1)


def _count_steps(
    trees: NodeArray, keys: Keys, stride: int, shift: int, start: IntArray, n_rows: int
) -> IntArray:
    """Return how many walks of some rows through some trees end after 0, 1, ... steps, up to `MOST_STEPS`.

    As if every split by categories sent rows to the right: only speed depends on it.
    """
    places = np.repeat(start, n_rows)
    base = np.tile(np.arange(n_rows) * stride, len(start))
    by_steps = np.zeros(MOST_STEPS + 1, np.int64)
    for steps in range(MOST_STEPS + 1):
        key, column, offset = looping_parts(trees[places], keys.dtype)
        going_on = (offset > 0) & (steps < MOST_STEPS)
        by_steps[steps] = len(places) - np.count_nonzero(going_on)
        if not going_on.any():
            break
        own = keys[base[going_on] + (column[going_on] >> (shift if trees.ndim == 2 else 0))]
        places = places[going_on] + offset[going_on] + (own > key[going_on])
        base = base[going_on]
    return by_steps[: steps + 1]


def _arrays_in(form: Any) -> list[npt.NDArray[Any]]:
    if isinstance(form, np.ndarray):
        return [form]
    return [array for part in form for array in _arrays_in(part)] if isinstance(form, tuple) else []


def best_phases(by_steps: IntArray) -> tuple[IntArray, float]:
    """Return how many steps walks should take before those at their leaves are sorted out, each time.

    Parameters
    ----------
    by_steps : ndarray of int
        How many walks end after 0, 1, ... steps. The last of these numbers is not 0.

    Returns
    -------
    phases : ndarray of int
        Numbers of steps, which add up to those of the longest walk, with the fewest steps in all; sorting
        out one walk counts as many as `SORTING_OUT`.
    steps : float
        How many these are for a walk, on average.

    Examples
    --------
    >>> best_phases(np.array([0, 0, 10, 10, 10]))
    (array([4]), 8.0)
    >>> best_phases(np.array([0, 0, 100] + [0] * 15 + [1]))[0].tolist()
    [2, 16]
    """
    n_walks = by_steps.sum()
    going_on = n_walks - np.cumsum(by_steps)
    longest = len(by_steps) - 1
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
    return np.array(phases), float(cost[0] / n_walks)
