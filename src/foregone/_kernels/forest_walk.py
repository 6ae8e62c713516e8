"""One row through many trees: walks that overlap their cache misses.

``nodes`` are the packed trees, or a pair of them and the words of their sets of categories. ``keys`` holds
the rows of a block one after another, ``stride`` keys each, see `foregone._kernels.forest_keys`. ``leaf`` is
what a leaf means, VOTE, CLASS, SCORE or WORD: a value without content, for whose type the kernel is compiled.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled_only, inner
from foregone._kernels.forest_keys import ANY_CATEGORY, is_in_set
from foregone._kernels.forest_nodes import U0, U1, U3, by_category, payload, read_node
from foregone._kernels.prefetch import prefetch

LANES = 16  # trees that one row walks through side by side
TREE, FOUND = np.uint64(LANES), np.uint64(2 * LANES)  # parts of their memory
NOTHING = np.uint64(2**64 - 1)  # instead of what a tree's walk found
LINE = np.uint64(64)  # bytes of a cache line
EIGHT = 8  # trees that `walk_eight` goes through
MOST_BY_EIGHT = 256  # places of a tree, on average, where that pays


class Vote(NamedTuple):
    """A leaf says yes or no, in the bits of its parent; yes adds 1 to a total."""


class ClassNumber(NamedTuple):
    """A leaf carries the number of a class, which takes the place of the one before."""


class Score(NamedTuple):
    """A leaf carries what it adds to a sum."""


class Word(NamedTuple):
    """A leaf carries 64 bits, which take the place of those before."""


VOTE, CLASS, SCORE, WORD = Vote(), ClassNumber(), Score(), Word()


@inner
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


@inner
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


@inner
def walk_eight(nodes, roots, first, keys, shift, base, places):
    """Fill ``places`` with the leaves that one row comes to in eight trees, from number ``first`` on.

    A walk that has arrived takes its last step again and again, so no branch depends on where one goes: the
    faster way through trees that the near caches hold.
    """
    at_0, at_1 = np.uint64(roots[first]), np.uint64(roots[first + 1])
    at_2, at_3 = np.uint64(roots[first + 2]), np.uint64(roots[first + 3])
    at_4, at_5 = np.uint64(roots[first + 4]), np.uint64(roots[first + 5])
    at_6, at_7 = np.uint64(roots[first + 6]), np.uint64(roots[first + 7])
    while True:
        to_0, side_0 = step(nodes, keys, shift, base, at_0)
        to_1, side_1 = step(nodes, keys, shift, base, at_1)
        to_2, side_2 = step(nodes, keys, shift, base, at_2)
        to_3, side_3 = step(nodes, keys, shift, base, at_3)
        to_4, side_4 = step(nodes, keys, shift, base, at_4)
        to_5, side_5 = step(nodes, keys, shift, base, at_5)
        to_6, side_6 = step(nodes, keys, shift, base, at_6)
        to_7, side_7 = step(nodes, keys, shift, base, at_7)
        if side_0 & side_1 & side_2 & side_3 & side_4 & side_5 & side_6 & side_7:
            break
        at_0, at_1 = (at_0 if side_0 else to_0), (at_1 if side_1 else to_1)
        at_2, at_3 = (at_2 if side_2 else to_2), (at_3 if side_3 else to_3)
        at_4, at_5 = (at_4 if side_4 else to_4), (at_5 if side_5 else to_5)
        at_6, at_7 = (at_6 if side_6 else to_6), (at_7 if side_7 else to_7)
    places[0], places[1], places[2], places[3] = to_0, to_1, to_2, to_3
    places[4], places[5], places[6], places[7] = to_4, to_5, to_6, to_7
