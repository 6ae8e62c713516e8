"""AuditRows: which rows are audited, a share of them by a hash of their values."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.row_sample import fill_multipliers, first_is_chosen, list_chosen
from foregone.checks import IntArray

__all__ = ["AuditRows"]

SEED = 20_261_118  # the same everywhere: a row is audited on every machine, or on none


class AuditRows:
    """A share of all rows, chosen by their values: the same ones in every batch and on every machine.

    Numbers are rounded to float32 first. Rows that are no numbers are chosen by how they print.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(100_000, 5))
    >>> chosen = AuditRows(0.01).choose(rows)
    >>> 900 < len(chosen) < 1100, AuditRows(0.01).takes_one(rows[chosen[:1]])
    (True, True)
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self._multipliers = np.zeros(1, np.uint64)

    def multipliers(self, n_features: int) -> npt.NDArray[np.uint64]:
        """Return what the kernels multiply the values of a row with."""
        if len(self._multipliers) != n_features + 1:
            self._multipliers = np.empty(n_features + 1, np.uint64)
            fill_multipliers(SEED, self._multipliers)
            self._multipliers[-1] = min(int(self.share * 2**64), 2**64 - 1)
        return self._multipliers

    def takes_one(self, row: Any) -> bool:
        """Whether a row is audited, an array of float32 or float64 of shape (1, n_features)."""
        return self.share > 0 and bool(first_is_chosen(row, self.multipliers(row.shape[1])))

    def choose(self, rows: Any) -> IntArray:
        """Return the numbers of the rows that are audited."""
        n_rows = rows.shape[0]
        if self.share <= 0 or n_rows == 0:
            return np.empty(0, np.int64)
        if self.share >= 1:
            return np.arange(n_rows)
        if not (isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)):
            rows = _as_numbers(rows)
        if rows.dtype == object:
            return np.array([k for k, row in enumerate(rows) if self._takes(row)], np.int64)
        chosen = np.empty(n_rows, np.int64)
        return chosen[: list_chosen(rows, self.multipliers(rows.shape[1]), chosen)].copy()

    def _takes(self, row: Any) -> bool:
        """Whether a row of anything is audited."""
        digest = hashlib.blake2b(repr(list(row)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") < self.share * 2**64


def _as_numbers(rows: Any) -> Any:
    """Return rows as an array of floats, or of Python's own objects where they are no numbers."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if hasattr(rows, "columns") and isinstance(rows.columns, tuple):  # columns of a file
        table: Any = np.empty(rows.shape, object)
        for place, column in enumerate(rows.columns):
            table[:, place] = np.asarray(column).tolist()
    else:
        table = np.asarray(rows)
    try:
        return table.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        return np.array(table.tolist(), object)
