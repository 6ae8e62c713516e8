"""Asking trees for one of many classes until a strategy stops: a block of rows tree by tree, or one row.

``roots[i]`` is the tree to ask as number i. The strategy is these arrays, in this order:

``level, P``       as in `foregone._kernels.partitions`
``looks[i]``       whether any state after i votes stops; ``looks[0]`` is how many votes that takes at least
``by_top[i, t]``   what the most votes of any class, t, tell after i votes: NEVER, MAYBE or ALWAYS stops
``bits``           one for each state, the lowest of a byte first: whether it stops
``start[i]``       where the exceptions of level i begin, up to those of the level behind the last
``exceptions[k]``  a state and ``ceil(probability * 2**53)``, by state

What is known of a row are three lines of ``n_slots`` numbers in ``standing``, from ``at`` on: the classes
that were voted for, in the order in which they first were; how many votes each has; and these numbers in
falling order. What follows them is zero. Indices are unsigned and nothing is sliced: both would cost as much
as a walk through a tree.
"""

from typing import Any

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0, U1
from foregone._kernels.forest_random import bits_of_row, stop_draw, swap_in
from foregone._kernels.forest_walk import CLASS, LANES, add_trees
from foregone._kernels.looping_walk import find_leaves, keep_rows, list_rows, said_at, take_rows

U7, LOG_8 = np.uint64(7), np.uint64(3)
LINES = 3
NEVER, MAYBE, ALWAYS = 0, 1, 2
CERTAIN = 1 << 53  # a chance that is one


@inner
def count_vote(standing, at, n_slots, said):
    """Count one more vote."""
    slot = at
    while standing[slot + n_slots] != 0 and standing[slot] != said:
        slot += U1
    votes = standing[slot + n_slots]
    standing[slot] = said
    standing[slot + n_slots] = votes + 1
    place = at + n_slots + n_slots
    while standing[place] != votes:  # the first of equal counts grows, so that they stay sorted
        place += U1
    standing[place] = votes + 1


@inner
def leader_of(standing, at, n_slots, all_asked):
    """Return the class with the most votes, and how many.

    Of several it is the one that was voted for first, which says nothing about the names of classes, as
    strategies do not either; when all were asked, it is the first class, as in the full vote.
    """
    counts = at + n_slots
    best = counts
    for slot in range(counts + U1, counts + n_slots):
        if standing[slot] > standing[best] or (
            all_asked
            and standing[slot] == standing[best]
            and standing[slot - n_slots] < standing[best - n_slots]
        ):
            best = slot
    return standing[best - n_slots], standing[best]


@inner
def state_of(level, P, standing, at, n_slots, asked):
    """Return the number of the state, as `foregone._kernels.partitions.rank_of` has it."""
    place = at + n_slots + n_slots
    end = place + n_slots
    state = np.uint64(level[asked])
    k = np.uint64(P.shape[1] - 1)
    rest = np.uint64(asked)
    while place < end and standing[place] != 0:
        part = np.uint64(standing[place])
        state += np.uint64(P[rest, k, part - U1])
        rest -= part
        k -= U1
        place += U1
    return state


