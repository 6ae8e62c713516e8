"""Rows through trees: walks that overlap their cache misses.

``nodes`` are the packed trees, or a pair of them and the words of their sets of categories. ``keys`` holds
the rows of a block one after another, ``stride`` keys each, see `foregone._kernels.forest_keys`. ``leaf`` is
what a leaf means, VOTE, CLASS, SCORE or WORD: a value without content, for whose type the kernel is compiled.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_keys import ANY_CATEGORY, is_in_set
from foregone._kernels.forest_nodes import U0, U1, U3, by_category, payload, read_node
from foregone._kernels.prefetch import prefetch

LANES = 16  # trees that one row walks through side by side
TREE, FOUND = np.uint64(LANES), np.uint64(2 * LANES)  # parts of their memory
NOTHING = np.uint64(2**64 - 1)  # instead of what a tree's walk found
LINE = np.uint64(64)  # bytes of a cache line


class Vote(NamedTuple):
    """A leaf says yes or no, in the bits of its parent; yes adds 1 to a total."""


class ClassNumber(NamedTuple):
    """A leaf carries the number of a class, which takes the place of the one before."""


class Score(NamedTuple):
    """A leaf carries what it adds to a sum."""


class Word(NamedTuple):
    """A leaf carries 64 bits, which take the place of those before."""


VOTE, CLASS, SCORE, WORD = Vote(), ClassNumber(), Score(), Word()


@compiled
def goes_right(words, categories, place, key, own):
    """Whether a row goes right at a node that may split by categories; ``own`` is the row's key."""
    if by_category(words, place):
        return not (own == ANY_CATEGORY or is_in_set(categories, key, own))
    return own > key


def step(nodes, keys, shift, base, place):
    """Return where the walk goes from ``place``, and the bits of the side it took (0: another node)."""
    compiled_only()


@overload(step)
def _step(nodes, keys, shift, base, place):
    if isinstance(nodes, types.Array):

        def take(nodes, keys, shift, base, place):
            key, column, sides, offset = read_node(nodes, keys, place)
            right = np.uint64(np.uint64(keys[base + (column >> shift)]) > key)
            return place + offset + right, (sides >> (right + right)) & U3

    else:

        def take(nodes, keys, shift, base, place):
            words, categories = nodes
            key, column, sides, offset = read_node(words, keys, place)
            own = np.uint64(keys[base + (column >> shift)])
            right = np.uint64(goes_right(words, categories, place, key, own))
            return place + offset + right, (sides >> (right + right)) & U3

    return take


def words_of(nodes):
    """Return the array that the trees are in."""
    compiled_only()


@overload(words_of)
def _words_of(nodes):
    return (lambda nodes: nodes) if isinstance(nodes, types.Array) else (lambda nodes: nodes[0])


def found(place, side, leaf):
    """Return what is to be remembered of a walk that took ``side`` to its leaf at ``place``."""
    compiled_only()


@overload(found)
def _found(place, side, leaf):
    if leaf.instance_class is Vote:
        return lambda place, side, leaf: side & U1
    return lambda place, side, leaf: place  # which need not be in the cache yet


def plus(total, nodes, word, leaf):
    """Return the total with what a walk found added."""
    compiled_only()


@overload(plus)
def _plus(total, nodes, word, leaf):
    if leaf.instance_class is Vote:
        return lambda total, nodes, word, leaf: total + np.int64(word)
    if leaf.instance_class is ClassNumber:
        return lambda total, nodes, word, leaf: np.uint16(payload(words_of(nodes), word))
    if leaf.instance_class is Word:
        return lambda total, nodes, word, leaf: np.uint64(payload(words_of(nodes), word))
    return lambda total, nodes, word, leaf: total + np.uint64(payload(words_of(nodes), word)).view(np.float64)


@compiled
def last_steps(
    nodes, keys, shift, base_0, base_1, base_2, base_3, base_4, base_5, at_0, at_1, at_2, at_3, at_4, at_5
):  # fmt: skip
    """Take six walks to their leaves side by side; return the place and the side of each leaf."""
    while True:
        # A walk that has arrived stands still.
        next_0, side_0 = step(nodes, keys, shift, base_0, at_0)
        next_1, side_1 = step(nodes, keys, shift, base_1, at_1)
        next_2, side_2 = step(nodes, keys, shift, base_2, at_2)
        next_3, side_3 = step(nodes, keys, shift, base_3, at_3)
        next_4, side_4 = step(nodes, keys, shift, base_4, at_4)
        next_5, side_5 = step(nodes, keys, shift, base_5, at_5)
        if side_0 & side_1 & side_2 & side_3 & side_4 & side_5:  # leaves of one kind have a bit in common
            return (
                next_0, side_0, next_1, side_1, next_2, side_2,
                next_3, side_3, next_4, side_4, next_5, side_5,
            )  # fmt: skip
        at_0 = at_0 if side_0 else next_0
        at_1 = at_1 if side_1 else next_1
        at_2 = at_2 if side_2 else next_2
        at_3 = at_3 if side_3 else next_3
        at_4 = at_4 if side_4 else next_4
        at_5 = at_5 if side_5 else next_5


