"""Adding up scores until thresholds stop: a block of rows tree by tree, or one row on its own.

``roots[i]`` is the tree to ask as number i. After i trees a row stops when its running score is at most
``lower[i]`` or at least ``upper[i]``; where a strategy does not look they are infinite, and both are 0 at the
end. Every running score is the start plus one tree's score after another: nothing is ever added in any
other order.
"""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.forest_keys import REFUSED, load_keys
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_walk import LANES, SCORE, add_trees
from foregone._kernels.looping_walk import find_leaves

HEADER = 3  # numbers before the roots in a schedule that is one array
ALONE = 4  # with fewer rows than this left, trees are interleaved instead of rows


@compiled
def looks(lower, upper, asked):
    """Whether any score could stop after so many trees."""
    return lower[asked] > -np.inf or upper[asked] < np.inf


@compiled
def finish_row(nodes, roots, lower, upper, ahead, keys, shift, base, memory, asked, score):
    """Ask on from a running score until the row stops; return how many were asked, and the score then.

    ``memory`` needs no content, and room for ``2 * LANES + len(roots)`` words. ``ahead`` trees set out from
    the beginning, whether they will be needed or not.
    """
    n_trees = len(roots)
    started, walking = np.uint64(asked), U0
    while score > lower[asked] and score < upper[asked]:
        decision = asked + 1
        while not looks(lower, upper, decision):
            decision += 1
        # Trees set out before it is known whether they are needed, but no more than were needed so far.
        end = min(max(decision + asked, ahead), n_trees)
        score, started, walking = add_trees(
            nodes, SCORE, roots, keys, shift, base, memory,
            np.uint64(asked), np.uint64(decision), np.uint64(end), started, walking, score,
        )  # fmt: skip
        asked = decision
    return asked, score


@compiled
def _run_row(values, nodes, schedule, keys):
    n_trees, takes, ahead = schedule[0], schedule[1], schedule[2]
    memory = np.empty(2 * LANES + n_trees, np.uint64)
    lower_from = HEADER + n_trees
    upper_from = lower_from + n_trees + 1
    start_at = upper_from + n_trees + 1
    shift = load_keys(values, keys, takes, schedule[start_at + 1 :])
    if shift == REFUSED:
        return False, REFUSED, 0.0
    lower = schedule[lower_from:upper_from].view(np.float64)
    upper = schedule[upper_from:start_at].view(np.float64)
    start = schedule[start_at : start_at + 1].view(np.float64)[0]
    asked, score = finish_row(
        nodes, schedule[HEADER:lower_from], lower, upper, ahead,
        keys, np.uint64(shift), U0, memory, 0, start,
    )  # fmt: skip
    return score > lower[asked], asked, score


@compiled(nogil=True)
def run_row_32(values, nodes, schedule):
    """Run one row, from its raw values on; return the answer, how many were asked and the running score.

    ``asked`` is REFUSED when a value cannot be taken. ``schedule`` holds, in one array because each array
    costs a tenth of a microsecond to pass: the number of trees, what rows may hold, how many trees set
    out from the beginning; then roots, the bits of lower, upper and the start, and the columns' rules.
    """
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint32))


@compiled(nogil=True)
def run_row_64(values, nodes, schedule):
    """Do the same as `run_row_32` with keys of 64 bits."""
    return _run_row(values, nodes, schedule, np.empty(2 * len(values), np.uint64))


@compiled(nogil=True)
def run_block(
    nodes, roots, lower, upper, start, ahead,
    looping, keys, stride, shift, rows, places, walking, answers, asked, scores,
):  # fmt: skip
    """Run a block of rows in one order: each tree over all undecided rows, so that it stays in the cache.

    ``looping`` are the same trees with looping leaves, what those carry, their bounds in the order asked, and
    phases for `find_leaves`; ``rows``, ``places`` and ``walking`` are scratch.
    """
    trees, leaves, bounds, phases = looping
    stride, shift = np.uint64(stride), np.uint64(shift)
    left = len(scores)
    for k in range(left):
        rows[k] = k
        scores[k] = start
        asked[k] = 0
    if start <= lower[0] or start >= upper[0]:
        left = 0
    for i in range(len(roots)):
        if left < ALONE:
            memory = np.empty(2 * LANES + len(roots), np.uint64)
            for k in range(left):
                row = rows[k]
                asked[row], scores[row] = finish_row(
                    nodes, roots, lower, upper, ahead, keys, shift, row * stride, memory, i, scores[row]
                )
            break
        find_leaves(trees, leaves, bounds, i, phases, keys, stride, shift, rows, left, places, walking)
        if not looks(lower, upper, i + 1):
            for k in range(left):
                scores[rows[k]] += leaves[places[k]]
            continue
        low, high = lower[i + 1], upper[i + 1]
        kept = 0
        for k in range(left):
            row = rows[k]
            score = scores[row] + leaves[places[k]]
            scores[row], asked[row] = score, i + 1
            rows[kept] = row
            kept += np.int64((score > low) & (score < high))
        left = kept
    for k in range(len(scores)):
        answers[k] = scores[k] > lower[asked[k]]
