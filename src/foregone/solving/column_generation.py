"""Column generation: the prices at which no strategy is better than a mixture of those found so far.

A master program mixes the strategies found so far within the limits; its duals are prices, at which the
oracle finds the best strategy of all. That strategy either lowers the master's optimum or proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foregone.errors import SolverError
from foregone.solving.oracle import Oracle
from foregone.solving.small_simplex import SmallSimplex
from foregone.votes import FloatArray

__all__ = ["Limit", "Prices", "find_prices"]

_CLOSE_ENOUGH = 1e-13  # gap at which the search ends, relative to the terms it is the difference of
_LEAST_SHARE = 1e-12  # of all voters: a smaller difference in cost does not matter
_MOST_ROUNDS = 2_000


@dataclass(frozen=True)
class Limit:
    """``channels[channel] <= limit``, where differences of the size of ``scale`` matter."""

    channel: int
    limit: float
    scale: float


@dataclass
class Prices:
    """What column generation found.

    Attributes
    ----------
    prices : ndarray
        One per channel; at these, no strategy costs less than ``lower_bound`` within the limits.
    lower_bound : float
        The proven bound.
    objective : float
        The optimum over mixtures of the strategies known; equals the bound up to rounding.
    mixture : ndarray
        The channels of the optimal mixture.
    found : list of ndarray
        The channels of every strategy the oracle gave.
    """

    prices: FloatArray
    lower_bound: float
    objective: float
    mixture: FloatArray
    found: list[FloatArray]


def find_prices(
    oracle: Oracle, limits: Sequence[Limit], start: Sequence[FloatArray], largest_of: Sequence[int] = ()
) -> Prices:
    """Minimise channel 0, or the largest of some channels, within limits.

    Parameters
    ----------
    oracle : Oracle
        Finds the strategy of least price.
    limits : sequence of Limit
        What the strategy must keep to.
    start : sequence of ndarray
        Channels of strategies known beforehand; the first must keep to the limits.
    largest_of : sequence of int
        Minimise the largest of these channels; empty to minimise channel 0.

    Returns
    -------
    Prices
        With a relative gap near 1e-13, or as small as rounding allows. If the first start uses up at most
        half of every limit, no price exceeds twice its cost divided by the limit.
    """
    n_voters = len(oracle.low) - 1
    n_limits, n_rows = len(limits), len(limits) + len(largest_of) + 1
    # Rows hold what is left of each limit, in units that matter; the last one makes it a mixture. Where the
    # largest channel is minimised, it is measured downwards from the largest at the start.
    master = SmallSimplex([0.0] * (n_rows - 1) + [1.0])
    unit = n_voters * max(min(limit.scale for limit in limits), _LEAST_SHARE)
    top = float(start[0][list(largest_of)].max()) if largest_of else float(start[0][0])
    known: list[FloatArray] = []  # channels of the strategies in the master

    def add_strategy(channels: FloatArray) -> int:
        rows = [(channels[limit.channel] - limit.limit) / limit.scale for limit in limits]
        rows += [(channels[channel] - top) / unit for channel in largest_of]
        known.append(channels)
        return master.add([*rows, 1.0], 0.0 if largest_of else (channels[0] - top) / unit)

    master.basis = [master.add(np.eye(n_rows)[row], 0.0) for row in range(n_rows - 1)]
    if largest_of:
        highest = int(np.argmax(start[0][list(largest_of)]))
        master.basis[n_limits + highest] = master.add(
            [0.0] * n_limits + [1.0] * len(largest_of) + [0.0], -1.0
        )
    first_column = master.n_columns
    master.basis.append(add_strategy(start[0]))
    for channels in start[1:]:
        add_strategy(channels)

    result = Prices(np.zeros(len(start[0])), -np.inf, np.inf, start[0], [])
    seen: set[bytes] = set()
    for _ in range(_MOST_ROUNDS):
        master.optimise()
        duals = np.maximum(-master.duals[:-1], 0.0) * unit
        prices = np.zeros(len(start[0]))
        for row, limit in enumerate(limits):
            prices[limit.channel] += duals[row] / limit.scale
        for row, channel in enumerate(largest_of):
            prices[channel] += duals[n_limits + row] / unit
        if not largest_of:
            prices[0] += 1.0
        channels = oracle.least(prices)
        paid = sum(prices[limit.channel] * limit.limit for limit in limits)
        bound = float(prices @ channels) - paid
        if largest_of:
            bound /= max(float(prices[list(largest_of)].sum()), 1e-300)
        if bound > result.lower_bound:
            result.lower_bound, result.prices = bound, prices
        result.objective = top + master.objective * unit
        result.found.append(channels)
        # Rounding leaves no more to gain when the gap is of its size, or a strategy comes back.
        close = result.objective - result.lower_bound <= _CLOSE_ENOUGH * (abs(result.objective) + paid)
        if close or channels.tobytes() in seen:
            result.mixture = master.solution()[first_column:] @ np.array(known)
            return result
        seen.add(channels.tobytes())
        add_strategy(channels)
    raise SolverError(f"no optimum after {_MOST_ROUNDS} rounds; please report this case")
