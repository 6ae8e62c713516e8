"""The folder of finished parts: what a stopped run goes on from, and what the output is joined from."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foregone.atomic_file import replaced_when_done, write_atomically
from foregone.errors import FileFormatError, InvalidInputError
from foregone.scale.input_files import pyarrow

__all__ = ["FinishedParts"]

MANIFEST = "manifest.json"
FORMAT, VERSION = "foregone-parts", 1
ROW_GROUP_ROWS = 1 << 20
WHAT_CHANGED = {  # field of the manifest: what the user knows it as
    "model": "the model",
    "input": "the input",
    "parts": "the input",
    "features": "the columns of the features",
    "keep": "the columns to keep",
    "label": "the names of the new columns",
    "version": "the version of foregone",
}


class FinishedParts:
    """A folder beside the output: a file for each finished part, and a manifest that says what they are of.

    A part is there whole or not at all. Its file is Arrow's, uncompressed, whatever the output will be.

    Parameters
    ----------
    output : Path
        The file to be written in the end.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder = output.with_name(output.name + ".parts")

    def start(self, manifest: dict[str, Any]) -> None:
        """Make the folder, or go on with one whose parts, if there are any, are of the same work.

        Raises
        ------
        InvalidInputError
            If the folder is of other work: its parts and new ones would not fit together.
        """
        manifest = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **manifest}))
        try:
            self.folder.mkdir(exist_ok=True)
            for leftover in self.folder.glob(".*.part"):
                leftover.unlink()
            names = {file.name for file in self.folder.iterdir()}
            found = json.loads((self.folder / MANIFEST).read_bytes()) if names else manifest
        except OSError as error:
            raise InvalidInputError(
                f"cannot use the folder {self.folder}: {error.strerror or error}"
            ) from None
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInputError(f"{self.folder} is no folder of finished parts: move it out of the way")
        if names <= {MANIFEST}:  # nothing is finished that could be spoiled
            write_atomically(self.folder / MANIFEST, [json.dumps(manifest, indent=1).encode()])
            return
        for field, what in WHAT_CHANGED.items():
            if found.get(field) != manifest[field]:
                raise InvalidInputError(
                    f"{what} changed since {self.folder} was begun: undo the change to go on, or remove that "
                    "folder to begin again"
                )

    def file(self, number: int) -> Path:
        """Return where a part goes."""
        return self.folder / f"part-{number:06d}.arrow"

    def write(self, number: int, schema: Any, batches: Iterator[Any]) -> int:
        """Write a part, whole or not at all, and return the number of its rows."""
        pa = pyarrow()
        rows = 0
        with replaced_when_done(self.file(number)) as part, pa.ipc.new_file(str(part), schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        return rows

    def join(self, n_parts: int, schema: Any) -> Iterator[Any]:
        """Write the output from all parts, atomically, giving each batch on its way; remove the folder."""
        with replaced_when_done(self.output) as joined, _writer(joined, self.output, schema) as write:
            for number in range(n_parts):
                for batch in self._read(number, schema):
                    write(batch)
                    yield batch
        with contextlib.suppress(OSError):
            shutil.rmtree(self.folder)

    def _read(self, number: int, schema: Any) -> Iterator[Any]:
        pa = pyarrow()
        file = self.file(number)
        try:
            with pa.memory_map(str(file)) as content, pa.ipc.open_file(content) as reader:
                if reader.schema != schema:
                    raise FileFormatError(f"{file}: not the part it should be; remove it and run this again")
                for k in range(reader.num_record_batches):
                    yield reader.get_batch(k)
        except (OSError, pa.ArrowException):
            raise FileFormatError(f"{file}: damaged; remove it and run this again") from None


@contextlib.contextmanager
def _writer(file: Path, output: Path, schema: Any) -> Iterator[Any]:
    """Give a function that writes a batch to a file of the kind that the output's name says."""
    pa = pyarrow()
    if output.suffix == ".csv":
        from pyarrow.csv import CSVWriter

        with CSVWriter(str(file), schema) as csv_writer:
            yield csv_writer.write_batch
        return
    from pyarrow.parquet import ParquetWriter

    waiting: list[Any] = []

    def flush() -> None:
        if waiting:
            parquet_writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=ROW_GROUP_ROWS)
            waiting.clear()

    def write(batch: Any) -> None:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= ROW_GROUP_ROWS // 4:
            flush()

    with ParquetWriter(str(file), schema) as parquet_writer:
        yield write
        flush()
