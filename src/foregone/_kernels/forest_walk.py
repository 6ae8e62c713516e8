"""Rows through trees: from values to keys, and walks that overlap their cache misses.

``keys`` holds the rows of a block one after another, ``stride`` keys each, as order-preserving integers.
Without missing values a row has one key a feature and ``shift`` is 1: a node's column, shifted, is the
feature. With missing values it has two (``shift`` 0): they differ only for NaN, which is above every
threshold in the first and below every one in the second, for the nodes that send it left.
"""

import numpy as np
from numba import njit

from foregone._kernels.forest_nodes import U0, U1, U2, U3, read_node
from foregone._kernels.prefetch import prefetch

SIGN = np.uint32(0x80000000)
MAGNITUDE = np.uint32(0x7FFFFFFF)
INFINITE = 0x7F800000  # the magnitude bits of infinity; those of NaN are greater
NAN_RIGHT, NAN_LEFT = np.uint32(0xFFFFFFFF), np.uint32(0)

FINITE, MISSING, TOO_LARGE = 0, 1, 2

LANES = 16  # trees that one row walks through side by side
TREE, VOTE = np.uint64(LANES), np.uint64(2 * LANES)  # parts of their memory
UNKNOWN = U2  # instead of a vote
LINE = np.uint64(64)  # bytes of a cache line


@njit(cache=True, nogil=True)
def fill_keys(values, keys):
    """Fill the keys of finite values, rounded to float32; say whether some were missing or too large."""
    worst = np.uint32(0)
    for k in range(len(values)):
        bits = np.float32(values[k]).view(np.uint32)
        worst = max(worst, np.uint32(bits & MAGNITUDE))
        keys[k] = ~bits if bits >= SIGN else bits | SIGN
    if worst < INFINITE:
        return FINITE
    return TOO_LARGE if worst == INFINITE else MISSING


@njit(cache=True, nogil=True)
def fill_paired_keys(values, keys):
    """Fill two keys for each value, any of which may be NaN."""
    status = FINITE
    for k in range(len(values)):
        bits = np.float32(values[k]).view(np.uint32)
        key = ~bits if bits >= SIGN else bits | SIGN
        magnitude = bits & MAGNITUDE
        if magnitude > INFINITE:
            keys[2 * k] = NAN_RIGHT
            keys[2 * k + 1] = NAN_LEFT
            status = max(status, MISSING)
        else:
            keys[2 * k] = key
            keys[2 * k + 1] = key
            if magnitude == INFINITE:
                status = TOO_LARGE
    return status


@njit(cache=True)
def step(nodes, keys, shift, base, place):
    """Return where the walk goes from ``place``, and the bits of the side it took (2 or more: a leaf)."""
    key, column, sides, offset = read_node(nodes, place)
    right = np.uint64(np.uint64(keys[base + (column >> shift)]) > key)
    return place + offset + right, (sides >> (right + right)) & U3


@njit(cache=True)
def last_steps(nodes, keys, shift, base_0, base_1, base_2, base_3, at_0, at_1, at_2, at_3):
    """Take four walks to their leaves side by side; return the bits of each leaf."""
    side_0 = side_1 = side_2 = side_3 = np.uint64(0)
    while True:
        # A walk that has arrived stands still.
        next_0, side_0 = step(nodes, keys, shift, base_0, at_0)
        next_1, side_1 = step(nodes, keys, shift, base_1, at_1)
        next_2, side_2 = step(nodes, keys, shift, base_2, at_2)
        next_3, side_3 = step(nodes, keys, shift, base_3, at_3)
        if side_0 & side_1 & side_2 & side_3 >= U2:
            return side_0, side_1, side_2, side_3
        at_0 = next_0 if side_0 < U2 else at_0
        at_1 = next_1 if side_1 < U2 else at_1
        at_2 = next_2 if side_2 < U2 else at_2
        at_3 = next_3 if side_3 < U2 else at_3


