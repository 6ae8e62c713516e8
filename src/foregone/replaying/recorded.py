"""RecordedVotes: the answers that were given to each item, in the order drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, check_choice
from foregone.errors import InvalidInputError

__all__ = ["COLUMNS", "COUNTED", "Counted", "RecordedVotes", "are_yes_or_no", "is_yes"]

Counted = Literal["answer", "score"]  # what of a vote is counted, where both were recorded
COUNTED: tuple[Counted, ...] = ("answer", "score")

# What is recorded of a vote, and the names of the columns that hold it; the first that is there is taken.
ITEM, DRAW, WORKER, TOKENS = ("item", "task"), ("draw", "epoch"), ("worker",), ("tokens",)
VOTE = {"answer": ("answer", "label"), "score": ("score",)}
COLUMNS = (*ITEM, *DRAW, *WORKER, *VOTE["answer"], *VOTE["score"], *TOKENS)
NOT_A_VALUE = {"nan", "NaT", "<NA>"}  # how data frames spell nothing
YES_WORDS = frozenset({"yes", "y", "true", "1", "1.0"})
NO_WORDS = frozenset({"no", "n", "false", "0", "0.0"})


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
    answers: tuple[IntArray, ...] = field(repr=False)
    tokens: tuple[FloatArray, ...] | None = field(repr=False)
    n_missing: int

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[Any]],
        source: str = "the votes",
        *,
        count: Counted | None = None,
    ) -> RecordedVotes:
        """From columns that say on which item each vote is, which of its votes it is, and what was said.

        Columns are ``item`` (or ``task``), ``draw`` (or ``epoch``), ``answer`` (or ``label``, or ``score``)
        and ``tokens``, if known; others are ignored. Instead of draws, there may be a ``worker`` who gave
        each vote: those of an item are then taken in the order of the rows.

        Parameters
        ----------
        columns : mapping of str to sequences of equal length
            One entry a vote. Within an item, draws are integers that say in which order they were made.
        source : str
            How to call them in what is said when something is wrong.
        count : {"answer", "score"}, optional
            What counts as the vote; by default the answer, or the score in tables without answers.

        Examples
        --------
        >>> RecordedVotes.from_columns({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "dog"]})
        <RecordedVotes: 1 items, 2 votes ('cat' 1, 'dog' 1)>
        """
        said = COUNTED if count is None else (check_choice(count, "count", COUNTED),)
        item, draw, worker = (_present(columns, names) for names in (ITEM, DRAW, WORKER))
        vote = _present(columns, [name for kind in said for name in VOTE[kind]])
        if item is None or vote is None or (draw is None and worker is None):
            raise _lacking(columns, source, item, draw or worker, vote, said)
        names = [_name(value, row, source) for row, value in enumerate(columns[item], start=1)]
        if not names:
            raise InvalidInputError(f"{source}: no votes in it; give one row for each vote")
        if draw is None:
            assert worker is not None
            draws = _turns(names, columns[worker], source)
        else:
            draws = [_draw(value, row, source) for row, value in enumerate(columns[draw], start=1)]
        answers = [_label(value) for value in columns[vote]]
        tokens = columns.get(TOKENS[0])
        frequent = Counter(answer for answer in answers if answer is not None).most_common()
        labels = tuple(label for label, _ in frequent)
        codes = {label: code for code, label in enumerate(labels)}
        found: dict[str, dict[int, tuple[int, float] | None]] = {}
        for row, (name, turn, answer) in enumerate(zip(names, draws, answers, strict=True)):
            of_item = found.setdefault(name, {})
            if turn in of_item:
                raise InvalidInputError(
                    f"{source}: draw {turn} of item {name!r} is there twice; number the draws of an item"
                )
            cost = 0.0 if tokens is None or answer is None else _tokens(tokens[row], row + 1, source)
            of_item[turn] = None if answer is None else (codes[answer], cost)
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

    def long_enough(self, n_voters: int, *, skip_short: bool) -> IntArray:
        """Return which items have that many votes; that others are left out must have been asked for."""
        drawn = np.array([len(codes) for codes in self.answers], np.int64)
        kept = np.flatnonzero(drawn >= n_voters)
        if len(kept) < len(drawn) and not skip_short:
            short = int(np.argmax(drawn < n_voters))
            raise InvalidInputError(
                f"{len(drawn) - len(kept):,} of {len(drawn):,} items have fewer than {n_voters} votes, the "
                f"first is {self.items[short]!r} with {drawn[short]}: take fewer voters, or leave such items "
                "out (skip_short=True, or --skip-short)"
            )
        if len(kept) == 0:
            raise InvalidInputError(
                f"no item has {n_voters} votes: the most votes of any are {drawn.max()}; take fewer voters"
            )
        return kept

    def __repr__(self) -> str:
        votes = sum(map(len, self.answers))
        found = ", ".join(f"{label!r} {times:,}" for label, times in list(self.counts.items())[:5])
        more = f", {len(self.labels) - 5:,} more" if len(self.labels) > 5 else ""
        missing = f", {self.n_missing:,} without an answer" if self.n_missing else ""
        return f"<RecordedVotes: {len(self.items):,} items, {votes:,} votes ({found}{more}){missing}>"


def _present(columns: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _lacking(
    columns: Mapping[str, Any],
    source: str,
    item: str | None,
    draw: str | None,
    vote: str | None,
    said: tuple[Counted, ...],
) -> InvalidInputError:
    """Return the error for columns that are not there."""
    lacking = [name for name, found in (("item", item), ("draw", draw), (said[0], vote)) if found is None]
    return InvalidInputError(
        f"{source}: no column {' and no column '.join(lacking)}, found {', '.join(columns) or 'none'}; "
        "needed are item, draw and answer; or task, worker and label; or item, epoch and score; and tokens "
        "if known"
    )


def _turns(names: list[str], workers: Sequence[Any], source: str) -> list[int]:
    """Return the place of each vote among those of its item; nobody may vote twice on one."""
    seen: dict[str, set[str]] = {}
    turns = []
    for row, (name, worker) in enumerate(zip(names, workers, strict=True), start=1):
        voted, voter = seen.setdefault(name, set()), str(worker).strip()
        if _is_nothing(worker):
            raise InvalidInputError(f"{source}, row {row}: no worker; say who gave each vote")
        if voter in voted:
            raise InvalidInputError(
                f"{source}, row {row}: worker {voter!r} votes twice on {name!r}; keep one vote"
            )
        turns.append(len(voted))
        voted.add(voter)
    return turns


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
        raise InvalidInputError(f"{source}, row {row}: draw must be an integer, got {value!r}") from None


def _label(value: Any) -> str | None:
    return None if _is_nothing(value) else str(value).strip()


def _tokens(value: Any, row: int, source: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InvalidInputError(
            f"{source}, row {row}: tokens must be a number from 0, got {value!r}; fill it in, or leave the "
            "column out"
        )
    return number


# Yes and no ---------------------------------------------------------------------------------


def are_yes_or_no(votes: RecordedVotes) -> bool:
    """Whether all answers are yes and no, true and false, or 1 and 0, in any spelling."""
    return all(label.casefold() in YES_WORDS | NO_WORDS for label in votes.labels)


def is_yes(votes: RecordedVotes, yes: str | None) -> npt.NDArray[np.bool_]:
    """Return which of the labels count as yes. Raises InvalidInputError if that cannot be told."""
    if not votes.labels:
        raise InvalidInputError("no vote has an answer: give votes that have one")
    found = ", ".join(f"{label!r} ({times:,})" for label, times in list(votes.counts.items())[:6])
    found += ", ..." if len(votes.labels) > 6 else ""
    if yes is not None:
        counts_as_yes = [label == yes for label in votes.labels]
        if not any(counts_as_yes):
            raise InvalidInputError(f"nobody answered {yes!r}, which should count as yes; found {found}")
    else:
        counts_as_yes = [label.casefold() in YES_WORDS for label in votes.labels]
        if not are_yes_or_no(votes):
            raise InvalidInputError(
                f"the votes are not yes or no, found {found}: say which answer counts as yes, all others "
                "being no (yes=ANSWER, or --yes ANSWER), or take all answers as they are (--answers any)"
            )
    return np.array(counts_as_yes, dtype=bool)
