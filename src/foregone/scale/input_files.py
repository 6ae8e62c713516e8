"""Input files: Parquet or CSV files, split into parts that can be read independently and repeatedly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foregone._kernels.csv_lines import LINE_START, find_line_ends
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.scale.columns import check_kind, listed
from foregone.scale.model_file import NUMBERS, TEXTS

__all__ = ["FilePart", "InputFiles", "pyarrow"]

Kinds = dict[str, str]  # column of each feature -> the kind of its categories, or ""

PARQUET_MAGIC = b"PAR1"
PART_ROWS = 262_144  # smallest part of a Parquet file, in whole row groups
PART_BYTES = 32 << 20  # size of a part of a CSV file, up to the end of a line
MOST_PART_BYTES = 1 << 30  # a part is read into memory as a whole
SCAN_BYTES = 1 << 20
CSV_BLOCK_BYTES = 4 << 20
BATCH_VALUES = 1 << 21  # values per batch in memory, kept and scored columns together
MOST_BATCH_ROWS = 65_536


class FilePart(NamedTuple):
    """A part of a file: a range of Parquet row groups, or of CSV bytes, from start to before end."""

    file: str
    start: int
    end: int


class InputFiles(NamedTuple):
    """The files of an input, all Parquet or all CSV, with the same columns.

    Attributes
    ----------
    files : tuple of str
        In the order of their rows.
    is_parquet : bool
        Whether the files are Parquet; otherwise CSV.
    columns : tuple of str
        Column names of the first file; the other files must have the columns that are used.
    booleans : frozenset of str
        CSV columns with true and false, inferred from the first rows of the first file.
    """

    files: tuple[str, ...]
    is_parquet: bool
    columns: tuple[str, ...]
    booleans: frozenset[str] = frozenset()

    @classmethod
    def at(cls, path: Path) -> InputFiles:
        """Find the files: ``path`` itself, or all ``*.parquet`` or else ``*.csv`` in that folder, by name."""
        files = [path]
        if path.is_dir():
            found = [file for file in sorted(path.iterdir()) if not file.name.startswith((".", "_"))]
            files = [file for file in found if file.suffix == ".parquet"]
            files = files or [file for file in found if file.suffix == ".csv"]
            if not files:
                raise FileFormatError(f"{path}: the folder has no *.parquet or *.csv files")
        kinds = {_is_parquet(file): file for file in files}
        if len(kinds) > 1:
            raise FileFormatError(
                f"{kinds[False]} is not Parquet, but other files in {path} are: use only one format"
            )
        is_parquet = kinds.popitem()[0]
        first, named = str(files[0]), tuple(str(file.resolve()) for file in files)
        if is_parquet:
            return cls(named, is_parquet, tuple(_parquet_schema(first).names))
        return cls(named, is_parquet, tuple(_csv_header(first)[0]), _csv_booleans(first))

    def identity(self) -> list[list[Any]]:
        """Return names, sizes and modification times, to detect whether an input has changed."""
        return [[file, (found := Path(file).stat()).st_size, found.st_mtime_ns] for file in self.files]

    def kept_schema(self, features: Kinds, kept: list[str]) -> Any:
        """Check the kept columns and the features in every file, and return the types of the kept columns.

        CSV columns that are not features are kept as strings.
        """
        pa = pyarrow()
        if not self.is_parquet:
            for file in self.files:
                _require(file, _csv_header(file)[0], [*features, *kept])
            return pa.schema([(name, self._csv_type(name, features)) for name in kept])
        first = None
        for file in self.files:
            schema = _parquet_schema(file)
            _require(file, schema.names, [*features, *kept])
            for name, categories in features.items():
                kind = schema.field(name).type
                check_kind(name, _what_it_holds(kind), categories, kind, file)
            own = pa.schema([schema.field(name).remove_metadata().with_nullable(True) for name in kept])
            if first is not None and own != first:
                name = next(name for name in kept if own.field(name) != first.field(name))
                raise FileFormatError(
                    f"column {name!r} has type {own.field(name).type} in {file}, but "
                    f"{first.field(name).type} in {self.files[0]}: convert them to the same type"
                )
            first = own
        return first

    def require(self, names: list[str]) -> None:
        """Raise InvalidInputError unless every file has each of these columns exactly once."""
        for file in self.files:
            there = _parquet_schema(file).names if self.is_parquet else _csv_header(file)[0]
            _require(file, there, names)
            twice = [name for name in names if there.count(name) > 1]
            if twice:
                raise InvalidInputError(
                    f"{file} has column {listed(twice)} more than once: rename one of them"
                )

    def parts(self) -> list[FilePart]:
        """Split the files into parts; CSV files are scanned once to distinguish quoted line ends."""
        cut = _parquet_parts if self.is_parquet else _csv_parts
        return [part for file in self.files for part in cut(file)]

    def batches(self, part: FilePart, features: Kinds) -> Iterator[Any]:
        """Read the features of a part in record batches of bounded size."""
        return self._read(part, list(features), features)

    def kept_batches(self, part: FilePart, features: Kinds, kept: list[str]) -> Iterator[list[Any]]:
        """Read the kept columns of a part, batch by batch."""
        for batch in self._read(part, kept, features):
            yield [batch.column(name) for name in kept]

    def _read(self, part: FilePart, columns: list[str], features: Kinds) -> Iterator[Any]:
        rows = max(1, min(MOST_BATCH_ROWS, BATCH_VALUES // len(columns)))
        try:
            if self.is_parquet:
                yield from _parquet_batches(part, columns, rows)
            else:
                types = {name: self._csv_type(name, features) for name in columns}
                yield from _csv_batches(part, types, rows)
        except pyarrow().ArrowException as error:
            raise FileFormatError(f"{part.file}: {_one_line(error)}") from None
        except OSError as error:
            raise FileFormatError(f"cannot read {part.file}: {error.strerror or error}") from None

    def _csv_type(self, name: str, features: Kinds) -> Any:
        pa = pyarrow()
        if features.get(name, TEXTS) == TEXTS:
            return pa.string()
        return pa.bool_() if name in self.booleans else pa.float64()


def pyarrow() -> Any:
    """Return pyarrow. Raises MissingExtraError if it is not installed."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "scale", "Scoring files") from None
    return pa


