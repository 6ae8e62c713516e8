"""The folder of finished parts, from which a stopped run resumes and the output is joined."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from foregone._system.atomic_file import lock_file, replace_file, write_atomically
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import container
from foregone.scale.model_file import ScoredRows

__all__ = ["FinishedParts"]

MANIFEST = "manifest.json"
JOINED = "joined"  # the output until it is complete
FORMAT, VERSION = "foregone-parts", 2
KIND = "scored part"
LOCK = "lock" if sys.platform == "win32" else None  # a file to lock where folders cannot be opened
OURS = re.compile(rf"{JOINED}|part-\d{{6,}}|\.(part-\d{{6,}}|{re.escape(MANIFEST)})\.[0-9a-f]{{16}}\.part")
WHAT_CHANGED = {  # field of the manifest -> its name in messages
    "version": "the version of foregone",
    "model": "the model",
    "input": "the input",
    "parts": "the input",
    "features": "the list of feature columns",
    "keep": "the list of columns to keep",
    "audit": "the share of audited rows",
    "label": "the prefix of the new columns",
}


class FinishedParts:
    """Folder next to the output with a file for each finished part, and a manifest that identifies the job.

    A part is written completely or not at all, has a checksum, and records its job and number. Only one
    process works in the folder at a time. Other files in the folder are left alone.

    Parameters
    ----------
    output : Path
        The final output file.
    manifest : dict
        Identifies the job, in values that JSON can store. Parts of another job raise an error.
    """

    def __init__(self, output: Path, manifest: dict[str, Any]) -> None:
        self.output = output
        self.folder: Path = output.with_name(output.name + ".parts")
        self._manifest = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **manifest}))
        self._work = hashlib.sha256(json.dumps(self._manifest, sort_keys=True).encode()).hexdigest()

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Create the folder, or resume one of the same job, and lock it against other processes.

        Raises
        ------
        InvalidInputError
            If another process uses the folder, or it belongs to another job: nothing is changed then.
        """
        try:
            lock = self._lock()
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
            os.close(lock)
            if LOCK is not None:
                with contextlib.suppress(OSError):  # if another process has locked it, or it has other files
                    (self.folder / LOCK).unlink()
                    self.folder.rmdir()

    def _lock(self) -> int:
        """Create the folder if needed, open and lock it, or a file in it."""
        while True:
            self.folder.mkdir(exist_ok=True)
            found = self.folder.lstat()
            if not stat.S_ISDIR(found.st_mode):
                raise InvalidInputError(f"{self.folder} is not a folder: move it away, or use another output")
            place, flags = (
                (self.folder, os.O_RDONLY) if LOCK is None else (self.folder / LOCK, os.O_RDWR | os.O_CREAT)
            )
            try:
                lock = os.open(place, flags)
            except FileNotFoundError:
                if self.folder.exists():  # such as a path too long for Windows
                    raise
                continue  # the process that had locked it removed the folder
            if not lock_file(lock):
                os.close(lock)
                raise InvalidInputError(
                    f"another process is writing {self.output}: wait until it ends, or use another output"
                )
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), place.lstat()):
                    return lock
            os.close(lock)  # the process that had locked it removed it

    def _check(self) -> None:
        names = {file.name for file in self.folder.iterdir()} - {LOCK}
        try:
            path = self.folder / MANIFEST
            found = None if path.is_symlink() else json.loads(path.read_bytes())
        except FileNotFoundError:
            found = self._manifest if all(map(_is_unfinished_manifest, names)) else None
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInputError(
                f"{self.folder} is not a folder of finished parts: move it away, or use another output"
            )
        if found != self._manifest and any(name.startswith("part-") for name in names):
            changed = (
                what for key, what in WHAT_CHANGED.items() if found.get(key) != self._manifest.get(key)
            )
            raise InvalidInputError(
                f"{next(changed, 'the job')} changed since {self.folder} was created: undo the change to "
                "resume, or delete that folder to start again"
            )

    def _begin(self) -> None:
        """Write the manifest, and remove unfinished files of a killed process."""
        write_atomically(self.folder / MANIFEST, [json.dumps(self._manifest, indent=1).encode()])
        for file in self.folder.iterdir():
            if file.name.startswith(".") or file.name == JOINED or file.is_symlink():
                self._remove(file.name)

    def file(self, number: int) -> Path:
        """Return the path of a part."""
        return self.folder / f"part-{number:06d}"

    def write(self, number: int, part: ScoredRows) -> None:
        """Write a part, completely or not at all."""
        arrays = {name: array for name, array in part._asdict().items() if array is not None}
        container.write(self.file(number), KIND, {"work": self._work, "number": number}, arrays)

    def read(self, number: int, n_classes: int) -> ScoredRows:
        """Read a part, and check that it is complete and belongs to this job.

        Raises
        ------
        FileFormatError
            If it is missing, damaged, or a part of another job.
        """
        fields, arrays = container.read(self.file(number), KIND)
        if fields.text("work") != self._work or fields.whole("number", 0) != number:
            raise FileFormatError(f"{self.file(number)}: a part of another job")
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
        """Whether a part exists and is complete; otherwise it is scored again."""
        try:
            self.read(number, n_classes)
        except FileFormatError:
            return False
        return True

    @contextlib.contextmanager
    def joining(self) -> Iterator[Path]:
        """Yield the path of a file that becomes the output if the block succeeds; then remove the folder."""
        joined = self.folder / JOINED
        try:
            yield joined
            with joined.open("rb+") as stream:
                os.fsync(stream.fileno())
            if self.output.exists():
                joined.chmod(stat.S_IMODE(self.output.stat().st_mode))
            replace_file(joined, Path(os.path.realpath(self.output)))
        except OSError as error:
            self._remove(JOINED)
            raise InvalidInputError(
                f"cannot write {self.output}: {error.strerror or error}. Finished parts are kept in "
                f"{self.folder}: fix the problem, and run again to resume"
            ) from error
        except BaseException:
            self._remove(JOINED)
            raise
        self._remove_all()

    def _remove_all(self) -> None:
        with contextlib.suppress(OSError):  # if it has other files
            names = {file.name for file in self.folder.iterdir()}
            for name in [*(names - {MANIFEST}), MANIFEST]:  # the manifest last: it identifies the folder
                self._remove(name)
            self.folder.rmdir()

    def _remove(self, name: str) -> None:
        if OURS.fullmatch(name) or name == MANIFEST:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()


def _is_unfinished_manifest(name: str) -> bool:
    return re.fullmatch(rf"\.{re.escape(MANIFEST)}\.[0-9a-f]{{16}}\.part", name) is not None