@inner
def find_exception(exceptions, low, high, state):
    """Return the chance to stop in a state, times 2**53; -1 if it is not among those to before ``high``."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if exceptions[middle, 0] < state:
            low = middle + 1
        else:
            high = middle
    return exceptions[low, 1] if low < end and exceptions[low, 0] == state else -1


@inner
def chance_to_stop(level, P, by_top, bits, start, exceptions, asked, standing, at, n_slots):
    """Return the chance that a row stops after so many votes, times 2**53: `CERTAIN` or more, or -1."""
    told = by_top[asked, np.uint64(standing[at + n_slots + n_slots])]
    if told != MAYBE:  # most rows are far from where it matters how the other votes are spread
        return CERTAIN if told == ALWAYS else -1
    state = state_of(level, P, standing, at, n_slots, asked)
    if (np.uint64(bits[state >> LOG_8]) >> (state & U7)) & U1:
        return CERTAIN
    return find_exception(exceptions, start[asked], start[asked + 1], np.int64(state))


@inner
def stops_here(
    level, P, by_top, bits, start, exceptions, seed,
    keys, shift, base, n_features, asked, standing, at, n_slots,
):  # fmt: skip
    """Whether the row at ``base`` stops after so many votes."""
    chance = chance_to_stop(level, P, by_top, bits, start, exceptions, asked, standing, at, n_slots)
    if chance < 0 or chance >= CERTAIN:
        return chance >= 0
    return stop_draw(seed, bits_of_row(keys, shift, base, n_features), asked) < chance


@inner
def finish_row(
    nodes, roots, level, P, looks, by_top, bits, start, exceptions, seed, own_order,
    keys, shift, base, n_features, memory, standing, n_slots,
):  # fmt: skip
    """Ask trees, at least one, until the row stops; return how many were asked.

    With ``own_order``, ``roots`` is shuffled on the way. ``memory`` needs no content, and room for
    ``2 * LANES + len(roots)`` words.
    """
    row = bits_of_row(keys, shift, base, n_features) if own_order else np.int64(0)
    asked = drawn = np.int64(0)
    at = started = walking = U0
    while True:
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = min(max(2 * asked + 1, looks[0]), len(roots))
        while own_order and drawn < end:
            swap_in(roots, drawn, seed, row)
            drawn += 1
        said, started, walking = add_trees(
            nodes, CLASS, roots, keys, shift, base, memory,
            np.uint64(asked), np.uint64(asked + 1), np.uint64(end), started, walking, np.uint16(0),
        )  # fmt: skip
        count_vote(standing, at, n_slots, said)
        asked += 1
        if looks[asked] and stops_here(
            level, P, by_top, bits, start, exceptions, seed,
            keys, shift, base, n_features, asked, standing, at, n_slots,
        ):  # fmt: skip
            return asked


def _row_kernel(key_type: Any, name: str) -> Any:
    def run_row(values, nodes, schedule):
        """Run one row, from its raw values on; return the class, how many were asked, and the class's votes.

        ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds the orders, the strategy, the
        seed, whether each row draws its own order, what rows may hold (see `load_keys`), the columns' rules
        and ``n_slots``.
        """
        keys = np.empty(2 * len(values), key_type)
        orders, rule, seed, own_order, takes, rules, n_slots = schedule
        n_orders, n_trees = orders.shape
        level, P, looks, by_top, bits, start, exceptions = rule
        n_slots = np.uint64(n_slots)
        shift = load_keys(values, keys, takes, rules)
        if shift == REFUSED:
            return 0, REFUSED, 0
        memory = np.empty(2 * LANES + n_trees, np.uint64)
        standing = np.zeros(LINES * n_slots, np.uint16)
        order = 0
        if n_orders > 1:
            order = dealt_order(seed, bits_of_row(keys, np.uint64(shift), U0, len(values)), n_orders)
        roots = orders[order]
        if own_order:
            roots = roots.copy()
        asked = finish_row(
            nodes, roots, level, P, looks, by_top, bits, start, exceptions, seed, own_order,
            keys, np.uint64(shift), U0, len(values), memory, standing, n_slots,
        )  # fmt: skip
        leader, votes = leader_of(standing, U0, n_slots, asked == n_trees)
        return np.int64(leader), asked, np.int64(votes)

    run_row.__name__ = name
    return compiled(run_row)


run_row_32, run_row_64 = _row_kernel(np.uint32, "run_row_32"), _row_kernel(np.uint64, "run_row_64")


@compiled
def run_block(
    rule, seed, n_slots,
    batch, keys, stride, shift, by_order, ends, rows, places, walking, answers, asked, votes,
):  # fmt: skip
    """Run a block of rows order by order: each tree over all undecided ones, so that it stays in the cache.

    ``batch`` is what `foregone._kernels.looping_walk` says. ``by_order`` lists the rows of each order; those
    of order k end at ``ends[k]``. ``rows``, ``places`` and ``walking`` are scratch.
    """
    level, P, looks, by_top, bits, start, exceptions = rule
    n_features = stride >> (1 - shift)
    stride, shift, n_slots = np.uint64(stride), np.uint64(shift), np.uint64(n_slots)
    n_rows, n_trees, size = len(answers), batch[2].shape[1], np.uint64(LINES) * n_slots
    standing = np.zeros(np.uint64(n_rows) * size, np.uint16)
    first = np.int64(0)
    for order in range(len(ends)):
        left = list_rows(batch, by_order, first, ends[order], rows)
        first = ends[order]
        for i in range(1, n_trees + 1):
            if left == 0:
                break
            find_leaves(batch, order, i - 1, shift, rows, left, places, walking)
            kept = 0
            for k in range(left):
                row = np.uint64(rows[k])
                at = row * size
                count_vote(standing, at, n_slots, said_at(batch, places[k]))
                rows[kept] = row
                if looks[i] and stops_here(
                    level, P, by_top, bits, start, exceptions, seed,
                    keys, shift, row * stride, n_features, i, standing, at, n_slots,
                ):  # fmt: skip
                    asked[row] = i
                    answers[row], votes[row] = leader_of(standing, at, n_slots, i == n_trees)
                else:
                    kept += 1
            left = kept
            keep_rows(batch, rows, left)


@compiled
def run_rows(nodes, roots, rule, seed, n_slots, keys, stride, shift, answers, asked, votes):
    """Run a block of rows, each in its own order."""
    level, P, looks, by_top, bits, start, exceptions = rule
    n_features = stride >> (1 - shift)
    stride, shift, n_slots = np.uint64(stride), np.uint64(shift), np.uint64(n_slots)
    own_roots = np.empty_like(roots)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    standing = np.empty(LINES * n_slots, np.uint16)
    own_order = np.bool_(1)  # not a constant, for which it would be compiled again
    for k in range(len(answers)):
        for tree in range(len(roots)):
            own_roots[tree] = roots[tree]
        for place in range(len(standing)):
            standing[place] = 0
        asked[k] = finish_row(
            nodes, own_roots, level, P, looks, by_top, bits, start, exceptions, seed, own_order,
            keys, shift, np.uint64(k) * stride, n_features, memory, standing, n_slots,
        )  # fmt: skip
        answers[k], votes[k] = leader_of(standing, U0, n_slots, asked[k] == len(roots))


@compiled
def add_class_votes(batch, shift, rows, places, walking, counts):
    """Add every tree's vote to ``counts[row, class]``; ``batch`` is that of `run_block`."""
    shift, n_rows = np.uint64(shift), len(counts)
    for k in range(n_rows):
        rows[k] = k
    take_rows(batch, rows, n_rows)
    for tree in range(batch[2].shape[1]):
        find_leaves(batch, 0, tree, shift, rows, n_rows, places, walking)
        for row in range(n_rows):
            counts[row, said_at(batch, places[row])] += 1
