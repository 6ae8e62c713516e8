"""Hypothesis strategies for votes among many answers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from foregone.plurality import CompositionDistribution, PluralityStrategy, lattice_of

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5) | st.none())


@st.composite
def plurality_strategies(draw: st.DrawFn) -> PluralityStrategy:
    """Any strategy, with sense or without."""
    lattice = lattice_of(*draw(sizes))
    chance = st.sampled_from([0.0, 1.0, 0.5, 0.1, 1e-9, 1 - 2**-53]) | st.floats(0, 1)
    stop = np.array(draw(st.lists(chance, min_size=lattice.n_states, max_size=lattice.n_states)))
    stop[0], stop[lattice.level[-2] :] = 0, 1
    return PluralityStrategy.from_probabilities(lattice, stop)


@st.composite
def composition_distributions(draw: st.DrawFn, n_voters: int, n_classes: int) -> CompositionDistribution:
    """Items with any votes."""
    lattice = lattice_of(n_voters, n_classes)
    rows = draw(st.lists(st.integers(0, lattice.n_compositions - 1), min_size=1, max_size=8))
    return CompositionDistribution.from_counts(lattice.compositions()[rows].astype(int))
