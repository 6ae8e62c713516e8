"""read_counts(file): how often n voters said yes, from a small text file."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from foregone._system.file_reading import read_bytes
from foregone.errors import FileFormatError
from foregone.planning.recommendation import number_of_voters
from foregone.tally import shorten

__all__ = ["read_counts"]

MOST_DIGITS = 18  # of n; Python itself refuses to read numbers of thousands of digits


class _Line(NamedTuple):
    number: int
    content: str

    @property
    def cells(self) -> list[str]:
        return re.split(r"\s*[,;\t]\s*|\s+", self.content)


def read_counts(file: Path, n_voters: int | None = None) -> list[float]:
    """Return ``counts[n]`` for n from 0 to the number of voters.

    The file holds one number a line, or all of them on one line, or lines of two: n and its count (an n
    that does not occur counts zero). Commas, semicolons, tabs and spaces separate; a first line without
    any number is a header; what follows a ``#`` is ignored.

    Parameters
    ----------
    file : Path
        What to read.
    n_voters : int, optional
        Number of voters, when it is known; the file must fit it.

    Raises
    ------
    FileFormatError
        Names the file and the line.
    """
    lines = _lines(file)
    width = len(lines[0].cells)
    if len(lines) == 1:
        counts = [_count(file, lines[0].number, cell) for cell in lines[0].cells]
    elif width == 1:
        counts = [_count(file, *_only(file, line)) for line in lines]
    elif width == 2:
        counts = _from_pairs(file, lines, n_voters)
    else:
        raise FileFormatError(
            f"{file}, line {lines[1].number}: expected one line of counts, one count a line, "
            "or two columns (n, count)"
        )
    if n_voters is not None and len(counts) != n_voters + 1:
        raise FileFormatError(
            f"{file}: {len(counts)} counts do not fit {number_of_voters(n_voters)}; give {n_voters + 1}, "
            "one for each number of yes votes from 0 up"
        )
    if len(counts) < 2:
        raise FileFormatError(f"{file}: a single count; give one for each number of yes votes from 0 up")
    if not any(counts):
        raise FileFormatError(f"{file}: all counts are zero; give at least one observed vote")
    return counts


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
        raise FileFormatError(f"{file}: no numbers in it; give one count for each number of yes votes")
    return lines


def _from_pairs(file: Path, lines: list[_Line], n_voters: int | None) -> list[float]:
    found: dict[int, float] = {}
    for line in lines:
        cells = line.cells
        if len(cells) != 2:
            raise FileFormatError(
                f"{file}, line {line.number}: expected two columns, n and count, found {len(cells)}"
            )
        if not cells[0].isdecimal() or len(cells[0]) > MOST_DIGITS:
            raise FileFormatError(
                f"{file}, line {line.number}: n must be a whole number from 0, not {shorten(cells[0])}"
            )
        n = int(cells[0])
        if n_voters is not None and n > n_voters:
            raise FileFormatError(
                f"{file}, line {line.number}: n is {n}, more than the {number_of_voters(n_voters)}"
            )
        if n in found:
            raise FileFormatError(
                f"{file}, line {line.number}: n = {n} stands there twice; add its counts up"
            )
        found[n] = _count(file, line.number, cells[1])
    if n_voters is None and len(found) != max(found) + 1:
        raise FileFormatError(
            f"{file}: some n do not occur, so say how many voters there are, with --voters N"
        )
    size = max(found) + 1 if n_voters is None else n_voters + 1
    return [found.get(n, 0.0) for n in range(size)]


def _only(file: Path, line: _Line) -> tuple[int, str]:
    cells = line.cells
    if len(cells) != 1:
        raise FileFormatError(f"{file}, line {line.number}: expected one count, found {len(cells)} values")
    return line.number, cells[0]


def _count(file: Path, number: int, cell: str) -> float:
    value = float(cell) if _is_number(cell) else math.nan
    if not (math.isfinite(value) and value >= 0):
        raise FileFormatError(
            f"{file}, line {number}: a count must be a number of at least 0, not {shorten(cell)}"
        )
    return value


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
