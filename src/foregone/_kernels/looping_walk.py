"""Many rows through one tree, in phases: eight walks side by side take some steps each, at a leaf or not.

The trees are those of `foregone._kernels.looping_nodes`, or a pair of them and the words of their sets of
categories. But for those, no branch depends on where a row goes: a processor would guess it wrong about once
a walk, which costs more than the steps that are taken for nothing.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_nodes import U0, U1, U2, U3, U4, U9, U32, read_node
from foregone._kernels.forest_walk import goes_right, words_of
from foregone._kernels.looping_nodes import COLUMN_MASK, OFFSET_23
from foregone._kernels.prefetch import prefetch

U5, U6, U7 = (np.uint64(number) for number in (5, 6, 7))
SIDE_BY_SIDE = 8  # walks at a time; a list of walks needs room for a multiple of it
PLACES_A_LINE = np.uint64(8)  # of memory
FEWEST_ALONE = 8  # steps of the last walks: sorting them out takes the longer the fewer there are
# Places that are fetched ahead: more would drive out what is in use, or not be needed by so few rows.
MOST_AHEAD, AHEAD_A_ROW = np.uint64(1 << 15), np.uint64(16)


def offset_at(trees, keys, place):
    """Return the offset of a node, 0 for a leaf."""
    compiled_only()


@overload(offset_at)
def _offset_at(trees, keys, place):
    if isinstance(trees, types.Array) and trees.ndim == 1:
        return lambda trees, keys, place: (trees[place] >> U9) & OFFSET_23
    return lambda trees, keys, place: read_node(words_of(trees), keys, place)[3]


def next_place(trees, keys, shift, base, place):
    """Return where a walk goes from ``place``; a leaf leads back to itself."""
    compiled_only()


@overload(next_place)
def _next_place(trees, keys, shift, base, place):
    if isinstance(trees, types.BaseTuple):

        def go(trees, keys, shift, base, place):
            words, categories = trees
            key, column, _, offset = read_node(words, keys, place)
            own = np.uint64(keys[base + (column >> shift)])
            right = np.uint64(goes_right(words, categories, place, key, own))
            return place + offset + right

    elif trees.ndim == 1:

        def go(trees, keys, shift, base, place):
            word = trees[place]
            right = np.uint64(np.uint64(keys[base + (word & COLUMN_MASK)]) > word >> U32)
            return place + ((word >> U9) & OFFSET_23) + right

    else:

        def go(trees, keys, shift, base, place):
            key, column, _, offset = read_node(trees, keys, place)
            right = np.uint64(np.uint64(keys[base + (column >> shift)]) > key)
            return place + offset + right

    return go


@compiled
def find_leaves(trees, leaves, bounds, tree, phases, keys, stride, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the leaf that ``rows[k]`` comes to, for the first ``n_rows`` of ``rows``.

    Every walk still under way takes ``phases[0]`` steps, then ``phases[1]``, and so on, the last number again
    and again. ``walking`` lists those walks, and needs no content.

    ``bounds[tree]`` is where a tree begins and ends. The tree after this one is fetched on the way: to wait
    for it later would take as long as a third of the walks.
    """
    left = np.uint64(n_rows)
    root = np.uint64(bounds[tree, 0])
    words = words_of(trees)
    coming = coming_end = pace = U0
    if tree + 1 < len(bounds):
        coming = np.uint64(bounds[tree + 1, 0])
        most = min(MOST_AHEAD, AHEAD_A_ROW * left)
        coming_end = min(np.uint64(bounds[tree + 1, 1]), coming + most)
        pace = (coming_end - coming) // ((left + U7) >> U3) + U1
    phase, last_phase = 0, len(phases) - 1
    for k in range(left):
        places[k] = root
        walking[k] = k
    while left:
        # The last walk fills up the group it is in, and is listed more than once if it goes on: to the same
        # leaf, at worst.
        for k in range(left, (left + U7) & ~U7):
            walking[k] = walking[left - U1]
        steps = phases[phase]
        if left <= U7:
            steps = max(steps, FEWEST_ALONE)
        phase = min(phase + 1, last_phase)
        kept = U0
        for k in range(U0, left, np.uint64(SIDE_BY_SIDE)):
            if coming < coming_end:
                for place in range(coming, min(coming + pace, coming_end), PLACES_A_LINE):
                    prefetch(words, place, U0)
                    prefetch(leaves, place, U0)
                coming += pace
            k_0, k_1, k_2, k_3 = walking[k], walking[k + U1], walking[k + U2], walking[k + U3]
            k_4, k_5, k_6, k_7 = walking[k + U4], walking[k + U5], walking[k + U6], walking[k + U7]
            at_0, at_1, at_2, at_3 = places[k_0], places[k_1], places[k_2], places[k_3]
            at_4, at_5, at_6, at_7 = places[k_4], places[k_5], places[k_6], places[k_7]
            base_0, base_1 = rows[k_0] * stride, rows[k_1] * stride
            base_2, base_3 = rows[k_2] * stride, rows[k_3] * stride
            base_4, base_5 = rows[k_4] * stride, rows[k_5] * stride
            base_6, base_7 = rows[k_6] * stride, rows[k_7] * stride
            for _ in range(steps):
                at_0 = next_place(trees, keys, shift, base_0, at_0)
                at_1 = next_place(trees, keys, shift, base_1, at_1)
                at_2 = next_place(trees, keys, shift, base_2, at_2)
                at_3 = next_place(trees, keys, shift, base_3, at_3)
                at_4 = next_place(trees, keys, shift, base_4, at_4)
                at_5 = next_place(trees, keys, shift, base_5, at_5)
                at_6 = next_place(trees, keys, shift, base_6, at_6)
                at_7 = next_place(trees, keys, shift, base_7, at_7)
            kept = _keep(trees, keys, places, walking, kept, k_0, at_0)
            kept = _keep(trees, keys, places, walking, kept, k_1, at_1)
            kept = _keep(trees, keys, places, walking, kept, k_2, at_2)
            kept = _keep(trees, keys, places, walking, kept, k_3, at_3)
            kept = _keep(trees, keys, places, walking, kept, k_4, at_4)
            kept = _keep(trees, keys, places, walking, kept, k_5, at_5)
            kept = _keep(trees, keys, places, walking, kept, k_6, at_6)
            kept = _keep(trees, keys, places, walking, kept, k_7, at_7)
        left = kept


@compiled
def _keep(trees, keys, places, walking, kept, k, place):
    """Note where walk ``k`` is, and list it behind the ``kept`` others if it has not arrived."""
    places[k] = place
    walking[kept] = k
    return kept + np.uint64(offset_at(trees, keys, place) != U0)


@compiled(nogil=True)
def fill_leaf_matrix(looping, keys, stride, shift, rows, places, walking, carried):
    """Fill ``carried[tree, row]`` with what the leaf carries that the row comes to.

    ``looping`` are the trees, what their leaves carry, their bounds, and phases for `find_leaves`; ``rows``,
    ``places`` and ``walking`` are scratch.
    """
    trees, leaves, bounds, phases = looping
    stride, shift = np.uint64(stride), np.uint64(shift)
    n_rows = carried.shape[1]
    for k in range(n_rows):
        rows[k] = k
    for tree in range(len(bounds)):
        find_leaves(trees, leaves, bounds, tree, phases, keys, stride, shift, rows, n_rows, places, walking)
        for k in range(n_rows):
            carried[tree, k] = leaves[places[k]]
