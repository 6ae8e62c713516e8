"""Forward passes: from a strategy to what it costs and risks.

``p[j]`` is the chance to reach (i, j) given that the first i votes hold j yes; it does not depend on n.
"""

import numpy as np

from foregone._kernels.compiled import compiled


@compiled
def step_forward(row, numbers, i, out):
    """Turn row i into row i + 1 of the same sums, over which of the i + 1 votes came last."""
    share = 1.0 / (i + 1)
    top = i + 1.0
    out[0] = row[0]
    before, here, filled, count = row[: i + 1], row[1 : i + 2], out[1 : i + 2], numbers[1 : i + 2]
    for k in range(i + 1):
        filled[k] = ((top - count[k]) * here[k] + count[k] * before[k]) * share


@compiled
def load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop):
    """Fill ``stop[0..i]`` with the stop probabilities of step i."""
    for j in range(i + 1):
        stop[j] = 1.0
    for j in range(lower[i] + 1, upper[i]):
        stop[j] = 0.0
    for k in range(start[i], start[i + 1]):
        stop[exception_yes[k]] = exception_probability[k]


@compiled(nogil=True)
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
    stop = np.ones(N + 1)
    numbers = np.arange(N + 2).astype(np.float64)
    first, last = span[0], span[1]
    # Copies, which the compiler knows to overlap with nothing else.
    p, p_next = rows_p[from_row % 2].copy(), rows_p[(from_row + 1) % 2].copy()
    g, g_next = rows_g[from_row % 2].copy(), rows_g[(from_row + 1) % 2].copy()
    for i in range(from_row, to_row):
        load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop)
        for j in range(first, last + 1):
            stopped = p[j] * stop[j]
            p[j] = p[j] * (1.0 - stop[j])
            g[0, j] += p[j]
            if j >= yes_from[i]:
                g[1, j] += stopped
            else:
                g[2, j] += stopped
        if i == N:
            break
        while first <= last and p[first] == 0.0:
            first += 1
        while last >= first and p[last] == 0.0:
            last -= 1
        share = 1.0 / (i + 1)
        for j in range(max(first, 1), last + 2):
            p_next[j] = (i + 1 - j) * share * p[j] + j * share * p[j - 1]
        if first == 0 and last >= 0:
            p_next[0] = p[0]
        last += 1
        p, p_next = p_next, p
        p[last + 1] = 0.0
        if first > 0:
            p[first - 1] = 0.0
        for k in range(3):
            step_forward(g[k], numbers, i, g_next[k])
        g, g_next = g_next, g
    span[0], span[1] = first, last
    end = min(to_row, N)
    rows_p[end % 2], rows_p[(end + 1) % 2] = p, p_next
    rows_g[end % 2], rows_g[(end + 1) % 2] = g, g_next


@compiled(nogil=True)
def go_on_probabilities(
    from_row, to_row, lower, upper, start, exception_yes, exception_probability, offset, p, out
):
    """Fill ``out`` with p(i, j) * (1 - stop probability) between the thresholds, row i at ``offset[i]``.

    ``p`` holds row ``from_row``, and in the end ``to_row``.
    """
    stop = np.ones(len(lower))
    for i in range(from_row, to_row):
        load_stop_row(i, lower, upper, start, exception_yes, exception_probability, stop)
        for j in range(i + 1):
            p[j] *= 1.0 - stop[j]
        for j in range(lower[i] + 1, upper[i]):
            out[offset[i] + j - lower[i] - 1] = p[j]
        share = 1.0 / (i + 1)
        for j in range(i + 1, 0, -1):
            p[j] = (i + 1 - j) * share * p[j] + j * share * p[j - 1]


@compiled(nogil=True)
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
