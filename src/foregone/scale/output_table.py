"""Write the output table batch by batch, as Parquet or CSV depending on its name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from foregone.scale.input_files import pyarrow

__all__ = ["table_writer"]

ROW_GROUP_ROWS = 1 << 20
FORMULA = r"^[=+\-@\t\r\n]"  # strings that spreadsheets would run as formulas


@contextlib.contextmanager
def table_writer(
    file: Path, output: Path, schema: Any, escape_formulas: bool
) -> Iterator[Callable[[Any], None]]:
    """Yield a function that writes a record batch to ``file``, in the format of ``output``."""
    write_all = _csv if output.suffix == ".csv" else _parquet
    with write_all(file, schema) as write:
        yield (lambda batch: write(_escaped(batch))) if escape_formulas else write


@contextlib.contextmanager
def _csv(file: Path, schema: Any) -> Iterator[Callable[[Any], None]]:
    from pyarrow.csv import CSVWriter

    # A file of our own: pyarrow's stays open for a while, and Windows renames no open file.
    with file.open("wb") as stream, CSVWriter(stream, schema) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _parquet(file: Path, schema: Any) -> Iterator[Callable[[Any], None]]:
    pa = pyarrow()
    from pyarrow.parquet import ParquetWriter

    waiting: list[Any] = []

    def flush() -> None:
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=ROW_GROUP_ROWS)
            waiting.clear()

    def write(batch: Any) -> None:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= ROW_GROUP_ROWS // 4:
            flush()

    with ParquetWriter(str(file), schema) as writer:
        yield write
        flush()


def _escaped(batch: Any) -> Any:
    """Return a batch in which no string starts like a spreadsheet formula."""
    pa = pyarrow()
    from pyarrow import compute

    columns = []
    for column in batch.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            quote, nothing = (pa.scalar(text, column.type) for text in ("'", ""))
            escaped = compute.binary_join_element_wise(quote, column, nothing)
            column = compute.if_else(compute.match_substring_regex(column, FORMULA), escaped, column)
        columns.append(column)
    return pa.record_batch(columns, schema=batch.schema)
