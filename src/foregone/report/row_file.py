"""Read rows from parquet, CSV or a NumPy file."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError

__all__ = ["read_rows"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_rows(path: PathLike, n_axes: Container[int] = (2,)) -> Any:
    """Return the table in a file: a pandas frame, or an array where columns have no names.

    Parameters
    ----------
    path : path
        Parquet (a folder of its parts too), ``.npy``, or ``.csv`` and ``.tsv``, which may be compressed as
        in ``.csv.gz``. A CSV file whose first line holds nothing but numbers has no names.
    n_axes : container of int
        Allowed numbers of axes of an array.

    Raises
    ------
    FileFormatError
        If the file cannot be read or has another format.
    InvalidInputError
        If it has no rows.
    """
    file = Path(path)
    try:
        table = _read(file)
    except (FileFormatError, MissingExtraError):
        raise
    except Exception as error:  # each format has errors of its own
        reason = (
            getattr(error, "strerror", None) or " ".join(str(error).split())[:200] or type(error).__name__
        )
        raise FileFormatError(f"cannot read {file}: {reason}") from error
    if getattr(table, "ndim", 2) not in n_axes:
        raise FileFormatError(f"{file} must hold rows and columns, but its array has the shape {table.shape}")
    if len(table) == 0:
        raise InvalidInputError(f"{file} has no rows: give rows like those in production")
    return table


def _read(file: Path) -> Any:
    start = b"PAR1" if file.is_dir() else _first_bytes(file)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    separator = next((SEPARATORS[suffix] for suffix in suffixes[-2:] if suffix in SEPARATORS), None)
    if start.startswith(b"\x93NUMPY"):
        return np.load(file, allow_pickle=False)
    if not start.startswith(b"PAR1") and separator is None:
        raise FileFormatError(
            f"{file} has an unknown format: give parquet, .csv, .tsv or .npy, one row per input"
        )
    try:
        import pandas
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(error.name or "pandas", "report", "Reading a table") from None
    if separator is None:
        rows = parquet.read_table(file)
        rows.validate(full=True)  # invalid texts would fail later, wherever they are looked at
        return rows.to_pandas()
    table = pandas.read_csv(file, sep=separator)
    if all(_is_number(name) for name in table.columns):
        return pandas.read_csv(file, sep=separator, header=None).to_numpy()
    return table


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(8)


def _is_number(name: Any) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
