"""What to answer at a stop: per step, from how many yes votes on the answer is yes."""

from __future__ import annotations

import numpy as np

from foregone._kernels import answers
from foregone._kernels.pieces import pieces
from foregone.checks import IntArray
from foregone.solving.budget import is_yes
from foregone.votes import VoteDistribution

__all__ = ["likeliest_answers", "majority_answers"]


def majority_answers(n_voters: int) -> IntArray:
    """Answer the majority of the votes seen; a tie is "no".

    Examples
    --------
    >>> majority_answers(4)
    array([1, 1, 2, 2, 3])
    """
    return np.arange(n_voters + 1) // 2 + 1


def likeliest_answers(votes: VoteDistribution) -> IntArray:
    """Answer what the full vote most likely is, given the votes seen; a tie is "no".

    The more of the votes seen are yes, the likelier the full vote is yes, so there is one threshold a step.
    Votes that the distribution rules out are answered by their majority, or as near to it as a threshold can.

    Examples
    --------
    >>> likeliest_answers(VoteDistribution.flat(4))
    array([1, 1, 2, 2, 3])
    >>> likeliest_answers(VoteDistribution.from_counts([1, 1, 1, 1, 9]))
    array([0, 1, 2, 2, 3])
    """
    yes = is_yes(votes.n_voters)
    thresholds = majority_answers(votes.n_voters)
    weights = np.where(yes, 0.0, votes.probabilities), np.where(yes, votes.probabilities, 0.0)
    for rows in reversed(pieces(votes.n_voters, 2 * votes.n_voters)):
        answers.likeliest(*rows, *weights, thresholds)
    return thresholds
