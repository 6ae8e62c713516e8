"""Smoothing: what full votes a sample of them suggests beyond those that were seen.

There are far more full votes than observed items. Taken for the truth, a sample leaves most of them out, and
a strategy fitted to it stops where none of the few happens to be wrong. What other items would look like is
guessed by taking away part of the votes of each observed one and drawing them anew from those that are left,
as from Polya's urn: popular answers stay popular, close results move about, new answers turn up.

Only costs depend on such guesses. That a limit is kept with confidence does not.
"""

from __future__ import annotations

from foregone.checks import FloatArray
from foregone.plurality.lattice import Lattice
from foregone.plurality.possible import NestedSets

__all__ = ["likely", "pessimistic"]

_NEWNESS = 1.0  # weight of an answer nobody gave, in votes
_FLAT = 0.1  # weight of what was not even guessed


def likely(lattice: Lattice, observed: FloatArray) -> FloatArray:
    """Return a guess at the distribution of the full votes: a quarter of the votes is drawn anew."""
    return lattice.redraw(observed, lattice.n_voters // 4, _NEWNESS)


def pessimistic(lattice: Lattice, observed: FloatArray, possible: NestedSets) -> FloatArray:
    """Return a guess at the worst of the possible distributions, which leaves no full vote out.

    Half of the votes are drawn anew; the amounts follow the bounds.
    """
    guess = lattice.redraw(observed, lattice.n_voters // 2, _NEWNESS)
    return possible.spread(guess + _FLAT / lattice.n_compositions)