def _is_parquet(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError) as error:  # ValueError: a name no file can have
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(f"cannot read {file}: {reason}") from None
    if start[:2] == b"\x1f\x8b":
        raise FileFormatError(f"{file}: gzip files cannot be read in parts: decompress the file first")
    return start == PARQUET_MAGIC


def _require(file: str, there: list[str], names: list[str]) -> None:
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidInputError(f"{file} has no column {listed(missing)}; available: {listed(there)}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


# Parquet -------------------------------------------------------------------------------------


def _parquet_file(file: str) -> Any:
    pa = pyarrow()
    from pyarrow.parquet import ParquetFile

    try:
        # Pages are read lazily, because a row group may be larger than memory.
        return ParquetFile(file, pre_buffer=False, buffer_size=SCAN_BYTES)
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: pyarrow's, too
        raise FileFormatError(f"{file}: not a readable Parquet file: {_one_line(error)}") from None


def _parquet_schema(file: str) -> Any:
    with _parquet_file(file) as parquet:
        schema = parquet.schema_arrow
    try:
        _ = schema.names
    except UnicodeDecodeError:
        raise FileFormatError(f"{file}: damaged: a column name is not UTF-8") from None
    return schema


def _what_it_holds(kind: Any) -> str:
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return NUMBERS
    return TEXTS if types.is_string(kind) or types.is_large_string(kind) else ""


def _parquet_parts(file: str) -> Iterator[FilePart]:
    with _parquet_file(file) as parquet:
        n_rows = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
    start = rows = 0
    for group, more in enumerate(n_rows):
        rows += more
        if rows >= PART_ROWS or group == len(n_rows) - 1:
            yield FilePart(file, start, group + 1)
            start, rows = group + 1, 0


def _parquet_batches(part: FilePart, columns: list[str], rows: int) -> Iterator[Any]:
    with _parquet_file(part.file) as parquet:
        groups = list(range(part.start, part.end))
        for batch in parquet.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False):
            yield batch.select(columns)


