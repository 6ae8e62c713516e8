"""Select the columns that a model takes from a table, and the column of labels."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.classifier.given_model import names_of_features
from foregone.errors import InvalidInputError

__all__ = ["choose_columns", "match_labels", "only_numbers"]

MOST_NAMED = 8


def choose_columns(table: Any, model: Any, target: str | None) -> tuple[Any, npt.NDArray[Any] | None]:
    """Return the columns that a fitted model takes, in its order, and the column of labels.

    Parameters
    ----------
    table : frame or ndarray
        Columns of a frame are matched by name if the model knows names; otherwise all but ``target`` are
        used.
    model : fitted model, or a list of them
        Its ``feature_names_in_`` and ``n_features_in_`` are used if it has them.
    target : str or None
        Name of the column of labels; for an array its number, from 0, or -1 for the last.
    """
    members = model if isinstance(model, list | tuple) else [model]
    known = (names_of_features(member, table) for member in members)
    names = next((found for found in known if found is not None), None)
    width = next((member.n_features_in_ for member in members if hasattr(member, "n_features_in_")), None)
    X, labels = _without_target(table, target)
    if names is None or not hasattr(X, "columns"):
        _check_width(X, width, target)
        numbers = hasattr(X, "columns") and all(_is_numeric(kind) for kind in X.dtypes)
        return (only_numbers(X) if numbers else X), labels
    missing = [str(name) for name in names if name not in X.columns]
    if missing:
        raise InvalidInputError(
            f"the calibration data has no column {_listed(missing)}, which the model was fitted on. Its "
            f"columns: {_listed([str(name) for name in X.columns])}"
        )
    return X[list(names)], labels


def only_numbers(X: Any) -> npt.NDArray[Any]:
    """Return prepared rows as an array of numbers. Raises InvalidInputError that names other columns."""
    if hasattr(X, "columns"):
        others = [str(name) for name, kind in X.dtypes.items() if not _is_numeric(kind)]
        if others:
            raise InvalidInputError(
                f"column {_listed(others)} does not hold numbers: encode it as for the training, or save the "
                "whole pipeline"
            )
        if not all(kind == np.float32 for kind in X.dtypes):
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(X, "toarray"):
        X = X.toarray()
    rows = np.asarray(X)
    try:
        return np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the calibration data must be numbers: {error}") from None


def match_labels(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the class number of each label, -1 if it is missing. Raises InvalidInputError if unknown."""
    known: dict[Any, int] = {label: place for place, label in enumerate(classes.tolist())}
    places = []
    for label in labels.tolist():
        if label is None or str(label) == "<NA>" or label != label:  # pandas' NA, or NaN of any type
            places.append(-1)
        elif label in known:
            places.append(known[label])
        else:
            raise InvalidInputError(
                f"the column of labels holds {label!r}, but the model knows {_known(classes)}: use the "
                "labels of the training, or leave out --target"
            )
    return np.array(places)


def _known(classes: npt.NDArray[Any]) -> str:
    *others, last = [repr(label) for label in classes.tolist()]
    if len(others) > MOST_NAMED:
        return f"{', '.join(others[:MOST_NAMED])} and {len(others) + 1 - MOST_NAMED} more"
    return f"{', '.join(others)} and {last}"


def _without_target(table: Any, target: str | None) -> tuple[Any, npt.NDArray[Any] | None]:
    if target is None:
        return table, None
    if hasattr(table, "columns"):
        if target not in table.columns:
            raise InvalidInputError(
                f"--target: there is no column {target!r}. Columns: "
                f"{_listed([str(name) for name in table.columns])}"
            )
        return table.drop(columns=[target]), np.asarray(table[target], dtype=object)
    try:
        place = range(table.shape[1])[int(target)]
    except (ValueError, IndexError):
        raise InvalidInputError(
            f"--target must be a number from 0 to {table.shape[1] - 1}, or -1 for the last, because the "
            f"columns have no names; got {target!r}"
        ) from None
    others = np.delete(table, place, axis=1)
    with contextlib.suppress(TypeError, ValueError):  # texts beside the labels are for the model to take
        others = others.astype(np.float64) if others.dtype == object else others
    return others, table[:, place].astype(object)


def _check_width(X: Any, width: int | None, target: str | None) -> None:
    found = X.shape[1]
    if width is None or found == width:
        return
    hint = "give the columns that it was trained on"
    if target is None and found == width + 1:
        hint = "if one holds the labels, name it with --target COLUMN"
    raise InvalidInputError(f"the calibration data has {found} columns, the model takes {width}: {hint}")


def _is_numeric(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf"


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return shown if more <= 0 else f"{shown} and {more} more"
