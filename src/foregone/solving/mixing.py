"""Mixing strategies: one that behaves as if another were drawn at random before the first vote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foregone.checks import FloatArray
from foregone.strategy import StoppingStrategy

__all__ = ["mix_strategies"]


def mix_strategies(
    parts: Sequence[tuple[float, StoppingStrategy]], unreached: StoppingStrategy
) -> StoppingStrategy:
    """Return the strategy whose flow is the weighted sum of the flows of others.

    Cost and risk of the mixture are the weighted means of theirs. It may randomise many states.

    Parameters
    ----------
    parts : sequence of (weight, strategy)
        The weights are positive; their sum is taken for one.
    unreached : StoppingStrategy
        What to do in states that no part reaches.
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
