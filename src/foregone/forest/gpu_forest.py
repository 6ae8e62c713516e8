"""GpuForest: a forest in GPU memory, and the transfer of rows.

Rows in GPU memory stay there. Rows on the host are split into pieces; several threads copy them into pinned
memory, and each piece is sent, run and returned in its own stream, so one piece is copied while another is
computed. No result depends on how rows are split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import MISSING
from foregone._system.gpu import configured, cuda_module
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import (
    DeviceArray,
    is_on_device,
    new_device_array,
    of_same_library,
    to_device_array,
    to_host,
)
from foregone.forest.execution import usable_cores
from foregone.forest.gpu_jobs import Job, Tiles, best_lanes, plan_phases, ranks_pay
from foregone.forest.gpu_trees import GpuTrees, TreeForms
from foregone.forest.rows import FLOAT32, FLOATS, RowFormat, Rows

__all__ = ["GpuForest", "Launch", "plan_launch"]

THREADS = 128  # of a block
BLOCKS_A_PROCESSOR = 16  # which hold as many threads as a multiprocessor can have
WARP = 32
PIECE_BYTES = 32 << 20  # of host rows that are sent at once
MOST_STREAMS = 4
KEPT_JOBS = 4
FEWEST_IN_TILES, MOST_IN_TILES = 200_000, 1 << 31  # rows
FEWEST_WARPS, MOST_WARPS = 4, 16  # of a block with a tile
WARPS_IN_TILES, WARPS_WITH_RANKS = 48, 64  # of a multiprocessor
BYTES_IN_TILES = 136 << 10  # of a multiprocessor
MOST_TILE_BYTES = 40 << 10
SAMPLED_ROWS = 8_192  # to see how many trees are asked

Started = tuple[Callable[..., None], tuple[Any, ...]]  # a kernel, and what it is given


class Launch(NamedTuple):
    """Launch configuration of a kernel: numbers of blocks and of threads per block."""

    n_blocks: int
    n_threads: int

    def n_groups(self, lanes: int) -> int:
        """Return how many rows are processed at a time."""
        return self.n_blocks * (self.n_threads // lanes)


def plan_tiles(
    n_rows: int, row_bytes: int, more_bytes: int, n_processors: int, n_resident: int
) -> tuple[Launch, int] | None:
    """Return the launch of a kernel of tiles and its shared memory; None if the rows do not suit it.

    ``row_bytes`` is the shared memory per row, ``more_bytes`` the rest per block. A multiprocessor holds at
    most ``n_resident`` warps.

    Examples
    --------
    >>> plan_tiles(8_000_000, 216, 0, 132, 48)
    (Launch(n_blocks=1584, n_threads=128), 6912)
    >>> plan_tiles(1_000, 216, 0, 132, 48) is None, plan_tiles(8_000_000, 4_000, 0, 132, 48) is None
    (True, True)
    """
    tile_bytes = WARP * row_bytes
    if n_rows < FEWEST_IN_TILES or n_rows > MOST_IN_TILES or tile_bytes > MOST_TILE_BYTES:
        return None
    n_warps = warps_of_tiles(tile_bytes + more_bytes, n_resident)
    n_blocks = min(-(-n_rows // WARP), n_processors * max(1, n_resident // n_warps))
    return Launch(n_blocks, n_warps * WARP), tile_bytes


def warps_of_tiles(block_bytes: int, n_resident: int = 48) -> int:
    """Return how many warps should share a tile, given the shared memory of a block.

    With fewer warps they wait less for each other, but more tiles take memory from the cache.

    Examples
    --------
    >>> [warps_of_tiles(32 * 4 * n_features) for n_features in (20, 54, 116)]
    [4, 4, 8]
    """
    n_warps = FEWEST_WARPS
    while n_warps < MOST_WARPS and n_resident // n_warps * block_bytes > BYTES_IN_TILES:
        n_warps *= 2
    return n_warps


def plan_launch(n_rows: int, lanes: int, n_processors: int) -> Launch:
    """Return the launch of a kernel for ``n_rows`` rows with ``lanes`` lanes each.

    Examples
    --------
    >>> plan_launch(1_000_000, 16, 132), plan_launch(3, 16, 132)
    (Launch(n_blocks=2112, n_threads=128), Launch(n_blocks=1, n_threads=128))
    """
    n_blocks = min(-(-n_rows // (THREADS // lanes)), n_processors * BLOCKS_A_PROCESSOR)
    return Launch(n_blocks, THREADS)


class _Workspace:
    """GPU memory used by one launch at a time."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._rooms: dict[str, DeviceArray] = {}
        self.status, self._seen = cuda.to_device(np.zeros(1, np.uint32)), cuda.pinned_array(1, np.uint32)

    def room(self, name: str, size: int, dtype: Any) -> DeviceArray:
        """Return an uninitialised array for ``size`` numbers, at least one."""
        found = self._rooms.get(name)
        if found is None or found.size < size or found.dtype != np.dtype(dtype):
            found = self._rooms[name] = self._cuda.device_array(max(size, 1), dtype)
        return found

    def take_status(self, stream: Any = 0) -> int:
        """Wait for the kernels, return the status bits of the values, and reset them."""
        self.status.copy_to_host(self._seen, stream=stream)
        if stream:
            stream.synchronize()
        status = int(self._seen[0])
        if status:
            self.status.copy_to_device(np.zeros(1, np.uint32))
        return status


