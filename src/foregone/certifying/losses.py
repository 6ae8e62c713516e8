"""RowLosses: the loss of early answers against the full vote, row by row: agreement, accuracy or costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import BoolArray, FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError

__all__ = ["CheckedCosts", "LossKind", "RowLosses", "check_costs"]

LossKind = Literal["disagreement", "accuracy", "cost"]


@dataclass(frozen=True, eq=False)
class CheckedCosts:
    """A cost matrix, scaled so that no answer costs more than 1 above another.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        ``matrix[truth, answer]``, divided by ``unit``.
    unit : float
        The largest difference between the costs of two answers to the same truth.
    """

    matrix: FloatArray
    unit: float


def check_costs(costs: Any, n_classes: int) -> CheckedCosts:
    """Check a matrix of costs, one row for each true class and one column for each answer.

    Examples
    --------
    >>> check_costs([[0, 1], [10, 0]], 2).unit
    10.0
    """
    matrix = as_numbers(costs, "costs").astype(np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise InvalidInputError(
            f"costs must have shape ({n_classes}, {n_classes}), got {matrix.shape}: give a row for each true "
            "class and a column for each answer, in the order of classes_"
        )
    if not np.isfinite(matrix).all():
        raise InvalidInputError("costs must be finite, got NaN or infinity: replace them by numbers")
    unit = float(np.ptp(matrix, axis=1).max())
    if unit == 0:
        raise InvalidInputError(
            "costs must differ between answers, got equal costs in every row: give for example "
            "[[0, 1], [10, 0]]"
        )
    return CheckedCosts(matrix / unit, unit)


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The loss of each row if its answer differs from the full vote.

    Attributes
    ----------
    kind : {"disagreement", "accuracy", "cost"}
        "disagreement": a row loses 1 if its answer differs. "accuracy": it loses 1 if its answer is wrong
        where the full vote is right, and gains 1 in the reverse case. "cost": it loses the extra cost.
    truth : ndarray of int, shape (n_rows,), or None
        The true class numbers; None for disagreement.
    costs : CheckedCosts or None
        The cost matrix, for costs; the loss is in its ``unit``.
    sets_off : bool
        Whether gains are offset against losses. Without gains the mean loss is never smaller, but if few rows
        lose anything, it can be bounded with fewer rows.

    Examples
    --------
    >>> losses = RowLosses("accuracy", np.array([0, 1, 1]))
    >>> losses.of(answers=np.array([1, 1, 0]), full=np.array([0, 0, 0]))
    array([ 1., -1.,  0.])
    >>> losses.without_gains().of(answers=np.array([1, 1, 0]), full=np.array([0, 0, 0]))
    array([ True, False, False])
    """

    kind: LossKind = "disagreement"
    truth: IntArray | None = None
    costs: CheckedCosts | None = None
    sets_off: bool = True

    @property
    def may_gain(self) -> bool:
        """Whether an answer can be better than the full vote, which is a negative loss."""
        return self.kind != "disagreement" and self.sets_off

    def without_gains(self) -> RowLosses:
        """Return the same losses with gains counted as 0."""
        return replace(self, sets_off=False)

    def with_and_without_gains(self) -> list[RowLosses]:
        """Return these losses and, if gains are possible, also the losses without gains."""
        return [self, self.without_gains()] if self.may_gain else [self]

    def of(self, answers: npt.NDArray[Any], full: npt.NDArray[Any]) -> BoolArray | FloatArray:
        """Return the loss of each row, from -1 to 1, given the class numbers of the answers.

        For two classes, answers may be booleans. Disagreement is returned as booleans.
        """
        if self.truth is None:
            return np.asarray(answers != full, np.bool_)
        if self.costs is None and not self.sets_off:
            return np.asarray((answers != self.truth) & (full == self.truth))
        if self.costs is None:
            return np.asarray((answers != self.truth).astype(np.float64) - (full != self.truth))
        matrix, given, whole = self.costs.matrix, answers.astype(np.int64), full.astype(np.int64)
        lost = matrix[self.truth, given] - matrix[self.truth, whole]
        return np.asarray(lost if self.sets_off else np.maximum(lost, 0.0))

    def mean(self, answers: npt.NDArray[Any], full: npt.NDArray[Any]) -> float | None:
        """Return the mean loss of accuracy, or rise in cost in its own unit; None without true labels."""
        if self.truth is None:
            return None
        lost = replace(self, sets_off=True).of(answers, full)
        return float(lost.mean()) * (1.0 if self.costs is None else self.costs.unit)

    def if_differs(self, full: npt.NDArray[Any]) -> FloatArray:
        """Return the loss of each row, from -1 to 1, if its answer is not the full vote (two classes)."""
        return np.asarray(self.of(1 - full.astype(np.int64), full.astype(np.int64)), np.float64)

    def in_class_yes(self, full: npt.NDArray[Any]) -> BoolArray:
        """Return which rows the limit of the second class covers, by true class if known, or by full vote."""
        return np.asarray((full if self.truth is None else self.truth) == 1)

    def take(self, rows: IntArray) -> RowLosses:
        """Return the losses of some rows."""
        return self if self.truth is None else replace(self, truth=self.truth[rows])
