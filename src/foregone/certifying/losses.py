"""RowLosses: what answers lose compared with those of everyone, row by row: agreement, accuracy or costs."""

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
    """What answers cost, in units in which no answer loses more than 1 compared with another.

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
            f"costs must have a row for each true class and a column for each answer, {n_classes} by "
            f"{n_classes} in the order of classes_, got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise InvalidInputError("costs must be finite: found NaN or infinity")
    unit = float(np.ptp(matrix, axis=1).max())
    if unit == 0:
        raise InvalidInputError(
            "all answers cost the same: give costs that differ, such as [[0, 1], [10, 0]]"
        )
    return CheckedCosts(matrix / unit, unit)


@dataclass(frozen=True, eq=False)
class RowLosses:
    """What it loses to give rows other answers than everyone together would.

    Attributes
    ----------
    kind : {"disagreement", "accuracy", "cost"}
        A row loses 1 if its answer differs; or if it differs and is wrong where that of everyone was right,
        and wins 1 the other way round; or what its answer costs more.
    truth : ndarray of int, shape (n_rows,), or None
        The numbers of the true classes; None for disagreement.
    costs : CheckedCosts or None
        Of answers, for costs; the loss is in its ``unit``.
    sets_off : bool
        Whether gains are set off against losses. Without them a loss is never smaller and its mean no less,
        but where few rows lose anything it takes fewer rows to bound.

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
        """Whether an answer can be better than that of everyone, a negative loss."""
        return self.kind != "disagreement" and self.sets_off

    def without_gains(self) -> RowLosses:
        """Return the same, but gains count as no loss."""
        return replace(self, sets_off=False)

    def with_and_without_gains(self) -> list[RowLosses]:
        """Return the same and, if a loss may be a gain, the same without gains: there is a choice."""
        return [self, self.without_gains()] if self.may_gain else [self]

    def of(self, answers: npt.NDArray[Any], full: npt.NDArray[Any]) -> BoolArray | FloatArray:
        """Return the loss of each row, given the numbers of the classes that are answered, from -1 to 1.

        Of two classes answers may be true and false. Disagreement is true or false.
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
        """Return the mean loss of accuracy, or of costs in their own unit; None without the truth."""
        if self.truth is None:
            return None
        lost = replace(self, sets_off=True).of(answers, full)
        return float(lost.mean()) * (1.0 if self.costs is None else self.costs.unit)

    def if_differs(self, full: npt.NDArray[Any]) -> FloatArray:
        """Return what each row loses if it gets the other one of two answers than everyone gives, -1 to 1."""
        return np.asarray(self.of(1 - full.astype(np.int64), full.astype(np.int64)), np.float64)

    def in_class_yes(self, full: npt.NDArray[Any]) -> BoolArray:
        """Return which rows a limit for the second class is for, by the truth or else the full answer."""
        return np.asarray((full if self.truth is None else self.truth) == 1)

    def take(self, rows: IntArray) -> RowLosses:
        """Return those of some rows."""
        return self if self.truth is None else replace(self, truth=self.truth[rows])
