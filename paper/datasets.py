"""The paper's datasets by name: from a folder of parquet files, else over the network, kept for next time."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import write_atomically
from foregone.errors import ForegoneError, InvalidInputError, MissingExtraError
from paper.known_datasets import KNOWN, KnownDataset
from paper.results import DatasetFacts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "check_folder", "facts", "obtain", "read"]

TARGET = "target"
SECONDS_TO_ANSWER = 60  # how long a server may be silent


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows ready for a forest.

    Attributes
    ----------
    X : ndarray of float32, shape (n_rows, n_features)
        Columns that were not numbers became codes, in the order of their sorted values.
    y : ndarray of int8, shape (n_rows,)
        1 for the largest class, 0 for all others.
    classes : int
        How many there were before they were merged.
    """

    X: npt.NDArray[np.float32] = field(repr=False)
    y: npt.NDArray[np.int8] = field(repr=False)
    classes: int

    def fingerprint(self) -> str:
        """Return a digest of every value, the same on every machine."""
        digest = hashlib.sha256(repr((self.X.shape, self.classes)).encode())
        digest.update(np.ascontiguousarray(self.X, "<f4").data)
        digest.update(self.y.tobytes())
        return digest.hexdigest()


def check_folder(folder: Path | None) -> Path | None:
    """Return the folder of local files: the given one, else that of ``FOREGONE_DATA``, else None."""
    if folder is None and os.environ.get("FOREGONE_DATA"):
        folder = Path(os.environ["FOREGONE_DATA"])
    if folder is not None and not folder.is_dir():
        raise InvalidInputError(
            f"the data folder {folder} does not exist: give one that holds parquet files, or none at all"
        )
    return folder


def obtain(name: str, folder: Path | None) -> Path:
    """Return a parquet file that holds the dataset: a local one, one kept from before, or a new download.

    In ``folder`` it is ``NAME.parquet``, or else the one file whose name begins with ``NAME`` and goes on
    with ``_``, ``-`` or a dot: a variant of the set.

    Raises
    ------
    ForegoneError
        If it cannot be had. The message says why, without the name.
    """
    local = _local_file(name, folder) if folder is not None else None
    if local is not None:
        return local
    from sklearn.datasets import get_data_home

    try:
        kept = Path(get_data_home()) / "foregone" / f"{name}.parquet"
        kept.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"downloads cannot be kept ({error}); set SCIKIT_LEARN_DATA to a folder that can be written"
        ) from None
    if not kept.exists():
        buffer = io.BytesIO()
        _download(KNOWN[name]).to_parquet(buffer, index=False)
        write_atomically(kept, [buffer.getvalue()])
    return kept


def _local_file(name: str, folder: Path) -> Path | None:
    exact = folder / f"{name}.parquet"
    if exact.is_file():
        return exact
    found = sorted(path for path in folder.glob("*.parquet") if _set_of(path.stem) == name)
    if len(found) > 1:
        raise InvalidInputError(
            f"several files in {folder} could be it ({', '.join(path.name for path in found)}): "
            f"keep one, or call the right one {exact.name}"
        )
    return found[0] if found else None


def _set_of(stem: str) -> str | None:
    """Return the set that a file is called after: the longest name it begins with."""
    fitting = [
        name for name in KNOWN if stem == name or stem.startswith((f"{name}_", f"{name}-", f"{name}."))
    ]
    return max(fitting, key=len, default=None)


