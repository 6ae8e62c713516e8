"""Adding up scores until thresholds stop: a block of rows tree by tree, or one row on its own.

``roots[i]`` is the tree to ask as number i. After i trees a row stops when its running score is at most
``lower[i]`` or at least ``upper[i]``; where a strategy does not look they are infinite, and both are 0 at the
end. Every running score is the start plus one tree's score after another: nothing is ever added in any
other order.
"""

from typing import Any

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.forest_keys import REFUSED, load_keys, numbers_of, rules_of
from foregone._kernels.forest_nodes import U0
from foregone._kernels.forest_walk import (
    EIGHT,
    LANES,
    MOST_BY_EIGHT,
    SCORE,
    add_trees,
    plus,
    walk_eight,
    words_of,
)
from foregone._kernels.looping_walk import find_leaves, keep_rows, said_at, take_rows

HEADER = 3  # numbers before the roots in a schedule that is one array


@inner
def looks(lower, upper, asked):
    """Whether any score could stop after so many trees."""
    return lower[asked] > -np.inf or upper[asked] < np.inf


def _row_kernel(key_type: Any, name: str) -> Any:
    def run_row(values, nodes, packed):
        """Run one row, from its raw values on; return the answer, how many were asked and the running score.

        ``asked`` is REFUSED when a value cannot be taken. ``packed`` holds, in one array because each array
        costs a tenth of a microsecond to pass: the number of trees, what rows may hold, how many trees set
        out from the beginning, whether they will be needed or not; then roots, the bits of lower, upper and
        the start. If columns have rules, it is a pair of this array and these.
        """
        keys = np.empty(2 * len(values), key_type)
        schedule = numbers_of(packed)
        n_trees, takes, ahead = schedule[0], schedule[1], schedule[2]
        memory = np.empty(2 * LANES + n_trees, np.uint64)
        lower_from = HEADER + n_trees
        upper_from = lower_from + n_trees + 1
        start_at = upper_from + n_trees + 1
        shift = load_keys(values, keys, takes, rules_of(packed))
        if shift == REFUSED:
            return False, REFUSED, 0.0
        lower = schedule[lower_from:upper_from].view(np.float64)
        upper = schedule[upper_from:start_at].view(np.float64)
        score = schedule[start_at : start_at + 1].view(np.float64)[0]
        roots, asked = schedule[HEADER:lower_from], np.int64(0)
        started = walking = U0
        are_small = len(words_of(nodes)) <= MOST_BY_EIGHT * n_trees
        while score > lower[asked] and score < upper[asked]:
            if are_small and asked + EIGHT <= n_trees:
                walk_eight(nodes, roots, asked, keys, np.uint64(shift), U0, memory)
                first = asked
                while asked < first + EIGHT and score > lower[asked] and score < upper[asked]:
                    score = plus(score, nodes, memory[asked - first], SCORE)
                    asked += 1
                started, walking = np.uint64(asked), U0
                continue
            decision = asked + 1
            while not looks(lower, upper, decision):
                decision += 1
            # Trees set out before it is known whether they are needed, but no more than were needed so far.
            end = min(max(decision + asked, ahead), n_trees)
            score, started, walking = add_trees(
                nodes, SCORE, roots, keys, np.uint64(shift), U0, memory,
                np.uint64(asked), np.uint64(decision), np.uint64(end), started, walking, score,
            )  # fmt: skip
            asked = decision
        return score > lower[asked], asked, score

    run_row.__name__ = name
    return compiled(run_row)


run_row_32, run_row_64 = _row_kernel(np.uint32, "run_row_32"), _row_kernel(np.uint64, "run_row_64")


@compiled
def run_block(lower, upper, start, batch, shift, rows, places, walking, answers, asked, scores):
    """Run a block of rows in one order: each tree over all undecided rows, so that it stays in the cache.

    ``batch`` is what `foregone._kernels.looping_walk` says; ``rows``, ``places`` and ``walking`` are scratch.
    """
    shift, n_rows = np.uint64(shift), len(scores)
    left = n_rows
    for k in range(n_rows):
        rows[k] = k
        scores[k] = start
        asked[k] = 0
    if start <= lower[0] or start >= upper[0]:
        left = 0
    take_rows(batch, rows, left)
    for i in range(1, len(lower)):
        if left == 0:
            break
        find_leaves(batch, 0, i - 1, shift, rows, left, places, walking)
        if not looks(lower, upper, i):
            for k in range(left):
                scores[rows[k]] += said_at(batch, places[k])
            continue
        low, high = lower[i], upper[i]
        kept = 0
        for k in range(left):
            row = rows[k]
            score = scores[row] + said_at(batch, places[k])
            scores[row], asked[row] = score, i
            rows[kept] = row
            kept += np.int64((score > low) & (score < high))
        left = kept
        keep_rows(batch, rows, left)
    for k in range(n_rows):
        answers[k] = scores[k] > lower[asked[k]]