class _Lane:
    """A stream, pinned memory and GPU memory for one piece of host rows."""

    def __init__(self, cuda: Any, job: Job, n_rows: int, n_features: int, dtype: np.dtype[Any]) -> None:
        self.stream = cuda.stream()
        self.workspace = _Workspace(cuda)
        self.rows = cuda.pinned_array((n_rows, n_features), dtype)
        self.device_rows = cuda.device_array((n_rows, n_features), dtype)
        shapes = [((n_rows, *output.shape), output.dtype) for output in job.outputs]
        self.outputs = [cuda.pinned_array(shape, kind) for shape, kind in shapes]
        self.device_outputs = [cuda.device_array(shape, kind) for shape, kind in shapes]
        self._bound: tuple[Any, ...] = ()

    def bind(self, job: Job, n_rows: int, prepare: Callable[..., Iterator[Started]]) -> tuple[Any, ...]:
        """Return parts of the arrays for ``n_rows`` rows, and the kernels to start; kept for reuse."""
        if not self._bound or self._bound[0] is not job or self._bound[1] != n_rows:
            there, made = self.device_rows[:n_rows], [part[:n_rows] for part in self.device_outputs]
            starts = list(prepare(job, there, made, self.workspace, self.stream))
            self._bound = job, n_rows, there, made, [part[:n_rows] for part in self.outputs], starts
        return self._bound[2:]


