"""The file format: versioned, human-readable JSON, written atomically; every field is checked on reading.

A file is one JSON object. ``format`` and ``version`` identify it; the other fields depend on the ``kind`` of
content. Numbers are written so that reading them restores exactly the same float. The last field is a
``checksum`` of all others. It detects a damaged digit, which could otherwise make a valid file of different
content. Nothing is ever unpickled or executed.

Version 2 added ``yes_from``, the answers of a strategy. Version 3 added quotas, for full votes that are not
decided by a majority, and ``values``, the losses of disagreements. Older versions remain readable.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone._system.atomic_file import PathLike, write_atomically
from foregone._system.file_reading import Memory, read_bytes
from foregone.checks import FloatArray, IntArray
from foregone.errors import FileFormatError

__all__ = ["FORMAT", "VERSION", "Fields", "is_finite_number", "read_file", "write_file"]

FORMAT = "foregone-strategy"
VERSION = 3


def write_file(path: PathLike, fields: dict[str, Any]) -> None:
    """Write ``fields`` under the format's header, one field a line, atomically."""
    content = {"format": FORMAT, "version": VERSION, **fields}
    content["checksum"] = _checksum(content)
    lines = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in content.items()]
    write_atomically(path, [("{\n" + ",\n".join(lines) + "\n}\n").encode()])


def _checksum(content: dict[str, Any]) -> str:
    """Return a checksum of the values, whatever their order and layout in the file."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_file(path: PathLike, max_memory: float | None = None) -> Fields:
    """Read a JSON file and check its header; ``max_memory`` as in `foregone._system.file_reading.Memory`.

    Raises
    ------
    FileFormatError
        If the file is missing, is not JSON, repeats a field, or is not of a known format and version.

    See Also
    --------
    Fields.check_intact : Call it after all fields have been read and found valid.
    """
    name = str(path)
    memory = Memory(name, max_memory)
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise FileFormatError(f"{name}: not a text file, so not a strategy file") from None
    try:
        content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats)
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FileFormatError(f"{name}: damaged or not a strategy file (not valid JSON: {reason})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f'{name}: field "format" is not "{FORMAT}", so this is not a strategy file')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise FileFormatError(f'{name}: field "version" is missing or not an integer of at least 1')
    if version > VERSION:
        raise FileFormatError(
            f'{name}: field "version" is above {VERSION}, the newest that this version of foregone reads: '
            "upgrade foregone"
        )
    return Fields(content, name, version, memory)


def _refuse_constant(constant: str) -> None:
    raise FileFormatError(f"{constant} is not a valid number")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise FileFormatError(f'field "{key}" occurs twice')
        content[key] = value
    return content


class Fields:
    """The fields of a file (or of an object inside it), with type checks on access.

    Every error names the field and the file.

    Attributes
    ----------
    name : str
        The location of the fields: the file, and the object inside it.
    version : int
        The format version of the file.
    memory : Memory
        The remaining memory for reading the file.
    """

    def __init__(
        self, content: dict[str, Any], name: str, version: int = VERSION, memory: Memory | None = None
    ) -> None:
        self._content = content
        self.name = name
        self.version = version
        self.memory: Memory = memory or Memory(name)

    def __contains__(self, key: str) -> bool:
        return self._content.get(key) is not None

    def error(self, key: str, problem: str) -> FileFormatError:
        """Return (not raise) a FileFormatError that names field ``key`` and the problem."""
        return FileFormatError(f'{self.name}: field "{key}" {problem}')

    def check_intact(self) -> None:
        """Raise FileFormatError unless the checksum matches the content."""
        others = {key: value for key, value in self._content.items() if key != "checksum"}
        try:
            intact = self.text("checksum") == _checksum(others)
        except RecursionError:
            intact = False
        if not intact:
            raise self.error("checksum", "does not match the content: the file was damaged or edited")

    def _get(self, key: str) -> Any:
        if key not in self._content:
            raise self.error(key, "is missing")
        return self._content[key]

    def entry(self, key: str) -> Any:
        """Return the value, null included, without a check."""
        return self._get(key)

    def is_text(self, key: str) -> bool:
        """Whether field ``key`` holds a string."""
        return isinstance(self._get(key), str)

    def is_section(self, key: str) -> bool:
        """Whether field ``key`` holds a nested object."""
        return isinstance(self._get(key), dict)

    def text(self, key: str) -> str:
        """Return a string."""
        value = self._get(key)
        if not isinstance(value, str):
            raise self.error(key, "must be a string")
        return value

    def decoded(self, key: str, problem: str) -> bytes:
        """Return the bytes of a base64 string; ``problem`` is the error text if it is invalid."""
        try:
            return base64.b64decode(self.text(key), validate=True)
        except ValueError:
            raise self.error(key, problem) from None

    def whole(self, key: str, least: int, most: int = 2**53) -> int:
        """Return an integer within bounds."""
        value = self._get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.error(key, f"must be an integer of at least {least} and at most {most}")
        return value

    def number(self, key: str, least: float = -math.inf, most: float = math.inf) -> float:
        """Return a finite number within bounds."""
        value = self._get(key)
        if not (is_finite_number(value) and least <= value <= most):
            bounds = "" if (least, most) == (-math.inf, math.inf) else f" from {least:g} to {most:g}"
            raise self.error(key, f"must be a finite number{bounds}")
        return float(value)

    def whole_numbers(self, key: str, length: int | None = None) -> IntArray:
        """Return a list of integers; with ``length``, of this length."""
        values = self._list(key, length)
        if not all(type(value) is int and abs(value) <= 2**53 for value in values):
            raise self.error(key, "must contain only integers")
        return np.array(values, dtype=np.int64)

    def numbers(self, key: str, length: int | None = None) -> FloatArray:
        """Return a list of finite numbers; with ``length``, of this length."""
        values = self._list(key, length)
        if not all(is_finite_number(value) for value in values):
            raise self.error(key, "must contain only finite numbers")
        return np.array(values, dtype=np.float64)

    def entries(self, key: str, length: int | None = None) -> list[Any]:
        """Return a list without checking its entries; with ``length``, of this length."""
        return self._list(key, length)

    def rows(self, key: str, width: int) -> list[list[Any]]:
        """Return a list of lists of length ``width``, without checking their entries."""
        values = self._list(key, None)
        if not all(isinstance(row, list) and len(row) == width for row in values):
            raise self.error(key, f"must contain only lists of {width} entries")
        return values

    def section(self, key: str) -> Fields:
        """Return a nested object."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self.error(key, "must be an object")
        return Fields(value, f"{self.name}: {key}", self.version, self.memory)

    def sections(self, key: str) -> Iterator[Fields]:
        """Yield nested objects one by one, because each stores the file name, which may be long."""
        values = self._list(key, None)
        if not all(isinstance(value, dict) for value in values):
            raise self.error(key, "must contain only objects")
        for place, value in enumerate(values):
            yield Fields(value, f"{self.name}: {key}[{place}]", self.version, self.memory)

    def _list(self, key: str, length: int | None) -> list[Any]:
        values = self._get(key)
        if not isinstance(values, list):
            raise self.error(key, "must be a list")
        if length is not None and len(values) != length:
            raise self.error(key, f"must have {length} entries, got {len(values)}")
        return values


def is_finite_number(value: Any) -> bool:
    """Whether a JSON value is a finite number; true and false are not."""
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
