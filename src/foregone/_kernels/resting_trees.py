"""Many rows through one tree, in phases: eight walks side by side, so many steps each, and no branch to guess.

The trees are ones in which a walk that has arrived rests: a leaf is a node whose offset is 0 and whose key
no row's key exceeds, so one step more leaves it where it is. How many steps a walk takes then need not be
known beforehand, and a processor that guesses branches has none to guess wrong, which costs more than the
few steps that are taken for nothing. What the leaves carry is in an array of its own.

Where the trees that these are made from are compact (see `foregone._kernels.forest_nodes`), so are these,
and ready for keys of one ``shift``:

    key 32 | offset 23 | column 9

Wide nodes keep their format.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

from foregone._kernels.compiled_only import compiled_only
from foregone._kernels.forest_keys import ANY_CATEGORY, is_in_set
from foregone._kernels.forest_nodes import U0, U1, U2, U3, U4, U9, U32, by_category, payload, read_node, write_node

U5, U6, U7 = (np.uint64(number) for number in (5, 6, 7))
SIDE_BY_SIDE = 8  # walks at a time; a list of walks needs room for a multiple of it
COLUMN_MASK = np.uint64(0x1FF)
OFFSET_23 = np.uint64((1 << 23) - 1)
ALL_BITS = np.uint64(2**64 - 1)
MOST_PLACES = 1 << 23  # of a tree in which every offset fits

SHARED = -1  # instead of a place
SEEN_SHIFT = np.uint64(64 - 12)
SEEN = 1 << 12  # pairs of leaves that are remembered
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose bits look random


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
def fill_resting(nodes, keys, tree_start, shift, trees, leaves, start, by_level):
    """Fill trees to rest in, from packed ones with payloads; return how many places they take.

    The packed ones must be sound, and of ``keys`` only the type matters. ``trees`` and ``leaves`` have room
    for as many places; ``leaves[place]`` becomes the payload of a leaf. ``start[tree]`` becomes where each
    begins. ``shift`` is that of the keys to come. ``by_level[level]`` is increased by the number of leaves
    so many steps from their root, its last number by those further away.

    Leaves that are siblings are shared, behind the other nodes of their tree, by many of the parents whose
    leaves carry the same: fewer places for the cache to hold. Which parents do depends on what was seen last.
    """
    shift = np.uint64(shift)
    place_of = np.empty(np.diff(tree_start).max(), np.int64)
    level = np.empty(len(place_of), np.int64)  # below 0 for leaves
    seen_in, seen_at = np.full(SEEN, -1, np.int64), np.empty(SEEN, np.int64)
    seen_left, seen_right = np.empty(SEEN, np.uint64), np.empty(SEEN, np.uint64)
    free = 0
    last_level = len(by_level) - 1
    for tree in range(len(tree_start) - 1):
        first, size = tree_start[tree], tree_start[tree + 1] - tree_start[tree]
        start[tree] = free
        is_small = size < MOST_PLACES
        level[0] = 0
        place_of[:size] = 0
        for k in range(size):
            if level[k] < 0:
                by_level[min(-level[k], last_level)] += 1
                continue
            sides, offset = read_node(nodes, keys, np.uint64(first + k))[2:]
            below = level[k] + 1
            child = k + np.int64(offset)
            level[child] = -below if sides & U1 else below
            level[child + 1] = -below if sides & U4 else below
            if is_small and sides & U1 and sides & U4:
                place_of[child] = place_of[child + 1] = SHARED
        for k in range(size):
            if place_of[k] != SHARED:
                place_of[k] = free
                free += 1
        for k in range(size):
            if level[k] < 0:
                if place_of[k] != SHARED:
                    write_leaf(trees, leaves, keys, place_of[k], payload(nodes, np.uint64(first + k)), shift)
                continue
            key, column, _, offset = read_node(nodes, keys, np.uint64(first + k))
            child = k + np.int64(offset)
            to = place_of[child]
            if to == SHARED:
                left = np.uint64(payload(nodes, np.uint64(first + child)))
                right = np.uint64(payload(nodes, np.uint64(first + child + 1)))
                slot = (left * SPREAD + right) * SPREAD >> SEEN_SHIFT
                if seen_in[slot] != tree or seen_left[slot] != left or seen_right[slot] != right:
                    seen_in[slot], seen_left[slot], seen_right[slot] = tree, left, right
                    seen_at[slot] = free
                    write_leaf(trees, leaves, keys, free, left, shift)
                    write_leaf(trees, leaves, keys, free + 1, right, shift)
                    free += 2
                to = seen_at[slot]
            here = place_of[k]
            category = np.uint64(by_category(nodes, np.uint64(first + k)))
            write_resting(
                trees, keys, np.uint64(here), key, column, np.uint64(to - here), category, shift
            )
    return free


@njit(cache=True)
def write_leaf(trees, leaves, keys, place, carried, shift):
    """Write one leaf and what it carries."""
    write_resting(trees, keys, np.uint64(place), ALL_BITS, U0, U0, U0, shift)
    leaves[place] = carried


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
def arrive(trees, root, phases, keys, stride, shift, rows, n_rows, places, walking):
    """Fill ``places[k]`` with the leaf that ``rows[k]`` comes to, for the first ``n_rows`` of ``rows``.

    Every walk still under way takes ``phases[0]`` steps, then ``phases[1]``, and so on, the last number again
    and again. ``walking`` lists those walks, and needs no content.
    """
    left = np.uint64(n_rows)
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
        phase = min(phase + 1, last_phase)
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
