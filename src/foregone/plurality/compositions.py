"""CompositionDistribution: how the votes of the full vote are distributed over the answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import MOST_VOTERS, FloatArray, IntArray, as_numbers, check_n_voters
from foregone.errors import InvalidInputError
from foregone.plurality.lattice import Lattice, lattice_of

__all__ = ["CompositionDistribution", "are_answers", "likely", "pessimistic"]

_NEWNESS = 1.0  # weight of an answer that nobody gave, in votes
_FLAT = 0.1  # weight of compositions that smoothing does not reach


@dataclass(frozen=True, eq=False)
class CompositionDistribution:
    """Distribution of the sorted counts of all votes, regardless of the answers' names.

    Use one of the named constructors to make one.

    Attributes
    ----------
    n_voters : int
        Number of votes in each composition.
    compositions : ndarray of int, shape (n_compositions, n_answers)
        The distinct compositions: counts in descending order, padded with zeros. Read-only.
    probabilities : ndarray of shape (n_compositions,)
        Positive; they sum to one. Read-only.
    n_observations : int or None
        Number of observed items; None if the distribution was assumed or smoothed.
    n_classes : int or None
        The largest possible number of different answers, as used by `foregone.solve`; None for any number.
        Ignored when two distributions are compared.

    Examples
    --------
    >>> seen = CompositionDistribution.from_counts([[0, 5, 1], [2, 2, 2], [5, 0, 1]])
    >>> seen.compositions.tolist(), seen.probabilities.round(2).tolist(), seen.n_observations
    ([[2, 2, 2], [5, 1, 0]], [0.33, 0.67], 3)
    >>> CompositionDistribution.from_answers([["4", "4", "5"], ["7", "8", "9"]]).compositions.tolist()
    [[1, 1, 1], [2, 1, 0]]
    """

    n_voters: int
    compositions: npt.NDArray[np.int64] = field(repr=False)
    probabilities: FloatArray = field(repr=False)
    n_observations: int | None = None
    n_classes: int | None = None

    def __post_init__(self) -> None:
        self.compositions.setflags(write=False)
        self.probabilities.setflags(write=False)

    @classmethod
    def from_counts(cls, counts: npt.ArrayLike, *, n_classes: int | None = None) -> CompositionDistribution:
        """Make a distribution from counts: one row per item with the votes for each answer, in any order.

        All rows must have the same sum. They may have different lengths: missing answers got no votes. There
        can be any number of different answers, or at most ``n_classes``.
        """
        matrix = as_numbers(_filled_up(counts), "compositions")
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InvalidInputError(
                "compositions must be a matrix with one row per item and one column per answer, "
                f"got shape {matrix.shape}"
            )
        if not (np.isfinite(matrix).all() and (matrix == np.floor(matrix)).all()):
            raise InvalidInputError("compositions must hold integers: the number of votes for each answer")
        if matrix.min() < 0 or matrix.max() > MOST_VOTERS:
            raise InvalidInputError(f"compositions must hold numbers of votes from 0 to {MOST_VOTERS:,}")
        rows = np.sort(matrix.astype(np.int64), axis=1)[:, ::-1]
        totals = rows.sum(axis=1)
        if totals.min() != totals.max() or totals[0] == 0:
            other = int(np.argmax(totals != totals[0]))
            raise InvalidInputError(
                "every item must have the same number of votes, at least one, got "
                f"{totals.min()} to {totals.max()} (item {other} has {totals[other]}). Remove "
                "items with fewer votes; if the rows hold answers and not counts, use "
                "CompositionDistribution.from_answers"
            )
        rows = rows[:, : max(int((rows > 0).any(axis=0).sum()), 1)]
        different, repeats = np.unique(rows, axis=0, return_counts=True)
        return cls(int(totals[0]), different, repeats / len(rows), len(rows), n_classes)

    @classmethod
    def from_answers(
        cls,
        items: Iterable[Iterable[Hashable]],
        *,
        n_voters: int | None = None,
        n_classes: int | None = None,
    ) -> CompositionDistribution:
        """Make a distribution from answers of any hashable type: one list of votes per item.

        Parameters
        ----------
        items : iterable of iterables
            The answers to each item, in the order given. None and NaN are not votes and are dropped.
        n_voters : int, optional
            Use the first ``n_voters`` answers to each item; by default all. Every item must have the
            same number.
        n_classes : int, optional
            The largest possible number of different answers; by default any number.

        Examples
        --------
        >>> ragged = [["4", "4", None, "5", "4"], ["7", "8", "7"]]
        >>> CompositionDistribution.from_answers(ragged, n_voters=3).compositions.tolist()
        [[2, 1]]
        """
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise InvalidInputError(
                f"items must be a list with one list of answers per item, got {type(items).__name__}"
            )
        wanted = None if n_voters is None else check_n_voters(n_voters)
        counted: list[list[int]] = []
        for number, answers in enumerate(items):
            if isinstance(answers, str | bytes) or not isinstance(answers, Iterable):
                raise InvalidInputError(f"item {number} must be a list of answers, got {answers!r}")
            votes = [answer for answer in answers if not _is_missing(answer)][:wanted]
            if counted and wanted is None and len(votes) != (first := sum(counted[0])):
                raise InvalidInputError(
                    f"item {number} has {len(votes)} answers but item 0 has {first} (None is not counted): "
                    "pass n_voters=N to use the first N of each item, and remove items with fewer"
                )
            if wanted is not None and len(votes) < wanted:
                raise InvalidInputError(
                    f"item {number} has {len(votes)} answers (None is not counted), fewer than n_voters="
                    f"{wanted}: remove it, or use fewer voters"
                )
            try:
                counted.append(sorted(Counter(votes).values(), reverse=True))
            except TypeError as error:
                raise InvalidInputError(f"the answers to item {number} must be hashable: {error}") from None
        if not counted:
            raise InvalidInputError("expected at least one item, got none")
        if not any(counted):
            raise InvalidInputError("expected at least one answer per item, got none")
        return cls.from_counts(counted, n_classes=n_classes)

    @classmethod
    def flat(cls, lattice: Lattice) -> CompositionDistribution:
        """Make the distribution with all compositions of the lattice equally likely: an assumption."""
        return cls.on_lattice(lattice, np.full(lattice.n_compositions, 1.0 / lattice.n_compositions))

    @classmethod
    def on_lattice(
        cls, lattice: Lattice, weights: FloatArray, n_observations: int | None = None
    ) -> CompositionDistribution:
        """Make a distribution from one probability per composition of a lattice, ordered by their numbers."""
        kept = weights > 0
        return cls(
            lattice.n_voters,
            lattice.compositions()[kept].astype(np.int64),
            np.asarray(weights[kept], np.float64),
            n_observations,
            None if lattice.n_classes >= lattice.n_voters else lattice.n_classes,
        )

    def smoothed(self, n_classes: int | None = None) -> CompositionDistribution:
        """Return an estimate of the distribution of new items, which differ somewhat from the observed ones.

        A quarter of the votes of each item is redrawn from the others, as from Polya's urn, where a new
        answer has the weight of one vote; the result is the average over all ways to do so.

        Parameters
        ----------
        n_classes : int, optional
            The largest possible number of different answers; by default any number.
        """
        lattice = lattice_of(self.n_voters, n_classes)
        return self.on_lattice(lattice, likely(lattice, self.weights_on(lattice)))

    def weights_on(self, lattice: Lattice) -> FloatArray:
        """Return the probability of every composition of a lattice, in the order of their numbers."""
        if lattice.n_voters != self.n_voters:
            raise InvalidInputError(
                f"the compositions have {self.n_voters} votes, but n_voters is {lattice.n_voters}: pass "
                f"n_voters={self.n_voters} or omit it"
            )
        n_answers = int((self.compositions > 0).sum(axis=1).max())
        if n_answers > lattice.n_classes:
            raise InvalidInputError(
                f"some compositions have {n_answers} different answers, but n_classes is "
                f"{lattice.n_classes}: use n_classes={n_answers} or more"
            )
        weights = np.zeros(lattice.n_compositions)
        weights[lattice.places_of(np.ascontiguousarray(self.compositions))] = self.probabilities
        return weights

    def counts_on(self, lattice: Lattice) -> IntArray:
        """Return the number of observed items with each composition of a lattice; needs observed items."""
        assert self.n_observations is not None
        return np.rint(self.weights_on(lattice) * self.n_observations).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompositionDistribution):
            return NotImplemented
        return (
            self.n_observations == other.n_observations
            and np.array_equal(self.compositions, other.compositions)
            and np.array_equal(self.probabilities, other.probabilities)
        )

    def __hash__(self) -> int:
        return hash((self.n_observations, self.compositions.tobytes(), self.probabilities.tobytes()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied object, and make its arrays read-only again."""
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        source = "assumed" if self.n_observations is None else f"from {self.n_observations:,} items"
        return f"<CompositionDistribution of {self.n_voters} votes, {source}>"


