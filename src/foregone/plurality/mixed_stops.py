"""Mixing strategies: one that behaves as if another were drawn at random before the first vote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foregone.checks import FloatArray
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["mix_stops"]


def mix_stops(lattice: Lattice, parts: Sequence[tuple[float, FloatArray]]) -> PluralityStrategy:
    """Return the strategy whose flow is the weighted sum of the flows of others.

    Votes asked and disagreement of the mixture are the weighted means of theirs, for every full vote.

    Parameters
    ----------
    lattice : Lattice
        The states.
    parts : sequence of (weight, stop probabilities)
        The weights are positive; their sum is taken for one. What no part reaches is left to the first.
    """
    total = sum(weight for weight, _ in parts)
    reached, stopped = np.zeros((2, lattice.n_states))
    for weight, stop in parts:
        flow = lattice.push_reach(stop)
        reached += (weight / total) * flow
        stopped += (weight / total) * flow * stop
    theta = parts[0][1].copy()
    # Where all parts do the same, so does the mixture, without rounding.
    differ = np.zeros(lattice.n_states, np.bool_)
    for _, stop in parts[1:]:
        differ |= stop != parts[0][1]
    some = differ & (reached > 0)
    theta[some] = np.minimum(stopped[some] / reached[some], 1.0)
    return PluralityStrategy.from_probabilities(lattice, theta)
