"""Compiled loops for the usual rules on the lattice of sorted counts."""

import numpy as np

from foregone._kernels.compiled import compiled

__all__: list[str] = []


@compiled
def fill_esc(level, edge_start, value, times, child, window, decided, stop):
    """Fill how likely a rule stops in each state that ends with the first window of equal votes.

    Given that the votes so far have these counts, ``going`` is the chance not to have stopped, and
    ``alike[e]`` that of this together with all votes of the window at hand being for a part of size
    ``value[e]``.
    """
    N = len(level) - 2
    going = np.ones(1)
    alike = np.zeros(0)
    below = 0
    for i in range(1, N + 1):
        share = 1.0 / i
        start, base = edge_start[level[i]], level[i - 1]
        is_first, is_last = i % window == 1 or window == 1, i % window == 0
        more_going = np.zeros(level[i + 1] - level[i])
        more_alike = np.zeros(edge_start[level[i + 1]] - start)
        for state in range(level[i], level[i + 1]):
            first, last = edge_start[state], edge_start[state + 1]
            here, unanimous = 0.0, 0.0
            for b in range(first, last):
                v, t = np.int64(value[b]), np.int64(times[b])
                before = going[child[b] - base]
                chance = (v * t) * share
                here += chance * before
                if is_first:
                    more_alike[b - start] = chance * before
                elif v > 1:
                    place = edge_start[child[b]] - below + (b - first) + (1 if t > 1 else 0)
                    same = 1  # parts of size v - 1 in the child
                    if b + 1 < last and value[b + 1] == v - 1:
                        same += np.int64(times[b + 1])
                    more_alike[b - start] = chance * (alike[place] / same)
                unanimous += more_alike[b - start]
            if decided[state] or here == 0.0 or i == N:
                stop[state] = 1.0
            elif is_last:
                stop[state] = min(unanimous / here, 1.0)
            else:
                stop[state] = 0.0
            if decided[state]:
                more_alike[first - start : last - start] = 0.0
            more_going[state - level[i]] = max(here * (1.0 - stop[state]), 0.0)
        going, alike, below = more_going, more_alike, start


@compiled
def fill_dirichlet(level, edge_start, value, times, child, density, below_x, first_node, last_node, chance):
    """Fill the chance that the leader's share is the largest, were all shares equally likely beforehand.

    Shares are gamma variates divided by their sum, so that the leader, of a votes, has the largest with the
    chance ``sum over q of density[a, q] * product over the others, of b votes, of below_x[b, q]``. Where
    there is one answer only, another one that nobody gave competes.
    """
    for state in range(1, len(chance)):
        first, last = edge_start[state], edge_start[state + 1]
        a = value[first]
        total = 0.0
        for q in range(first_node[a], last_node[a]):
            product = density[a, q]
            for e in range(first, last):
                factor = below_x[value[e], q]
                for _ in range(np.int64(times[e]) - (1 if e == first else 0)):
                    product *= factor
            if first + 1 == last and times[first] == 1:
                product *= below_x[0, q]
            total += product
        chance[state] = min(total, 1.0)
