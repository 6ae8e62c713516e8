"""Many rows on a GPU: a block keeps the keys of 32 rows in shared memory, and all its warps ask about them.

Lane l of every warp is for row l. Warp w asks the w-th of the next trees, so that the lanes of a warp mostly
walk through one tree and read the same nodes, and a lane's keys are in a memory bank of its own. All warps
know what all trees said, and decide alike. When a row stops, the lane takes the next one. Key k of lane l is
at ``tile[k * WARP + l]``. Of a `KernelShape`, ``lanes`` is the number of warps here.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, types

from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_keys import ANY_CATEGORY, CATEGORY, FINITE, NAN_RIGHT, NO_CATEGORY
from foregone._kernels.forest_nodes import U2
from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone._kernels.gpu.gpu_rows import WARP, KernelShape, key_reader, status_reader
from foregone._kernels.gpu.gpu_votes import DEALT, draws_a_stop
from foregone._kernels.gpu.gpu_walk import S0, S1, walker
from foregone._kernels.gpu.gpu_words import in_few_registers

S_WARP, U_WARP = np.uint32(WARP), np.uint64(WARP)
EVERYONE = np.uint32(2**32 - 1)
CHUNK = 32  # trees whose scores are added at a time
REGISTERS = 40  # which let a multiprocessor hold 48 warps
# A category that is in no set: the number has no other use here, as one key stands for a missing value.
OUTSIDE = ANY_CATEGORY


def in_some_registers(kernel: Any) -> Any:
    """Compile a kernel of tiles."""
    return in_few_registers(kernel, REGISTERS)


def missing_key(key_bits: int) -> np.uint64:
    """Return the key that stands for a missing value in a tile."""
    return np.uint64(NAN_RIGHT >> np.uint64(64 - key_bits))


@cache
def tile_reader(shape: KernelShape) -> Any:
    """Return the reader of keys in a tile; ``place`` is where those of a lane begin."""
    takes_missing, no_value = shape.takes_missing, missing_key(shape.key_bits)
    is_compact, no_short = shape.is_compact, np.uint32(2**32 - 1)

    @cuda.jit(device=True)
    def read_short(tile, rules, place, feature):
        key = tile[np.uint32(place + np.uint32(feature * S_WARP))]
        return key, takes_missing and key == no_short

    @cuda.jit(device=True)
    def read_long(tile, rules, place, feature):
        key = np.uint64(tile[np.uint64(place) + feature * U_WARP])
        return key, takes_missing and key == no_value

    return read_short if is_compact else read_long


@cache
def row_loader(shape: KernelShape) -> Any:
    """Return the device function by which a warp loads the keys of some rows into a tile.

    ``shape.lanes`` is the number of warps of a block. They share the work: each loads every so many-th row.
    """
    has_rules, no_value, n_warps = shape.has_rules, missing_key(shape.key_bits), shape.lanes
    read_key, status_of = key_reader(shape), status_reader(shape)

    @cuda.jit(device=True)
    def load_rows(values, rules, tile, lane, warp, slots, row):
        """Load the rows of the lanes whose bits are set in ``slots``; return what is among their values."""
        seen, rank = FINITE, 0
        while slots != S0:
            slot = np.int32(cuda.ffs(slots)) - np.int32(1)
            slots = np.uint32(slots & np.uint32(slots - S1))
            taken = cuda.shfl_sync(EVERYONE, row, slot)
            if rank % n_warps == warp and taken >= 0:
                for feature in range(lane, values.shape[1], WARP):
                    value = values[taken, feature]
                    seen |= status_of(value)
                    found, is_missing = read_key(value, rules, feature)
                    key = np.uint64(found)
                    if has_rules and rules[feature] & CATEGORY and key == NO_CATEGORY:
                        key = OUTSIDE
                    if is_missing:
                        key = no_value
                    tile[feature * WARP + slot] = key
            rank += 1
        return seen

    return load_rows


@cuda.jit(device=True)
def next_rows(lane, row, following, end):
    """Return the lanes that are free, this lane's row then, and the row after those that were taken."""
    free = np.uint32(cuda.ballot_sync(EVERYONE, row < 0))
    if row < 0:
        below = np.uint32((np.uint64(1) << np.uint64(lane)) - np.uint64(1))
        mine = following + cuda.popc(np.uint32(free & below))
        if mine < end:
            row = np.int64(mine)
    return free, row, min(following + cuda.popc(free), end)


