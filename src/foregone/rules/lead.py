"""Lead: stop when one answer is ahead by a fixed number of votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.checks import check_n_voters, check_whole
from foregone.rules.curtailment import is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["lead"]


def lead(n_voters: int, k: int = 3) -> StoppingStrategy:
    """Stop when one answer is ahead by ``k`` votes, or the remaining voters cannot change the answer.

    A constant lead is Wald's sequential probability ratio test of "a share p of the voters says yes" against
    "a share 1 - p says yes", and is equivalent to voting schemes for language models such as ConSol at their
    default settings (k = 3). It depends neither on the number of voters nor on a limit, and has no guarantee:
    with k = 3 and at least a hundred voters, it is wrong on nearly half of evenly split votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 3
        The lead to stop at, at least 1. Above ``n_voters`` it is never reached, which leaves `curtailment`.

    Returns
    -------
    StoppingStrategy
        Deterministic.

    Examples
    --------
    >>> strategy = lead(101)
    >>> strategy.stop_probability(asked=5, yes=4), strategy.stop_probability(asked=5, yes=3)
    (1.0, 0.0)
    """
    n_voters, k = check_n_voters(n_voters), check_whole(k, "k")

    def row(asked: int) -> Any:
        ahead = np.abs(2 * np.arange(asked + 1) - asked)
        return (ahead >= k) | is_decided(n_voters, asked)

    return StoppingStrategy.from_rows(n_voters, row)
