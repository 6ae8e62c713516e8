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

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.class_sums import leader_of, looks, stops_here
from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_walk import LANES, WORD, add_trees
from foregone._kernels.looping_walk import find_leaves

HEADER = 5  # numbers before the roots in a schedule that is one array
ALONE = 4  # with fewer rows than this left, trees are interleaved instead of rows


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


@compiled
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


@compiled
def finish_row(
    nodes, table, roots, upper, ahead, per_step, keys, shift, base, memory, listed, numbers,
    step, asked, sums, at, n_classes,
):  # fmt: skip
    """Ask on from running sums until the row stops; return how many trees were asked, and who leads then.

    ``memory`` needs no content, and room for ``2 * LANES + len(roots)`` words, ``listed`` and ``numbers`` for
    ``len(roots)``. Trees of ``ahead`` steps set out from the beginning, whether they will be needed or not.
    """
    n_steps = len(upper) // per_step - 1
    # Of the trees listed: up to which step, how many, how many have been asked, have set out, are under way.
    until, filled, done, started, walking = step, 0, 0, U0, U0
    stops, leader, dropped = False, U0, False
    if per_step == 1 or step > 0:
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


@compiled
def _run_row(values, nodes, schedule, keys):
    words, table = schedule
    n_trees, takes, ahead, per_step, n_classes = words[0], words[1], words[2], words[3], words[4]
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    listed, numbers = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64)
    upper_from = HEADER + n_trees
    start_from = upper_from + n_trees + per_step
    sums = words[start_from : start_from + n_classes].view(np.float64).copy()
    shift = load_keys(values, keys, takes, words[start_from + n_classes :])
    if shift == REFUSED:
        return 0, REFUSED, sums
    asked, leader = finish_row(
        nodes, table, words[HEADER:upper_from], words[upper_from:start_from].view(np.float64),
        ahead, per_step, keys, np.uint64(shift), U0, memory, listed, numbers, 0, 0, sums, U0,
        np.uint64(n_classes),
    )  # fmt: skip
    return np.int64(leader), asked, sums


@compiled(nogil=True)
def run_row_32(values, nodes, schedule):
    """Run one row, from its raw values on; return the class, how many trees were asked, and the sums.

    ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds one array and the table. In the
    array are the number of trees, what rows may hold, how many steps set out from the beginning, trees a
    step and the number of classes; then roots, the bits of upper and of the start, and the columns' rules.
    """
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint32))


@compiled(nogil=True)
def run_row_64(values, nodes, schedule):
    """Do the same as `run_row_32` with keys of 64 bits."""
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint64))


@compiled(nogil=True)
def run_block(
    nodes, table, roots, upper, start, ahead, per_step,
    looping, keys, stride, shift, rows, places, walking, answers, asked, sums,
):  # fmt: skip
    """Run a block of rows in one order: each tree over all undecided rows, so that it stays in the cache.

    ``looping`` are the same trees with looping leaves, what those carry, their bounds in the order asked, and
    phases for `find_leaves`; ``rows``, ``places`` and ``walking`` are scratch. ``sums`` has a row each.
    """
    trees, leaves, bounds, phases = looping
    stride, shift = np.uint64(stride), np.uint64(shift)
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
    for step in range(n_steps):
        if left < ALONE:
            memory = np.empty(2 * LANES + len(roots), np.uint64)
            listed, numbers = np.empty(len(roots), np.int64), np.empty(len(roots), np.int64)
            for k in range(left):
                row = rows[k]
                asked[row], answers[row] = finish_row(
                    nodes, table, roots, upper, ahead, per_step, keys, shift, row * stride,
                    memory, listed, numbers, step, asked[row], flat, row * n_classes, n_classes,
                )  # fmt: skip
            break
        for tree in range(per_step):
            number = np.uint64(tree)
            n_rows = left
            if per_step > 1:
                n_rows = 0
                for k in range(left):
                    in_race[n_rows] = rows[k]
                    n_rows += np.int64(flat[rows[k] * n_classes + number] > -np.inf)
                if n_rows == 0:
                    continue
            find_leaves(
                trees, leaves, bounds, step * per_step + tree, phases,
                keys, stride, shift, in_race, n_rows, places, walking,
            )  # fmt: skip
            for k in range(n_rows):
                row = in_race[k]
                add_leaf(flat, row * n_classes, n_classes, number, leaves[places[k]], table)
                asked[row] += 1
        if not looks(upper, step + 1, per_step):
            continue
        kept = 0
        for k in range(left):
            row = rows[k]
            stops, answers[row], _ = stops_here(flat, row * n_classes, n_classes, upper, step + 1, per_step)
            rows[kept] = row
            kept += np.int64(not stops)
        left = kept
