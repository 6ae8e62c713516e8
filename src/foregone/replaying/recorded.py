"""RecordedVotes: the answers to each item, in the order drawn."""

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

Counted = Literal["answer", "score"]  # which part of a vote is counted if both were recorded
COUNTED: tuple[Counted, ...] = ("answer", "score")

# Possible names of each column; the first that exists is used.
ITEM, DRAW, WORKER, TOKENS = ("item", "task"), ("draw", "epoch"), ("worker",), ("tokens",)
VOTE: dict[str, tuple[str, ...]] = {"answer": ("answer", "label"), "score": ("score",)}
COLUMNS: tuple[str, ...] = (*ITEM, *DRAW, *WORKER, *VOTE["answer"], *VOTE["score"], *TOKENS)
NOT_A_VALUE = {"nan", "NaT", "<NA>"}  # missing values of data frames, as text
YES_WORDS = frozenset({"yes", "y", "true", "1", "1.0"})
NO_WORDS = frozenset({"no", "n", "false", "0", "0.0"})


@dataclass(frozen=True, eq=False)
class RecordedVotes:
    """Recorded votes on many items, with any answers and any number of votes per item.

    Create it with `from_columns`, or with `read_votes` from a file. Votes without an answer (None, NaN or
    blank, such as from failed calls) are left out and counted in ``n_missing``.

    Attributes
    ----------
    items : tuple of str
        Item names, in the order of their first appearance.
    labels : tuple of str
        The answers that occur, the most frequent first.
    answers : tuple of int arrays
        For each item its answers in the order of the draws, as indices into ``labels``.
    tokens : tuple of float arrays, or None
        Tokens of each of these votes, if recorded.
    n_missing : int
        Number of votes without an answer.

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
        """Create recorded votes from columns with one entry per vote: its item, its draw and its answer.

        Columns are ``item`` (or ``task``), ``draw`` (or ``epoch``), ``answer`` (or ``label``, or ``score``)
        and optionally ``tokens``; others are ignored. Instead of ``draw`` there may be a ``worker`` who gave
        each vote: the votes of an item are then in the order of the rows.

        Parameters
        ----------
        columns : mapping of str to sequences of equal length
            One entry per vote. Draws are integers that give the order of the votes of an item.
        source : str
            Name of the data in error messages.
        count : {"answer", "score"}, optional
            Which column is the vote; by default the answer, or the score in tables without answers.

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
            raise InvalidInputError(f"{source}: has no votes: give one row for each vote")
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
                    f"{source}: draw {turn} of item {name!r} occurs twice: number the draws of each item"
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
        """Number of votes for each answer, the most frequent first."""
        times = np.bincount(np.concatenate(self.answers), minlength=len(self.labels))
        return dict(zip(self.labels, times.tolist(), strict=True))

    def long_enough(self, n_voters: int, *, skip_short: bool) -> IntArray:
        """Return the items with at least ``n_voters`` votes. Raises if others exist and are not skipped."""
        drawn = np.array([len(codes) for codes in self.answers], np.int64)
        kept = np.flatnonzero(drawn >= n_voters)
        if len(kept) < len(drawn) and not skip_short:
            short = int(np.argmax(drawn < n_voters))
            raise InvalidInputError(
                f"{len(drawn) - len(kept):,} of {len(drawn):,} items have fewer than {n_voters} votes, "
                f"such as {self.items[short]!r} with {drawn[short]}: use fewer voters, or leave such items "
                "out (skip_short=True, or --skip-short)"
            )
        if len(kept) == 0:
            raise InvalidInputError(
                f"no item has {n_voters} votes, the largest number is {drawn.max()}: use fewer voters"
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
    """Return the error for missing columns."""
    lacking = [name for name, found in (("item", item), ("draw", draw), (said[0], vote)) if found is None]
    return InvalidInputError(
        f"{source}: no column {' and no column '.join(lacking)}, found {', '.join(columns) or 'none'}: "
        "give the columns item, draw and answer; or task, worker and label; or item, epoch and score; and "
        "tokens if known"
    )


def _turns(names: list[str], workers: Sequence[Any], source: str) -> list[int]:
    """Return the number of each vote within its item. Raises if a worker votes twice on an item."""
    seen: dict[str, set[str]] = {}
    turns = []
    for row, (name, worker) in enumerate(zip(names, workers, strict=True), start=1):
        voted, voter = seen.setdefault(name, set()), str(worker).strip()
        if _is_nothing(worker):
            raise InvalidInputError(f"{source}, row {row}: no worker: every vote needs one")
        if voter in voted:
            raise InvalidInputError(
                f"{source}, row {row}: worker {voter!r} votes twice on {name!r}: keep only one vote"
            )
        turns.append(len(voted))
        voted.add(voter)
    return turns


def _is_nothing(value: Any) -> bool:
    text = str(value).strip()
    return value is None or not text or (text in NOT_A_VALUE and not isinstance(value, str))


def _name(value: Any, row: int, source: str) -> str:
    if _is_nothing(value):
        raise InvalidInputError(f"{source}, row {row}: no item: every vote needs one")
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
            f"{source}, row {row}: tokens must be a number of at least 0, got {value!r}: correct it, or "
            "leave out the column"
        )
    return number


# Yes and no ---------------------------------------------------------------------------------


def are_yes_or_no(votes: RecordedVotes) -> bool:
    """Whether all answers are yes and no, true and false, or 1 and 0, in any spelling."""
    return all(label.casefold() in YES_WORDS | NO_WORDS for label in votes.labels)


def is_yes(votes: RecordedVotes, yes: str | None) -> npt.NDArray[np.bool_]:
    """Return which labels count as yes. Raises InvalidInputError if it is unclear."""
    if not votes.labels:
        raise InvalidInputError("no vote has an answer: give votes with answers")
    found = ", ".join(f"{label!r} ({times:,})" for label, times in list(votes.counts.items())[:6])
    found += ", ..." if len(votes.labels) > 6 else ""
    if yes is not None:
        counts_as_yes = [label == yes for label in votes.labels]
        if not any(counts_as_yes):
            raise InvalidInputError(
                f"no vote has the answer yes={yes!r}: choose one of the answers found: {found}"
            )
    else:
        counts_as_yes = [label.casefold() in YES_WORDS for label in votes.labels]
        if not are_yes_or_no(votes):
            raise InvalidInputError(
                f"expected yes or no votes, found {found}: choose the answer that counts as yes, so that all "
                "others count as no (yes=ANSWER, or --yes ANSWER), or use all answers (--n-answers any)"
            )
    return np.array(counts_as_yes, dtype=bool)
