"""Writing files atomically, and by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from foregone.errors import InvalidInputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["PathLike", "lock_file", "replace_file", "write_atomically"]

PathLike = str | os.PathLike[str]
LOCKED_BYTE = 2**31 - 2  # Windows locks one byte, which others cannot read then: the last one possible
MINUTE = 60.0  # far longer than it takes to rename a file


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
        if sys.platform == "win32":
            stream.close()  # an open file cannot be renamed there
        replace_file(part, target)


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
                    stream.close()  # Windows cannot remove an open file
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
                is_left = lock_file(leftover)
                if is_left and sys.platform != "win32":
                    part.unlink()
            finally:
                os.close(leftover)
            # Windows cannot remove an open file, and a file that is about to be renamed has lost its lock.
            if is_left and sys.platform == "win32" and time.time() - part.stat().st_mtime > MINUTE:
                part.unlink()


def replace_file(new: Path, old: Path) -> None:
    """Rename a file such that it replaces another; on Windows, wait up to a second for its readers."""
    for _ in range(20 if sys.platform == "win32" else 0):
        try:
            new.replace(old)
        except PermissionError:  # somebody reads the old file, or a virus scanner the new one
            time.sleep(0.05)
        else:
            return
    new.replace(old)


def lock_file(file: int) -> bool:
    """Lock an open file, by its descriptor, until it is closed; False if another process has it.

    The lock is released when the process ends, for whatever reason. On file systems without locks it returns
    True. Only POSIX locks folders, too.
    """
    try:
        if sys.platform == "win32":
            position = os.lseek(file, 0, os.SEEK_CUR)
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                return error.errno not in (errno.EACCES, 0)  # 0 under Wine
            finally:
                os.lseek(file, position, os.SEEK_SET)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: continue without
        return True
    return True
