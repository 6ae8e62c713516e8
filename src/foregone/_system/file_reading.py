"""Reading a file: error messages, and a limit on memory.

Reading a file takes at most `MEMORY_PER_BYTE` times its size, plus `MEMORY`. Parsing stays within the first
part, whatever the file holds. Objects that a few bytes can make large (the lattice of a vote, class labels of
one width, the rows of a compressed table) are charged to the second part before they are created. If that is
not enough, an error states how much is needed, and ``max_memory`` allows it.
"""

from __future__ import annotations

import os
from pathlib import Path

from foregone._system.atomic_file import PathLike
from foregone.errors import FileFormatError, InvalidInputError

__all__ = ["MEMORY", "MEMORY_PER_BYTE", "Memory", "cannot_read", "read_bytes", "reason_of"]

# In bytes: enough for strategies for 50 voters and any answers, or 101 voters and 5 answers, with proofs.
MEMORY = 256 << 20
MEMORY_PER_BYTE = 100  # the most is 70, for recorded votes in CSV with one row per item; JSON takes up to 40


class Memory:
    """The memory still available for reading one file, in addition to what parsing takes.

    Parameters
    ----------
    name : str
        Name of the file, for error messages.
    max_memory : int, optional
        Bytes; by default `MEMORY`.
    """

    def __init__(self, name: str, max_memory: float | None = None) -> None:
        if max_memory is not None and not max_memory >= 0:  # also for NaN
            raise InvalidInputError(f"max_memory must be a positive number of bytes, got {max_memory!r}")
        self._name = name
        self._most = MEMORY if max_memory is None else max_memory
        self._taken = 0.0

    def take(self, n_bytes: float, purpose: str) -> None:
        """Reserve ``n_bytes`` that are about to be used.

        Raises
        ------
        FileFormatError
            If that exceeds the limit; the message states how much is needed.
        """
        self._taken += float(min(n_bytes, 10**300))  # a file may claim more than a float can hold
        if self._taken > self._most:
            megabytes = -(-self._taken // 10**6)
            raise FileFormatError(
                f"{self._name}: needs {megabytes:,.0f} MB of memory {purpose}, above the limit of "
                f"{self._most / 1e6:,.0f} MB: if you trust the file, raise "
                f"max_memory to {megabytes:.0f}e6"
            )


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file.

    Raises
    ------
    FileFormatError
        If it cannot be read, or its name is invalid.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None


def cannot_read(path: PathLike, error: Exception) -> FileFormatError:
    """Return (not raise) the error for a file that cannot be opened or read."""
    return FileFormatError(f"cannot read {os.fspath(path)}: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Return why a file cannot be opened, without its name; a ValueError means that the name is invalid."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "no file can have this name"
