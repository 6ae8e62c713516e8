"""Schwing's rule: stop when voters at large are surely of one mind."""

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
    """Stop when it is nearly sure on which side of one half the voters' inclination lies.

    From Schwing, Zach, Zheng and Pollefeys, "Adaptive random forest: how many experts to ask before making a
    decision?" (CVPR 2011, section 3.1); for two answers Adaptive-Consistency's Beta rule for language models
    is the same. The votes are taken for independent tosses of a coin whose inclination is uniform beforehand;
    it stops when the inclination is above (or below) one half with probability less than
    ``max_disagreement``. That probability is the chance of at most ``yes`` (or at most ``asked - yes``) heads
    in ``asked + 1`` tosses of a fair coin, and is computed as such: accurately for any number of votes.

    It knows nothing of ``n_voters`` (only the stop at a decided vote does), and it guarantees nothing: it
    looks after every vote but reckons with one look only, so near an even split it disagrees with the full
    vote several times as often as ``max_disagreement`` says.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        From 0 (which is `curtailment`) to 1; above one half it stops before the first vote.

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the rest cannot change the answer.

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
        above_half = at_most[:-1]  # the chance that the inclination is; exchange yes and no for the contrary
        yield (np.minimum(above_half, above_half[::-1]) < limit) | is_decided(n_voters, asked)
