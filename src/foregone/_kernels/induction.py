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

from foregone._kernels.compiled import compiled

# Rows are passed as slices and walked from zero: only then does the compiler know that no index is negative,
# and turn the loops into vector instructions.


@compiled
def step_back(row, numbers, i, width):
    """Turn row i + 1 (of width + 1 entries) into row i, in place, summing over the next vote."""
    share = 1.0 / (i + 1)
    top = i + 1.0
    for k in range(width):
        row[k] = ((top - numbers[k]) * row[k] + (numbers[k] + 1.0) * row[k + 1]) * share


@compiled
def add_times(total, factor, row, width):
    """Add ``factor * row`` to ``total``."""
    for k in range(width):
        total[k] += factor * row[k]


@compiled
def add_times_where(total, chosen, factor, row, width):
    """Add ``factor * row`` to ``total`` where ``chosen`` is one rather than zero."""
    for k in range(width):
        total[k] += chosen[k] * factor * row[k]


@compiled
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


@compiled(nogil=True)
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
    all_numbers = np.arange(N + 3).astype(np.float64)
    stop_cost = np.zeros(N + 2)
    go_cost = np.zeros(N + 2)
    stops = np.zeros(N + 2)
    price_yes = price @ yes
    price_no = price @ no
    n_holes, n_ties = found[0], found[1]
    for i in range(to_row - 1, from_row - 1, -1):
        set_edge(i + 1, low[i + 1] - 1, 0, edge, go_on, yes, no, yes_from, wait, a, x)
        set_edge(i + 1, high[i + 1] + 1, 1, edge, go_on, yes, no, yes_from, wait, a, x)
        lo = low[i]
        width = high[i] - lo + 1
        if width <= 0:
            first[i], last[i] = lo, lo - 1
            continue
        numbers = all_numbers[lo : lo + width + 1]
        n_no = min(max(yes_from[i] - lo, 0), width)  # the first so many states of the band answer "no"
        stop_cost[:width] = 0.0
        go_cost[:width] = 0.0
        for b in range(n_bases):
            row = a[b, lo : lo + width + 1]
            step_back(row, numbers, i, width)
            if price_no[b] != 0.0:
                add_times(stop_cost, price_no[b], row, n_no)
            if price_yes[b] != 0.0:
                add_times(stop_cost[n_no:], price_yes[b], row[n_no:], width - n_no)
        for c in range(n_channels):
            row = x[c, lo : lo + width + 1]
            step_back(row, numbers, i, width)
            for b in range(n_bases):
                if go_on[c, b] != 0.0:
                    add_times(row, go_on[c, b], a[b, lo : lo + width], width)
            if price[c] != 0.0:
                add_times(go_cost, price[c], row, width)
        least = 1.0 - tolerance
        for k in range(width):
            stops[k] = 1.0 if stop_cost[k] < go_cost[k] * least else 0.0
        held, let_go = max(held_from[i] - lo, 0), min(held_to[i] - lo, width - 1) + 1
        for k in range(held, let_go):
            stops[k] = 0.0
        if len(tie_i) > 0:
            for k in range(width):
                # go_cost is zero only where no n of the prices comes by.
                if (
                    stops[k] == 0.0
                    and go_cost[k] > 0.0
                    and stop_cost[k] <= go_cost[k] * (1.0 + tolerance)
                    and not held <= k < let_go
                ):
                    if n_ties < len(tie_i):
                        stop = yes if k >= n_no else no
                        tie_i[n_ties], tie_j[n_ties] = i, lo + k
                        for c in range(n_channels):
                            tie_go_on[n_ties, c] = x[c, lo + k]
                            tie_stop[n_ties, c] = 0.0
                            for b in range(n_bases):
                                tie_stop[n_ties, c] += stop[c, b] * a[b, lo + k]
                    n_ties += 1
        for c in range(n_channels):
            row = x[c, lo : lo + width]
            for k in range(width):
                row[k] *= 1.0 - stops[k]
            for b in range(n_bases):
                if no[c, b] != 0.0:
                    add_times_where(row, stops, no[c, b], a[b, lo : lo + n_no], n_no)
                if yes[c, b] != 0.0:
                    said_yes = a[b, lo + n_no : lo + width]
                    add_times_where(row[n_no:], stops[n_no:], yes[c, b], said_yes, width - n_no)
        f, e = 0, width - 1
        while f <= e and stops[f] == 1.0:
            f += 1
        while e >= f and stops[e] == 1.0:
            e -= 1
        first[i], last[i] = lo + f, lo + e
        if held_from[i] == 0 and held_to[i] == i:
            first[i], last[i] = 0, i
        for k in range(f, e + 1):
            if stops[k] == 1.0:
                if n_holes < len(hole_i):
                    hole_i[n_holes], hole_j[n_holes] = i, lo + k
                n_holes += 1
    for c in range(n_channels):
        values[c] = x[c, 0]
    found[0], found[1] = n_holes, n_ties
    a_row[:], x_row[:] = a, x


@compiled(nogil=True)
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


@compiled(nogil=True)
def likeliest(from_row, to_row, no, yes, thresholds):
    """Move ``thresholds[i]``, from where on the answer is yes, to agree with the likelier full vote.

    ``no`` and ``yes`` are the weights of the states of row ``to_row`` whose full vote is "no" and "yes", in
    the end those of ``from_row``. States that neither reaches leave a threshold where it is.
    """
    numbers = np.arange(len(no)).astype(np.float64)
    for i in range(to_row - 1, from_row - 1, -1):
        step_back(no, numbers, i, i + 1)
        step_back(yes, numbers, i, i + 1)
        least, most = 0, i + 1
        for j in range(i + 1):
            if yes[j] > no[j]:
                most = j
                break
            if no[j] > 0.0:
                least = j + 1
        thresholds[i] = min(max(thresholds[i], least), most)
