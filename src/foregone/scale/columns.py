"""Which columns a model reads, what they may hold, and the names of those it adds."""

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
        The names of the columns there are.
    features : sequence of str or None
        Names to take instead of the model's, in the order of its features.
    where : str
        What has the columns, for messages.
    """
    columns = list(there)
    if isinstance(features, str):
        raise InvalidInputError(f"features must be a list of column names, not the text {features!r}")
    if features is not None:
        chosen = list(features)
        if len(chosen) != model.n_features:
            raise InvalidInputError(
                f"{len(chosen)} columns are named as features, but the model has {model.n_features}"
            )
    elif model.feature_names is not None:
        chosen = list(model.feature_names)
    elif len(columns) == model.n_features:
        chosen = columns
    else:
        raise InvalidInputError(
            f"{where} has {len(columns)} columns, but the model has {model.n_features} features and does not "
            "know their names: name the columns that hold them, in its order"
        )
    missing = [name for name in chosen if name not in columns]
    if missing:
        raise InvalidInputError(
            f"{where} has no column {listed(missing)}, which the model needs; it has {listed(columns)}"
        )
    twice = [name for name in dict.fromkeys(chosen) if columns.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{where} has column {listed(twice)} more than once: rename one of them")
    return chosen


def output_names(there: Iterable[Any], prefix: str, where: str, *, audited: bool = False) -> tuple[str, ...]:
    """Return the names of the new columns, none of which may be there already.

    They are those for label and votes asked and, if rows are audited, for the label of all voters.
    """
    names = tuple(prefix + name for name in (LABEL, VOTES_ASKED, *([FULL_LABEL] if audited else [])))
    taken = [name for name in names if name in set(there)]
    if taken:
        raise InvalidInputError(
            f"{where} has a column {listed(taken)} already: give a prefix for the names of the new columns"
        )
    return names


def full_labels(classes: npt.NDArray[Any], full: npt.NDArray[np.int32]) -> Any:
    """Return the labels of all voters as pandas has them in a column, missing where the number is negative.

    A type without a missing value becomes the one of pandas that has one.
    """
    import pandas as pd

    labels = pd.Series(classes.take(full))
    nullable = {"b": "boolean", "i": "Int64", "u": "UInt64"}.get(classes.dtype.kind)
    return (labels if nullable is None else labels.astype(nullable)).where(full >= 0).array


def check_kind(column: Any, holds: str, categories: str, shown: object, where: str) -> None:
    """Raise unless a column holds what the model takes there.

    Parameters
    ----------
    column
        Its name, for the message.
    holds : str
        `NUMBERS`, `TEXTS`, or something else.
    categories : str
        What the model's list of categories for this column holds; empty if it has none.
    shown
        The column's type, for the message.
    where : str
        What has the column, for the message.
    """
    if holds != (categories or NUMBERS):
        wanted = (
            f"the model knows categories that are {categories}"
            if categories
            else ("features must be numbers or booleans")
        )
        raise InvalidInputError(
            f"column {column!r} of {where} has type {shown}, but {wanted}: convert it first"
        )


def listed(names: Iterable[Any]) -> str:
    """Name some of the names."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - MOST_NAMES} more" if len(quoted) > MOST_NAMES else ""
    return ", ".join(quoted[:MOST_NAMES]) + more
