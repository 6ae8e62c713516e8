"""The folder that results go to: made, tried and measured before hours of work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from foregone.errors import InvalidInputError

__all__ = ["prepare_folder"]

MB = 1_000_000
FOR_FIGURES = 50 * MB  # all of them, as PNG and SVG, are less than half of it
FOR_A_PIECE = 20_000  # bytes, what a file system rounds up to included
PROBE = 1 * MB


def prepare_folder(folder: Path, n_pieces: int) -> None:
    """Make the folder, and say at once if it cannot be written or has no room.

    Parameters
    ----------
    folder : Path
        Made with its parents.
    n_pieces : int
        How many pieces there will be.

    Raises
    ------
    InvalidInputError
        If it cannot be made, cannot be written, or has less room than the results may need.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(bytes(PROBE))
            stream.flush()
            os.fsync(stream.fileno())
        free = shutil.disk_usage(folder).free
    except (OSError, ValueError) as error:  # ValueError: a name no folder can have
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(
            f"cannot write to the folder {folder}: {reason}; choose another with -o"
        ) from None
    needed = FOR_FIGURES + n_pieces * FOR_A_PIECE
    if free < needed:
        raise InvalidInputError(
            f"the disk of {folder} has {free / MB:,.0f} MB left, the results may need {needed / MB:,.0f}: "
            "make room, or choose another folder with -o"
        )
