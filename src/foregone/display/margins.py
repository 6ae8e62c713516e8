"""How close a full vote can be: a few sizes of the majority to show figures for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["SHARES", "majorities"]

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # how far from the closest majority to all voters


def majorities(n_voters: int, shares: Iterable[float] = SHARES, also: Iterable[int] = ()) -> list[int]:
    """Return sizes of a majority, from the closest (half, for a tie) to all voters; each only once.

    Examples
    --------
    >>> majorities(101)
    [51, 52, 54, 56, 61, 76, 101]
    """
    closest = n_voters - n_voters // 2
    return sorted({*(closest + int(np.ceil(share * (n_voters - closest))) for share in shares), *also})
