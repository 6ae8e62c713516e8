"""Many rows on a GPU: a block keeps the keys of 32 rows in shared memory, and all its warps ask about them.

Lane l of every warp is for row l. Each warp asks other trees, so that the lanes of a warp walk through the
same tree and read the same nodes, and a lane's keys are in a memory bank of its own. Rows that may stop are
asked in phases, a launch each: all rows the first few trees, those that go on the next few, and so on. Key k
of lane l is at ``tile[k * WARP + l]``; of trees that compare ranks, word k of four. Of a `KernelShape`,
``lanes`` is the number of warps here.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, types

from foregone._kernels.forest_deal import dealt_order
from foregone._kernels.forest_keys import ANY_CATEGORY, CATEGORY, NAN_RIGHT, NO_CATEGORY
from foregone._kernels.forest_nodes import LOW_32, U0, U1, U2, U32
from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone._kernels.gpu.gpu_rows import RANK_BITS, WARP, KernelShape, key_reader
from foregone._kernels.gpu.gpu_votes import DEALT, stop_drawer
from foregone._kernels.gpu.gpu_walk import S0, S1, walker
from foregone._kernels.gpu.gpu_words import in_few_registers, quarters

S_WARP, U_WARP = np.uint32(WARP), np.uint64(WARP)
EVERYONE = np.uint32(2**32 - 1)
CHUNK = 32  # trees whose scores are added at a time
MOST_OF_A_PHASE = 128  # trees
AT_ONCE, ROWS_AT_ONCE = 8, 4  # features, and rows, that a warp loads together
S_NEXT = np.uint32(AT_ONCE)
MANY_REGISTERS = 96
REGISTERS = 40  # which let a multiprocessor hold 48 warps
# A category that is in no set: the number has no other use here, as one key stands for a missing value.
OUTSIDE = ANY_CATEGORY


def in_some_registers(kernel: Any) -> Any:
    """Compile a kernel of tiles."""
    return in_few_registers(kernel, REGISTERS)


def in_many_registers(kernel: Any) -> Any:
    """Compile a kernel whose tiles leave room for few threads only."""
    return in_few_registers(kernel, MANY_REGISTERS)


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
def row_loader(shape: KernelShape, width: int = WARP) -> Any:
    """Return the device function by which a block loads the keys of its rows into a tile.

    ``shape.lanes`` is the number of warps of a block, ``width`` that of rows from one feature to the next.
    Each warp loads other rows, eight features of four rows at a time: whole sectors of memory, and only eight
    keys for one bank.
    """
    n_warps, stride = shape.lanes, np.uint32(width)
    if shape.key_bits == RANK_BITS:

        @cuda.jit(device=True)
        def load_ranks(ranks, rules, tile, lane, warp, row):
            """Load words of ranks, each lane those of its own row."""
            if row >= 0:
                for word in range(warp, ranks.shape[0], n_warps):
                    tile[word * WARP + lane] = ranks[word, row]

        return load_ranks

    has_rules, no_value, key_type = shape.has_rules, missing_key(shape.key_bits), tile_type(shape)
    read_key = key_reader(shape)

    @cuda.jit(device=True)
    def tile_key(value, rules, feature):
        key, is_missing = read_key(value, rules, feature)
        if has_rules and rules[feature] & CATEGORY and key == NO_CATEGORY:
            key = OUTSIDE
        return key_type(no_value) if is_missing else key_type(key)

    @cuda.jit(device=True)
    def load_rows(values, rules, tile, lane, warp, row):
        """Load the rows of all lanes; in the place of a lane without one, -1, anything."""
        last = np.uint32(values.shape[1] - 1)
        for four in range(warp, WARP // ROWS_AT_ONCE, n_warps):
            slot = np.int32(four * ROWS_AT_ONCE + lane // AT_ONCE)
            source = max(cuda.shfl_sync(EVERYONE, row, slot), 0)
            feature = np.uint32(lane % AT_ONCE)
            while feature <= last:
                # Four loads at a time; some features are loaded twice, which does no harm.
                second, third = min(feature + S_NEXT, last), min(feature + S_NEXT + S_NEXT, last)
                fourth = min(feature + S_NEXT + S_NEXT + S_NEXT, last)
                a, b = values[source, feature], values[source, second]
                c, d = values[source, third], values[source, fourth]
                tile[np.uint32(feature * stride + np.uint32(slot))] = tile_key(a, rules, feature)
                tile[np.uint32(second * stride + np.uint32(slot))] = tile_key(b, rules, second)
                tile[np.uint32(third * stride + np.uint32(slot))] = tile_key(c, rules, third)
                tile[np.uint32(fourth * stride + np.uint32(slot))] = tile_key(d, rules, fourth)
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

    @in_some_registers
    def ask_some(
        values, rules, bits, nodes, categories, orders, steps, exceptions, seed,
        phase, first, end, waiting, going_on, counts, answers, asked_of, yes_of,
    ):  # fmt: skip
        tile = cuda.shared.array(0, key_type)
        said = cuda.shared.array(room, types.uint32)  # votes of all lanes on each tree; of two tiles
        n_trees = steps.shape[0] - 2
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        n_rows = np.int64(len(answers) if first == 0 else counts[phase])
        order, turn = 0, np.int32(0)
        for first_place in range(cuda.blockIdx.x * WARP, n_rows, cuda.gridDim.x * WARP):
            place = first_place + lane
            row, yes = np.int64(-1), np.int32(0)
            if place < n_rows:
                row = np.int64(place)
                if first > 0:
                    row, yes = np.int64(waiting[place] >> U32), np.int32(waiting[place] & LOW_32)
            load_rows(values, rules, tile, lane, warp, row)
            cuda.syncthreads()
            if by_order == DEALT and row >= 0:
                order = n_trees * dealt_order(seed, bits[row], len(orders) // n_trees)
            heard = (turn & 1) * MOST_OF_A_PHASE
            for tree in range(first + warp, end, n_warps):
                says_yes = False
                if row >= 0:
                    _, side = walk(nodes, categories, tile, rules, np.uint32(lane), orders[order + tree])
                    says_yes = (side & S1) != S0
                votes = cuda.ballot_sync(EVERYONE, says_yes)
                if lane == 0:
                    said[heard + tree - first] = np.uint32(votes)
            cuda.syncthreads()
            turn += 1
            if warp != turn % n_warps:  # the others go on to the next tile meanwhile
                continue
            asked, stops = first, row < 0
            while not stops and asked < end:
                yes += np.int32((said[heard + asked - first] >> np.uint32(lane)) & S1)
                asked += 1
                stops = (yes <= steps[asked, LOWER]) | (yes >= steps[asked, UPPER])
                begin, finish = steps[asked, START], steps[asked + 1, START]
                if begin < finish and not stops:
                    stops = draws_a_stop(
                        values, rules, exceptions, begin, finish, seed, asked, yes, bits, row
                    )
            if row >= 0 and stops:
                answers[row] = yes >= steps[asked, YES_FROM]
                asked_of[row], yes_of[row] = asked, yes
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

    @in_some_registers
    def count_votes(
        values, rules, bits, nodes, categories, roots, n_trees, yes_from, answers, asked_of, yes_of
    ):
        tile = cuda.shared.array(0, key_type)
        counts = cuda.shared.array(n_threads, types.int32)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(len(answers))
        while first < end:
            row = np.int64(first + lane if first + lane < end else -1)
            load_rows(values, rules, tile, lane, warp, row)
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

    @in_some_registers
    def add_scores(values, rules, bits, nodes, leaves, categories, roots, start, answers, asked_of, sums):
        tile = cuda.shared.array(0, key_type)
        told = cuda.shared.array(room, types.float64)
        totals = cuda.shared.array(WARP, types.float64)
        n_trees = len(roots)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        first, end = share_of(len(answers))
        n_chunks = (n_trees + CHUNK - 1) // CHUNK
        while first < end:
            row = np.int64(first + lane if first + lane < end else -1)
            load_rows(values, rules, tile, lane, warp, row)
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


@cache
def masking_kernel(shape: KernelShape) -> Any:
    """Return the kernel that adds up the scores of all trees, of two classes, by masks of leaves.

    See `foregone.forest.gpu_trees.LeafMasks`. Every warp has tiles of its own, of two rows a lane, and looks
    at all splits of all trees: which ones, depends on no row, so that its lanes read the same at the same
    time, and wait for nothing that is computed. ``n_splits`` is how many splits a tree has.
    """
    load_rows = row_loader(shape._replace(lanes=1), 2 * WARP)

    @in_many_registers
    def add_scores(values, rules, bits, splits, n_splits, scores, n_trees, start, answers, asked_of, sums):
        tiles = cuda.shared.array(0, types.uint32)
        n_rows, size = len(answers), values.shape[1] * 2 * WARP
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        in_block = cuda.blockDim.x // WARP
        tile = tiles[warp * size :]
        first = (cuda.blockIdx.x * in_block + warp) * 2 * WARP
        while first < n_rows:
            row = np.int64(first + lane if first + lane < n_rows else -1)
            other = np.int64(row + WARP if row >= 0 and row + WARP < n_rows else -1)
            load_rows(values, rules, tile, lane, 0, row)
            load_rows(values, rules, tile[WARP:], lane, 0, other)
            cuda.syncwarp(EVERYONE)
            place, total, other_total = U0, start, start
            for tree in range(n_trees):
                possible, other_possible = EVERYONE, EVERYONE
                end = place + n_splits
                while place < end:
                    key, column, remaining, added = quarters(splits, place)
                    at = np.uint64(column) + np.uint64(lane)
                    # The key of a missing value is above all others: one more, and it is below them.
                    own, other_own = np.uint32(tile[at] + added), np.uint32(tile[at + U_WARP] + added)
                    possible = np.uint32(possible & remaining) if own > key else possible
                    other_possible = (
                        np.uint32(other_possible & remaining) if other_own > key else other_possible
                    )
                    place += U1
                leaves = np.uint32(np.uint32(tree) * S_WARP - S1)
                total += scores[np.uint32(leaves + np.uint32(cuda.ffs(possible)))]
                other_total += scores[np.uint32(leaves + np.uint32(cuda.ffs(other_possible)))]
            if row >= 0:
                answers[row] = total > 0.0
                asked_of[row], sums[row] = n_trees, total
            if other >= 0:
                answers[other] = other_total > 0.0
                asked_of[other], sums[other] = n_trees, other_total
            cuda.syncwarp(EVERYONE)
            first += cuda.gridDim.x * in_block * 2 * WARP

    return add_scores
