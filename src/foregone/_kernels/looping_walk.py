"""Many rows through one tree, in phases: eight walks side by side take some steps each, at a leaf or not.

The trees are those of `foregone._kernels.looping_nodes`, or a pair of them and the words of their sets of
categories. But for those, no branch depends on where a row goes: a processor would guess it wrong about once
a walk, which costs more than the steps that are taken for nothing. Trees of few leaves need no walks at all,
see `foregone._kernels.leaf_masks`.

What kernels of batches are given is one tuple, ``batch``:

``trees``    in one of these forms
``leaves``   what they carry, by the place of a leaf; None if leaves are votes, which are nodes themselves
``bounds``   where each tree begins and ends, in the order asked, one line of trees for each order
``phases``   how many steps to take before those at their leaves are sorted out, each time
``values``   what rows are compared by: keys, ranks, or ranks in lanes
``width``    how many of them a row has

Numbers of rows, places and walks have 32 bits: they are lists that a block writes and reads for every tree.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner
from foregone._kernels.forest_nodes import U0, U1, U2, U3, U4, U32, read_node
from foregone._kernels.forest_walk import goes_right, words_of
from foregone._kernels.leaf_masks import DENSEST, MaskTrees, fill_lanes, mask_out
from foregone._kernels.looping_nodes import LOW_8, OFFSET_23, U8, U16, U55, read_looping
from foregone._kernels.prefetch import prefetch

U5, U6, U7 = (np.uint64(number) for number in (5, 6, 7))
SIDE_BY_SIDE = 8  # walks at a time; a list of walks needs room for a multiple of it
FEWEST_ALONE = 8  # steps of the last walks: sorting them out takes the longer the fewer there are
# Bytes of the coming tree that are fetched ahead: more would drive out what is in use, or not be needed by so
# few rows.
MOST_AHEAD, AHEAD_A_ROW, LINE_BYTES = np.uint64(1 << 18), np.uint64(128), np.uint64(64)


def offset_at(trees, values, place):
    """Return the offset of a node, 0 for a leaf."""
    compiled_only()


@overload(offset_at)
def _offset_at(trees, values, place):
    return lambda trees, values, place: read_looping(words_of(trees), values, place)[2]


def next_place(trees, values, shift, base, place):
    """Return where a walk goes from ``place``; a leaf leads back to itself."""
    compiled_only()


@overload(next_place)
def _next_place(trees, values, shift, base, place):
    if isinstance(trees, types.BaseTuple):

        def go(trees, values, shift, base, place):
            words, categories = trees
            key, column, _, offset = read_node(words, values, place)
            own = np.uint64(values[base + (column >> shift)])
            right = np.uint64(goes_right(words, categories, place, key, own))
            return place + offset + right

    elif trees.ndim == 2:

        def go(trees, values, shift, base, place):
            key, column, _, offset = read_node(trees, values, place)
            right = np.uint64(np.uint64(values[base + (column >> shift)]) > key)
            return place + offset + right

    elif trees.dtype == types.uint32:

        def go(trees, values, shift, base, place):
            word = np.uint64(trees[place])
            right = np.uint64(values[base + ((word >> U8) & LOW_8)] > np.uint8(word))
            return place + (word >> U16) + right

    else:

        def go(trees, values, shift, base, place):
            word = trees[place]
            right = np.uint64(values[base + (word >> U55)] > np.uint32(word))
            return place + ((word >> U32) & OFFSET_23) + right

    return go


def said_at(batch, place):
    """Return what the leaf at ``place`` carries, or its vote."""
    compiled_only()


@overload(said_at)
def _said_at(batch, place):
    if isinstance(batch[1], types.NoneType):
        return lambda batch, place: read_looping(words_of(batch[0]), batch[4], np.uint64(place))[1]
    return lambda batch, place: batch[1][place]


def fetch(trees, leaves, place):
    """Have a line of the trees fetched, and what its leaves carry."""
    compiled_only()


@overload(fetch)
def _fetch(trees, leaves, place):
    if isinstance(leaves, types.NoneType):
        return lambda trees, leaves, place: prefetch(words_of(trees), place, U0)

    def both(trees, leaves, place):
        prefetch(words_of(trees), place, U0)
        prefetch(leaves, place, U0)

    return both


def walk_to_leaves(batch, order, tree, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the leaf that ``rows[k]`` comes to, for the first ``n_rows`` of ``rows``.

    Every walk still under way takes ``phases[0]`` steps, then ``phases[1]``, and so on, the last number again
    and again. ``walking`` lists those walks, and needs no content.

    The tree after this one is fetched on the way: to wait for it later would take as long as a third of the
    walks.
    """
    trees, leaves, bounds, phases, values, stride = batch
    left = np.uint64(n_rows)
    root = np.uint64(bounds[order, tree, 0])
    words = words_of(trees)
    coming = coming_end = pace = U0
    line = LINE_BYTES // np.uint64(words.itemsize)
    if tree + 1 < bounds.shape[1]:
        coming = np.uint64(bounds[order, tree + 1, 0])
        most = min(MOST_AHEAD, AHEAD_A_ROW * left) // np.uint64(words.itemsize)
        coming_end = min(np.uint64(bounds[order, tree + 1, 1]), coming + most)
        pace = (coming_end - coming) // ((left + U7) >> U3) + U1
    phase, last_phase = 0, len(phases) - 1
    # The last walk fills up the group it is in, and is listed more than once if it goes on: to the same leaf,
    # at worst.
    for k in range(left, (left + U7) & ~U7):
        rows[k] = rows[left - U1]
    while left:
        steps = phases[min(phase, last_phase)]
        if left <= U7:
            steps = max(steps, FEWEST_ALONE)
        if phase:
            for k in range(left, (left + U7) & ~U7):
                walking[k] = walking[left - U1]
        kept = U0
        for k in range(U0, left, np.uint64(SIDE_BY_SIDE)):
            if phase:
                k_0, k_1, k_2, k_3 = walking[k], walking[k + U1], walking[k + U2], walking[k + U3]
                k_4, k_5, k_6, k_7 = walking[k + U4], walking[k + U5], walking[k + U6], walking[k + U7]
                at_0, at_1 = np.uint64(places[k_0]), np.uint64(places[k_1])
                at_2, at_3 = np.uint64(places[k_2]), np.uint64(places[k_3])
                at_4, at_5 = np.uint64(places[k_4]), np.uint64(places[k_5])
                at_6, at_7 = np.uint64(places[k_6]), np.uint64(places[k_7])
            else:
                k_0, k_1, k_2, k_3 = np.uint32(k), np.uint32(k + U1), np.uint32(k + U2), np.uint32(k + U3)
                k_4, k_5 = np.uint32(k + U4), np.uint32(k + U5)
                k_6, k_7 = np.uint32(k + U6), np.uint32(k + U7)
                at_0 = at_1 = at_2 = at_3 = at_4 = at_5 = at_6 = at_7 = root
                if coming < coming_end:
                    for place in range(coming, min(coming + pace, coming_end), line):
                        fetch(trees, leaves, place)
                    coming += pace
            base_0, base_1 = np.uint64(rows[k_0]) * stride, np.uint64(rows[k_1]) * stride
            base_2, base_3 = np.uint64(rows[k_2]) * stride, np.uint64(rows[k_3]) * stride
            base_4, base_5 = np.uint64(rows[k_4]) * stride, np.uint64(rows[k_5]) * stride
            base_6, base_7 = np.uint64(rows[k_6]) * stride, np.uint64(rows[k_7]) * stride
            for _ in range(steps):
                at_0 = next_place(trees, values, shift, base_0, at_0)
                at_1 = next_place(trees, values, shift, base_1, at_1)
                at_2 = next_place(trees, values, shift, base_2, at_2)
                at_3 = next_place(trees, values, shift, base_3, at_3)
                at_4 = next_place(trees, values, shift, base_4, at_4)
                at_5 = next_place(trees, values, shift, base_5, at_5)
                at_6 = next_place(trees, values, shift, base_6, at_6)
                at_7 = next_place(trees, values, shift, base_7, at_7)
            kept = _keep(trees, values, places, walking, kept, k_0, at_0)
            kept = _keep(trees, values, places, walking, kept, k_1, at_1)
            kept = _keep(trees, values, places, walking, kept, k_2, at_2)
            kept = _keep(trees, values, places, walking, kept, k_3, at_3)
            kept = _keep(trees, values, places, walking, kept, k_4, at_4)
            kept = _keep(trees, values, places, walking, kept, k_5, at_5)
            kept = _keep(trees, values, places, walking, kept, k_6, at_6)
            kept = _keep(trees, values, places, walking, kept, k_7, at_7)
        left = kept
        phase += 1


