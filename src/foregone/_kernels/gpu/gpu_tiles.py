"""Many rows on a GPU: a block keeps the keys of 32 rows in shared memory, and all its warps ask about them.

Lane l of every warp is for row l. Each warp asks other trees, so that the lanes of a warp walk through the
same tree and read the same nodes, and a lane's keys are in a memory bank of its own. Rows that may stop are
asked in phases, a launch each: all rows the first few trees, those that go on the next few, and so on. Key k
of lane l is at ``tile[k * WARP + l]``; of trees that compare ranks, word k of four. Of a `KernelShape`,
``lanes`` is the number of warps here.
"""

from functools import cache, partial
from typing import Any

import numpy as np
from numba import cuda, types

from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_keys import ANY_CATEGORY, CATEGORY, NAN_RIGHT, NO_CATEGORY
from foregone._kernels.forest_nodes import LOW_32, U2, U32
from foregone._kernels.forest_run import LOWER, START, STEP_SIZE, UPPER, YES_FROM
from foregone._kernels.gpu.gpu_rows import RANK_BITS, WARP, KernelShape, key_reader
from foregone._kernels.gpu.gpu_votes import DEALT, stop_drawer
from foregone._kernels.gpu.gpu_walk import S0, S1, walker
from foregone._kernels.gpu.gpu_words import in_few_registers

S_WARP, U_WARP = np.uint32(WARP), np.uint64(WARP)
EVERYONE = np.uint32(2**32 - 1)
CHUNK = 32  # trees whose scores are added at a time
MOST_OF_A_PHASE = 64  # trees
AT_ONCE, ROWS_AT_ONCE = 8, 4  # features, and rows, that a warp loads together
S_NEXT = np.uint32(AT_ONCE)
REGISTERS, RANK_REGISTERS = 40, 32  # which let a multiprocessor hold 48 warps, and 64
# A category that is in no set: the number has no other use here, as one key stands for a missing value.
OUTSIDE = ANY_CATEGORY


def kernel_of_tiles(shape: KernelShape) -> Any:
    """Return the decorator that compiles a kernel of tiles."""
    registers = RANK_REGISTERS if shape.key_bits == RANK_BITS else REGISTERS
    return partial(in_few_registers, registers=registers)


def missing_key(key_bits: int) -> np.uint64:
    """Return the key that stands for a missing value in a tile."""
    return np.uint64(NAN_RIGHT >> np.uint64(64 - key_bits))


