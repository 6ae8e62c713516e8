"""The distributions of the full vote for which a limit must hold: one, some, or any.

A single known distribution is a `foregone.solving.budget.OneDistribution`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.plurality.lattice import Lattice
from foregone.solving.budget import first_largest_from
from foregone.solving.confidence import upper_bounds

__all__ = ["Anything", "NestedSets", "Possible"]


class Possible(Protocol):
    """A set of distributions over the compositions of a lattice."""

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the distribution of the set with the largest mean ``disagreement``."""


@dataclass(frozen=True, eq=False)
class Anything:
    """All distributions: the worst composition counts.

    Attributes
    ----------
    group : ndarray of int, shape (n_compositions,)
        Groups of similar compositions; at most one of each group is added at a time.
    """

    group: IntArray

    @classmethod
    def on(cls, lattice: Lattice) -> Anything:
        """Return all distributions; compositions with the same first two counts form a group."""
        top, second = (counts[lattice.level[-2] :].astype(np.int64) for counts in lattice.top_two())
        return cls(top * (lattice.n_voters + 1) + second)

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the distribution concentrated on the worst composition."""
        return _only(int(np.argmax(disagreement)), len(disagreement))

    def bad_for(self, disagreement: FloatArray, limit: float, most: int = 8) -> list[FloatArray]:
        """Return distributions concentrated on the worst composition of each group above the limit."""
        by_badness = np.argsort(-disagreement, kind="stable")[: 50 * most]
        by_badness = by_badness[disagreement[by_badness] > limit]
        _, first = np.unique(self.group[by_badness], return_index=True)
        return [_only(int(place), len(disagreement)) for place in by_badness[np.sort(first)[:most]]]


@dataclass(frozen=True, eq=False)
class NestedSets:
    """All distributions within bounds on the probability of difficult full votes.

    The set holds every distribution in which the compositions of rank at most r have a probability of at most
    ``bounds[r]``, for every r.

    Attributes
    ----------
    rank : ndarray of int, shape (n_compositions,)
        0 for the most difficult, ascending.
    bounds : ndarray
        One per rank, non-decreasing, the last one 1.
    """

    rank: IntArray
    bounds: FloatArray

    @classmethod
    def observed(cls, rank: IntArray, counts: FloatArray, failure: float) -> NestedSets:
        """Return the set that contains the true distribution with a probability of ``1 - failure``.

        Parameters
        ----------
        rank : ndarray of int, shape (n_compositions,)
            How compositions are nested, chosen before any was observed.
        counts : ndarray of shape (n_compositions,)
            How often each composition was observed.
        failure : float
            Allowed probability, over the sample of items, that a bound is wrong.
        """
        within: FloatArray = np.cumsum(np.bincount(rank, weights=counts).astype(np.float64))
        bounds = np.append(upper_bounds(within[:-1], round(within[-1]), failure), 1.0)
        return cls(rank, bounds)

    def spread(self, like: FloatArray) -> FloatArray:
        """Return the distribution that attains all bounds, within each rank in proportion to another."""
        within = np.bincount(self.rank, weights=like)
        return np.asarray(np.diff(self.bounds, prepend=0.0)[self.rank] * like / within[self.rank])

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the worst distribution.

        The excess of a bound over the previous one may lie at its rank or beyond: it is put on the worst.
        """
        values = np.zeros(len(self.bounds))
        np.maximum.at(values, self.rank, disagreement)
        is_worst = np.flatnonzero(disagreement == values[self.rank])
        worst_of_rank = np.zeros(len(self.bounds), np.int64)
        worst_of_rank[self.rank[is_worst][::-1]] = is_worst[::-1]  # the first of equals
        weights = np.zeros(len(disagreement))
        np.add.at(weights, worst_of_rank[first_largest_from(values)], np.diff(self.bounds, prepend=0.0))
        return weights


def _only(place: int, length: int) -> FloatArray:
    weights: FloatArray = np.zeros(length)
    weights[place] = 1.0
    return weights
