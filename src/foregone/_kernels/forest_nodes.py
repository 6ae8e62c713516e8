"""The node format of packed forests: writing it, reading it, checking it.

A node holds

``key``       the threshold as an order-preserving integer: go right when the row's key is greater
``column``    ``2 * feature + missing_go_to_left``
``sides``     two bits for each side, left lowest: 0 another node follows, 1 a leaf's payload follows,
              2 a leaf that says no, 3 a leaf that says yes
``offset``    what follows is at ``own place + offset + went right``
``category``  whether the key is the place of a set of categories instead, which go left

so siblings are neighbours, and a child always lies after its parent in the array: every walk ends. A forest
has leaves of one kind, votes (2 and 3), which are nothing but bits of their parents, or payloads: a 64-bit
word in the place of a node.

Compact nodes are one 64-bit word each (a 1-D array), wide ones two (a 2-D array). The type of a row's keys
says which wide format it is; a payload is in the first word:

    compact, 32-bit keys   key 32 | offset 19 | sides 4 | column 9
    wide, 32-bit keys      key 32 | column 32,  category 1 | offset 59 | sides 4
    wide, 64-bit keys      key 64,  category 1 | offset 27 | sides 4 | column 32

Indices are unsigned throughout: numba then leaves out Python's rule for negative ones.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner

U0, U1, U2, U3, U4 = (np.uint64(number) for number in range(5))
U9, U13, U15, U32, U36, U63 = (np.uint64(number) for number in (9, 13, 15, 32, 36, 63))
COLUMN_MASK = np.uint64(0x1FF)
OFFSET_MASK = np.uint64(0x7FFFF)
OFFSET_27 = np.uint64((1 << 27) - 1)
OFFSET_59 = np.uint64((1 << 59) - 1)
LOW_32 = np.uint64(0xFFFFFFFF)

UNREACHED, NODE, LEAF = 0, 1, 2


def read_node(nodes, keys, place):
    """Return key, column, sides, offset of one node; the layout is chosen when this is compiled."""
    compiled_only()


@overload(read_node)
def _read_node(nodes, keys, place):
    if nodes.ndim == 1:

        def read(nodes, keys, place):
            word = nodes[place]
            return word >> U32, word & COLUMN_MASK, (word >> U9) & U15, (word >> U13) & OFFSET_MASK

    elif keys.dtype == types.uint32:

        def read(nodes, keys, place):
            word = nodes[place, 0]
            more = nodes[place, 1]
            return word >> U32, word & LOW_32, more & U15, (more >> U4) & OFFSET_59

    else:

        def read(nodes, keys, place):
            more = nodes[place, 1]
            return nodes[place, 0], more & LOW_32, (more >> U32) & U15, (more >> U36) & OFFSET_27

    return read


def write_node(nodes, keys, place, key, column, sides, offset, category):
    """Write one node, the inverse of `read_node`."""
    compiled_only()


@overload(write_node)
def _write_node(nodes, keys, place, key, column, sides, offset, category):
    if nodes.ndim == 1:

        def write(nodes, keys, place, key, column, sides, offset, category):
            nodes[place] = (key << U32) | (offset << U13) | (sides << U9) | column

    elif keys.dtype == types.uint32:

        def write(nodes, keys, place, key, column, sides, offset, category):
            nodes[place, 0] = (key << U32) | column
            nodes[place, 1] = (category << U63) | (offset << U4) | sides

    else:

        def write(nodes, keys, place, key, column, sides, offset, category):
            nodes[place, 0] = key
            nodes[place, 1] = (category << U63) | (offset << U36) | (sides << U32) | column

    return write


def by_category(nodes, place):
    """Whether the key of a node is the place of a set of categories."""
    compiled_only()


@overload(by_category)
def _by_category(nodes, place):
    if nodes.ndim == 1:
        return lambda nodes, place: False
    return lambda nodes, place: (nodes[place, 1] >> U63) != U0


def payload(nodes, place):
    """Return the word that a leaf carries."""
    compiled_only()


@overload(payload)
def _payload(nodes, place):
    if nodes.ndim == 1:
        return lambda nodes, place: nodes[place]
    return lambda nodes, place: nodes[place, 0]


@compiled
def place_nodes(left, right, weight, place, base, payloads):
    """Fill where nodes go and where their children start; return how many places, and the largest offset.

    Depth first, the heavier subtree right behind its parent: a row's next node is then often in the cache
    line at hand. Leaves are the nodes with ``left < 0``. With ``payloads`` they have a place beside their
    sibling; else they, and in any case what no row can reach, keep the -1 that ``place`` must come with.
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
        keeps_a, keeps_b = has_a or payloads, has_b or payloads
        # A lone right child is reached by offset + 1, so its base lies one earlier.
        base[node] = free if keeps_a or not keeps_b else free - 1
        if keeps_a or keeps_b:
            largest = max(largest, base[node] - place[node])
        if keeps_a:
            place[a] = free
            free += 1
        if keeps_b:
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


@compiled
def first_unsound_node(nodes, keys, categories, tree_start, n_features):
    """Return the first node that could lead a walk astray, or -1 when every walk stays inside and ends.

    For trees whose leaves are votes. ``tree_start`` must rise strictly from 0 to the number of nodes; of
    ``keys`` only the type matters; ``categories`` are the words that sets of categories are made of.
    """
    for tree in range(len(tree_start) - 1):
        end = np.uint64(tree_start[tree + 1])
        for place in range(tree_start[tree], tree_start[tree + 1]):
            here = np.uint64(place)
            key, column, sides, offset = read_node(nodes, keys, here)
            left, right = sides & U3, sides >> U2
            # No offset can wrap around: it has at most 59 bits.
            if column >= np.uint64(2 * n_features) or left == U1 or right == U1:
                return place
            if left == U0 and (offset == U0 or here + offset >= end):
                return place
            if right == U0 and here + offset + U1 >= end:
                return place
            if by_category(nodes, here) and not _is_set(categories, key):
                return place
    return -1


@compiled
def first_unsound_place(nodes, keys, categories, tree_start, n_features, kinds):
    """Return the first place that could lead a walk astray, or -1 when all of them form trees.

    For trees whose leaves are payloads, which can be told from nodes only by whoever leads there:
    ``kinds[place]``, UNREACHED before, becomes NODE or LEAF. ``categories`` are the words that sets of
    categories are made of.
    """
    for tree in range(len(tree_start) - 1):
        end = np.uint64(tree_start[tree + 1])
        kinds[tree_start[tree]] = NODE
        for place in range(tree_start[tree], tree_start[tree + 1]):
            if kinds[place] == LEAF:
                continue
            here = np.uint64(place)
            key, column, sides, offset = read_node(nodes, keys, here)
            if kinds[place] == UNREACHED or column >= np.uint64(2 * n_features):
                return place
            if (sides & U3) > U1 or (sides >> U2) > U1 or offset == U0 or here + offset + U1 >= end:
                return place
            if by_category(nodes, here) and not _is_set(categories, key):
                return place
            child = place + np.int64(offset)
            if kinds[child] != UNREACHED or kinds[child + 1] != UNREACHED:
                return place
            kinds[child] = LEAF if sides & U1 else NODE
            kinds[child + 1] = LEAF if sides & U4 else NODE
    return -1


@inner
def _is_set(categories, start):
    """Whether a set of categories, its length first, begins at ``start`` and ends inside."""
    n_words = np.uint64(len(categories))
    if start >= n_words:
        return False
    length = np.uint64(categories[start])
    return length > U0 and length < n_words - start
