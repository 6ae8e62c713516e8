"""evaluate(strategy): what a strategy costs and risks, exactly, for every possible vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foregone._kernels import flow
from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.votes import FloatArray, VoteDistribution

__all__ = ["Evaluation", "Figures", "evaluate"]


class Figures(NamedTuple):
    """Expected number of votes asked, and probability to disagree with the full vote."""

    expected_votes: float
    disagreement: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a strategy does when n of the voters would say yes, for every n from 0 to ``n_voters``.

    Attributes
    ----------
    strategy : StoppingStrategy
        What was evaluated.
    expected_votes : ndarray of shape (n_voters + 1,)
        ``expected_votes[n]``: mean number of votes asked.
    disagreement : ndarray of shape (n_voters + 1,)
        ``disagreement[n]``: probability to answer otherwise than the full vote. It never rises as n moves
        away from the middle on either side.
    """

    strategy: StoppingStrategy
    expected_votes: FloatArray
    disagreement: FloatArray

    def mean(self, votes: VoteDistribution) -> Figures:
        """Return the figures averaged over a distribution of n."""
        weights = _weights(votes, self.strategy)
        return Figures(float(weights @ self.expected_votes), float(weights @ self.disagreement))

    def worst(self) -> Figures:
        """Return the largest expected votes and the largest disagreement over n (not at the same n)."""
        return Figures(float(self.expected_votes.max()), float(self.disagreement.max()))

    def votes_asked(self, votes: VoteDistribution) -> FloatArray:
        """Return the distribution of the number of votes asked.

        Parameters
        ----------
        votes : VoteDistribution
            Distribution of n; a point mass for one particular n.

        Returns
        -------
        ndarray of shape (n_voters + 1,)
            Entry i is the probability that exactly i votes are asked; the entries sum to one.
        """
        weights = _weights(votes, self.strategy)
        arrays = self.strategy.kernel_arrays
        lower, upper = arrays[:2]
        offset = np.concatenate([[0], np.cumsum(upper - lower - 1)])
        go_on = np.zeros(offset[-1])
        flow.go_on_probabilities(*arrays, offset, go_on)
        later = np.zeros(self.strategy.n_voters + 1)  # later[i]: probability that more than i are asked
        flow.survival(lower, upper, offset, go_on, np.append(weights, 0.0), later)
        asked: FloatArray = np.concatenate([[1.0], later[:-1]]) - later
        return np.maximum(asked, 0.0)  # a difference of equal numbers may round below zero


def _weights(votes: VoteDistribution, strategy: StoppingStrategy) -> FloatArray:
    if votes.n_voters != strategy.n_voters:
        raise InvalidInputError(
            f"the votes are for {votes.n_voters} voters, the strategy for {strategy.n_voters}: use equal ones"
        )
    return votes.probabilities


def evaluate(strategy: StoppingStrategy) -> Evaluation:
    """Return the exact cost and risk of ``strategy`` for every number of yes votes.

    Takes time proportional to ``n_voters`` squared for all of them together, and memory proportional to
    ``n_voters``. Sums of non-negative terms only: accurate to about ``n_voters`` roundings, however small
    the disagreement.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate, solve
    >>> solution = solve("minimean", 101, 1e-3)
    >>> evaluation = evaluate(solution.strategy)
    >>> round(evaluation.mean(VoteDistribution.flat(101)).expected_votes, 3)
    34.494
    """
    n_voters = strategy.n_voters
    cost, said_yes, said_no = np.zeros((3, n_voters + 1))
    flow.evaluate_all(*strategy.kernel_arrays, cost, said_yes, said_no)
    full_vote_is_yes = 2 * np.arange(n_voters + 1) > n_voters
    disagreement = np.where(full_vote_is_yes, said_no, said_yes)
    for array, most in ((cost, n_voters), (disagreement, 1)):
        np.minimum(array, most, out=array)  # rounding may put it a hair above
    for array in (cost, disagreement):
        array.setflags(write=False)
    return Evaluation(strategy, cost, disagreement)
