"""RunningEvidence: capital of bets that grows when rows change, in constant memory.

Many small bets run in parallel. For every observation each pays a factor whose mean is at most 1 if nothing
has changed. So the capital of all bets together is an e-process: the probability that it ever reaches c is at
most 1 / c, however long it is watched (Ville's inequality). A part of every bet starts at once and the rest
gradually later, so that a change is detected whenever it occurs. The proof is in docs/theory.md, "Watching a
promise in use".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from foregone.checks import FloatArray, IntArray

__all__ = ["LARGEST_LOG", "Capital", "RunningEvidence"]

LARGEST_LOG = 700.0  # of a capital: exp(700) is still a float
SCALE = 256.0  # rows until half of every bet has started


def _reserve(n_rows: float) -> float:
    """Return the share of every bet that has not started after ``n_rows``; it falls from 1, ever slower."""
    return 1 / (1 + math.log2(1 + n_rows / SCALE))


@dataclass(frozen=True, eq=False)
class Capital:
    """Capital of bets after some observations.

    Attributes
    ----------
    running : ndarray of shape (n_bets,)
        Logarithm of the capital of the started part of each bet.
    reserve : float
        Logarithm of the part of every bet that has not started.
    n_rows : int
        Observations so far, which determine how much of the reserve starts next.
    """

    running: FloatArray
    reserve: float = 0.0
    n_rows: int = 0

    @classmethod
    def start(cls, n_bets: int) -> Capital:
        """Return the capital before any bet has started."""
        return cls(np.full(n_bets, -LARGEST_LOG))

    def after(self, log_factors: FloatArray, n_rows: int) -> Capital:
        """Return the capital after ``n_rows`` more observations, which multiply each bet by a factor."""
        if n_rows == 0:
            return self
        stays = _reserve(self.n_rows + n_rows) / _reserve(self.n_rows)
        starts = self.reserve + math.log1p(-stays)
        running = np.logaddexp(self.running, starts) + log_factors
        return Capital(
            np.minimum(np.maximum(running, -LARGEST_LOG), LARGEST_LOG),  # 3x faster than np.clip
            self.reserve + math.log(stays),
            self.n_rows + n_rows,
        )

    def __add__(self, other: Capital) -> Capital:
        """Return the capital of the same bets on two streams of rows: the product for every bet."""
        reserve = max(self.reserve + other.reserve, -LARGEST_LOG)
        both = self.worth + other.worth  # logarithms
        # The started part is all but the reserve. The two logarithms may differ only by rounding.
        share = np.minimum(reserve - both, -1e-16)
        running = both + np.log(-np.expm1(share))
        return Capital(np.clip(running, -LARGEST_LOG, LARGEST_LOG), reserve, self.n_rows + other.n_rows)

    @property
    def worth(self) -> FloatArray:
        """Logarithm of the total capital of each bet."""
        return np.asarray(np.logaddexp(self.running, self.reserve))


@dataclass(frozen=True, eq=False)
class RunningEvidence:
    """Bets against "nothing has changed", and their capital.

    Attributes
    ----------
    log_payoffs : ndarray of shape (n_bets, n_cells)
        Logarithm of the factor that each bet pays for an observation in each cell. The mean factor of every
        bet is at most 1 if nothing has changed.
    weights : ndarray of shape (n_bets,)
        Initial shares of the capital; they sum to 1.
    capital : Capital
        The capital of the bets now.

    Examples
    --------
    >>> payoffs = np.log([[1.5, 0.5]])    # on heads, against a fair coin
    >>> evidence = RunningEvidence.start(payoffs, np.ones(1))
    >>> evidence.value
    1.0
    >>> evidence.after(np.array([500, 500]), 1000).value < 1 < evidence.after(np.array([7, 3]), 10).value
    True
    """

    log_payoffs: FloatArray
    weights: FloatArray
    capital: Capital

    @classmethod
    def start(cls, log_payoffs: FloatArray, weights: FloatArray) -> RunningEvidence:
        """Return the evidence before the first observation, which is 1."""
        return cls(log_payoffs, weights, Capital.start(len(weights)))

    def after(self, counts: IntArray, n_rows: int) -> RunningEvidence:
        """Return the evidence after a block of observations, given the counts in each cell.

        The size of a block must not depend on the observations.
        """
        return replace(self, capital=self.capital.after(self.log_payoffs @ counts, n_rows))

    @property
    def value(self) -> float:
        """Total capital of all bets; 1 at the start, and always 1 without bets."""
        if len(self.weights) == 0:
            return 1.0
        return float(self.weights @ np.exp(np.minimum(self.capital.worth, LARGEST_LOG)))

    @property
    def log_worths(self) -> FloatArray:
        """Logarithm of the contribution of each bet to `value`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights) + self.capital.worth)
