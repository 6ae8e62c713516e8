"""The oracle of the dual: given prices, the strategy of least total price, by backward induction.

N voters, n of them yes, m = N // 2 the largest n whose full vote is "no", state (i, j): i asked, j yes.
Channel 0 is always the mean of the votes asked under the problem's distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone._kernels import hypergeometric, induction
from foregone.solving.problem import Problem
from foregone.strategy import IntArray, StoppingStrategy
from foregone.votes import FloatArray

__all__ = ["Oracle", "Policy", "undecided_band"]

_NARROW_FROM = 400  # voters; below, finding a narrower band costs more than it saves


def undecided_band(n_voters: int) -> tuple[IntArray, IntArray]:
    """Return, per step, the least and the largest j of the states where the full vote is still open."""
    m = n_voters // 2
    steps = np.arange(n_voters + 1)
    return np.maximum(0, steps - (n_voters - m - 1)), np.minimum(steps, m)


@dataclass(frozen=True)
class Policy:
    """A deterministic strategy of least price, and the states where both actions cost the same.

    ``first[i]..last[i]`` is the hull of the states where it goes on, ``holes`` the (i, j) inside a hull
    where it stops. Ties are states where it goes on but might as well stop, sorted by i and j, with the
    channels of stopping and of going on there.
    """

    first: IntArray
    last: IntArray
    holes: IntArray
    ties: IntArray
    tie_stop: FloatArray
    tie_go_on: FloatArray
    values: FloatArray

    def reach(self, source: tuple[int, int] | None = None) -> FloatArray:
        """Return the chance to reach each tie from the start, or after going on from ``source``."""
        i, j = source if source is not None else (-1, 0)
        out = np.zeros(len(self.ties))
        induction.flow_to_states(
            self.first,
            self.last,
            self.holes[:, 0],
            self.holes[:, 1],
            i,
            j,
            self.ties[:, 0],
            self.ties[:, 1],
            out,
        )
        return out

    def strategy(self, tie_probability: FloatArray) -> StoppingStrategy:
        """Return the strategy that stops in each tie with the given probability."""
        n_voters = len(self.first)
        lower = np.append(
            np.where(self.first <= self.last, self.first - 1, np.arange(n_voters) // 2), n_voters // 2
        )
        upper = np.append(np.where(self.first <= self.last, self.last + 1, lower[:-1] + 1), n_voters // 2 + 1)
        exceptions = [(i, j, 1.0) for i, j in self.holes.tolist()]
        exceptions += [
            (i, j, float(p)) for (i, j), p in zip(self.ties.tolist(), tie_probability, strict=True) if p > 0
        ]
        return StoppingStrategy.from_thresholds(lower, upper, exceptions)


class Oracle:
    """Prices strategies for one problem.

    Parameters
    ----------
    problem : Problem
        What is to be solved, with ``max_disagreement > 0``.
    cost_at : sequence of int
        Numbers n whose expected votes get a channel of their own (minimax).
    largest_price : float
        No larger price of mean disagreement will be asked about (minimean).

    Attributes
    ----------
    risk_channels, cost_channels : list of int
        Channels of the bounded disagreements, and of the expected votes given the ``cost_at``.
    """

    def __init__(self, problem: Problem, cost_at: list[int], largest_price: float) -> None:
        n_voters = problem.n_voters
        m = n_voters // 2
        D = problem.votes.probabilities
        is_no = np.arange(n_voters + 1) <= m
        self.low, self.high = undecided_band(n_voters)
        if problem.bounds_the_mean:
            no_votes, yes_votes = np.where(is_no, D, 0.0), np.where(is_no, 0.0, D)
            bases = [no_votes, yes_votes]
            if n_voters >= _NARROW_FROM:
                hypergeometric.widen_band(no_votes, yes_votes, largest_price, self.low, self.high)
        else:
            points = sorted({m, m + 1, *cost_at})
            bases = [D] + [_point(n_voters, n) for n in points]
        n_risks = 1 if problem.bounds_the_mean else 2
        self.bases = np.array(bases)
        shape = (1 + n_risks + len(cost_at), len(bases))
        self.go_on, self.yes, self.no = np.zeros((3, *shape))
        if problem.bounds_the_mean:
            self.go_on[0, :2] = 1.0
            self.yes[1, 0] = self.no[1, 1] = 1.0
        else:
            self.go_on[0, 0] = 1.0
            self.yes[1, 1 + points.index(m)] = self.no[2, 1 + points.index(m + 1)] = 1.0
        self.risk_channels = list(range(1, 1 + n_risks))
        self.cost_channels = list(range(1 + n_risks, shape[0]))
        for n, channel in zip(cost_at, self.cost_channels, strict=True):
            self.go_on[channel, 1 + points.index(n)] = 1.0
        support = np.array([hypergeometric.support(basis) for basis in self.bases])
        self.edge = np.zeros((len(bases), n_voters + 1, 2))
        hypergeometric.edge_weights(self.bases, support[:, 0], support[:, 1], self.low, self.high, self.edge)

    def least(self, prices: FloatArray) -> FloatArray:
        """Return the channels of a strategy that minimises ``prices @ channels``."""
        return self._run(prices, 0.0, 0, 0)[0].values

    def policy(self, prices: FloatArray, tolerance: float) -> Policy:
        """Return that strategy itself, with its ties up to a relative ``tolerance``."""
        room_for_holes, room_for_ties = 1024, 256
        while True:
            policy, n_holes, n_ties = self._run(prices, tolerance, room_for_holes, room_for_ties)
            if n_holes <= room_for_holes and n_ties <= room_for_ties:
                return policy
            room_for_holes, room_for_ties = max(n_holes, room_for_holes), max(n_ties, room_for_ties)

    def _run(
        self, prices: FloatArray, tolerance: float, room_for_holes: int, room_for_ties: int
    ) -> tuple[Policy, int, int]:
        n_voters, n_channels = len(self.low) - 1, len(prices)
        values = np.zeros(n_channels)
        first, last = np.zeros((2, n_voters), np.int64)
        hole_i, hole_j = np.zeros((2, room_for_holes), np.int64)
        tie_i, tie_j = np.zeros((2, room_for_ties), np.int64)
        tie_stop, tie_go_on = np.zeros((2, room_for_ties, n_channels))
        n_holes, n_ties = induction.induce(
            self.low, self.high, self.edge, self.go_on, self.yes, self.no, prices, tolerance,
            values, first, last, hole_i, hole_j, tie_i, tie_j, tie_stop, tie_go_on,
        )  # fmt: skip
        ties = np.column_stack([tie_i, tie_j])[:n_ties]
        order = np.lexsort((ties[:, 1], ties[:, 0]))
        holes = np.column_stack([hole_i, hole_j])[:n_holes]
        policy = Policy(
            first,
            last,
            holes,
            ties[order],
            tie_stop[: len(ties)][order],
            tie_go_on[: len(ties)][order],
            values,
        )
        return policy, n_holes, n_ties


def _point(n_voters: int, n: int) -> FloatArray:
    weights = np.zeros(n_voters + 1)
    weights[n] = 1.0
    return weights
