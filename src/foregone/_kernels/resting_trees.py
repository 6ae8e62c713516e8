"""Many rows through one tree, in phases: eight walks side by side, so many steps each, and no branch to guess.

The trees are ones in which a walk that has arrived rests: a leaf is a node whose offset is 0 and whose key
no row's key exceeds, so one step more leaves it where it is. How many steps a walk takes then need not be
known beforehand, and a processor that guesses branches has none to guess wrong, which costs more than the
few steps that are taken for nothing. What a leaf carries is still at the same place among the trees that
these were made from.

Where those are compact (see `foregone._kernels.forest_nodes`), so are these, and ready for keys of one
``shift``:

    key 32 | offset 23 | column 9

Wide nodes keep their format.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

from foregone._kernels.compiled_only import compiled_only
from foregone._kernels.forest_keys import ANY_CATEGORY, is_in_set
from foregone._kernels.forest_nodes import U0, U1, U2, U3, U4, U9, U32, by_category, read_node, write_node

U5, U6, U7 = (np.uint64(number) for number in (5, 6, 7))
SIDE_BY_SIDE = 8  # walks at a time; a list of walks needs room for a multiple of it
COLUMN_MASK = np.uint64(0x1FF)
OFFSET_23 = np.uint64((1 << 23) - 1)
ALL_BITS = np.uint64(2**64 - 1)


def write_resting(trees, keys, place, key, column, offset, category, shift):
    """Write one node of the trees to rest in."""
    compiled_only()


@overload(write_resting)
def _write_resting(trees, keys, place, key, column, offset, category, shift):
    if trees.ndim == 1:

        def write(trees, keys, place, key, column, offset, category, shift):
            trees[place] = (key << U32) | (offset << U9) | (column >> shift)

    else:

        def write(trees, keys, place, key, column, offset, category, shift):
            write_node(trees, keys, place, key, column, U0, offset, category)

    return write


@njit(cache=True)
def fill_resting(nodes, keys, tree_start, shift, trees):
    """Fill the trees to rest in from packed ones with payloads; return how deep they are on average.

    The packed ones must be sound. Of ``keys`` only the type matters. ``shift`` is that of the keys to come.
    """
    shift = np.uint64(shift)
    depth = np.zeros(len(nodes), np.int32)  # below 0 for leaves
    total = 0
    for tree in range(len(tree_start) - 1):
        deepest = 0
        for place in range(tree_start[tree], tree_start[tree + 1]):
            here = np.uint64(place)
            if depth[place] < 0:
                write_resting(trees, keys, here, ALL_BITS, U0, U0, U0, shift)
                continue
            key, column, sides, offset = read_node(nodes, keys, here)
            category = np.uint64(by_category(nodes, here))
            write_resting(trees, keys, here, key, column, offset, category, shift)
            below = depth[place] + 1
            deepest = max(deepest, below)
            child = place + np.int64(offset)
            depth[child] = -below if sides & U1 else below
            depth[child + 1] = -below if sides & U4 else below
        total += deepest
    return total / (len(tree_start) - 1)


def offset_at(trees, keys, place):
    """Return the offset of a node, 0 for a leaf."""
    compiled_only()


@overload(offset_at)
def _offset_at(trees, keys, place):
    if isinstance(trees, types.BaseTuple):
        return lambda trees, keys, place: read_node(trees[0], keys, place)[3]
    if trees.ndim == 1:
        return lambda trees, keys, place: (trees[place] >> U9) & OFFSET_23
    return lambda trees, keys, place: read_node(trees, keys, place)[3]


def ahead(trees, keys, shift, base, place):
    """Return where a walk goes from ``place``: on, or nowhere from a leaf."""
    compiled_only()


@overload(ahead)
def _ahead(trees, keys, shift, base, place):
    if isinstance(trees, types.BaseTuple):

        def go(trees, keys, shift, base, place):
            words, categories = trees
            key, column, _, offset = read_node(words, keys, place)
            own = np.uint64(keys[base + (column >> shift)])
            if by_category(words, place):
                right = np.uint64(not (own == ANY_CATEGORY or is_in_set(categories, key, own)))
            else:
                right = np.uint64(own > key)
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


@njit(cache=True)
def arrive(trees, root, steps, keys, stride, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the leaf that ``rows[k]`` comes to, for the first ``n_rows`` of ``rows``.

    A phase is ``steps`` steps for every walk still under way. ``walking`` lists those, and needs no content.
    """
    left = np.uint64(n_rows)
    for k in range(left):
        places[k] = root
        walking[k] = k
    while left:
        # The last walk fills up the group it is in, and is listed more than once if it goes on: to the same
        # leaf, at worst.
        for k in range(left, (left + U7) & ~U7):
            walking[k] = walking[left - U1]
        kept = U0
        for k in range(U0, left, np.uint64(SIDE_BY_SIDE)):
            k_0, k_1, k_2, k_3 = walking[k], walking[k + U1], walking[k + U2], walking[k + U3]
            k_4, k_5, k_6, k_7 = walking[k + U4], walking[k + U5], walking[k + U6], walking[k + U7]
            at_0, at_1, at_2, at_3 = places[k_0], places[k_1], places[k_2], places[k_3]
            at_4, at_5, at_6, at_7 = places[k_4], places[k_5], places[k_6], places[k_7]
            base_0, base_1 = rows[k_0] * stride, rows[k_1] * stride
            base_2, base_3 = rows[k_2] * stride, rows[k_3] * stride
            base_4, base_5 = rows[k_4] * stride, rows[k_5] * stride
            base_6, base_7 = rows[k_6] * stride, rows[k_7] * stride
            for _ in range(steps):
                at_0 = ahead(trees, keys, shift, base_0, at_0)
                at_1 = ahead(trees, keys, shift, base_1, at_1)
                at_2 = ahead(trees, keys, shift, base_2, at_2)
                at_3 = ahead(trees, keys, shift, base_3, at_3)
                at_4 = ahead(trees, keys, shift, base_4, at_4)
                at_5 = ahead(trees, keys, shift, base_5, at_5)
                at_6 = ahead(trees, keys, shift, base_6, at_6)
                at_7 = ahead(trees, keys, shift, base_7, at_7)
            kept = _keep(trees, keys, places, walking, kept, k_0, at_0)
            kept = _keep(trees, keys, places, walking, kept, k_1, at_1)
            kept = _keep(trees, keys, places, walking, kept, k_2, at_2)
            kept = _keep(trees, keys, places, walking, kept, k_3, at_3)
            kept = _keep(trees, keys, places, walking, kept, k_4, at_4)
            kept = _keep(trees, keys, places, walking, kept, k_5, at_5)
            kept = _keep(trees, keys, places, walking, kept, k_6, at_6)
            kept = _keep(trees, keys, places, walking, kept, k_7, at_7)
        left = kept


@njit(cache=True)
def _keep(trees, keys, places, walking, kept, k, place):
    """Note where walk ``k`` is, and list it behind the ``kept`` others if it has not arrived."""
    places[k] = place
    walking[kept] = k
    return kept + np.uint64(offset_at(trees, keys, place) != U0)