@njit(cache=True)
def add_votes_of_tree(nodes, root, keys, stride, shift, rows, n_rows, yes):
    """Add one tree's vote to ``yes[row]`` for the first ``n_rows`` of ``rows``.

    Four rows walk at a time, and the next row takes the place of one that arrived, so that there are
    always four loads under way.
    """
    k = 0
    if n_rows >= 8:
        row_0, row_1, row_2, row_3 = rows[0], rows[1], rows[2], rows[3]
        base_0, base_1, base_2, base_3 = row_0 * stride, row_1 * stride, row_2 * stride, row_3 * stride
        at_0 = at_1 = at_2 = at_3 = root
        k = 4
        while k + 4 <= n_rows:
            at_0, side_0 = step(nodes, keys, shift, base_0, at_0)
            at_1, side_1 = step(nodes, keys, shift, base_1, at_1)
            at_2, side_2 = step(nodes, keys, shift, base_2, at_2)
            at_3, side_3 = step(nodes, keys, shift, base_3, at_3)
            if side_0 >= U2:
                yes[row_0] += np.int32(side_0 & U1)
                row_0 = rows[k]
                base_0, at_0 = row_0 * stride, root
                k += 1
            if side_1 >= U2:
                yes[row_1] += np.int32(side_1 & U1)
                row_1 = rows[k]
                base_1, at_1 = row_1 * stride, root
                k += 1
            if side_2 >= U2:
                yes[row_2] += np.int32(side_2 & U1)
                row_2 = rows[k]
                base_2, at_2 = row_2 * stride, root
                k += 1
            if side_3 >= U2:
                yes[row_3] += np.int32(side_3 & U1)
                row_3 = rows[k]
                base_3, at_3 = row_3 * stride, root
                k += 1
        side_0, side_1, side_2, side_3 = last_steps(
            nodes, keys, shift, base_0, base_1, base_2, base_3, at_0, at_1, at_2, at_3
        )
        yes[row_0] += np.int32(side_0 & U1)
        yes[row_1] += np.int32(side_1 & U1)
        yes[row_2] += np.int32(side_2 & U1)
        yes[row_3] += np.int32(side_3 & U1)
    while k < n_rows:
        # Fewer than four rows left: the last of them fills the empty places and is counted once.
        last = n_rows - 1
        row_0, row_1 = rows[k], rows[min(k + 1, last)]
        row_2, row_3 = rows[min(k + 2, last)], rows[min(k + 3, last)]
        side_0, side_1, side_2, side_3 = last_steps(
            nodes, keys, shift, row_0 * stride, row_1 * stride, row_2 * stride, row_3 * stride,
            root, root, root, root,
        )  # fmt: skip
        yes[row_0] += np.int32(side_0 & U1)
        if k + 1 < n_rows:
            yes[row_1] += np.int32(side_1 & U1)
        if k + 2 < n_rows:
            yes[row_2] += np.int32(side_2 & U1)
        if k + 3 < n_rows:
            yes[row_3] += np.int32(side_3 & U1)
        k += 4


@njit(cache=True)
def votes_of_trees(nodes, roots, keys, shift, base, memory, first, last, end, started, walking):
    """Return how many of the trees from ``first`` to before ``last`` vote yes on the one row at ``base``.

    Up to ``LANES`` trees walk side by side; each asks for its next node and goes on when its turn comes
    again. When one arrives the next sets out, even behind ``last``, as long as it is before ``end``: there
    are always walks under way, and the memory is never idle. ``memory`` keeps them from call to call:
    ``memory[lane]`` is where a walk stands, ``memory[TREE + lane]`` which tree it is in, and
    ``memory[VOTE + tree]`` the vote of a tree that has set out. ``started`` counts the trees that have,
    ``walking`` those under way; both are returned, too.
    """
    while walking < TREE and started < end:
        memory[walking], memory[TREE + walking] = roots[started], started
        memory[VOTE + started] = UNKNOWN
        started += U1
        walking += U1
    yes = 0
    while first < last:
        # It has set out: while some tree has not, every lane holds one without a vote, and those come first.
        while memory[VOTE + first] == UNKNOWN:
            lane = U0
            while lane < walking:
                place, side = step(nodes, keys, shift, base, memory[lane])
                prefetch(nodes, place, U0)
                prefetch(nodes, place, LINE)  # the heavier subtree goes on there
                if side >= U2:
                    memory[VOTE + memory[TREE + lane]] = side & U1
                    if started < end:
                        place, memory[TREE + lane] = np.uint64(roots[started]), started
                        memory[VOTE + started] = UNKNOWN
                        started += U1
                    else:
                        walking -= U1
                        place, memory[TREE + lane] = memory[walking], memory[TREE + walking]
                memory[lane] = place
                lane += U1
        yes += np.int64(memory[VOTE + first])
        first += U1
    return yes, started, walking
