"""RecordedVotes: the answers that were given to each item, in the order drawn; read_votes reads them."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import MEMORY_PER_BYTE, Memory, cannot_read
from foregone.checks import FloatArray, IntArray
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError

__all__ = ["RecordedVotes", "are_yes_or_no", "is_yes", "read_votes"]

REQUIRED = ("item", "draw", "answer")
TOKENS = "tokens"
NOT_A_VALUE = {"nan", "NaT", "<NA>"}  # how data frames spell nothing
PARQUET_MAGIC = b"PAR1"
BYTES_A_VOTE = 800  # measured where every vote is on an item of its own; on items of many it is half
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


# Files ----------------------------------------------------------------------------------------


def read_votes(path: PathLike, *, max_memory: float | None = None) -> RecordedVotes:
    """Read one vote a row: columns ``item``, ``draw``, ``answer``, and ``tokens`` if known.

    Other columns are ignored. The file is Parquet (which needs the extra ``replay``) or CSV with a line of
    names; its content tells which.

    Parameters
    ----------
    path : path
        Of the file.
    max_memory : float, optional
        Bytes that may be used besides 100 times the size of the file; by default 256 MiB. A Parquet file can
        hold a million votes in half a megabyte.
    """
    file, memory = Path(path), Memory(str(path), max_memory)
    try:
        with file.open("rb") as stream:
            is_parquet = stream.read(4) == PARQUET_MAGIC
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    columns = _parquet_columns(file, memory) if is_parquet else _csv_columns(file)
    try:
        return RecordedVotes.from_columns(columns, str(file))
    except InvalidInputError as error:
        raise FileFormatError(str(error)) from None


def _parquet_columns(file: Path, memory: Memory) -> dict[str, Sequence[Any]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("pyarrow", "replay", "Reading a Parquet file") from None
    try:
        with ParquetFile(file) as parquet:
            needed = parquet.metadata.num_rows * BYTES_A_VOTE - MEMORY_PER_BYTE * file.stat().st_size
            memory.take(max(needed, 0), f"for its {parquet.metadata.num_rows:,} rows")
            names = parquet.schema_arrow.names
            wanted = [name for name in (*REQUIRED, TOKENS) if name in names]
            table = parquet.read(columns=wanted).to_pydict()
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: not a Parquet file that can be read: {error}") from None
    # Names alone are enough for columns that are ignored.
    return {name: table.get(name, ()) for name in names}


def _csv_columns(file: Path) -> dict[str, Sequence[Any]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            names = [name.strip() for name in next(reader, [])]
            columns: dict[str, list[str]] = {name: [] for name in names}
            if len(columns) < len(names):
                raise FileFormatError(f"{file}: a column name is there twice; rename one")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise FileFormatError(
                        f"{file}, line {reader.line_num}: {len(cells)} values, but {len(names)} columns; "
                        "put quotes around answers with a comma"
                    )
                for name, cell in zip(names, cells, strict=True):
                    columns[name].append(cell)
    except OSError as error:
        raise cannot_read(file, error) from None
    except (UnicodeDecodeError, csv.Error):
        raise FileFormatError(f"{file}: neither Parquet nor CSV; give one of them") from None
    return dict(columns)
