"""The oracle of the dual: finds the strategy of least total price for given prices, by backward induction.

N voters, n of them yes, m = quota - 1 the largest n whose full vote is "no" (N // 2 of a majority), state
(i, j): i asked, j yes.
Channel 0 is always the mean of the votes asked under the problem's distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foregone._kernels import hypergeometric, induction
from foregone._kernels.compiled import pieces
from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.solving.budget import Budget, OneDistribution
from foregone.solving.problem import Problem
from foregone.strategy.stopping import StoppingStrategy

__all__ = ["Cut", "Oracle", "Policy", "undecided_band"]

_NARROW_FROM = 400  # voters; with fewer, finding a narrower band takes longer than it saves


def undecided_band(n_voters: int, quota: int) -> tuple[IntArray, IntArray]:
    """Return, per step, the least and the largest j of the states where the full vote is still open."""
    m = quota - 1
    steps = np.arange(n_voters + 1)
    return np.maximum(0, steps - (n_voters - m - 1)), np.minimum(steps, m)


@dataclass(frozen=True)
class Policy:
    """A deterministic strategy of least price, and the states where both actions cost the same.

    ``first[i]..last[i]`` is the hull of the states in which it continues, ``holes`` the (i, j) inside a hull
    in which it stops. Ties are states in which it continues although stopping costs the same, sorted by i and
    j, with the channels of stopping and of continuing there.
    """

    first: IntArray
    last: IntArray
    holes: IntArray
    ties: IntArray
    tie_stop: FloatArray
    tie_go_on: FloatArray
    values: FloatArray
    yes_from: IntArray

    def reach(self, source: tuple[int, int] | None = None) -> FloatArray:
        """Return the probability of reaching each tie from the start, or after continuing from ``source``."""
        i, j = source if source is not None else (-1, 0)
        out, N = np.zeros(len(self.ties)), len(self.first)
        p, place = np.zeros(N + 2), np.array([i, j, j, len(self.holes) - 1, 0])
        p[j] = 1.0
        for _, row in pieces(N + 1, N):
            if not induction.flow_to_states(
                row, p, place, self.first, self.last, *self.holes.T, i, *self.ties.T, out
            ):
                break
        return out

    def strategy(self, tie_probability: FloatArray | None = None) -> StoppingStrategy:
        """Return the strategy that stops in each tie with the given probability, or in none."""
        n_voters = len(self.first)
        lower = np.append(
            np.where(self.first <= self.last, self.first - 1, np.arange(n_voters) // 2), n_voters // 2
        )
        upper = np.append(np.where(self.first <= self.last, self.last + 1, lower[:-1] + 1), n_voters // 2 + 1)
        exceptions = [(i, j, 1.0) for i, j in self.holes.tolist()]
        if tie_probability is not None:
            exceptions += [
                (i, j, float(p))
                for (i, j), p in zip(self.ties.tolist(), tie_probability, strict=True)
                if p > 0
            ]
        return StoppingStrategy.from_thresholds(lower, upper, exceptions, yes_from=self.yes_from)


@dataclass(frozen=True, eq=False)
class Cut:
    """One distribution of a budget's set, under which the mean disagreement must keep the limit."""

    budget: Budget
    weights: FloatArray


