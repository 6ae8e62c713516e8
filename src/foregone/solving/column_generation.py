"""Column generation: the prices at which no strategy is better than a mixture of those found so far.

A master program mixes the strategies found so far within the limits; its duals are prices, at which the
oracle finds the best strategy of all. That strategy either lowers the master's optimum or proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foregone.errors import SolverError
from foregone.solving.oracle import Oracle
from foregone.solving.small_simplex import SmallSimplex
from foregone.votes import FloatArray

__all__ = ["Limit", "Prices", "find_prices"]

_CLOSE_ENOUGH = 1e-13  # gap at which the search ends, relative to the terms it is the difference of
_MOST_ROUNDS = 2_000


@dataclass(frozen=True)
class Limit:
    """``channels[channel] <= limit``, at most ``largest_price`` votes being paid for ``limit`` more of it."""

    channel: int
    limit: float
    largest_price: float


@dataclass
class Prices:
    """What column generation found.

    ``prices`` (one per channel) give ``lower_bound``; ``objective`` is the optimum over mixtures of the
    ``asked`` prices' best strategies, whose channels are the rows of ``found``; ``excess`` is by how much
    of itself a limit is overrun because its ``largest_price`` was too low to keep it.
    """

    prices: FloatArray
    lower_bound: float
    objective: float
    asked: list[FloatArray] = field(default_factory=list)
    found: list[FloatArray] = field(default_factory=list)
    excess: float = 0.0


def find_prices(
    oracle: Oracle,
    limits: Sequence[Limit],
    largest_of: Sequence[int] = (),
    start: Sequence[FloatArray] = (),
) -> Prices:
    """Minimise channel 0, or the largest of some channels, within limits.

    Parameters
    ----------
    oracle : Oracle
        Finds the strategy of least price.
    limits : sequence of Limit
        What the strategy must keep to. All limits are positive.
    largest_of : sequence of int
        Minimise the largest of these channels; empty to minimise channel 0.
    start : sequence of ndarray
        Channels of strategies known beforehand.

    Returns
    -------
    Prices
        With a relative gap near 1e-13, or as small as rounding allows.
    """
    n_voters = len(oracle.low) - 1
    n_limits, n_rows = len(limits), len(limits) + len(largest_of) + 1
    master = SmallSimplex([1.0] * n_limits + [0.0] * len(largest_of) + [1.0])

    def unit(row: int, value: float) -> FloatArray:
        column = np.zeros(n_rows)
        column[row] = value
        return column

    def add_strategy(channels: FloatArray) -> int:
        rows = [channels[limit.channel] / limit.limit for limit in limits]
        rows += [channels[channel] / n_voters for channel in largest_of]
        return master.add([*rows, 1.0], 0.0 if largest_of else channels[0] / n_voters)

    slack = [master.add(unit(row, 1.0), 0.0) for row in range(n_rows - 1)]
    excess = [master.add(unit(row, -1.0), limit.largest_price / n_voters) for row, limit in enumerate(limits)]
    first = oracle.stop_at_once
    strategy = add_strategy(first)
    master.basis = [
        excess[row] if row < n_limits and first[limits[row].channel] > limits[row].limit else slack[row]
        for row in range(n_rows - 1)
    ] + [strategy]
    if largest_of:
        worst = master.add([0.0] * n_limits + [-1.0] * len(largest_of) + [0.0], 1.0)
        highest = int(np.argmax(first[list(largest_of)]))
        master.basis[n_limits + highest] = worst
    for channels in start:
        add_strategy(channels)

    result = Prices(np.zeros(len(first)), -np.inf, np.inf)
    seen: set[bytes] = set()
    for _ in range(_MOST_ROUNDS):
        master.optimise()
        duals = np.maximum(-master.duals[:-1], 0.0)
        prices = np.zeros(len(first))
        for row, limit in enumerate(limits):
            prices[limit.channel] += duals[row] * n_voters / limit.limit
        for row, channel in enumerate(largest_of):
            prices[channel] += duals[n_limits + row]
        if not largest_of:
            prices[0] += 1.0
        channels = oracle.least(prices)
        bound = float(prices @ channels) - sum(prices[limit.channel] * limit.limit for limit in limits)
        if largest_of:
            bound /= max(float(duals[n_limits:].sum()), 1e-300)
        result.objective = master.objective * n_voters
        result.excess = float(master.solution()[excess].max())
        if bound > result.lower_bound:
            result.lower_bound, result.prices = bound, prices
        result.asked.append(prices)
        result.found.append(channels)
        size = abs(result.objective) + sum(prices[limit.channel] * limit.limit for limit in limits)
        if result.objective - result.lower_bound <= _CLOSE_ENOUGH * size:
            return result
        if channels.tobytes() in seen:  # rounding leaves no more to gain
            return result
        seen.add(channels.tobytes())
        add_strategy(channels)
    raise SolverError(f"no optimum after {_MOST_ROUNDS} rounds; please report this case")
