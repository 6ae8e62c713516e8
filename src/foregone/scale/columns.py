"""Which columns a model reads, what they may hold, and the names of those it adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.scale.model_file import ModelFile

__all__ = ["as_rows", "choose_features", "listed", "output_names", "wrong_type"]

LABEL, VOTES_ASKED = "label", "votes_asked"
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


def output_names(there: Iterable[Any], prefix: str, where: str) -> tuple[str, str]:
    """Return the names of the columns for label and votes asked, none of which may be there already."""
    names = prefix + LABEL, prefix + VOTES_ASKED
    taken = [name for name in names if name in set(there)]
    if taken:
        raise InvalidInputError(
            f"{where} has a column {listed(taken)} already: give a prefix for the names of the new columns"
        )
    return names


def wrong_type(column: Any, kind: object, where: str) -> InvalidInputError:
    """Return (not raise) the error for a column that holds no numbers."""
    return InvalidInputError(
        f"column {column!r} of {where} has type {kind}, but features must be numbers or booleans: "
        "convert it first"
    )


def as_rows(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float32] | npt.NDArray[np.float64]:
    """Put columns of numbers side by side, rounded as scikit-learn does for a frame of them.

    Where they have no common floating type, each is rounded to float32 by itself; otherwise the model rounds.
    """
    common = np.result_type(*(column.dtype for column in columns))
    wide = common == np.float64 or (common.kind == "f" and common.itemsize > 8)
    # Column by column, which is how they come: the engine puts rows together in blocks that fit the cache.
    values = np.empty((len(columns), len(columns[0])), np.float64 if wide else np.float32)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
        for place, column in enumerate(columns):
            values[place] = column
    return values.T


def listed(names: Iterable[Any]) -> str:
    """Name some of the names."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - MOST_NAMES} more" if len(quoted) > MOST_NAMES else ""
    return ", ".join(quoted[:MOST_NAMES]) + more
