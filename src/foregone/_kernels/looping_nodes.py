"""Trees whose leaves point to themselves: their formats, and the conversion of packed trees.

A leaf is a node with offset 0 and a key that no row's key exceeds: a step from it leads back to it, so a walk
may overshoot. The column of a leaf holds its vote; the contents of other leaves are in a separate array.
Trees have one of these formats, and rows hold what they compare:

    packed trees             looping trees                          a row has
    compact                  column 9 | offset 23 | key 32          keys, of one ``shift``
    wide                     the same as the packed ones            keys
    either, without sets     offset 16 | column 8 | rank 8          ranks, see `foregone._kernels.row_ranks`

Leaves that are siblings have their place behind the other nodes of the tree, and parents whose leaves carry
the same share it: fewer places for the cache to hold. Of other leaves than votes only the pairs seen last are
remembered, so not all of them do.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner
from foregone._kernels.forest_nodes import (
    LOW_32,
    U0,
    U1,
    U2,
    U3,
    U4,
    U32,
    by_category,
    payload,
    read_node,
    write_node,
)

U8, U16, U55 = np.uint64(8), np.uint64(16), np.uint64(55)
OFFSET_23 = np.uint64((1 << 23) - 1)
LOW_8 = np.uint64(0xFF)
MOST_PLACES = 1 << 23  # of a tree that has room in an offset for the way to a pair behind all others
ALL_BITS = np.uint64(2**64 - 1)

SHARED = -1  # instead of a place
LEAF_ON_THE_LEFT, LEAF_ON_THE_RIGHT = 1, 2
SEEN_BITS = 12
SEEN = 1 << SEEN_BITS  # pairs that are remembered
SPREAD, SPREAD_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - SEEN_BITS)


def write_looping(trees, keys, place, key, column, offset, category, shift):
    """Write one node of looping trees that are compared with keys."""
    compiled_only()


@overload(write_looping)
def _write_looping(trees, keys, place, key, column, offset, category, shift):
    if trees.ndim == 1:

        def write(trees, keys, place, key, column, offset, category, shift):
            trees[place] = ((column >> shift) << U55) | (offset << U32) | (key & LOW_32)

    else:

        def write(trees, keys, place, key, column, offset, category, shift):
            write_node(trees, keys, place, key, column, U0, offset, category)

    return write


@inner
def write_vote(trees, keys, place, said):
    """Write a leaf that votes: its column is the vote, whatever row that reads a key of."""
    write_looping(trees, keys, np.uint64(place), ALL_BITS, said, U0, U0, U0)


@inner
def place_votes(nodes, keys, first, free, beside, place_of):
    """Fill the new place of every node of a tree whose leaves are votes; return the first that is free then.

    ``beside`` and ``place_of`` are as long as the tree, which begins at ``first``. ``beside`` becomes on
    which side a node has a leaf for a sibling, if it has.
    """
    for k in range(len(place_of)):
        beside[k] = 0
    for k in range(len(place_of)):
        _, _, sides, offset = read_node(nodes, keys, np.uint64(first + k))
        child = k + np.int64(offset)
        if sides & U3 == U0 and sides >> U2 != U0:
            beside[child] = LEAF_ON_THE_RIGHT
        if sides & U3 != U0 and sides >> U2 == U0:
            beside[child + 1] = LEAF_ON_THE_LEFT
        place_of[k] = free + np.int64(beside[k] == LEAF_ON_THE_LEFT)
        free += 1 + np.int64(beside[k] != 0)
    return free


@compiled
def fill_looping_votes(nodes, keys, tree_start, most, shift, trees, start):
    """Fill looping trees, from packed ones whose leaves are votes; return how many places they take.

    The packed ones must be sound and have at most ``most`` nodes each; of ``keys`` only the type matters.
    ``trees`` has room for two places for each node and 8 for each tree. ``start[tree]`` becomes where each
    begins. ``shift`` is that of the keys to come.
    """
    shift = np.uint64(shift)
    sides_of, places = np.empty(most, np.int64), np.empty(most, np.int64)
    pairs = np.empty(4, np.int64)  # where a pair of leaves is that says this and that, or SHARED
    free = np.int64(0)
    for tree in range(len(tree_start) - 1):
        first, size = tree_start[tree], tree_start[tree + 1] - tree_start[tree]
        beside, place_of = sides_of[:size], places[:size]
        start[tree] = free
        free = place_votes(nodes, keys, first, free, beside, place_of)
        for kind in range(4):
            pairs[kind] = SHARED
        for k in range(size):
            here, there = place_of[k], np.uint64(first + k)
            key, column, sides, offset = read_node(nodes, keys, there)
            left, right = sides & U3, sides >> U2
            child = k + np.int64(offset)
            if left != U0 and right != U0:
                kind = np.int64((left & U1) + U2 * (right & U1))
                if pairs[kind] == SHARED:
                    pairs[kind] = free
                    write_vote(trees, keys, free, left & U1)
                    write_vote(trees, keys, free + 1, right & U1)
                    free += 2
                to = pairs[kind]
            elif left != U0:
                to = place_of[child + 1] - 1
                write_vote(trees, keys, to, left & U1)
            else:
                to = place_of[child]
                if right != U0:
                    write_vote(trees, keys, to + 1, right & U1)
            category = np.uint64(by_category(nodes, there))
            write_looping(trees, keys, np.uint64(here), key, column, np.uint64(to - here), category, shift)
    return free


@inner
def write_leaf(trees, leaves, keys, place, carried):
    """Write one leaf, and what it carries."""
    write_looping(trees, keys, np.uint64(place), ALL_BITS, U0, U0, U0, U0)
    leaves[place] = carried


@inner
def place_looping(nodes, keys, first, free, most_shared, kinds, place_of):
    """Fill the new place of every place of a tree with payloads; return the first place that is free then.

    ``kinds`` and ``place_of`` are as long as the tree, which begins at ``first``; ``kinds`` becomes whether a
    place holds a leaf. Pairs of leaves that may be shared have no place yet; none may in a tree of more than
    ``most_shared`` places.
    """
    shares = len(kinds) <= most_shared
    for k in range(len(kinds)):
        kinds[k] = False
        place_of[k] = 0
    for k in range(len(kinds)):
        if place_of[k] != SHARED:
            place_of[k] = free
            free += 1
        if kinds[k]:
            continue
        _, _, sides, offset = read_node(nodes, keys, np.uint64(first + k))
        child = k + np.int64(offset)
        kinds[child], kinds[child + 1] = sides & U1 != U0, sides & U4 != U0
        if shares and kinds[child] and kinds[child + 1]:
            place_of[child] = place_of[child + 1] = SHARED
    return free


@compiled
def fill_looping(nodes, keys, tree_start, most, shift, most_shared, trees, leaves, start):
    """Fill looping trees, from packed ones with payloads; return how many places they take.

    The packed ones must be sound and have at most ``most`` places each; of ``keys`` only the type matters.
    ``trees`` and ``leaves`` have room for as many places as those have; ``leaves[place]`` becomes what a leaf
    carries. ``start[tree]`` becomes where each begins. ``shift`` is that of the keys to come. Trees of more
    than ``most_shared`` places, which must be below MOST_PLACES, share no leaves.
    """
    shift = np.uint64(shift)
    all_kinds, places = np.empty(most, np.bool_), np.empty(most, np.int64)
    seen_in, seen_at = np.empty(SEEN, np.int64), np.empty(SEEN, np.int64)
    seen_left, seen_right = np.empty(SEEN, np.uint64), np.empty(SEEN, np.uint64)
    for slot in range(SEEN):
        seen_in[slot] = -1
    free = np.int64(0)
    for tree in range(len(tree_start) - 1):
        first, size = tree_start[tree], tree_start[tree + 1] - tree_start[tree]
        kinds, place_of = all_kinds[:size], places[:size]
        start[tree] = free
        free = place_looping(nodes, keys, first, free, most_shared, kinds, place_of)
        for k in range(size):
            here, there = place_of[k], np.uint64(first + k)
            if kinds[k]:
                if here != SHARED:
                    write_leaf(trees, leaves, keys, here, payload(nodes, there))
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
                    write_leaf(trees, leaves, keys, free, left)
                    write_leaf(trees, leaves, keys, free + 1, right)
                    free += 2
                to = seen_at[slot]
            category = np.uint64(by_category(nodes, there))
            write_looping(trees, keys, np.uint64(here), key, column, np.uint64(to - here), category, shift)
    return free


def read_looping(trees, keys, place):
    """Return key, column and offset of one node of looping trees; the format is chosen when compiled."""
    compiled_only()


@overload(read_looping)
def _read_looping(trees, keys, place):
    if trees.ndim == 2:

        def read(trees, keys, place):
            key, column, _, offset = read_node(trees, keys, place)
            return key, column, offset

    elif trees.dtype == types.uint32:

        def read(trees, keys, place):
            word = np.uint64(trees[place])
            return word & LOW_8, (word >> U8) & LOW_8, word >> U16

    else:

        def read(trees, keys, place):
            word = trees[place]
            return word & LOW_32, word >> U55, (word >> U32) & OFFSET_23

    return read