@cuda.jit(device=True)
def share_of(n_rows):
    """Return the first row of this block, and the one behind its last."""
    share = (n_rows + cuda.gridDim.x - 1) // cuda.gridDim.x
    return cuda.blockIdx.x * share, min((cuda.blockIdx.x + 1) * share, n_rows)


@cache
def stopping_kernel(shape: KernelShape, by_order: int) -> Any:
    """Return the kernel that counts votes until a strategy stops, in one order or dealt ones.

    ``shape.lanes`` is the number of warps of a block, and of trees that are asked about a row at a time.
    """
    key_type = types.uint32 if shape.key_bits == 32 else types.uint64
    load_rows, walk, n_warps = row_loader(shape), walker(shape, tile_reader), shape.lanes
    twice = 2 * n_warps

    @in_some_registers
    def run_rows(
        values, rules, bits, status, nodes, categories, orders, steps, exceptions, seed,
        answers, asked_of, yes_of,
    ):  # fmt: skip
        tile = cuda.shared.array(0, key_type)
        said = cuda.shared.array(twice, types.uint32)  # by each warp: votes, and stops
        n_trees = steps.shape[0] - 2
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        following, end = share_of(values.shape[0])
        row, asked, yes, order, seen = np.int64(-1), 0, 0, 0, FINITE
        while True:
            before = row
            free, row, following = next_rows(lane, row, following, end)
            if before < 0 and row >= 0:
                asked, yes = 0, 0
            if cuda.ballot_sync(EVERYONE, row >= 0) == 0:
                break
            seen |= load_rows(values, rules, tile, lane, warp, free, row)
            cuda.syncthreads()
            if by_order == DEALT and before < 0 and row >= 0:
                order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)
            tree, says_yes, stops = asked + warp, False, False
            is_asked = row >= 0 and tree < n_trees
            lower, upper, begin, finish = 0, 0, 0, 0
            if is_asked:
                lower, upper = steps[tree + 1, LOWER], steps[tree + 1, UPPER]
                begin, finish = steps[tree + 1, START], steps[tree + 2, START]
                _, side = walk(nodes, categories, tile, rules, np.uint32(lane), orders[order + tree])
                says_yes = (side & S1) != S0
            votes = cuda.ballot_sync(EVERYONE, says_yes)
            if lane == 0:
                said[warp] = np.uint32(votes)
            cuda.syncthreads()
            if is_asked:
                so_far = yes
                for k in range(warp + 1):
                    so_far += np.int32((said[k] >> np.uint32(lane)) & S1)
                stops = (so_far <= lower) | (so_far >= upper)
                if begin < finish and not stops:
                    stops = draws_a_stop(exceptions, begin, finish, seed, tree + 1, so_far, bits, row)
            stopping = cuda.ballot_sync(EVERYONE, stops)
            if lane == 0:
                said[n_warps + warp] = np.uint32(stopping)
            cuda.syncthreads()
            goes_on = row >= 0
            for k in range(n_warps):
                if goes_on:
                    asked += 1
                    yes += np.int32((said[k] >> np.uint32(lane)) & S1)
                    goes_on = (said[n_warps + k] >> np.uint32(lane)) & S1 == S0
            if row >= 0 and not goes_on:
                if warp == 0:
                    answers[row] = yes >= steps[asked, YES_FROM]
                    asked_of[row], yes_of[row] = asked, yes
                row = np.int64(-1)
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return run_rows


