"""Certificate: a proof in exact arithmetic that a solution for two answers keeps its limit and is optimal.

Optimal means: among the strategies that count votes in random order; with a confidence, for its confidence
set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from numbers import Real
from typing import Any, Literal

from foregone.checks import check_choice
from foregone.errors import InvalidInputError
from foregone.solving.budget import Budget, NestedBounds, OneDistribution
from foregone.solving.exact import (
    BALL_BITS,
    Interval,
    NumberSystem,
    arithmetic_named,
    cost_and_risk,
    largest_of,
    least_covering,
    least_priced_cost,
    mean_of,
    round_down,
    round_up,
)
from foregone.solving.solution import Solution
from foregone.strategy.base import SolvedStrategy
from foregone.strategy.limits import Limits, MaxDisagreement, Side, as_given, by_side, traits_of

__all__ = ["Certificate", "certify", "check_max_gap"]

RATIONAL_UP_TO = 4_000  # voters; above, the integers are so long that balls are faster


@dataclass(frozen=True)
class Certificate:
    """What was proven about a solution; all numbers are rounded so that every claim is exactly true.

    The claims are about the exact (binary) values of the floats in the solution: the stop probabilities, the
    probabilities of the vote distribution, and the limit.

    Attributes
    ----------
    arithmetic : {"rational", "ball", "float"}
        The arithmetic of the proof: exact rationals, intervals around 128-bit numbers, or (many answers)
        floats with a proven error bound.
    criterion : {"minimax", "minimean", "minimixed"}
        The criterion of the solution.
    max_disagreement : float or dict
        The limit, or those of "yes" and "no".
    expected_votes : tuple of float
        The strategy's cost under the criterion is between these two numbers.
    disagreement : tuple of float, or dict of them
        The strategy's risk under the criterion is between these two numbers.
    lower_bound : float
        No strategy that keeps the limit and counts votes in random order costs less; with a confidence, the
        limit is for its confidence set. Computed again from the solution's multipliers, not copied from it.
    gap : float
        The strategy costs at most this share of its own cost more than the optimum.
    max_gap : float
        The largest gap at which the certificate holds.
    risk_is_proven : bool
        Whether it is proven that the risk is at most the limit.
    optimality_is_proven : bool
        Whether it is proven that the gap is at most ``max_gap`` (for costs below one vote, ``max_gap``
        votes).
    optimality_is_claimed : bool
        Whether the solution claims to be optimal. Solutions for many answers with a confidence, and
        strategies whose limit was given to `certify`, do not.
    confidence : float or None
        For minimean: the risk is the worst-case mean over all distributions of votes consistent with the data
        at this confidence. That this set is valid follows from theory and is not part of the certificate.
    n_bet_on : int or None
        For many answers with a confidence: the risk is an upper bound on the mean, from bets on this many
        items.
    has_values : bool
        Whether disagreements have values, so that the risk is a mean loss.
    """

    arithmetic: Literal["rational", "ball", "float"]
    criterion: str
    max_disagreement: MaxDisagreement
    expected_votes: tuple[float, float]
    disagreement: tuple[float, float] | dict[str, tuple[float, float]]
    lower_bound: float
    gap: float
    max_gap: float
    risk_is_proven: bool
    optimality_is_proven: bool
    optimality_is_claimed: bool = True
    confidence: float | None = None
    n_bet_on: int | None = None
    has_values: bool = False

    @classmethod
    def of(
        cls,
        solution: SolvedStrategy,
        arithmetic: Literal["rational", "ball", "float"],
        cost: Interval,
        risk: Mapping[Side, Interval],
        bound: Fraction,
        max_gap: float,
        *,
        optimality_is_claimed: bool = True,
        n_bet_on: int | None = None,
    ) -> Certificate:
        """Make a certificate from intervals for cost and risk and a lower bound, all rounded outwards."""
        gap = max((cost[1] - bound) / max(cost[1], Fraction(1)), Fraction(0))
        rounded = {side: (round_down(low), round_up(high)) for side, (low, high) in risk.items()}
        return cls(
            arithmetic=arithmetic,
            criterion=solution.criterion,
            max_disagreement=solution.max_disagreement,
            expected_votes=(round_down(cost[0]), round_up(cost[1])),
            disagreement=as_given(rounded),
            lower_bound=round_down(bound),
            gap=round_up(gap),
            max_gap=max_gap,
            risk_is_proven=all(
                risk[side][1] <= Fraction(limit) for side, limit in Limits.of(solution.max_disagreement)
            ),
            optimality_is_proven=gap <= Fraction(max_gap),
            optimality_is_claimed=optimality_is_claimed,
            confidence=solution.confidence if traits_of(solution.criterion).bounds_the_mean else None,
            n_bet_on=n_bet_on,
            has_values=getattr(solution, "values", None) is not None,
        )

    @property
    def holds(self) -> bool:
        """Whether every claim is proven: the limit on the risk and, if claimed, the optimality."""
        return self.risk_is_proven and (self.optimality_is_proven or not self.optimality_is_claimed)

    def __str__(self) -> str:
        words = {
            "rational": "exact rational arithmetic",
            "ball": f"{BALL_BITS}-bit ball arithmetic",
            "float": "floating point with proven error bounds",
        }
        lines = [f"In {words[self.arithmetic]}:"]
        limits = by_side(self.max_disagreement)
        for side, interval in by_side(self.disagreement).items():
            what = "loss" if self.has_values else "disagreement"
            what += "" if side == "all" else f' with "{side}"'
            lines.append(self._about_the_risk(what, interval, limits[side]))
        return "\n  ".join([*lines, self._about_the_cost()])

    def _about_the_risk(self, what: str, interval: tuple[float, float], limit: float) -> str:
        kind = "mean" if traits_of(self.criterion).bounds_the_mean else "worst"
        if self.confidence is not None:
            bets = "" if self.n_bet_on is None else f" by betting on {self.n_bet_on:,} items"
            kind = f"at {self.confidence:g} confidence{bets}, largest mean"
        low, high = interval
        if high <= limit:
            return f"PROVEN  {kind} {what} {high:.9g} <= {limit:g}"
        if low > limit:
            return f"FALSE   {kind} {what} {low:.9g} is above {limit:g}, by {low - limit:.2g}"
        return f"OPEN    {kind} {what} is {low!r} to {high!r}: too close to {limit!r} to tell"

    def _about_the_cost(self) -> str:
        on = "in the worst case" if traits_of(self.criterion).minimises_the_worst else "on average"
        this = f"this one asks {self.expected_votes[1]:.12g} (gap {self.gap:.2g})"
        least = f"{self.lower_bound:.12g} votes {on}"
        if not self.optimality_is_claimed and self.lower_bound <= 1:  # a trivial bound, not worth printing
            return f"PROVEN  it asks at most {self.expected_votes[1]:.12g} votes {on}; not claimed optimal"
        if not self.optimality_is_proven and not self.optimality_is_claimed:
            this += "; not claimed optimal"
        if self.optimality_is_proven or not self.optimality_is_claimed:
            among = "no counting strategy within the limit"
            if self.confidence is not None:
                among += ", for this confidence set,"
            return f"PROVEN  {among} asks fewer than {least}; {this}"
        if self.lower_bound == 0:
            return f"OPEN    no lower bound: the solution has no multipliers to prove one; {this}"
        return f"OPEN    some counting strategy within the limit may ask as few as {least}; {this}"


def certify(
    solution: Solution,
    *,
    arithmetic: Literal["auto", "rational", "ball"] = "auto",
    max_gap: float = 1e-9,
) -> Certificate:
    """Prove a solution's limit and optimality; shares no code with the solvers.

    See Also
    --------
    foregone.certify : The same for every kind of solution and strategy, with documented parameters.
    """
    if not isinstance(solution, Solution):
        raise InvalidInputError(
            f"solution must be a Solution from solve, got {type(solution).__name__}: use foregone.certify, "
            "which takes every kind"
        )
    check_choice(arithmetic, "arithmetic", ("auto", "rational", "ball"))
    check_max_gap(max_gap)
    N, problem = solution.n_voters, solution.problem
    votes = [Fraction(p) for p in solution.votes.probabilities.tolist()]
    if arithmetic == "auto":
        arithmetic = "rational" if N <= RATIONAL_UP_TO else "ball"
    with arithmetic_named(arithmetic) as numbers:
        costs, risks = cost_and_risk(solution.strategy, numbers)
        cost = largest_of(costs) if problem.minimises_the_worst else mean_of(costs, votes)
        risk = {
            budget.side: _risk(budget, risks, _on_side(votes, budget.side, problem.quota))
            for budget in problem.budgets
        }
        bound = _lower_bound(solution, votes, numbers)
    return Certificate.of(solution, arithmetic, cost, risk, bound, max_gap)


def check_max_gap(max_gap: Any) -> None:
    """Raise InvalidInputError unless ``max_gap`` is a finite number of at least 0."""
    if isinstance(max_gap, bool) or not isinstance(max_gap, Real) or not 0 <= float(max_gap) < math.inf:
        raise InvalidInputError(f"max_gap must be a finite number of at least 0, got {max_gap!r}")


def _risk(budget: Budget, risks: list[Interval], votes: list[Fraction]) -> Interval:
    """Return the largest mean loss over the budget's distributions, given the votes on its side."""
    values = [Fraction(value) for value in budget.values.tolist()]
    lost = [(low * value, high * value) for (low, high), value in zip(risks, values, strict=True)]
    if isinstance(budget.distributions, OneDistribution):
        return mean_of(lost, votes)
    low, high = (_largest_mean(budget.distributions, [pair[end] for pair in lost]) for end in (0, 1))
    return low, high


