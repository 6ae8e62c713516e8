"""certify_plurality(): prove that a solution for many answers keeps its limit, and its lower bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from foregone.checks import check_choice
from foregone.errors import InvalidInputError
from foregone.plurality.bet_exact import bounded_by_bets
from foregone.plurality.lattice_exact import Levels, cost_and_risk, least_priced_cost
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_solution import PluralitySolution
from foregone.plurality.possible import NestedSets
from foregone.solving.budget import OneDistribution
from foregone.solving.certificate import Certificate, check_max_gap
from foregone.solving.exact import Interval, largest_of, least_covering, mean_of

__all__ = ["certify_plurality"]

RATIONAL_UP_TO = 20_000  # states; for more, floats are much faster
FLOATS_UP_TO = 100  # digits of the number of orders


def certify_plurality(
    solution: PluralitySolution,
    *,
    arithmetic: Literal["auto", "rational", "float"] = "auto",
    max_gap: float = 1e-9,
) -> Certificate:
    """Prove the claims of a solution, sharing no code with the solvers.

    Cost and risk are recomputed from the strategy, for every full vote; the lower bound is recomputed from
    the prices. It is plain Python: it takes about 15 seconds for 40 voters and any answers.

    Parameters
    ----------
    solution : PluralitySolution
        From `solve_plurality`.
    arithmetic : {"auto", "rational", "float"}
        Exact rationals, or floats with a proven error bound; by default floats for more than 20,000
        states. Floats cannot prove a risk that equals the limit up to rounding, such as a limit of zero.
    max_gap : float
        The largest gap for which optimality counts as proven.

    Returns
    -------
    Certificate
        Its ``holds`` says whether all claims are proven. With a confidence, the claim is the limit: the
        bets of the items refute any larger mean disagreement. It cannot be verified from the solution that
        these items were not used to find the strategy, or that all more careful ones were certified first.

    Examples
    --------
    >>> from foregone.plurality import certify_plurality, solve_plurality
    >>> print(  # doctest: +ELLIPSIS
    ...     certify_plurality(solve_plurality(None, 0.05, n_voters=6, criterion="minimixed"))
    ... )
    In exact rational arithmetic:
      PROVEN  worst disagreement 0.05 <= 0.05
      PROVEN  no counting strategy within the limit asks fewer than 4.227... votes on average; this one...
    """
    if not isinstance(solution, PluralitySolution):
        raise InvalidInputError(
            f"solution must be a PluralitySolution from solve_plurality, got "
            f"{type(solution).__name__}: use foregone.certify, which takes every kind"
        )
    lattice = solution.strategy.lattice
    digits = lattice.n_voters * math.log10(max(lattice.n_classes, 2))
    check_choice(arithmetic, "arithmetic", ("auto", "rational", "float"))
    if arithmetic == "float" and digits > FLOATS_UP_TO:
        raise InvalidInputError('too many orders of the votes for floats: use arithmetic="rational"')
    check_max_gap(max_gap)
    if arithmetic == "auto":
        small = lattice.n_states <= RATIONAL_UP_TO or digits > FLOATS_UP_TO
        arithmetic = "rational" if small or solution.max_disagreement == 0 else "float"
    problem = solution.problem
    mean = [Fraction(weight) for weight in problem.mean.tolist()]
    bet = solution.bet
    costs, risks = cost_and_risk(
        solution.strategy, arithmetic, first_leader_only=bet is not None and bet.first_leader_only
    )
    cost = largest_of(costs) if problem.minimises_the_worst else mean_of(costs, mean)
    if bet is not None and solution.confidence is not None:
        risk, bound = bounded_by_bets(risks, bet.counts.tolist(), Fraction(solution.confidence)), Fraction(1)
    else:
        risk, bound = _risk(problem, risks), _lower_bound(solution, problem, mean, arithmetic)
    return Certificate.of(
        solution,
        arithmetic,
        cost,
        {"all": risk},
        bound,
        max_gap,
        optimality_is_claimed=solution.confidence is None,
        n_bet_on=None if bet is None else bet.n_items,
    )


def _risk(problem: PluralityProblem, risks: list[Interval]) -> Interval:
    """Return the largest mean disagreement over all possible distributions."""
    possible = problem.possible
    if isinstance(possible, OneDistribution):
        return mean_of(risks, [Fraction(weight) for weight in possible.weights.tolist()])
    if not isinstance(possible, NestedSets):
        return largest_of(risks)
    low, high = (_largest_mean(possible, [pair[end] for pair in risks]) for end in (0, 1))
    return low, high


def _largest_mean(possible: NestedSets, risks: list[Fraction]) -> Fraction:
    """Return the largest mean: the excess of a bound over the previous one may lie at its rank or beyond."""
    largest = [Fraction(0)] * len(possible.bounds)
    for rank, risk in zip(possible.rank.tolist(), risks, strict=True):
        largest[rank] = max(largest[rank], risk)
    total, worst, bounds = Fraction(0), Fraction(0), [Fraction(0), *map(Fraction, possible.bounds.tolist())]
    for rank in range(len(largest) - 1, -1, -1):
        worst = max(worst, largest[rank])
        total += worst * (bounds[rank + 1] - bounds[rank])
    return total


def _lower_bound(
    solution: PluralitySolution,
    problem: PluralityProblem,
    mean: list[Fraction],
    arithmetic: Literal["rational", "float"],
) -> Fraction:
    """Return the bound that the prices prove by weak duality: at least 1, because one voter is asked."""
    prices = [Fraction(weight) for weight in solution.evidence.risk_weights.tolist()]
    levels = Levels(solution.n_voters, solution.strategy.lattice.n_classes)
    cost = mean
    if problem.minimises_the_worst:
        cost = [Fraction(weight) for weight in solution.evidence.cost_weights.tolist()]
    limit = Fraction(solution.max_disagreement)
    if limit == 0:
        # Any price is allowed here: this one exceeds the cost of all votes wherever a stop can be wrong.
        possible = problem.possible
        known = possible.weights.tolist() if isinstance(possible, OneDistribution) else [1.0] * len(mean)
        dear = Fraction(2 ** (solution.n_voters * (solution.n_voters.bit_length() + 1) + 1100))
        prices = [dear if weight > 0 else Fraction(0) for weight in known]
        arithmetic = "rational"
    multiple = _least_multiple(problem, prices)
    total = sum(cost, Fraction(0))
    if multiple is None or not total:
        return Fraction(1)
    least = least_priced_cost(levels, cost, prices, arithmetic)
    return max((least - limit * multiple) / total, Fraction(1))


def _least_multiple(problem: PluralityProblem, prices: list[Fraction]) -> Fraction | None:
    """Return the smallest t such that the prices are at most t times a possible distribution, if any."""
    possible = problem.possible
    pairs: list[tuple[Fraction, Fraction]]  # (price, weight): t times the weight must cover the price
    if isinstance(possible, OneDistribution):
        weights = [Fraction(weight) for weight in possible.weights.tolist()]
        total = sum(weights, Fraction(0))
        pairs = [(price, weight / total) for price, weight in zip(prices, weights, strict=True)]
    elif isinstance(possible, NestedSets):
        by_rank = [Fraction(0)] * len(possible.bounds)
        for rank, price in zip(possible.rank.tolist(), prices, strict=True):
            by_rank[rank] += price
        pairs, within = [], Fraction(0)
        for price, bound in zip(by_rank, possible.bounds.tolist(), strict=True):
            within += price
            pairs.append((within, Fraction(bound)))
    else:
        pairs = [(sum(prices, Fraction(0)), Fraction(1))]
    return least_covering(pairs)
