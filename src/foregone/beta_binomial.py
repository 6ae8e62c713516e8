"""The beta-binomial distribution of the yes votes, and its fit to past votes by maximum likelihood.

Each item has an inclination p of its own, drawn from a beta distribution with mean m; its votes are
independent, yes with probability p. With t = 1 / (a + b), the overdispersion, k votes hold y yes with
probability

    C(k, y) * prod_{r < y} (m + r t) * prod_{r < k - y} (1 - m + r t) / prod_{r < k} (1 + r t)

which holds no gamma function to overflow or cancel, is the binomial distribution at t = 0, and puts all
weight on unanimous votes as t goes to infinity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import gammaln

from foregone.checks import FloatArray

__all__ = ["BetaBinomial", "fit"]

# Where the likelihood is searched for its maxima: from hardly more than binomial to hardly ever split.
OVERDISPERSIONS = np.logspace(-10, 9, 115)


class BetaBinomial(NamedTuple):
    """Mean m and overdispersion t; the beta distribution has a = m / t and b = (1 - m) / t."""

    mean: float
    overdispersion: float

    def probabilities(self, n_votes: int) -> FloatArray:
        """Return the probabilities of 0 to ``n_votes`` yes votes among so many."""
        m, t = self.mean, self.overdispersion
        if m in (0.0, 1.0) or math.isinf(t):
            ends = np.zeros(n_votes + 1)
            ends[-1] = m
            ends[0] += 1 - m
            return ends
        votes = np.arange(n_votes)
        yes = np.concatenate([[0.0], np.cumsum(np.log(m + votes * t))])
        no = np.concatenate([[0.0], np.cumsum(np.log((1 - m) + votes * t))])
        n = np.arange(n_votes + 1)
        logs = yes + no[::-1] - gammaln(n + 1) - gammaln(n_votes - n + 1)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def fit(yes: npt.NDArray[np.int64], asked: npt.NDArray[np.int64]) -> BetaBinomial:
    """Return the beta-binomial under which ``yes`` of ``asked`` votes, item by item, are likeliest.

    At least one item must have two votes or more, or the overdispersion could be anything. For every t the
    likelihood has one maximum in m, where a falling function crosses zero. Along these maxima it may have
    several in t: all are found and the highest is taken.
    """
    no = asked - yes
    if not ((yes > 0) & (no > 0)).any():  # E[p^k] <= E[p]: unanimous votes are likeliest without other ones
        heard = asked > 0
        return BetaBinomial(float(np.mean(yes[heard] > 0)), math.inf)
    likelihood = _Likelihood(yes, no)
    slopes = [likelihood.slope(t) for t in OVERDISPERSIONS]
    # Below the first one nothing changes any more: there the binomial itself is the maximum, if any is.
    maxima = [0.0] if slopes[0] <= 0 else []
    for k in range(len(slopes) - 1):
        if slopes[k] > 0 >= slopes[k + 1]:
            low, high = np.log(OVERDISPERSIONS[k : k + 2])
            maxima.append(math.exp(brentq(lambda u: likelihood.slope(math.exp(u)), low, high, xtol=1e-13)))
    if slopes[-1] > 0:
        maxima.append(float(OVERDISPERSIONS[-1]))
    best = max(maxima, key=likelihood.along_maxima)
    return BetaBinomial(likelihood.best_mean(best), best)


class _Likelihood:
    """The logarithm of the likelihood, less what does not depend on the parameters.

    ``yes[r]``, ``no[r]`` and ``all[r]`` count the items with more than r yes votes, no votes and votes: the
    likelihood is a product over r of powers with these exponents.
    """

    def __init__(self, yes: npt.NDArray[np.int64], no: npt.NDArray[np.int64]) -> None:
        size = int((yes + no).max())
        self.yes, self.no, self.all = (_more_than(counts, size) for counts in (yes, no, yes + no))
        self.ranks = np.arange(size, dtype=np.float64)

    def best_mean(self, t: float) -> float:
        """Return the m that is likeliest at this overdispersion; strictly between 0 and 1."""
        steps = self.ranks * t

        def slope(m: float) -> float:
            return float((self.yes / (m + steps)).sum() - (self.no / ((1 - m) + steps)).sum())

        return float(brentq(slope, 1e-300, 1 - 2**-53, xtol=1e-300, rtol=1e-15))

    def slope(self, t: float) -> float:
        """Return the derivative by t, along the best means."""
        m, steps = self.best_mean(t), self.ranks * t
        per_rank = self.yes / (m + steps) + self.no / ((1 - m) + steps) - self.all / (1 + steps)
        return float(per_rank @ self.ranks)

    def along_maxima(self, t: float) -> float:
        """Return the logarithm of the likelihood at t and its best mean."""
        m, steps = self.best_mean(t), self.ranks * t
        logs = self.yes * np.log(m + steps) + self.no * np.log((1 - m) + steps)
        return float((logs - self.all * np.log1p(steps)).sum())


def _more_than(counts: npt.NDArray[np.int64], size: int) -> FloatArray:
    """Return, for r from 0 to ``size - 1``, how many counts are larger than r."""
    at_most = np.cumsum(np.bincount(counts, minlength=size + 1))[:size]
    return (len(counts) - at_most).astype(np.float64)
