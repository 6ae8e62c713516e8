"""Compiled loops over the lattice of sorted counts.

Symbols: N voters, at most K different answers. A state is a partition c of i, the number of votes so far,
into at most K parts: the counts in falling order, c_1 >= c_2 >= ... Its number is ``level[i]`` plus its rank
in lexicographic order. ``P[m, k, x]`` is the number of partitions of m into at most k parts of at most x.

The distinct positive parts of a state, in falling order, are its edges: ``edge_start[c]`` to before
``edge_start[c + 1]``; ``value[e]`` is the part, ``times[e]`` how often it occurs, ``child[e]`` the state after
one vote of one such part is taken away. Of the i votes of c, each is the last with the same probability,
so the state before c was ``child[e]`` with probability ``value[e] * times[e] / i``, whatever the full vote.
"""

import numpy as np
from numba import njit

__all__: list[str] = []


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def spread(parts, first, total):
    """Distribute a total over the parts from ``first`` on, as evenly as possible."""
    k = len(parts) - first
    if k == 0:
        return
    each, more = total // k, total % k
    for j in range(k):
        parts[first + j] = each + (1 if j < more else 0)


@njit(cache=True)
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


@njit(cache=True)
def count_edges(K, level, n_edges):
    """Fill how many distinct positive parts each state has."""
    parts = np.zeros(K, np.int64)
    for i in range(len(level) - 1):
        spread(parts, 0, i)
        for state in range(level[i], level[i + 1]):
            for j in range(K):
                if parts[j] > 0 and (j == 0 or parts[j - 1] != parts[j]):
                    n_edges[state] += 1
            next_partition(parts)


@njit(cache=True)
def fill_edges(P, level, edge_start, value, times, child):
    """Fill the edges of all states."""
    K = P.shape[1] - 1
    parts = np.zeros(K, np.int64)
    behind = np.zeros(K + 1, np.int64)  # of the rank of c without a vote: the terms from part j on
    for i in range(1, len(level) - 1):
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


@njit(cache=True)
def fill_partitions(K, total, out):
    """Fill the partitions of a total, in the order of their ranks."""
    parts = np.zeros(K, np.int64)
    spread(parts, 0, total)
    for row in range(len(out)):
        for j in range(K):
            out[row, j] = parts[j]
        next_partition(parts)


@njit(cache=True)
def shift_behind(value, times, b, last):
    """Return by how many places the parts behind part ``b`` move when that loses a vote.

    The part may vanish from its place, as it was the only one of its size, and may turn up behind it, if no
    part of its new size stands there already. Parts before it stay.
    """
    vanishes = 1 if times[b] == 1 else 0
    there = value[b] == 1 or (b + 1 < last and value[b + 1] == value[b] - 1)
    return (0 if there else 1) - vanishes


@njit(cache=True)
def pull_back(level, edge_start, value, times, child, at_end, reach):
    """Fill A(c), the chance of each state, from the weights of the states of the last level."""
    N = len(level) - 2
    reach[:] = 0.0
    reach[level[N] : level[N + 1]] = at_end
    for i in range(N, 0, -1):
        share = 1.0 / i
        for state in range(level[i], level[i + 1]):
            mass = reach[state] * share
            if mass == 0.0:
                continue
            for e in range(edge_start[state], edge_start[state + 1]):
                reach[child[e]] += mass * (np.int64(value[e]) * np.int64(times[e]))


@njit(cache=True)
def pull_back_wrong(level, edge_start, value, times, child, at_end, wrong):
    """Fill the chance of each state together with that of its leader not being a leader in the end.

    Parts that do not win in the end are followed back one by one: ``marked[e]`` is the expected number of
    them that stand at part e of a state. The leader is one of the ``times`` largest parts.
    """
    N = len(level) - 2
    start, end = edge_start[level[N]], edge_start[level[N + 1]]
    marked = np.zeros(end - start)
    for state in range(level[N], level[N + 1]):
        wrong[state] = 0.0
        for e in range(edge_start[state] + 1, edge_start[state + 1]):
            marked[e - start] = at_end[state - level[N]] * times[e]
    for i in range(N, 0, -1):
        share = 1.0 / i
        below = edge_start[level[i - 1]]
        fewer = np.zeros(start - below)
        for state in range(level[i], level[i + 1]):
            first, last = edge_start[state], edge_start[state + 1]
            for b in range(first, last):
                v = np.int64(value[b])
                chance = (v * np.int64(times[b])) * share
                to = edge_start[child[b]] - below - first
                for a in range(first, b):
                    fewer[to + a] += chance * marked[a - start]
                shift = to + shift_behind(value, times, b, last)
                for a in range(b + 1, last):
                    fewer[shift + a] += chance * marked[a - start]
                # The vote taken may be one of a marked part itself, which is then one smaller.
                mass = v * share * marked[b - start]
                if times[b] > 1:
                    fewer[to + b] += (np.int64(times[b]) - 1) * mass
                    to += 1
                if v > 1:
                    fewer[to + b] += mass
        marked = fewer
        start = below
        for state in range(level[i - 1], level[i]):
            e = edge_start[state]
            wrong[state] = marked[e - start] / times[e] if i > 1 else 0.0