@compiled
def add_tree(nodes, root, keys, stride, shift, rows, n_rows, totals):
    """Add one tree's votes to ``totals[row]`` for the first ``n_rows`` of ``rows``.

    Six rows walk at a time, and the next row takes the place of one that arrived, so that there are
    always six loads under way.
    """
    k = 0
    if n_rows >= 12:
        row_0, row_1, row_2, row_3, row_4, row_5 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
        base_0, base_1, base_2 = row_0 * stride, row_1 * stride, row_2 * stride
        base_3, base_4, base_5 = row_3 * stride, row_4 * stride, row_5 * stride
        at_0 = at_1 = at_2 = at_3 = at_4 = at_5 = root
        k = 6
        while k + 6 <= n_rows:
            at_0, side_0 = step(nodes, keys, shift, base_0, at_0)
            at_1, side_1 = step(nodes, keys, shift, base_1, at_1)
            at_2, side_2 = step(nodes, keys, shift, base_2, at_2)
            at_3, side_3 = step(nodes, keys, shift, base_3, at_3)
            at_4, side_4 = step(nodes, keys, shift, base_4, at_4)
            at_5, side_5 = step(nodes, keys, shift, base_5, at_5)
            if side_0:
                totals[row_0] += np.int64(side_0 & U1)
                row_0 = rows[k]
                base_0, at_0 = row_0 * stride, root
                k += 1
            if side_1:
                totals[row_1] += np.int64(side_1 & U1)
                row_1 = rows[k]
                base_1, at_1 = row_1 * stride, root
                k += 1
            if side_2:
                totals[row_2] += np.int64(side_2 & U1)
                row_2 = rows[k]
                base_2, at_2 = row_2 * stride, root
                k += 1
            if side_3:
                totals[row_3] += np.int64(side_3 & U1)
                row_3 = rows[k]
                base_3, at_3 = row_3 * stride, root
                k += 1
            if side_4:
                totals[row_4] += np.int64(side_4 & U1)
                row_4 = rows[k]
                base_4, at_4 = row_4 * stride, root
                k += 1
            if side_5:
                totals[row_5] += np.int64(side_5 & U1)
                row_5 = rows[k]
                base_5, at_5 = row_5 * stride, root
                k += 1
        at_0, side_0, at_1, side_1, at_2, side_2, at_3, side_3, at_4, side_4, at_5, side_5 = last_steps(
            nodes, keys, shift,
            base_0, base_1, base_2, base_3, base_4, base_5, at_0, at_1, at_2, at_3, at_4, at_5,
        )  # fmt: skip
        totals[row_0] += np.int64(side_0 & U1)
        totals[row_1] += np.int64(side_1 & U1)
        totals[row_2] += np.int64(side_2 & U1)
        totals[row_3] += np.int64(side_3 & U1)
        totals[row_4] += np.int64(side_4 & U1)
        totals[row_5] += np.int64(side_5 & U1)
    while k < n_rows:
        # Fewer than six rows left: the last of them fills the empty places and is counted once.
        last = n_rows - 1
        row_0, row_1, row_2 = rows[k], rows[min(k + 1, last)], rows[min(k + 2, last)]
        row_3, row_4, row_5 = rows[min(k + 3, last)], rows[min(k + 4, last)], rows[min(k + 5, last)]
        at_0, side_0, at_1, side_1, at_2, side_2, at_3, side_3, at_4, side_4, at_5, side_5 = last_steps(
            nodes, keys, shift,
            row_0 * stride, row_1 * stride, row_2 * stride,
            row_3 * stride, row_4 * stride, row_5 * stride,
            root, root, root, root, root, root,
        )  # fmt: skip
        totals[row_0] += np.int64(side_0 & U1)
        if k + 1 < n_rows:
            totals[row_1] += np.int64(side_1 & U1)
        if k + 2 < n_rows:
            totals[row_2] += np.int64(side_2 & U1)
        if k + 3 < n_rows:
            totals[row_3] += np.int64(side_3 & U1)
        if k + 4 < n_rows:
            totals[row_4] += np.int64(side_4 & U1)
        if k + 5 < n_rows:
            totals[row_5] += np.int64(side_5 & U1)
        k += 6


@compiled
def add_trees(nodes, leaf, roots, keys, shift, base, memory, first, last, end, started, walking, total):
    """Add what the trees from ``first`` to before ``last`` say about the one row at ``base``, one by one.

    Up to ``LANES`` trees walk side by side; each asks for its next node and goes on when its turn comes
    again. When one arrives the next sets out, even behind ``last``, as long as it is before ``end``: there
    are always walks under way, and the memory is never idle. ``memory`` keeps them from call to call:
    ``memory[lane]`` is where a walk stands, ``memory[TREE + lane]`` which tree it is in, and
    ``memory[FOUND + tree]`` what the walk of a tree that has set out found. ``started`` counts the trees
    that have, ``walking`` those under way; both are returned, after the total.
    """
    words = words_of(nodes)
    while walking < TREE and started < end:
        memory[walking], memory[TREE + walking] = roots[started], started
        memory[FOUND + started] = NOTHING
        started += U1
        walking += U1
    while first < last:
        # It has set out: while some tree has not, every lane holds one that found nothing yet, and those
        # come first.
        while memory[FOUND + first] == NOTHING:
            lane = U0
            while lane < walking:
                place, side = step(nodes, keys, shift, base, memory[lane])
                prefetch(words, place, U0)
                prefetch(words, place, LINE)  # the heavier subtree goes on there
                if side:
                    memory[FOUND + memory[TREE + lane]] = found(place, side, leaf)
                    if started < end:
                        place, memory[TREE + lane] = np.uint64(roots[started]), started
                        memory[FOUND + started] = NOTHING
                        started += U1
                    else:
                        walking -= U1
                        place, memory[TREE + lane] = memory[walking], memory[TREE + walking]
                memory[lane] = place
                lane += U1
        total = plus(total, nodes, memory[FOUND + first], leaf)
        first += U1
    return total, started, walking
