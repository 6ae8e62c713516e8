"""Tables: the columns of a frame or of a file, as the numbers that trees compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "columns_of", "is_category", "is_null", "to_numbers", "to_values"]


class Columns(NamedTuple):
    """Columns read from a file, in the order of a model's features; a category is written as its value.

    Files keep no type for categories, so a model that knows a list of categories looks the values up in it.

    Attributes
    ----------
    columns : tuple
        Arrays of NumPy or of Arrow, or columns of a pandas frame, all of the same length.
    """

    columns: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.columns[0]) if self.columns else 0, len(self.columns)


def columns_of(X: Any) -> Sequence[Any] | None:
    """Return the columns of a pandas or polars frame or of `Columns`; None for anything else."""
    if isinstance(X, Columns):
        return X.columns
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    if hasattr(X, "get_columns") and hasattr(X, "schema"):
        return list(X.get_columns())
    return None


def is_category(column: Any) -> bool:
    """Whether a frame says of a column that it holds categories."""
    return str(getattr(column, "dtype", "")).startswith(("category", "Categorical", "Enum"))


def to_values(column: Any) -> npt.NDArray[Any]:
    """Return a column as an array: numbers where it can be, a missing one as NaN; otherwise objects."""
    if _is_arrow(column):
        if hasattr(column.type, "value_type") and hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        if column.null_count and str(column.type) == "bool":
            column = column.cast("float64")
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if isinstance(getattr(column, "dtype", None), np.dtype):
        return np.asarray(column)
    if hasattr(column, "iloc") and not is_category(column):
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        if is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype):
            # These types have a missing value of their own, which no array of numbers can hold.
            return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    return np.asarray(column)


def to_numbers(column: Any) -> npt.NDArray[Any]:
    """Return a column as an array of integers, floats or booleans, a missing value as NaN.

    Raises
    ------
    TypeError, ValueError
        If it holds something else.
    """
    values = to_values(column)
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_null(value) else value for value in values.tolist()], object)
    return np.asarray(values, np.float64)


def is_null(value: Any) -> bool:
    """Whether a value stands for a missing one and is no number: None, or what pandas has instead."""
    return value is None or type(value).__name__ == "NAType"


def _is_arrow(column: Any) -> bool:
    return hasattr(column, "null_count") and hasattr(column, "type")