@inner
def _keep(trees, values, places, walking, kept, k, place):
    """Note where walk ``k`` is, and list it behind the ``kept`` others if it has not arrived."""
    places[k] = place
    walking[kept] = k
    return kept + np.uint64(offset_at(trees, values, place) != U0)


def find_leaves(batch, order, tree, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the leaf that ``rows[k]`` comes to in a tree, whichever way is fastest.

    ``rows`` may be any of those that `take_rows` was given, in the same order.
    """
    compiled_only()


@overload(find_leaves)
def _find_leaves(batch, order, tree, shift, rows, n_rows, places, walking):
    return mask_out if _is_masked(batch) else walk_to_leaves


def take_rows(batch, rows, n_rows):
    """Make ready for the first ``n_rows`` of ``rows``."""
    compiled_only()


@overload(take_rows)
def _take_rows(batch, rows, n_rows):
    if _is_masked(batch):
        return lambda batch, rows, n_rows: fill_lanes(batch[4], batch[5], rows, n_rows)
    return lambda batch, rows, n_rows: None


@inner
def list_rows(batch, by_order, start, end, rows):
    """Write some of the rows that ``by_order`` lists to the front of ``rows``; return how many they are."""
    for k in range(start, end):
        rows[k - start] = by_order[k]
    take_rows(batch, rows, end - start)
    return end - start


def keep_rows(batch, rows, n_rows):
    """Say that no others than the first ``n_rows`` of ``rows`` will be asked about."""
    compiled_only()


@overload(keep_rows)
def _keep_rows(batch, rows, n_rows):
    if _is_masked(batch):

        def keep(batch, rows, n_rows):
            if np.uint64(n_rows) * DENSEST < batch[4].n_lanes[0]:
                fill_lanes(batch[4], batch[5], rows, n_rows)

        return keep
    return lambda batch, rows, n_rows: None


def _is_masked(batch):
    trees = batch[0]
    return isinstance(trees, types.BaseNamedTuple) and trees.instance_class is MaskTrees


@compiled
def fill_leaf_matrix(batch, shift, rows, places, walking, carried):
    """Fill ``carried[tree, row]`` with what the leaf carries that the row comes to.

    ``rows``, ``places`` and ``walking`` are scratch.
    """
    n_trees, n_rows = carried.shape
    shift = np.uint64(shift)
    for k in range(n_rows):
        rows[k] = k
    take_rows(batch, rows, n_rows)
    order = np.int64(0)
    for tree in range(n_trees):
        find_leaves(batch, order, tree, shift, rows, n_rows, places, walking)
        for k in range(n_rows):
            carried[tree, k] = said_at(batch, places[k])
