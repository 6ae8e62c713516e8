"""Adaptive-Consistency: stop when the leading answer is the likelier one, nearly surely."""

from __future__ import annotations

import math

from foregone.checks import check_n_voters, check_share
from foregone.rules.curtailment import curtailment
from foregone.rules.schwing import schwing
from foregone.strategy import StoppingStrategy

__all__ = ["adaptive_consistency"]


def adaptive_consistency(n_voters: int, threshold: float = 0.95) -> StoppingStrategy:
    """Stop when the leading answer is the likelier of the two with probability at least ``threshold``.

    The Beta rule of Aggarwal, Madaan, Yang and Mausam, "Let's sample step by step: adaptive-consistency for
    efficient reasoning and coding with LLMs" (EMNLP 2023), for two answers. The probability is that of a
    voter's inclination lying on the leading answer's side of one half, were it uniform beforehand. That is
    `schwing` with a limit of ``1 - threshold``, but for a probability that equals the threshold, which stops.

    As there, nothing is guaranteed: the threshold is no bound on the disagreement.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    threshold : float, default 0.95
        From 0, which stops before the first vote, to 1, which is `curtailment`.

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the rest cannot change the answer.

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
