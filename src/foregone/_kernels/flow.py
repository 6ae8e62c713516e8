"""Forward passes: from a strategy to what it costs and risks.

``p[j]`` is the chance to reach (i, j) given that the first i votes hold j yes; it does not depend on n.
"""

import numpy as np

from foregone._kernels.compiled import compiled, inner
from foregone._kernels.induction import U1, counted


@inner
def step_forward(row, numbers, i, out):
    """Turn row i into row i + 1 of the same sums, over which of the i + 1 votes came last."""
    share = 1.0 / (i + 1)
    top = i + 1.0
    out[0] = row[0]
    for k in range(U1, np.uint64(i + 2)):
        out[k] = ((top - numbers[k]) * row[k] + numbers[k] * row[k - U1]) * share


@inner
def load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop):
    """Fill ``stop[0..i]`` with the stop probabilities of step i."""
    for j in range(i + 1):
        stop[j] = 1.0
    for j in range(lower[i] + 1, upper[i]):
        stop[j] = 0.0
    for k in range(start[i], start[i + 1]):
        stop[exception_yes[k]] = exception_probability[k]


@compiled
def evaluate_rows(
    from_row, to_row, lower, upper, start, exception_yes, exception_probability, yes_from,
    span, rows_p, rows_g,
):  # fmt: skip
    """Carry p and the sums of three figures through some rows, for every n at once.

    ``rows_g`` holds, next to p in ``rows_p``, the sums G(i, j) of the terms seen so far given that the first
    i votes hold j yes, of E[votes asked | n], Pr(answers yes | n) and Pr(answers no | n); G(N, n) is the
    result. Only sums of products of non-negative numbers. Row i is at i % 2; p is zero outside ``span``. At
    row 0 all are zero but p(0, 0), which is one.
    """
    N = len(lower) - 1
    stop, numbers = np.empty(N + 1), counted(N + 2)
    first, last = span[0], span[1]
    for i in range(from_row, to_row):
        here, there = i % 2, (i + 1) % 2
        p, p_next = rows_p[here], rows_p[there]
        load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop)
        first_yes = min(max(yes_from[i], first), last + 1)
        for line in range(1, 3):
            said = rows_g[here, line]
            begin, end = (first_yes, last + 1) if line == 1 else (first, first_yes)
            for j in range(np.uint64(begin), np.uint64(end)):
                said[j] += p[j] * stop[j]
        votes = rows_g[here, 0]
        for j in range(np.uint64(first), np.uint64(last + 1)):
            p[j] = p[j] * (1.0 - stop[j])
            votes[j] += p[j]
        if i == N:
            break
        while first <= last and p[first] == 0.0:
            first += 1
        while last >= first and p[last] == 0.0:
            last -= 1
        share = 1.0 / (i + 1)
        for j in range(np.uint64(max(first, 1)), np.uint64(last + 2)):
            p_next[j] = (i + 1 - numbers[j]) * share * p[j] + numbers[j] * share * p[j - U1]
        if first == 0 and last >= 0:
            p_next[0] = p[0]
        last += 1
        p_next[last + 1] = 0.0
        if first > 0:
            p_next[first - 1] = 0.0
        for k in range(3):
            step_forward(rows_g[here, k], numbers, i, rows_g[there, k])
    span[0], span[1] = first, last


@compiled
def go_on_probabilities(
    from_row, to_row, lower, upper, start, exception_yes, exception_probability, offset, p, out
):
    """Fill ``out`` with p(i, j) * (1 - stop probability) between the thresholds, row i at ``offset[i]``.

    ``p`` holds row ``from_row``, and in the end ``to_row``.
    """
    stop = np.empty(len(lower))
    for i in range(from_row, to_row):
        load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop)
        for j in range(i + 1):
            p[j] *= 1.0 - stop[j]
        for j in range(lower[i] + 1, upper[i]):
            out[offset[i] + j - lower[i] - 1] = p[j]
        share = 1.0 / (i + 1)
        for j in range(i + 1, 0, -1):
            p[j] = (i + 1 - j) * share * p[j] + j * share * p[j - 1]


@compiled
def survival(from_row, to_row, lower, upper, offset, go_on, a, out):
    """Fill ``out[i]`` with the mass that goes on after i votes, for some rows, the last first.

    ``a[j]`` is the weight of the first ``to_row`` votes holding j yes, and in the end of ``from_row``.
    """
    for i in range(to_row - 1, from_row - 1, -1):
        share = 1.0 / (i + 1)
        for j in range(i + 1):
            a[j] = (i + 1 - j) * share * a[j] + (j + 1) * share * a[j + 1]
        total = 0.0
        for j in range(lower[i] + 1, upper[i]):
            total += go_on[offset[i] + j - lower[i] - 1] * a[j]
        out[i] = total
