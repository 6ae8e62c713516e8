"""Adding up scores of many classes until the lead stops: a block of rows step by step, or one row alone.

A step asks one tree, which has a score for every class, or, where each class has trees of its own
(``per_step`` is the number of classes), one tree of each class that is not out. Tree c of step i is
``roots[i * per_step + c]``. What its leaf carries is added to the sums of a row, ``n_classes`` numbers of
``sums`` from ``at`` on, as ``table`` says:

None               to the sum of class c, the number itself
one row            to the sum of the class with this number, the entry of that class
one row a line     to the sums of all classes, the line with this number

``upper`` has one threshold a step, or ``n_classes`` of them where each class has trees of its own, see
`foregone._kernels.class_sums.stops_here`; they are infinite where a strategy does not look, and 0 at the end.
Every sum is the start plus one tree's score after another: nothing is ever added in any other order.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.class_sums import leader_of, looks, stops_here
from foregone._kernels.compiled import compiled, compiled_only, inner
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_walk import LANES, WORD, add_trees
from foregone._kernels.looping_walk import find_leaves, keep_rows, said_at, take_rows

HEADER = 5  # numbers before the roots in a schedule that is one array


def add_leaf(sums, at, n_classes, tree, said, table):
    """Add what the leaf of tree number ``tree`` of a voter says to the sums of a row."""
    compiled_only()


@overload(add_leaf)
def _add_leaf(sums, at, n_classes, tree, said, table):
    if isinstance(table, types.NoneType):

        def add(sums, at, n_classes, tree, said, table):
            sums[at + tree] += said

    elif table.ndim == 1:

        def add(sums, at, n_classes, tree, said, table):
            number = np.uint64(said)
            sums[at + number] += table[number]

    else:

        def add(sums, at, n_classes, tree, said, table):
            line = np.uint64(said)
            for number in range(n_classes):
                sums[at + number] += table[line, number]

    return add


def said_by(word, table):
    """Return what a leaf says, given its 64 bits."""
    compiled_only()


@overload(said_by)
def _said_by(word, table):
    if isinstance(table, types.NoneType):
        return lambda word, table: np.uint64(word).view(np.float64)
    return lambda word, table: word


@inner
def list_trees(roots, per_step, sums, at, first, end, listed, numbers, filled):
    """List the trees of steps from ``first`` to before ``end``, behind the ``filled`` ones.

    Those of classes that are out are left out. Returns how many are listed then; ``numbers`` are those of
    trees within their step.
    """
    for step in range(first, end):
        for tree in range(per_step):
            if per_step > 1 and sums[at + np.uint64(tree)] == -np.inf:
                continue
            listed[filled], numbers[filled] = roots[step * per_step + tree], tree
            filled += 1
    return filled


@inner
def finish_row(
    nodes, table, roots, upper, ahead, per_step, keys, shift, memory, listed, numbers, sums, n_classes
):
    """Ask trees until the row stops, given the sums before the first; return how many, and who leads then.

    ``memory`` needs no content, and room for ``2 * LANES + len(roots)`` words, ``listed`` and ``numbers`` for
    ``len(roots)``. Trees of ``ahead`` steps set out from the beginning, whether they will be needed or not.
    """
    at = base = U0
    step = asked = np.int64(0)
    n_steps = len(upper) // per_step - 1
    # Of the trees listed: up to which step, how many, how many have been asked, have set out, are under way.
    until, filled, done, started, walking = step, 0, 0, U0, U0
    stops, leader, dropped = False, U0, False
    if per_step == 1:
        stops, leader, _ = stops_here(sums, at, n_classes, upper, step, per_step)
    while not stops:
        if dropped:
            until, filled, done, started, walking = step, 0, 0, U0, U0
        decision = step + 1
        while not looks(upper, decision, per_step):
            decision += 1
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = min(max(decision + step, ahead), n_steps)
        if end > until:
            filled = list_trees(roots, per_step, sums, at, until, end, listed, numbers, filled)
            until = end
        n_needed = decision - step
        if per_step > 1:
            n_in = 0
            for number in range(n_classes):
                n_in += sums[at + number] > -np.inf
            n_needed *= n_in
        for _ in range(n_needed):
            word, started, walking = add_trees(
                nodes, WORD, listed, keys, shift, base, memory,
                np.uint64(done), np.uint64(done + 1), np.uint64(filled), started, walking, U0,
            )  # fmt: skip
            add_leaf(sums, at, n_classes, np.uint64(numbers[done]), said_by(word, table), table)
            done += 1
        asked += n_needed
        step = decision
        stops, leader, dropped = stops_here(sums, at, n_classes, upper, step, per_step)
    return asked, leader


def _row_kernel(key_type: Any, name: str) -> Any:
    def run_row(values, nodes, schedule):
        """Run one row, from its raw values on; return the class, how many trees were asked, and the sums.

        ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds one array, the table, and the
        columns' rules or None. In the array are the number of trees, what rows may hold, how many steps set
        out from the beginning, trees a step and the number of classes; then roots, the bits of upper and of
        the start.
        """
        keys = np.empty(2 * len(values), key_type)
        words, table, rules = schedule
        n_trees, takes, ahead, per_step, n_classes = words[0], words[1], words[2], words[3], words[4]
        memory = np.empty(2 * LANES + n_trees, np.uint64)
        listed, numbers = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64)
        upper_from = HEADER + n_trees
        start_from = upper_from + n_trees + per_step
        sums = words[start_from : start_from + n_classes].view(np.float64).copy()
        shift = load_keys(values, keys, takes, rules)
        if shift == REFUSED:
            return 0, REFUSED, sums
        asked, leader = finish_row(
            nodes, table, words[HEADER:upper_from], words[upper_from:start_from].view(np.float64),
            ahead, per_step, keys, np.uint64(shift), memory, listed, numbers, sums, np.uint64(n_classes),
        )  # fmt: skip
        return np.int64(leader), asked, sums

    run_row.__name__ = name
    return compiled(run_row)


run_row_32, run_row_64 = _row_kernel(np.uint32, "run_row_32"), _row_kernel(np.uint64, "run_row_64")


@compiled
def run_block(table, upper, start, per_step, batch, shift, rows, places, walking, answers, asked, sums):
    """Run a block of rows in one order: each tree over all undecided rows, so that it stays in the cache.

    ``batch`` is what `foregone._kernels.looping_walk` says; ``rows``, ``places`` and ``walking`` are scratch.
    ``sums`` has a row each.
    """
    shift = np.uint64(shift)
    left, n_classes = sums.shape
    n_classes = np.uint64(n_classes)
    n_steps = len(upper) // per_step - 1
    flat = sums.reshape(-1)
    in_race = np.empty_like(rows) if per_step > 1 else rows
    for k in range(left):
        rows[k] = k
        asked[k] = 0
        for number in range(n_classes):
            flat[k * n_classes + number] = start[number]
    first, lead = leader_of(start, U0, n_classes)
    if per_step == 1 and lead >= upper[0]:
        for k in range(left):
            answers[k] = first
        left = 0
    take_rows(batch, rows, left)
    for step in range(n_steps):
        if left == 0:
            break
        for tree in range(per_step):
            number = np.uint64(tree)
            n_rows = left
            if per_step > 1:
                n_rows = 0
                for k in range(left):
                    in_race[n_rows] = rows[k]
                    n_rows += np.int64(flat[np.uint64(rows[k]) * n_classes + number] > -np.inf)
                if n_rows == 0:
                    continue
            find_leaves(batch, 0, step * per_step + tree, shift, in_race, n_rows, places, walking)
            for k in range(n_rows):
                row = np.uint64(in_race[k])
                add_leaf(flat, row * n_classes, n_classes, number, said_at(batch, places[k]), table)
                asked[row] += 1
        if not looks(upper, step + 1, per_step):
            continue
        kept = 0
        for k in range(left):
            row = rows[k]
            at = np.uint64(row) * n_classes
            stops, answers[row], _ = stops_here(flat, at, n_classes, upper, step + 1, per_step)
            rows[kept] = row
            kept += np.int64(not stops)
        left = kept
        keep_rows(batch, rows, left)
