"""Asking trees for one of many classes until a strategy stops: a block of rows tree by tree, or one row.

``roots[i]`` is the tree to ask as number i; ``orders`` holds one line of roots for each order that rows are
dealt, see `foregone._kernels.forest_deal`. The strategy is these arrays, in this order:

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

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.forest_deal import deal_rows, dealt_order, list_rows
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0, U1
from foregone._kernels.forest_random import bits_of_row, stop_draw, swap_in
from foregone._kernels.forest_walk import CLASS, LANES, add_trees
from foregone._kernels.looping_walk import find_leaves

U7, LOG_8 = np.uint64(7), np.uint64(3)
LINES = 3
NEVER, MAYBE, ALWAYS = 0, 1, 2
ALONE = 4  # with fewer rows than this left, trees are interleaved instead of rows


@compiled
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


@compiled
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


@compiled
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


@compiled
def draws_a_stop(exceptions, low, high, state, seed, keys, shift, base, n_features, asked):
    """Whether the row at ``base`` stops by exception; those from ``low`` to before ``high`` are searched."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if exceptions[middle, 0] < state:
            low = middle + 1
        else:
            high = middle
    if low == end or exceptions[low, 0] != state:
        return False
    row = bits_of_row(keys, shift, base, n_features)
    return stop_draw(seed, row, asked) < exceptions[low, 1]


@compiled
def stops_here(
    level, P, by_top, bits, start, exceptions, seed,
    keys, shift, base, n_features, asked, standing, at, n_slots,
):  # fmt: skip
    """Whether the row at ``base`` stops after so many votes."""
    told = by_top[asked, np.uint64(standing[at + n_slots + n_slots])]
    if told != MAYBE:  # most rows are far from where it matters how the other votes are spread
        return told == ALWAYS
    state = state_of(level, P, standing, at, n_slots, asked)
    if (np.uint64(bits[state >> LOG_8]) >> (state & U7)) & U1:
        return True
    low, high = start[asked], start[asked + 1]
    return low < high and draws_a_stop(
        exceptions, low, high, np.int64(state), seed, keys, shift, base, n_features, asked
    )


@compiled
def finish_row(
    nodes, roots, level, P, looks, by_top, bits, start, exceptions, seed, own_order,
    keys, shift, base, n_features, memory, asked, standing, at, n_slots,
):  # fmt: skip
    """Ask on, at least one tree, until the row stops; return how many were asked.

    With ``own_order``, ``roots`` is shuffled on the way. ``memory`` needs no content, and room for
    ``2 * LANES + len(roots)`` words.
    """
    row = bits_of_row(keys, shift, base, n_features) if own_order else np.int64(0)
    drawn = asked
    started, walking = np.uint64(asked), U0
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


@compiled
def _run_row(values, nodes, schedule, keys):
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
        keys, np.uint64(shift), U0, len(values), memory, 0, standing, U0, n_slots,
    )  # fmt: skip
    leader, votes = leader_of(standing, U0, n_slots, asked == n_trees)
    return np.int64(leader), asked, np.int64(votes)


@compiled(nogil=True)
def run_row_32(values, nodes, schedule):
    """Run one row, from its raw values on; return the class, how many were asked, and the class's votes.

    ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds the orders, the strategy, the seed,
    whether each row draws its own order, what rows may hold (see `load_keys`), the columns' rules and
    ``n_slots``.
    """
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint32))


@compiled(nogil=True)
def run_row_64(values, nodes, schedule):
    """Do the same as `run_row_32` with keys of 64 bits."""
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint64))


