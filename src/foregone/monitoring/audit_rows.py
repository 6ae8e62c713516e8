"""AuditRows: choose the share of rows to audit, by a hash of their values."""

from __future__ import annotations

import hashlib
import math
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.row_sample import fill_multipliers, list_chosen
from foregone.checks import IntArray

__all__ = ["AuditRows", "take_rows"]

SEED = 20_261_118  # constant, so that a row is audited on every machine or on none


class AuditRows:
    """Choose a share of rows by their values: the same rows in every batch and on every machine.

    Numbers are first rounded to float32, strings are hashed to a number, and missing values become NaN, so
    that arrays, frames and columns of files give the same rows.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(100_000, 5))
    >>> chosen = AuditRows(0.01).choose(rows)
    >>> 900 < len(chosen) < 1100, AuditRows(0.01).choose(rows[chosen[:1]])
    (True, array([0]))
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self._multipliers = np.zeros(1, np.uint64)

    def multipliers(self, n_features: int) -> npt.NDArray[np.uint64]:
        """Return the factors of the hash, by which the kernels multiply the values of a row."""
        if len(self._multipliers) != n_features + 1:
            self._multipliers = np.empty(n_features + 1, np.uint64)
            fill_multipliers(SEED, self._multipliers)
            self._multipliers[-1] = min(int(self.share * 2**64), 2**64 - 1)
        return self._multipliers

    def choose(self, rows: Any) -> IntArray:
        """Return the indices of the rows to audit."""
        n_rows = rows.shape[0]
        if self.share <= 0 or n_rows == 0:
            return np.empty(0, np.int64)
        if self.share >= 1:
            return np.arange(n_rows)
        if not (isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)):
            rows = _as_numbers(rows)
        chosen = np.empty(n_rows, np.int64)
        return chosen[: list_chosen(rows, self.multipliers(rows.shape[1]), chosen)].copy()


def take_rows(rows: Any, chosen: IntArray | slice) -> Any:
    """Return some rows of an array, a frame, a sparse matrix or columns of a file."""
    if hasattr(rows, "columns") and isinstance(rows.columns, tuple):
        return type(rows)(tuple(take_rows(column, chosen) for column in rows.columns))
    if hasattr(rows, "iloc"):
        return rows.iloc[chosen]
    is_arrow = hasattr(rows, "null_count") and hasattr(rows, "type")
    return rows.take(chosen) if is_arrow else rows[chosen]


def _as_numbers(rows: Any) -> npt.NDArray[np.float64]:
    """Return rows as an array of floats; each value is converted independently of other rows."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if hasattr(rows, "columns") and isinstance(rows.columns, tuple):  # columns of a file
        columns = [np.asarray(column) for column in rows.columns]
    elif hasattr(rows, "iloc"):
        columns = [np.asarray(rows.iloc[:, place]) for place in range(rows.shape[1])]
    else:
        table = np.asarray(rows)
        if table.dtype.kind in "biuf":
            return table.astype(np.float64)
        columns = list(table.T)
    numbers = np.empty((rows.shape[0], len(columns)))
    for place, column in enumerate(columns):
        numbers[:, place] = column if column.dtype.kind in "biuf" else _numbers_of(column.tolist())
    return numbers


def _numbers_of(values: list[Any]) -> list[float]:
    known = {value: _number_of(value) for value in set(values)}
    return [known[value] for value in values]


def _number_of(value: Any) -> float:
    if isinstance(value, Real | np.bool_):
        return float(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value == "":  # "": as CSV has it
        return math.nan
    digest = hashlib.blake2b(str(value).encode(), digest_size=3).digest()
    return float(int.from_bytes(digest, "little"))  # which float32 holds exactly
