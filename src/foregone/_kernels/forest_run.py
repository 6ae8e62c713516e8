"""Asking trees until a strategy stops: a block of rows tree by tree, or one row on its own.

``roots[i]`` is the tree to ask as number i; ``orders`` holds one line of roots for each order that rows are
dealt, see `foregone._kernels.forest_deal`. ``steps[i]`` holds lower, upper, the start of the exceptions and
yes_from of the state after i votes, for i up to N + 1; ``exceptions[k]`` holds yes and
``ceil(probability * 2**53)``, by step and yes.
"""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.forest_deal import deal_rows, dealt_order, list_rows
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_random import bits_of_row, stop_draw, swap_in
from foregone._kernels.forest_walk import LANES, VOTE, add_tree, add_trees

LOWER, UPPER, START, YES_FROM, STEP_SIZE = 0, 1, 2, 3, 4
HEADER = 5  # numbers before the roots in a schedule that is one array
ALONE = 4  # with fewer rows than this left, trees are interleaved instead of rows


@compiled
def draws_a_stop(steps, exceptions, seed, keys, shift, base, n_features, asked, yes):
    """Whether the row at ``base``, between the thresholds, stops by exception."""
    for k in range(steps[asked, START], steps[asked + 1, START]):
        if exceptions[k, 0] == yes:
            # Few rows ever come here, so only they have their values turned into bits.
            row = bits_of_row(keys, shift, base, n_features)
            return stop_draw(seed, row, asked) < exceptions[k, 1]
    return False


@compiled
def votes_before_a_stop(steps, exceptions, asked, yes):
    """Return how many more votes must come in before any stop is possible, whatever they are."""
    more = 1
    while True:
        i = asked + more
        if yes <= steps[i, LOWER] or yes + more >= steps[i, UPPER]:
            return more
        first, end = steps[i, START], steps[i + 1, START]
        if first < end and exceptions[first, 0] <= yes + more and exceptions[end - 1, 0] >= yes:
            return more
        more += 1


@compiled
def finish_row(
    nodes, roots, steps, exceptions, seed, own_order, keys, shift, base, n_features, memory, asked, yes
):
    """Ask on from state (asked, yes) until the row stops; return the state it stops in.

    With ``own_order``, ``roots`` is shuffled on the way. ``memory`` needs no content, and room for
    ``2 * LANES + len(roots)`` words.
    """
    row = bits_of_row(keys, shift, base, n_features) if own_order else np.int64(0)
    drawn = asked
    started, walking = np.uint64(asked), U0
    while True:
        if yes <= steps[asked, LOWER] or yes >= steps[asked, UPPER]:
            return asked, yes
        if draws_a_stop(steps, exceptions, seed, keys, shift, base, n_features, asked, yes):
            return asked, yes
        decision = asked + votes_before_a_stop(steps, exceptions, asked, yes)
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = min(decision + asked, len(roots))
        while own_order and drawn < end:
            swap_in(roots, drawn, seed, row)
            drawn += 1
        yes, started, walking = add_trees(
            nodes, VOTE, roots, keys, shift, base, memory,
            np.uint64(asked), np.uint64(decision), np.uint64(end), started, walking, yes,
        )  # fmt: skip
        asked = decision


@compiled
def _run_row(values, nodes, schedule, keys):
    n_features = len(values)
    n_trees, seed, n_orders, takes = schedule[0], schedule[1], schedule[2], schedule[3]
    end_of_roots = HEADER + max(n_orders, 1) * n_trees
    end_of_steps = end_of_roots + STEP_SIZE * (n_trees + 2)
    end_of_exceptions = end_of_steps + 2 * schedule[4]
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    shift = load_keys(values, keys, takes, schedule[end_of_exceptions:])
    if shift == REFUSED:
        return False, REFUSED, 0
    first = HEADER
    if n_orders > 1:
        row = bits_of_row(keys, np.uint64(shift), U0, n_features)
        first += n_trees * dealt_order(seed, row, n_orders)
    roots = schedule[first : first + n_trees]
    steps = schedule[end_of_roots:end_of_steps].reshape((-1, STEP_SIZE))
    exceptions = schedule[end_of_steps:end_of_exceptions].reshape((-1, 2))
    own_order = n_orders == 0
    if own_order:
        roots = roots.copy()
    asked, yes = finish_row(
        nodes, roots, steps, exceptions, seed, own_order, keys, np.uint64(shift), U0, n_features, memory, 0, 0
    )
    return yes >= steps[asked, YES_FROM], asked, yes


