"""Checking the rows that a caller passes in: once, cheaply, with scikit-learn's messages."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import MISSING, NO_RULES, REFUSED, TOO_LARGE, fill_block_keys
from foregone.errors import InvalidInputError
from foregone.forest.category_values import CategoryValues
from foregone.forest.device_arrays import is_on_device
from foregone.forest.tables import Columns, columns_of, to_numbers

__all__ = ["FLOAT32", "FLOAT64", "FLOATS", "RowFormat", "Rows"]

Rows = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Keys = npt.NDArray[Any]  # of uint32 or uint64

FLOAT32, FLOAT64 = FLOATS = np.dtype(np.float32), np.dtype(np.float64)


class RowFormat(NamedTuple):
    """What rows a forest accepts, and how their values are turned into keys.

    Attributes
    ----------
    owner : str
        Name of the class that error messages mention.
    n_features : int
        Number of columns.
    takes_missing, takes_infinite : bool
        Whether values may be NaN, or infinite.
    key_bits : {32, 64}
        32: values are rounded to float32 before they are compared. 64: to float64.
    array_bits : {32, 64}
        The same for arrays of other types than float32 and float64, which LightGBM rounds to float32.
    rules : ndarray of int, shape (n_features,) or (0,)
        How to read the values of each column, see ``_kernels/forest_keys.py``; empty if no column has a rule.
    category_values : CategoryValues or None
        Lists of categories; values are replaced by their positions before anything else is done.
    """

    owner: str
    n_features: int
    takes_missing: bool
    takes_infinite: bool = False
    key_bits: int = 32
    rules: npt.NDArray[np.int64] = NO_RULES
    category_values: CategoryValues | None = None
    array_bits: int = 64

    @property
    def takes(self) -> int:
        """Which values are accepted, as bits for the kernels."""
        return MISSING * self.takes_missing + TOO_LARGE * self.takes_infinite

    @property
    def kernel_rules(self) -> npt.NDArray[np.int64] | None:
        """The rules of all columns, for the kernels: None if no column has a rule."""
        # A copy: kernels would be compiled once more for a read-only array.
        return self.rules.copy() if len(self.rules) else None

    @property
    def array_type(self) -> np.dtype[Any]:
        """The type that arrays other than float32 and float64 are rounded to."""
        return FLOAT32 if min(self.key_bits, self.array_bits) == 32 else FLOAT64

    @property
    def is_plain(self) -> bool:
        """Whether rows are as for scikit-learn's trees: finite numbers, rounded to float32, or missing."""
        return (
            self.key_bits == 32
            and not self.takes_infinite
            and len(self.rules) == 0
            and self.category_values is None
        )

    @property
    def encodes_arrays(self) -> bool:
        """Whether even arrays of floats hold categories that have to be replaced."""
        return self.category_values is not None and self.category_values.encodes_arrays

    def new_keys(self, n_rows: int) -> Keys:
        """Return an uninitialised array for the keys of ``n_rows`` rows."""
        return np.empty(2 * n_rows * self.n_features, np.uint32 if self.key_bits == 32 else np.uint64)

    def load(self, block: Rows, keys: Keys) -> tuple[int, int]:
        """Fill the keys of a block of rows; return the number of keys per row and the kernels' ``shift``."""
        values = np.ascontiguousarray(block).reshape(-1)
        shift = fill_block_keys(values, keys, self.takes, self.kernel_rules)
        if shift == REFUSED:
            self.refuse(block)
        return self.n_features << (1 - shift), shift

    def as_rows(self, X: Any) -> Rows:
        """Return X as a 2-D array of native float32 or float64, without a copy if it is one already.

        Floats of these types are rounded by the kernels; anything else is rounded here, as scikit-learn
        does. Values are not checked here: the kernels report those that are not accepted.
        """
        if hasattr(X, "toarray") and hasattr(X, "nnz"):
            raise InvalidInputError(
                "Sparse data was passed, but dense data is required. "
                "Use '.toarray()' to convert to a dense array."
            )
        if is_on_device(X):
            raise InvalidInputError(
                'the rows are in GPU memory: pass device="cuda", or copy them to the host'
            )
        is_table = columns_of(X) is not None
        if self.category_values is not None:
            X = self.category_values.encode(X)
        if isinstance(X, Columns):
            X = self._side_by_side(X)
        array = np.asarray(X)
        if array.dtype.kind == "c":
            raise InvalidInputError(f"Complex data not supported\n{array}\n")
        if array.dtype != FLOAT32 and array.dtype != FLOAT64:
            wide = is_table and self.key_bits == 64
            try:
                with np.errstate(over="ignore"):
                    array = np.asarray(X, dtype=FLOAT64 if wide else self.array_type)
            except (TypeError, ValueError) as error:
                raise InvalidInputError(str(error)) from None
        elif not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.ndim != 2:
            if array.ndim > 2:
                raise InvalidInputError(
                    f"Found array with dim {array.ndim}, while dim <= 2 is required by {self.owner}."
                )
            kind = "scalar" if array.ndim == 0 else "1D"
            raise InvalidInputError(
                f"Expected 2D array, got {kind} array instead:\narray={array.astype(np.float32)}.\n"
                "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
                "array.reshape(1, -1) if it contains a single sample."
            )
        if len(array) == 0:
            raise InvalidInputError(
                f"Found array with 0 sample(s) (shape={array.shape}) "
                f"while a minimum of 1 is required by {self.owner}."
            )
        if array.shape[1] != self.n_features:
            raise InvalidInputError(
                f"X has {array.shape[1]} features, but {self.owner} is expecting {self.n_features} "
                "features as input."
            )
        return array

    def _side_by_side(self, table: Columns) -> Rows:
        """Combine columns of numbers into rows, rounded as scikit-learn rounds a frame of them.

        Columns without a common floating type are rounded one by one; otherwise the kernels round.
        """
        columns = []
        for place, column in enumerate(table.columns):
            try:
                columns.append(to_numbers(column))
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"column {place}: {error}") from None
        common = np.result_type(*(column.dtype for column in columns)) if columns else FLOAT32
        wide = self.key_bits == 64 or common == FLOAT64 or (common.kind == "f" and common.itemsize > 8)
        # In column order, without a copy to row order: rows are assembled in blocks that fit the cache.
        values = np.empty(table.shape[::-1], FLOAT64 if wide else FLOAT32)
        with np.errstate(over="ignore"):  # too large values become infinite, and are rejected
            for place, column in enumerate(columns):
                values[place] = column
        return values.T

    def as_row(self, x: Any) -> npt.NDArray[Any]:
        """Return one row as a contiguous, writable array of float32 or float64."""
        array = np.asarray(x, dtype=object if self.encodes_arrays else None)
        if array.ndim != 1:
            raise InvalidInputError(
                f"expected one row of {self.n_features} numbers, got an array of shape {array.shape}: "
                "use run for several rows"
            )
        return np.array(self.as_rows(array[None])[0], order="C")

    def refuse(self, rows: npt.NDArray[Any]) -> NoReturn:
        """Raise InvalidInputError for rows in which a kernel found values that are not accepted."""
        self.refuse_status(MISSING if np.isnan(rows).any() else TOO_LARGE)

    def refuse_status(self, status: int) -> NoReturn:
        """Raise the same error, given bits that say which kinds of values occur."""
        if not self.takes_missing and status & MISSING:
            raise InvalidInputError(
                "Input X contains NaN.\n"
                f"{self.owner} does not accept missing values encoded as NaN natively here, because the "
                "model it was made from does not. Impute them, or drop the rows that contain them."
            )
        raise InvalidInputError(
            f"Input X contains infinity or a value too large for dtype('float{self.key_bits}')."
        )
