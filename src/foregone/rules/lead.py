"""Lead: stop when one answer is ahead by a fixed number of votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.checks import check_n_voters, check_whole
from foregone.rules.curtailment import is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["lead"]


def lead(n_voters: int, k: int = 3) -> StoppingStrategy:
    """Stop when one answer is ahead by ``k`` votes, or the rest cannot change the answer.

    A constant lead is what Wald's sequential probability ratio test of "a share p of the voters says yes"
    against "a share 1 - p does" comes to, and what voting schemes for language models such as ConSol amount
    to at their default settings (k = 3). It knows neither how many voters there are nor how often it may be
    wrong, so it guarantees nothing: with k = 3 and a hundred voters or more it errs on an evenly split vote
    almost every other time.

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
