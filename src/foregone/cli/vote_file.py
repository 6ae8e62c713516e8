"""Read counts and values by number of yes votes from small text files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from foregone._system.file_reading import read_bytes
from foregone.errors import FileFormatError
from foregone.planning.recommendation import number_of_voters
from foregone.tally import shorten

__all__ = ["read_counts", "read_labelled_counts", "read_values"]

MOST_DIGITS = 18  # of n; Python itself refuses to read numbers of thousands of digits


class _Line(NamedTuple):
    number: int
    content: str

    @property
    def cells(self) -> list[str]:
        return re.split(r"\s*[,;\t]\s*|\s+", self.content)


def read_counts(file: Path, n_voters: int | None = None) -> list[float]:
    """Return ``counts[n]`` for n from 0 to the number of voters.

    The file holds one number per line, or all numbers on one line, or two columns: n and its count (a missing
    n counts zero), or three columns: n and how many of the inputs are truly no and truly yes. Commas,
    semicolons, tabs and spaces separate numbers. A first line without numbers is a header. Everything after a
    ``#`` is ignored.

    Parameters
    ----------
    file : Path
        What to read.
    n_voters : int, optional
        Number of voters, if it is known; the file must fit it.

    Raises
    ------
    FileFormatError
        Names the file and the line.
    """
    return [sum(counts) for counts in zip(*_columns(file, n_voters), strict=True)]


def read_labelled_counts(file: Path, n_voters: int | None = None) -> tuple[list[float], ...] | None:
    """Return the counts of inputs that are truly no and truly yes; None if the file has no true answers.

    It has them if it has three columns: n, no and yes. All else is as in `read_counts`.
    """
    columns = _columns(file, n_voters)
    return columns if len(columns) == 2 else None


def read_values(file: Path, n_voters: int) -> list[float]:
    """Return the loss of a disagreement for n from 0 to the number of voters.

    The file holds one number per line, all numbers on one line, or two columns: n and its value.
    """
    lines = _lines(file)
    width = 1 if len(lines) == 1 else len(lines[0].cells)
    if width > 2:
        raise FileFormatError(
            f"{file}, line {lines[1].number}: expected one line of values, one value per line, or two "
            "columns (n, value)"
        )
    values = _column(file, lines, _value) if width == 1 else _by_n(file, lines, n_voters, _value, 2)[0]
    if len(values) != n_voters + 1:
        raise FileFormatError(
            f"{file}: {len(values)} values do not fit {number_of_voters(n_voters)}; give {n_voters + 1}, "
            f"one for each number of yes votes from 0 to {n_voters}"
        )
    return values


def _columns(file: Path, n_voters: int | None) -> tuple[list[float], ...]:
    """Return the counts, or those of inputs that are truly no and truly yes."""
    lines = _lines(file)
    width = 1 if len(lines) == 1 else len(lines[0].cells)
    if width > 3:
        raise FileFormatError(
            f"{file}, line {lines[1].number}: expected one line of counts, one count per line, "
            "two columns (n, count) or three (n, truly no, truly yes)"
        )
    columns = (_column(file, lines, _count),) if width == 1 else _by_n(file, lines, n_voters, _count, width)
    counts = [sum(of_n) for of_n in zip(*columns, strict=True)]
    if n_voters is not None and len(counts) != n_voters + 1:
        raise FileFormatError(
            f"{file}: {len(counts)} counts do not fit {number_of_voters(n_voters)}; give {n_voters + 1}, "
            f"one for each number of yes votes from 0 to {n_voters}"
        )
    if len(counts) < 2:
        raise FileFormatError(
            f"{file}: only one count; give one for each number of yes votes, from 0 to the number of voters"
        )
    if not any(counts):
        raise FileFormatError(f"{file}: all counts are zero; give at least one observed vote")
    return columns


def _lines(file: Path) -> list[_Line]:
    try:
        text = read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{file}: not a text file; give counts as text, such as CSV") from None
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if content:
            lines.append(_Line(number, content.rstrip(",;")))
    if lines and not any(_is_number(cell) for cell in lines[0].cells):
        del lines[0]
    if not lines:
        raise FileFormatError(f"{file}: contains no numbers; give one count for each number of yes votes")
    return lines


ReadCell = Callable[[Path, int, str], float]
_NAMES = {2: "two columns, n and count", 3: "three columns, n, truly no and truly yes"}


def _column(file: Path, lines: list[_Line], read: ReadCell) -> list[float]:
    """Return the numbers of one line, or of one column."""
    if len(lines) == 1:
        return [read(file, lines[0].number, cell) for cell in lines[0].cells]
    return [read(file, *_only(file, line)) for line in lines]


def _by_n(
    file: Path, lines: list[_Line], n_voters: int | None, read: ReadCell, width: int
) -> tuple[list[float], ...]:
    """Return the columns after n, in the order of n; zero for a missing n."""
    found: dict[int, list[float]] = {}
    for line in lines:
        cells = line.cells
        if len(cells) != width:
            raise FileFormatError(f"{file}, line {line.number}: expected {_NAMES[width]}, found {len(cells)}")
        if not cells[0].isdecimal() or len(cells[0]) > MOST_DIGITS:
            raise FileFormatError(
                f"{file}, line {line.number}: n must be an integer of at least 0, got {shorten(cells[0])}"
            )
        n = int(cells[0])
        if n_voters is not None and n > n_voters:
            raise FileFormatError(
                f"{file}, line {line.number}: n is {n}, but there are {number_of_voters(n_voters)}; correct "
                "n or --voters"
            )
        if n in found:
            raise FileFormatError(f"{file}, line {line.number}: n = {n} appears twice; add up its counts")
        found[n] = [read(file, line.number, cell) for cell in cells[1:]]
    if n_voters is None and len(found) != max(found) + 1:
        raise FileFormatError(
            f"{file}: some n are missing, so the number of voters is unknown; give --voters N"
        )
    size = max(found) + 1 if n_voters is None else n_voters + 1
    none = [0.0] * (width - 1)
    return tuple(list(column) for column in zip(*(found.get(n, none) for n in range(size)), strict=True))


def _only(file: Path, line: _Line) -> tuple[int, str]:
    cells = line.cells
    if len(cells) != 1:
        raise FileFormatError(f"{file}, line {line.number}: expected one count, found {len(cells)} values")
    return line.number, cells[0]


def _count(file: Path, number: int, cell: str) -> float:
    value = float(cell) if _is_number(cell) else math.nan
    if not (math.isfinite(value) and value >= 0):
        raise FileFormatError(
            f"{file}, line {number}: a count must be a number of at least 0, got {shorten(cell)}"
        )
    return value


def _value(file: Path, number: int, cell: str) -> float:
    value = float(cell) if _is_number(cell) else math.nan
    if not 0 <= value <= 1:
        raise FileFormatError(
            f"{file}, line {number}: a value must be a number from 0 to 1, got {shorten(cell)}"
        )
    return value


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
