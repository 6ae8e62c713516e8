"""PluralityVoters: fitted classifiers of any kind that vote for one of many classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_random import stop_draw
from foregone.classifier.voters import Rows, Voters, bits_of_rows
from foregone.errors import InvalidInputError
from foregone.forest import PluralityOutcome
from foregone.forest.plurality_schedule import PluralitySchedule
from foregone.forest.schedule import Order
from foregone.plurality import PluralityStrategy

__all__ = ["PluralityVoters"]

NEVER = np.iinfo(np.int64).max


class PluralityVoters(Voters):
    """The counterpart of `PluralityForest` for what is no tree; the same votes lead to the same outcome.

    Parameters
    ----------
    members : sequence of fitted classifiers
        Each has a ``predict``.
    classes : ndarray of shape (n_classes,)
        The labels.
    labels : ndarray of shape (n_classes,)
        What members predict when they vote for each: members inside an ensemble number the classes.
    columns : sequence of ndarray or slice, optional
        As in `Voters`.
    """

    def __init__(
        self,
        members: Sequence[Any],
        classes: npt.NDArray[Any],
        labels: npt.NDArray[Any],
        columns: Sequence[npt.NDArray[np.intp] | slice] | None = None,
    ) -> None:
        super().__init__(members, classes, None, columns)
        self.labels = labels

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def ask(self, voter: int, X: Any) -> npt.NDArray[np.intp]:  # type: ignore[override]  # numbers, not yes or no
        """Return the number of the class that one voter is for, for every row of X."""
        said = self.predictions(voter, X)
        numbers = np.searchsorted(self.labels, said).clip(max=self.n_classes - 1)
        strange = self.labels[numbers] != said
        if strange.any():
            raise InvalidInputError(
                f"voter {voter} ({type(self.members[voter]).__name__}) predicts {said[strange][0]!r}, which "
                f"is none of the classes {self.classes.tolist()}"
            )
        return np.asarray(numbers, np.intp)

    def votes(self, X: Any, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return how many of all voters are for each class, shape (n_rows, n_classes)."""
        counts = np.zeros((X.shape[0], self.n_classes), np.int32)
        for voter in range(self.n_voters):
            counts[np.arange(len(counts)), self.ask(voter, X)] += 1
        return counts

    def run(  # type: ignore[override]  # strategies for many classes
        self,
        X: Any,
        strategy: PluralityStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
    ) -> PluralityOutcome:
        """Ask voters until the strategy stops, for each row; everything as in `PluralityForest.run`.

        ``n_threads`` is accepted and left to the voters themselves.
        """
        n_rows = X.shape[0]
        if strategy is None:
            full = self.votes(X)
            asked = np.full(n_rows, self.n_voters, np.int32)
            return PluralityOutcome(full.argmax(axis=1).astype(np.int32), asked, full.max(axis=1))
        schedule = PluralitySchedule.make(np.arange(self.n_voters + 1), self.n_classes, strategy, seed, order)
        own_orders = self.own_orders(X, seed) if order == "per_row" else None
        counts = np.zeros((n_rows, self.n_classes), np.int64)
        first_cast = np.full((n_rows, self.n_classes), NEVER)
        asked = np.zeros(n_rows, np.int32)
        undecided = np.arange(n_rows)
        for step in range(1, self.n_voters + 1):
            for rows, said in self.next_votes(X, undecided, schedule.roots, own_orders, step - 1):
                counts[rows, said] += 1
                first_cast[rows, said] = np.minimum(first_cast[rows, said], step)
            asked[undecided] = step
            undecided = undecided[~_stops(schedule, step, X, undecided, counts[undecided])]
            if len(undecided) == 0:
                break
        votes = counts.max(axis=1)
        first_cast[asked == self.n_voters] = 0  # then the first class leads, as in the full vote
        leaders = np.where(counts == votes[:, None], first_cast, NEVER).argmin(axis=1)
        return PluralityOutcome(leaders.astype(np.int32), asked, votes.astype(np.int32))


def _stops(
    schedule: PluralitySchedule, step: int, X: Any, rows: Rows, counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which of the rows stop after ``step`` votes."""
    strategy = schedule.strategy
    states = strategy.lattice.numbers_of(counts)
    stops = strategy.stops[states]
    by_chance = np.flatnonzero(np.isin(states, strategy.states))
    if len(by_chance):
        chances = strategy.probabilities[np.searchsorted(strategy.states, states[by_chance])]
        bits = bits_of_rows(X, rows[by_chance])
        draws = np.array([stop_draw(schedule.signed_seed, row, step) for row in bits])
        stops[by_chance] = draws < np.ceil(chances * 2.0**53)
    return stops
