"""Tables: the columns of a frame or file, as numbers that trees can compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "columns_of", "is_category", "is_null", "to_numbers", "to_values"]


class Columns(NamedTuple):
    """Columns read from a file, in the order of a model's features; categories are given by value.

    Files have no type for categories, so a model with lists of categories looks the values up in them.

    Attributes
    ----------
    columns : tuple
        NumPy or Arrow arrays, or columns of a pandas frame, all of the same length.
    """

    columns: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.columns[0]) if self.columns else 0, len(self.columns)


def columns_of(X: Any) -> Sequence[Any] | None:
    """Return the columns of a pandas or polars frame or of `Columns`, else None."""
    if isinstance(X, Columns):
        return X.columns
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    if hasattr(X, "get_columns") and hasattr(X, "schema"):
        return list(X.get_columns())
    return None


def is_category(column: Any) -> bool:
    """Whether a frame's column has a categorical dtype."""
    return str(getattr(column, "dtype", "")).startswith(("category", "Categorical", "Enum"))


def to_values(column: Any) -> npt.NDArray[Any]:
    """Return a column as an array of numbers, with NaN for missing values, or of objects if impossible."""
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
            # These types have their own missing value, which an array of numbers cannot hold.
            return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    return np.asarray(column)


def to_numbers(column: Any) -> npt.NDArray[Any]:
    """Return a column as an array of integers, floats or booleans, with NaN for missing values.

    Raises
    ------
    TypeError, ValueError
        If it holds anything else.
    """
    values = to_values(column)
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_null(value) else value for value in values.tolist()], object)
    return np.asarray(values, np.float64)


def is_null(value: Any) -> bool:
    """Whether a value is a missing value other than a float NaN: None, or pandas' equivalents."""
    return value is None or type(value).__name__ == "NAType"


def _is_arrow(column: Any) -> bool:
    return hasattr(column, "null_count") and hasattr(column, "type")
