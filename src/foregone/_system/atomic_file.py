"""Writing files atomically, and by one process at a time."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from foregone.errors import InvalidInputError

try:
    import fcntl
except ImportError:  # not on Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]  # what the type checker knows is POSIX

__all__ = ["PathLike", "lock_file", "write_atomically"]

PathLike = str | os.PathLike[str]


def _can_lock() -> bool:
    """Return whether this system can lock files; on Windows, locks are not used."""
    return hasattr(fcntl, "flock")


def write_atomically(path: PathLike, pieces: Iterable[bytes | memoryview]) -> None:
    """Write ``pieces`` to ``path`` atomically: a reader sees the old file or the complete new one.

    A new file gets the default permissions, an existing one keeps its own. A link stays a link, and its
    target is written. Anything but a regular file (``/dev/stdout``) is written to directly.

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
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"cannot write {os.fspath(path)}: {reason}") from error


def _replace(target: Path, pieces: Iterable[bytes | memoryview], mode: int | None) -> None:
    """Write a complete new file beside ``target``, then replace ``target`` by it."""
    _remove_leftovers(target)
    with _new_part(target) as (stream, part):
        stream.writelines(pieces)
        stream.flush()
        os.fsync(stream.fileno())
        if mode is not None:
            part.chmod(mode)
        if not _can_lock():
            stream.close()  # Windows cannot rename an open file
        part.replace(target)


@contextlib.contextmanager
def _new_part(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a new file beside ``target``, locked while it is written; it is removed on failure."""
    while True:
        part = target.with_name(f".{target.name[:60]}.{secrets.token_hex(8)}.part")
        with part.open("xb") as stream:
            try:
                if lock_file(stream.fileno()) and part.exists():
                    yield stream, part
                    return
                # Otherwise another process removed it as a leftover before it was locked.
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise


def _remove_leftovers(target: Path) -> None:
    """Remove unfinished files that killed processes left beside ``target``; a live process holds a lock."""
    ours = re.compile(rf"\.{re.escape(target.name[:60])}\.[0-9a-f]{{16}}\.part")
    with os.scandir(target.parent) as entries:
        found = [Path(entry.path) for entry in entries if ours.fullmatch(entry.name)]
    for part in found:
        with contextlib.suppress(OSError):
            leftover = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if lock_file(leftover):
                    part.unlink()
            finally:
                os.close(leftover)


def lock_file(file: int) -> bool:
    """Lock an open file or folder, by its descriptor, until it is closed; False if another process has it.

    The lock is released when the process ends, for whatever reason. On systems without locks (Windows, some
    network file systems) it returns True.
    """
    if not _can_lock():
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: continue without
        return True
    return True
