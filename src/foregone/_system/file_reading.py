"""Reading a file: what is said when that fails, and how much memory it may take.

The rule: reading a file takes at most `MEMORY_PER_BYTE` times its size, and `MEMORY` besides. Parsing stays
within the first part, whatever the file holds. What a few bytes can ask for (the lattice of a vote, class
labels of one width, the rows of a compressed table) is taken from the second part before it is made; where
that is not enough, an error says how much would be, and ``max_memory`` allows it.
"""

from __future__ import annotations

import os
from pathlib import Path

from foregone._system.atomic_file import PathLike
from foregone.errors import FileFormatError, InvalidInputError

__all__ = ["MEMORY", "MEMORY_PER_BYTE", "Memory", "cannot_read", "read_bytes", "reason_of"]

# In bytes: enough for strategies of 50 voters and any answers, or of 101 voters and 5, with their proofs.
MEMORY = 256 << 20
MEMORY_PER_BYTE = 100  # the most is 70, for recorded votes in CSV with one row an item; JSON takes up to 40


class Memory:
    """What may still be taken to read one file, besides what parsing it takes.

    Parameters
    ----------
    name : str
        Of the file.
    max_memory : int, optional
        Bytes; by default `MEMORY`.
    """

    def __init__(self, name: str, max_memory: float | None = None) -> None:
        if max_memory is not None and not max_memory >= 0:  # also for NaN
            raise InvalidInputError(f"max_memory must be a number of bytes, got {max_memory!r}")
        self._name = name
        self._most = MEMORY if max_memory is None else max_memory
        self._taken = 0.0

    def take(self, n_bytes: float, purpose: str) -> None:
        """Note that ``n_bytes`` are about to be used.

        Raises
        ------
        FileFormatError
            If that is more than may be taken; it says how much would be needed.
        """
        self._taken += float(min(n_bytes, 10**300))  # a file may claim more than a float can hold
        if self._taken > self._most:
            megabytes = -(-self._taken // 10**6)
            raise FileFormatError(
                f"{self._name}: needs {megabytes:,.0f} MB of memory {purpose}, and at most "
                f"{self._most / 1e6:,.0f} MB are allowed: if you trust the file, raise "
                f"max_memory to {megabytes:.0f}e6"
            )


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file.

    Raises
    ------
    FileFormatError
        If it cannot be read, whatever its name is.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None


def cannot_read(path: PathLike, error: Exception) -> FileFormatError:
    """Return (not raise) the error for a file that cannot be opened or read."""
    return FileFormatError(f"cannot read {os.fspath(path)}: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Return why a file cannot be opened, without its name; a ValueError is about a name no file can have."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "no file can have this name"