class Oracle:
    """Finds the strategy of least price for one problem.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    cuts : sequence of Cut
        Each disagreement gets a channel, with two exceptions: a limit of one is no constraint, and with a
        limit of zero the strategy must continue wherever the answer could be wrong.
    cost_at : sequence of int
        Numbers n whose expected votes get a channel of their own (minimax).

    Attributes
    ----------
    cuts : list of Cut
        Those with a channel.
    limits : ndarray
        The limits of these.
    risk_channels, cost_channels : list of int
        Their channels, and those of the expected votes given the ``cost_at``.
    """

    def __init__(self, problem: Problem, cuts: Sequence[Cut], cost_at: Sequence[int] = ()) -> None:
        N, yes = problem.n_voters, problem.full_yes
        self.n_voters = N
        self.cuts: list[Cut] = [cut for cut in cuts if 0 < cut.budget.limit < 1]
        self.limits: FloatArray = np.array([cut.budget.limit for cut in self.cuts])
        self.risk_channels: list[int] = list(range(1, 1 + len(self.cuts)))
        first = 1 + len(self.cuts)
        self.cost_channels: list[int] = list(range(first, first + len(cost_at)))
        self.yes_from: IntArray = problem.yes_from
        self.held_from: IntArray
        self.held_to: IntArray
        self.wait: IntArray
        self.held_from, self.held_to, self.wait = held_states(problem)
        bases = _Bases()
        lost = [cut.weights * cut.budget.values for cut in self.cuts]
        said_yes = [bases.add(np.where(yes, 0.0, weights)) for weights in lost]
        said_no = [bases.add(np.where(yes, weights, 0.0)) for weights in lost]
        mean_cost = bases.add_sum(*_halves(problem.votes.probabilities, yes))
        costs = [bases.add(np.eye(1, N + 1, n)[0]) for n in cost_at]
        self.bases: FloatArray = np.array(bases.rows)
        n_channels = 1 + len(self.cuts) + len(cost_at)
        self.go_on: FloatArray
        self.yes: FloatArray
        self.no: FloatArray
        self.go_on, self.yes, self.no = np.zeros((3, n_channels, len(self.bases)))
        nothing: list[list[tuple[int, float]]] = [[]]
        for rows, terms_of in (
            (self.go_on, [mean_cost] + nothing * len(self.cuts) + costs),
            (self.yes, nothing + said_yes + nothing * len(costs)),
            (self.no, nothing + said_no + nothing * len(costs)),
        ):
            for row, terms in zip(rows, terms_of, strict=True):
                for basis, factor in terms:
                    row[basis] = factor
        # Arrays that `least` ignores or overwrites on each call.
        self._hull, self._no_room = np.zeros((2, N), np.int64), np.zeros(0, np.int64)
        self._no_channels = np.zeros((0, n_channels))
        self.low: IntArray
        self.high: IntArray
        self.low, self.high = undecided_band(N, problem.quota)
        if N >= _NARROW_FROM and _may_narrow(problem):
            no_votes, yes_votes = _halves(problem.votes.probabilities, yes)
            prices = _largest_prices(problem)
            supports = _support(no_votes), _support(yes_votes)
            for some in pieces(N, 4 * N):
                hypergeometric.widen_band(
                    *some, no_votes, yes_votes, supports, *prices, self.yes_from, self.low, self.high
                )
            self.low[N], self.high[N] = problem.quota, problem.quota - 1
        support = np.array([_support(basis) for basis in self.bases]).T.copy()
        self.edge: FloatArray = np.zeros((len(self.bases), N + 1, 2))
        for some in pieces(N + 1, 2 * N * len(self.bases)):
            hypergeometric.edge_weights(*some, self.bases, *support, self.low, self.high, self.edge)
        self._rows = pieces(N, int((self.high - self.low).max() + 1) * (len(self.bases) + n_channels))

    def least(self, prices: FloatArray) -> FloatArray:
        """Return the channels of a strategy that minimises ``prices @ channels``."""
        values = np.zeros(len(prices))
        (first, last), none = self._hull, self._no_room
        self._induce(
            prices, 0.0, values, first, last, none, none, none, none, self._no_channels, self._no_channels
        )
        return values

    def _induce(self, prices: FloatArray, tolerance: float, *results: FloatArray | IntArray) -> IntArray:
        """Fill the results of `induction.induce`; return the number of holes and of ties."""
        found, N = np.zeros(2, np.int64), self.n_voters
        a, x = np.zeros((len(self.bases), N + 3)), np.zeros((len(prices), N + 3))
        for rows in reversed(self._rows):
            induction.induce(
                *rows, a, x, found,
                self.low, self.high, self.edge, self.yes_from, self.held_from, self.held_to, self.wait,
                self.go_on, self.yes, self.no, prices, tolerance, *results,
            )  # fmt: skip
        return found

    def policy(self, prices: FloatArray, tolerance: float) -> Policy:
        """Return a strategy that minimises ``prices @ channels``, and its ties up to ``tolerance``."""
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
        n_holes, n_ties = self._induce(
            prices, tolerance, values, first, last, hole_i, hole_j, tie_i, tie_j, tie_stop, tie_go_on
        ).tolist()
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
            self.yes_from,
        )
        return policy, n_holes, n_ties


