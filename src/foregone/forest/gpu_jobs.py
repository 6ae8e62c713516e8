"""Jobs for a GPU: the kernel for a question about rows, its inputs and its outputs.

Only this module distinguishes kinds of leaves. All inputs of a kernel except rows stay in GPU memory after
their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone._kernels.plurality_run import LINES
from foregone.checks import IntArray
from foregone.forest.device_arrays import DeviceArray
from foregone.forest.gpu_trees import GpuTrees, Ranks
from foregone.forest.plurality_schedule import PluralitySchedule
from foregone.forest.schedule import Schedule, VoteSchedule
from foregone.forest.score_schedule import ScoreSchedule

__all__ = [
    "Job",
    "Tiles",
    "best_lanes",
    "class_votes_job",
    "job_for",
    "matrix_job",
    "plan_phases",
    "ranks_pay",
]

MOST_LANES = 32
LANES_TO_STOP = 16  # for a row that stops early
LANES_TO_COUNT = 32  # for a row that all trees vote on
LANES_TO_ADD = 8  # for a row that all trees' scores are added for
GAIN = 0.37
FEW_EXCEPTIONS = 8  # of which so few rows draw that their bits are found when they do
FEWEST_OF_A_PHASE, MOST_OF_A_PHASE = 4, 64  # trees, see `plan_phases`
RANK_GAIN, RANK_FEATURE, RANK_STEP = 0.17, 0.035, 0.015  # what ranks save of a tree, and take, in trees
PHASE, PHASE_FEATURE = 1.5, 0.03  # what a phase and a feature that is loaded take of a row, in trees
LAUNCH = 3e6  # what it takes to start a kernel, in trees that one row is asked

Room = Callable[[str, int, Any], DeviceArray]
Reads = Callable[[Room], tuple[Any, ...]]


class Output(NamedTuple):
    """An output of a kernel for each row; flattened to one dimension if ``in_line``."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...] = ()
    in_line: bool = False


class Tiles(NamedTuple):
    """A kernel of `foregone._kernels.gpu.gpu_tiles`.

    Attributes
    ----------
    kernel : callable
        Makes the kernel, as that of a job is made.
    reads : tuple
        What it reads besides rows.
    more_bytes : int
        What it takes of shared memory besides the keys of rows.
    phases : tuple of int
        After how many trees each phase ends; empty if all trees are asked at once.
    needs_bits : bool
        Whether the bits that stand for each row are to be filled before.
    """

    kernel: Callable[[Any], Any]
    reads: tuple[Any, ...]
    more_bytes: int = 0
    phases: tuple[int, ...] = ()
    needs_bits: bool = False


class Job(NamedTuple):
    """A question about rows.

    Attributes
    ----------
    kernel : callable
        Makes the kernel, given a `foregone._kernels.gpu.gpu_rows.KernelShape`.
    lanes : int
        How many lanes work on a row.
    reads : callable
        Returns what the kernel reads besides rows, given a function that returns room for each group: it
        takes a name, how many numbers a group needs, and their type.
    outputs : tuple of Output
        What it writes.
    needs_bits : bool
        Whether it reads the bits that stand for each row, for orders and draws.
    tries_lanes : bool
        Whether the best number of lanes depends on how many trees rows are asked, its second output.
    tiles : Tiles or None
        How it is done for many rows, if there is another way.
    trees : GpuTrees or None
        Which trees it asks; set by `GpuForest`.
    n_asked : float
        How many of them rows are asked on average, as far as is known.
    fallback : Job or None
    The job to run instead if values are missing; set by `GpuForest` if this one does not allow that.
    """

    kernel: Callable[[Any], Any]
    lanes: int
    reads: Reads
    outputs: tuple[Output, ...]
    needs_bits: bool = False
    tries_lanes: bool = False
    tiles: Tiles | None = None
    trees: GpuTrees | None = None
    n_asked: float = 0.0
    fallback: Job | None = None


