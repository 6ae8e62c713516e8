"""What an adapter makes: a way to predict, and what its labels must be before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.datasets import Rows
from benchmarks.forests import Task

__all__ = ["Engine", "WrongLabelsError", "check_own_forest", "check_same_forest"]

TIE = 1e-5  # a probability this close to one half may go either way in float32
MOST_WRONG = 1e-4  # of the rows: thresholds rounded to float32 may send a value astray now and then
MOST_EXTRA_ERROR = 0.02  # of a forest of one's own, beside that of scikit-learn's


class WrongLabelsError(Exception):
    """An engine does not predict what it should, so its time means nothing."""


@dataclass(frozen=True)
class Engine:
    """A way to predict, with a given number of threads.

    Attributes
    ----------
    prepare : callable
        Brings rows into the form the engine likes best; not timed.
    predict : callable
        Predicts prepared rows; timed.
    labels : callable
        Makes 0/1 labels of what ``predict`` returned; not timed.
    check : callable
        Given labels of the test rows, raises `WrongLabelsError` or returns a remark for the report.
    prepare_one : callable, optional
        The same as ``prepare`` for calls with one row, where it is another way.
    """

    prepare: Callable[[Rows], Any]
    predict: Callable[[Any], Any]
    labels: Callable[[Any], npt.NDArray[np.int64]]
    check: Callable[[npt.NDArray[np.int64]], str]
    prepare_one: Callable[[Rows], Any] | None = None

    def verify(self, X: Rows) -> str:
        """Predict the rows at once and one by one, and check the labels."""
        labels = self.labels(self.predict(self.prepare(X)))
        remark = self.check(labels)
        for k in range(5):
            prepared = (self.prepare_one or self.prepare)(X[k : k + 1])
            if self.labels(self.predict(prepared))[0] != labels[k]:
                raise WrongLabelsError(f"row {k} on its own gets another label than in a batch")
        return remark

    def call_on(self, X: Rows, *, one_by_one: bool) -> Callable[[int], Any]:
        """Return a call with all rows, or one for each of them, by its number."""
        if one_by_one:
            prepared = [(self.prepare_one or self.prepare)(X[k : k + 1]) for k in range(len(X))]
            return lambda k: self.predict(prepared[k])
        batch = self.prepare(X)
        return lambda _: self.predict(batch)


def check_same_forest(task: Task, labels: npt.NDArray[np.int64]) -> str:
    """Check labels of an engine that runs scikit-learn's own trees."""
    decided = np.abs(task.probabilities - 0.5) > TIE
    wrong = int(np.sum((labels != task.predicted) & decided))
    if wrong > MOST_WRONG * len(labels):
        raise WrongLabelsError(f"{wrong} of {len(labels)} labels differ from scikit-learn's")
    ties = int(np.sum(labels != task.predicted)) - wrong
    parts = [f"{count} {what}" for count, what in ((wrong, "wrong"), (ties, "ties the other way")) if count]
    return "same forest; labels: " + (", ".join(parts) or "all equal")


def check_own_forest(task: Task, labels: npt.NDArray[np.int64], own: npt.NDArray[np.int64]) -> str:
    """Check labels of a forest that the engine trained itself: ``own`` are those of its probabilities."""
    if (wrong := int(np.sum(labels != own))) > MOST_WRONG * len(labels):
        raise WrongLabelsError(f"{wrong} of {len(labels)} labels differ from its own probabilities")
    y = task.dataset.y_test
    error, usual = np.mean(labels != y), np.mean(task.predicted != y)
    if error - usual > MOST_EXTRA_ERROR:
        raise WrongLabelsError(f"its error is {error:.4f}, that of scikit-learn's forest {usual:.4f}")
    return f"own forest; error {error:.4f} beside {usual:.4f}"
