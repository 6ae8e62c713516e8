"""Adding up scores of many classes until the lead stops: a block of rows voter by voter, or one row alone.

A voter is ``per_voter`` trees, and ``roots[i * per_voter + c]`` is tree c of the voter to ask as number i.
What its leaf carries is added to the sums of a row, ``n_classes`` numbers of ``sums`` from ``at`` on, as
``table`` says:

None               to the sum of class c, the number itself
one row            to the sum of the class with this number, the entry of that class
one row a line     to the sums of all classes, the line with this number

After i voters a row stops when the lead of its largest sum over the second largest is at least ``upper[i]``;
that is infinite where a strategy does not look, and 0 at the end. Every sum is the start plus one tree's
score after another: nothing is ever added in any other order.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.class_sums import leader_of
from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0, U1
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
def finish_row(
    nodes, table, roots, upper, ahead, per_voter, keys, shift, base, memory, asked, sums, at, n_classes
):  # fmt: skip
    """Ask on from running sums until the row stops; return how many voters were asked, and who leads then.

    ``memory`` needs no content, and room for ``2 * LANES + len(roots)`` words. ``ahead`` voters set out from
    the beginning, whether they will be needed or not.
    """
    n_voters = len(upper) - 1
    started, walking = np.uint64(asked * per_voter), U0
    while True:
        leader, lead = leader_of(sums, at, n_classes)
        if lead >= upper[asked]:
            return asked, leader
        if asked == n_voters:  # a lead that is no number
            return asked, leader
        decision = asked + 1
        while upper[decision] == np.inf:
            decision += 1
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = np.uint64(min(max(decision + asked, ahead), n_voters) * per_voter)
        for voter in range(asked, decision):
            for tree in range(per_voter):
                number = np.uint64(voter * per_voter + tree)
                word, started, walking = add_trees(
                    nodes, WORD, roots, keys, shift, base, memory,
                    number, number + U1, end, started, walking, U0,
                )  # fmt: skip
                add_leaf(sums, at, n_classes, np.uint64(tree), said_by(word, table), table)
        asked = decision


@compiled
def _run_row(values, nodes, schedule, keys):
    numbers, table = schedule
    n_trees, takes, ahead, per_voter, n_classes = (
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
    )  # fmt: skip
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    upper_from = HEADER + n_trees
    start_from = upper_from + n_trees // per_voter + 1
    sums = numbers[start_from : start_from + n_classes].view(np.float64).copy()
    shift = load_keys(values, keys, takes, numbers[start_from + n_classes :])
    if shift == REFUSED:
        return 0, REFUSED, sums
    asked, leader = finish_row(
        nodes, table, numbers[HEADER:upper_from], numbers[upper_from:start_from].view(np.float64),
        ahead, per_voter, keys, np.uint64(shift), U0, memory, 0, sums, U0, np.uint64(n_classes),
    )  # fmt: skip
    return np.int64(leader), asked, sums


@compiled(nogil=True)
def run_row_32(values, nodes, schedule):
    """Run one row, from its raw values on; return the class, how many voters were asked, and the sums.

    ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds one array and the table. In the
    array are the number of trees, what rows may hold, how many voters set out from the beginning, trees a
    voter and the number of classes; then roots, the bits of upper and of the start, and the columns' rules.
    """
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint32))


@compiled(nogil=True)
def run_row_64(values, nodes, schedule):
    """Do the same as `run_row_32` with keys of 64 bits."""
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint64))


@compiled(nogil=True)
def run_block(
    nodes, table, roots, upper, start, ahead, per_voter,
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
    flat = sums.reshape(-1)
    for k in range(left):
        rows[k] = k
        asked[k] = 0
        for number in range(n_classes):
            flat[k * n_classes + number] = start[number]
    first, lead = leader_of(start, U0, n_classes)
    if lead >= upper[0]:
        for k in range(left):
            answers[k] = first
        left = 0
    for voter in range(len(upper) - 1):
        if left < ALONE:
            memory = np.empty(2 * LANES + len(roots), np.uint64)
            for k in range(left):
                row = rows[k]
                asked[row], answers[row] = finish_row(
                    nodes, table, roots, upper, ahead, per_voter,
                    keys, shift, row * stride, memory, voter, flat, row * n_classes, n_classes,
                )  # fmt: skip
            break
        for tree in range(per_voter):
            number = voter * per_voter + tree
            find_leaves(
                trees, leaves, bounds, number, phases, keys, stride, shift, rows, left, places, walking
            )
            for k in range(left):
                add_leaf(flat, rows[k] * n_classes, n_classes, np.uint64(tree), leaves[places[k]], table)
        threshold = upper[voter + 1]
        if threshold == np.inf:
            continue
        kept = 0
        for k in range(left):
            row = rows[k]
            answers[row], lead = leader_of(flat, row * n_classes, n_classes)
            asked[row] = voter + 1
            rows[kept] = row
            kept += np.int64(lead < threshold)
        left = kept
