"""The folder of finished parts: what a stopped run goes on from, and what the output is joined from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from foregone._system.atomic_file import lock_file, write_atomically
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import container
from foregone.scale.model_file import ScoredRows

__all__ = ["FinishedParts"]

MANIFEST = "manifest.json"
JOINED = "joined"  # the output, until it is whole
FORMAT, VERSION = "foregone-parts", 2
KIND = "scored part"
OURS = re.compile(rf"{JOINED}|part-\d{{6,}}|\.(part-\d{{6,}}|{re.escape(MANIFEST)})\.[0-9a-f]{{16}}\.part")
WHAT_CHANGED = {  # field of the manifest: what the user knows it as
    "version": "the version of foregone",
    "model": "the model",
    "input": "the input",
    "parts": "the input",
    "features": "the columns of the features",
    "keep": "the columns to keep",
    "audit": "the share of audited rows",
    "label": "the names of the new columns",
}


class FinishedParts:
    """A folder beside the output: a file for each finished part, and a manifest that says what they are of.

    A part is there whole or not at all, carries a checksum, and says which part of which work it is. One
    process works in the folder at a time. Whatever else lies in the folder is left alone.

    Parameters
    ----------
    output : Path
        The file to be written in the end.
    manifest : dict
        What the parts are of, as JSON can hold it. Parts of anything else are refused.
    """

    def __init__(self, output: Path, manifest: dict[str, Any]) -> None:
        self.output = output
        self.folder = output.with_name(output.name + ".parts")
        self._manifest = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **manifest}))
        self._work = hashlib.sha256(json.dumps(self._manifest, sort_keys=True).encode()).hexdigest()

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, or go on with one of the same work; no other process may use it meanwhile.

        Raises
        ------
        InvalidInputError
            If another process uses the folder, or it is of other work: nothing is changed then.
        """
        try:
            folder = self._lock()
        except (OSError, ValueError) as error:  # ValueError: a name no folder can have
            reason = getattr(error, "strerror", None) or error
            raise InvalidInputError(f"cannot use the folder {self.folder}: {reason}") from None
        try:
            self._check()
            try:
                self._begin()
                yield
            except BaseException:
                if not any(self.folder.glob("part-*")):
                    self._remove_all()
                raise
        finally:
            if folder is not None:
                os.close(folder)

    def _lock(self) -> int | None:
        """Return the open folder, made if need be and locked; None where folders cannot be opened."""
        while True:
            self.folder.mkdir(exist_ok=True)
            found = self.folder.lstat()
            if not stat.S_ISDIR(found.st_mode):
                raise InvalidInputError(
                    f"{self.folder} is not a folder: move it away, or name another output"
                )
            if os.name == "nt":
                return None
            folder = os.open(self.folder, os.O_RDONLY)
            if not lock_file(folder):
                os.close(folder)
                raise InvalidInputError(
                    f"another process is writing {self.output}: wait until it ends, or name another output"
                )
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(folder), self.folder.lstat()):
                    return folder
            os.close(folder)  # the process that had it removed it at its end

    def _check(self) -> None:
        names = {file.name for file in self.folder.iterdir()}
        try:
            path = self.folder / MANIFEST
            found = None if path.is_symlink() else json.loads(path.read_bytes())
        except FileNotFoundError:
            found = self._manifest if all(map(_is_unfinished_manifest, names)) else None
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInputError(
                f"{self.folder} is not a folder of finished parts: move it away, or name another output"
            )
        if found != self._manifest and any(name.startswith("part-") for name in names):
            changed = (
                what for key, what in WHAT_CHANGED.items() if found.get(key) != self._manifest.get(key)
            )
            raise InvalidInputError(
                f"{next(changed, 'the work')} changed since {self.folder} was begun: undo the change to go "
                "on, or remove that folder to begin again"
            )

    def _begin(self) -> None:
        """Say what the parts are of, and remove what a killed process was in the middle of writing."""
        write_atomically(self.folder / MANIFEST, [json.dumps(self._manifest, indent=1).encode()])
        for file in self.folder.iterdir():
            if file.name.startswith(".") or file.name == JOINED or file.is_symlink():
                self._remove(file.name)

    def file(self, number: int) -> Path:
        """Return where a part goes."""
        return self.folder / f"part-{number:06d}"

    def write(self, number: int, part: ScoredRows) -> None:
        """Write a part, whole or not at all."""
        arrays = {name: array for name, array in part._asdict().items() if array is not None}
        container.write(self.file(number), KIND, {"work": self._work, "number": number}, arrays)

    def read(self, number: int, n_classes: int) -> ScoredRows:
        """Return a part, having checked that it is whole and the one it should be.

        Raises
        ------
        FileFormatError
            If it is missing, damaged, or a part of something else.
        """
        fields, arrays = container.read(self.file(number), KIND)
        if fields.text("work") != self._work or fields.whole("number", 0) != number:
            raise FileFormatError(f"{self.file(number)}: a part of something else")
        names = ScoredRows._fields if "audit" in self._manifest else ScoredRows._fields[:2]
        if set(arrays) != set(names):
            raise fields.error("arrays", f"must be {' and '.join(names)}")
        if len({array.shape for array in arrays.values()}) > 1 or any(
            array.dtype != np.int32 or array.ndim != 1 for array in arrays.values()
        ):
            raise fields.error("arrays", "must be lists of integers of the same length")
        for name, least in (("answers", 0), ("full", -1)):
            numbers = arrays.get(name, np.empty(0, np.int32))
            if ((numbers < least) | (numbers >= n_classes)).any():
                raise fields.error(name, f"must hold numbers of the {n_classes} classes")
        return ScoredRows(**arrays)

    def is_finished(self, number: int, n_classes: int) -> bool:
        """Whether a part is there and whole; one that is not is done again."""
        try:
            self.read(number, n_classes)
        except FileFormatError:
            return False
        return True

    @contextlib.contextmanager
    def joining(self) -> Iterator[Path]:
        """Give the path of a file that becomes the output if the block ends well; then remove the rest."""
        joined = self.folder / JOINED
        try:
            yield joined
            with joined.open("rb+") as stream:
                os.fsync(stream.fileno())
            if self.output.exists():
                joined.chmod(stat.S_IMODE(self.output.stat().st_mode))
            joined.replace(os.path.realpath(self.output))
        except OSError as error:
            self._remove(JOINED)
            raise InvalidInputError(
                f"cannot write {self.output}: {error.strerror or error}. What is scored is kept in "
                f"{self.folder}: run it again when that is mended"
            ) from error
        except BaseException:
            self._remove(JOINED)
            raise
        self._remove_all()

    def _remove_all(self) -> None:
        with contextlib.suppress(OSError):  # of someone else's files in it
            names = {file.name for file in self.folder.iterdir()}
            for name in [*(names - {MANIFEST}), MANIFEST]:  # which says whose the folder is, to the end
                self._remove(name)
            self.folder.rmdir()

    def _remove(self, name: str) -> None:
        if OURS.fullmatch(name) or name == MANIFEST:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()


def _is_unfinished_manifest(name: str) -> bool:
    return re.fullmatch(rf"\.{re.escape(MANIFEST)}\.[0-9a-f]{{16}}\.part", name) is not None
