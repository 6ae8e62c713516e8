"""The strategy that stops only when the outcome cannot change any more."""

from __future__ import annotations

import numpy as np

from foregone.plurality.lattice import Lattice
from foregone.plurality.strategy import PluralityStrategy

__all__ = ["never_wrong"]


def never_wrong(lattice: Lattice) -> PluralityStrategy:
    """Stop when the leader will be among the leaders in the end, whatever the other voters say.

    That is when no other answer can overtake it, not even by all the votes to come.
    """
    first = lattice.edge_start[:-1].copy()
    some = np.diff(lattice.edge_start) > 0
    top, second = np.zeros((2, lattice.n_states), np.int64)
    top[some] = lattice.value[first[some]]
    repeated = some.copy()
    repeated[some] = lattice.times[first[some]] > 1
    second[repeated] = top[repeated]
    others = some & ~repeated & (np.diff(lattice.edge_start) > 1)
    second[others] = lattice.value[first[others] + 1]
    to_come = lattice.n_voters - np.repeat(np.arange(lattice.n_voters + 1), np.diff(lattice.level))
    stop = (top - second >= to_come) & some
    return PluralityStrategy.from_probabilities(lattice, stop)
