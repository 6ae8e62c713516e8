"""IBEP: stop when the full vote is nearly certain, if all numbers of yes votes are equally likely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_max_disagreement, check_n_voters
from foregone.rules._draws import marked_drawn
from foregone.rules.curtailment import curtailment, is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["full_vote_chances", "ibep"]


def ibep(n_voters: int, max_disagreement: float) -> StoppingStrategy:
    """Stop when the full vote is one answer with probability at least ``1 - max_disagreement``.

    Instance-based ensemble pruning, from Hernandez-Lobato, Martinez-Munoz and Suarez, "Statistical
    instance-based pruning in ensembles of independent classifiers" (IEEE TPAMI, 2009). It is the posterior
    probability if all numbers of yes votes are equally likely beforehand: the remaining yes votes are then
    beta-binomial.

    If the number of yes votes really is uniform, the mean disagreement is at most ``max_disagreement``,
    because this holds at every stop; risk left over at one stop is not used at others (the minimean optimum
    does that). There is no guarantee for other distributions, and near an even split it disagrees many times
    more often than ``max_disagreement``.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        From 0 (which is `curtailment`) to 1; from one half it stops before the first vote.

    Returns
    -------
    StoppingStrategy
        Deterministic. Decided votes have probability 1, so it stops there without a separate condition.

    Notes
    -----
    The tails are hypergeometric. If m is the largest number of yes votes for which the full vote is "no",
    P(full vote yes | asked, yes) = P(at most ``yes`` marked among ``asked + 1`` drawn from ``n_voters + 1``
    of which ``m + 1`` are marked). It is Schwing's probability for a finite number of voters.
    A state whose probability differs from the limit only by rounding may fall on either side of it.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> evaluation = evaluate(ibep(101, 0.05))
    >>> mean = evaluation.mean(VoteDistribution.flat(101))
    >>> round(mean.expected_votes, 1), round(mean.disagreement, 3)
    (16.0, 0.034)
    >>> round(evaluation.worst().disagreement, 3)
    0.309
    """
    n_voters, limit = check_n_voters(n_voters), check_max_disagreement(max_disagreement)
    if limit == 0:
        return curtailment(n_voters)  # equal, but without probabilities that underflow to zero
    rows = _stop_rows(n_voters, limit)
    return StoppingStrategy.from_rows(n_voters, lambda asked: next(rows))


def _stop_rows(n_voters: int, limit: float) -> Iterator[npt.NDArray[np.bool_]]:
    for asked, (full_yes, full_no) in enumerate(full_vote_chances(n_voters)):
        unlikelier = np.minimum(np.minimum(full_yes, full_no), 0.5)  # a tie may round above one half
        yield (unlikelier <= limit) | is_decided(n_voters, asked)


def full_vote_chances(n_voters: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield per step, for 0 to ``asked`` yes votes, the probabilities that the full vote is yes and no.

    They assume that all numbers of yes votes from 0 to ``n_voters`` are equally likely. Each is computed as a
    separate sum, not as one minus the other, so that small values are accurate too.
    """
    rows = marked_drawn(n_voters + 1, n_voters // 2 + 1)
    next(rows)
    for _, row in zip(range(n_voters), rows, strict=False):
        yield np.cumsum(row)[:-1], np.cumsum(row[::-1])[-2::-1]
