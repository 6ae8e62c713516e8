"""Adaptive-Consistency: stop when the leading answer is very probably the more likely one."""

from __future__ import annotations

import math

from foregone.checks import check_n_voters, check_share
from foregone.rules.curtailment import curtailment
from foregone.rules.schwing import schwing
from foregone.strategy import StoppingStrategy

__all__ = ["adaptive_consistency"]


def adaptive_consistency(n_voters: int, threshold: float = 0.95) -> StoppingStrategy:
    """Stop when the leading answer is the more likely one with probability at least ``threshold``.

    The Beta rule of Aggarwal, Madaan, Yang and Mausam, "Let's sample step by step: adaptive-consistency for
    efficient reasoning and coding with LLMs" (EMNLP 2023), for two answers. It is the posterior probability,
    with a uniform prior, that the share of voters who give the leading answer is above one half. It equals
    `schwing` with a limit of ``1 - threshold``, except that a probability equal to the threshold also stops.

    There is no guarantee: the threshold does not bound the disagreement.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    threshold : float, default 0.95
        From 0, which stops before the first vote, to 1, which is `curtailment`.

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the remaining voters cannot change the answer.

    Examples
    --------
    >>> strategy = adaptive_consistency(39)
    >>> strategy.stop_probability(asked=4, yes=4), strategy.stop_probability(asked=3, yes=3)
    (1.0, 0.0)
    """
    n_voters, sure = check_n_voters(n_voters), check_share(threshold, "threshold")
    if sure == 1:
        return curtailment(n_voters)
    return schwing(n_voters, min(math.nextafter(1 - sure, 1), 1.0))
