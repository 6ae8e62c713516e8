"""Class labels in files: each as the name of its type and its value."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.strategy.json_file import Fields

__all__ = ["labels_from_field", "labels_to_field"]

# What a label may be, by numpy's kind of type. The width of a type has few digits, so none is huge.
PLAIN: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float, int),
    "U": (str,),
    "O": (bool, int, float, str),
}
TYPE_NAME = re.compile(r"object|[biufU]\d{1,4}")


def labels_to_field(classes: npt.NDArray[Any]) -> list[list[Any]]:
    """Return labels in a form that JSON can hold.

    Raises
    ------
    InvalidInputError
        If they are not numbers, texts or booleans.

    Examples
    --------
    >>> labels_to_field(np.array(["ham", "spam"]))
    [['U4', 'ham'], ['U4', 'spam']]
    """
    name = "object" if classes.dtype.kind == "O" else classes.dtype.str[1:]
    values = classes.tolist()
    if not TYPE_NAME.fullmatch(name) or not all(_is_plain(value, classes.dtype.kind) for value in values):
        raise InvalidInputError(
            f"only class labels that are numbers, texts or booleans can be saved, got {classes!r}"
        )
    return [[name, value] for value in values]


def labels_from_field(fields: Fields, key: str, least: int = 2, most: int = 2) -> npt.NDArray[Any]:
    """Check the output of `labels_to_field` and return the labels: by default exactly two."""
    number = "two" if most == 2 else f"{least} to {most:,}"
    problem = fields.error(key, f"must hold {number} different labels of one type, each as [type, value]")
    rows = fields.rows(key, 2)
    if not least <= len(rows) <= most:
        raise problem
    name = rows[0][0]
    if not isinstance(name, str) or not TYPE_NAME.fullmatch(name) or any(row[0] != name for row in rows):
        raise problem
    values = [row[1] for row in rows]
    if name[0] == "U":  # labels of one width, though most may be short
        fields.memory.take(2 * len(values) * 4 * int(name[1:]), "for its class labels")
    try:
        classes = np.array(values, dtype=name)
    except (TypeError, ValueError, OverflowError):
        raise problem from None
    if not all(_is_plain(value, classes.dtype.kind) for value in values):
        raise problem
    if classes.tolist() != values or len(set(values)) < len(values):
        raise problem
    return classes


def _is_plain(value: Any, kind: str) -> bool:
    return type(value) in PLAIN[kind] and not (isinstance(value, float) and not math.isfinite(value))
