"""Budget: a limit on the disagreement, for the worst case over all distributions consistent with the data.

Symbols: N voters, n of them yes, m = quota - 1 the largest n whose full vote is "no" (N // 2 of a majority).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.strategy.limits import Side

__all__ = ["Budget", "NestedBounds", "OneDistribution", "first_largest_from", "is_yes"]


def is_yes(n_voters: int, quota: int) -> BoolArray:
    """Return whether the full vote is "yes", for every n."""
    return np.arange(n_voters + 1) >= quota


@dataclass(frozen=True, eq=False)
class OneDistribution:
    """The distribution of n is known: the budget bounds a mean.

    Attributes
    ----------
    weights : ndarray of shape (n_voters + 1,)
        Probabilities; they sum to one up to rounding.
    """

    weights: FloatArray

    def first_cuts(self, matters: BoolArray) -> list[FloatArray]:
        """Return the distributions of the set that a solver should start with."""
        return [self.weights]

    def worst_for(self, losses: FloatArray) -> FloatArray:
        """Return the distribution of the set with the largest mean of ``losses``."""
        return self.weights

    def possible(self) -> BoolArray:
        """Return which n have a positive weight under some distribution of the set."""
        return np.asarray(self.weights > 0)


@dataclass(frozen=True, eq=False)
class NestedBounds:
    """A set of distributions, given by bounds on the probability of n near the middle.

    The set contains every distribution with a probability of at most ``yes[r - 1]`` for the r values of n
    next to the middle on the "yes" side, m + 1 to m + r, and of at most ``no[r - 1]`` for those on the "no"
    side, m - r + 1 to m. With bounds of 1 every distribution is in the set, so the worst n counts.

    Attributes
    ----------
    yes : ndarray of shape (N - m,)
        Non-decreasing, from 0 to 1.
    no : ndarray of shape (m + 1,)
        The same. ``yes[-1] + no[-1]`` is at least one.
    """

    yes: FloatArray
    no: FloatArray

    @classmethod
    def anything(cls, n_voters: int, quota: int, side: Side = "all") -> NestedBounds:
        """Return the set of all distributions on one side of the middle, or on both."""
        m = quota - 1
        return cls(
            np.full(n_voters - m, 0.0 if side == "no" else 1.0),
            np.full(m + 1, 0.0 if side == "yes" else 1.0),
        )

    @property
    def _middle(self) -> int:
        return len(self.no) - 1

    def first_cuts(self, matters: BoolArray) -> list[FloatArray]:
        """Return the distributions of the set that a solver should start with.

        They are the worst distributions if the disagreement falls away from the middle, among the n that
        matter: one with as much weight as possible on "yes", and one with as much as possible on "no".
        """
        N, m = len(self.yes) + len(self.no) - 1, self._middle
        falling = np.concatenate([np.arange(m + 1.0), np.arange(float(N - m), 0.0, -1.0)]) / (2 * N)
        yes = is_yes(N, m + 1)
        yes_first = self.worst_for(np.where(yes, 1.0 + falling, falling) * matters)
        no_first = self.worst_for(np.where(yes, falling, 1.0 + falling) * matters)
        return [yes_first] if np.array_equal(yes_first, no_first) else [yes_first, no_first]

    def worst_for(self, losses: FloatArray) -> FloatArray:
        """Return the distribution of the set with the largest mean of ``losses``, one for each n.

        The difference between the bounds on r and on r - 1 values can lie at the r-th value or further out,
        so it goes to the largest loss there. The largest losses get their weight first, until the total
        weight is used up.
        """
        m = self._middle
        if all((bounds == bounds[-1:]).all() and _last(bounds) in (0, 1) for bounds in (self.yes, self.no)):
            weights = np.zeros(len(losses))  # the bounds are all 0 or 1: put the whole weight on the worst n
            weights[np.argmax(np.where(self.possible(), losses, -1.0))] = 1.0
            return weights
        amounts, places = [], []
        for bounds, outwards in (
            (self.yes, np.arange(m + 1, m + 1 + len(self.yes))),
            (self.no, np.arange(m, -1, -1)),
        ):
            amounts.append(np.diff(bounds, prepend=0.0))
            places.append(outwards[first_largest_from(losses[outwards])])
        amount, place = np.concatenate(amounts), np.concatenate(places)
        order = np.argsort(-losses[place], kind="stable")
        given = np.minimum(np.cumsum(amount[order]), 1.0)
        weights = np.zeros(len(losses))
        np.add.at(weights, place[order], np.diff(given, prepend=0.0))
        return weights

    def possible(self) -> BoolArray:
        """Return which n have a positive weight under some distribution of the set."""
        m = self._middle
        return np.concatenate(
            [np.full(m + 1, _last(self.no) > 0), np.full(len(self.yes), _last(self.yes) > 0)]
        )


def _last(bounds: FloatArray) -> float:
    """Return the bound on a whole side; 0 if the side has no n."""
    return float(bounds[-1]) if len(bounds) else 0.0


def first_largest_from(values: FloatArray) -> IntArray:
    """Return, for each index, the first index from there on with the largest value from there on.

    Examples
    --------
    >>> first_largest_from(np.array([1.0, 3.0, 0.0, 2.0, 2.0]))
    array([1, 1, 3, 3, 4])
    """
    largest = np.maximum.accumulate(values[::-1])[::-1]
    places = np.where(values == largest, np.arange(len(values)), len(values))
    return np.asarray(np.minimum.accumulate(places[::-1])[::-1])


@dataclass(frozen=True, eq=False)
class Budget:
    """The constraint ``mean of values * disagreement <= limit``, for every distribution of a set.

    Attributes
    ----------
    side : {"all", "yes", "no"}
        The inputs that are bounded: all, or those with a full vote of yes, or of no.
    limit : float
        From 0 to 1.
    distributions : OneDistribution or NestedBounds
        The set.
    values : ndarray of shape (n_voters + 1,)
        The loss of a disagreement with n yes votes, from 0 to 1.
    """

    side: Side
    limit: float
    distributions: OneDistribution | NestedBounds
    values: FloatArray

    @property
    def is_over_the_votes(self) -> bool:
        """Whether it bounds the mean over the vote distribution itself, so that one price is enough."""
        return self.side == "all" and isinstance(self.distributions, OneDistribution)

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the distribution of the set with the largest loss."""
        return self.distributions.worst_for(self.values * disagreement)

    def first_cuts(self) -> list[FloatArray]:
        """Return the distributions of the set that a solver should start with."""
        return self.distributions.first_cuts(self.values > 0)

    def possible(self) -> BoolArray:
        """Return for which n a loss is possible."""
        return np.asarray(self.distributions.possible() & (self.values > 0))

    def risk(self, disagreement: FloatArray) -> float:
        """Return the largest mean loss over the set, which the limit bounds."""
        mean = float(self.worst_for(disagreement) @ (self.values * disagreement))
        return min(mean, 1.0)  # the weights sum to one up to rounding only
