"""Trees whose leaves loop back to themselves: their format, and how packed trees with payloads become such.

A leaf is a node whose offset is 0 and whose key no row's key exceeds: a step from it leads back to it, so a
walk may take more steps than it needs. What leaves carry is in an array of its own.

Where the packed trees are compact (see `foregone._kernels.forest_nodes`), so are these, and ready for keys of
one ``shift``:

    key 32 | offset 23 | column 9

Wide nodes keep their format.

Leaves that are siblings have their place behind the other nodes of the tree, and parents whose leaves carry
the same share it: fewer places for the cache to hold. Only the pairs seen last are remembered, so not all of
them do.
"""

import numpy as np
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_nodes import U0, U1, U4, U9, U32, by_category, payload, read_node, write_node

COLUMN_MASK = np.uint64(0x1FF)
OFFSET_23 = np.uint64((1 << 23) - 1)
MOST_PLACES = 1 << 23  # of a tree that has room in an offset for the way to a pair behind all others
ALL_BITS = np.uint64(2**64 - 1)

SHARED = -1  # instead of a place
SEEN_BITS = 12
SEEN = 1 << SEEN_BITS  # pairs that are remembered
SPREAD, SPREAD_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - SEEN_BITS)


def write_looping(trees, keys, place, key, column, offset, category, shift):
    """Write one node of looping trees."""
    compiled_only()


@overload(write_looping)
def _write_looping(trees, keys, place, key, column, offset, category, shift):
    if trees.ndim == 1:

        def write(trees, keys, place, key, column, offset, category, shift):
            trees[place] = (key << U32) | (offset << U9) | (column >> shift)

    else:

        def write(trees, keys, place, key, column, offset, category, shift):
            write_node(trees, keys, place, key, column, U0, offset, category)

    return write


@compiled
def write_leaf(trees, leaves, keys, place, carried, shift):
    """Write one leaf, and what it carries."""
    write_looping(trees, keys, np.uint64(place), ALL_BITS, U0, U0, U0, shift)
    leaves[place] = carried


@compiled
def place_looping(nodes, keys, first, free, most_shared, level, place_of, by_level):
    """Fill the level and the new place of every place of a tree; return the first place that is free then.

    ``level`` is as long as the tree, which begins at ``first``. Levels of leaves are made negative, and
    counted in ``by_level``. Pairs of leaves that may be shared have no place yet; none may in a tree of more
    than ``most_shared`` places.
    """
    last_level = len(by_level) - 1
    shares = len(level) <= most_shared
    level[0] = 0
    place_of[:] = 0
    for k in range(len(level)):
        if place_of[k] != SHARED:
            place_of[k] = free
            free += 1
        if level[k] < 0:
            by_level[min(-level[k], last_level)] += 1
            continue
        _, _, sides, offset = read_node(nodes, keys, np.uint64(first + k))
        below = level[k] + 1
        child = k + np.int64(offset)
        level[child] = -below if sides & U1 else below
        level[child + 1] = -below if sides & U4 else below
        if shares and sides & U1 and sides & U4:
            place_of[child] = place_of[child + 1] = SHARED
    return free


@compiled
def fill_looping(nodes, keys, tree_start, shift, most_shared, trees, leaves, start, by_level):
    """Fill looping trees, from packed ones with payloads; return how many places they take.

    The packed ones must be sound, and of ``keys`` only the type matters. ``trees`` and ``leaves`` have room
    for as many places as those have; ``leaves[place]`` becomes what a leaf carries. ``start[tree]`` becomes
    where each begins. ``shift`` is that of the keys to come. Trees of more than ``most_shared`` places, which
    must be below MOST_PLACES, share no leaves. ``by_level[level]`` is increased by the number of leaves so
    many steps away from their root, its last number by those even further away.
    """
    shift = np.uint64(shift)
    most = np.diff(tree_start).max()
    levels, places = np.empty(most, np.int64), np.empty(most, np.int64)
    seen_in, seen_at = np.full(SEEN, -1, np.int64), np.empty(SEEN, np.int64)
    seen_left, seen_right = np.empty(SEEN, np.uint64), np.empty(SEEN, np.uint64)
    free = 0
    for tree in range(len(tree_start) - 1):
        first, size = tree_start[tree], tree_start[tree + 1] - tree_start[tree]
        level, place_of = levels[:size], places[:size]
        start[tree] = free
        free = place_looping(nodes, keys, first, free, most_shared, level, place_of, by_level)
        for k in range(size):
            here, there = place_of[k], np.uint64(first + k)
            if level[k] < 0:
                if here != SHARED:
                    write_leaf(trees, leaves, keys, here, payload(nodes, there), shift)
                continue
            key, column, _, offset = read_node(nodes, keys, there)
            to = place_of[k + np.int64(offset)]
            if to == SHARED:
                left = np.uint64(payload(nodes, there + offset))
                right = np.uint64(payload(nodes, there + offset + U1))
                slot = ((left * SPREAD + right) * SPREAD) >> SPREAD_SHIFT
                if seen_in[slot] != tree or seen_left[slot] != left or seen_right[slot] != right:
                    seen_in[slot], seen_left[slot], seen_right[slot] = tree, left, right
                    seen_at[slot] = free
                    write_leaf(trees, leaves, keys, free, left, shift)
                    write_leaf(trees, leaves, keys, free + 1, right, shift)
                    free += 2
                to = seen_at[slot]
            category = np.uint64(by_category(nodes, there))
            write_looping(trees, keys, np.uint64(here), key, column, np.uint64(to - here), category, shift)
    return free