def job_for(trees: GpuTrees, schedule: Any, table: npt.NDArray[Any] | None = None, a_round: int = 1) -> Job:
    """Return the job that follows a schedule.

    Parameters
    ----------
    trees : GpuTrees
        To be asked.
    schedule : Schedule, PluralitySchedule or ScoreSchedule
        In which order, and when to stop.
    table, a_round
        ``table`` and ``trees_a_round`` of a `ScoredForest`.
    """
    if isinstance(schedule, Schedule):
        return _votes_until_a_stop(trees, schedule) if _ever_stops(schedule) else _all_votes(trees, schedule)
    if isinstance(schedule, PluralitySchedule):
        return _class_votes_until_a_stop(trees, schedule)
    if isinstance(schedule.start, float):
        return _scores(trees, schedule)
    return _rounds(trees, schedule) if a_round > 1 else _class_scores(trees, schedule, table)


def _ever_stops(schedule: Schedule) -> bool:
    """Whether a row can stop before all trees have been asked."""
    steps, last = schedule.steps, len(schedule.steps) - 2
    before = steps[:last]
    if len(schedule.exceptions):
        return True
    return bool((before[:, LOWER] >= 0).any() or (before[:, UPPER] <= np.arange(last)).any())


def _orders(trees: GpuTrees, schedule: VoteSchedule) -> tuple[int, DeviceArray]:
    from foregone._kernels.gpu import gpu_votes

    kind = gpu_votes.OWN if schedule.own_orders else gpu_votes.SAME
    if len(schedule.roots) > 1:
        kind = gpu_votes.DEALT
    return kind, trees.upload_roots(schedule.roots)