@compiled(nogil=True)
def run_row_32(values, nodes, schedule):
    """Run one row, from its raw values on; return the answer, votes asked and yes votes.

    ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds, in one array because each array
    costs a tenth of a microsecond to pass: the number of trees, the seed, the number of orders that rows
    are dealt (0: each row draws its own), what rows may hold (see `load_keys`), the number of exceptions;
    then the roots of each order, or those to draw from, steps, exceptions and the columns' rules.
    """
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint32))


@compiled(nogil=True)
def run_row_64(values, nodes, schedule):
    """Do the same as `run_row_32` with keys of 64 bits."""
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint64))


@compiled
def keep_undecided(steps, exceptions, seed, keys, stride, shift, n_features, i, rows, n_rows, asked, yes):
    """Drop the rows that stop after i votes from the front of ``rows``; return how many go on."""
    lower, upper = steps[i, LOWER], steps[i, UPPER]
    has_exceptions = steps[i, START] < steps[i + 1, START]
    if lower < 0 and upper > i and not has_exceptions:
        return n_rows
    kept = 0
    for k in range(n_rows):
        row = rows[k]
        asked[row] = i
        rows[kept] = row
        kept += np.int64((yes[row] > lower) & (yes[row] < upper))
    if has_exceptions:
        n_rows, kept = kept, 0
        for k in range(n_rows):
            row = rows[k]
            rows[kept] = row
            base = row * stride
            if not draws_a_stop(steps, exceptions, seed, keys, shift, base, n_features, i, yes[row]):
                kept += 1
    return kept


@compiled
def run_in_order(
    nodes, roots, steps, exceptions, seed, keys, stride, shift, n_features, rows, left, memory, asked, yes
):
    """Run the first ``left`` of ``rows``, whose votes are zero: each tree over all that are undecided."""
    for i in range(len(roots) + 1):
        left = keep_undecided(
            steps, exceptions, seed, keys, stride, shift, n_features, i, rows, left, asked, yes
        )
        if left < ALONE:
            for k in range(left):
                row = rows[k]
                asked[row], yes[row] = finish_row(
                    nodes, roots, steps, exceptions, seed, False,
                    keys, shift, row * stride, n_features, memory, i, np.int64(yes[row]),
                )  # fmt: skip
            break
        add_tree(nodes, np.uint64(roots[i]), keys, stride, shift, rows, left, yes)


@compiled(nogil=True)
def run_block(nodes, orders, steps, exceptions, seed, keys, stride, shift, rows, answers, asked, yes):
    """Run a block of rows order by order, so that a tree stays in the cache; ``rows`` is scratch."""
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    n_rows, (n_orders, n_trees) = len(yes), orders.shape
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    for k in range(n_rows):
        yes[k] = 0
    by_order, ends = deal_rows(seed, keys, stride, shift, n_features, n_rows, n_orders, rows)
    for order in range(n_orders):
        left = list_rows(order, by_order, ends, rows)
        run_in_order(
            nodes, orders[order], steps, exceptions, seed,
            keys, stride, shift, n_features, rows, left, memory, asked, yes,
        )  # fmt: skip
    for k in range(n_rows):
        answers[k] = yes[k] >= steps[asked[k], YES_FROM]


@compiled(nogil=True)
def run_rows(nodes, roots, steps, exceptions, seed, keys, stride, shift, answers, asked, yes):
    """Run a block of rows, each in its own order."""
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    own_roots = np.empty_like(roots)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    for k in range(len(yes)):
        own_roots[:] = roots
        asked[k], yes[k] = finish_row(
            nodes, own_roots, steps, exceptions, seed, True,
            keys, shift, np.uint64(k) * stride, n_features, memory, 0, 0,
        )  # fmt: skip
        answers[k] = yes[k] >= steps[asked[k], YES_FROM]


@compiled(nogil=True)
def fill_vote_matrix(nodes, roots, keys, stride, shift, rows, votes):
    """Fill ``votes[tree, row]`` with 0 or 1."""
    stride, shift = np.uint64(stride), np.uint64(shift)
    votes[:] = 0
    for k in range(votes.shape[1]):
        rows[k] = k
    for tree in range(len(roots)):
        add_tree(nodes, np.uint64(roots[tree]), keys, stride, shift, rows, votes.shape[1], votes[tree])
