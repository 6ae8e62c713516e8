"""Evaluation: the exact cost and risk of a strategy for every number of yes votes."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone._kernels import flow
from foregone._kernels.compiled import pieces
from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.strategy.stopping import StoppingStrategy, check_strategy
from foregone.votes import VoteDistribution, check_votes

__all__ = ["Evaluation", "ExactFigures", "Figures", "FullAnswer", "evaluate"]

FullAnswer = Literal["yes", "no"]


class Figures(NamedTuple):
    """Expected number of votes asked, and probability of disagreement with the full vote."""

    expected_votes: float
    disagreement: float


@dataclass(frozen=True, eq=False, repr=False)
class ExactFigures:
    """The exact cost and risk of a strategy for every full vote, for two answers or many."""

    strategy: Any
    expected_votes: FloatArray
    disagreement: FloatArray

    def worst(self) -> Figures:
        """Return the largest expected votes and the largest disagreement (not for the same full vote)."""
        return Figures(float(self.expected_votes.max()), float(self.disagreement.max()))

    def averaged(self, weights: FloatArray) -> Figures:
        """Return the mean figures, weighted by a probability for each full vote."""
        return Figures(float(weights @ self.expected_votes), float(weights @ self.disagreement))

    def __repr__(self) -> str:
        votes, risk = self.worst()
        return (
            f"<{type(self).__name__} of {self.strategy!r}: at most {votes:.4g} expected votes and "
            f"disagreement {risk:.3g}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ExactFigures):
    """The exact cost and risk of a strategy if n voters say yes, for every n from 0 to ``n_voters``.

    Attributes
    ----------
    strategy : StoppingStrategy
        The evaluated strategy.
    expected_votes : ndarray of shape (n_voters + 1,)
        ``expected_votes[n]``: mean number of votes asked.
    disagreement : ndarray of shape (n_voters + 1,)
        ``disagreement[n]``: probability that the answer differs from the full vote. For a strategy that
        answers the majority, or by the share of its quota, it never rises as n moves away from the quota on
        either side; for others it may.
    """

    strategy: StoppingStrategy

    def mean(self, votes: VoteDistribution) -> Figures:
        """Return the mean figures over a distribution of n."""
        return self.averaged(_weights(votes, self.strategy))

    def by_class(self, votes: VoteDistribution) -> dict[FullAnswer, Figures]:
        """Return the mean figures separately for a full vote of yes and of no.

        A mean over all votes can hide a high disagreement in a rare class. If ``votes`` rule out a class,
        both of its figures are NaN.

        Examples
        --------
        >>> from foregone import VoteDistribution, evaluate, solve
        >>> votes = VoteDistribution.from_counts([800, 80, 20, 10, 40, 50])  # yes is rare
        >>> evaluation = evaluate(solve("minimean", votes, 0.05).strategy)
        >>> round(evaluation.mean(votes).disagreement, 3)
        0.05
        >>> {answer: round(risk, 3) for answer, (_, risk) in evaluation.by_class(votes).items()}
        {'yes': 0.488, 'no': 0.001}
        """
        weights = _weights(votes, self.strategy)
        figures: dict[FullAnswer, Figures] = {}
        for answer, side in self._sides().items():
            share = float(weights[side].sum())
            figures[answer] = Figures(
                float(weights[side] @ self.expected_votes[side]) / share if share else nan,
                float(weights[side] @ self.disagreement[side]) / share if share else nan,
            )
        return figures

    def worst_by_class(self) -> dict[FullAnswer, Figures]:
        """Return the largest figures separately for a full vote of yes and of no."""
        return {
            answer: Figures(
                float(self.expected_votes[side].max(initial=0)), float(self.disagreement[side].max(initial=0))
            )
            for answer, side in self._sides().items()
        }

    def _sides(self) -> dict[FullAnswer, slice]:
        """Return the slice of n with a full vote of yes, and of no."""
        first_yes = self.strategy.quota
        return {"yes": slice(first_yes, None), "no": slice(first_yes)}

    def votes_asked(self, votes: VoteDistribution) -> FloatArray:
        """Return the distribution of the number of votes asked.

        Parameters
        ----------
        votes : VoteDistribution
            Distribution of n; for a single n, give a point mass.

        Returns
        -------
        ndarray of shape (n_voters + 1,)
            Entry i is the probability that exactly i votes are asked; the entries sum to one.
        """
        weights = _weights(votes, self.strategy)
        lower, upper, start, yes, probability, _ = self.strategy.kernel_arrays
        offset = np.concatenate([[0], np.cumsum(upper - lower - 1)])
        go_on = np.zeros(offset[-1])
        n_voters = self.strategy.n_voters
        rows, reach = pieces(n_voters, n_voters), np.eye(1, n_voters + 2)[0]
        for some in rows:
            flow.go_on_probabilities(*some, lower, upper, start, yes, probability, offset, reach, go_on)
        later = np.zeros(n_voters + 1)  # later[i]: probability that more than i are asked
        mass = np.append(weights, 0.0)
        for some in reversed(rows):
            flow.survival(*some, lower, upper, offset, go_on, mass, later)
        asked: FloatArray = np.concatenate([[1.0], later[:-1]]) - later
        return np.maximum(asked, 0.0)  # a difference of equal numbers may round below zero


def _weights(votes: VoteDistribution, strategy: StoppingStrategy) -> FloatArray:
    if check_votes(votes).n_voters != strategy.n_voters:
        raise InvalidInputError(
            f"votes must have as many voters as the strategy, got {votes.n_voters} and "
            f"{strategy.n_voters}: give a distribution for {strategy.n_voters} voters"
        )
    return votes.probabilities


def evaluate(strategy: StoppingStrategy) -> Evaluation:
    """Return the exact cost and risk of ``strategy`` for every number of yes votes.

    See Also
    --------
    foregone.evaluate : The same for every kind of strategy.
    """
    n_voters = check_strategy(strategy).n_voters
    span, reach, sums = np.zeros(2, np.int64), np.zeros((2, n_voters + 2)), np.zeros((2, 3, n_voters + 2))
    reach[0, 0] = 1.0
    for rows in pieces(n_voters + 1, 4 * n_voters):
        flow.evaluate_rows(*rows, *strategy.kernel_arrays, span, reach, sums)
    cost, said_yes, said_no = sums[n_voters % 2, :, : n_voters + 1].copy()
    full_vote_is_yes = np.arange(n_voters + 1) >= strategy.quota
    disagreement = np.where(full_vote_is_yes, said_no, said_yes)
    for array, most in ((cost, n_voters), (disagreement, 1)):
        np.minimum(array, most, out=array)  # rounding may put it slightly above
    for array in (cost, disagreement):
        array.setflags(write=False)
    return Evaluation(strategy, cost, disagreement)
