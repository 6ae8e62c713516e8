"""Categorical columns: translate the caller's values into the numbers that the trees use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.forest.tables import Columns, columns_of, is_category, is_null, to_numbers, to_values
from foregone.strategy.json_file import Fields, is_finite_number

__all__ = ["CategoryValues", "category_list"]


class CategoryValues(NamedTuple):
    """Lists of categories: each category in a row is replaced by its position in its column's list.

    Missing values become NaN, and so do values not in the list, unless ``others_last``. Values are compared
    by equality: 3.0 matches 3, and 3.5 is unknown to a list of integers.

    Attributes
    ----------
    features : tuple of int, or None
        The column of each list, ascending. None if unknown: then the lists belong to a data frame's columns
        of dtype category, in their order.
    values : tuple of ndarray
        Each either finite float64 or objects that are all ``str``, without duplicates.
    others_last : bool
        Whether values not in the list form a category of their own, positioned after the last one. Then
        only None, NaN and the empty text are missing.
    of_frames : bool
        Whether only data frames hold categories by value, in columns of dtype category, as in LightGBM and
        XGBoost. The columns of arrays then hold positions and are not translated.

    Examples
    --------
    >>> sizes = CategoryValues((1,), (category_list(["S", "M", "L"]),))
    >>> sizes.encode([[0.5, "L"], [1.5, "S"], [2.5, "XS"]])
    array([[0.5, 2. ],
           [1.5, 0. ],
           [2.5, nan]])
    """

    features: tuple[int, ...] | None
    values: tuple[npt.NDArray[Any], ...]
    others_last: bool = False
    of_frames: bool = False

    @property
    def encodes_arrays(self) -> bool:
        """Whether arrays hold categories by value as well."""
        return not self.of_frames and self.features is not None

    def encode(self, X: Any) -> Any:
        """Return the rows with categories replaced, or X itself where there is nothing to replace.

        Shapes are not checked here: rows with the wrong number of columns are returned unchanged.
        """
        table = columns_of(X)
        if table is None and not self.encodes_arrays:
            return X
        columns = _array_columns(X) if table is None else table
        features = self.features if self.encodes_arrays else self._of_table(X, table or ())
        if columns is None or features is None or len(columns) <= max(features, default=-1):
            return X
        lists = dict(zip(features, self.values, strict=True))
        if isinstance(columns, np.ndarray) and columns.dtype.kind in "buif":
            rows = np.array(columns.T, dtype=np.float64)
            for place, values in lists.items():
                rows[:, place] = _positions(columns[place], values)
            return rows
        rows = np.empty((len(columns), len(columns[0]) if len(columns) else 0))
        for place, column in enumerate(columns):
            try:
                rows[place] = self._encoded(column, lists[place]) if place in lists else to_numbers(column)
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"column {place}: {error}") from None
        return rows.T

    def _of_table(self, X: Any, columns: Sequence[Any]) -> tuple[int, ...]:
        """Return the columns of a table that hold categories; raise if they do not match the lists."""
        if isinstance(X, Columns):
            return self.features or ()
        found = tuple(place for place, column in enumerate(columns) if is_category(column))
        if len(found) != len(self.values) or self.features not in (None, found):
            raise InvalidInputError(
                f"the frame has {len(found)} columns of dtype category, but the model was trained on "
                f"{len(self.values)}: convert the columns to the dtypes they had in training"
                + (f" (categories in columns {list(self.features)})" if self.features else "")
            )
        return found

    def _encoded(self, column: Any, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        positions = _positions(column, values)
        if self.others_last:
            unlisted = np.flatnonzero(np.isnan(positions))
            entries = np.asarray(to_values(column), dtype=object)[unlisted]
            positions[unlisted[[not _is_missing(entry) for entry in entries]]] = len(values)
        return positions

    def to_field(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        features = None if self.features is None else list(self.features)
        lists = [values.tolist() for values in self.values]
        return {
            "features": features,
            "values": lists,
            "others_last": int(self.others_last),
            "of_frames": int(self.of_frames),
        }

    @classmethod
    def from_field(cls, fields: Fields, key: str, n_features: int) -> CategoryValues:
        """Check what `to_field` gave and return the lists."""
        section = fields.section(key)
        lists = section.entries("values")
        features = None
        if "features" in section:
            numbers = section.whole_numbers("features", len(lists))
            if len(numbers) and (
                numbers[0] < 0 or numbers[-1] >= n_features or (np.diff(numbers) <= 0).any()
            ):
                raise section.error("features", f"must hold ascending numbers below {n_features}")
            features = tuple(numbers.tolist())
        others_last, of_frames = (
            name in section and bool(section.whole(name, 0, 1)) for name in ("others_last", "of_frames")
        )
        try:
            if not all(isinstance(values, list) for values in lists):
                raise InvalidInputError("expected one list per column")
            return cls(features, tuple(map(category_list, lists)), others_last, of_frames)
        except InvalidInputError as error:
            raise section.error("values", f"must hold lists of categories: {error}") from None


def category_list(values: Iterable[Any]) -> npt.NDArray[Any]:
    """Return categories as an array that `CategoryValues` takes.

    Raises
    ------
    InvalidInputError
        If they are neither all texts nor all finite numbers, or if one occurs twice.
    """
    # Not of times: the item of a datetime64[ns] is an int.
    plain = [
        value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufU" else value
        for value in values
    ]
    if plain and all(isinstance(value, str) for value in plain):
        array: npt.NDArray[Any] = np.array(plain, dtype=object)
    elif all(map(_is_exact_number, plain)):
        array = np.array(plain, dtype=np.float64)
    else:
        raise InvalidInputError(
            "the categories of a column must be all texts, or all finite numbers that a float represents "
            f"exactly, got {plain[:3]!r}: convert them to texts (frame[column].astype(str)) and retrain"
        )
    if len(set(array.tolist())) != len(array):
        raise InvalidInputError("categories must be unique, but one occurs twice in its list")
    return array


def _is_exact_number(value: Any) -> bool:
    return isinstance(value, bool) or (is_finite_number(value) and float(value) == value)


def _positions(column: Any, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return each entry's position in the list, NaN if it is not in the list."""
    if is_category(column) and hasattr(column, "cat") and hasattr(column.cat, "codes"):
        # For a pandas column, compare only its few categories, not every row.
        places = np.append(_positions(np.asarray(column.cat.categories, dtype=object), values), np.nan)
        return np.asarray(places[np.asarray(column.cat.codes)])  # the code of missing is -1: the last
    entries = to_values(column)
    if values.dtype == object:
        table = {value: place for place, value in enumerate(values.tolist())}
        return np.array([table.get(entry, np.nan) for entry in entries.tolist()], dtype=np.float64)
    if entries.dtype.kind not in "buif":
        entries = np.array([_number(entry) for entry in entries.tolist()], dtype=np.float64)
    if not len(values):
        return np.full(len(entries), np.nan)
    order = np.argsort(values)
    rank = np.minimum(np.searchsorted(values, entries, sorter=order), len(values) - 1)
    return np.where(values[order[rank]] == entries, order[rank], np.nan)


def _number(entry: Any) -> float:
    return float(entry) if isinstance(entry, bool | int | float) else np.nan


def _is_missing(entry: Any) -> bool:
    if isinstance(entry, str):
        return entry == ""
    itself = entry == entry  # NaN does not equal itself
    return is_null(entry) or not isinstance(itself, bool | np.bool_) or not itself


def _array_columns(X: Any) -> npt.NDArray[Any] | None:
    """Return the columns of anything numpy turns into a table of numbers or objects, else None."""
    if hasattr(X, "toarray"):
        return None
    array = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
    return array.T if array.ndim == 2 and array.dtype.kind != "c" else None
