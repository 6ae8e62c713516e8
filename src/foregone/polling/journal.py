"""Journal: each vote is written on its own line as soon as it arrives, so that a killed run can resume.

A file of JSON lines. The first holds the number of voters and the seed of the first run. Every other line is
a vote, a voter that failed after all retries, or a request without a vote. The first line on a question has
a digest of its content::

    {"format": "foregone-journal", "version": 4, "voters": null, "seed": 5, "checksum": "9b3c8d3c"}
    {"question": 17, "voter": 0, "vote": true, "content": "0f1e6b8d2c7a9e35", "checksum": "5d0f6b1a"}
    {"question": 17, "requests": 1, "checksum": "1f5f0a3b"}
    {"question": 17, "voter": 1, "failed": "TimeoutError: ", "checksum": "c2a80e77"}
    {"question": 17, "voter": 2, "vote": true, "prompt_tokens": 120, "completion_tokens": 6, "checksum": ...}
    {"question": 17, "voter": 3, "vote": false, "requests": 0, "checksum": "7be1c02d"}

The line of a request's first vote holds the costs of the request: the tokens, and the ``round`` unless it is
the first one of its question. A vote counts as one request, unless ``requests`` is 0 because it came together
with the vote before. The votes of a request are written in one piece.

A vote depends only on a question (its id and its content) and a voter. So a poll may resume with more
questions, another strategy or another seed. It is refused only if the content of a recorded question or the
number of voters has changed.

The checksum of a line is the CRC-32 of all lines up to this one, without their checksums. It detects any
changed byte, and any line that was removed, repeated or moved. Only lines missing at the very end go
unnoticed: those votes are requested again.

Journals of versions 1 to 3 are read and continued as they are. They hold no costs: each vote counts as one
request. The first line of versions 1 and 2 has one digest of all questions of the first run, so those must
come first and unchanged; version 1 has no checksums.

Each line is handed to the operating system in one piece before the vote is counted, so a killed process loses
no answer. It is forced to disk once a second and at the end: if the machine itself fails, at most the last
second is lost. A truncated last line is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from foregone._system.atomic_file import PathLike, lock_file
from foregone._system.file_reading import reason_of
from foregone.errors import FileFormatError, InvalidInputError, JournalError
from foregone.polling.costs import Costs
from foregone.strategy.json_file import Fields
from foregone.tally import shorten

__all__ = ["FAILED", "Journal"]

FORMAT, VERSION = "foregone-journal", 4
SEAL = b', "checksum": "'  # the end of a line, before the checksum
SECONDS_UNSAVED = 1.0
FAILED = object()  # recorded for a voter that failed after all retries

Key = str | int


class Journal:
    """An open journal.

    Parameters
    ----------
    path : path
        Created if it does not exist; resumed if it does and has the same questions and voters.
    questions : mapping
        Id -> content of the questions to poll now.
    check_vote : callable
        Returns a vote read from the file in the form in which it is counted, or raises InvalidInputError.
    voters : int, optional
        Number of voters; None if unlimited.
    seed : int
        The seed to write into a new journal.

    Attributes
    ----------
    seed : int
        The seed of the first run.
    recorded : dict
        Question id -> voter -> vote, or `FAILED`.
    costs : dict
        Question id -> costs so far.
    """

    def __init__(
        self,
        path: PathLike,
        questions: Mapping[Any, Any],
        check_vote: Callable[[Any], Any],
        voters: int | None = None,
        seed: int = 0,
    ) -> None:
        self._name = os.fspath(path)
        self._check_vote = check_vote
        self._contents = {key: _digest([_dump(key, content)]) for key, content in questions.items()}
        self._described: set[Key] = set()  # questions whose content the file names
        self._n_records = 0
        self.recorded: dict[Key, dict[int, Any]] = {}
        self.costs: dict[Key, Costs] = {}
        self._keeps_costs = True
        self.seed: int = seed
        try:
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666
            )
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"cannot write {self._name}: {reason_of(error)}") from None
        try:
            if not lock_file(self._file):
                raise JournalError(
                    f"{self._name}: another process is writing to this journal: wait until it ends, or use "
                    "another file"
                )
            self._end = 0
            self._checksum: int | None = 0  # of the lines up to the end; None in journals without
            self._read(questions, voters)
        except BaseException:
            os.close(self._file)
            raise
        self._saved_at = time.monotonic()

    def __repr__(self) -> str:
        return f"<Journal {self._name}, {self._n_records} votes and failures>"

    # Reading ---------------------------------------------------------------------------------

    def _read(self, questions: Mapping[Any, Any], voters: int | None) -> None:
        if not Path(self._name).is_file():
            raise InvalidInputError(
                f"cannot write a journal to {self._name}: it is not a regular file; use another path"
            )
        with Path(self._name).open("rb") as stream:
            first = stream.readline()
            if not first.endswith(b"\n"):
                self._begin(first, voters)
                return
            self._check_header(first[:-1], questions, voters)
            self._end = len(first)
            for number, line in enumerate(stream, 2):
                if not line.endswith(b"\n"):
                    self._repair(line, number)
                    return  # before the stream reads on in what was just repaired
                self._take(self._record(line[:-1], number))
                self._end += len(line)

    def _begin(self, found: bytes, voters: int | None) -> None:
        """Write the first line into a file that is empty, or whose first line was cut off."""
        start = f'{{"format": "{FORMAT}", '.encode()
        if not (found.startswith(start) or start.startswith(found)):
            raise FileFormatError(f"{self._name}: not a journal, so it was left unchanged: use another path")
        self._refuse_damaged_end(found, 1)
        os.ftruncate(self._file, 0)
        self._append({"format": FORMAT, "version": VERSION, "voters": voters, "seed": self.seed})

    def _repair(self, line: bytes, number: int) -> None:
        """Keep the last line if only its newline is missing; otherwise remove it."""
        try:
            fields = self._record(line, number)
        except FileFormatError:
            self._refuse_damaged_end(line, number)
            os.ftruncate(self._file, self._end)
            return
        self._take(fields)
        self._write(b"\n")
        self._end += len(line) + 1

    def _refuse_damaged_end(self, line: bytes, number: int) -> None:
        """Raise if a line that seems truncated is complete except for a changed last byte."""
        if self._checksum is not None and _checksum_of(line[:-1], self._checksum) is not None:
            raise self._damaged(number, "its end was changed")

    def _record(self, line: bytes, number: int) -> Fields:
        """Return the fields of a line, given without its end, if the checksum fits."""
        fields = self._parse(line, number)
        self._check_checksum(line, number)
        return fields

    def _parse(self, line: bytes, number: int) -> Fields:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            raise self._damaged(number, "not valid JSON") from None
        if not isinstance(content, dict):
            raise self._damaged(number, "not an object")
        return Fields(content, f"{self._name}, line {number}")

    def _check_checksum(self, line: bytes, number: int) -> None:
        if self._checksum is None:
            return
        checksum = _checksum_of(line, self._checksum)
        if checksum is None:
            raise self._damaged(number, "its checksum does not match it and the lines before")
        self._checksum = checksum

    def _damaged(self, number: int, problem: str) -> FileFormatError:
        return FileFormatError(
            f"{self._name}, line {number}: damaged, or not a journal ({problem}). It was left unchanged: "
            "restore it from a copy, or delete this line and all after it to request those votes again"
        )

    def _check_header(self, line: bytes, questions: Mapping[Any, Any], voters: int | None) -> None:
        header = self._parse(line, 1)
        if "format" not in header or header.entry("format") != FORMAT:
            raise header.error("format", f'is not "{FORMAT}", so this is not a journal')
        version = header.whole("version", 1)
        if version > VERSION:
            raise header.error("version", f"is above {VERSION}: a newer foregone may be needed")
        if version == 1 and "checksum" not in header:
            self._checksum = None
        self._check_checksum(line, 1)
        self.seed = header.whole("seed", 0, 2**64 - 1)
        if (recorded := header.entry("voters")) != voters:
            raise InvalidInputError(
                f"{self._name}: this journal was recorded with voters={recorded}, not voters={voters}. Votes "
                "of other voters cannot be reused: use a new file"
            )
        self._keeps_costs = version >= 4
        if version < 3:
            self._check_all_together(header, questions)

    def _check_all_together(self, header: Fields, questions: Mapping[Any, Any]) -> None:
        """Check the questions of a journal that has one digest for all of them."""
        first = dict(itertools.islice(questions.items(), header.whole("n_questions", 0)))
        if header.entry("questions") != _digest((_dump(key, [key, first[key]]) + b"\n" for key in first), 32):
            raise InvalidInputError(
                f"{self._name}: this journal was recorded with other questions, and its old version does not "
                "say which have changed. Give its questions first, unchanged and in the same order, or use a "
                "new file"
            )
        self._described.update(first)

    def _take(self, record: Fields) -> None:
        key = record.entry("question")
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise record.error("question", "must be a string or an integer")
        if key not in self._described:
            self._check_content(key, record.entry("content"))
        self._take_costs(key, record)
        if self._keeps_costs and "voter" not in record and "requests" in record:
            return
        votes = self.recorded.setdefault(key, {})
        voter = record.whole("voter", 0)
        if voter in votes:
            raise record.error("voter", f"{voter} already voted on this question: the file was edited")
        self._n_records += 1
        if "failed" in record:
            votes[voter] = FAILED
            return
        try:
            votes[voter] = self._check_vote(record.entry("vote"))
        except InvalidInputError as error:
            raise record.error("vote", f"cannot be counted by this strategy: {error}") from None

    def _take_costs(self, key: Key, record: Fields) -> None:
        is_vote = "failed" not in record

        def whole(name: str, default: int) -> int:
            return record.whole(name, 0) if name in record else default

        cost = Costs(
            whole("requests", int(is_vote)),
            int(is_vote and "vote" in record),
            whole("prompt_tokens", 0),
            whole("completion_tokens", 0),
        )
        before = self.costs.get(key, Costs())
        self.costs[key] = replace(before + cost, rounds=max(before.rounds, whole("round", 1)))

    def _check_content(self, key: Key, recorded: Any) -> None:
        if recorded != self._contents.get(key, recorded):
            raise InvalidInputError(
                f"{self._name}: question {key!r} has changed since its votes were recorded. Give it a new id "
                "(the ids of a list are the positions: pass a dict instead), or use a new file"
            )
        self._described.add(key)

    # Writing ---------------------------------------------------------------------------------

    def vote(self, key: Key, voter: int, vote: Any) -> None:
        """Record a vote that took one request of its own."""
        self.request(key, {voter: vote}, Costs(1, 1))

    def request(self, key: Key, votes: Mapping[int, Any], cost: Costs, in_round: int = 1) -> None:
        """Record the votes of one request (none if it failed) and its costs.

        Raises
        ------
        InvalidInputError
            If a vote would not survive being written as JSON; nothing is recorded then.
        """
        for vote in votes.values():
            self.check_fits(vote)
        records: list[dict[str, Any]] = [
            {"question": key, "voter": voter, "vote": vote} for voter, vote in votes.items()
        ]
        if self._keeps_costs:
            records = records or [{"question": key, "requests": cost.requests}]
            for name in ("prompt_tokens", "completion_tokens"):
                if getattr(cost, name):
                    records[0][name] = getattr(cost, name)
            if in_round > 1:
                records[0]["round"] = in_round
            for record in records[1:]:
                record["requests"] = 0
        self._append_records(key, records)

    def check_fits(self, vote: Any) -> None:
        """Raise InvalidInputError if a vote would not survive being written as JSON."""
        if not self._comes_back(vote):
            raise InvalidInputError(
                f"with a journal, answers must be strings, finite numbers or booleans, got {shorten(vote)}: "
                "convert answers to strings"
            )

    def _comes_back(self, vote: Any) -> bool:
        """Whether a vote is the same after JSON; a pair becomes a list, which not every strategy accepts."""
        if not isinstance(vote, tuple):
            return isinstance(vote, str | int) or (isinstance(vote, float) and math.isfinite(vote))
        try:
            return bool(self._check_vote(list(vote)) == vote)
        except InvalidInputError:
            return False

    def failure(self, key: Key, voter: int, error: Exception) -> None:
        """Record that a voter failed after all retries."""
        text = f"{type(error).__name__}: {str(error)[:200]}"
        self._append_records(key, [{"question": key, "voter": voter, "failed": text}])

    def _append_records(self, key: Key, records: list[dict[str, Any]]) -> None:
        if not records:
            return
        if key not in self._described:
            records[0]["content"] = self._contents[key]
        self._append(*records)
        self._described.add(key)
        self._n_records += sum("voter" in record for record in records)

    def _append(self, *records: dict[str, Any]) -> None:
        lines, checksum = b"", self._checksum
        for record in records:
            line = json.dumps(record).encode()
            if checksum is not None:
                line, checksum = _with_checksum(line, checksum)
            lines += line + b"\n"
        self._write(lines)
        self._end += len(lines)
        self._checksum = checksum

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._file, line)
            while written < len(line):  # a nearly full disk accepts only a part
                written += os.write(self._file, line[written:])
            now = time.monotonic()
            if now - getattr(self, "_saved_at", now) >= SECONDS_UNSAVED:
                os.fsync(self._file)
                self._saved_at = now
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise JournalError(
                f"cannot write {self._name}: {error.strerror or error}. All earlier votes are saved in it: "
                "free disk space, and run again to resume"
            ) from error

    def close(self) -> None:
        """Force everything to disk and close the file."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise JournalError(f"cannot write {self._name}: {error.strerror or error}") from error
        finally:
            os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _with_checksum(line: bytes, before: int) -> tuple[bytes, int]:
    """Return a line with its checksum, and the checksum, given that of the line before."""
    checksum = zlib.crc32(line, before)
    return line[:-1] + SEAL + f'{checksum:08x}"}}'.encode(), checksum


def _checksum_of(line: bytes, before: int) -> int | None:
    """Return the checksum at the end of a line; None if it is missing or wrong."""
    whole, checksum = _with_checksum(line.rpartition(SEAL)[0] + b"}", before)
    return checksum if whole == line else None


def _dump(key: Any, content: Any) -> bytes:
    """Return the content of a question as JSON, equal in every process for equal contents.

    Raises
    ------
    InvalidInputError
        If JSON cannot store it, or its id.
    """
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise InvalidInputError(
            f"with a journal, the id of a question must be a string or an integer, got {key!r}"
        )
    try:
        return json.dumps(content, sort_keys=True).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            "with a journal, questions must consist of strings, numbers, lists and dicts, "
            f"but question {key!r} does not ({error}): pass ids as questions, and look up the rest in `ask`"
        ) from None


def _digest(parts: Iterable[bytes], length: int = 16) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:length]