@compiled
def run_in_order(
    nodes, roots, rule, seed, n_slots, trees, leaves, bounds, phases,
    keys, stride, shift, n_features, rows, left, places, walking, memory, standing, answers, asked, votes,
):  # fmt: skip
    """Run the first ``left`` of ``rows``: each tree over all that are undecided."""
    level, P, looks, by_top, bits, start, exceptions = rule
    size = np.uint64(LINES) * n_slots
    for i in range(len(roots)):
        if left < ALONE:
            for k in range(left):
                row = rows[k]
                asked[row] = finish_row(
                    nodes, roots, level, P, looks, by_top, bits, start, exceptions, seed, False,
                    keys, shift, row * stride, n_features, memory, i, standing, row * size, n_slots,
                )  # fmt: skip
                answers[row], votes[row] = leader_of(standing, row * size, n_slots, asked[row] == len(roots))
            break
        find_leaves(trees, leaves, bounds, i, phases, keys, stride, shift, rows, left, places, walking)
        if not looks[i + 1]:
            for k in range(left):
                count_vote(standing, rows[k] * size, n_slots, leaves[places[k]])
            continue
        kept = 0
        for k in range(left):
            row = rows[k]
            at = row * size
            count_vote(standing, at, n_slots, leaves[places[k]])
            if stops_here(
                level, P, by_top, bits, start, exceptions, seed,
                keys, shift, row * stride, n_features, i + 1, standing, at, n_slots,
            ):  # fmt: skip
                asked[row] = i + 1
                answers[row], votes[row] = leader_of(standing, at, n_slots, i + 1 == len(roots))
            else:
                rows[kept] = row
                kept += 1
        left = kept


@compiled(nogil=True)
def run_block(
    nodes, orders, rule, seed, n_slots,
    looping, keys, stride, shift, rows, places, walking, answers, asked, votes,
):  # fmt: skip
    """Run a block of rows order by order, so that a tree stays in the cache.

    ``looping`` are the same trees with looping leaves, what those carry, their bounds in each order, and
    phases for `find_leaves`; ``rows``, ``places`` and ``walking`` are scratch.
    """
    trees, leaves, bounds, phases = looping
    n_features = stride >> (1 - shift)
    stride, shift, n_slots = np.uint64(stride), np.uint64(shift), np.uint64(n_slots)
    n_rows, (n_orders, n_trees) = len(answers), orders.shape
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    standing = np.zeros(np.uint64(LINES * n_rows) * n_slots, np.uint16)
    by_order, ends = deal_rows(seed, keys, stride, shift, n_features, n_rows, n_orders, rows)
    for order in range(n_orders):
        left = list_rows(order, by_order, ends, rows)
        run_in_order(
            nodes, orders[order], rule, seed, n_slots, trees, leaves, bounds[order], phases,
            keys, stride, shift, n_features, rows, left, places, walking, memory, standing,
            answers, asked, votes,
        )  # fmt: skip


@compiled(nogil=True)
def run_rows(nodes, roots, rule, seed, n_slots, keys, stride, shift, answers, asked, votes):
    """Run a block of rows, each in its own order."""
    level, P, looks, by_top, bits, start, exceptions = rule
    n_features = stride >> (1 - shift)
    stride, shift, n_slots = np.uint64(stride), np.uint64(shift), np.uint64(n_slots)
    own_roots = np.empty_like(roots)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    standing = np.empty(LINES * n_slots, np.uint16)
    for k in range(len(answers)):
        own_roots[:] = roots
        standing[:] = 0
        asked[k] = finish_row(
            nodes, own_roots, level, P, looks, by_top, bits, start, exceptions, seed, True,
            keys, shift, np.uint64(k) * stride, n_features, memory, 0, standing, U0, n_slots,
        )  # fmt: skip
        answers[k], votes[k] = leader_of(standing, U0, n_slots, asked[k] == len(roots))


@compiled(nogil=True)
def add_class_votes(looping, keys, stride, shift, rows, places, walking, counts):
    """Add every tree's vote to ``counts[row, class]``; the trees are those of `run_block`."""
    trees, leaves, bounds, phases = looping
    stride, shift = np.uint64(stride), np.uint64(shift)
    n_rows = len(counts)
    for k in range(n_rows):
        rows[k] = k
    for tree in range(len(bounds)):
        find_leaves(trees, leaves, bounds, tree, phases, keys, stride, shift, rows, n_rows, places, walking)
        for row in range(n_rows):
            counts[row, leaves[places[row]]] += 1
