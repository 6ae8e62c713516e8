"""Compiled loops that number the sorted counts of votes and find their neighbours.

Symbols: N voters, at most K different answers. A state is a partition c of i, the number of votes so far,
into at most K parts: the counts in falling order, c_1 >= c_2 >= ... Its number is ``level[i]`` plus its rank
in lexicographic order. ``P[m, k, x]`` is the number of partitions of m into at most k parts of at most x.

The distinct positive parts of a state, in falling order, are its edges: ``edge_start[c]`` to before
``edge_start[c + 1]``; ``value[e]`` is the part, ``times[e]`` how often it occurs, ``child[e]`` the state
after one vote of one such part is taken away.
"""

import numpy as np

from foregone._kernels.compiled import compiled, inner

__all__: list[str] = []


@compiled
def fill_partition_counts(P):
    """Fill ``P[m, k, x]``, given zeros."""
    N, K = P.shape[0] - 1, P.shape[1] - 1
    for k in range(K + 1):
        for x in range(N + 1):
            P[0, k, x] = 1
    for m in range(1, N + 1):
        for k in range(1, K + 1):
            for x in range(1, N + 1):
                # Either no part is as large as x, or the first one is.
                P[m, k, x] = P[m, k, x - 1] + (P[m - x, k - 1, x] if m >= x else 0)


@compiled
def rank_of(parts, total, P):
    """Return the rank of sorted counts among the partitions of their total."""
    k = P.shape[1] - 1
    rank = 0
    rest = total
    for j in range(len(parts)):
        if parts[j] == 0:
            break
        rank += P[rest, k - j, parts[j] - 1]
        rest -= parts[j]
    return rank


@compiled
def ranks_of(rows, total, P, ranks):
    """Fill the ranks of rows of sorted counts, all of the same total."""
    for k in range(len(rows)):
        ranks[k] = rank_of(rows[k], total, P)


@inner
def spread(parts, first, total):
    """Distribute a total over the parts from ``first`` on, as evenly as possible."""
    k = len(parts) - first
    if k == 0:
        return
    each, more = total // k, total % k
    for j in range(k):
        parts[first + j] = each + (1 if j < more else 0)


@inner
def next_partition(parts):
    """Go to the next partition in lexicographic order; return whether there is one."""
    behind = 0
    for j in range(len(parts) - 1, -1, -1):
        if behind >= 1 and (j == 0 or parts[j - 1] > parts[j]):
            parts[j] += 1
            spread(parts, j + 1, behind - 1)
            return True
        behind += parts[j]
    return False


@compiled
def count_edges(first, end, K, level, n_edges):
    """Fill how many distinct positive parts each state of some levels has."""
    parts = np.zeros(K, np.int64)
    for i in range(first, end):
        spread(parts, 0, i)
        for state in range(level[i], level[i + 1]):
            for j in range(K):
                if parts[j] > 0 and (j == 0 or parts[j - 1] != parts[j]):
                    n_edges[state] += 1
            next_partition(parts)


@compiled
def fill_edges(first, end, P, level, edge_start, value, times, child):
    """Fill the edges of all states of some levels."""
    K = P.shape[1] - 1
    parts = np.zeros(K, np.int64)
    behind = np.zeros(K + 1, np.int64)  # of the rank of c without a vote: the terms from part j on
    for i in range(first, end):
        spread(parts, 0, i)
        for state in range(level[i], level[i + 1]):
            used = 0
            while used < K and parts[used] > 0:
                used += 1
            rest = 0
            behind[used] = 0
            for j in range(used - 1, -1, -1):
                rest += parts[j]
                behind[j] = behind[j + 1] + P[rest, K - j, parts[j] - 1]
            e = edge_start[state]
            before, rest, same = 0, i, 0  # terms of the rank before part j, with one vote fewer to come
            for j in range(used):
                v = parts[j]
                same += 1
                if j + 1 == used or parts[j + 1] != v:
                    # The last of equal parts loses the vote, so that the parts stay sorted.
                    own = P[rest - 1, K - j, v - 2] if v >= 2 else 0
                    value[e], times[e] = v, same
                    child[e] = level[i - 1] + before + own + behind[j + 1]
                    e += 1
                    same = 0
                before += P[rest - 1, K - j, v - 1]
                rest -= v
            next_partition(parts)


@compiled
def fill_partitions(K, total, out):
    """Fill the partitions of a total, in the order of their ranks."""
    parts = np.zeros(K, np.int64)
    spread(parts, 0, total)
    for row in range(len(out)):
        for j in range(K):
            out[row, j] = parts[j]
        next_partition(parts)
