"""ClassScores: what voters add to the sums of many classes, stored compactly if values repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, as_numbers
from foregone.errors import InvalidInputError

__all__ = ["ClassScores", "as_class_scores"]


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Scores of voters for each of many classes: line numbers into a table, or an array of all scores.

    A forest's trees have few distinct leaves, so a matrix of line numbers takes a fraction of the memory of
    the scores themselves.

    Attributes
    ----------
    lines : ndarray of int, shape (n_rows, n_voters), or None
        The line of the table that each voter gives to each row.
    table : ndarray of float
        Finite scores for all classes, shape (n_lines, n_classes); without ``lines``, the scores of every row
        and voter, shape (n_rows, n_voters, n_classes).

    Examples
    --------
    >>> votes = ClassScores.of_votes(np.array([[0, 2], [1, 1]]), n_classes=3)
    >>> votes.shape, votes.of_voter(1).tolist()
    ((2, 2, 3), [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    """

    lines: npt.NDArray[Any] | None
    table: npt.NDArray[Any]

    @classmethod
    def of_votes(cls, numbers: npt.NDArray[Any], n_classes: int) -> ClassScores:
        """Return votes as scores: 1 for the class voted for, 0 for the others."""
        return cls(numbers, np.eye(n_classes))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of rows, voters and classes."""
        n_rows, n_voters = self.table.shape[:2] if self.lines is None else self.lines.shape
        return n_rows, n_voters, self.table.shape[-1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> ClassScores:
        if self.lines is None:
            return ClassScores(None, self.table[rows])
        return ClassScores(self.lines[rows], self.table)

    def of_voter(self, voter: int) -> npt.NDArray[Any]:
        """Return one voter's scores, shape (n_rows, n_classes)."""
        return self.table[:, voter] if self.lines is None else self.table[self.lines[:, voter]]

    def of_class(self, number: int) -> npt.NDArray[Any]:
        """Return all voters' scores for one class, shape (n_rows, n_voters)."""
        return self.table[..., number] if self.lines is None else self.table[:, number][self.lines]

    def bounds(self) -> FloatArray:
        """Return the smallest and the largest score that each voter gives to each class.

        The shape is (2, n_voters, n_classes).
        """
        said = (self.of_voter(voter) for voter in range(self.shape[1]))
        return np.stack([(scores.min(axis=0), scores.max(axis=0)) for scores in said], axis=1)


def as_class_scores(scores: Any, what: str, n_voters: int | None = None) -> ClassScores:
    """Return scores for many classes as `ClassScores`. Raises InvalidInputError if they are not valid."""
    if isinstance(scores, ClassScores) and scores.lines is not None:
        _check_lines(scores.lines, as_numbers(scores.table, what))
        return scores
    array = as_numbers(scores.table if isinstance(scores, ClassScores) else scores, what)
    if array.ndim != 3 or array.shape[1] == 0 or array.shape[2] < 2:
        raise InvalidInputError(
            f"{what} of many classes must have the shape (n_rows, n_voters, n_classes), got {array.shape}"
        )
    if n_voters is not None and array.shape[1] != n_voters:
        raise InvalidInputError(f"{what} must have {n_voters} voters, got {array.shape[1]}")
    checked = array.astype(np.float64, copy=False)  # nobody writes into it
    if not np.isfinite(checked).all():
        row, voter, number = np.argwhere(~np.isfinite(checked))[0]
        raise InvalidInputError(
            f"{what} must be finite: row {row}, voter {voter}, class {number} is "
            f"{checked[row, voter, number]}. Remove such rows, or fix the voter that returns no score"
        )
    return ClassScores(None, checked)


def _check_lines(lines: npt.NDArray[Any], table: npt.NDArray[Any]) -> None:
    if lines.ndim != 2 or lines.shape[1] == 0 or lines.dtype.kind not in "iu":
        raise InvalidInputError("lines must be a matrix of integers with one column per voter")
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise InvalidInputError("table must hold finite scores, with one column per class (at least two)")
    if len(lines) and not 0 <= lines.min() <= lines.max() < len(table):
        raise InvalidInputError(f"lines must be between 0 and {len(table) - 1}, the last line of the table")
