"""Column generation: find prices at which no strategy beats a mixture of those found so far.

A master program finds the best mixture of the known strategies within the limits. Its duals are prices, for
which the oracle finds the best of all strategies. This strategy either lowers the master's optimum or proves
that it is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import SolverError
from foregone.solving.small_simplex import SmallSimplex

__all__ = ["DualPrices", "Known", "Limit", "PriceOracle", "find_prices", "known_at"]

_CLOSE_ENOUGH = 1e-13  # gap at which the search ends if no other is given, relative to its terms
_LEAST_SHARE = 1e-12  # of all voters; smaller differences in cost are ignored
_MOST_ROUNDS = 2_000


class PriceOracle(Protocol):
    """An oracle that finds the strategy of least price."""

    n_voters: int

    def least(self, prices: FloatArray) -> FloatArray:
        """Return the channels of the best strategy at the given prices."""


@dataclass(frozen=True)
class Limit:
    """The constraint ``channels[channel] <= limit``; ``scale`` is the size of a relevant difference."""

    channel: int
    limit: float
    scale: float


@dataclass(frozen=True)
class Known:
    """A known strategy: its channels, and the weights and prices of the best strategies that it mixes."""

    channels: FloatArray
    recipe: tuple[tuple[float, FloatArray], ...]


def known_at(oracle: PriceOracle, prices: FloatArray) -> Known:
    """Return the best strategy at the given prices."""
    return Known(oracle.least(prices), ((1.0, prices.copy()),))


@dataclass
class DualPrices:
    """The result of column generation.

    Attributes
    ----------
    prices : ndarray
        One per channel; at these, no strategy costs less than ``lower_bound`` within the limits.
    lower_bound : float
        The proven bound.
    objective : float
        The optimum over mixtures of the strategies known; equals the bound up to rounding.
    mixture : Known
        The optimal mixture.
    found : list of Known
        Every strategy that the oracle returned.
    """

    prices: FloatArray
    lower_bound: float
    objective: float
    mixture: Known
    found: list[Known]


def find_prices(
    oracle: PriceOracle,
    limits: Sequence[Limit],
    start: Sequence[Known],
    largest_of: Sequence[int] = (),
    close_enough: float = _CLOSE_ENOUGH,
) -> DualPrices:
    """Minimise channel 0, or the largest of some channels, within limits.

    Parameters
    ----------
    oracle : PriceOracle
        Finds the strategy of least price.
    limits : sequence of Limit
        The limits that the strategy must keep.
    start : sequence of Known
        Strategies known beforehand; the first must keep the limits.
    largest_of : sequence of int
        Minimise the largest of these channels; empty to minimise channel 0.
    close_enough : float
        The relative gap at which the search ends.

    Returns
    -------
    DualPrices
        With a gap of at most ``close_enough``, or as small as rounding allows. If the first start uses at
        most half of every limit, no price exceeds twice its cost divided by the limit.
    """
    n_voters = oracle.n_voters
    n_limits, n_rows = len(limits), len(limits) + len(largest_of) + 1
    # Each row holds the unused part of a limit, in units of its scale; the last row makes the weights sum to
    # 1. If the largest channel is minimised, it is measured downwards from the largest at the start.
    master = SmallSimplex([0.0] * (n_rows - 1) + [1.0])
    unit = n_voters * max(min(limit.scale for limit in limits), _LEAST_SHARE)
    first = start[0].channels
    top = float(first[list(largest_of)].max()) if largest_of else float(first[0])
    known: list[Known] = []  # the strategies in the master

    def add_strategy(strategy: Known) -> int:
        channels = strategy.channels
        rows = [(channels[limit.channel] - limit.limit) / limit.scale for limit in limits]
        rows += [(channels[channel] - top) / unit for channel in largest_of]
        known.append(strategy)
        return master.add([*rows, 1.0], 0.0 if largest_of else (channels[0] - top) / unit)

    master.basis = [master.add(np.eye(n_rows)[row], 0.0) for row in range(n_rows - 1)]
    if largest_of:
        highest = int(np.argmax(first[list(largest_of)]))
        master.basis[n_limits + highest] = master.add(
            [0.0] * n_limits + [1.0] * len(largest_of) + [0.0], -1.0
        )
    first_column = master.n_columns
    master.basis.append(add_strategy(start[0]))
    for strategy in start[1:]:
        add_strategy(strategy)

    result = DualPrices(np.zeros(len(first)), -np.inf, np.inf, start[0], [])
    seen: set[bytes] = set()
    for _ in range(_MOST_ROUNDS):
        master.optimise()
        duals = np.maximum(-master.duals[:-1], 0.0) * unit
        prices = np.zeros(len(first))
        for row, limit in enumerate(limits):
            prices[limit.channel] += duals[row] / limit.scale
        for row, channel in enumerate(largest_of):
            prices[channel] += duals[n_limits + row] / unit
        if not largest_of:
            prices[0] += 1.0
        strategy = known_at(oracle, prices)
        paid = sum(prices[limit.channel] * limit.limit for limit in limits)
        bound = float(prices @ strategy.channels) - paid
        if largest_of:
            bound /= max(float(prices[list(largest_of)].sum()), 1e-300)
        if bound > result.lower_bound:
            result.lower_bound, result.prices = bound, prices
        result.objective = top + master.objective * unit
        result.found.append(strategy)
        # No more can be gained once the gap is of the size of rounding errors, or a strategy is found again.
        close = result.objective - result.lower_bound <= close_enough * (abs(result.objective) + paid)
        if close or strategy.channels.tobytes() in seen:
            result.mixture = _mix(known, master.solution()[first_column:])
            return result
        seen.add(strategy.channels.tobytes())
        add_strategy(strategy)
    raise SolverError(
        f"no optimum after {_MOST_ROUNDS} rounds of column generation: please report this problem"
    )


def _mix(known: list[Known], weights: FloatArray) -> Known:
    """Return the mixture of strategies with the given weights, which sum to one."""
    used = [(float(weight), strategy) for weight, strategy in zip(weights, known, strict=True) if weight > 0]
    channels: FloatArray = sum((weight * strategy.channels for weight, strategy in used), np.zeros(1))
    recipe = [(weight * share, prices) for weight, strategy in used for share, prices in strategy.recipe]
    return Known(channels, tuple(recipe))
