"""certify(): a proof, in exact arithmetic, that a solution keeps its limit and is optimal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from foregone.errors import InvalidInputError
from foregone.solving.exact import (
    BALL_BITS,
    Interval,
    Numbers,
    arithmetic_named,
    cost_and_risk,
    least_priced_cost,
)
from foregone.solving.solution import Solution

__all__ = ["Certificate", "certify"]

RATIONAL_UP_TO = 4_000  # voters; beyond, whole numbers grow so long that balls are faster


@dataclass(frozen=True)
class Certificate:
    """What was proven about a solution. Every number is rounded outwards, so every claim is a theorem.

    The claims are about the numbers in the solution as they stand: each stop probability, each
    probability of the vote distribution and the limit is the exact (binary) value of its float.

    Attributes
    ----------
    arithmetic : {"rational", "ball"}
        What it was proven in: exact rationals, or intervals around 128-bit numbers.
    criterion : {"minimax", "minimean", "minimixed"}
        What the solution minimises and bounds.
    max_disagreement : float
        The limit.
    expected_votes : tuple of float
        The strategy's cost under the criterion lies between these two.
    disagreement : tuple of float
        The strategy's risk under the criterion lies between these two.
    lower_bound : float
        No strategy within the limit costs less. Proven by the solution's multipliers, not taken from it.
    gap : float
        The strategy costs at most this share of its own cost more than the best within the limit.
    max_gap : float
        The largest gap at which the certificate holds.
    risk_is_proven : bool
        Whether the risk is at most the limit, beyond doubt.
    optimality_is_proven : bool
        Whether the gap is at most ``max_gap`` or, for costs below one vote, ``max_gap`` votes; beyond doubt.
    """

    arithmetic: Literal["rational", "ball"]
    criterion: str
    max_disagreement: float
    expected_votes: tuple[float, float]
    disagreement: tuple[float, float]
    lower_bound: float
    gap: float
    max_gap: float
    risk_is_proven: bool
    optimality_is_proven: bool

    @property
    def holds(self) -> bool:
        """Whether both the limit on the risk and the optimality are proven."""
        return self.risk_is_proven and self.optimality_is_proven

    def __str__(self) -> str:
        words = {"rational": "exact rational arithmetic", "ball": f"{BALL_BITS}-bit ball arithmetic"}
        return f"In {words[self.arithmetic]}:\n  {self._about_the_risk()}\n  {self._about_the_cost()}"

    def _about_the_risk(self) -> str:
        kind = "mean" if self.criterion == "minimean" else "worst"
        limit, (low, high) = self.max_disagreement, self.disagreement
        if self.risk_is_proven:
            return f"PROVEN  {kind} disagreement {high:.9g} <= {limit:g}"
        if low > limit:
            return f"FALSE   {kind} disagreement {low:.9g} is above {limit:g}, by {low - limit:.2g}"
        return f"OPEN    {kind} disagreement is {low!r} to {high!r}: too close to {limit!r} to tell"

    def _about_the_cost(self) -> str:
        on = "in the worst case" if self.criterion == "minimax" else "on average"
        this = f"this one asks {self.expected_votes[1]:.12g} (gap {self.gap:.2g})"
        least = f"{self.lower_bound:.12g} votes {on}"
        if self.optimality_is_proven:
            return f"PROVEN  no strategy within the limit asks fewer than {least}; {this}"
        if self.lower_bound == 0:
            return f"OPEN    no lower bound: the solution brings no multipliers that prove one; {this}"
        return f"OPEN    some strategy within the limit may ask as few as {least}; {this}"


def certify(
    solution: Solution,
    *,
    arithmetic: Literal["auto", "rational", "ball"] = "auto",
    max_gap: float = 1e-9,
) -> Certificate:
    """Prove what a solution claims, sharing no code with whatever found it.

    Cost and risk are derived anew from the strategy, for every n; the lower bound is derived anew from
    the multipliers, by weak duality: any non-negative ones prove a bound, good ones a tight one.

    Parameters
    ----------
    solution : Solution
        From any method; one without multipliers (``"quadratic_program"``) can only have its risk proven.
    arithmetic : {"auto", "rational", "ball"}
        Exact rationals need nothing but Python and take about 2 seconds for 2,001 voters; balls (extra
        ``exact``) are faster beyond some 4,000 voters, where ``"auto"`` turns to them. Balls cannot
        prove a risk that equals the limit exactly.
    max_gap : float
        The largest gap at which the certificate holds, relative to the expected votes or to one vote,
        whichever is more.

    Returns
    -------
    Certificate
        Its ``holds`` says whether everything is proven; print it to read what is.

    Raises
    ------
    InvalidInputError
        If a multiplier is negative, not finite, or for an impossible number of yes votes.
    MissingExtraError
        If balls are asked for (or needed) and python-flint is not installed.

    Examples
    --------
    >>> from foregone import solve
    >>> from foregone.solving.certificate import certify
    >>> certify(solve("minimixed", 101, 1e-3)).holds
    True
    >>> print(certify(solve("minimax", 2, 0)))
    In exact rational arithmetic:
      PROVEN  worst disagreement 0 <= 0
      PROVEN  no strategy within the limit asks fewer than 2 votes in the worst case; this one asks 2 (gap 0)
    """
    if arithmetic not in ("auto", "rational", "ball"):
        raise InvalidInputError(f"arithmetic must be one of auto, rational, ball, not {arithmetic!r}")
    if not 0 <= max_gap < math.inf:
        raise InvalidInputError(f"max_gap must be a number of at least 0, not {max_gap!r}")
    N, limit = solution.n_voters, Fraction(solution.max_disagreement)
    votes = [Fraction(p) for p in solution.votes.probabilities.tolist()]
    worst_cost, worst_risk = solution.criterion == "minimax", solution.criterion != "minimean"
    if arithmetic == "auto":
        arithmetic = "rational" if N <= RATIONAL_UP_TO else "ball"
    with arithmetic_named(arithmetic) as numbers:
        costs, risks = cost_and_risk(solution.strategy, numbers)
        cost = _largest(costs) if worst_cost else _mean(costs, votes)
        risk = _largest(risks) if worst_risk else _mean(risks, votes)
        bound = _lower_bound(solution, votes, limit, numbers)
    gap = max((cost[1] - bound) / max(cost[1], Fraction(1)), Fraction(0))
    return Certificate(
        arithmetic=arithmetic,
        criterion=solution.criterion,
        max_disagreement=solution.max_disagreement,
        expected_votes=(_round_down(cost[0]), _round_up(cost[1])),
        disagreement=(_round_down(risk[0]), _round_up(risk[1])),
        lower_bound=_round_down(bound),
        gap=_round_up(gap),
        max_gap=max_gap,
        risk_is_proven=risk[1] <= limit,
        optimality_is_proven=gap <= Fraction(max_gap),
    )


def _lower_bound(solution: Solution, votes: list[Fraction], limit: Fraction, numbers: Numbers) -> Fraction:
    """Return what the multipliers prove by weak duality, at least 0: asking nobody is free."""
    N, prices = solution.n_voters, solution.multipliers
    mean_price = _per_n([(0, prices.mean_disagreement)], N)[0]
    worst_prices, cost = _per_n(prices.disagreement_at, N), _per_n(prices.cost_at, N)
    if limit == 0:
        # Any price is free then. This one is beyond what float multipliers may hold: dearer than N votes
        # wherever stopping is wrong at all, which has a probability of at least 2 ** -(N + 1074).
        mean_price = Fraction(2 ** (N + 1074 + N.bit_length()))
        worst_prices[N // 2] = worst_prices[N // 2 + 1] = mean_price
    if solution.criterion == "minimean":
        risk, spent = [mean_price * p for p in votes], mean_price * limit * sum(votes, Fraction(0))
    else:
        risk, spent = worst_prices, sum(worst_prices, Fraction(0)) * limit
    total = sum(cost, Fraction(0))
    if solution.criterion != "minimax":
        cost, total = votes, sum(votes, Fraction(0))
    if not total or not any(risk):
        return Fraction(0)
    return max((least_priced_cost(cost, risk, numbers) - spent) / total, Fraction(0))


def _per_n(pairs: Iterable[tuple[int, float]], N: int) -> list[Fraction]:
    weights = [Fraction(0)] * (N + 1)
    for n, weight in pairs:
        if not (0 <= n <= N and 0 <= weight < math.inf):
            raise InvalidInputError(
                f"a multiplier must be finite and not negative, for n from 0 to {N}, got {weight!r} for n={n}"
            )
        weights[n] += Fraction(weight)
    return weights


def _largest(intervals: list[Interval]) -> Interval:
    return max(low for low, _ in intervals), max(high for _, high in intervals)


def _mean(intervals: list[Interval], weights: list[Fraction]) -> Interval:
    pairs = [(pair, weight) for pair, weight in zip(intervals, weights, strict=True) if weight]
    total = sum(weights, Fraction(0))
    low, high = (sum((pair[end] * weight for pair, weight in pairs), Fraction(0)) for end in (0, 1))
    return low / total, high / total


def _round_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _round_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