def read(path: Path) -> Dataset:
    """Read a parquet file of features and ``target``, and make its rows ready for a forest.

    Raises
    ------
    ForegoneError
        If it is no such file. The message says why.
    """
    pandas = _import("pandas")
    try:
        frame = pandas.read_parquet(path)
    except ImportError:
        raise _missing("pyarrow") from None
    except Exception as error:  # whatever a damaged file makes pyarrow raise
        raise InvalidInputError(f"{path.name} cannot be read as parquet: {_first_line(error)}") from None
    if TARGET not in frame.columns:
        raise InvalidInputError(f"{path.name} has no column {TARGET!r}")
    codes = _codes(frame.pop(TARGET))
    counts = np.bincount(codes[codes >= 0]) if len(codes) else np.zeros(0)
    if np.count_nonzero(counts) < 2 or frame.shape[1] == 0:
        raise InvalidInputError(f"{path.name} needs at least two classes and one feature")
    X = _as_numbers(frame).to_numpy(np.float32)
    if np.isinf(X).any():
        raise InvalidInputError(f"{path.name} holds values that are infinite as 32-bit floats")
    y = (codes == counts.argmax()).astype(np.int8)
    return Dataset(np.ascontiguousarray(X), y, int(np.count_nonzero(counts)))


def facts(name: str, path: Path, dataset: Dataset, folder: Path | None) -> DatasetFacts:
    """Say what was found in ``path``, beside what the paper says of the set."""
    paper = KNOWN[name]
    is_local = folder is not None and path.parent == folder
    place = "UCI" if paper.group == "uci" else "OpenML"
    rows, features = dataset.X.shape
    share = float(dataset.y.mean())
    differences = [
        f"{ours:,} {what} rather than {theirs:,}"
        for what, ours, theirs in (
            ("rows", rows, paper.rows),
            ("features", features, paper.features),
            ("classes", dataset.classes, paper.classes),
        )
        if ours != theirs
    ]
    if abs(share - paper.share_of_largest) > 0.001:
        differences.append(f"{share:.1%} in the largest class rather than {paper.share_of_largest:.1%}")
    if is_local and path.stem != name:
        differences.insert(0, f"a variant of the set, from the file {path.name}")
    return DatasetFacts(
        name=name,
        paper_name=paper.paper_name,
        group=paper.group,
        identifier=paper.identifier,
        origin=path.name if is_local else f"{place} {paper.identifier}",
        rows=rows,
        features=features,
        classes=dataset.classes,
        share_of_largest=share,
        paper_rows=paper.rows,
        paper_features=paper.features,
        paper_classes=paper.classes,
        paper_share_of_largest=paper.share_of_largest,
        note="; ".join(differences),
    )


def _as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with codes in place of columns that are not numbers; a missing value is -1."""
    from pandas.api.types import is_numeric_dtype

    replaced = {c: _codes(frame[c]) for c in frame.columns if not is_numeric_dtype(frame[c])}
    return frame.assign(**replaced)


def _codes(column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = column.astype("category").cat.codes.to_numpy(np.int64)
    return codes


def _download(known: KnownDataset) -> pd.DataFrame:
    """Fetch features and ``target`` as numbers."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_TO_ANSWER)
    try:
        features, target = (_from_uci if known.group == "uci" else _from_openml)(known.identifier)
    except ForegoneError:
        raise
    except (
        Exception
    ) as error:  # a library's own, a server's, the network's: all mean that it is not to be had
        number = f"{'UCI' if known.group == 'uci' else 'OpenML'} {known.identifier}"
        raise InvalidInputError(
            f"there is no local file, and {number} cannot be fetched: {_first_line(error)}"
        ) from None
    finally:
        socket.setdefaulttimeout(before)
    return _as_numbers(features).assign(**{TARGET: _codes(target)})


def _from_uci(identifier: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    data = _import("ucimlrepo").fetch_ucirepo(id=identifier).data
    return data.features, data.targets.iloc[:, 0]


def _from_openml(identifier: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every attempt that fails; the last one is an error
        bunch = fetch_openml(data_id=identifier, as_frame=True, parser="auto", cache=False)
    return bunch.data, bunch.target


def _import(package: str) -> Any:
    try:
        return __import__(package)
    except ImportError:
        raise _missing(package) from None


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(package, "paper", "Loading the paper's datasets")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
