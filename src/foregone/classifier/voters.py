"""Voters of any kind: fitted classifiers, each asked only about the rows that are still undecided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from foregone._kernels.forest_random import stop_draw
from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone.errors import InvalidInputError
from foregone.forest.packed import Outcome
from foregone.forest.schedule import Order, Schedule, random_order, row_bits
from foregone.strategy import StoppingStrategy

__all__ = ["Rows", "Voters", "bits_of_rows"]

Rows = npt.NDArray[np.intp]


class Voters:
    """Fitted two-class classifiers that vote; the counterpart of `PackedForest` for what is no tree.

    Orders and draws come from the same generator as those of a packed forest, so that the same votes
    lead to the same outcome, vote for vote.

    Parameters
    ----------
    members : sequence of fitted classifiers
        Each has a ``predict``.
    classes : ndarray of shape (2,)
        Labels for no and yes.
    yes_label : object
        What a member predicts when it votes yes. Members inside an ensemble number the classes.
    columns : sequence of ndarray or slice, optional
        For each member the columns it is given, of an array; by default X as it is, which may be a frame.
    """

    def __init__(
        self,
        members: Sequence[Any],
        classes: npt.NDArray[Any],
        yes_label: Any,
        columns: Sequence[npt.NDArray[np.intp] | slice] | None = None,
    ) -> None:
        self.members = list(members)
        self.classes = classes
        self.yes_label = yes_label
        self.columns = None if columns is None else list(columns)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.members)

    def __repr__(self) -> str:
        kinds = sorted({type(member).__name__ for member in self.members})
        return f"<{self.n_voters} voters: {', '.join(kinds)}>"

    def ask(self, voter: int, X: Any) -> npt.NDArray[np.bool_]:
        """Return one voter's vote on every row of X."""
        votes: npt.NDArray[np.bool_] = np.asarray(self.predictions(voter, X) == self.yes_label, np.bool_)
        return votes

    def predictions(self, voter: int, X: Any) -> npt.NDArray[Any]:
        """Return what one voter predicts for every row of X, in its own words."""
        if self.columns is not None:
            X = X[:, self.columns[voter]]
        labels = np.asarray(self.members[voter].predict(X))
        if labels.shape != (X.shape[0],):
            raise InvalidInputError(
                f"voter {voter} ({type(self.members[voter]).__name__}) must predict one label for each of "
                f"{X.shape[0]} rows, its predictions have shape {labels.shape}"
            )
        return labels

    def refuse_values(self, X: Any) -> None:
        """Let a voter raise its error for NaN or infinity, even if nobody will be asked about those rows.

        Only a voter knows whether it can take them: a pipeline may begin by filling them in.
        """
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            doubtful = ~np.isfinite(X).all(axis=1)
            if doubtful.any():
                self.ask(0, X[doubtful])

    def votes(self, X: Any, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return how many of all voters say yes, for each row."""
        return self.run(X, None, seed=0)[2]

    def run(
        self,
        X: Any,
        strategy: StoppingStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
    ) -> Outcome:
        """Ask voters until the strategy stops, for each row; everything as in `PackedForest.run`.

        ``n_threads`` is accepted and left to the voters themselves.
        """
        schedule = Schedule.make(np.arange(self.n_voters + 1), None, strategy, seed, order)
        n_rows = X.shape[0]
        asked, yes = np.zeros((2, n_rows), np.int32)
        own_orders = self.own_orders(X, seed) if strategy is not None and order == "per_row" else None
        undecided = np.arange(n_rows)
        for step in range(self.n_voters + 1):
            undecided = _keep_undecided(schedule, step, X, undecided, yes)
            if len(undecided) == 0:
                break
            asked[undecided] = step + 1
            for rows, said in self.next_votes(X, undecided, schedule.roots, own_orders, step):
                yes[rows] += said
        return yes >= schedule.steps[asked, YES_FROM], asked, yes

    def own_orders(self, X: Any, seed: int) -> npt.NDArray[np.int64]:
        """Return the order in which each row asks the voters, if every row has one of its own."""
        rows = bits_of_rows(X, np.arange(X.shape[0]))
        return np.array([random_order(self.n_voters, seed, bits) for bits in rows])

    def next_votes(
        self,
        X: Any,
        undecided: Rows,
        shared_order: npt.NDArray[np.int64],
        own_orders: npt.NDArray[np.int64] | None,
        step: int,
    ) -> Iterator[tuple[Rows, npt.NDArray[Any]]]:
        """Ask the voters that are number ``step`` in their order; yield rows and the votes on them."""
        following = shared_order[step] if own_orders is None else own_orders[undecided, step]
        for voter in np.unique(following):
            rows = undecided[following == voter] if own_orders is not None else undecided
            part = X if len(rows) == X.shape[0] else _safe_indexing(X, rows)
            yield rows, self.ask(int(voter), part)


def _keep_undecided(
    schedule: Schedule, step: int, X: Any, undecided: Rows, yes: npt.NDArray[np.int32]
) -> Rows:
    """Return the rows that go on after ``step`` votes."""
    lower, upper, first = schedule.steps[step, [LOWER, UPPER, START]]
    undecided = undecided[(yes[undecided] > lower) & (yes[undecided] < upper)]
    for exception in range(first, schedule.steps[step + 1, START]):
        n_yes, chance = schedule.exceptions[exception]
        there = undecided[yes[undecided] == n_yes]
        if len(there):
            draws = [stop_draw(schedule.signed_seed, bits, step) for bits in bits_of_rows(X, there)]
            undecided = np.setdiff1d(undecided, there[np.array(draws) < chance], assume_unique=True)
    return undecided


def bits_of_rows(X: Any, rows: Rows) -> list[int]:
    """Return for each row the 64 bits that stand for its values; texts are allowed among them."""
    part = _safe_indexing(X, rows)
    if hasattr(part, "toarray"):
        part = part.toarray()
    values = np.asarray(part)
    try:
        return [row_bits(x) for x in values.astype(np.float64)]
    except (TypeError, ValueError):
        digests = [hashlib.blake2b(repr(row).encode(), digest_size=8) for row in values.tolist()]
        return [int.from_bytes(digest.digest(), "little", signed=True) for digest in digests]
