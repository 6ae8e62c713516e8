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
    """Base class of forests that vote: `PackedForest` (two classes) and `PluralityForest` (any number)."""

    @classmethod
    def from_sklearn(cls, model: Any) -> Self:
        """Pack a fitted scikit-learn model; the model itself is not kept.

        Parameters
        ----------
        model : RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier or BaggingClassifier
            Fitted on two classes; for a `PluralityForest`, on two or more. A bagging model must consist of
            decision trees, which may use different subsets of the features.
        """
        # Trees of a model in memory need no check.
        return cls._packed(import_model(model, cls._leaf))

    def order(
        self, seed: int, x: npt.ArrayLike | None = None, order: Order | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the order in which the trees are asked about a row, for a seed.

        Parameters
        ----------
        seed : int
            As in `run`.
        x : array-like of shape (n_features,), optional
            The row; ignored if all rows share one order.
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
            For ``n_trees`` voters; a PluralityStrategy must also allow as many different answers as there
            are classes. None asks every tree.
        seed : int
            Seeds the random order of the trees and the strategy's random draws. A row's outcome depends
            only on its values and the seed: it is the same on every machine, in any batch and with any
            number of threads.
        order : {"shared", "dealt", "per_row"} or FixedOrder
            "shared": one random order for all rows, which keeps the trees in the cache; errors are
            correlated, because all rows use the same order. "dealt": each row gets one of `N_ORDERS` random
            orders, by its values, so that this averages out. "per_row": each row draws its own order,
            several times slower; errors of different rows are uncorrelated. A `FixedOrder` sets your own
            order, as fast as a shared one. Equal rows always get the same order.
        n_threads : int, optional
            Maximum number of threads; by default all cores of the process. Small batches use one.
        device : {"cpu", "cuda"}
            Where trees are run, see docs/gpu.md. With "cuda", rows may be in GPU memory, and outcomes are
            returned in the same memory as the rows. No result depends on it.

        Returns
        -------
        answers : ndarray of bool, or of int
            For two classes, the strategy's answer at the stop, True for yes. Unless the strategy defines its
            answers, that is the majority of the asked trees; a tie is no. For a `PluralityForest`, the
            leader, by its number in ``classes``; among several, the one that was voted for first, or, if
            all trees were asked, the first one in ``classes``.
        asked : ndarray of int
            How many trees were asked.
        votes : ndarray of int
            How many of them said yes; for a `PluralityForest`, how many voted for the answer.
        """
        return self._run(X, strategy, seed, order, n_threads, device)

    def run_one(
        self, x: npt.ArrayLike, strategy: StrategyT | None, *, seed: int, order: Order = "shared"
    ) -> tuple[AnswerT, int, int]:
        """Ask trees about a single row until the strategy stops: same outcome as `run`, lower latency.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            A writable, contiguous array of float32 or float64 is fastest.
        strategy, seed, order
            As in `run`; a `PluralityForest` requires a strategy here.

        Returns
        -------
        answer : bool or int
            The strategy's answer at the stop, as in `run`.
        asked, votes : int
            Number of trees asked, and how many of them said yes or voted for the answer.
        """
        return self._run_one(x, strategy, seed, order)  # type: ignore[no-any-return]  # a kernel's