def _is_missing(answer: Any) -> bool:
    return answer is None or (isinstance(answer, float) and math.isnan(answer))


_ROWS = (list, tuple, np.ndarray)


def are_answers(rows: Any) -> bool:
    """Whether rows hold answers rather than counts: texts, booleans, anything but numbers and None.

    Answers that are all numbers cannot be distinguished from counts, and are treated as counts.
    """
    if not isinstance(rows, _ROWS) or (isinstance(rows, np.ndarray) and rows.dtype.kind in "iuf"):
        return False
    entries = (entry for row in rows if isinstance(row, _ROWS) for entry in row)
    return any(
        entry is not None and (isinstance(entry, bool | np.bool_) or not isinstance(entry, Number))
        for entry in entries
    )


def _filled_up(rows: Any) -> Any:
    """Return rows of different lengths padded with zeros, anything else unchanged."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, _ROWS) for row in rows):
        return rows
    width = max(map(len, rows), default=0)
    return [[*row, *[0] * (width - len(row))] for row in rows]


# Smoothing: full votes that a sample suggests beyond those observed ---------------------------------
#
# There are far more full votes than observed items, so a sample misses most of them. A strategy fitted to the
# sample alone would stop wherever none of the few observed items happens to be wrong. Other items are
# estimated by removing part of the votes of each observed item and redrawing them from the rest, as from
# Polya's urn: popular answers stay popular, close results vary, new answers appear.
#
# Only costs depend on these estimates. The guarantee with a confidence does not.


def likely(lattice: Lattice, observed: FloatArray) -> FloatArray:
    """Return an estimate of the distribution of full votes: a quarter of the votes is redrawn."""
    return lattice.redraw(observed, lattice.n_voters // 4, _NEWNESS)


def pessimistic(lattice: Lattice, observed: FloatArray) -> FloatArray:
    """Return positive weights for all full votes, to spread bounds by: half of the votes is redrawn."""
    return lattice.redraw(observed, lattice.n_voters // 2, _NEWNESS) + _FLAT / lattice.n_compositions
