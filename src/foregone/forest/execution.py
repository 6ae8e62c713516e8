"""Running a packed forest over many rows: blocks of them, on one thread or several.

No result depends on how rows are split: a row's outcome is a function of its values and the schedule, and of
nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_run import fill_vote_matrix, run_block, run_rows
from foregone._kernels.forest_walk import MISSING, fill_keys, fill_paired_keys
from foregone.errors import InvalidInputError
from foregone.forest.layout import NodeArray
from foregone.forest.rows import Rows, refuse_values
from foregone.forest.schedule import Schedule

__all__ = ["fill_votes", "run_blocks"]

BLOCK_ROWS = 16_384  # enough for a tree to be fetched into the cache once for many rows
BLOCK_VALUES = 1 << 20  # and few enough for the rows themselves to stay in the last cache
FIRST_ROWS = 256  # timed, to see whether threads would pay
WORTH_A_THREAD = 1e-3  # seconds of work
BLOCKS_A_THREAD = 2  # more would even out the ends, but each must fetch the trees again
FEWEST_ROWS = 1_024  # of a block that is one thread's share

Work = Callable[[int, int, "Keys"], None]


class Keys:
    """Scratch memory of one thread: the keys of the block at hand and its list of undecided rows."""

    def __init__(self, n_rows: int, n_features: int, takes_missing: bool) -> None:
        self._keys = np.empty(n_rows * n_features, np.uint32)
        self._n_features = n_features
        self._takes_missing = takes_missing
        self.rows = np.empty(n_rows, np.uint64)

    def load(self, block: Rows) -> tuple[npt.NDArray[np.uint32], int, int]:
        """Return the keys of a block of rows, how many there are to a row, and the kernels' ``shift``."""
        values = np.ascontiguousarray(block).reshape(-1)
        keys, stride, shift = self._keys, self._n_features, 1
        status = fill_keys(values, keys)
        if status and self._takes_missing:
            keys, stride, shift = np.empty(2 * len(values), np.uint32), 2 * self._n_features, 0
            status = fill_paired_keys(values, keys)
            if status == MISSING:
                status = 0
        if status:
            refuse_values(block, self._takes_missing)
        return keys, stride, shift


def run_blocks(
    nodes: NodeArray,
    schedule: Schedule,
    X: Rows,
    takes_missing: bool,
    n_threads: int | None,
    outcome: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.int32]],
) -> None:
    """Fill answers, votes asked and yes votes for every row of X."""
    answers, asked, yes = outcome
    common = (nodes, schedule.roots, schedule.steps, schedule.exceptions, schedule.signed_seed)

    def work(start: int, end: int, scratch: Keys) -> None:
        keys = scratch.load(X[start:end])
        parts = answers[start:end], asked[start:end], yes[start:end]
        if schedule.order == "shared":
            run_block(*common, *keys, scratch.rows, *parts)
        else:
            run_rows(*common, *keys, *parts)

    _for_each_block(work, X, takes_missing, n_threads)


def fill_votes(
    nodes: NodeArray,
    roots: npt.NDArray[np.int64],
    X: Rows,
    takes_missing: bool,
    votes: npt.NDArray[np.bool_],
) -> None:
    """Fill ``votes[row, tree]``."""

    def work(start: int, end: int, scratch: Keys) -> None:
        block = np.empty((len(roots), end - start), np.int32)
        fill_vote_matrix(nodes, roots, *scratch.load(X[start:end]), scratch.rows, block)
        votes[start:end] = block.T

    _for_each_block(work, X, takes_missing, 1)


def _for_each_block(work: Work, X: Rows, takes_missing: bool, n_threads: int | None) -> None:
    """Do the work block by block; Python gets to see an interrupt in between."""
    n_rows, n_features = X.shape
    n_threads = _thread_count(n_threads)
    block_rows = max(1, min(BLOCK_ROWS, BLOCK_VALUES // n_features, n_rows))

    def new_scratch() -> Keys:
        return Keys(block_rows, n_features, takes_missing)

    scratch = new_scratch()
    done = 0
    if n_threads > 1 and n_rows > FIRST_ROWS:
        began = time.perf_counter()
        done = min(FIRST_ROWS, block_rows)
        work(0, done, scratch)
        remaining = (time.perf_counter() - began) * (n_rows - done) / done
        n_threads = min(n_threads, 1 + int(remaining / WORTH_A_THREAD))
        if n_threads > 1:
            share = max(-(-(n_rows - done) // (BLOCKS_A_THREAD * n_threads)), FEWEST_ROWS)
            blocks = list(_blocks(done, n_rows, min(block_rows, share)))
            _in_threads(work, blocks, n_threads, scratch, new_scratch)
            return
    for start, end in _blocks(done, n_rows, block_rows):
        work(start, end, scratch)


def _blocks(start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(start, end, size):
        yield first, min(first + size, end)


def _in_threads(
    work: Work,
    blocks: list[tuple[int, int]],
    n_threads: int,
    scratch: Keys,
    new_scratch: Callable[[], Keys],
) -> None:
    """Let this thread and others take blocks until there are none, one fails, or Python is interrupted."""
    pending = blocks[::-1]

    def take_blocks(scratch: Keys) -> None:
        while True:
            try:
                start, end = pending.pop()
            except IndexError:
                return
            work(start, end, scratch)

    with ThreadPoolExecutor(n_threads - 1) as pool:
        futures = [pool.submit(lambda: take_blocks(new_scratch())) for _ in range(n_threads - 1)]
        try:
            take_blocks(scratch)
            for future in futures:
                future.result()
        finally:
            pending.clear()  # after a failure or an interrupt the others end with the block at hand


def _thread_count(n_threads: Any) -> int:
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(n_threads, bool) or not isinstance(n_threads, int | np.integer) or n_threads < 1:
        raise InvalidInputError(f"n_threads must be a whole number of at least 1, or None, not {n_threads!r}")
    return int(n_threads)
