"""Sums of many classes: who leads, by how much, and who is out.

The sums of a row are ``n_classes`` numbers of ``sums``, from ``at`` on. The leader is the class with the
largest sum, the first of several. A dropped class, which trails the leader too far, has a sum of minus
infinity, which stays so whatever is added.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only, inner
from foregone._kernels.forest_nodes import U0, U1, U2, U3, U4


@inner
def _two_largest(first, second, value):
    """Return the two largest of three numbers, of which the first is not below the second; no branches."""
    rest = min(first, value)
    return max(first, value), max(second, rest)


@inner
def lead_of(sums, at, n_classes):
    """Return the largest sum and the second largest.

    Four numbers are compared at a time, without branches: a processor would mispredict the leader about as
    often as it changes.
    """
    first_0 = first_1 = first_2 = first_3 = -np.inf
    second_0 = second_1 = second_2 = second_3 = -np.inf
    place, end = at, at + n_classes
    while place + U4 <= end:
        first_0, second_0 = _two_largest(first_0, second_0, sums[place])
        first_1, second_1 = _two_largest(first_1, second_1, sums[place + U1])
        first_2, second_2 = _two_largest(first_2, second_2, sums[place + U2])
        first_3, second_3 = _two_largest(first_3, second_3, sums[place + U3])
        place += U4
    while place < end:
        first_0, second_0 = _two_largest(first_0, second_0, sums[place])
        place += U1
    second_0, second_2 = max(second_0, second_1), max(second_2, second_3)
    first_0, second_0 = _two_largest(first_0, second_0, first_1)
    first_2, second_2 = _two_largest(first_2, second_2, first_3)
    first_0, second_0 = _two_largest(first_0, max(second_0, second_2), first_2)
    return first_0, second_0


@inner
def leader_of(sums, at, n_classes):
    """Return the number of the class with the largest sum, and its lead over the second largest."""
    first, second = lead_of(sums, at, n_classes)
    leader = U0
    while sums[at + leader] < first:
        leader += U1
    return leader, first - second


@inner
def looks(upper, step, width):
    """Whether anything could stop, or be dropped, after this step: whether a threshold is finite."""
    smallest = np.inf
    for place in range(step * width, (step + 1) * width):
        smallest = min(smallest, upper[place])
    return smallest < np.inf


@inner
def stops_here(sums, at, n_classes, upper, step, width):
    """Return whether a row stops after a step, who leads if it does, and whether a class was put out.

    ``upper`` has ``width`` thresholds a step. With one, a row stops when the lead reaches it. With one for
    each class, every class is out that trails the leader by its threshold, and a row stops when all others
    are; nobody is put out by the last step, which always stops.
    """
    if width == 1:
        first, second = lead_of(sums, at, n_classes)
        if first - second < upper[step]:
            return False, U0, False
    leader, _ = leader_of(sums, at, n_classes)
    if width == 1:
        return True, leader, False
    if (step + 1) * width == len(upper):
        return True, leader, False
    first, n_left, dropped = sums[at + leader], 0, False
    for number in range(n_classes):
        value = sums[at + number]
        if number == leader or value == -np.inf:
            continue
        if first - value >= upper[step * width + np.int64(number)]:
            sums[at + number] = -np.inf
            dropped = True
        else:
            n_left += 1
    return n_left == 0, leader, dropped


@compiled
def fill_leads(sums, leads, leaders):
    """Fill what `leader_of` returns for each row of a matrix with one column a class."""
    n_rows, n_classes = sums.shape
    flat = sums.reshape(-1)
    for row in range(n_rows):
        leaders[row], leads[row] = leader_of(flat, np.uint64(row * n_classes), np.uint64(n_classes))


def score_at(lines, table, row, voter, number):
    """Return the score of one row, voter and class, as `foregone.scores.ClassScores` keeps them."""
    compiled_only()


@overload(score_at)
def _score_at(lines, table, row, voter, number):
    if isinstance(lines, types.NoneType):
        return lambda lines, table, row, voter, number: table[row, voter, number]
    return lambda lines, table, row, voter, number: table[lines[row, voter], number]


@compiled
def fill_paths(lines, table, are_running, order, start, leads, leaders):
    """Fill the lead and the leader after each step if no class is ever out, as `follow_leads` adds up."""
    n_classes = np.uint64(len(start))
    sums = np.empty(len(start))
    for row in range(len(leads)):
        sums[:] = start
        for step in range(len(order)):
            for number in range(len(start)):
                score = score_at(lines, table, row, order[step], number)
                sums[number] = score if are_running else sums[number] + score
            leaders[row, step], leads[row, step] = leader_of(sums, U0, n_classes)


@compiled
def fill_gaps(lines, table, are_running, order, start, knots, gaps):
    """Fill by how much each class trails the leader after some steps, if no class is ever out."""
    n_classes = np.uint64(len(start))
    sums = np.empty(len(start))
    for row in range(len(gaps)):
        sums[:] = start
        knot = 0
        for step in range(len(order)):
            for number in range(len(start)):
                score = score_at(lines, table, row, order[step], number)
                sums[number] = score if are_running else sums[number] + score
            if knot < len(knots) and knots[knot] == step + 1:
                leader, _ = leader_of(sums, U0, n_classes)
                for number in range(len(start)):
                    gaps[row, knot, number] = sums[leader] - sums[number]
                knot += 1


@compiled
def follow_leads(lines, table, are_running, order, start, upper, width, answers, asked):
    """Fill the class that each row is answered with, and how many voters that takes.

    With ``are_running``, scores are the sums so far instead of what is added to them. Thresholds are those of
    `stops_here`; with one for each class, what is asked is counted for every class by itself.
    """
    n_classes = np.uint64(len(start))
    n_steps = len(order)
    sums = np.empty(len(start))
    for row in range(len(answers)):
        sums[:] = start
        n_asked, step, stops = 0, 0, False
        leader, lead = leader_of(sums, U0, n_classes)
        if width == 1:
            stops = lead >= upper[0]
        while not stops and step < n_steps:
            for number in range(len(start)):
                if width > 1 and sums[number] == -np.inf:
                    continue
                score = score_at(lines, table, row, order[step], number)
                sums[number] = score if are_running else sums[number] + score
                n_asked += width > 1
            n_asked += width == 1
            step += 1
            if looks(upper, step, width):
                stops, leader, _ = stops_here(sums, U0, n_classes, upper, step, width)
        if not stops:
            leader, _ = leader_of(sums, U0, n_classes)
        answers[row], asked[row] = leader, n_asked
