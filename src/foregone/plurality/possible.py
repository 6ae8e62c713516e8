"""Which distributions of the full vote a limit has to be kept under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from foregone.plurality.lattice import IntArray, Lattice
from foregone.solving.confidence import upper_bounds
from foregone.votes import FloatArray

__all__ = ["Anything", "NestedSets", "OneDistribution", "Possible", "closeness"]


class Possible(Protocol):
    """A set of distributions over the compositions of a lattice."""

    def first_cuts(self) -> list[FloatArray]:
        """Return distributions of the set that a solver should begin with."""

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the distribution of the set under which ``disagreement`` has the largest mean."""

    def bad_for(self, disagreement: FloatArray, limit: float) -> list[FloatArray]:
        """Return that one, and maybe others under which the mean is above the limit, the worst first."""


@dataclass(frozen=True, eq=False)
class OneDistribution:
    """The distribution is known."""

    weights: FloatArray

    def first_cuts(self) -> list[FloatArray]:
        """Return the distribution."""
        return [self.weights]

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the distribution."""
        return self.weights

    def bad_for(self, disagreement: FloatArray, limit: float) -> list[FloatArray]:
        """Return the distribution."""
        return [self.weights]


@dataclass(frozen=True, eq=False)
class Anything:
    """Every composition may be the only one: the worst one counts.

    Attributes
    ----------
    group : ndarray of int, shape (n_compositions,)
        Compositions that are alike; at most one of each group is added at a time.
    """

    group: IntArray

    def first_cuts(self) -> list[FloatArray]:
        """Return nothing in particular: the middle of all."""
        return [np.full(len(self.group), 1.0 / len(self.group))]

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return certainty of the worst composition."""
        return _only(int(np.argmax(disagreement)), len(disagreement))

    def bad_for(self, disagreement: FloatArray, limit: float, most: int = 8) -> list[FloatArray]:
        """Return certainty of the worst of each group that is above the limit."""
        by_badness = np.argsort(-disagreement, kind="stable")[: 50 * most]
        by_badness = by_badness[disagreement[by_badness] > limit]
        _, first = np.unique(self.group[by_badness], return_index=True)
        return [_only(int(place), len(disagreement)) for place in by_badness[np.sort(first)[:most]]]


@dataclass(frozen=True, eq=False)
class NestedSets:
    """Only bounds on the probability of a close result are known.

    Every distribution is reckoned with that gives the compositions of rank at most r a probability of at most
    ``bounds[r]``, for every r.

    Attributes
    ----------
    rank : ndarray of int, shape (n_compositions,)
        0 for the closest results, and up.
    bounds : ndarray
        One for each rank, never falling, the last one 1.
    """

    rank: IntArray
    bounds: FloatArray

    @classmethod
    def observed(cls, rank: IntArray, counts: FloatArray, failure: float) -> NestedSets:
        """Return the sets that hold the truth with a probability of ``1 - failure``.

        Parameters
        ----------
        rank : ndarray of int, shape (n_compositions,)
            How compositions are nested, decided before any was observed.
        counts : ndarray of shape (n_compositions,)
            How often each composition was observed.
        failure : float
            Allowed probability, over which items were observed, of a bound being wrong.
        """
        within = np.cumsum(np.bincount(rank, weights=counts))
        bounds = np.append(upper_bounds(within[:-1], round(within[-1]), failure), 1.0)
        return cls(rank, bounds)

    def first_cuts(self) -> list[FloatArray]:
        """Return the distribution that is worst where close results are the most often wrong."""
        return [self.worst_for(1.0 / (1.0 + self.rank))]

    def worst_for(self, disagreement: FloatArray) -> FloatArray:
        """Return the worst distribution: what a bound leaves over the one before goes to the worst from there.

        It may lie at that rank or any further one.
        """
        order = np.lexsort((-disagreement, self.rank))
        _, first = np.unique(self.rank[order], return_index=True)
        worst_of_rank = order[first]  # one composition for each rank
        values = disagreement[worst_of_rank]
        largest = np.maximum.accumulate(values[::-1])[::-1]
        steps = np.where(values == largest, np.arange(len(values)), len(values))
        places = worst_of_rank[np.minimum.accumulate(steps[::-1])[::-1]]
        weights = np.zeros(len(disagreement))
        np.add.at(weights, places, np.diff(self.bounds, prepend=0.0))
        return weights

    def bad_for(self, disagreement: FloatArray, limit: float) -> list[FloatArray]:
        """Return the worst distribution."""
        return [self.worst_for(disagreement)]


def closeness(lattice: Lattice, n_ranks: int) -> IntArray:
    """Return a rank for every composition: 0 for the closest results.

    What counts is the lead of the winner over the next answer in units of the square root of their votes: it
    tells, whatever the other votes, how many must be seen until the two can be told apart. A tie between
    leaders is no close result if either is right; the next answer behind them is then the one to be told
    from them.
    """
    compositions = lattice.compositions().astype(np.int64)
    top = compositions[:, 0]
    behind = np.where(compositions < top[:, None], compositions, 0).max(axis=1)
    score = (top - behind) / np.sqrt(top + behind)
    edges = np.sqrt(lattice.n_voters) * (np.arange(1, n_ranks) / n_ranks)
    ranks: IntArray = np.searchsorted(edges, score, side="right").astype(np.int64)
    _, dense = np.unique(ranks, return_inverse=True)  # no rank without a composition
    return np.asarray(dense, np.int64)


def _only(place: int, length: int) -> FloatArray:
    weights: npt.NDArray[np.float64] = np.zeros(length)
    weights[place] = 1.0
    return weights
