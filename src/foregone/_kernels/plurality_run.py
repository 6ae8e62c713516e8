"""Asking trees for one of many classes until a strategy stops: a block of rows tree by tree, or one row.

``roots[i]`` is the tree to ask as number i. ``rule`` is the strategy, a tuple of arrays:

``level, P``       as in `foregone._kernels.partitions`
``ahead``          a single number: how many votes must be in before any row can stop
``start[i]``       where the exceptions of level i begin; NO_STOP if no state of it stops
``bits``           one for each state, the lowest of a byte first: whether it stops
``exceptions[k]``  a state and ``ceil(probability * 2**53)``, by state

What is known of a row is three lines of ``standing``: the classes that were voted for, in the order in which
they first were; how many votes each has; and these numbers in falling order. What follows them is zero.
"""

import numpy as np
from numba import njit

from foregone._kernels.forest_keys import NO_RULES, REFUSED, load_keys
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_random import bits_of_row, stop_draw, swap_in
from foregone._kernels.forest_walk import LANES, add_tree, add_trees
from foregone._kernels.partitions import rank_of

CLASSES, COUNTS, SORTED, LINES = 0, 1, 2, 3
NO_STOP = -1
ALONE = 4  # with fewer rows than this left, trees are interleaved instead of rows


@njit(cache=True)
def count_vote(standing, said):
    """Count one more vote."""
    slot = 0
    while standing[COUNTS, slot] != 0 and standing[CLASSES, slot] != said:
        slot += 1
    votes = standing[COUNTS, slot]
    standing[CLASSES, slot] = said
    standing[COUNTS, slot] = votes + 1
    place = 0
    while standing[SORTED, place] != votes:  # the first of equal counts grows, so that they stay sorted
        place += 1
    standing[SORTED, place] = votes + 1


@njit(cache=True)
def leader_of(standing):
    """Return the class with the most votes, of several the one that was voted for first, and the votes."""
    best = 0
    for slot in range(1, standing.shape[1]):
        if standing[COUNTS, slot] > standing[COUNTS, best]:
            best = slot
    return standing[CLASSES, best], standing[COUNTS, best]


@njit(cache=True)
def stops_here(rule, seed, keys, shift, base, n_features, asked, standing):
    """Whether the row at ``base`` stops after so many votes; only for levels in which some state does."""
    level, P, _ahead, start, bits, exceptions = rule
    state = level[asked] + rank_of(standing[SORTED], asked, P)
    if (bits[state >> 3] >> (state & 7)) & 1:
        return True
    low, high = start[asked], len(exceptions)
    while low < high:
        middle = (low + high) >> 1
        if exceptions[middle, 0] < state:
            low = middle + 1
        else:
            high = middle
    if low == len(exceptions) or exceptions[low, 0] != state:
        return False
    row = bits_of_row(keys, shift, base, n_features)
    return stop_draw(seed, row, asked) < exceptions[low, 1]


@njit(cache=True)
def finish_row(nodes, roots, rule, seed, own_order, keys, shift, base, n_features, memory, asked, standing):
    """Ask on, at least one tree, until the row stops; return how many were asked.

    With ``own_order``, ``roots`` is shuffled on the way. ``memory`` needs no content, and room for
    ``2 * LANES + len(roots)`` words.
    """
    ahead, start = rule[2][0], rule[3]
    row = bits_of_row(keys, shift, base, n_features) if own_order else np.int64(0)
    drawn = asked
    started, walking = np.uint64(asked), U0
    while True:
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = min(max(2 * asked + 1, ahead), len(roots))
        while own_order and drawn < end:
            swap_in(roots, drawn, seed, row)
            drawn += 1
        said, started, walking = add_trees(
            nodes, roots, keys, shift, base, memory,
            np.uint64(asked), np.uint64(asked + 1), np.uint64(end), started, walking, np.uint16(0),
        )  # fmt: skip
        count_vote(standing, said)
        asked += 1
        if start[asked] != NO_STOP and stops_here(rule, seed, keys, shift, base, n_features, asked, standing):
            return asked


@njit(cache=True, nogil=True)
def run_row(values, nodes, roots, rule, seed, own_order, takes, n_slots):
    """Run one row, from its raw values on; return the class, how many were asked, and the class's votes.

    ``asked`` is REFUSED when a value cannot be taken (``takes``: see `load_keys`).
    """
    keys = np.empty(2 * len(values), np.uint32)
    shift = load_keys(values, keys, takes, NO_RULES)
    if shift == REFUSED:
        return np.uint16(0), REFUSED, np.uint16(0)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    standing = np.zeros((LINES, n_slots), np.uint16)
    if own_order:
        roots = roots.copy()
    asked = finish_row(
        nodes, roots, rule, seed, own_order, keys, np.uint64(shift), U0, len(values), memory, 0, standing
    )
    leader, votes = leader_of(standing)
    return leader, asked, votes


@njit(cache=True, nogil=True)
def run_block(nodes, roots, rule, seed, n_slots, keys, stride, shift, rows, answers, asked, votes):
    """Run a block of rows in one order: each tree over all undecided rows, so that it stays in the cache."""
    start = rule[3]
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    left = len(answers)
    standing = np.zeros((left, LINES, n_slots), np.uint16)
    said = np.empty(left, np.uint16)
    for k in range(left):
        rows[k] = k
    for i in range(len(roots)):
        if left < ALONE:
            memory = np.empty(2 * LANES + len(roots), np.uint64)
            for k in range(left):
                row = rows[k]
                asked[row] = finish_row(
                    nodes, roots, rule, seed, False,
                    keys, shift, row * stride, n_features, memory, i, standing[row],
                )  # fmt: skip
                answers[row], votes[row] = leader_of(standing[row])
            break
        add_tree(nodes, np.uint64(roots[i]), keys, stride, shift, rows, left, said)
        if start[i + 1] == NO_STOP:
            for k in range(left):
                count_vote(standing[rows[k]], said[rows[k]])
            continue
        kept = 0
        for k in range(left):
            row = rows[k]
            own = standing[row]
            count_vote(own, said[row])
            if stops_here(rule, seed, keys, shift, row * stride, n_features, i + 1, own):
                asked[row] = i + 1
                answers[row], votes[row] = leader_of(own)
            else:
                rows[kept] = row
                kept += 1
        left = kept


@njit(cache=True, nogil=True)
def run_rows(nodes, roots, rule, seed, n_slots, keys, stride, shift, answers, asked, votes):
    """Run a block of rows, each in its own order."""
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    own_roots = np.empty_like(roots)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    standing = np.empty((LINES, n_slots), np.uint16)
    for k in range(len(answers)):
        own_roots[:] = roots
        standing[:] = 0
        asked[k] = finish_row(
            nodes, own_roots, rule, seed, True,
            keys, shift, np.uint64(k) * stride, n_features, memory, 0, standing,
        )  # fmt: skip
        answers[k], votes[k] = leader_of(standing)


@njit(cache=True, nogil=True)
def add_class_votes(nodes, roots, keys, stride, shift, rows, counts):
    """Add every tree's vote to ``counts[row, class]``."""
    stride, shift = np.uint64(stride), np.uint64(shift)
    said = np.empty(len(counts), np.uint16)
    for k in range(len(counts)):
        rows[k] = k
    for tree in range(len(roots)):
        add_tree(nodes, np.uint64(roots[tree]), keys, stride, shift, rows, len(counts), said)
        for row in range(len(counts)):
            counts[row, said[row]] += 1
