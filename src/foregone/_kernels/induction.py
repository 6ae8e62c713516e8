"""Backward induction: the best stopping strategy when disagreement has a price.

Rows are computed inside a band ``low[i] <= j <= high[i]`` only; outside it the strategy stops. Because
``high`` and ``i - low`` never decrease, a row needs nothing of the next one but its band and the two
states just outside, whose weights come ready-made in ``edge``.

A "basis" b is a set of weights over n; A_b(i, j) is its mass at (i, j). A "channel" is a sum of such
masses over the states where the strategy goes on, stops with "yes", or stops with "no": expected votes or
disagreement under some weights. Channel c adds ``go_on[c, b] * A_b`` where it goes on, ``yes[c, b] * A_b``
and ``no[c, b] * A_b`` where it stops. ``price[c]`` is what one unit of channel c costs.

At a stop the answer is yes from ``yes_from[i]`` yes votes on. In the states from ``held_from[i]`` to
``held_to[i]`` it must go on. A step where all states are held is no look: outside the band it goes on there
too, for ``wait[i]`` votes until the next look, and stops then.
"""

import numpy as np

from foregone._kernels.compiled import compiled, inner

U1 = np.uint64(1)
STOPPING, GOING_ON = np.int64(0), np.int64(1)  # lines of costs

# Rows are walked from ``lo`` on by unsigned numbers: only then does the compiler know that no index is
# negative, and turn the loops into vector instructions. Slices would do, but take long to compile.


@inner
def counted(size):
    """Return 0, 1, 2, ... as floats."""
    numbers = np.empty(size)
    for k in range(size):
        numbers[k] = k
    return numbers


@inner
def copy_rows(source, target):
    """Copy a matrix. For ``target[:] = source`` numba compiles an error message, which takes seconds."""
    for row in range(len(source)):
        for k in range(source.shape[1]):
            target[row, k] = source[row, k]


@inner
def step_back(rows, number, lo, numbers, i, width):
    """Turn row i + 1 (of width + 1 entries) into row i, in place, summing over the next vote."""
    share = 1.0 / (i + 1)
    top = i + 1.0
    row = rows[number]
    for k in range(np.uint64(lo), np.uint64(lo + width)):
        row[k] = ((top - numbers[k]) * row[k] + (numbers[k] + 1.0) * row[k + U1]) * share


@inner
def add_times(total, number, factor, rows, other, first, end):
    """Add ``factor`` times a row of ``rows`` to one of ``total``, from ``first`` to before ``end``."""
    to, row = total[number], rows[other]
    for k in range(np.uint64(first), np.uint64(end)):
        to[k] += factor * row[k]


@inner
def add_times_where(total, number, chosen, factor, rows, other, first, end):
    """Do the same where ``chosen`` is one rather than zero."""
    to, row = total[number], rows[other]
    for k in range(np.uint64(first), np.uint64(end)):
        to[k] += chosen[k] * factor * row[k]


@inner
def set_edge(i, j, side, edge, go_on, yes, no, yes_from, wait, a, x):
    """Put the state (i, j) just outside the band of step i in place: it stops, at the next look."""
    if j < 0 or j > i:
        return
    for b in range(len(a)):
        a[b, j] = edge[b, i, side]
    stop = yes if j >= yes_from[i] else no
    for c in range(len(x)):
        total = 0.0
        for b in range(len(a)):
            total += (stop[c, b] + wait[i] * go_on[c, b]) * a[b, j]
        x[c, j] = total


