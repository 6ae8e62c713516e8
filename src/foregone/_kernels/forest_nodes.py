"""The node format of packed forests: writing it, reading it, checking it.

Only internal nodes are kept; the leaves are bits of their parents. A node holds

``key``     the threshold as an order-preserving integer: go right when the row's key is greater
``column``  ``2 * feature + missing_go_to_left``
``sides``   two bits for each side, left lowest: 0 another node follows, 2 a leaf that says no, 3 yes
``offset``  the next node is ``own place + offset + went right``

so siblings are neighbours, and a child always lies after its parent in the array: every walk ends.
Compact nodes are one 64-bit word each (a 1-D array), wide ones two (a 2-D array):

    compact   key 32 | offset 19 | sides 4 | column 9
    wide      key 32 | column 32,  offset 60 | sides 4

Indices are unsigned throughout: numba then leaves out Python's rule for negative ones.
"""

import numpy as np
from numba import njit

U0, U1, U2, U3, U4 = (np.uint64(number) for number in range(5))
U9, U13, U15, U32 = np.uint64(9), np.uint64(13), np.uint64(15), np.uint64(32)
COLUMN_MASK = np.uint64(0x1FF)
OFFSET_MASK = np.uint64(0x7FFFF)
LOW_32 = np.uint64(0xFFFFFFFF)


@njit(cache=True)
def read_node(nodes, place):
    """Return key, column, sides, offset of one node; the layout is chosen when this is compiled."""
    if nodes.ndim == 1:
        word = nodes[place]
        return word >> U32, word & COLUMN_MASK, (word >> U9) & U15, (word >> U13) & OFFSET_MASK
    else:  # noqa: RET505  # numba prunes whole branches
        word = nodes[place, 0]
        more = nodes[place, 1]
        return word >> U32, word & LOW_32, more & U15, more >> U4


@njit(cache=True)
def write_node(nodes, place, key, column, sides, offset):
    """Write one node, the inverse of `read_node`."""
    if nodes.ndim == 1:
        nodes[place] = (key << U32) | (offset << U13) | (sides << U9) | column
    else:
        nodes[place, 0] = (key << U32) | column
        nodes[place, 1] = (offset << U4) | sides


@njit(cache=True)
def place_nodes(left, right, weight, place, base):
    """Fill where internal nodes go and where their children start; return how many, and the largest offset.

    Depth first, the heavier subtree right behind its parent: a row's next node is then often in the cache
    line at hand. Leaves are the nodes with ``left < 0``; they, and what no row can reach, keep the -1 that
    ``place`` must come with.
    """
    stack = np.empty(len(left) + 1, np.int64)
    stack[0] = 0
    depth = 1
    place[0] = 0
    free = 1
    largest = 0
    while depth:
        depth -= 1
        node = stack[depth]
        a, b = left[node], right[node]
        has_a, has_b = left[a] >= 0, left[b] >= 0
        # A lone right child is reached by offset + 1, so its base lies one earlier.
        base[node] = free if has_a or not has_b else free - 1
        if has_a or has_b:
            largest = max(largest, base[node] - place[node])
        if has_a:
            place[a] = free
            free += 1
        if has_b:
            place[b] = free
            free += 1
        if has_a and has_b and weight[a] >= weight[b]:
            stack[depth] = b
            stack[depth + 1] = a
            depth += 2
        else:
            if has_a:
                stack[depth] = a
                depth += 1
            if has_b:
                stack[depth] = b
                depth += 1
    return free, largest


@njit(cache=True)
def pack_tree(left, right, column, key, says_yes, place, base, nodes):
    """Write one tree's nodes at the places that `place_nodes` gave them."""
    for node in range(len(left)):
        if place[node] < 0:
            continue
        a, b = left[node], right[node]
        sides = U0
        offset = np.uint64(base[node] - place[node])
        if left[a] < 0:
            sides |= U3 if says_yes[a] else U2
        if left[b] < 0:
            sides |= (U3 if says_yes[b] else U2) << U2
        if left[a] < 0 and left[b] < 0:
            offset = U0
        write_node(nodes, place[node], np.uint64(key[node]), np.uint64(column[node]), sides, offset)


@njit(cache=True)
def first_unsound_node(nodes, tree_start, n_features):
    """Return the first node that could lead a walk astray, or -1 when every walk stays inside and ends.

    ``tree_start`` must rise strictly from 0 to the number of nodes.
    """
    for tree in range(len(tree_start) - 1):
        end = np.uint64(tree_start[tree + 1])
        for place in range(tree_start[tree], tree_start[tree + 1]):
            here = np.uint64(place)
            _key, column, sides, offset = read_node(nodes, here)
            left, right = sides & U3, sides >> U2
            # No offset can wrap around: it has at most 60 bits.
            if column >= np.uint64(2 * n_features) or left == U1 or right == U1:
                return place
            if left == U0 and (offset == U0 or here + offset >= end):
                return place
            if right == U0 and here + offset + U1 >= end:
                return place
    return -1
