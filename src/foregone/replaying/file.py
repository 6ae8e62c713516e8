"""read_votes(file): recorded votes from a Parquet or CSV file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import MEMORY_PER_BYTE, Memory, cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.replaying.recorded import REQUIRED, TOKENS, RecordedVotes

__all__ = ["read_votes"]

PARQUET_MAGIC = b"PAR1"
BYTES_A_VOTE = 800  # measured where every vote is on an item of its own; on items of many it is half


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
