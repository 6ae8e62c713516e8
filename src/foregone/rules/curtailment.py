"""Curtailment: stop when the rest cannot change the answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foregone.checks import check_n_voters
from foregone.strategy import StoppingStrategy

__all__ = ["curtailment", "is_decided"]


def curtailment(n_voters: int) -> StoppingStrategy:
    """Stop as soon as the voters not yet asked cannot change the answer.

    The oldest rule of all, used wherever ballots are counted one by one: a majority of all voters has said
    yes, or at least half of them has said no (a tie of the full vote is "no"). It never disagrees with the
    full vote, and no rule that never disagrees asks fewer votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.

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
    """
    n_voters = check_n_voters(n_voters)
    return StoppingStrategy.from_rows(n_voters, lambda asked: is_decided(n_voters, asked))


def is_decided(n_voters: int, asked: int) -> npt.NDArray[np.bool_]:
    """Return, for 0 to ``asked`` yes votes, whether the rest cannot change the answer."""
    yes = np.arange(asked + 1)
    decided: npt.NDArray[np.bool_] = (2 * yes > n_voters) | (2 * (asked - yes) >= n_voters)
    return decided
