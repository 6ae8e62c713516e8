"""Compiled passes over the lattice of sorted counts; `partitions` says how it is numbered.

Of the i votes of a state c, each is the last with the same probability, so the state before c was
``child[e]`` with probability ``value[e] * times[e] / i``, whatever the full vote.

A pass goes through the levels from ``first`` to before ``end`` only, up or down, because compiled code sees
no signals: what it has of the level that it came to is taken and given on, or stands in its result. No array
is returned: making a Python object of it is where a signal would turn into a SystemError.
"""

import numpy as np

from foregone._kernels.compiled import compiled, inner

__all__: list[str] = []


@inner
def shift_behind(value, times, b, last):
    """Return by how many places the parts behind part ``b`` move when that loses a vote.

    The part may vanish from its place, as it was the only one of its size, and may turn up behind it, if no
    part of its new size stands there already. Parts before it stay.
    """
    vanishes = 1 if times[b] == 1 else 0
    there = value[b] == 1 or (b + 1 < last and value[b + 1] == value[b] - 1)
    return (0 if there else 1) - vanishes


@compiled
def pull_back(level, edge_start, value, times, child, first, end, reach):
    """Fill A(c), the chance of each state, from those of the last level; those below are zero."""
    for i in range(end - 1, first - 1, -1):
        share = 1.0 / i
        for state in range(level[i], level[i + 1]):
            mass = reach[state] * share
            if mass == 0.0:
                continue
            for e in range(edge_start[state], edge_start[state + 1]):
                reach[child[e]] += mass * (np.int64(value[e]) * np.int64(times[e]))


@compiled
def pull_back_wrong(level, edge_start, value, times, child, lowest, highest, at_end, marked, out, wrong):
    """Fill the chance of each state together with that of its leader not being a leader in the end.

    Parts that do not win in the end are followed back one by one: ``marked[e]`` is the expected number of
    them that stand at part e of a state; given for level ``highest`` unless that is the last, and put into
    ``out`` for the one below ``lowest``. The leader is one of the ``times`` largest parts.
    """
    N = len(level) - 2
    start, end = edge_start[level[highest]], edge_start[level[highest + 1]]
    if highest == N:
        marked = np.zeros(end - start)
        for state in range(level[N], level[N + 1]):
            wrong[state] = 0.0
            for e in range(edge_start[state] + 1, edge_start[state + 1]):
                marked[e - start] = at_end[state - level[N]] * times[e]
    for i in range(highest, lowest - 1, -1):
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
    out[:] = marked


@compiled
def induce(level, edge_start, value, times, child, first, end, reach, wrong, least_votes, after, out, stops):
    """Fill where stopping is cheaper than going on.

    ``after`` holds the least price from each state of the level before ``end`` on, all zero at the last, and
    ``out`` gets those of the level below ``first``.
    ``reach`` is what one vote costs in each state, ``wrong`` what stopping there costs. A tie goes on.
    Nothing stops before ``least_votes`` votes.
    """
    for i in range(end - 1, first - 1, -1):
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
    out[:] = after


@compiled
def push_forward(
    level, edge_start, value, times, child, lowest, end, stop, counts_votes,
    going, asked, of_part, out_going, out_asked, out_of_part,
):  # fmt: skip
    """Fill the expected votes asked, for every state of the last level, and a mean for each of its parts.

    ``stop`` holds the probability of stopping in each state, also of the last level. Going up, three things
    are kept for the states of a level, given that the votes so far have these counts: the chance to have gone
    on until here, the votes asked so far, and for each part a mean: how many of its votes were asked, if
    ``counts_votes``, otherwise the chance that it was answered, each for one part of its size. They are given
    for the level below ``lowest`` and filled for that before ``end``.
    """
    below = edge_start[level[lowest - 1]]
    for i in range(lowest, end):
        share = 1.0 / i
        start = edge_start[level[i]]
        more_going = np.zeros(level[i + 1] - level[i])
        more_asked = np.zeros(level[i + 1] - level[i])
        more_of_part = np.zeros(edge_start[level[i + 1]] - start)
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
                    more_of_part[a - start] += chance * of_part[to + a]
                shift = to + shift_behind(value, times, b, last)
                for a in range(b + 1, last):
                    more_of_part[a - start] += chance * of_part[shift + a]
                own = v * share
                if times[b] > 1:
                    more_of_part[b - start] += (np.int64(times[b]) - 1) * own * of_part[to + b]
                    to += 1
                if v > 1:
                    more_of_part[b - start] += own * of_part[to + b]
            k = state - level[i]
            more_asked[k] = votes + here
            stopping = here * stop[state]
            if counts_votes:
                for a in range(first, last):
                    more_of_part[a - start] += stopping * value[a]
            else:
                more_of_part[first - start] += stopping / times[first]
            more_going[k] = here - stopping
        going, asked, of_part = more_going, more_asked, more_of_part
        below = start
    out_going[:] = going
    out_asked[:] = asked
    out_of_part[:] = of_part