def _largest_mean(bounds: NestedBounds, risks: list[Fraction]) -> Fraction:
    """Return the largest mean under bounds on the weight near the middle.

    Going inwards, all weight that must be no nearer to the middle than n can be put on the largest risk so
    far. The weights with the largest risks are assigned first, up to a total of 1.
    """
    m = len(bounds.no) - 1
    offers: list[Interval] = []  # (risk, weight)
    for side, caps in ((risks[m + 1 :], bounds.yes), (risks[: m + 1][::-1], bounds.no)):
        cap = [Fraction(bound) for bound in caps.tolist()]
        largest = Fraction(0)
        for r in range(len(cap) - 1, -1, -1):
            largest = max(largest, side[r])
            offers.append((largest, cap[r] - (cap[r - 1] if r else 0)))
    total, left = Fraction(0), Fraction(1)
    for risk, weight in sorted(offers, reverse=True):
        taken = min(weight, left)
        total, left = total + taken * risk, left - taken
    return total


def _lower_bound(solution: Solution, votes: list[Fraction], numbers: NumberSystem) -> Fraction:
    """Return the lower bound that the multipliers prove by weak duality; at least 0, the cost of no votes."""
    N, prices, problem = solution.n_voters, solution.multipliers, solution.problem
    mean_price = _per_n([(0, prices.mean_disagreement)], N)[0]
    given, cost = _per_n(prices.disagreement_at, N), _per_n(prices.cost_at, N)
    risk, spent = [Fraction(0)] * (N + 1), Fraction(0)
    for budget in problem.budgets:
        limit = Fraction(budget.limit)
        if limit == 0:
            # Any price is free here. This one exceeds the range of float multipliers: it is more than N votes
            # wherever a stop can be wrong, which has a probability of at least 2 ** -(N + 1074).
            huge = Fraction(2 ** (N + 1074 + N.bit_length()))
            priced = [huge if possible else Fraction(0) for possible in budget.possible()]
        elif budget.is_over_the_votes:
            priced = [mean_price * p for p in votes]
        else:
            priced = _on_side(given, budget.side, problem.quota)
        if limit > 0:
            multiple = _least_multiple(budget, priced, _on_side(votes, budget.side, problem.quota))
            if multiple is None:
                return Fraction(0)
            spent += limit * multiple
            values = map(Fraction, budget.values.tolist())
            priced = [price * value for price, value in zip(priced, values, strict=True)]
        risk = [a + b for a, b in zip(risk, priced, strict=True)]
    total = sum(cost, Fraction(0))
    if not problem.minimises_the_worst:
        cost, total = votes, sum(votes, Fraction(0))
    if not total:
        return Fraction(0)
    least = least_priced_cost(cost, risk, numbers, problem.yes_from.tolist(), problem.may_stop_after)
    return max((least - spent) / total, Fraction(0))


