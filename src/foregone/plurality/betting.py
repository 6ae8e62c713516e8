"""Certifying many answers by bets: a ladder of strategies learned on some items, tried on the others.

What an item loses is the exact probability, over random orders of the voters, that a strategy answers it
otherwise than the full vote. The proof is in docs/theory.md, "Many answers".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.plurality.compositions import likely
from foregone.plurality.known_distribution import solve_nearly
from foregone.plurality.lattice import Lattice, is_decided
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["ladder"]

BOLDNESS = np.geomspace(0.1, 30, 16)  # limits that are solved for, as shares of the one to be kept
NEXT_TO_ZERO = 1e-14  # limits up to it are not solved for


def ladder(
    lattice: Lattice, observed: FloatArray, limit: float, boldness: npt.ArrayLike = BOLDNESS
) -> Iterator[PluralityStrategy]:
    """Yield strategies from careful to bold, learned from the full votes of some items.

    First what is never wrong; then the optimal strategies for shares of the limit, if all items were like a
    smoothed distribution of those observed.

    Parameters
    ----------
    lattice : Lattice
        The states.
    observed : ndarray of shape (n_compositions,)
        How the full votes of the items are distributed.
    limit : float
        The largest mean disagreement that is to be kept, from 0 to 1.
    boldness : array-like of float, rising
        The shares of it that are solved for; by default from a tenth of it to thirty times as much.
    """
    yield PluralityStrategy.from_probabilities(lattice, is_decided(lattice))
    limits = np.minimum(np.asarray(boldness) * limit, 1.0)
    last = None
    for bolder in solve_nearly(lattice, likely(lattice, observed), limits[limits > NEXT_TO_ZERO].tolist()):
        if bolder == last:
            return  # it asks one voter already
        yield bolder
        last = bolder
