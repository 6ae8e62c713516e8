"""Hypergeometric weights mixed over n, to nearly full precision for any N.

``h_n(i, j)`` is the chance that the first i of N votes hold j of the n yes.

The logarithm of a binomial probability is split (as C. Loader proposed) into Stirling remainders and
deviances, both small near the mode, so that nothing of the size of log N! is ever subtracted.
"""

import math

from foregone._kernels.compiled import compiled, inner

LOG_2PI = math.log(2.0 * math.pi)


@inner
def stirling_remainder(x):
    """Return log x! - log(sqrt(2 pi x) (x / e)^x), for whole x >= 1."""
    if x <= 15.0:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - 0.5 * LOG_2PI
    y = 1.0 / (x * x)
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x


@inner
def deviance(x, mean):
    """Return x log(x / mean) + mean - x, without cancellation when x is near the mean."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total = (x - mean) * v
        term = 2.0 * x * v
        square = v * v
        for k in range(1, 1000):
            term *= square
            following = total + term / (2 * k + 1)
            if following == total:
                break
            total = following
        return total
    return x * math.log(x / mean) + mean - x


@inner
def log_binomial(x, n, p, q):
    """Return the log of the probability of x successes among n, each of probability p = 1 - q."""
    if x == 0.0:
        return -deviance(n, n * q) - n * p if n > 0.0 else 0.0
    if x == n:
        return -deviance(n, n * p) - n * q
    remainder = stirling_remainder(n) - stirling_remainder(x) - stirling_remainder(n - x)
    scale = 0.5 * (LOG_2PI + math.log(x) + math.log1p(-x / n))
    return remainder - deviance(x, n * p) - deviance(n - x, n * q) - scale


@inner
def mixed_weight(weights, first, last, i, j):
    """Return sum_n weights[n] h_n(i, j); the weights are zero outside first..last.

    Sums outwards from the most likely n, where h_n falls off on both sides, until the rest cannot matter.
    """
    N = len(weights) - 1
    start = max(first, j)
    end = min(last, N - i + j)
    if j < 0 or j > i or start > end:
        return 0.0
    if i == 0:
        total = 0.0
        for n in range(start, end + 1):
            total += weights[n]
        return total
    mode = min(max((j * (N + 2)) // i, start), end)
    h_mode = 1.0
    if i < N:
        p, q = i / N, (N - i) / N
        h_mode = math.exp(
            log_binomial(float(j), float(mode), p, q)
            + log_binomial(float(i - j), float(N - mode), p, q)
            - log_binomial(float(i), float(N), p, q)
        )
    total = weights[mode] * h_mode
    h = h_mode
    for n in range(mode, end):
        h *= ((n + 1.0) / (n + 1.0 - j)) * ((N - n - i + j) / (N - n + 0.0))
        total += weights[n + 1] * h
        if h < 1e-18 * total:
            break
    h = h_mode
    for n in range(mode - 1, start - 1, -1):
        h *= ((n + 1.0 - j) / (n + 1.0)) * ((N - n + 0.0) / (N - n - i + j))
        total += weights[n] * h
        if h < 1e-18 * total:
            break
    return total


@compiled
def edge_weights(from_row, to_row, bases, first, last, low, high, out):
    """Fill ``out[b, i, :]`` with the weight of basis b just below and just above the band of some steps."""
    for b in range(len(bases)):
        for i in range(from_row, to_row):
            out[b, i, 0] = mixed_weight(bases[b], first[b], last[b], i, low[i] - 1)
            out[b, i, 1] = mixed_weight(bases[b], first[b], last[b], i, high[i] + 1)


@compiled
def widen_band(from_row, to_row, no_weights, yes_weights, supports, no_price, yes_price, yes_from, low, high):
    """Fill ``low, high`` with a band outside which stopping costs less than one more vote.

    ``no_weights`` and ``yes_weights`` are the parts of the vote distribution whose full vote is "no" and
    "yes", ``supports`` those of both; the prices are what a unit of disagreement with each costs. The chance
    that the full vote is "no" falls with j (monotone likelihood ratio), so the first sure stop ends the
    search. On entry ``low, high`` hold the widest band wanted from row ``from_row`` on, and the result before
    it; that lies inside, ``high`` and ``i - low`` never decrease. Above it the answer is yes and below it no:
    the largest j that ``yes_from`` answers with no is inside.
    """
    N = len(no_weights) - 1
    (first_no, last_no), (first_yes, last_yes) = supports
    top = high[from_row - 1] if from_row > 0 else 0
    top_no = from_row - 1 - low[from_row - 1] if from_row > 0 else 0  # the band's largest number of no votes
    for i in range(from_row, to_row):
        widest = high[i]
        widest_no = i - low[i]
        top = min(widest, max(top, yes_from[i] - 1))
        top_no = min(widest_no, max(top_no, i - yes_from[i] + 1))
        # States that no n of the distribution reaches are kept: there is nothing to judge them by.
        lowest_unseen = max(last_no + 1, low[i])
        highest_unseen = min(first_yes - 1 - (N - i), high[i])
        if lowest_unseen <= highest_unseen:
            top = max(top, highest_unseen)
            top_no = max(top_no, i - lowest_unseen)
        while top < widest:
            wrong = mixed_weight(no_weights, first_no, last_no, i, top + 1)
            if no_price * wrong <= wrong + mixed_weight(yes_weights, first_yes, last_yes, i, top + 1):
                break
            top += 1
        while top_no < widest_no:
            wrong = mixed_weight(yes_weights, first_yes, last_yes, i, i - top_no - 1)
            if yes_price * wrong <= wrong + mixed_weight(no_weights, first_no, last_no, i, i - top_no - 1):
                break
            top_no += 1
        high[i] = top
        low[i] = i - top_no
