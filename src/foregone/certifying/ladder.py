"""Climbing a ladder: strategies from careful to bold, tried on rows that had no part in making them.

Any number of rungs may be tried at the full confidence, because the first that fails ends the climb. The
proof is in docs/theory.md, "Certifying what is used".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from foregone.certifying.parts import Judged, Parts
from foregone.checks import BoolArray, FloatArray

__all__ = ["Climb", "climb"]

Rung = TypeVar("Rung")


@dataclass(frozen=True, eq=False)
class Climb(Generic[Rung]):
    """How far it went.

    Attributes
    ----------
    rung : object or None
        The boldest that keeps its limits; None if not even the first does.
    judged : tuple of Judged
        What the rows say about it, part by part.
    failed : tuple of Judged
        What they say about the first that does not keep them; empty if all do.
    """

    rung: Rung | None
    judged: tuple[Judged, ...]
    failed: tuple[Judged, ...]


def climb(
    rungs: Iterable[Rung],
    losses: Callable[[Rung], BoolArray | FloatArray],
    parts: Parts,
    confidence: float,
    most: Callable[[Rung], float] = lambda rung: 1.0,
) -> Climb[Rung]:
    """Return the last rung before the first that fails.

    With a probability of at least ``confidence`` over the draw of the rows, whatever their distribution, the
    mean loss of the rung that is returned is within the limit of every part.

    Parameters
    ----------
    rungs : iterable
        In an order, and made in a way, that does not depend on the rows.
    losses : callable
        ``losses(rung)`` returns the loss of each row, with the rung run exactly as it will be in use: whether
        its answer is wrong, or a number from 0 to 1.
    parts : Parts
        The limits, and which rows they are for.
    confidence : float
        Strictly between 0 and 1.
    most : callable, optional
        ``most(rung)`` returns the largest loss that any row can have, where that is less than 1 and known
        beforehand. A rung for which it is within the limit needs no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from foregone.strategy.limits import Limits
    >>> rows = np.arange(2_000)
    >>> parts = Parts.of(Limits.of(0.01), np.zeros(2_000, np.bool_))
    >>> climb([0, 5, 10, 15, 20], lambda n_wrong: rows < n_wrong, parts, 0.95).rung
    10
    """
    best: Rung | None = None
    kept: tuple[Judged, ...] = ()
    for rung in rungs:
        judged = parts.judge(losses(rung), confidence, most(rung))
        if not all(part.is_kept for part in judged):
            return Climb(best, kept, judged)
        best, kept = rung, judged
    return Climb(best, kept, ())