class GpuForest:
    """Packed trees on a GPU.

    Parameters
    ----------
    nodes, categories, tree_start : ndarray
        Of a forest.
    rows : RowFormat
        What rows it takes.
    leaves_vote : bool
        Whether leaves are votes between two classes.
    """

    def __init__(
        self,
        nodes: npt.NDArray[np.uint64],
        categories: npt.NDArray[np.uint32],
        tree_start: npt.NDArray[np.int64],
        rows: RowFormat,
        leaves_vote: bool,
    ) -> None:
        self._cuda = cuda_module()
        self._format = rows
        self._has_categories = len(categories) > 0
        self._forms = TreeForms(self._cuda, nodes, categories, tree_start, rows, leaves_vote)
        self._rules = self._cuda.to_device(np.array(rows.rules if len(rows.rules) else [0], np.int64))
        self._n_processors = _n_processors(self._cuda)
        self._workspace = _Workspace(self._cuda)
        self._jobs: dict[tuple[int, bool], tuple[Any, Job]] = {}  # kept, so that no other gets their numbers
        self._lanes: dict[Any, list[_Lane]] = {}
        self._asked: dict[int, npt.NDArray[np.int32]] = {}  # how many trees, by some rows, for each job
        self._phases: dict[tuple[int, int], tuple[int, ...]] = {}
        self._ranked: dict[int, Job | None] = {}
        self._has_seen_missing = False
        self._lock = Lock()

    def _job(self, key: Any, make: Callable[[GpuTrees], Job], dtype: np.dtype[Any]) -> Job:
        """Return the job of a schedule, or of another key; the last few are cached."""
        is_short = dtype == FLOAT32
        found = self._jobs.get((id(key), is_short))
        if found is None or found[0] is not key:
            while len(self._jobs) >= KEPT_JOBS:
                _, dropped = self._jobs.pop(next(iter(self._jobs)))
                self._forget(id(dropped.reads))
            trees = self._forms.usual
            job = make(trees)
            # Bits that stand for a row are of the larger keys: jobs that may need them ask the usual trees.
            if is_short and not job.needs_bits and self._forms.narrow is not None:
                trees = self._forms.narrow
                job = make(trees)
            found = self._jobs[id(key), is_short] = key, job._replace(trees=trees)
        return found[1]

    def _forget(self, number: int) -> None:
        """Delete the statistics of a job: another one may get its number."""
        self._asked.pop(number, None)
        self._ranked.pop(number, None)
        for about in [about for about in self._phases if about[0] == number]:
            del self._phases[about]

    def run(self, X: Any, key: Any, make: Callable[[GpuTrees], Job]) -> list[Any]:
        """Run the job that ``make`` returns, cached under ``key``, and return its outputs.

        They are in GPU memory if the rows are, else on the host.
        """
        if is_on_device(X):
            rows = self._checked(X)
            job = self._suiting(self._job(key, make, rows.dtype), rows, self._run_there)
            return [
                of_same_library(X, made) for made in self._run_there(rows, self._by_ranks(job, make, rows))
            ]
        host_rows = self._format.as_rows(X)
        # Pieces are small: tiles would take longer to start than to run.
        job = self._job(key, make, host_rows.dtype)._replace(tiles=None)
        return self._run_from_host(host_rows, self._suiting(job, host_rows, self._run_from_host))

    def _suiting(self, job: Job, rows: Any, run: Callable[[Any, Job], list[Any]]) -> Job:
        """Return a job with lanes and phases that suit the rows, after trying the first rows once."""
        if not job.tries_lanes:
            return job
        number, (n_rows, n_features) = id(job.reads), rows.shape
        if number not in self._asked:
            if n_rows < SAMPLED_ROWS:
                return job
            self._asked[number] = to_host(run(rows[:SAMPLED_ROWS], job)[1])
        asked, tiles = self._asked[number], job.tiles
        if tiles is not None:
            about = number, n_rows.bit_length()
            if about not in self._phases:
                self._phases[about] = plan_phases(asked, tiles.phases[-1], n_features, n_rows)
            tiles = tiles._replace(phases=self._phases[about])
        return job._replace(lanes=best_lanes(asked), tiles=tiles, n_asked=float(asked.mean()))

    def _by_ranks(self, job: Job, make: Callable[[GpuTrees], Job], rows: DeviceArray) -> Job:
        """Return the job for trees that compare ranks instead, if that pays."""
        if job.tiles is None or rows.shape[0] < FEWEST_IN_TILES or self._has_seen_missing:
            return job
        number = id(job.reads)
        if number not in self._ranked:
            trees = self._forms.ranked
            pays = trees is not None and ranks_pay(job.n_asked, trees.ranks, rows.shape[1])
            self._ranked[number] = make(trees)._replace(trees=trees) if trees is not None and pays else None
        ranked = self._ranked[number]
        if ranked is None or ranked.tiles is None:
            return job
        return ranked._replace(
            lanes=job.lanes, tiles=ranked.tiles._replace(phases=job.tiles.phases), fallback=job
        )

    def _checked(self, X: Any) -> DeviceArray:
        """Return rows in GPU memory as a numba array."""
        if self._format.encodes_arrays:
            raise InvalidInputError(
                "this model looks up categories by value, which is not supported for rows in GPU memory: "
                "pass a frame or a NumPy array"
            )
        rows = to_device_array(X)
        if rows.ndim == 2 and not rows.is_c_contiguous():
            rows = _in_rows(X)
        if rows.dtype not in FLOATS:
            raise InvalidInputError(
                f"rows in GPU memory must be float32 or float64, got {rows.dtype}: convert them on the GPU"
            )
        n_features = self._format.n_features
        if rows.ndim != 2 or rows.shape[1] != n_features or rows.shape[0] == 0:
            raise InvalidInputError(
                f"rows in GPU memory must have shape (n_rows, {n_features}) with n_rows > 0, got {rows.shape}"
            )
        return rows

    def _run_there(self, rows: DeviceArray, job: Job) -> list[DeviceArray]:
        n_rows = rows.shape[0]
        outputs = [new_device_array((n_rows, *output.shape), output.dtype) for output in job.outputs]
        with self._lock:  # one launch at a time may use the workspace
            _start(self._prepare(job, rows, outputs, self._workspace, 0))
            status = self._workspace.take_status()
        if job.fallback is not None and status & MISSING:  # which have no ranks
            self._has_seen_missing = True
            return self._run_there(rows, job.fallback)
        self._refuse(status)
        return outputs

    def _prepare(
        self, job: Job, rows: DeviceArray, outputs: list[DeviceArray], workspace: _Workspace, stream: Any
    ) -> Iterator[Started]:
        """Yield the kernels of a job in order, with their launches and arguments."""
        from foregone._kernels.gpu import gpu_rows

        row_format, trees = self._format, job.trees
        assert trees is not None  # set where jobs are made
        n_rows, n_features = rows.shape
        ranks = trees.ranks
        shape = gpu_rows.KernelShape(
            is_compact=trees.is_compact,
            key_bits=32 if ranks else trees.key_bits,
            has_categories=self._has_categories,
            has_rules=len(row_format.rules) > 0,
            takes_missing=row_format.takes_missing,
            lanes=job.lanes,
        )
        row_bytes = 4 * ranks.n_words if ranks else n_features * shape.key_bits // 8
        tiles = job.tiles
        planned = None
        if tiles is not None:
            resident = WARPS_WITH_RANKS if ranks else WARPS_IN_TILES
            planned = plan_tiles(n_rows, row_bytes, tiles.more_bytes, self._n_processors, resident)
        needs_bits = tiles.needs_bits if tiles is not None and planned is not None else job.needs_bits
        bits = workspace.room("bits", n_rows if needs_bits else 0, np.int64)

        def started(kernel: Any, n_tasks: int, lanes: int) -> tuple[Any, Launch]:
            launch = plan_launch(n_tasks, lanes, self._n_processors)
            return configured(kernel, *launch, stream), launch

        in_a_line, status = rows.reshape(-1), workspace.status
        by_row = in_a_line, np.uint32(n_rows), np.int32(n_features), self._rules
        if needs_bits:
            fill_bits, _ = started(gpu_rows.bits_kernel(shape), -(-n_rows // WARP), WARP)
            yield fill_bits, (*by_row, bits, status)
        elif not ranks:
            look_at, _ = started(gpu_rows.looking_kernel(shape.key_bits), n_rows * n_features, 1)
            yield look_at, (in_a_line, status)
        compared = in_a_line, np.int32(n_features), np.int64(n_features)
        if ranks:
            filled = workspace.room("ranks", ranks.n_words * n_rows, np.uint32)
            fill_ranks, _ = started(gpu_rows.ranks_kernel(shape), -(-n_rows // WARP), WARP)
            yield fill_ranks, (*by_row, status, ranks.cuts, ranks.table, filled)
            compared = filled, np.int32(ranks.n_words), np.int64(n_rows)
        if tiles is not None and planned is not None:
            (n_blocks, n_threads), shared_bytes = planned
            shape = shape._replace(key_bits=trees.key_bits, lanes=n_threads // WARP)
            in_tiles = configured(tiles.kernel(shape), n_blocks, n_threads, stream, shared_bytes)
            given = (rows, *compared, self._rules, bits)
            yield from _phases_of(tiles, in_tiles, given, outputs, workspace, stream)
            return
        kernel, launch = started(job.kernel(shape), n_rows, job.lanes)
        n_groups = launch.n_groups(job.lanes)
        reads = job.reads(lambda name, size, dtype: workspace.room(name, n_groups * size, dtype))
        written = [
            made.reshape(-1) if output.in_line else made
            for made, output in zip(outputs, job.outputs, strict=True)
        ]
        yield kernel, (rows, self._rules, bits, *reads, *written)

    def _run_from_host(self, rows: Rows, job: Job) -> list[npt.NDArray[Any]]:
        n_rows, dtype = len(rows), rows.dtype
        outcome = [np.empty((n_rows, *output.shape), output.dtype) for output in job.outputs]
        most = max(1, PIECE_BYTES // (rows.shape[1] * dtype.itemsize))
        size = min(most, n_rows)
        pieces = [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
        kind = (_capacity(size, most), dtype, job.outputs)
        pending = pieces[::-1]

        def work() -> int:
            lane = self._take_lane(kind, job)
            status = 0
            try:
                while pending:
                    try:
                        start, end = pending.pop()
                    except IndexError:
                        break
                    status |= self._run_piece(
                        rows[start:end], job, lane, [part[start:end] for part in outcome]
                    )
            finally:
                self._lanes.setdefault(kind, []).append(lane)
            return status

        n_streams = min(len(pieces), MOST_STREAMS, max(usable_cores(), 2))
        if n_streams == 1:
            status = work()
        else:
            with ThreadPoolExecutor(n_streams - 1) as pool:
                others = [pool.submit(work) for _ in range(n_streams - 1)]
                try:
                    status = work()
                    for other in others:
                        status |= other.result()
                finally:
                    pending.clear()  # after a failure or an interrupt the others end with their current piece
        self._refuse(status)
        return outcome

    def _take_lane(self, kind: tuple[Any, ...], job: Job) -> _Lane:
        free = self._lanes.get(kind)
        if free:
            try:
                return free.pop()
            except IndexError:  # another thread was faster
                pass
        n_rows, dtype, _ = kind
        return _Lane(self._cuda, job, n_rows, self._format.n_features, dtype)

    def _run_piece(self, rows: Rows, job: Job, lane: _Lane, outcome: list[npt.NDArray[Any]]) -> int:
        n_rows, stream = len(rows), lane.stream
        there, made, told, starts = lane.bind(job, n_rows, self._prepare)
        here = lane.rows[:n_rows]
        np.copyto(here, rows)
        there.copy_to_device(here, stream=stream)
        _start(starts)
        for device, host in zip(made, told, strict=True):
            device.copy_to_host(host, stream=stream)
        status = lane.workspace.take_status(stream)
        for host, part in zip(told, outcome, strict=True):
            part[:] = host
        return status

    def _refuse(self, status: int) -> None:
        if status & ~self._format.takes:
            self._format.refuse_status(status)


def _phases_of(
    tiles: Tiles, kernel: Any, given: tuple[Any, ...], outputs: list[DeviceArray], workspace: _Workspace,
    stream: Any,
) -> Iterator[Started]:  # fmt: skip
    """Yield the launches of a kernel of tiles: one, or one per phase."""
    from foregone._kernels.gpu import gpu_tiles

    if not tiles.phases:
        yield kernel, (*given, *tiles.reads, *outputs)
        return
    counts = workspace.room("counts", len(tiles.phases) + 1, np.uint32)
    waiting, going_on = (workspace.room(name, len(outputs[0]), np.uint64) for name in ("waiting", "going on"))
    yield configured(gpu_tiles.clear, 1, WARP, stream), (counts,)
    first = 0
    for phase, end in enumerate(tiles.phases):
        numbers = np.int32(phase), np.int32(first), np.int32(end)
        yield kernel, (*given, *tiles.reads, *numbers, waiting, going_on, counts, *outputs)
        first, waiting, going_on = end, going_on, waiting


def _in_rows(X: Any) -> DeviceArray:
    """Return a copy of a GPU array in C order."""
    if hasattr(X, "contiguous"):  # of PyTorch
        return to_device_array(X.contiguous())
    try:
        import cupy
    except ImportError:
        raise InvalidInputError("rows in GPU memory must be in C order: make a contiguous copy") from None
    return to_device_array(cupy.ascontiguousarray(cupy.asarray(to_device_array(X))))


def _start(starts: Iterable[Started]) -> None:
    """Start kernels one by one, so that the GPU is busy while the next one is prepared."""
    for kernel, given in starts:
        kernel(*given)


def _capacity(size: int, most: int) -> int:
    """Return how many rows to allocate memory for: the next power of two, so that it can be reused."""
    return min(1 << (size - 1).bit_length(), most)


def _n_processors(cuda: Any) -> int:
    return int(getattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1))
