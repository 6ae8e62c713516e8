"""PieceStore: the finished pieces of a run, one file each, found again by what they were made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from foregone._system.atomic_file import write_atomically
from foregone.errors import InvalidInputError

__all__ = ["PieceStore"]

FORMAT = "foregone paper piece 1"

Content = dict[str, Any]
Record = TypeVar("Record")


class PieceStore:
    """A folder of finished pieces.

    A piece is known by its *inputs*: everything that its content depends on, as plain JSON. A piece whose
    inputs differ in anything is another piece. Files are written whole or not at all and carry a checksum,
    so that what `load` returns is what `save` was given.

    Parameters
    ----------
    folder : Path
        Made when the first piece is saved.

    Examples
    --------
    >>> import tempfile
    >>> store = PieceStore(Path(tempfile.mkdtemp()))
    >>> inputs = {"kind": "forest", "dataset": "skin", "repeat": 0}
    >>> store.load(inputs, dict) is None
    True
    >>> store.save(inputs, {"rows": 3})
    >>> store.load(inputs, dict)
    {'rows': 3}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, inputs: Mapping[str, Any]) -> Path:
        """Return where the piece with these inputs belongs."""
        words = [str(inputs[key]) for key in ("kind", "dataset", "repeat") if key in inputs]
        digest = hashlib.sha256(_canonical(inputs)).hexdigest()
        return self.folder / f"{'-'.join([*words, digest[:20]])}.json"

    def load(
        self,
        inputs: Mapping[str, Any],
        make: Callable[[Content], Record],
        say: Callable[[str], None] = lambda line: None,
    ) -> Record | None:
        """Return what ``make`` makes of the content of a finished piece, or None when there is none.

        A damaged file, or one that nothing can be made of, counts as none; ``say`` is told so in one line.
        """
        path = self.path(inputs)
        try:
            record = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            say(f"the piece {path.name} cannot be read ({_brief(error)}): it is made again")
            return None
        try:
            if record.pop("checksum", None) == _checksum(record):
                if record.get("format") == FORMAT and _canonical(record.get("inputs")) == _canonical(inputs):
                    return make(record["content"])
                say(f"the piece {path.name} is of another kind: it is made again")
                return None
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
            pass
        say(f"the piece {path.name} is damaged: it is made again")
        return None

    def save(self, inputs: Mapping[str, Any], content: Content) -> None:
        """Keep a finished piece.

        Raises
        ------
        InvalidInputError
            If it cannot be written, as on a full disk. The pieces that are there are not touched.
        """
        record: Content = {"format": FORMAT, "inputs": dict(inputs), "content": content}
        record["checksum"] = _checksum(record)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(f"cannot make the folder {self.folder}: {_brief(error)}") from None
        write_atomically(self.path(inputs), [_canonical(record), b"\n"])


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(record)).hexdigest()


def _brief(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
