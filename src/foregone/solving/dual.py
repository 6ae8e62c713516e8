"""The fast solver: prices on the constraints, backward induction under them, and back to a strategy.

Symbols: N voters, n of them yes, m = N // 2, state (i, j): i asked, j yes, alpha the limit.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from foregone.errors import SolverError
from foregone.evaluation import evaluate
from foregone.solving.column_generation import Known, Limit, Prices, find_prices, known_at
from foregone.solving.mixing import mix_strategies
from foregone.solving.oracle import Oracle, undecided_band
from foregone.solving.problem import Problem
from foregone.solving.recovery import recover_strategy
from foregone.solving.solution import Multipliers
from foregone.strategy import StoppingStrategy
from foregone.votes import FloatArray

__all__ = ["solve_dual"]

_Result = tuple[StoppingStrategy, float, Multipliers]

# A price so high that nothing is worth any risk; small enough that price times weight stays finite.
_PROHIBITIVE = 1e250
# Prices are in inverse proportion to the limit; for a smaller one they could not be held.
_AS_GOOD_AS_ZERO = 1e-290
# Voters up to which strategies are mixed state by state, if nothing better is found.
_MIX_UP_TO = 4_000
_EPSILON = float(np.finfo(float).eps)
# Minimax's second phase may spend this much more, relatively, than the least worst cost: at exactly the
# least, the price of a vote in the worst case grows beyond what floating point can hold next to the mean.
_TIE_BREAK_SLACK = 2e-10


def solve_dual(problem: Problem) -> _Result:
    """Return an optimal strategy, a lower bound, and the prices that prove it."""
    N, alpha = problem.n_voters, problem.max_disagreement
    if _says_yes_at_most(problem, alpha) if problem.bounds_the_mean else alpha == 1.0:
        return StoppingStrategy.from_rows(N, lambda asked: np.ones(asked + 1)), 0.0, Multipliers()
    if alpha < _AS_GOOD_AS_ZERO:
        return _without_risk(problem)
    solve_within = _minimax if problem.minimises_the_worst else _mean_cost
    # Aim a little below alpha, so that rounding cannot lift the disagreement above it. A little more is
    # needed where a strategy without randomised states happens to sit just there.
    margins = (2 * N * _EPSILON, 2 * N * _EPSILON + 1e-12, 1e-11)
    for margin in margins:
        result = solve_within(problem, alpha * (1 - margin), may_mix=False)
        if result is not None:
            return result
    result = solve_within(problem, alpha * (1 - margins[1]), may_mix=True)
    if result is None:
        raise SolverError("could not turn the optimal prices into a strategy; please report this case")
    return result


def _says_yes_at_most(problem: Problem, alpha: float) -> bool:
    """Whether the full vote is "yes" with a probability of at most alpha, compared without rounding."""
    weights = problem.votes.probabilities
    yes = weights[problem.n_voters // 2 + 1 :]
    if abs(yes.sum() - alpha) > 1e-9 * alpha:
        return bool(yes.sum() <= alpha)
    return sum(map(Fraction, yes.tolist())) <= Fraction(alpha) * sum(map(Fraction, weights.tolist()))


def _mean_cost(problem: Problem, target: float, may_mix: bool) -> _Result | None:
    """Minimise the mean cost, with a disagreement of at most ``target``."""
    oracle = Oracle(problem, [], 2.0 * problem.n_voters / target)
    limits = [Limit(channel, target, target) for channel in oracle.risk_channels]
    careful = _careful(oracle, [0], target)
    prices = find_prices(oracle, limits, [careful, *_scout(oracle, target, careful.channels)])
    mean_cost = np.eye(len(prices.prices))[0]
    strategy = _recover(problem, oracle, prices.prices, limits, mean_cost, prices.objective)
    if strategy is None and may_mix:
        strategy = _mix(problem, oracle, prices.mixture, careful)
    if strategy is None:
        return None
    return strategy, _bound(problem, prices, limits), _multipliers(problem, oracle, prices.prices, [])


def _careful(oracle: Oracle, cost_channels: list[int], target: float) -> Known:
    """Return a strategy that uses up at most half of every limit on the disagreement.

    At a price of 2 N / target a larger disagreement would cost more than asking everyone.
    """
    prices = np.zeros(len(oracle.go_on))
    prices[cost_channels] = 1.0 / len(cost_channels)
    prices[oracle.risk_channels] = 2.0 * (len(oracle.low) - 1) / target
    return known_at(oracle, prices)


def _scout(oracle: Oracle, target: float, careful: FloatArray) -> list[Known]:
    """Return a few strategies whose disagreement is near the target.

    The least cost falls roughly with the logarithm of the disagreement, so a price is roughly in inverse
    proportion to the disagreement it leads to.
    """
    prices = np.zeros(len(oracle.go_on))
    prices[0] = 1.0
    price = careful[0] / (
        target * np.log(1.0 / max(float(careful[oracle.risk_channels].max()), 1e-3 * target))
    )
    found = []
    for _ in range(4):
        prices[oracle.risk_channels] = price
        found.append(known_at(oracle, prices))
        risk = float(found[-1].channels[oracle.risk_channels].max())
        if risk == 0.0:
            break
        price = min(price * risk / target, 2.0 * (len(oracle.low) - 1) / target)
    return found


def _bound(problem: Problem, prices: Prices, risks: list[Limit]) -> float:
    """Return the lower bound for the limit itself, not the lowered one it was found with."""
    return prices.lower_bound - sum(
        float(prices.prices[risk.channel]) * (problem.max_disagreement - risk.limit) for risk in risks
    )


def _without_risk(problem: Problem) -> _Result:
    """Stop as soon as no possible n disagrees with the majority so far; the limit is zero."""
    N = problem.n_voters
    m = N // 2
    low, high = undecided_band(N)
    possible = np.flatnonzero(problem.votes.probabilities) if problem.bounds_the_mean else np.arange(N + 1)
    # An open state (i, j) leaves n from j to N - i + j, always both m and m + 1: only the possible n nearest
    # to the middle can matter.
    largest_no = int(max(possible[possible <= m], default=-1))
    least_yes = int(min(possible[possible > m], default=N + 1))

    def stops(asked: int) -> FloatArray:
        yes = np.arange(asked + 1)
        may_be_no, may_be_yes = yes <= largest_no, N - asked + yes >= least_yes
        settled = np.where(2 * yes > asked, may_be_yes & ~may_be_no, may_be_no & ~may_be_yes)
        decided = (yes < low[asked]) | (yes > high[asked])
        return np.asarray(settled | decided, dtype=np.float64)

    strategy = StoppingStrategy.from_rows(N, stops)
    evaluation = evaluate(strategy)
    cost_at = [int(np.argmax(evaluation.expected_votes))] if problem.minimises_the_worst else []
    oracle = Oracle(problem, cost_at, _PROHIBITIVE)
    prices = np.zeros(len(oracle.go_on))
    prices[oracle.risk_channels] = _PROHIBITIVE
    prices[oracle.cost_channels or [0]] = 1.0
    bound = float(prices @ oracle.least(prices)) - problem.max_disagreement * _PROHIBITIVE
    if problem.max_disagreement == 0:
        # Stopping sooner is wrong for some n, going on longer only costs: there is nothing better, even where
        # a weight is too small for any price that a float can hold.
        bound = problem.figures(evaluation).expected_votes
    return strategy, bound, _multipliers(problem, oracle, prices, cost_at)


def _minimax(problem: Problem, target: float, may_mix: bool) -> _Result | None:
    """First the least worst cost; then, among the strategies that reach it, the least mean cost."""
    N = problem.n_voters
    # The worst n is near the middle; if another turns out worse it is added and all is done again.
    cost_at = [N // 2, N // 2 + 1]
    while True:
        oracle = Oracle(problem, cost_at, 0.0)
        risks = [Limit(channel, target, target) for channel in oracle.risk_channels]
        costs = oracle.cost_channels
        careful = _careful(oracle, costs, target)
        first = find_prices(oracle, risks, [careful], largest_of=costs)
        worst = first.objective * (1 + _TIE_BREAK_SLACK)
        limits = risks + [Limit(channel, worst, max(target, 1e-12) * N) for channel in costs]
        second = find_prices(oracle, limits, [first.mixture, *first.found])
        # Both prices stay optimal when added up; the first ones speak where the mean has no say.
        prices = second.prices + 1e-6 * first.prices
        # At these prices the worst cost still has a range; at its low end the fewest states are randomised.
        weights = np.zeros(len(first.prices))
        weights[costs] = first.prices[costs]
        worst = first.objective * (1 + 2 * _TIE_BREAK_SLACK)
        limits = risks + [Limit(channel, worst, max(target, 1e-12) * N) for channel in costs]
        strategy = _recover(problem, oracle, prices, limits, weights, worst)
        if strategy is None:
            # A limit of 1e-9 buys hardly anything in the worst case; the least mean cost of all may do.
            mixed = _mean_cost(replace(problem, criterion="minimixed"), target, may_mix)
            if mixed is not None and evaluate(mixed[0]).expected_votes.max() <= worst:
                strategy = mixed[0]
        if strategy is None and may_mix:
            strategy = _mix(problem, oracle, second.mixture, careful)
        if strategy is None:
            return None
        worst_n = int(np.argmax(evaluate(strategy).expected_votes))
        if worst_n in cost_at:
            return (
                strategy,
                _bound(problem, first, risks),
                _multipliers(problem, oracle, first.prices, cost_at),
            )
        cost_at = sorted([*cost_at, worst_n])


def _recover(
    problem: Problem,
    oracle: Oracle,
    prices: FloatArray,
    limits: list[Limit],
    objective: FloatArray,
    most: float,
) -> StoppingStrategy | None:
    """Return a strategy at the prices that keeps the limits, rounding included, for at most ``most``."""
    rounding = problem.n_voters * _EPSILON
    for tolerance in (1e-9, 1e-7, 1e-5, 1e-3):
        scale = 1.0
        for _ in range(4):
            tight = [
                replace(limit, limit=limit.limit * scale) if limit.channel in oracle.risk_channels else limit
                for limit in limits
            ]
            strategy = recover_strategy(oracle, prices, tight, objective, tolerance)
            if strategy is None:
                break
            cost, risk = problem.figures(evaluate(strategy))
            if cost > most * (1 + 3e-10):
                break
            if risk <= problem.max_disagreement * (1 - rounding):
                return strategy
            scale *= problem.max_disagreement * (1 - 2 * rounding) / risk
    return _at_dearer_prices(problem, oracle, prices, most)


def _at_dearer_prices(
    problem: Problem, oracle: Oracle, prices: FloatArray, most: float
) -> StoppingStrategy | None:
    """Return a deterministic strategy within the limit that costs at most ``most``, up to 1e-9.

    Such a one exists where a whole limit's worth of disagreement saves less than rounding hides: there the
    right prices cannot be told from slightly dearer ones.
    """
    highest = 2.0 * problem.n_voters / problem.max_disagreement
    cheap, dear = 0.0, np.log(10.0)
    best = None
    for _ in range(24):
        middle = (cheap + dear) / 2
        tried = prices.copy()
        tried[oracle.risk_channels] = np.minimum(tried[oracle.risk_channels] * np.exp(middle), highest)
        policy = oracle.policy(tried, 0.0)
        strategy = policy.strategy(np.zeros(len(policy.ties)))
        cost, risk = problem.figures(evaluate(strategy))
        if risk > problem.max_disagreement * (1 - problem.n_voters * _EPSILON):
            cheap = middle
            continue
        dear = middle
        if cost <= most * (1 + 1e-9):
            best = strategy
    return best


def _mix(problem: Problem, oracle: Oracle, mixture: Known, careful: Known) -> StoppingStrategy | None:
    """Return the optimal mixture itself, state by state, with as much of the careful strategy as it needs."""
    if problem.n_voters > _MIX_UP_TO:
        return None

    def best_at(prices: FloatArray) -> StoppingStrategy:
        policy = oracle.policy(prices, 0.0)
        return policy.strategy(np.zeros(len(policy.ties)))

    parts = [(weight, best_at(prices)) for weight, prices in mixture.recipe]
    safe = best_at(careful.recipe[0][1])
    limit = problem.max_disagreement * (1 - problem.n_voters * _EPSILON)
    for share in (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-3, 1.0):
        rest = [(weight * (1 - share), strategy) for weight, strategy in parts if weight * (1 - share) > 0]
        strategy = mix_strategies([*rest, (share, safe)] if share else rest, safe)
        if problem.figures(evaluate(strategy)).disagreement <= limit:
            return strategy
    return None


def _multipliers(problem: Problem, oracle: Oracle, prices: FloatArray, cost_at: list[int]) -> Multipliers:
    m = problem.n_voters // 2
    risk = prices[oracle.risk_channels].tolist()
    cost = tuple(zip(cost_at, prices[oracle.cost_channels].tolist(), strict=True))
    if problem.bounds_the_mean:
        return Multipliers(mean_disagreement=risk[0])
    return Multipliers(disagreement_at=((m, risk[0]), (m + 1, risk[1])), cost_at=cost)
