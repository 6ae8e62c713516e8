"""VotingForest: trees that vote, asked in a random order."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from foregone.checks import check_seed
from foregone.forest.device_arrays import Device
from foregone.forest.forest import Forest, OutcomeT, StrategyT
from foregone.forest.importers.by_model import import_model
from foregone.forest.schedule import Order, order_for, row_bits

__all__ = ["VotingForest"]

AnswerT = TypeVar("AnswerT")


class VotingForest(Forest[StrategyT, OutcomeT], Generic[StrategyT, OutcomeT, AnswerT]):
    """What `PackedForest`, votes between two classes, and `PluralityForest`, among any number, share."""

    @classmethod
    def from_sklearn(cls, model: Any) -> Self:
        """Pack a fitted scikit-learn model; the model itself is not kept.

        Parameters
        ----------
        model : RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier or BaggingClassifier
            Fitted on two classes; for a `PluralityForest`, on two or more. A bag must hold decision trees,
            and may have given each its own features.
        """
        # The trees of a living model need no check.
        return cls._packed(import_model(model, cls._leaf))

    def order(
        self, seed: int, x: npt.ArrayLike | None = None, order: Order | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the order in which a seed asks the trees about a row.

        Parameters
        ----------
        seed : int
            As in `run`.
        x : array-like of shape (n_features,), optional
            The row; of no account for orders that all rows share.
        order : Order, optional
            As in `run`; by default "per_row" for a row, "shared" without one.
        """
        row = None if x is None else row_bits(self.rows.as_row(x), self.rows)
        kind = order if order is not None else "shared" if x is None else "per_row"
        return order_for(self.n_trees, check_seed(seed), kind, row)

    def run(
        self,
        X: npt.ArrayLike,
        strategy: StrategyT | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
        device: Device = "cpu",
    ) -> OutcomeT:
        """Ask trees until the strategy stops, for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            float32 or float64 in C order is used as it is.
        strategy : StoppingStrategy, for a `PluralityForest` PluralityStrategy, or None
            For ``n_trees`` voters; a PluralityStrategy also for as many different answers as there are
            classes, or any number. None asks every tree.
        seed : int
            Decides the random order of the trees, and the draws where the strategy leaves it to chance.
            A row's outcome is a function of its values and the seed, on every machine, in any batch and
            with any number of threads.
        order : {"shared", "dealt", "per_row"} or FixedOrder
            "shared": one random order for all rows, which keeps the trees in the cache; its luck is that of
            all rows. "dealt": each row gets one of `N_ORDERS` random orders, by its values, so that luck
            evens out. "per_row": each row draws its own, several times slower; errors of different rows are
            not correlated. A `FixedOrder` is given by you, and as fast as a shared one. Equal rows are
            asked in the same order, whichever it is.
        n_threads : int, optional
            At most this many threads; by default as many as the process may use. Small work stays on one.
        device : {"cpu", "cuda"}
            Where trees are asked, see docs/gpu.md. Rows may be on the GPU then, and outcomes are where rows
            are. No result depends on it.

        Returns
        -------
        answers : ndarray of bool, or of int
            Of two classes, what the strategy answers at the stop, True for yes. Unless it has answers of its
            own, that is whether the majority of the asked trees says yes; a tie is no. Of a
            `PluralityForest`, the leader, by its number in ``classes``; of several, the one that was voted
            for first, or if all trees were asked the first one in ``classes``.
        asked : ndarray of int
            How many trees were asked.
        votes : ndarray of int
            How many of them said yes; of a `PluralityForest`, how many voted for the answer.
        """
        return self._run(X, strategy, seed, order, n_threads, device)

    def run_one(
        self, x: npt.ArrayLike, strategy: StrategyT | None, *, seed: int, order: Order = "shared"
    ) -> tuple[AnswerT, int, int]:
        """Ask trees about a single row until the strategy stops: the outcome of `run`, fastest.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Fastest as a writable, contiguous array of float32 or float64.
        strategy, seed, order
            As in `run`; a `PluralityForest` needs a strategy here.

        Returns
        -------
        answer : bool or int
            What the strategy answers at the stop, as in `run`.
        asked, votes : int
            How many trees were asked, and how many of them said yes or voted for the answer.
        """
        return self._run_one(x, strategy, seed, order)  # type: ignore[no-any-return]  # a kernel's
