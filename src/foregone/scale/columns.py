"""The columns that a model reads, their types, and the names of new columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.scale.model_file import NUMBERS, ModelFile

__all__ = ["check_kind", "choose_features", "full_labels", "listed", "output_names"]

LABEL, VOTES_ASKED, FULL_LABEL = "label", "votes_asked", "full_label"
MOST_NAMES = 5  # in a message


def choose_features(
    model: ModelFile, there: Iterable[Any], features: Sequence[str] | None, where: str
) -> list[str]:
    """Return the columns that hold the model's features, in its order.

    Parameters
    ----------
    model : ModelFile
        Whose names are looked for.
    there : iterable
        The names of the available columns.
    features : sequence of str or None
        Names to use instead of the model's, in the order of its features.
    where : str
        Name of the data, for messages.
    """
    columns = list(there)
    if isinstance(features, str):
        raise InvalidInputError(f"features must be a list of column names, got the string {features!r}")
    if features is not None:
        chosen = list(features)
        if len(chosen) != model.n_features:
            raise InvalidInputError(
                f"features must name {model.n_features} columns, one for each feature, got {len(chosen)}"
            )
    elif model.feature_names is not None:
        chosen = list(model.feature_names)
    elif len(columns) == model.n_features:
        chosen = columns
    else:
        raise InvalidInputError(
            f"{where} has {len(columns)} columns, but the model has {model.n_features} features without "
            "names: pass the names of the feature columns, in the model's order"
        )
    missing = [name for name in chosen if name not in columns]
    if missing:
        raise InvalidInputError(
            f"{where} has no column {listed(missing)}, which the model needs; available: {listed(columns)}"
        )
    twice = [name for name in dict.fromkeys(chosen) if columns.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{where} has column {listed(twice)} more than once: rename one of them")
    return chosen


def output_names(there: Iterable[Any], prefix: str, where: str, *, audited: bool = False) -> tuple[str, ...]:
    """Return the names of the new columns. Raises InvalidInputError if one exists already.

    They are for the label, the votes asked and, if rows are audited, the label of the full vote.
    """
    names = tuple(prefix + name for name in (LABEL, VOTES_ASKED, *([FULL_LABEL] if audited else [])))
    taken = [name for name in names if name in set(there)]
    if taken:
        raise InvalidInputError(
            f"{where} already has a column {listed(taken)}: give a prefix for the names of the new columns"
        )
    return names


def full_labels(classes: npt.NDArray[Any], full: npt.NDArray[np.int32]) -> Any:
    """Return full-vote labels as a pandas column, missing where the class number is negative.

    A dtype that cannot hold missing values becomes the nullable dtype of pandas.
    """
    import pandas as pd

    labels = pd.Series(classes.take(full))
    nullable = {"b": "boolean", "i": "Int64", "u": "UInt64"}.get(classes.dtype.kind)
    return (labels if nullable is None else labels.astype(nullable)).where(full >= 0).array


def check_kind(column: Any, holds: str, categories: str, shown: object, where: str) -> None:
    """Raise InvalidInputError unless a column has values of the kind that the model needs.

    Parameters
    ----------
    column
        Its name, for the message.
    holds : str
        `NUMBERS`, `TEXTS`, or something else.
    categories : str
        The kind of the model's categories for this column; empty if it has none.
    shown
        The column's type, for the message.
    where : str
        Name of the data, for the message.
    """
    if holds != (categories or NUMBERS):
        wanted = (
            f"the model's categories for it are {categories}"
            if categories
            else ("features must be numbers or booleans")
        )
        raise InvalidInputError(
            f"column {column!r} of {where} has type {shown}, but {wanted}: convert it first"
        )


def listed(names: Iterable[Any]) -> str:
    """Return a list of names in words, shortened if it is long."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - MOST_NAMES} more" if len(quoted) > MOST_NAMES else ""
    return ", ".join(quoted[:MOST_NAMES]) + more
