"""Recover a strategy that keeps the limits from prices, with as few randomised states as possible.

At the right prices some states are ties: stopping and continuing cost the same. Optimal strategies differ
only there. A small linear program determines how much flow to stop in each tie; one of its vertices
randomises at most as many states as there are limits. If this fails, the strategies found with the prices
are mixed, as if one of them were drawn at random before the first vote.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foregone.checks import FloatArray
from foregone.solving.column_generation import Limit
from foregone.solving.oracle import Oracle, Policy
from foregone.solving.small_simplex import SmallSimplex
from foregone.strategy import StoppingStrategy

__all__ = ["mix_strategies", "recover_strategy"]

_MOST_TIES = 200
_TOO_MUCH = 1e3  # cost, as a share of all voters, of exceeding a limit by 100 %


def recover_strategy(
    oracle: Oracle, prices: FloatArray, limits: Sequence[Limit], objective: FloatArray, tolerance: float
) -> StoppingStrategy | None:
    """Return the strategy of least ``objective @ channels`` among those that differ only in ties.

    None if the limits cannot be kept this way, or there are too many ties.
    """
    policy = oracle.policy(prices, tolerance)
    if len(policy.ties) > _MOST_TIES:
        return None
    arriving = policy.reach()
    onward = np.array([policy.reach((i, j)) for i, j in policy.ties.tolist()]).reshape(
        len(arriving), len(arriving)
    )
    stopped = _stopped_flow(policy, limits, arriving, onward, objective / (len(oracle.low) - 1))
    if stopped is None:
        return None
    probability = np.zeros(len(arriving))
    arrived = arriving.copy()
    for tie in range(len(arriving)):
        if arrived[tie] > 1e-300:
            probability[tie] = min(1.0, stopped[tie] / arrived[tie])
            if probability[tie] > 1 - 1e-13:
                probability[tie] = 1.0
        # Flow that stops here does not arrive later.
        arrived -= probability[tie] * arrived[tie] * onward[tie]
        arrived = np.maximum(arrived, 0.0)
    return policy.strategy(probability)


def _stopped_flow(
    policy: Policy, limits: Sequence[Limit], arriving: FloatArray, onward: FloatArray, objective: FloatArray
) -> FloatArray | None:
    """Return the flow to stop in each tie, as a vertex of the small linear program."""
    n_ties = len(arriving)
    gain = policy.tie_stop - policy.tie_go_on  # per unit of flow stopped instead of continued
    reachable = np.flatnonzero(arriving > 0)
    room = [(limit.limit - policy.values[limit.channel]) / limit.scale for limit in limits]
    # One row per limit, in units of its scale; one row per tie: flow stopped here or before is at most the
    # flow that arrives.
    sign = [1.0 if space >= 0 else -1.0 for space in room]
    program = SmallSimplex([abs(space) for space in room] + [1.0] * len(reachable))
    for place, tie in enumerate(reachable):
        rows = [
            s * gain[tie, limit.channel] * arriving[tie] / limit.scale
            for s, limit in zip(sign, limits, strict=True)
        ]
        flow = onward[tie, reachable] * arriving[tie] / arriving[reachable]
        flow[place] += 1.0
        program.add([*rows, *flow], float(gain[tie] @ objective) * arriving[tie])
    n_rows = len(limits) + len(reachable)
    for row in range(n_rows):
        slack = np.zeros(n_rows)
        slack[row] = sign[row] if row < len(limits) else 1.0
        program.basis.append(program.add(slack, 0.0))
    for row in range(len(limits)):
        excess = np.zeros(n_rows)
        excess[row] = -sign[row]
        number = program.add(excess, _TOO_MUCH)
        if sign[row] < 0:
            program.basis[row] = number
    program.optimise()
    solution = program.solution()
    if solution[len(reachable) + n_rows :].max(initial=0.0) > 1e-14:
        return None
    stopped = np.zeros(n_ties)
    stopped[reachable] = solution[: len(reachable)] * arriving[reachable]
    return stopped


def mix_strategies(
    parts: Sequence[tuple[float, StoppingStrategy]], unreached: StoppingStrategy
) -> StoppingStrategy:
    """Return the mixture of strategies: its flow is the weighted sum of their flows.

    Its cost and risk are the weighted means of theirs. It may randomise many states.

    Parameters
    ----------
    parts : sequence of (weight, strategy)
        The weights are positive and are normalised to sum to one.
    unreached : StoppingStrategy
        The strategy for states that no part reaches.
    """
    n_voters = unreached.n_voters
    theta = unreached.table()
    total = sum(weight for weight, _ in parts)
    reach = [np.array([weight / total]) for weight, _ in parts]  # per part: weight times p(i, j), j = 0..i
    for i in range(n_voters):
        stops = [strategy.stop_probabilities(i) for _, strategy in parts]
        reached: FloatArray = np.sum(reach, axis=0)
        stopped: FloatArray = np.sum([p * stop for p, stop in zip(reach, stops, strict=True)], axis=0)
        some = reached > 0
        theta[i, : i + 1][some] = np.minimum(stopped[some] / reached[some], 1.0)
        down, up = (i + 1 - np.arange(i + 2)) / (i + 1), np.arange(i + 2) / (i + 1)
        going = [p * (1 - stop) for p, stop in zip(reach, stops, strict=True)]
        reach = [down * np.append(q, 0.0) + up * np.append(0.0, q) for q in going]
    return StoppingStrategy.from_table(theta, yes_from=unreached.yes_from)
