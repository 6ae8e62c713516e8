"""Stops: the number of votes after which rows stopped, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.row_sample import count_stops
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.strategy.json_file import Fields

__all__ = ["Stops"]


@dataclass(frozen=True, eq=False, repr=False)
class Stops:
    """Number of rows that stopped after each number of votes, with each answer.

    A `Monitor` compares rows in production with the stops of the calibration rows.

    Attributes
    ----------
    counts : ndarray of shape (n_classes, n_voters + 1)
        Entry (c, i): number of rows answered with class number c after i votes.
    n_differing : int or None
        Number of rows whose answer differs from the full vote; None if unknown.

    Examples
    --------
    >>> stops = Stops.count([3, 3, 7, 5], [0, 1, 1, 1], n_voters=7, n_classes=2)
    >>> stops.n_rows, float(stops.mean_asked), stops.answered.tolist()
    (4, 4.5, [1, 3])
    """

    counts: IntArray
    n_differing: int | None = None

    @classmethod
    def count(
        cls,
        asked: npt.ArrayLike,
        answers: npt.ArrayLike,
        n_voters: int,
        n_classes: int,
        n_differing: int | None = None,
    ) -> Stops:
        """Count rows by the number of voters asked and the number of the class answered."""
        counts = np.zeros((n_classes, n_voters + 1), np.int64)
        add_stops(asked, answers, counts)
        return cls(counts, n_differing)

    @property
    def n_voters(self) -> int:
        """Number of voters in the ensemble."""
        return int(self.counts.shape[1] - 1)

    @property
    def n_classes(self) -> int:
        """Number of different answers."""
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def asked(self) -> IntArray:
        """Number of rows that stopped after each number of votes."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def answered(self) -> IntArray:
        """Number of rows answered with each class."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def mean_asked(self) -> float:
        """Mean number of votes asked; 0 without rows."""
        return float(self.asked @ np.arange(self.n_voters + 1) / max(self.n_rows, 1))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file; only entries with rows are stored."""
        places = np.argwhere(self.counts)
        return {
            "n_voters": self.n_voters,
            "n_classes": self.n_classes,
            "n_differing": self.n_differing,
            "rows": [[int(c), int(i), int(self.counts[c, i])] for c, i in places],
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> Stops:
        """Check and read the fields written by `to_fields`."""
        n_voters, n_classes = fields.whole("n_voters", 1, 2**31), fields.whole("n_classes", 1, 2**31)
        fields.memory.take(16 * n_classes * (n_voters + 1), "a table of stops")
        table = read_table(fields, "rows", (n_classes, n_voters + 1))
        if (table % 1).any() or table.sum() > 2**53:
            raise fields.error("rows", "must hold integers of at most 2**53 rows")
        counts = table.astype(np.int64)
        differing = fields.whole("n_differing", 0) if "n_differing" in fields else None
        if differing is not None and differing > counts.sum():
            raise fields.error("n_differing", "is larger than the number of rows")
        return cls(counts, differing)

    def __repr__(self) -> str:
        return f"<Stops of {self.n_rows:,} rows, {self.mean_asked:.1f} of {self.n_voters} votes asked>"


def add_stops(asked: npt.ArrayLike, answers: npt.ArrayLike, counts: IntArray) -> None:
    """Add rows to a table of counts by answer and number of votes asked; raise if one is outside of it."""
    numbers = [_whole(given, name) for given, name in ((asked, "asked"), (answers, "answers"))]
    if numbers[0].shape != numbers[1].shape:
        raise InvalidInputError(
            f"asked and answers must have one entry for each row, got {len(numbers[0]):,} and "
            f"{len(numbers[1]):,}"
        )
    added = np.zeros_like(counts)
    if not count_stops(*numbers, added):
        n_classes, n_voters = counts.shape[0], counts.shape[1] - 1
        raise InvalidInputError(
            f"asked must be from 0 to {n_voters}, the number of voters, and answers must be numbers of "
            f"classes from 0 to {n_classes - 1}. Were these rows answered by another classifier?"
        )
    counts += added


def _whole(given: Any, name: str) -> npt.NDArray[Any]:
    """Return an array of integers in the format of the kernels."""
    array = np.ascontiguousarray(given)
    if array.ndim != 1 or (array.dtype.kind not in "biu" and array.size):
        raise InvalidInputError(
            f"{name} must be a one-dimensional array of integers, got {array.dtype} of shape {array.shape}"
        )
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        array = np.clip(array, -1, 2**31 - 1)  # larger values are invalid anyway
    return array.astype(np.int32, copy=False)


def read_table(fields: Fields, key: str, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Return a table from its entries that are not 0, stored as row, column and value."""
    table = np.zeros(shape)
    for entry in fields.rows(key, 3):
        row, column, value = entry
        inside = type(row) is int and type(column) is int and 0 <= row < shape[0] and 0 <= column < shape[1]
        if not inside or type(value) not in (int, float) or not 0 <= value <= 2**53:
            raise fields.error(key, f"must hold rows, columns and counts within {shape[0]} by {shape[1]}")
        table[row, column] = value
    return table