def _some(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array, or one with a line of zeros if it is empty: a GPU has no empty memory."""
    return array if array.size else np.zeros((1, *array.shape[1:]), array.dtype)


def _votes_until_a_stop(trees: GpuTrees, schedule: Schedule) -> Job:
    from foregone._kernels.gpu import gpu_tiles, gpu_votes

    kind, orders = _orders(trees, schedule)
    steps = trees.upload(np.clip(schedule.steps, -(2**31), 2**31 - 1).astype(np.int32))
    exceptions = trees.upload(_some(schedule.exceptions))
    seed, n_trees = np.int64(schedule.signed_seed), len(trees.roots)
    own_size = n_trees if kind == gpu_votes.OWN else 0

    def reads(room: Room) -> tuple[Any, ...]:
        own = room("own roots", own_size, np.uint64)
        return trees.nodes, trees.categories, orders, own, steps, exceptions, seed

    outputs = (Output(np.bool_), Output(np.int32), Output(np.int32))
    needs_bits = kind != gpu_votes.SAME or len(schedule.exceptions) > 0
    unasked = bool(
        schedule.steps[0, LOWER] >= 0 or schedule.steps[0, UPPER] <= 0 or schedule.steps[1, START] > 0
    )
    kernel, tiles = partial(gpu_votes.stopping_kernel, by_order=kind, stops_unasked=unasked), None
    if kind != gpu_votes.OWN and not unasked:
        what = trees.nodes, trees.categories, orders, steps, exceptions, seed
        phases = tuple(range(FEWEST_OF_A_PHASE, n_trees, FEWEST_OF_A_PHASE))
        has_bits = kind != gpu_votes.SAME or len(schedule.exceptions) > FEW_EXCEPTIONS
        kernel_of_tiles = partial(gpu_tiles.asking_kernel, by_order=kind, has_bits=has_bits)
        tiles = Tiles(kernel_of_tiles, what, phases=(*phases, n_trees), needs_bits=has_bits)
    return Job(kernel, LANES_TO_STOP, reads, outputs, needs_bits, tries_lanes=True, tiles=tiles)


def _all_votes(trees: GpuTrees, schedule: Schedule) -> Job:
    from foregone._kernels.gpu import gpu_tiles, gpu_votes

    roots, n_trees = trees.upload(trees.roots), np.int64(len(trees.roots))
    yes_from = np.int64(schedule.steps[len(trees.roots), YES_FROM])

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, trees.categories, roots, n_trees, yes_from

    outputs = (Output(np.bool_), Output(np.int32), Output(np.int32))
    tiles = Tiles(gpu_tiles.counting_kernel, (trees.nodes, trees.categories, roots, n_trees, yes_from))
    everyone = float(n_trees)
    return Job(gpu_votes.counting_kernel, LANES_TO_COUNT, reads, outputs, tiles=tiles, n_asked=everyone)


def _class_votes_until_a_stop(trees: GpuTrees, schedule: PluralitySchedule) -> Job:
    from foregone._kernels.gpu import gpu_class_votes, gpu_votes

    kind, orders = _orders(trees, schedule)
    rule = [trees.upload(_some(np.ascontiguousarray(part))) for part in schedule.rule]
    seed, n_trees = np.int64(schedule.signed_seed), len(trees.roots)
    n_slots, own_size = schedule.n_slots, n_trees if kind == gpu_votes.OWN else 0

    def reads(room: Room) -> tuple[Any, ...]:
        own = room("own roots", own_size, np.uint64)
        standings = room("standings", LINES * n_slots, np.uint16)
        return (
            trees.nodes, trees.categories, orders, own, np.int64(n_trees),
            *rule, seed, standings, np.int64(n_slots),
        )  # fmt: skip

    outputs = (Output(np.int32), Output(np.int32), Output(np.int32))
    needs_bits = kind != gpu_votes.SAME or len(schedule.rule[-1]) > 0
    kernel = partial(gpu_class_votes.stopping_kernel, by_order=kind)
    return Job(kernel, LANES_TO_STOP, reads, outputs, needs_bits, tries_lanes=True)


def class_votes_job(trees: GpuTrees, n_classes: int) -> Job:
    """Return the job that counts the votes of all trees for each class and finds the leader."""
    from foregone._kernels.gpu import gpu_class_votes

    roots, n_trees = trees.upload(trees.roots), np.int64(len(trees.roots))

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, trees.categories, roots, n_trees

    outputs = (Output(np.int32, (n_classes,)), Output(np.int32), Output(np.int32), Output(np.int32))
    return Job(gpu_class_votes.counting_kernel, LANES_TO_COUNT, reads, outputs)


def _asks_everyone(upper: npt.NDArray[np.float64], width: int = 1) -> bool:
    return not np.isfinite(upper[:-width]).any()


def _scores(trees: GpuTrees, schedule: ScoreSchedule) -> Job:
    from foregone._kernels.gpu import gpu_scores, gpu_tiles

    roots = trees.upload_roots(schedule.roots)
    lower, upper = trees.upload(schedule.lower), trees.upload(schedule.upper)
    start, everyone = np.float64(schedule.start), _asks_everyone(schedule.upper)

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, trees.leaves, trees.categories, roots, lower, upper, start

    outputs = (Output(np.bool_), Output(np.int32), Output(np.float64))
    tiles = None
    if everyone and not np.isfinite(schedule.lower[:-1]).any():
        what = trees.nodes, trees.leaves, trees.categories, roots, start
        tiles = Tiles(gpu_tiles.adding_kernel, what, more_bytes=16 * gpu_tiles.CHUNK * MOST_LANES)
    return Job(gpu_scores.adding_kernel, LANES_TO_ADD, reads, outputs, tries_lanes=not everyone, tiles=tiles)


def best_lanes(asked: npt.NDArray[np.int32]) -> int:
    """Return how many lanes should work on a row, given the numbers of trees asked about some rows.

    A round asks as many trees as there are lanes, needed or not. With more lanes each tree takes less time,
    about by the power `GAIN` of their number (one H200), because lanes of one row read the same values.

    Examples
    --------
    >>> best_lanes(np.full(10, 2)), best_lanes(np.full(10, 7)), best_lanes(np.full(10, 90))
    (2, 8, 32)
    """
    choices = [1 << k for k in range(MOST_LANES.bit_length())]
    costs = [float(np.ceil(asked / lanes).mean()) * lanes ** (1 - GAIN) for lanes in choices]
    return choices[int(np.argmin(costs))]


def plan_phases(asked: npt.NDArray[np.int32], n_trees: int, n_features: int, n_rows: int) -> tuple[int, ...]:
    """Return after how many trees phases should end, given the numbers of trees asked about some rows.

    A phase asks all its trees about all its rows, needed or not; but every phase loads its rows again, and
    takes time to start.

    Examples
    --------
    >>> asked = np.repeat([5, 12, 30, 101], [40, 20, 30, 10])
    >>> plan_phases(asked, 101, 20, 8_000_000), plan_phases(asked, 101, 20, 200_000)
    ((12, 32, 44, 101), (12, 40, 101))
    """
    ends = np.append(np.arange(0, n_trees, FEWEST_OF_A_PHASE), n_trees)
    waiting = np.array([(asked > end).mean() for end in ends])
    overhead = PHASE + PHASE_FEATURE * n_features
    cost, last = np.zeros(len(ends)), np.zeros(len(ends), np.int64)
    for number in range(1, len(ends)):  # cost[number]: the least cost of asking all trees up to ends[number]
        length = ends[number] - ends[:number]
        ways = cost[:number] + waiting[:number] * (overhead + length) + LAUNCH / n_rows
        ways[length > MOST_OF_A_PHASE] = np.inf
        last[number] = np.argmin(ways)
        cost[number] = ways[last[number]]
    phases, number = [], len(ends) - 1
    while number:
        phases.append(int(ends[number]))
        number = last[number]
    return tuple(phases[::-1])


def ranks_pay(n_asked: float, ranks: Ranks | None, n_features: int) -> bool:
    """Whether it pays to convert rows that ask ``n_asked`` trees to ranks, if possible."""
    return ranks is not None and n_asked * RANK_GAIN > RANK_FEATURE * n_features + RANK_STEP * ranks.n_steps


def _class_scores(trees: GpuTrees, schedule: ScoreSchedule, table: npt.NDArray[Any] | None) -> Job:
    from foregone._kernels.gpu import gpu_class_scores

    assert table is not None  # where each class has no trees of its own, leaves stand for lines of it
    roots = trees.upload_roots(schedule.roots)
    flat, has_lines = trees.upload(np.ascontiguousarray(table).ravel()), table.ndim == 2
    upper, start = trees.upload(schedule.upper), trees.upload(np.asarray(schedule.start))
    n_classes = start.size

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, trees.categories, roots, flat, upper, start

    outputs = (Output(np.int32), Output(np.int32), Output(np.float64, (n_classes,), in_line=True))
    return Job(partial(gpu_class_scores.table_kernel, has_lines=has_lines), LANES_TO_STOP, reads, outputs)


def _rounds(trees: GpuTrees, schedule: ScoreSchedule) -> Job:
    from foregone._kernels.gpu import gpu_class_scores

    roots = trees.upload_roots(schedule.roots)
    upper, start = trees.upload(schedule.upper), trees.upload(np.asarray(schedule.start))
    n_classes = start.size
    lanes = min(1 << (n_classes - 1).bit_length(), MOST_LANES)

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, trees.leaves, trees.categories, roots, upper, start

    outputs = (Output(np.int32), Output(np.int32), Output(np.float64, (n_classes,), in_line=True))
    return Job(gpu_class_scores.rounds_kernel, lanes, reads, outputs)


def matrix_job(trees: GpuTrees, dtype: np.dtype[Any], tree_start: IntArray) -> Job:
    """Return the job for every tree's output, as numbers of this type, in the model's order."""
    from foregone._kernels.gpu import gpu_leaves

    roots, are_votes = trees.upload(trees.roots), dtype == np.bool_
    leaves = trees.leaves if dtype == np.float64 else trees.nodes

    def reads(room: Room) -> tuple[Any, ...]:
        return trees.nodes, leaves, trees.categories, roots

    outputs = (Output(dtype, (len(tree_start) - 1,)),)
    return Job(partial(gpu_leaves.matrix_kernel, are_votes=are_votes), LANES_TO_COUNT, reads, outputs)
