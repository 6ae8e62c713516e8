"""Where the outcome of a vote among many answers cannot change any more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foregone.plurality.lattice import Lattice

__all__ = ["is_decided"]


def is_decided(lattice: Lattice) -> npt.NDArray[np.bool_]:
    """Return, for every state, whether the leader will be among the leaders whatever the others say.

    That is when no other answer can overtake it, not even by all the votes to come, or when there is no
    other. Once decided, always decided.
    """
    top, second = lattice.top_two()
    decided: npt.NDArray[np.bool_] = top - second >= lattice.n_voters - lattice.votes_so_far()
    if lattice.n_classes == 1:
        decided[:] = True
    decided[0] = False
    return decided
