"""The shape of optimal strategies that the paper reports, checked state by state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foregone import StoppingStrategy, solve
from paper.results import CRITERIA, RATES, Criterion, Structure

__all__ = ["GRID", "describe", "from_fields", "structures_of"]

GRID = tuple(range(11, 122))  # the numbers of voters for which the paper computed strategies


def describe(
    strategy: StoppingStrategy, criterion: str = "", max_disagreement: float = float("nan")
) -> Structure:
    """Walk through the states that ``strategy`` can reach and say what shape its stops have.

    Examples
    --------
    >>> shape = describe(solve("minimixed", 101, 0.1).strategy)
    >>> shape.first_stop, shape.n_randomised, shape.has_thresholds, shape.is_symmetric
    (4, 2, True, True)
    """
    first_stop = strategy.n_voters
    randomised: list[tuple[int, int]] = []
    has_thresholds = is_symmetric = True
    reachable = np.ones(1, dtype=bool)  # reachable[yes], after as many votes as there are entries but one
    for asked in range(strategy.n_voters + 1):
        stop = strategy.stop_probabilities(asked)
        stopping = reachable & (stop > 0)
        if stopping.any():
            first_stop = min(first_stop, asked)
        randomised += [(asked, int(yes)) for yes in np.flatnonzero(stopping & (stop < 1))]
        is_symmetric &= bool((reachable == reachable[::-1]).all() and (stop == stop[::-1])[reachable].all())
        band = np.flatnonzero(reachable & (stop == 0))
        if len(band):
            has_thresholds &= not stopping[band[0] : band[-1]].any()
        going_on = reachable & (stop < 1)
        reachable = np.append(going_on, False) | np.append(False, going_on)
        if not reachable.any():
            break
    return Structure(
        criterion=criterion,
        n_voters=strategy.n_voters,
        max_disagreement=max_disagreement,
        first_stop=first_stop,
        n_randomised=len(randomised),
        randomised_asked=tuple(asked for asked, _ in randomised),
        randomised_at_first_stop=all(asked == first_stop and yes in (0, asked) for asked, yes in randomised),
        has_thresholds=has_thresholds,
        is_symmetric=is_symmetric,
    )


def structures_of(
    n_voters: int, rates: Sequence[float] = RATES, criteria: Sequence[Criterion] = CRITERIA
) -> list[Structure]:
    """Solve for flat votes at every rate under every criterion, and describe what comes out."""
    return [
        describe(solve(criterion, n_voters, rate).strategy, criterion, rate)
        for criterion in criteria
        for rate in rates
    ]


def from_fields(fields: dict[str, Any]) -> Structure:
    """Return the structure that ``dataclasses.asdict`` took apart."""
    return Structure(**{**fields, "randomised_asked": tuple(fields["randomised_asked"])})
