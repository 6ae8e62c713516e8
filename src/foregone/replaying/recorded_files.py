"""read_votes: read recorded votes from tables and Inspect logs; the content decides the format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import MEMORY_PER_BYTE, Memory, cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.replaying.inspect_logs import ZIP_MAGIC, columns_of_log, is_log, read_eval_log
from foregone.replaying.recorded import COLUMNS, Counted, RecordedVotes

__all__ = ["read_votes"]

PARQUET_MAGIC = b"PAR1"
BYTES_A_VOTE = 800  # measured with one vote per item; half of it with many votes per item

VoteColumns = Mapping[str, Sequence[Any]]


def read_votes(
    path: PathLike,
    *,
    count: Counted | None = None,
    scorer: str | None = None,
    max_memory: float | None = None,
) -> RecordedVotes:
    """Read recorded votes from a file: a table with one vote per row, or an Inspect log.

    A table is Parquet (which needs the extra ``replay``), CSV with a header line, or JSON lines, with the
    columns of `RecordedVotes.from_columns`. An Inspect log (``inspect_ai``) is an ``.eval`` or ``.json``
    file: items are its samples, draws are epochs, tokens are those of all models. The content decides the
    format, not the file name.

    Parameters
    ----------
    path : path
        The file.
    count : {"answer", "score"}, optional
        What counts as the vote. For tables the default is the answer, or the score if there are no answers.
        For logs the default is the score: the value that a scorer gave (such as C or I), not the answer that
        it read.
    scorer : str, optional
        Name of the scorer to use from a log; not needed if it has only one. Use ``NAME:KEY`` for a scorer
        that gives several values.
    max_memory : float, optional
        Bytes that may be used in addition to 100 times the size of the file; by default 256 MiB. (A Parquet
        file can hold a million votes in half a megabyte.)

    Raises
    ------
    FileFormatError
        If the file cannot be read, or has no votes.
    MissingExtraError
        If pyarrow is not installed but needed: for Parquet, and for logs compressed with Zstandard, as
        Inspect does.
    """
    file, memory = Path(path), Memory(str(path), max_memory)
    try:
        with file.open("rb") as stream:
            start = stream.read(16)
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    log: list[Any] | None = None
    columns: VoteColumns = {}
    if start.startswith(ZIP_MAGIC):
        log = read_eval_log(file, memory, summaries=count != "answer")
    elif start.startswith(PARQUET_MAGIC):
        columns = _parquet_columns(file, memory)
    elif start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        log, columns = _json_content(file)
    else:
        columns = _csv_columns(file)
    try:
        if log is not None:
            columns, count = columns_of_log(log, str(file), count or "score", scorer), "answer"
        elif scorer is not None:
            raise InvalidInputError(
                f"{file}: scorer is only for Inspect logs, but this is a table: leave it out"
            )
        return RecordedVotes.from_columns(columns, str(file), count=count)
    except InvalidInputError as error:
        raise FileFormatError(str(error)) from None


def _parquet_columns(file: Path, memory: Memory) -> VoteColumns:
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
            wanted = [name for name in COLUMNS if name in names]
            table = parquet.read(columns=wanted).to_pydict()
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: not a readable Parquet file: {error}") from None
    # Ignored columns need only their names.
    return {name: table.get(name, ()) for name in names}


def _csv_columns(file: Path) -> VoteColumns:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            names = [name.strip() for name in next(reader, [])]
            columns: dict[str, list[str]] = {name: [] for name in names}
            if len(columns) < len(names):
                raise FileFormatError(f"{file}: a column name occurs twice: rename one")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise FileFormatError(
                        f"{file}, line {reader.line_num}: expected {len(names)} values, got {len(cells)}: "
                        "put answers that contain a comma in quotes"
                    )
                for name, cell in zip(names, cells, strict=True):
                    columns[name].append(cell)
    except OSError as error:
        raise cannot_read(file, error) from None
    except (UnicodeDecodeError, csv.Error):
        raise FileFormatError(
            f"{file}: unknown format: give Parquet, CSV, JSON lines or an Inspect log"
        ) from None
    return dict(columns)


def _json_content(file: Path) -> tuple[list[Any] | None, VoteColumns]:
    """Return the samples of an Inspect log, or None and the columns of JSON lines."""
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise cannot_read(file, error) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{file}: not UTF-8 text: give JSON lines or an Inspect log") from None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):  # several lines of JSON
        content = None
    return (content["samples"], {}) if is_log(content) else (None, _line_columns(file, text))


def _line_columns(file: Path, text: str) -> VoteColumns:
    votes: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise FileFormatError(
                f"{file}, line {number}: not a JSON object: give one vote per line, or an Inspect log with "
                "samples"
            )
        names.update(dict.fromkeys(content if number == 1 else [name for name in COLUMNS if name in content]))
        votes.append({name: content[name] for name in COLUMNS if name in content})
    # Ignored columns need only their names.
    return {name: [vote.get(name) for vote in votes] if name in COLUMNS else () for name in names}
