"""Format: what has to be known of a file format to attack its reader."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.mutations import Files, JsonPlaces

__all__ = ["Format", "all_of_it", "none"]


def none(content: bytes) -> list[slice]:
    """Say that a file keeps no JSON."""
    return []


def all_of_it(content: bytes) -> list[slice]:
    """Say that a file is JSON."""
    return [slice(0, len(content))]


def put(content: bytes, place: slice, text: bytes) -> bytes:
    """Put text in the place of what is there."""
    return content[: place.start] + text + content[place.stop :]


@dataclass(frozen=True)
class Format:
    """A format and its reader.

    Attributes
    ----------
    name : str
        As in the table and on the command line.
    write_samples : callable
        Writes valid samples, each into a folder of its own: ``folder/0``, ``folder/1`` and so on. What its
        reader needs besides may lie in other folders there.
    load : callable
        ``load(sample, home)`` reads the sample in a folder as users would; ``home`` is where the samples were
        written. Refuses by a ForegoneError, or by returning None where damaged files are made again.
    content : callable
        What two loaded samples are compared by, of types with an equality of values.
    use : callable
        Does with a loaded sample what users would. A ForegoneError is an answer, too.
    reseal : callable or None
        Returns the files with their checksums made to fit; raises ValueError where there is nothing to fit.
        None if the format has no checksums of its own.
    forge : callable
        Returns hostile files made from the samples, yet to be resealed.
    checked : bool
        Whether another content, unsealed, is an error: not so in formats that are anybody's, such as CSV.
    json : pair of callables
        Where a file keeps JSON, and how other JSON is put there.
    agrees : callable
        ``agrees(found, valid)``: whether a content is as good as one of the valid ones.
    """

    name: str
    write_samples: Callable[[Path], None]
    load: Callable[[Path, Path], Any]
    content: Callable[[Any], Any]
    use: Callable[[Any], object]
    reseal: Callable[[Files], Files] | None = None
    forge: Callable[[list[Files]], list[Files]] = lambda samples: []
    checked: bool = True
    json: JsonPlaces = (none, put)
    agrees: Callable[[Any, Collection[Any]], bool] = lambda found, valid: found in valid

    def read_samples(self, home: Path) -> list[Files]:
        """Return the samples that `write_samples` has written."""
        numbered = sorted((f for f in home.iterdir() if f.name.isdigit()), key=lambda f: int(f.name))
        return [read_folder(folder) for folder in numbered]


def read_folder(folder: Path) -> Files:
    """Return all files of a folder and those in it."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def write_folder(folder: Path, files: Files) -> None:
    """Write all files into a folder."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
