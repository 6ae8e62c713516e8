"""PluralityItems: recorded votes with any number of answers, replayed exactly, averaged over every order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_n_voters
from foregone.plurality import (
    CompositionDistribution,
    Lattice,
    PluralityEvaluation,
    PluralityStrategy,
    evaluate_plurality,
    lattice_of,
)
from foregone.replaying.recorded import RecordedVotes
from foregone.replaying.splits import Measured
from foregone.replaying.two_answers import long_enough

__all__ = ["PluralityCalibration", "PluralityItems", "PluralityPlayed"]

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PluralityItems:
    """Items with any answers, of which ``n_voters`` votes each are a full vote.

    Where an item has more votes than that, every choice of ``n_voters`` of them counts equally, as does every
    order in which they are asked. All means over choices and orders are exact.

    Attributes
    ----------
    lattice : Lattice
        The states of a vote of ``n_voters``.
    lattices : dict of Lattice
        Those of each number of votes that items have.
    n_classes : int or None
        How many different answers there can be to one item; None for any number.
    drawn : ndarray of int, shape (n_items,)
        How many votes each item has.
    composition : ndarray of int, shape (n_items,)
        The state of all its votes, by its number on the lattice of so many votes.
    of_first : ndarray of int, shape (n_items,)
        The state of the first ``n_voters`` drawn: one full vote of each item, as if observed.
    tokens : tuple of float arrays, or None
        For each item and each of its distinct counts, in falling order: mean tokens of the votes for answers
        of that count.
    n_left_out : int
        Items left out because they have too few votes.
    n_answers : int
        The most different answers to an item.
    """

    lattice: Lattice
    lattices: dict[int, Lattice] = field(repr=False)
    n_classes: int | None
    drawn: Indices = field(repr=False)
    composition: Indices = field(repr=False)
    of_first: Indices = field(repr=False)
    tokens: tuple[FloatArray, ...] | None = field(repr=False)
    n_left_out: int
    n_answers: int

    @classmethod
    def of(
        cls,
        votes: RecordedVotes,
        n_voters: int,
        *,
        n_classes: int | None = None,
        skip_short: bool = False,
    ) -> PluralityItems:
        """Count the votes for each answer of each item.

        Parameters
        ----------
        votes : RecordedVotes
            What was recorded.
        n_voters : int
            Votes in a full vote.
        n_classes : int, optional
            How many different answers there can be to one item; any number by default.
        skip_short : bool
            Leave out items with fewer than ``n_voters`` votes, which are otherwise refused.
        """
        n_voters = check_n_voters(n_voters)
        kept = long_enough(votes, n_voters, skip_short)
        lattice = lattice_of(n_voters, n_classes)
        answers = [votes.answers[k] for k in kept]
        lattices = {n: lattice_of(n, n_classes) for n in sorted(set(map(len, answers)))}
        counts = [np.bincount(codes) for codes in answers]
        tokens = None
        if votes.tokens is not None:
            tokens = tuple(
                _mean_tokens(codes, votes.tokens[k], times)
                for k, codes, times in zip(kept, answers, counts, strict=True)
            )
        return cls(
            lattice=lattice,
            lattices=lattices,
            n_classes=n_classes,
            drawn=np.array([len(codes) for codes in answers], np.int64),
            composition=np.array(
                [lattices[len(codes)].number_of(times) for codes, times in zip(answers, counts, strict=True)],
                np.int64,
            ),
            of_first=np.array(
                [lattice.number_of(np.bincount(codes[:n_voters])) for codes in answers], np.int64
            ),
            tokens=tokens,
            n_left_out=len(votes.answers) - len(kept),
            n_answers=max(int(np.count_nonzero(times)) for times in counts),
        )

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.lattice.n_voters

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.drawn)

    def weights(self, indices: Indices) -> FloatArray:
        """Return the mean over items of the chances of each composition of a full vote."""
        first, last = self.lattice.level[-2:]
        total = np.zeros(last - first)
        for drawn, lattice in self.lattices.items():
            some = self.composition[indices[self.drawn[indices] == drawn]] - lattice.level[-2]
            counts = np.bincount(some, minlength=lattice.n_compositions).astype(np.float64)
            # States have the same numbers on every lattice that has them.
            total += counts if drawn == self.n_voters else lattice.pull_back(counts)[first:last]
        return total / len(indices)

    def calibrate(self, indices: Indices) -> PluralityCalibration:
        """Return what these items say about the votes."""
        return PluralityCalibration(self, indices)

    def play(self, strategy: PluralityStrategy) -> PluralityPlayed:
        """Return what the strategy does to the items, averaged over every order."""
        return PluralityPlayed(self, evaluate_plurality(strategy))

    def full_tokens(self) -> float | None:
        """Return the mean tokens of a full vote."""
        if self.tokens is None:
            return None
        total = 0.0
        for item in range(self.n_items):
            edges, lattice = self.edges_of(item)
            counts = lattice.value[edges].astype(np.float64) * lattice.times[edges]
            total += float(counts @ self.tokens[item]) / self.drawn[item]
        return self.n_voters * total / self.n_items

    def edges_of(self, item: int) -> tuple[slice, Lattice]:
        """Return where the distinct counts of an item stand on the lattice of its votes."""
        lattice = self.lattices[int(self.drawn[item])]
        state = self.composition[item]
        return slice(int(lattice.edge_start[state]), int(lattice.edge_start[state + 1])), lattice


@dataclass(frozen=True, eq=False)
class PluralityCalibration:
    """What some of the items say about the votes of all, in three ways."""

    items: PluralityItems
    indices: Indices

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.items.n_voters

    @property
    def n_classes(self) -> int | None:
        """How many different answers there can be; None for any number."""
        return self.items.n_classes

    @cached_property
    def averaged(self) -> CompositionDistribution:
        """Every choice of votes of every item taken for the truth."""
        return CompositionDistribution.on_lattice(self.items.lattice, self.items.weights(self.indices))

    @cached_property
    def smoothed(self) -> CompositionDistribution:
        """What new items may look like."""
        return self.averaged.smoothed(self.n_classes)

    @cached_property
    def observed(self) -> CompositionDistribution:
        """One full vote of each item, which is what a confidence can be had from."""
        lattice = self.items.lattice
        places = self.items.of_first[self.indices] - lattice.level[-2]
        counts = np.bincount(places, minlength=lattice.n_compositions)
        return CompositionDistribution.on_lattice(lattice, counts / len(places), len(places))


@dataclass(frozen=True, eq=False)
class PluralityPlayed:
    """What a strategy costs and risks on the items."""

    items: PluralityItems
    evaluation: PluralityEvaluation

    def on(self, indices: Indices) -> Measured:
        """Return the means over some of the items."""
        weights = self.items.weights(indices)
        return Measured(
            calls=float(weights @ self.evaluation.expected_votes),
            disagreement=float(weights @ self.evaluation.disagreement),
            tokens=None if self.items.tokens is None else float(self._tokens[indices].mean()),
        )

    def worst(self) -> Measured:
        """Return the largest figures for any votes that an item could have."""
        worst = self.evaluation.worst()
        return Measured(worst.expected_votes, worst.disagreement, None)

    @cached_property
    def _tokens(self) -> FloatArray:
        """The mean tokens of each item: of the votes for one answer, each is asked equally often."""
        items = self.items
        assert items.tokens is not None
        asked = {drawn: self._asked_of_parts(lattice) for drawn, lattice in items.lattices.items()}
        tokens = np.zeros(items.n_items)
        for item in range(items.n_items):
            edges, lattice = items.edges_of(item)
            start = int(lattice.edge_start[lattice.level[-2]])
            of_parts = asked[int(items.drawn[item])][edges.start - start : edges.stop - start]
            tokens[item] = float((of_parts * lattice.times[edges]) @ items.tokens[item])
        return tokens

    def _asked_of_parts(self, lattice: Lattice) -> FloatArray:
        """Return how many votes are asked of each part of a state in which all votes drawn are counted."""
        stop = np.zeros(lattice.n_states)
        theta = self.evaluation.strategy.stop_probabilities()
        stop[: len(theta)] = theta
        return lattice.push_forward(stop, counts_votes=True)[1]


def _mean_tokens(codes: Indices, tokens: FloatArray, counts: npt.NDArray[Any]) -> FloatArray:
    """Return the mean tokens of the votes for answers of each distinct count, the largest count first."""
    count_of_vote = counts[codes]
    return np.array([tokens[count_of_vote == count].mean() for count in np.unique(count_of_vote)[::-1]])