def _least_multiple(budget: Budget, prices: list[Fraction], votes: list[Fraction]) -> Fraction | None:
    """Return the least t with prices of at most t times a distribution of the budget, if there is one.

    ``votes`` are those on its side.
    """
    pairs: list[tuple[Fraction, Fraction]]  # (price, weight): t times the weight has to cover the price
    if isinstance(budget.distributions, OneDistribution):
        total = sum(votes, Fraction(0))
        pairs = [(price, weight / total) for price, weight in zip(prices, votes, strict=True)]
    else:
        m = len(budget.distributions.no) - 1
        pairs = [(sum(prices, Fraction(0)), Fraction(1))]
        for side, caps in (
            (prices[m + 1 :], budget.distributions.yes),
            (prices[: m + 1][::-1], budget.distributions.no),
        ):
            pairs += zip(accumulate(side), map(Fraction, caps.tolist()), strict=True)
    return least_covering(pairs)


def _on_side(weights: list[Fraction], side: str, quota: int) -> list[Fraction]:
    """Return the weights of the n whose full vote is ``side``, and zero for the others."""
    if side == "all":
        return weights
    return [weight if (n >= quota) == (side == "yes") else Fraction(0) for n, weight in enumerate(weights)]


def _per_n(pairs: Iterable[tuple[int, float]], N: int) -> list[Fraction]:
    weights = [Fraction(0)] * (N + 1)
    for n, weight in pairs:
        if not (0 <= n <= N and 0 <= weight < math.inf):
            raise InvalidInputError(
                f"a multiplier must be finite and not negative, for n from 0 to {N}, got {weight!r} for n={n}"
            )
        weights[n] += Fraction(weight)
    return weights