def tile_type(shape: KernelShape) -> Any:
    """Return the type of what is in a tile: keys, or four ranks."""
    return types.uint64 if shape.key_bits == 64 else types.uint32


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
    """Return the device function by which a block loads the keys of its rows into a tile.

    ``shape.lanes`` is the number of warps of a block. Each loads other rows, eight features of four rows at a
    time: whole sectors of memory, and only eight keys for one bank.
    """
    n_warps, n_groups = shape.lanes, WARP // ROWS_AT_ONCE
    has_two = 2 * n_warps <= n_groups  # a warp has several groups of rows, and loads two at a time
    stride = 2 * n_warps if has_two else n_warps
    if shape.key_bits == RANK_BITS:

        @cuda.jit(device=True)
        def load_ranks(ranks, n_words, n_rows, rules, tile, lane, warp, row):
            """Load words of ranks, each lane those of its own row."""
            if row >= 0:
                for word in range(warp, n_words, n_warps):
                    tile[np.uint32(word * WARP + lane)] = ranks[
                        np.uint64(word) * np.uint64(n_rows) + np.uint64(row)
                    ]

        return load_ranks

    has_rules, no_value, key_type = shape.has_rules, missing_key(shape.key_bits), tile_type(shape)
    read_key = key_reader(shape)

    @cuda.jit(device=True)
    def put(tile, rules, feature, slot, value):
        key, is_missing = read_key(value, rules, feature)
        if has_rules and rules[feature] & CATEGORY and key == NO_CATEGORY:
            key = OUTSIDE
        tile[np.uint32(feature * S_WARP + np.uint32(slot))] = (
            key_type(no_value) if is_missing else key_type(key)
        )

    @cuda.jit(device=True)
    def load_rows(values, n_features, n_rows, rules, tile, lane, warp, row):
        """Load the rows of all lanes; in the place of a lane without one, -1, anything."""
        last, width = np.uint32(n_features - 1), np.uint64(n_features)
        for four in range(warp, n_groups, stride):
            slot = np.int32(four * ROWS_AT_ONCE + lane // AT_ONCE)
            start = np.uint64(max(cuda.shfl_sync(EVERYONE, row, slot), 0)) * width
            other_slot, other = slot, start
            if has_two:
                other_slot = np.int32(slot + n_warps * ROWS_AT_ONCE)
                other = np.uint64(max(cuda.shfl_sync(EVERYONE, row, other_slot), 0)) * width
            feature = np.uint32(lane % AT_ONCE)
            while feature <= last:
                # Four or eight loads at a time; some features are loaded twice, which does no harm.
                second, third = min(feature + S_NEXT, last), min(feature + S_NEXT + S_NEXT, last)
                fourth = min(feature + S_NEXT + S_NEXT + S_NEXT, last)
                a, b = values[start + np.uint64(feature)], values[start + np.uint64(second)]
                c, d = values[start + np.uint64(third)], values[start + np.uint64(fourth)]
                if has_two:
                    e, f = values[other + np.uint64(feature)], values[other + np.uint64(second)]
                    g, h = values[other + np.uint64(third)], values[other + np.uint64(fourth)]
                put(tile, rules, feature, slot, a)
                put(tile, rules, second, slot, b)
                put(tile, rules, third, slot, c)
                put(tile, rules, fourth, slot, d)
                if has_two:
                    put(tile, rules, feature, other_slot, e)
                    put(tile, rules, second, other_slot, f)
                    put(tile, rules, third, other_slot, g)
                    put(tile, rules, fourth, other_slot, h)
                feature = np.uint32(feature + S_NEXT + S_NEXT + S_NEXT + S_NEXT)

    return load_rows


@cuda.jit(device=True)
def share_of(n_rows):
    """Return the first row of this block, and the one behind its last."""
    share = (n_rows + cuda.gridDim.x - 1) // cuda.gridDim.x
    return cuda.blockIdx.x * share, min((cuda.blockIdx.x + 1) * share, n_rows)


@cuda.jit
def clear(counts):
    """Set all counts to zero."""
    for place in range(cuda.grid(1), len(counts), cuda.gridsize(1)):
        counts[place] = 0


@cache
def asking_kernel(shape: KernelShape, by_order: int, has_bits: bool) -> Any:
    """Return the kernel of a phase: it asks some of the trees about the rows that have not stopped before.

    The phase asks from ``first`` to before ``end``, of the order asked. Rows wait in ``waiting``, a row's
    number in the higher half of a word and its yes votes in the lower; the first phase takes all rows. Those
    that go on are written to ``going_on``, in any order, and counted in ``counts[phase + 1]``. All rows of a
    phase were asked equally many trees, so the lanes of a warp walk through the same tree at the same time.
    ``shape.lanes`` is the number of warps of a block; ``has_bits`` is whether the bits of rows are filled.
    """
    key_type = tile_type(shape)
    load_rows, walk, n_warps = row_loader(shape), walker(shape, tile_reader), shape.lanes
    draws_a_stop, room = stop_drawer(shape, has_bits), 2 * MOST_OF_A_PHASE
    room_for_steps = STEP_SIZE * (MOST_OF_A_PHASE + 2)

    @kernel_of_tiles(shape)
    def ask_some(
        values, compared, n_columns, stride, rules, bits, nodes, categories, orders, steps, exceptions, seed,
        phase, first, end, waiting, going_on, counts, answers, asked_of, yes_of,
    ):  # fmt: skip
        tile = cuda.shared.array(0, key_type)
        said = cuda.shared.array(room, types.uint32)  # votes of all lanes on each tree; of two tiles
        own_steps = cuda.shared.array(room_for_steps, types.int32)  # of this phase, and its roots
        own_roots = cuda.shared.array(MOST_OF_A_PHASE, types.uint32)
        n_trees = steps.shape[0] - 2
        for k in range(cuda.threadIdx.x, STEP_SIZE * (end - first + 2), n_warps * WARP):
            own_steps[k] = steps[first + k // STEP_SIZE, k % STEP_SIZE]
        for k in range(cuda.threadIdx.x, end - first, n_warps * WARP):
            own_roots[k] = orders[first + k]  # of the first order, if there are several
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        n_rows = np.int32(len(answers) if first == 0 else counts[phase])
        order, turn = 0, np.int32(0)
        place, further = np.int32(cuda.blockIdx.x * WARP + lane), np.int32(cuda.gridDim.x * WARP)
        while place - lane < n_rows:
            row, yes = np.int32(-1), np.int32(0)
            if place < n_rows:
                row = place
                if first > 0:
                    row, yes = np.int32(waiting[place] >> U32), np.int32(waiting[place] & LOW_32)
            place = np.int32(place + further)
            load_rows(compared, n_columns, stride, rules, tile, lane, warp, row)
            cuda.syncthreads()
            if by_order == DEALT and row >= 0:
                order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)
            heard = (turn & 1) * MOST_OF_A_PHASE
            for tree in range(first + warp, end, n_warps):
                says_yes = False
                if row >= 0:
                    root = orders[order + tree] if by_order == DEALT else own_roots[tree - first]
                    _, side = walk(nodes, categories, tile, rules, np.uint32(lane), root)
                    says_yes = (side & S1) != S0
                votes = cuda.ballot_sync(EVERYONE, says_yes)
                if lane == 0:
                    said[heard + tree - first] = np.uint32(votes)
            cuda.syncthreads()
            turn += 1
            if warp != turn % n_warps:  # the others go on to the next tile meanwhile
                continue
            number, stops = 0, row < 0
            while not stops and first + number < end:
                yes += np.int32((said[heard + number] >> np.uint32(lane)) & S1)
                number += 1
                step = STEP_SIZE * number
                stops = (yes <= own_steps[step + LOWER]) | (yes >= own_steps[step + UPPER])
                begin, finish = own_steps[step + START], own_steps[step + STEP_SIZE + START]
                if begin < finish and not stops:
                    stops = draws_a_stop(
                        values, rules, exceptions, begin, finish, seed, first + number, yes, bits, row
                    )
            if row >= 0 and stops:
                answers[row] = yes >= own_steps[STEP_SIZE * number + YES_FROM]
                asked_of[row], yes_of[row] = first + number, yes
            goes_on = np.uint32(cuda.ballot_sync(EVERYONE, not stops))
            if goes_on != S0:
                to = np.int32(0)
                if lane == 0:
                    to = np.int32(cuda.atomic.add(counts, phase + 1, np.uint32(cuda.popc(goes_on))))
                to = cuda.shfl_sync(EVERYONE, to, 0)
                if not stops:
                    below = np.uint32((np.uint64(1) << np.uint64(lane)) - np.uint64(1))
                    to += np.int32(cuda.popc(np.uint32(goes_on & below)))
                    going_on[to] = (np.uint64(row) << U32) | np.uint64(yes)

    return ask_some


@cache
def counting_kernel(shape: KernelShape) -> Any:
    """Return the kernel that counts the yes votes of all trees; every warp asks some of them."""
    key_type = tile_type(shape)
    load_rows, walk, n_warps = row_loader(shape), walker(shape, tile_reader), shape.lanes
    n_threads = n_warps * WARP

    @kernel_of_tiles(shape)
    def count_votes(
        values,
        compared,
        n_columns,
        stride,
        rules,
        bits,
        nodes,
        categories,
        roots,
        n_trees,
        yes_from,
        answers,
        asked_of,
        yes_of,
    ):
        tile = cuda.shared.array(0, key_type)
        counts = cuda.shared.array(n_threads, types.int32)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(len(answers))
        while first < end:
            row = np.int32(first + lane if first + lane < end else -1)
            load_rows(compared, n_columns, stride, rules, tile, lane, warp, row)
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

    return count_votes


@cache
def adding_kernel(shape: KernelShape) -> Any:
    """Return the kernel that adds up the scores of all trees, of two classes.

    Trees are asked in chunks. While the warps ask those of the next one, one of them, each in its turn, adds
    the scores of the last chunk, tree by tree, so that sums are those of the CPU, bit for bit.
    """
    key_type = tile_type(shape)
    is_compact, load_rows, walk = shape.is_compact, row_loader(shape), walker(shape, tile_reader)
    n_warps, room = shape.lanes, 2 * CHUNK * WARP

    @kernel_of_tiles(shape)
    def add_scores(
        values,
        compared,
        n_columns,
        stride,
        rules,
        bits,
        nodes,
        leaves,
        categories,
        roots,
        start,
        answers,
        asked_of,
        sums,
    ):
        tile = cuda.shared.array(0, key_type)
        told = cuda.shared.array(room, types.float64)
        totals = cuda.shared.array(WARP, types.float64)
        n_trees = len(roots)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(len(answers))
        n_chunks = (n_trees + CHUNK - 1) // CHUNK
        while first < end:
            row = np.int32(first + lane if first + lane < end else -1)
            load_rows(compared, n_columns, stride, rules, tile, lane, warp, row)
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
                asked_of[row], sums[row] = n_trees, totals[lane]
            first += WARP
            cuda.syncthreads()

    return add_scores
