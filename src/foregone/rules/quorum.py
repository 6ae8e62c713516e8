"""Quorum: stop when one answer has a fixed number of votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.checks import check_n_voters, check_whole
from foregone.rules.curtailment import is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["quorum"]


def quorum(n_voters: int, k: int = 5) -> StoppingStrategy:
    """Stop when one answer has ``k`` votes, or the remaining voters cannot change the answer.

    First to k, as used by annotation services and retry loops. The answer is the majority of the first
    ``2 k - 1`` voters, asking only as many of them as needed. It depends neither on the number of voters nor
    on a limit, and has no guarantee.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 5
        The votes to stop at, at least 1. Above half of the voters, the vote is decided first, which leaves
        `curtailment`.

    Returns
    -------
    StoppingStrategy
        Deterministic.

    Examples
    --------
    >>> strategy = quorum(101, k=4)
    >>> strategy.stop_probability(asked=7, yes=4), strategy.stop_probability(asked=6, yes=3)
    (1.0, 0.0)
    """
    n_voters, k = check_n_voters(n_voters), check_whole(k, "k")

    def row(asked: int) -> Any:
        yes = np.arange(asked + 1)
        return (np.maximum(yes, asked - yes) >= k) | is_decided(n_voters, asked)

    return StoppingStrategy.from_rows(n_voters, row)
