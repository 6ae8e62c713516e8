"""Curtailment: stop when the remaining voters cannot change the answer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from foregone.checks import check_looks, check_n_voters
from foregone.strategy import StoppingStrategy
from foregone.strategy.thresholds import always_stop, answers_for, check_quota

__all__ = ["curtailment", "is_decided"]


def curtailment(
    n_voters: int, *, looks: int | Iterable[int] | None = None, quota: int | None = None
) -> StoppingStrategy:
    """Stop as soon as the remaining voters cannot change the answer.

    It stops once a majority of all voters has said yes, or at least half of them have said no (a tied full
    vote is "no"). It never disagrees with the full vote, and no other rule with that property asks fewer
    voters.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    looks : int or iterable of int, optional
        Stop only after multiples of this number of votes, or only after these numbers of votes (and when all
        voters were asked).
    quota : int, optional
        Smallest number of yes votes for which the full vote is yes, from 0 to ``n_voters``; by default a
        majority.

    Returns
    -------
    StoppingStrategy
        Deterministic.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> figures = evaluate(curtailment(101)).mean(VoteDistribution.flat(101))
    >>> round(figures.expected_votes, 1), figures.disagreement
    (70.2, 0.0)

    One yes is enough, or all must agree:

    >>> [curtailment(5, quota=quota).answer(asked=1, yes=1) for quota in (1, 5)]
    [True, True]
    >>> [curtailment(5, quota=quota).stop_probability(asked=1, yes=1) for quota in (1, 5)]
    [1.0, 0.0]
    """
    n_voters = check_n_voters(n_voters)
    quota = check_quota(quota, n_voters)
    asked = np.arange(n_voters + 1)
    lower, upper = np.maximum(asked - (n_voters - quota + 1), -1), np.minimum(quota - 1, asked) + 1
    lower, upper = np.where(lower < upper, (lower, upper), always_stop(n_voters))
    given = check_looks(looks, n_voters)
    if given is not None:
        between = np.setdiff1d(asked[:-1], given)
        lower[between], upper[between] = -1, between + 1
    return StoppingStrategy.from_thresholds(lower, upper, yes_from=answers_for(n_voters, quota))


def is_decided(n_voters: int, asked: int) -> npt.NDArray[np.bool_]:
    """Return, for 0 to ``asked`` yes votes, whether the remaining voters cannot change the answer."""
    yes = np.arange(asked + 1)
    decided: npt.NDArray[np.bool_] = (2 * yes > n_voters) | (2 * (asked - yes) >= n_voters)
    return decided
