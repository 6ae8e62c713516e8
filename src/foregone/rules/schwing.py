"""Schwing's rule: stop when a majority of an infinite population of voters is nearly certain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foregone.checks import check_max_disagreement, check_n_voters
from foregone.rules._draws import coin_tails
from foregone.rules.curtailment import is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["schwing"]


def schwing(n_voters: int, max_disagreement: float) -> StoppingStrategy:
    """Stop when a voter's probability of yes is almost certainly on one side of one half.

    From Schwing, Zach, Zheng and Pollefeys, "Adaptive random forest: how many experts to ask before making a
    decision?" (CVPR 2011, section 3.1). For two answers, Adaptive-Consistency's Beta rule for language models
    is the same. Votes are treated as independent tosses of a coin with a uniform prior on its bias. The rule
    stops when the posterior probability that the bias is above (or below) one half is less than
    ``max_disagreement``. This equals the probability of at most ``yes`` (or at most ``asked - yes``) heads in
    ``asked + 1`` tosses of a fair coin, which is computed accurately for any number of votes.

    It does not depend on ``n_voters`` (except for the stop at decided votes) and has no guarantee: it tests
    after every vote without correcting for repeated tests, so near an even split it disagrees with the full
    vote several times more often than ``max_disagreement``.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        From 0 (which is `curtailment`) to 1; above one half it stops before the first vote.

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the remaining voters cannot change the answer.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> evaluation = evaluate(schwing(101, 0.05))
    >>> round(evaluation.mean(VoteDistribution.flat(101)).expected_votes, 1)
    19.8
    >>> round(evaluation.worst().disagreement, 3)
    0.173
    """
    n_voters, limit = check_n_voters(n_voters), check_max_disagreement(max_disagreement)
    rows = _stop_rows(n_voters, limit)
    return StoppingStrategy.from_rows(n_voters, lambda asked: next(rows))


def _stop_rows(n_voters: int, limit: float) -> Iterator[npt.NDArray[np.bool_]]:
    for asked, at_most in zip(range(n_voters), coin_tails(), strict=False):
        above_half = at_most[:-1]  # the probability of a bias above one half; reversed for below
        yield (np.minimum(above_half, above_half[::-1]) < limit) | is_decided(n_voters, asked)