@njit(cache=True)
def induce(level, edge_start, value, times, child, reach, wrong, least_votes, stops):
    """Fill where stopping is cheaper than going on, and return the least price of all.

    ``reach`` is what one vote costs in each state, ``wrong`` what stopping there costs. A tie goes on. Nothing
    stops before ``least_votes`` votes.
    """
    N = len(level) - 2
    after = np.zeros(level[N + 1] - level[N])
    for i in range(N, 0, -1):
        before = np.zeros(level[i] - level[i - 1])
        share = 1.0 / i
        base = level[i - 1]
        for state in range(level[i], level[i + 1]):
            mass = after[state - level[i]] * share
            if mass == 0.0:
                continue
            for e in range(edge_start[state], edge_start[state + 1]):
                before[child[e] - base] += mass * (np.int64(value[e]) * np.int64(times[e]))
        for k in range(len(before)):
            go_on = before[k] + reach[base + k]
            if i - 1 >= least_votes and wrong[base + k] < go_on:
                stops[base + k] = True
                before[k] = wrong[base + k]
            else:
                stops[base + k] = False
                before[k] = go_on
        after = before
    stops[level[N] : level[N + 1]] = True
    return after[0]


@njit(cache=True)
def push_forward(level, edge_start, value, times, child, stop, cost, wrong):
    """Fill the expected votes asked and the chance of a wrong answer, for every state of the last level.

    ``stop`` holds the probability of stopping in each state. Going up, three things are kept for the states
    of a level, given that the votes so far have these counts: the chance to have gone on until here,
    the votes asked so far, and for each part the chance that it was answered.
    """
    N = len(level) - 2
    going = np.ones(1)
    asked = np.zeros(1)
    answered = np.zeros(0)
    if stop[0] > 0.0:
        going[0] = 1.0 - stop[0]
    below = 0
    for i in range(1, N + 1):
        share = 1.0 / i
        start = edge_start[level[i]]
        more_going = np.zeros(level[i + 1] - level[i])
        more_asked = np.zeros(level[i + 1] - level[i])
        more_answered = np.zeros(edge_start[level[i + 1]] - start)
        base = level[i - 1]
        for state in range(level[i], level[i + 1]):
            first, last = edge_start[state], edge_start[state + 1]
            here, votes = 0.0, 0.0
            for b in range(first, last):
                v = np.int64(value[b])
                chance = (v * np.int64(times[b])) * share
                here += chance * going[child[b] - base]
                votes += chance * asked[child[b] - base]
                to = edge_start[child[b]] - below - first
                for a in range(first, b):
                    more_answered[a - start] += chance * answered[to + a]
                shift = to + shift_behind(value, times, b, last)
                for a in range(b + 1, last):
                    more_answered[a - start] += chance * answered[shift + a]
                own = v * share
                if times[b] > 1:
                    more_answered[b - start] += (np.int64(times[b]) - 1) * own * answered[to + b]
                    to += 1
                if v > 1:
                    more_answered[b - start] += own * answered[to + b]
            k = state - level[i]
            more_asked[k] = votes + here
            stopping = here if i == N else here * stop[state]
            more_answered[first - start] += stopping / times[first]
            more_going[k] = here - stopping
        going, asked, answered = more_going, more_asked, more_answered
        below = start
    for state in range(level[N], level[N + 1]):
        k = state - level[N]
        cost[k] = asked[k]
        wrong[k] = 0.0
        for e in range(edge_start[state] + 1, edge_start[state + 1]):
            wrong[k] += times[e] * answered[e - below]


@njit(cache=True)
def fill_reach(level, edge_start, value, times, child, stop, reach):
    """Fill the chance to come to each state, given that the votes so far have these counts."""
    reach[0] = 1.0
    for i in range(1, len(level) - 1):
        share = 1.0 / i
        for state in range(level[i], level[i + 1]):
            here = 0.0
            for e in range(edge_start[state], edge_start[state + 1]):
                chance = (np.int64(value[e]) * np.int64(times[e])) * share
                here += chance * (reach[child[e]] * (1.0 - stop[child[e]]))
            reach[state] = here
