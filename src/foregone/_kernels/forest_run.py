"""Asking trees until a strategy stops: a block of rows tree by tree, or one row on its own.

``roots[i]`` is the tree to ask as number i. ``steps[i]`` holds lower, upper, the start of the exceptions and
yes_from of the state after i votes, for i up to N + 1; ``exceptions[k]`` holds yes and
``ceil(probability * 2**53)``, by step and yes.
"""

from typing import Any

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_keys import REFUSED, load_keys, numbers_of, rules_of
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_random import bits_of_row, stop_draw, swap_in
from foregone._kernels.forest_walk import LANES, VOTE, add_trees
from foregone._kernels.looping_walk import find_leaves, keep_rows, list_rows, said_at

LOWER, UPPER, START, YES_FROM, STEP_SIZE = 0, 1, 2, 3, 4
HEADER = 5  # numbers before the roots in a schedule that is one array


@inner
def draws_a_stop(steps, exceptions, seed, keys, shift, base, n_features, asked, yes):
    """Whether the row at ``base``, between the thresholds, stops by exception."""
    for k in range(steps[asked, START], steps[asked + 1, START]):
        if exceptions[k, 0] == yes:
            # Few rows ever come here, so only they have their values turned into bits.
            row = bits_of_row(keys, shift, base, n_features)
            return stop_draw(seed, row, asked) < exceptions[k, 1]
    return False


@inner
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


@inner
def finish_row(nodes, roots, steps, exceptions, seed, own_order, row, keys, shift, base, n_features, memory):
    """Ask trees until the row stops; return how many were asked, and how many of them said yes.

    With ``own_order``, ``roots`` is shuffled on the way, by the bits of the ``row``. ``memory`` needs no
    content, and room for ``2 * LANES + len(roots)`` words.
    """
    asked = yes = np.int64(0)
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


def _row_kernel(key_type: Any, name: str) -> Any:
    def run_row(values, nodes, packed):
        """Run one row, from its raw values on; return the answer, votes asked and yes votes.

        ``asked`` is REFUSED when a value cannot be taken. ``packed`` holds, in one array because each array
        costs a tenth of a microsecond to pass: the number of trees, the seed, the number of orders that rows
        are dealt (0: each row draws its own), what rows may hold (see `load_keys`), the number of exceptions;
        then the roots of each order, or those to draw from, steps and exceptions. If columns have rules, it
        is a pair of this array and these.
        """
        schedule, n_features = numbers_of(packed), len(values)
        n_trees, seed, n_orders, takes = schedule[0], schedule[1], schedule[2], schedule[3]
        end_of_roots = HEADER + max(n_orders, 1) * n_trees
        end_of_steps = end_of_roots + STEP_SIZE * (n_trees + 2)
        end_of_exceptions = end_of_steps + 2 * schedule[4]
        keys, memory = np.empty(2 * n_features, key_type), np.empty(2 * LANES + n_trees, np.uint64)
        shift = load_keys(values, keys, takes, rules_of(packed))
        if shift == REFUSED:
            return False, REFUSED, 0
        first, own_order = HEADER, n_orders == 0
        row = np.int64(0)
        if n_orders != 1:
            row = bits_of_row(keys, np.uint64(shift), U0, n_features)
        if n_orders > 1:
            first += n_trees * dealt_order(seed, row, n_orders)
        roots = schedule[first : first + n_trees]
        if own_order:
            roots = roots.copy()
        steps = schedule[end_of_roots:end_of_steps].reshape((-1, STEP_SIZE))
        exceptions = schedule[end_of_steps:end_of_exceptions].reshape((-1, 2))
        asked, yes = finish_row(
            nodes,
            roots,
            steps,
            exceptions,
            seed,
            own_order,
            row,
            keys,
            np.uint64(shift),
            U0,
            n_features,
            memory,
        )
        return yes >= steps[asked, YES_FROM], asked, yes

    run_row.__name__ = name
    return compiled(run_row)


run_row_32, run_row_64 = _row_kernel(np.uint32, "run_row_32"), _row_kernel(np.uint64, "run_row_64")


@inner
def drop_by_chance(steps, exceptions, seed, keys, stride, shift, n_features, i, rows, n_rows, yes):
    """Drop rows that stop by exception after i votes from the front of ``rows``; return how many go on."""
    if steps[i, START] == steps[i + 1, START]:
        return n_rows
    kept = 0
    for k in range(n_rows):
        row = rows[k]
        rows[kept] = row
        base = np.uint64(row) * stride
        kept += not draws_a_stop(steps, exceptions, seed, keys, shift, base, n_features, i, yes[row])
    return kept


@inner
def count_votes(batch, lower, upper, i, rows, n_rows, places, asked, yes):
    """Count one vote of each row, the i-th, and drop those that stop; return how many go on."""
    kept = 0
    for k in range(n_rows):
        row = rows[k]
        votes = yes[row] + np.int32(said_at(batch, places[k]))
        yes[row], asked[row] = votes, i
        rows[kept] = row
        kept += np.int64((votes > lower) & (votes < upper))
    return kept


@compiled
def run_block(
    steps, exceptions, seed,
    batch, keys, stride, shift, by_order, ends, rows, places, walking, answers, asked, yes,
):  # fmt: skip
    """Run a block of rows order by order: each tree over all undecided ones, so that it stays in the cache.

    ``batch`` is what `foregone._kernels.looping_walk` says. ``by_order`` lists the rows of each order; those
    of order k end at ``ends[k]``. ``rows``, ``places`` and ``walking`` are scratch.
    """
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    n_rows, n_trees = len(yes), len(steps) - 2
    for k in range(n_rows):
        yes[k] = asked[k] = 0
    start = np.int64(0)
    for order in range(len(ends)):
        left = list_rows(batch, by_order, start, ends[order], rows)
        start = ends[order]
        for i in range(n_trees + 1):
            lower, upper = steps[i, LOWER], steps[i, UPPER]
            if i > 0:
                find_leaves(batch, order, i - 1, shift, rows, left, places, walking)
                left = count_votes(batch, lower, upper, i, rows, left, places, asked, yes)
            elif lower >= 0 or upper <= 0:
                left = 0
            left = drop_by_chance(
                steps, exceptions, seed, keys, stride, shift, n_features, i, rows, left, yes
            )
            if left == 0:
                break
            keep_rows(batch, rows, left)
    for k in range(n_rows):
        answers[k] = yes[k] >= steps[asked[k], YES_FROM]


@compiled
def run_rows(nodes, roots, steps, exceptions, seed, keys, stride, shift, answers, asked, yes):
    """Run a block of rows, each in its own order."""
    n_features = stride >> (1 - shift)
    stride, shift = np.uint64(stride), np.uint64(shift)
    own_roots = np.empty_like(roots)
    memory = np.empty(2 * LANES + len(roots), np.uint64)
    own_order = np.bool_(1)  # not a constant, for which it would be compiled again
    for k in range(len(yes)):
        for tree in range(len(roots)):
            own_roots[tree] = roots[tree]
        base = np.uint64(k) * stride
        row = bits_of_row(keys, shift, base, n_features)
        asked[k], yes[k] = finish_row(
            nodes, own_roots, steps, exceptions, seed, own_order, row, keys, shift, base, n_features, memory
        )
        answers[k] = yes[k] >= steps[asked[k], YES_FROM]