@cache
def counting_kernel(shape: KernelShape) -> Any:
    """Return the kernel that counts the yes votes of all trees; every warp asks some of them."""
    key_type = types.uint32 if shape.key_bits == 32 else types.uint64
    load_rows, walk, n_warps = row_loader(shape), walker(shape, tile_reader), shape.lanes
    n_threads = n_warps * WARP

    @in_some_registers
    def count_votes(
        values, rules, bits, status, nodes, categories, roots, n_trees, yes_from, answers, asked_of, yes_of
    ):
        tile = cuda.shared.array(0, key_type)
        counts = cuda.shared.array(n_threads, types.int32)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(values.shape[0])
        seen = FINITE
        while first < end:
            row = np.int64(first + lane if first + lane < end else -1)
            seen |= load_rows(values, rules, tile, lane, warp, EVERYONE, row)
            cuda.syncthreads()
            yes = np.int32(0)
            if row >= 0:
                for tree in range(warp, n_trees, n_warps):
                    _, side = walk(nodes, categories, tile, rules, np.uint32(lane), roots[tree])
                    yes += np.int32(side & S1)
            counts[warp * WARP + lane] = yes
            cuda.syncthreads()
            if warp == 0 and row >= 0:
                total = 0
                for k in range(n_warps):
                    total += counts[k * WARP + lane]
                answers[row] = total >= yes_from
                asked_of[row], yes_of[row] = n_trees, total
            first += WARP
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return count_votes


@cache
def adding_kernel(shape: KernelShape) -> Any:
    """Return the kernel that adds up the scores of all trees, of two classes.

    Trees are asked in chunks. While the warps ask those of the next one, one of them, each in its turn, adds
    the scores of the last chunk, tree by tree, so that sums are those of the CPU, bit for bit.
    """
    key_type = types.uint32 if shape.key_bits == 32 else types.uint64
    is_compact, load_rows, walk = shape.is_compact, row_loader(shape), walker(shape, tile_reader)
    n_warps, room = shape.lanes, 2 * CHUNK * WARP

    @in_some_registers
    def add_scores(
        values, rules, bits, status, nodes, leaves, categories, roots, start, answers, asked_of, score_of
    ):
        tile = cuda.shared.array(0, key_type)
        told = cuda.shared.array(room, types.float64)
        totals = cuda.shared.array(WARP, types.float64)
        n_trees = len(roots)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(values.shape[0])
        n_chunks, seen = (n_trees + CHUNK - 1) // CHUNK, FINITE
        while first < end:
            row = np.int64(first + lane if first + lane < end else -1)
            seen |= load_rows(values, rules, tile, lane, warp, EVERYONE, row)
            if warp == 0:
                totals[lane] = start
            cuda.syncthreads()
            for chunk in range(n_chunks + 1):
                if row >= 0 and chunk < n_chunks:
                    for tree in range(chunk * CHUNK + warp, min((chunk + 1) * CHUNK, n_trees), n_warps):
                        leaf, _ = walk(nodes, categories, tile, rules, np.uint32(lane), roots[tree])
                        told[(tree % (2 * CHUNK)) * WARP + lane] = (
                            leaves[leaf] if is_compact else leaves[U2 * leaf]
                        )
                if chunk > 0 and warp == chunk % n_warps and row >= 0:
                    total = totals[lane]
                    for tree in range((chunk - 1) * CHUNK, min(chunk * CHUNK, n_trees)):
                        total += told[(tree % (2 * CHUNK)) * WARP + lane]
                    totals[lane] = total
                cuda.syncthreads()
            if warp == 0 and row >= 0:
                answers[row] = totals[lane] > 0.0
                asked_of[row], score_of[row] = n_trees, totals[lane]
            first += WARP
            cuda.syncthreads()
        if seen:
            cuda.atomic.or_(status, 0, np.uint32(seen))

    return add_scores