@compiled
def sum_losers(level, edge_start, value, times, child, marked, wrong):
    """Fill, for every state of the last level, the sum over the parts that do not lead."""
    N = len(level) - 2
    start = edge_start[level[N]]
    for state in range(level[N], level[N + 1]):
        total = 0.0
        for e in range(edge_start[state] + 1, edge_start[state + 1]):
            total += times[e] * marked[e - start]
        wrong[state - level[N]] = total


@compiled
def fill_reach(level, edge_start, value, times, child, first, end, stop, reach):
    """Fill the chance to come to each state, given that the votes so far have these counts; 1 at first."""
    for i in range(first, end):
        share = 1.0 / i
        for state in range(level[i], level[i + 1]):
            here = 0.0
            for e in range(edge_start[state], edge_start[state + 1]):
                chance = (np.int64(value[e]) * np.int64(times[e])) * share
                here += chance * (reach[child[e]] * (1.0 - stop[child[e]]))
            reach[state] = here


@compiled
def redraw(level, edge_start, value, times, child, lowest, end, K, newness, chance):
    """Fill the chances of the states of some levels, when votes are added by an urn to what is below.

    Of i votes so far, the next one repeats each with weight 1, and is for an answer of its own with weight
    ``newness``, if there are fewer than K answers yet.
    """
    for i in range(lowest, end):
        for state in range(level[i], level[i + 1]):
            first, last = edge_start[state], edge_start[state + 1]
            parts = 0
            for e in range(first, last):
                parts += times[e]
            total = 0.0
            for e in range(first, last):
                before = chance[child[e]]
                if before == 0.0:
                    continue
                if value[e] == 1:
                    total += before * newness / (i - 1 + newness)
                else:
                    v = np.int64(value[e]) - 1
                    same = 1  # parts of size v in the child
                    if e + 1 < last and value[e + 1] == v:
                        same += np.int64(times[e + 1])
                    total += before * (v * same) / (i - 1 + (newness if parts < K else 0.0))
            chance[state] = total


@compiled
def fill_least_votes(level, edge_start, value, times, child, stop, least):
    """Fill after how many more votes, at the least, each state may lead to a stop; given any."""
    N = len(level) - 2
    least[:] = N
    least[level[N] : level[N + 1]] = 0
    for i in range(N, -1, -1):
        for state in range(level[i], level[i + 1]):
            if stop[state] > 0.0:
                least[state] = 0
            more = least[state] + 1
            for e in range(edge_start[state], edge_start[state + 1]):
                if more < least[child[e]]:
                    least[child[e]] = more


@compiled
def fill_most_votes(level, edge_start, value, times, child, stop, most):
    """Fill after how many more votes, at the most, each state leads to a stop; 0 if it stops for certain."""
    N = len(level) - 2
    most[:] = 0
    for i in range(N, 0, -1):
        for state in range(level[i], level[i + 1]):
            more = 1 if stop[state] >= 1.0 else most[state] + 1
            for e in range(edge_start[state], edge_start[state + 1]):
                if more > most[child[e]]:
                    most[child[e]] = more
    for state in range(len(most)):
        if stop[state] >= 1.0:
            most[state] = 0


@compiled
def top_two(edge_start, value, times, top, second):
    """Fill the largest and the next largest count of each state; 0 where there is none."""
    for state in range(len(top)):
        first, last = edge_start[state], edge_start[state + 1]
        top[state] = value[first] if first < last else 0
        second[state] = 0
        if first < last and times[first] > 1:
            second[state] = value[first]
        elif first + 1 < last:
            second[state] = value[first + 1]
