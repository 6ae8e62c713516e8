"""Sums of many classes: who leads, by how much, and who is out.

The sums of a row are ``n_classes`` numbers of ``sums``, from ``at`` on. Of several that lead, the first one
does. A class that is out, because it trails the leader too far, has a sum of minus infinity, which nothing
that is added changes.
"""

import numpy as np
from numba import types
from numba.extending import overload

from foregone._kernels.compiled import compiled, compiled_only
from foregone._kernels.forest_nodes import U0, U1


@compiled
def leader_of(sums, at, n_classes):
    """Return the number of the class with the largest sum, and its lead over the second largest."""
    leader, first, second = U0, sums[at], -np.inf
    for number in range(U1, n_classes):
        value = sums[at + number]
        if value > first:
            leader, first, second = number, value, first
        elif value > second:
            second = value
    return leader, first - second


@compiled
def drop_classes(sums, at, n_classes, leader, threshold):
    """Put every class out that trails the leader by the threshold or more; return whether any was not yet."""
    first, dropped = sums[at + leader], False
    for number in range(n_classes):
        value = sums[at + number]
        if number != leader and value > -np.inf and first - value >= threshold:
            sums[at + number] = -np.inf
            dropped = True
    return dropped


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
def follow_leads(lines, table, are_running, order, start, upper, drops, answers, asked):
    """Fill the class that each row is answered with, and how many voters that takes.

    With ``are_running``, scores are the sums so far instead of what is added to them. With ``drops``, classes
    that trail by the threshold are out, and what is asked is counted for every class by itself.
    """
    n_classes = np.uint64(len(start))
    n_steps = len(order)
    sums = np.empty(len(start))
    for row in range(len(answers)):
        sums[:] = start
        n_asked = 0
        leader, lead = leader_of(sums, U0, n_classes)
        step = 0
        while lead < upper[step] and step < n_steps:
            for number in range(len(start)):
                if drops and sums[number] == -np.inf:
                    continue
                score = score_at(lines, table, row, order[step], number)
                sums[number] = score if are_running else sums[number] + score
                n_asked += drops
            n_asked += not drops
            step += 1
            leader, lead = leader_of(sums, U0, n_classes)
            if drops and step < n_steps and upper[step] < np.inf:
                drop_classes(sums, U0, n_classes, leader, upper[step])
        answers[row], asked[row] = leader, n_asked
