"""The ladder: strategies from careful to bold, tested in this order on rows they were not learned from.

Any number of rungs can be tested at the full confidence, because the climb ends at the first failure. Proof:
docs/theory.md, "Certifying what is used".
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
    """The result of a climb.

    Attributes
    ----------
    rung : object or None
        The last rung before the first failure; None if the first rung fails.
    judged : tuple of Judged
        The test results of this rung, for each part.
    failed : tuple of Judged
        The test results of the first rung that fails; empty if all pass.
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
    """Return the last rung before the first failure.

    With a probability of at least ``confidence`` over the sample of rows, whatever their distribution, the
    mean loss of the returned rung is within the limit of every part.

    Parameters
    ----------
    rungs : iterable
        Their order and content must not depend on the rows.
    losses : callable
        ``losses(rung)`` runs the rung exactly as in use and returns the loss of each row: whether its answer
        is wrong, or a number from 0 to 1.
    parts : Parts
        The limits, and the rows that each applies to.
    confidence : float
        Strictly between 0 and 1.
    most : callable, optional
        ``most(rung)`` returns the largest possible loss of any row, if it is known to be less than 1. A rung
        whose largest loss is within the limit needs no rows.

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
