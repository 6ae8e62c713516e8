"""Solving for a known distribution of the full vote: one price, and a mixture of two strategies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from foregone.checks import FloatArray
from foregone.plurality.lattice import Lattice, is_decided
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_solution import Evidence
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.program import mix_stops
from foregone.solving.column_generation import DualPrices, Known, Limit, find_prices, known_at

__all__ = ["solve_known", "solve_known_without_risk", "solve_nearly"]

_MOST_VOTERS_WITHOUT_UNDERFLOW = 1_000
_NEARLY = 1e-3  # a gap


class _Oracle:
    """Prices strategies: channel 0 is the mean number of votes asked, channel 1 the mean disagreement."""

    def __init__(self, lattice: Lattice, mean: FloatArray, weights: FloatArray) -> None:
        self.lattice = lattice
        self.n_voters = lattice.n_voters
        self._reach = lattice.pull_back(mean)
        self._wrong = lattice.pull_back_wrong(weights)

    def stop(self, prices: FloatArray) -> FloatArray:
        """Return where the best strategy at these prices stops, as probabilities."""
        stops, _ = self.lattice.best_stops(prices[0] * self._reach, prices[1] * self._wrong)
        return stops.astype(np.float64)

    def least(self, prices: FloatArray) -> FloatArray:
        """Return the channels of the best strategy at these prices."""
        stop = self.stop(prices)
        flow = self.lattice.push_reach(stop)
        # Sums, not inner products: these start threads, which takes longer than the rest on a busy machine.
        return np.array([(flow * (1 - stop) * self._reach).sum(), (flow * stop * self._wrong).sum()])

    def careful(self, limit: float) -> Known:
        """Return a strategy that keeps a limit above zero."""
        return known_at(self, np.array([1.0, 2.0 * self.n_voters / limit]))

    def mixed(self, found: DualPrices) -> PluralityStrategy:
        """Return the mixture found; in states that are never expected, it stops when the vote is decided."""
        parts = [(share, self.stop(prices)) for share, prices in found.mixture.recipe]
        stop = mix_stops(self.lattice, parts).stop_probabilities()
        return PluralityStrategy.from_probabilities(self.lattice, np.maximum(stop, is_decided(self.lattice)))


def solve_known(problem: PluralityProblem, weights: FloatArray) -> tuple[PluralityStrategy, float, Evidence]:
    """Return the optimal strategy, a lower bound, and the prices that prove it.

    Parameters
    ----------
    problem : PluralityProblem
        A problem that minimises the mean votes.
    weights : ndarray of shape (n_compositions,)
        The distribution for the limit on the mean disagreement.
    """
    oracle = _Oracle(problem.lattice, problem.mean, weights)
    # Rounding must not lift the disagreement above the limit: aim slightly below it.
    for margin in (problem.margin, 10 * problem.margin, 100 * problem.margin):
        limit = Limit(1, problem.limit * (1 - margin), problem.limit)
        found = find_prices(oracle, [limit], [oracle.careful(problem.limit)])
        strategy = oracle.mixed(found)
        if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
            break
    price = float(found.prices[1])
    bound = found.lower_bound - price * problem.limit * margin
    return strategy, bound, Evidence(problem.mean, price * weights, price)


def solve_nearly(
    lattice: Lattice, mean: FloatArray, weights: FloatArray, limits: Iterable[float]
) -> Iterator[PluralityStrategy]:
    """Yield a nearly optimal strategy within the limit, for each of several ascending limits above zero.

    The search for each limit starts from the previous result. The mean votes are over one distribution; the
    mean disagreement may be over another.
    """
    oracle, known = _Oracle(lattice, mean, weights), list[Known]()
    for most in limits:
        start = [oracle.careful(most), *known]
        found = find_prices(oracle, [Limit(1, most, most)], start, close_enough=_NEARLY)
        known += found.found
        yield oracle.mixed(found)


def solve_known_without_risk(problem: PluralityProblem) -> tuple[PluralityStrategy, float, Evidence]:
    """Return the same for a limit of zero: it stops where all possible full votes have the same winner."""
    lattice = problem.lattice
    scale = 1e250  # so that no possible state underflows to zero, however unlikely
    some = np.where(problem.mean > 0, scale / lattice.n_compositions, 0.0)
    stops = (lattice.pull_back_wrong(some) == 0) & (lattice.pull_back(some) > 0) | is_decided(lattice)
    stops[0] = False
    bold = PluralityStrategy.from_probabilities(lattice, stops)
    bound = problem.cost(evaluate_plurality(bold))
    if lattice.n_voters > _MOST_VOTERS_WITHOUT_UNDERFLOW:
        bold = PluralityStrategy.from_probabilities(lattice, is_decided(lattice))
    return bold, bound, Evidence(problem.mean, np.zeros(len(problem.mean)), 0.0)
