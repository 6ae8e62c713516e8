"""RecordedVotes: the answers that were given to each item, in the order they were drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError

__all__ = ["RecordedVotes"]

REQUIRED = ("item", "draw", "answer")
TOKENS = "tokens"
NOT_A_VALUE = {"nan", "NaT", "<NA>"}  # how data frames spell nothing


@dataclass(frozen=True, eq=False)
class RecordedVotes:
    """Recorded votes on many items; answers of any kind, any number of votes an item.

    Made by `from_columns` or by `read_votes` from a file. A vote without an answer (nothing, NaN or blank: a
    call that failed) is not a vote: it is left out and counted.

    Attributes
    ----------
    items : tuple of str
        Their names, in the order of their first appearance.
    labels : tuple of str
        The answers that occur, the most frequent first.
    answers : tuple of int arrays
        For each item its answers in the order of the draws, as places in ``labels``.
    tokens : tuple of float arrays, or None
        What each of these votes took, if it was recorded.
    n_missing : int
        Votes without an answer, which were left out.

    Examples
    --------
    >>> votes = RecordedVotes.from_columns(
    ...     {"item": ["a", "a", "b", "b"], "draw": [1, 0, 0, 1], "answer": ["yes", "no", "yes", None]}
    ... )
    >>> votes
    <RecordedVotes: 2 items, 3 votes ('yes' 2, 'no' 1), 1 without an answer>
    >>> [[votes.labels[code] for code in codes] for codes in votes.answers]
    [['no', 'yes'], ['yes']]
    """

    items: tuple[str, ...] = field(repr=False)
    labels: tuple[str, ...]
    answers: tuple[npt.NDArray[np.int64], ...] = field(repr=False)
    tokens: tuple[FloatArray, ...] | None = field(repr=False)
    n_missing: int

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any]], source: str = "the votes") -> RecordedVotes:
        """From columns ``item``, ``draw`` and ``answer``, and ``tokens`` if there is one; others are ignored.

        Parameters
        ----------
        columns : mapping of str to sequences of equal length
            One entry a vote. Within an item, draws are whole numbers that say in which order they were made.
        source : str
            How to call them in what is said when something is wrong.
        """
        lacking = [name for name in REQUIRED if name not in columns]
        if lacking:
            raise InvalidInputError(
                f"{source}: no column {' and no column '.join(lacking)}, found "
                f"{', '.join(columns) or 'none'}; needed are item, draw and answer, and tokens if known"
            )
        names = [_name(value, row, source) for row, value in enumerate(columns["item"], start=1)]
        if not names:
            raise InvalidInputError(f"{source}: no votes in it; give one row for each vote")
        draws = [_draw(value, row, source) for row, value in enumerate(columns["draw"], start=1)]
        answers = [_label(value) for value in columns["answer"]]
        tokens = columns.get(TOKENS)
        frequent = Counter(answer for answer in answers if answer is not None).most_common()
        labels = tuple(label for label, _ in frequent)
        codes = {label: code for code, label in enumerate(labels)}
        found: dict[str, dict[int, tuple[int, float] | None]] = {}
        for row, (name, draw, answer) in enumerate(zip(names, draws, answers, strict=True)):
            of_item = found.setdefault(name, {})
            if draw in of_item:
                raise InvalidInputError(
                    f"{source}: draw {draw} of item {name!r} is there twice; number the draws of an item"
                )
            cost = 0.0 if tokens is None or answer is None else _tokens(tokens[row], row + 1, source)
            of_item[draw] = None if answer is None else (codes[answer], cost)
        in_order = [[vote for _, vote in sorted(of_item.items()) if vote] for of_item in found.values()]
        return cls(
            items=tuple(found),
            labels=labels,
            answers=tuple(np.array([code for code, _ in votes], np.int64) for votes in in_order),
            tokens=None
            if tokens is None
            else tuple(np.array([cost for _, cost in votes], np.float64) for votes in in_order),
            n_missing=sum(answer is None for answer in answers),
        )

    @property
    def counts(self) -> dict[str, int]:
        """How often each answer was given, the most frequent first."""
        times = np.bincount(np.concatenate(self.answers), minlength=len(self.labels))
        return dict(zip(self.labels, times.tolist(), strict=True))

    def __repr__(self) -> str:
        votes = sum(map(len, self.answers))
        found = ", ".join(f"{label!r} {times:,}" for label, times in list(self.counts.items())[:5])
        more = f", {len(self.labels) - 5:,} more" if len(self.labels) > 5 else ""
        missing = f", {self.n_missing:,} without an answer" if self.n_missing else ""
        return f"<RecordedVotes: {len(self.items):,} items, {votes:,} votes ({found}{more}){missing}>"


def _is_nothing(value: Any) -> bool:
    text = str(value).strip()
    return value is None or not text or (text in NOT_A_VALUE and not isinstance(value, str))


def _name(value: Any, row: int, source: str) -> str:
    if _is_nothing(value):
        raise InvalidInputError(f"{source}, row {row}: no item; say which one each vote is on")
    return str(value).strip()


def _draw(value: Any, row: int, source: str) -> int:
    try:
        if isinstance(value, bool | np.bool_) or not float(value).is_integer():
            raise ValueError
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{source}, row {row}: draw must be a whole number, not {value!r}") from None


def _label(value: Any) -> str | None:
    return None if _is_nothing(value) else str(value).strip()


def _tokens(value: Any, row: int, source: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InvalidInputError(
            f"{source}, row {row}: tokens must be a number from 0, not {value!r}; fill it in, or leave the "
            "column out"
        )
    return number
