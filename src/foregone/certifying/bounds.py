"""Upper bounds on a mean loss from independent observations, each with exact coverage.

Clopper and Pearson's for losses of 0 or 1, and a bet against "the mean is above m" for losses from 0 to 1.
Proofs are in docs/theory.md, "Certifying what is used".
"""

from __future__ import annotations

import math

import numpy as np
import scipy  # its submodules are imported on first use, because that is slow

from foregone.checks import FloatArray

__all__ = ["betting_bound", "clopper_pearson_bound", "log_capital", "rows_needed"]

# Stakes, as shares of the largest safe stake, and the share of the capital on each: most on large stakes,
# because the mean that is bet against is far above almost all losses.
STAKES = 0.98 * 2.0 ** (-np.arange(10) / 2)
CAPITAL = 1 / (1 + np.arange(10.0)) ** 2
CAPITAL /= CAPITAL.sum()

# The same for losses that may be gains: their mean is small compared with their spread, which needs small
# stakes.
SMALL_STAKES = 0.98 * 2.0 ** (-np.arange(18) / 2)
EQUAL_CAPITAL = np.full(18, 1 / 18)

NEVER_ENOUGH = 2**62


def clopper_pearson_bound(n_wrong: int, n_rows: int, confidence: float) -> float:
    """Return the Clopper-Pearson upper bound on a probability.

    It is the largest p at which ``n_wrong`` or fewer of ``n_rows`` independent rows are wrong with a
    probability of at least ``1 - confidence``. Whatever the true probability is, the bound is below it in at
    most this share of samples.

    Examples
    --------
    >>> round(clopper_pearson_bound(0, 1497, 0.95), 6), clopper_pearson_bound(0, 0, 0.95)
    (0.001999, 1.0)
    """
    if n_wrong >= n_rows:
        return 1.0
    if n_wrong == 0:
        return -math.expm1(math.log(1 - confidence) / n_rows) * (1 + 1e-12)
    failure = 1 - confidence
    bound = float(scipy.special.betainccinv(n_wrong + 1, n_rows - n_wrong, failure))
    # For very many rows the quantile may be inaccurate: check the tail itself, and raise the bound until the
    # tail is small enough. A few extra bits cover the rounding of the tail.
    step = 1e-12
    while bound < 1 and not scipy.special.betainc(n_wrong + 1, n_rows - n_wrong, bound) >= confidence:
        bound, step = bound * (1 + step), 2 * step
    return min(1.0, bound * (1 + 1e-12))


def rows_needed(limit: float, confidence: float, *, may_gain: bool = False) -> int:
    """Return how many rows without any loss give an upper bound of at most ``limit``.

    No number of rows is enough for a limit of 0: the result then exceeds any data. Losses that may be gains
    are bounded by betting, and need about twice as many rows.

    Examples
    --------
    >>> rows_needed(1e-3, 0.95), rows_needed(0.01, 0.95), rows_needed(1, 0.95)
    (2995, 299, 0)
    >>> rows_needed(1e-3, 0.95, may_gain=True)
    5685
    """
    if limit >= 1:
        return 0
    if limit <= 0:
        return NEVER_ENOUGH
    if may_gain:
        return _first_enough(limit, confidence)
    return math.ceil(math.log(1 - confidence) / math.log1p(-limit))


def _first_enough(limit: float, confidence: float) -> int:
    """Return the fewest rows without loss or gain for which the bet wins enough."""
    wanted, nothing = -math.log(1 - confidence), np.zeros(1)

    def wins(n_rows: float) -> bool:
        return log_capital(nothing, limit, np.array([n_rows]), may_gain=True) >= wanted

    most = 1
    while not wins(most):
        most *= 2
    fewest = most // 2
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if wins(middle) else (middle, most)
    return most


def log_capital(
    losses: FloatArray, mean: float, times: FloatArray | None = None, *, may_gain: bool = False
) -> float:
    """Return the log capital of a bet against "the mean loss is at least ``mean``".

    The capital starts at 1 and is divided among several stakes; each observation x multiplies the part at
    stake s by ``1 + s (mean - x)``. If the mean is that large, the expected capital is at most 1.

    Parameters
    ----------
    losses : ndarray of shape (n_observations,)
        Each at most 1; from 0 on unless ``may_gain``.
    mean : float
        Strictly between 0 and 1.
    times : ndarray of shape (n_observations,), optional
        How often each was observed; once by default.
    may_gain : bool
        Whether losses may be negative, which determines the stakes.
    """
    shares, capital = (SMALL_STAKES, EQUAL_CAPITAL) if may_gain else (STAKES, CAPITAL)
    stakes = shares / (1 - mean)
    each = np.log1p(stakes[:, None] * (mean - losses[None, :]))
    grown = (each if times is None else each * times).sum(axis=1)
    return float(np.logaddexp.reduce(grown + np.log(capital)))


def betting_bound(
    losses: FloatArray, confidence: float, *, may_gain: bool = False, times: float = 1.0
) -> float:
    """Return an upper bound, at least 0, on the mean of independent losses of at most 1.

    It is below the true mean in at most a share of ``1 - confidence`` of samples, by Markov's inequality:
    the bet against the true mean wins ``1 / (1 - confidence)`` with at most this probability. With ``times``
    it is a forecast: the bound if each observation occurred that many times.

    Examples
    --------
    >>> round(betting_bound(np.zeros(300), 0.95), 4), betting_bound(np.ones(5), 0.95)
    (0.0112, 1.0)
    """
    if len(losses) == 0:
        return 1.0
    wanted = -math.log(1 - confidence)
    values, counts = np.unique(losses, return_counts=True)

    def short(mean: float) -> float:
        return log_capital(values, mean, np.multiply(times, counts, dtype=float), may_gain=may_gain) - wanted

    lowest, highest = max(float(losses.mean()), 1e-12), 1 - 1e-9
    if lowest >= highest or short(highest) < 0:
        return 1.0
    if short(lowest) >= 0:
        return lowest
    # The capital at each stake grows with the mean it bets against, so there is one crossing.
    return min(1.0, float(scipy.optimize.brentq(short, lowest, highest, xtol=1e-15, rtol=1e-12)) * (1 + 1e-9))