@compiled
def induce(
    from_row, to_row, a_row, x_row, found,
    low, high, edge, yes_from, held_from, held_to, wait, go_on, yes, no, price, tolerance,
    values, first, last, hole_i, hole_j, tie_i, tie_j, tie_stop, tie_go_on,
):  # fmt: skip
    """Find the strategy of least price in some rows, the last first; a near-tie goes on.

    ``a_row[b, j]`` is A_b(i, j) inside the band and ``x_row[c, j]`` channel c from (i, j) on, per unit of
    reach: given for i = ``to_row`` and filled for ``from_row``. At the last row both are zero.

    Fills ``values`` with the channels of that strategy, ``first[i]..last[i]`` with the hull of the states
    of step i where it goes on (first > last where there is none), the stops inside a hull (``hole_*``)
    and the states where both actions cost the same up to ``tolerance`` (``tie_*``, with the channels
    of stopping and of going on there). ``found`` counts holes and ties; only as many as fit are stored. Both
    come sorted by falling i, then rising j.
    """
    N = len(low) - 1
    n_bases, n_channels = len(edge), len(price)
    a, x = a_row.copy(), x_row.copy()  # which the compiler knows to overlap with nothing else
    numbers = counted(N + 3)
    costs, stops = np.empty((2, N + 2)), np.empty(N + 2)
    stop_cost, go_cost = costs[STOPPING], costs[GOING_ON]
    price_yes, price_no = np.zeros(n_bases), np.zeros(n_bases)
    for c in range(n_channels):
        for b in range(n_bases):
            price_yes[b] += price[c] * yes[c, b]
            price_no[b] += price[c] * no[c, b]
    n_holes, n_ties = found[0], found[1]
    for i in range(to_row - 1, from_row - 1, -1):
        for side in range(2):
            j = high[i + 1] + 1 if side else low[i + 1] - 1
            set_edge(i + 1, j, side, edge, go_on, yes, no, yes_from, wait, a, x)
        lo = low[i]
        width = high[i] - lo + 1
        if width <= 0:
            first[i], last[i] = lo, lo - 1
            continue
        end = lo + width
        first_yes = min(max(yes_from[i], lo), end)  # the states of the band before it answer "no"
        for k in range(np.uint64(lo), np.uint64(end)):
            stop_cost[k] = go_cost[k] = 0.0
        for b in range(n_bases):
            step_back(a, b, lo, numbers, i, width)
            if price_no[b] != 0.0:
                add_times(costs, STOPPING, price_no[b], a, b, lo, first_yes)
            if price_yes[b] != 0.0:
                add_times(costs, STOPPING, price_yes[b], a, b, first_yes, end)
        for c in range(n_channels):
            step_back(x, c, lo, numbers, i, width)
            for b in range(n_bases):
                if go_on[c, b] != 0.0:
                    add_times(x, c, go_on[c, b], a, b, lo, end)
            if price[c] != 0.0:
                add_times(costs, GOING_ON, price[c], x, c, lo, end)
        least = 1.0 - tolerance
        for k in range(np.uint64(lo), np.uint64(end)):
            stops[k] = 1.0 if stop_cost[k] < go_cost[k] * least else 0.0
        held, let_go = max(held_from[i], lo), min(held_to[i], end - 1) + 1
        for k in range(held, let_go):
            stops[k] = 0.0
        if len(tie_i) > 0:
            for k in range(lo, end):
                # go_cost is zero only where no n of the prices comes by.
                if (
                    stops[k] == 0.0
                    and go_cost[k] > 0.0
                    and stop_cost[k] <= go_cost[k] * (1.0 + tolerance)
                    and not held <= k < let_go
                ):
                    if n_ties < len(tie_i):
                        stop = yes if k >= first_yes else no
                        tie_i[n_ties], tie_j[n_ties] = i, k
                        for c in range(n_channels):
                            tie_go_on[n_ties, c] = x[c, k]
                            tie_stop[n_ties, c] = 0.0
                            for b in range(n_bases):
                                tie_stop[n_ties, c] += stop[c, b] * a[b, k]
                    n_ties += 1
        for c in range(n_channels):
            row = x[c]
            for k in range(np.uint64(lo), np.uint64(end)):
                row[k] *= 1.0 - stops[k]
            for b in range(n_bases):
                if no[c, b] != 0.0:
                    add_times_where(x, c, stops, no[c, b], a, b, lo, first_yes)
                if yes[c, b] != 0.0:
                    add_times_where(x, c, stops, yes[c, b], a, b, first_yes, end)
        f, e = lo, end - 1
        while f <= e and stops[f] == 1.0:
            f += 1
        while e >= f and stops[e] == 1.0:
            e -= 1
        first[i], last[i] = f, e
        if held_from[i] == 0 and held_to[i] == i:
            first[i], last[i] = 0, i
        for k in range(f, e + 1):
            if stops[k] == 1.0:
                if n_holes < len(hole_i):
                    hole_i[n_holes], hole_j[n_holes] = i, k
                n_holes += 1
    for c in range(n_channels):
        values[c] = x[c, 0]
    found[0], found[1] = n_holes, n_ties
    copy_rows(a, a_row)
    copy_rows(x, x_row)


@compiled
def flow_to_states(to_row, p, place, first, last, hole_i, hole_j, source_i, state_i, state_j, out):
    """Fill ``out[k]`` with the chance to reach state k after going on from the source, up to row ``to_row``.

    Chances are given that the votes asked up to state k hold as many yes as it says, per unit of the
    same at the source. The states are sorted by rising i; holes by falling i. A source in row -1 stands for
    the start. ``place`` holds the row that ``p`` is of, outside which j it is zero, the next hole and the
    next state: the source's own at the beginning. Returns whether there is more to do.
    """
    N = len(first)
    i, lo, hi, hole, k = place[0], place[1], place[2], place[3], place[4]
    while k < len(state_i) and state_i[k] <= source_i:
        k += 1
    while k < len(state_i) and i < N:
        if i >= to_row:
            place[0], place[1], place[2], place[3], place[4] = i, lo, hi, hole, k
            return True
        if i >= 0 and i != source_i:
            for j in range(lo, min(hi, first[i] - 1) + 1):
                p[j] = 0.0
            for j in range(max(lo, last[i] + 1), hi + 1):
                p[j] = 0.0
            lo = max(lo, first[i])
            hi = min(hi, last[i])
            while hole >= 0 and hole_i[hole] < i:
                hole -= 1
            while hole >= 0 and hole_i[hole] == i:
                p[hole_j[hole]] = 0.0
                hole -= 1
            if lo > hi:
                return False
        if i >= 0:
            share = 1.0 / (i + 1)
            for j in range(hi + 1, max(lo, 1) - 1, -1):
                p[j] = (i + 1 - j) * share * p[j] + j * share * p[j - 1]
            hi += 1
        i += 1
        while k < len(state_i) and state_i[k] == i:
            j = state_j[k]
            out[k] = p[j] if lo <= j <= hi else 0.0
            k += 1
    return False


@compiled
def likeliest(from_row, to_row, both, thresholds):
    """Move ``thresholds[i]``, from where on the answer is yes, to agree with the likelier full vote.

    ``both`` are the weights of the states of row ``to_row`` whose full vote is "no", and "yes", in the end
    those of ``from_row``. States that neither reaches leave a threshold where it is.
    """
    no, yes = both[0], both[1]
    numbers = counted(len(no))
    for i in range(to_row - 1, from_row - 1, -1):
        step_back(both, 0, 0, numbers, i, i + 1)
        step_back(both, 1, 0, numbers, i, i + 1)
        least, most = 0, i + 1
        for j in range(i + 1):
            if yes[j] > no[j]:
                most = j
                break
            if no[j] > 0.0:
                least = j + 1
        thresholds[i] = min(max(thresholds[i], least), most)