class _Bases:
    """Weights over n that channels consist of; no stored weight is a multiple of another."""

    def __init__(self) -> None:
        self.rows: list[FloatArray] = []

    def find(self, weights: FloatArray) -> list[tuple[int, float]] | None:
        """Return the weights as a multiple of a basis (number, factor), or None."""
        if not weights.any():
            return []
        for number, row in enumerate(self.rows):
            factor = float(weights.sum() / row.sum())
            multiple = factor * row  # np.allclose would take five times as long
            if (np.abs(weights - multiple) <= 1e-14 * np.abs(multiple)).all():
                return [(number, factor)]
        return None

    def add(self, weights: FloatArray) -> list[tuple[int, float]]:
        """Return the weights as a multiple of a basis, adding a new basis if needed."""
        found = self.find(weights)
        if found is None:
            self.rows.append(weights)
            return [(len(self.rows) - 1, 1.0)]
        return found

    def add_sum(self, *parts: FloatArray) -> list[tuple[int, float]]:
        """Return the sum of parts in terms of existing bases if possible, otherwise of a new basis."""
        found = [self.find(part) for part in parts]
        if self.rows and all(terms is not None for terms in found):
            return [term for terms in found for term in terms or []]
        return self.add(np.sum(parts, axis=0))


def _support(weights: FloatArray) -> tuple[int, int]:
    """Return the first and last index of a positive weight; (len, -1) if there is none."""
    places = np.flatnonzero(weights)
    return (int(places[0]), int(places[-1])) if len(places) else (len(weights), -1)


def _halves(weights: FloatArray, yes: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the n with a full vote of "no", and of those with "yes"."""
    return np.where(yes, 0.0, weights), np.where(yes, weights, 0.0)


def held_states(problem: Problem) -> tuple[IntArray, IntArray, IntArray]:
    """Return, per step, the first and last j at which it must continue, and the votes until the next look.

    It must continue between looks, and where its answer could be wrong under a budget with limit 0.
    """
    N, m = problem.n_voters, problem.quota - 1
    steps, yes_from = np.arange(N + 1), problem.yes_from
    held_from, held_to = np.zeros(N + 1, np.int64), np.full(N + 1, -1)
    possible = np.zeros(N + 1, bool)
    for budget in problem.budgets:
        if budget.limit == 0:
            possible |= budget.possible()
    # From an open state (i, j) n can still be from j to N - i + j, which includes both m and m + 1. So only
    # the possible n nearest to the middle matter.
    for n in np.flatnonzero(possible[m + 1 :])[:1] + m + 1:
        held_from = np.clip(n - (N - steps), 0, None)
        held_to = np.minimum(yes_from - 1, m)
    for n in np.flatnonzero(possible[: m + 1])[-1:]:
        none_so_far = held_from > held_to
        held_from = np.where(none_so_far, yes_from, held_from)
        held_to = np.where(yes_from <= n, np.minimum(n, steps), held_to)
    wait = np.zeros(N + 1, np.int64)
    if problem.looks is not None:
        looks = np.array(problem.looks)
        wait = looks[np.searchsorted(looks, steps)] - steps
        held_from, held_to = np.where(wait > 0, 0, held_from), np.where(wait > 0, steps, held_to)
    held_from[N], held_to[N] = 0, -1
    return held_from, held_to, wait


def _may_narrow(problem: Problem) -> bool:
    """Whether one band is valid for all prices: cost and disagreement are over the same distribution."""
    return problem.looks is None and all(
        isinstance(budget.distributions, OneDistribution) and budget.limit > 0 for budget in problem.budgets
    )


def _largest_prices(problem: Problem) -> tuple[float, float]:
    """Return the largest possible prices of disagreeing with a full vote of "no", and of "yes"."""
    no_votes, yes_votes = _halves(problem.votes.probabilities, problem.full_yes)
    share = {"all": 1.0, "no": float(no_votes.sum()), "yes": float(yes_votes.sum())}
    prices = {
        budget.side: 2.0 * (1 + 1e-9) * problem.n_voters / budget.limit / share[budget.side]
        for budget in problem.budgets
    }
    return prices.get("no", prices.get("all", 0.0)), prices.get("yes", prices.get("all", 0.0))
