"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from foregone.errors import InvalidInputError

__all__ = ["PathLike", "replaced_when_done", "write_atomically"]

PathLike = str | os.PathLike[str]


def write_atomically(path: PathLike, pieces: Iterable[bytes | memoryview]) -> None:
    """Write ``pieces`` to ``path`` so that a reader sees the old file or the whole new one.

    A new file gets the permissions of any new file, an old one keeps its own; a link stays a link, and what
    it points to is written. Something that is no file (``/dev/stdout``) is written to as it is.

    Raises
    ------
    InvalidInputError
        If the folder does not exist, or ``path`` is a folder or not writable. Nothing is left behind.
    """
    try:
        target = Path(os.path.realpath(path))
        old = target.stat() if target.exists() else None
        if old is not None and not stat.S_ISREG(old.st_mode):
            with target.open("wb") as stream:
                stream.writelines(pieces)
        elif old is not None and not os.access(target, os.W_OK):
            raise PermissionError("it is write-protected")
        else:
            _replace(target, pieces, None if old is None else stat.S_IMODE(old.st_mode))
    except (OSError, ValueError) as error:  # ValueError: a name no file can have
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"cannot write {os.fspath(path)}: {reason}") from error


def _replace(target: Path, pieces: Iterable[bytes | memoryview], mode: int | None) -> None:
    """Write a whole new file beside ``target``, then put it in its place."""
    with replaced_when_done(target) as part:
        with part.open("xb") as stream:
            stream.writelines(pieces)
        if mode is not None:
            part.chmod(mode)


@contextlib.contextmanager
def replaced_when_done(target: Path) -> Iterator[Path]:
    """Give the path of a new file beside ``target`` that takes its place if the block ends well."""
    part = target.with_name(f".{target.name[:60]}.{secrets.token_hex(8)}.part")
    try:
        yield part
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