# CSV -----------------------------------------------------------------------------------------


def _csv_header(file: str) -> tuple[list[str], int]:
    """Return the names of the columns and where the first row starts."""
    with Path(file).open("rb") as stream:
        line = stream.readline()
        end = stream.tell()
    try:
        names = next(csv.reader(io.StringIO(line.decode("utf-8-sig")), strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise FileFormatError(f"{file}: neither Parquet nor CSV with a header line") from None
    if not names:
        raise FileFormatError(f"{file}: empty: a CSV file needs a header line with column names")
    if len(set(names)) < len(names):
        raise FileFormatError(f"{file}: a column name occurs twice: rename one")
    return names, end


def _csv_booleans(file: str) -> frozenset[str]:
    """Return the columns that Arrow infers as boolean from the first rows."""
    pa = pyarrow()
    from pyarrow import csv as arrow_csv

    names, start = _csv_header(file)
    with Path(file).open("rb") as stream:
        stream.seek(start)
        block = stream.read(SCAN_BYTES)
        if len(block) == SCAN_BYTES:
            block = block[: _last_line_end(block)]
    if not block.strip():
        return frozenset()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(column_names=names, use_threads=False),
            arrow_csv.ParseOptions(newlines_in_values=True),
        )
    except pa.ArrowException:  # raised with its position when the rows are read
        return frozenset()
    return frozenset(field.name for field in table.schema if pa.types.is_boolean(field.type))


def _last_line_end(block: bytes) -> int:
    ends = np.empty(block.count(b"\n"), np.int64)
    n_ends, _ = find_line_ends(np.frombuffer(block, np.uint8), LINE_START, ends)
    return int(ends[n_ends - 1]) if n_ends else 0


def _csv_parts(file: str) -> Iterator[FilePart]:
    """Split at line ends outside of quotes, with the same rules as Arrow's parser."""
    _, start = _csv_header(file)
    ends = np.empty(1, np.int64)  # the first line end of a block is enough
    with Path(file).open("rb") as stream:
        place, state = start, LINE_START
        stream.seek(start)
        while block := stream.read(SCAN_BYTES):
            n_ends, state = find_line_ends(np.frombuffer(block, np.uint8), state, ends)
            if n_ends and place + len(block) - start >= PART_BYTES:
                yield FilePart(file, start, place + int(ends[0]))
                start = place + int(ends[0])
            elif place + len(block) - start > MOST_PART_BYTES:
                raise FileFormatError(
                    f"{file}: no line end within {MOST_PART_BYTES >> 20} MB after byte {start:,}: check for "
                    "a quote at the start of a field that is never closed"
                )
            place += len(block)
    if place > start:
        yield FilePart(file, start, place)


def _csv_batches(part: FilePart, types: dict[str, Any], rows: int) -> Iterator[Any]:
    pa = pyarrow()
    from pyarrow import csv as arrow_csv

    names, _ = _csv_header(part.file)
    with Path(part.file).open("rb") as stream:
        stream.seek(part.start)
        content = stream.read(part.end - part.start)
    if not content.strip():
        return
    reader = arrow_csv.open_csv(
        pa.BufferReader(content),
        arrow_csv.ReadOptions(column_names=names, block_size=CSV_BLOCK_BYTES, use_threads=False),
        arrow_csv.ParseOptions(newlines_in_values=True),
        arrow_csv.ConvertOptions(include_columns=list(types), column_types=types),
    )
    for block in reader:
        for start in range(0, block.num_rows, rows):
            yield block.slice(start, rows)
