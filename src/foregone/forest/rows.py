"""Checking the rows a caller passes in: once, cheaply, and in scikit-learn's words."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError

__all__ = ["FLOAT32", "FLOAT64", "Rows", "as_row", "as_rows", "refuse_values"]

Rows = npt.NDArray[np.float32] | npt.NDArray[np.float64]

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def as_rows(X: Any, n_features: int) -> Rows:
    """Return X as a 2-D array of native float32 or float64, without a copy where it is one already.

    float64 is left for the kernels to round; anything else is rounded to float32 here, directly, as
    scikit-learn does. Values are not looked at: the kernels report those that are not finite.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InvalidInputError(
            "Sparse data was passed, but dense data is required. "
            "Use '.toarray()' to convert to a dense array."
        )
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise InvalidInputError(f"Complex data not supported\n{array}\n")
    if array.dtype != FLOAT32 and array.dtype != FLOAT64:
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(X, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(str(error)) from None
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim != 2:
        if array.ndim > 2:
            raise InvalidInputError(
                f"Found array with dim {array.ndim}, while dim <= 2 is required by PackedForest."
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
            "while a minimum of 1 is required by PackedForest."
        )
    if array.shape[1] != n_features:
        raise InvalidInputError(
            f"X has {array.shape[1]} features, but PackedForest is expecting {n_features} features as input."
        )
    return array


def as_row(x: Any, n_features: int) -> npt.NDArray[Any]:
    """Return one row as a contiguous, writable array of float32 or float64."""
    array = np.asarray(x)
    if array.ndim != 1:
        raise InvalidInputError(
            f"one row of {n_features} numbers is expected, got an array of shape {array.shape}: "
            "use run for several rows"
        )
    return np.array(as_rows(array[None], n_features)[0], order="C")


def refuse_values(rows: npt.NDArray[Any], takes_missing: bool) -> NoReturn:
    """Raise the error for rows in which a kernel found values it cannot take."""
    if not takes_missing and np.isnan(rows).any():
        raise InvalidInputError(
            "Input X contains NaN.\n"
            "PackedForest does not accept missing values encoded as NaN natively here, because the model it "
            "was made from does not. Impute them or drop the rows that hold them."
        )
    raise InvalidInputError("Input X contains infinity or a value too large for dtype('float32').")
