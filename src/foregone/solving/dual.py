"""The fast solver: find prices for the constraints by backward induction, then recover a strategy.

Symbols: N voters, n of them yes, state (i, j): i asked, j yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import SolverError
from foregone.solving.budget import Budget
from foregone.solving.column_generation import DualPrices, Known, Limit, find_prices, known_at
from foregone.solving.oracle import Cut, Oracle
from foregone.solving.problem import Problem
from foregone.solving.recovery import mix_strategies, recover_strategy
from foregone.solving.solution import Multipliers
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.votes import VoteDistribution

__all__ = ["solve_dual"]

_Result = tuple[StoppingStrategy, float, Multipliers]

# A price so high that no saving justifies any risk, but small enough that price times weight stays finite.
_PROHIBITIVE = 1e250
# Limits up to the first are set to zero if this costs no more than rounding errors. Limits up to the second
# are always set to zero: prices are inversely proportional to the limit, and would overflow.
_NEXT_TO_ZERO = (1e-16, 1e-290)
_LOST_IN_ROUNDING = 1e-13
_HARDLY_WORTH = 1e-9  # limits up to this one may be set to zero if no good strategy is found within them
_MOST_CUTS = 1_000
# Number of voters up to which strategies are mixed state by state, as a last resort.
_MIX_UP_TO = 4_000
_EPSILON = float(np.finfo(float).eps)
# The second phase of minimax may exceed the least worst-case cost by this share: at exactly the least cost,
# the price of a vote in the worst case is too large for floating point beside the mean.
_TIE_BREAK_SLACK = 2e-10


def solve_dual(problem: Problem) -> _Result:
    """Return an optimal strategy, a lower bound, and the prices that prove it."""
    if problem.quota == 0 or _may_ask_nobody(problem):  # with a quota of 0 the answer is always yes
        looks = problem.may_stop_after
        stop = StoppingStrategy.from_rows(
            problem.n_voters, lambda asked: np.full(asked + 1, asked in looks), yes_from=problem.yes_from
        )
        cost_at = ((0, 1.0),) if problem.minimises_the_worst else ()
        return stop, float(looks[0]), Multipliers(cost_at=cost_at)
    for threshold in _NEXT_TO_ZERO:
        tiny = [budget for budget in problem.budgets if 0 < budget.limit <= threshold]
        if not tiny:
            continue
        strategy, without, multipliers = solve_dual(_allowing_nothing(problem, tiny))
        bound, multipliers = _proof_with(problem, multipliers, tiny)
        if without - bound <= _LOST_IN_ROUNDING * max(without, 1.0) or threshold == _NEXT_TO_ZERO[-1]:
            return strategy, bound, multipliers
    strategy, bound, multipliers = _within_cuts(problem)
    tiny = [budget for budget in problem.budgets if 0 < budget.limit <= _HARDLY_WORTH]
    if tiny and (cost := problem.cost(evaluate(strategy))) - bound > 1e-9 * max(cost, 1.0):
        # Mixing strategies to keep such a limit can cost more than the limit saves.
        careful = solve_dual(_allowing_nothing(problem, tiny))[0]
        if problem.cost(evaluate(careful)) < cost:
            strategy = careful
    return strategy, bound, multipliers


def _allowing_nothing(problem: Problem, budgets: Sequence[Budget]) -> Problem:
    """Return the problem with the limits of the given budgets set to zero."""
    return replace(problem, limits=problem.limits.without([budget.side for budget in budgets]))


def _proof_with(problem: Problem, others: Multipliers, tiny: Sequence[Budget]) -> tuple[float, Multipliers]:
    """Return a lower bound and its multipliers: those of other budgets, and new ones for tiny limits."""
    given = np.zeros(problem.n_voters + 1)
    for n, price in others.disagreement_at:
        given[n] = price
    cuts, prices = [], []
    for budget in problem.budgets:
        if budget in tiny:
            worth = min(_LOST_IN_ROUNDING / 10 / budget.limit, _PROHIBITIVE)
            for weights in budget.first_cuts():
                cuts.append(Cut(budget, weights))
                prices.append(worth)
        elif (weights := np.where(problem.full_yes == (budget.side == "yes"), given, 0.0)).any():
            cuts.append(Cut(budget, weights / weights.sum()))
            prices.append(float(weights.sum()))
    cost_at = [n for n, _ in others.cost_at]
    oracle = Oracle(problem, cuts, cost_at)
    priced = np.array([0.0 if cost_at else 1.0, *prices, *(weight for _, weight in others.cost_at)])
    spent = float(priced[oracle.risk_channels] @ oracle.limits)
    total = float(priced[oracle.cost_channels or [0]].sum())
    bound = (float(priced @ oracle.least(priced)) - spent) / total
    return bound, _multipliers(problem, oracle, priced, cost_at)


def _within_cuts(problem: Problem) -> _Result:
    """Solve with each budget enforced under a few distributions of its set.

    If the strategy exceeds a limit under another distribution, add this distribution and solve again.
    """
    cuts = [Cut(budget, weights) for budget in problem.budgets for weights in budget.first_cuts()]
    while True:
        result = _solve_under(problem, cuts)
        disagreement = evaluate(result[0]).disagreement
        broken = [
            Cut(budget, budget.worst_for(disagreement))
            for budget in problem.budgets
            if budget.risk(disagreement) > budget.limit
        ]
        if not broken:
            return result
        if len(cuts) > _MOST_CUTS:
            raise SolverError(
                "no strategy keeps a limit under all distributions of its set: please report this problem"
            )
        cuts += broken


def _may_ask_nobody(problem: Problem) -> bool:
    """Whether answering without any vote keeps every limit."""
    if problem.looks is not None and problem.looks[0] > 0:
        return False
    answers_yes = problem.yes_from[0] == 0
    wrong = (problem.full_yes != answers_yes).astype(np.float64)
    return all(_at_most(budget, wrong) for budget in problem.budgets)


def _at_most(budget: Budget, wrong: FloatArray) -> bool:
    """Whether a disagreement of 0 or 1 for each n keeps a limit, in exact arithmetic."""
    weights, lost = budget.worst_for(wrong), budget.values * wrong
    if abs(weights @ lost - budget.limit) > 1e-9 * budget.limit:
        return bool(weights @ lost <= budget.limit)
    pairs = zip(weights[lost > 0].tolist(), lost[lost > 0].tolist(), strict=True)
    exact = sum((Fraction(weight) * Fraction(loss) for weight, loss in pairs), Fraction(0))
    return exact <= Fraction(budget.limit) * sum(map(Fraction, weights.tolist()))


def _solve_under(problem: Problem, cuts: list[Cut]) -> _Result:
    """Solve with the disagreement bounded under the distributions of the cuts only."""
    if not any(0 < cut.budget.limit < 1 for cut in cuts):
        return _without_risk(problem, cuts)
    solve_within = _minimax if problem.minimises_the_worst else _mean_cost
    # Aim slightly below the limits, so that rounding cannot raise the disagreement above them. A larger
    # margin is needed if a strategy without randomised states happens to lie exactly there.
    least = 2 * problem.n_voters * _EPSILON
    margins = (least, least + 1e-12, 1e-11)
    for margin in margins:
        result = solve_within(problem, cuts, 1 - margin, may_mix=False)
        if result is not None:
            return result
    result = solve_within(problem, cuts, 1 - margins[1], may_mix=True)
    if result is None:
        raise SolverError("could not recover a strategy from the optimal prices: please report this problem")
    return result


def _risk_limits(oracle: Oracle, share: float) -> list[Limit]:
    """Return limits on the risk channels, as a share of the limits of the budgets."""
    return [
        Limit(channel, float(limit) * share, float(limit))
        for channel, limit in zip(oracle.risk_channels, oracle.limits, strict=True)
    ]


def _mean_cost(problem: Problem, cuts: list[Cut], share: float, *, may_mix: bool) -> _Result | None:
    """Minimise the mean cost with a disagreement of at most a share of the limits."""
    oracle = Oracle(problem, cuts)
    limits = _risk_limits(oracle, share)
    careful = _careful(oracle, [0])
    prices = find_prices(oracle, limits, [careful, *_scout(oracle, careful.channels)])
    mean_cost = np.eye(len(prices.prices))[0]
    strategy = _recover(problem, oracle, prices.prices, limits, mean_cost, prices.objective)
    if strategy is None and may_mix:
        strategy = _mix(problem, oracle, prices.mixture, careful)
    if strategy is None:
        return None
    return strategy, _bound(oracle, prices, share), _multipliers(problem, oracle, prices.prices)


def _careful(oracle: Oracle, cost_channels: list[int]) -> Known:
    """Return a strategy that uses at most half of every limit on the disagreement.

    At a price of 2 N / limit a larger disagreement would cost more than asking all voters.
    """
    prices = np.zeros(len(oracle.go_on))
    prices[cost_channels] = 1.0 / len(cost_channels)
    prices[oracle.risk_channels] = 2.0 * (len(oracle.low) - 1) / oracle.limits
    return known_at(oracle, prices)


def _scout(oracle: Oracle, careful: FloatArray) -> list[Known]:
    """Return a few strategies whose disagreement is near a limit.

    The least cost falls roughly with the logarithm of the disagreement, so the disagreement is roughly
    inversely proportional to the price.
    """

    def used_up(channels: FloatArray) -> float:
        return float((channels[oracle.risk_channels] / oracle.limits).max())

    prices = np.zeros(len(oracle.go_on))
    prices[0] = 1.0
    risk = max(used_up(careful), 1e-3) * float(oracle.limits.min())
    price = careful[0] / np.log(1.0 / min(risk, 0.5))
    found = []
    for _ in range(4):
        prices[oracle.risk_channels] = price / oracle.limits
        found.append(known_at(oracle, prices))
        used = used_up(found[-1].channels)
        if used == 0.0:
            break
        price = min(price * used, 2.0 * (len(oracle.low) - 1))
    return found


def _bound(oracle: Oracle, prices: DualPrices, share: float) -> float:
    """Return the lower bound for the original limits instead of the lowered limits that were used."""
    return prices.lower_bound - float(prices.prices[oracle.risk_channels] @ oracle.limits) * (1 - share)


def _without_risk(problem: Problem, cuts: list[Cut]) -> _Result:
    """Solve if every limit is 0 or 1 (no limit): stop wherever it is allowed."""
    # This is optimal for every n, so minimax can use any distribution; a flat one reaches every state.
    flat = VoteDistribution.flat(problem.n_voters)
    asked = replace(problem, votes=flat) if problem.minimises_the_worst else problem
    strategy = Oracle(asked, cuts).policy(np.ones(1), 0.0).strategy()
    evaluation = evaluate(strategy)
    cost = problem.cost(evaluation)
    cost_at = [int(np.argmax(evaluation.expected_votes))] if problem.minimises_the_worst else []
    oracle = Oracle(problem, cuts, cost_at)
    prices = np.zeros(len(oracle.go_on))
    prices[oracle.cost_channels or [0]] = 1.0
    # Stopping earlier is wrong for some n, and continuing only adds cost, so this is optimal.
    return strategy, cost, _multipliers(problem, oracle, prices, cost_at)


def _minimax(problem: Problem, cuts: list[Cut], share: float, *, may_mix: bool) -> _Result | None:
    """Find the least worst-case cost, then the least mean cost among the strategies that reach it."""
    N = problem.n_voters
    # The worst n is near the quota; if another n turns out worse, add it and solve again.
    cost_at = [max(problem.quota - 1, 0), problem.quota]
    while True:
        oracle = Oracle(problem, cuts, cost_at)
        risks = _risk_limits(oracle, share)
        costs = oracle.cost_channels
        scale = max(float(oracle.limits.min()), 1e-12) * N
        careful = _careful(oracle, costs)
        first = find_prices(oracle, risks, [careful], largest_of=costs)
        if first.objective - first.lower_bound > 1e-9 * max(first.objective, 1.0):
            # Rounding ended the search too early: restart from the strategies found.
            first = find_prices(oracle, risks, [careful, *reversed(first.found)], largest_of=costs)
        worst = first.objective * (1 + _TIE_BREAK_SLACK)
        limits = risks + [Limit(channel, worst, scale) for channel in costs]
        second = find_prices(oracle, limits, [first.mixture, *first.found])
        # With one limit, a look at every step and a majority, no other n was ever worse, so skip the check.
        if len(problem.budgets) > 1 or problem.looks is not None or not problem.is_plain:
            worst_n = int(np.argmax(_costs_of(oracle, second.mixture)))
            if worst_n not in cost_at:
                # The worst n hardly moves any more: adding its neighbours saves a round or two.
                cost_at = sorted({*cost_at, *range(max(worst_n - 1, 0), min(worst_n + 1, N) + 1)})
                continue
        # The sum of both prices is still optimal; the first ones decide where the mean has no weight.
        prices = second.prices + 1e-6 * first.prices
        # At these prices the worst cost still has a range; its low end randomises the fewest states.
        weights = np.zeros(len(first.prices))
        weights[costs] = first.prices[costs]
        worst = first.objective * (1 + 2 * _TIE_BREAK_SLACK)
        limits = risks + [Limit(channel, worst, scale) for channel in costs]
        strategy = _recover(problem, oracle, prices, limits, weights, worst)
        if strategy is None:
            # A limit of 1e-9 hardly lowers the worst case; the strategy of least mean cost may do.
            mean_problem = replace(problem, criterion="minimixed")
            mixed = _mean_cost(mean_problem, cuts, share, may_mix=may_mix)
            if mixed is not None and evaluate(mixed[0]).expected_votes.max() <= worst:
                strategy = mixed[0]
        if strategy is None and may_mix:
            strategy = _mix(problem, oracle, second.mixture, careful)
        if strategy is None:
            return None
        worst_n = int(np.argmax(evaluate(strategy).expected_votes))
        if worst_n in cost_at:
            bound = _bound(oracle, first, share)
            return strategy, bound, _multipliers(problem, oracle, first.prices, cost_at)
        cost_at = sorted([*cost_at, worst_n])


def _costs_of(oracle: Oracle, mixture: Known) -> FloatArray:
    """Return the expected votes of a mixture for every n."""
    costs = [
        weight * evaluate(oracle.policy(prices, 0.0).strategy()).expected_votes
        for weight, prices in mixture.recipe
    ]
    return np.asarray(np.sum(costs, axis=0))


def _used_up(oracle: Oracle, evaluation: Evaluation) -> float:
    """Return the largest share of a limit that a strategy uses."""
    risks = [
        cut.weights @ (cut.budget.values * evaluation.disagreement) / cut.budget.limit for cut in oracle.cuts
    ]
    return float(max(risks))


def _recover(
    problem: Problem,
    oracle: Oracle,
    prices: FloatArray,
    limits: list[Limit],
    objective: FloatArray,
    most: float,
) -> StoppingStrategy | None:
    """Return a strategy at the prices that keeps the limits despite rounding and costs at most ``most``."""
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
            evaluation = evaluate(strategy)
            if problem.cost(evaluation) > most * (1 + 3e-10):
                break
            used = _used_up(oracle, evaluation)
            if used <= 1 - rounding:
                return strategy
            scale *= (1 - 2 * rounding) / used
    return _at_higher_prices(problem, oracle, prices, most)


def _at_higher_prices(
    problem: Problem, oracle: Oracle, prices: FloatArray, most: float
) -> StoppingStrategy | None:
    """Return a deterministic strategy within the limits that costs at most ``most``, up to 1e-9.

    Such a strategy exists if using the whole limit saves less than the rounding error: then the right prices
    cannot be distinguished from slightly higher ones.
    """
    highest = 2.0 * problem.n_voters / oracle.limits
    low, high = 0.0, np.log(10.0)
    best = None
    for _ in range(24):
        middle = (low + high) / 2
        tried = prices.copy()
        tried[oracle.risk_channels] = np.minimum(tried[oracle.risk_channels] * np.exp(middle), highest)
        strategy = oracle.policy(tried, 0.0).strategy()
        evaluation = evaluate(strategy)
        if _used_up(oracle, evaluation) > 1 - problem.n_voters * _EPSILON:
            low = middle
            continue
        high = middle
        if problem.cost(evaluation) <= most * (1 + 1e-9):
            best = strategy
    return best


def _mix(problem: Problem, oracle: Oracle, mixture: Known, careful: Known) -> StoppingStrategy | None:
    """Return the optimal mixture, state by state, with as much of the careful strategy as is needed."""
    if problem.n_voters > _MIX_UP_TO:
        return None
    parts = [(weight, oracle.policy(prices, 0.0).strategy()) for weight, prices in mixture.recipe]
    safe = oracle.policy(careful.recipe[0][1], 0.0).strategy()
    for share in (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-3, 1.0):
        rest = [(weight * (1 - share), strategy) for weight, strategy in parts if weight * (1 - share) > 0]
        strategy = mix_strategies([*rest, (share, safe)] if share else rest, safe)
        if _used_up(oracle, evaluate(strategy)) <= 1 - problem.n_voters * _EPSILON:
            return strategy
    return None


def _multipliers(
    problem: Problem, oracle: Oracle, prices: FloatArray, cost_at: Sequence[int] = ()
) -> Multipliers:
    cost = tuple(zip(cost_at, prices[oracle.cost_channels].tolist(), strict=True))
    risk = prices[oracle.risk_channels]
    if problem.budgets[0].is_over_the_votes:
        return Multipliers(mean_disagreement=float(risk.sum()), cost_at=cost)
    weights = sum((price * cut.weights for price, cut in zip(risk, oracle.cuts, strict=True)), np.zeros(1))
    at = [(n, float(weight)) for n, weight in enumerate(np.broadcast_to(weights, problem.n_voters + 1))]
    return Multipliers(disagreement_at=tuple(pair for pair in at if pair[1] > 0), cost_at=cost)
