"""Validation of user input: each check returns the normalised value, or raises InvalidInputError."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "as_float",
    "as_numbers",
    "check_choice",
    "check_confidence",
    "check_looks",
    "check_max_disagreement",
    "check_n_voters",
    "check_order",
    "check_seed",
    "check_share",
    "check_timeout",
    "check_whole",
    "is_a",
]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Text = TypeVar("Text", bound=str)

MOST_VOTERS = 10**9  # more would not fit in memory


def is_a(value: object, kinds: type | tuple[type, ...]) -> bool:
    """Return whether a value is of a type, for arguments that callers may pass against their annotation.

    Examples
    --------
    >>> is_a("ABC", str), is_a(None, str)
    (True, False)
    """
    return isinstance(value, kinds)


def check_whole(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return an integer from ``least`` to ``most``; whole floats are accepted, booleans are not.

    Examples
    --------
    >>> check_whole(101.0, "n_voters")
    101
    """
    message = f"{name} must be an integer of at least {least}, got {value!r}"
    if isinstance(value, bool | np.bool_):
        raise InvalidInputError(message)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInputError(message) from None
    if number < least:
        raise InvalidInputError(message)
    if most is not None and number > most:
        raise InvalidInputError(f"{name} must be at most {most:,}, got {value!r}")
    return number


def check_n_voters(n_voters: Any) -> int:
    """Return ``n_voters`` as an int. Raises InvalidInputError if it is out of range."""
    return check_whole(n_voters, "n_voters", 1, MOST_VOTERS)


def check_choice(value: Any, name: str, choices: Sequence[Text]) -> Text:
    """Return ``value`` if it is one of ``choices``; raises InvalidInputError if not."""
    for choice in choices:
        if isinstance(value, str) and value == choice:
            return choice
    raise InvalidInputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def as_float(value: Any) -> float:
    """Return a number as a float, and NaN for anything else, including strings and booleans."""
    try:
        return math.nan if isinstance(value, bool | np.bool_ | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_share(value: Any, name: str) -> float:
    """Return ``value`` as a float from 0 to 1. Raises InvalidInputError if it is out of range."""
    number = as_float(value)
    if not 0 <= number <= 1:  # also True for NaN
        raise InvalidInputError(f"{name} must be a number from 0 to 1, got {value!r}")
    return number


def check_max_disagreement(value: Any) -> float:
    """Return a single limit as a float from 0 to 1. Raises InvalidInputError if it is out of range."""
    return check_share(value, "max_disagreement")


def check_confidence(value: Any) -> float:
    """Return ``confidence`` as a float. Raises InvalidInputError unless strictly between 0 and 1."""
    number = check_share(value, "confidence")
    if not 0 < number < 1:
        raise InvalidInputError(
            f"confidence must be strictly between 0 and 1, such as 0.95, got {value!r}; "
            "None treats the observed votes as the true distribution"
        )
    return number


def check_looks(looks: Any, n_voters: int) -> tuple[int, ...] | None:
    """Return the numbers of votes after which the strategy may stop, or None for all.

    Examples
    --------
    >>> check_looks(4, 10), check_looks([3, 5], 10), check_looks(1, 10)
    ((0, 4, 8, 10), (3, 5, 10), None)
    """
    if looks is None:
        return None
    message = (
        "looks must be an integer k of at least 1 (may stop after every k votes), or a list of the "
        f"numbers of votes after which it may stop, from 0 to {n_voters}, got {looks!r}"
    )
    if isinstance(looks, bool | np.bool_ | str | bytes):
        raise InvalidInputError(message)
    try:
        if isinstance(looks, Iterable):
            given = sorted({operator.index(look) for look in looks if not isinstance(look, bool)})
        else:
            step = operator.index(looks)
            if step < 1:
                raise InvalidInputError(message)
            given = list(range(0, n_voters, step))
    except TypeError:
        raise InvalidInputError(message) from None
    if not given or given[0] < 0 or given[-1] > n_voters:
        raise InvalidInputError(message)
    if given[-1] < n_voters:
        given.append(n_voters)
    return tuple(given) if len(given) <= n_voters else None


def as_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return ``values`` as an array of booleans, integers or floats; raises InvalidInputError otherwise."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{what} must be numbers in rows of equal length, got rows of different lengths or other objects"
        ) from None
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{what} must be numbers, got dtype {array.dtype}: convert to numbers first")
    return array


def check_order(order: npt.ArrayLike, n_voters: int | None = None) -> IntArray:
    """Return a copy of an order in which every voter occurs once."""
    given = as_numbers(order, "order")
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
        raise InvalidInputError(
            "order must be one row of integers, the voters in the order asked, got shape "
            f"{given.shape} and dtype {given.dtype}"
        )
    if n_voters is not None and len(given) != n_voters:
        raise InvalidInputError(
            f"order must contain each of the {n_voters} voters once, got {len(given)} entries"
        )
    if not np.array_equal(np.sort(given), np.arange(len(given))):
        raise InvalidInputError(
            f"order must contain each number from 0 to {len(given) - 1} once, got repeated or other numbers"
        )
    return given.astype(np.int64)


def check_seed(seed: Any) -> int:
    """Return ``seed`` as an int. Raises InvalidInputError if it is out of range."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise InvalidInputError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)


def check_timeout(timeout: Any) -> float | None:
    """Return ``timeout`` in seconds, or None for no timeout. Raises InvalidInputError unless above 0."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidInputError(f"timeout must be a number of seconds above 0, or None, got {timeout!r}")
    return timeout
