"""Running packed trees over many rows: in blocks, on one thread or several.

No result depends on how rows are split: a row's outcome depends only on its values and the schedule.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.looping_walk import SIDE_BY_SIDE
from foregone._kernels.row_ranks import LANES, fill_ranks
from foregone.errors import InvalidInputError
from foregone.forest.ranked_trees import Cuts
from foregone.forest.rows import Keys, RowFormat, Rows

__all__ = ["MOST_BYTES", "Loaded", "Scratch", "block_bytes", "for_each_block", "usable_cores"]

BLOCK_ROWS = 16_384  # enough for a tree to be fetched into the cache once for many rows
# Bytes of keys in a block. Reloading a small tree is nearly free, so rows stay in the second cache; for large
# trees the load is amortised over more rows, up to what the last cache holds.
FEWEST_BYTES, MOST_BYTES, BYTES_A_TREE_BYTE = 1 << 20, 1 << 22, 6
LINE = 64  # bytes, of the cache
FIRST_ROWS = 256  # timed, to see whether threads would pay
WORTH_A_THREAD = 1e-3  # seconds of work
BLOCKS_A_THREAD = 2  # more would even out the ends, but each must fetch the trees again
FEWEST_ROWS = 1_024  # of a block that is one thread's share


class Loaded(NamedTuple):
    """A block of rows and the trees to walk it through, in the kernels' format.

    Attributes
    ----------
    batch : tuple
        As `foregone._kernels.looping_walk` has it.
    keys : ndarray
        Of the rows, one after another.
    stride, shift : int
        How many keys a row has, and the kernels' ``shift``.
    lists : tuple of ndarray
        ``rows``, ``places`` and ``walking`` of `Scratch`, to be written.
    """

    batch: tuple[Any, ...]
    keys: Keys
    stride: int
    shift: int
    lists: tuple[npt.NDArray[np.uint32], ...]


class Scratch:
    """Memory of one thread: the keys of the current block, and lists that its kernels write.

    ``rows`` is for the undecided rows, ``places`` for the leaves they reach, ``walking`` for walks in
    progress.
    """

    def __init__(self, row_format: RowFormat, n_rows: int) -> None:
        self._format = row_format
        self._n_rows = n_rows + SIDE_BY_SIDE
        self._keys = row_format.new_keys(n_rows)
        self.rows: npt.NDArray[np.uint32]
        self.places: npt.NDArray[np.uint32]
        self.walking: npt.NDArray[np.uint32]
        self.rows, self.places, self.walking = np.empty((3, self._n_rows), np.uint32)
        self._ranks, self._columns = np.empty((2, 0), np.uint8)

    def load(self, block: Rows) -> tuple[Keys, int, int]:
        """Return the keys of a block of rows, the number of keys per row, and the kernels' ``shift``."""
        return self._keys, *self._format.load(block, self._keys)

    def ranks(self, cuts: Cuts, keys: Keys, stride: int, n_rows: int) -> npt.NDArray[np.uint8]:
        """Return the ranks of the rows with these keys, row by row."""
        if len(self._ranks) < self._n_rows * cuts.n_columns:
            self._ranks = np.empty(self._n_rows * cuts.n_columns, np.uint8)
        fill_ranks(keys, stride, n_rows, *cuts, self._ranks)
        return self._ranks

    def lanes(self, n_columns: int) -> tuple[npt.NDArray[Any], ...]:
        """Return the fields of `Lanes` (``_kernels/leaf_masks.py``) other than ranks."""
        size = (self._n_rows + LANES) * n_columns
        if len(self._columns) < size:
            self._columns = _aligned(size)
        return self._columns, self.walking, np.zeros(1, np.uint64), np.empty(LANES, np.uint8)


def _aligned(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return zeros aligned to a cache line: a vector that spans two lines takes twice as long to load."""
    room = np.zeros(n_bytes + LINE, np.uint8)
    return room[-room.ctypes.data % LINE :][:n_bytes]


Work = Callable[[int, int, Scratch], None]


def block_bytes(tree_bytes: int) -> int:
    """Return how many bytes the keys of a block may take, given the size of a tree."""
    return min(max(FEWEST_BYTES, BYTES_A_TREE_BYTE * tree_bytes), MOST_BYTES)


def for_each_block(
    work: Work, X: Rows, row_format: RowFormat, most_bytes: int, n_threads: int | None
) -> None:
    """Do the work block by block, so that Python sees interrupts in between.

    The keys of a block take at most ``most_bytes``, see `block_bytes`.
    """
    n_rows = len(X)
    row_bytes = row_format.n_features * row_format.key_bits // 8
    n_threads = _thread_count(n_threads)
    block_rows = max(1, min(BLOCK_ROWS, most_bytes // row_bytes, n_rows))

    def new_scratch() -> Scratch:
        return Scratch(row_format, block_rows)

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
            if len(blocks) > 1:
                _in_threads(work, blocks, min(n_threads, len(blocks)), scratch, new_scratch)
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
    scratch: Scratch,
    new_scratch: Callable[[], Scratch],
) -> None:
    """Process blocks on several threads until none are left, one fails, or Python is interrupted."""
    pending = blocks[::-1]

    def take_blocks(scratch: Scratch) -> None:
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
            pending.clear()  # after a failure or an interrupt the others finish their current block and end


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _thread_count(n_threads: Any) -> int:
    """Return the maximum number of threads: the number requested, at most the number of cores."""
    if n_threads is None:
        return usable_cores()
    if isinstance(n_threads, bool) or not isinstance(n_threads, int | np.integer) or n_threads < 1:
        raise InvalidInputError(f"n_threads must be an integer of at least 1, or None, got {n_threads!r}")
    return min(int(n_threads), usable_cores())
