"""The file format of packed forests: a JSON header and raw arrays in one file, never pickle.

In order: 16 bytes of magic, the header's length (8 bytes), the header (UTF-8 JSON), the arrays one after
another, each starting at a multiple of 64, and the SHA-256 of all that came before. Numbers are
little-endian. The header says ``format``, ``version``, ``kind``, the ``fields`` of that kind, and of each
array its name, type and shape, in the order in which they follow.

Version 2 added the answers of a strategy; version 3 which columns of a forest hold categories, and what
arrays of integers are rounded to; version 4 a classifier's promise and the order in which it asks; version 5
scores of many classes. Files of all versions stay readable.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import PathLike, write_atomically
from foregone._system.file_reading import Memory, read_bytes
from foregone.errors import FileFormatError
from foregone.strategy.json_file import Fields

__all__ = ["kind_of", "read", "write"]

MAGIC = b"foregone packed\n"
FORMAT = "foregone-packed"
VERSION = 6
# Versions of the strategy fields that a file of each version may hold.
STRATEGY_VERSIONS = {1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 3}
ALIGNMENT = 64
CHECKSUM = hashlib.sha256
CHECKSUM_SIZE = 32
PREFIX_SIZE = len(MAGIC) + 8

# The dtypes an array may have, by name: nothing else is read from a file.
TYPES: dict[str, type[np.number[Any]]] = {
    "u1": np.uint8,
    "i4": np.int32,
    "i8": np.int64,
    "u4": np.uint32,
    "u8": np.uint64,
    "f4": np.float32,
    "f8": np.float64,
}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}


def write(
    path: PathLike, kind: str, fields: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write fields (anything JSON can hold) and arrays atomically: a reader sees the old or the new file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "fields": dict(fields),
        "arrays": [
            {"name": name, "type": NAMES[array.dtype], "shape": list(array.shape)}
            for name, array in arrays.items()
        ],
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    write_atomically(path, _with_checksum(_pieces(text, arrays)))


def _pieces(header: bytes, arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[bytes | memoryview]:
    place = PREFIX_SIZE + len(header)
    yield MAGIC + len(header).to_bytes(8, "little") + header
    for array in arrays.values():
        yield b"\0" * (-place % ALIGNMENT)
        place += -place % ALIGNMENT + array.nbytes
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data


def _with_checksum(pieces: Iterator[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    checksum = CHECKSUM()
    for piece in pieces:
        checksum.update(piece)
        yield piece
    yield checksum.digest()


def read(
    path: PathLike, kind: str, max_memory: float | None = None
) -> tuple[Fields, dict[str, npt.NDArray[Any]]]:
    """Read a file of the given kind; ``max_memory`` as in `foregone._system.file_reading.Memory`.

    Types and sizes are checked here; the caller checks what fields and arrays mean.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, of an unknown version or of another kind.
    """
    header, body, end = _open(path, max_memory)
    if header.text("kind") != kind:
        raise FileFormatError(f"{header.name}: expected a {kind!r}, found a {header.text('kind')!r}")
    return header.section("fields"), _arrays(header, body, end)


def kind_of(path: PathLike) -> tuple[str, int]:
    """Return the kind of a file and the version of its format; errors as in `read`."""
    header, _, _ = _open(path)
    return header.text("kind"), header.whole("version", 1)


def _open(path: PathLike, max_memory: float | None = None) -> tuple[Fields, memoryview, int]:
    """Return the header of an intact file, all but its checksum, and where the header ends."""
    name = str(path)
    memory = Memory(name, max_memory)
    content = read_bytes(path)
    if content[: len(MAGIC)] != MAGIC:
        raise FileFormatError(f"{name}: not a foregone file")
    if len(content) < PREFIX_SIZE + CHECKSUM_SIZE:
        raise FileFormatError(f"{name}: the file is truncated")
    body = memoryview(content)[:-CHECKSUM_SIZE]
    if CHECKSUM(body).digest() != content[-CHECKSUM_SIZE:]:
        raise FileFormatError(f"{name}: damaged or truncated (its checksum does not match)")
    end = PREFIX_SIZE + int.from_bytes(content[len(MAGIC) : PREFIX_SIZE], "little")
    if end > len(body):
        raise FileFormatError(f"{name}: damaged (its header is longer than the file)")
    return _parse(bytes(body[PREFIX_SIZE:end]), name, memory), body, end


def _parse(text: bytes, name: str, memory: Memory) -> Fields:
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise FileFormatError(f"{name}: damaged (its header is not valid JSON)") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileFormatError(f'{name}: field "format" is not "{FORMAT}"')
    version = header.get("version")
    if type(version) is not int or version not in STRATEGY_VERSIONS:
        raise FileFormatError(
            f'{name}: field "version" is {version!r}, but this foregone reads versions up to {VERSION}: '
            "upgrade foregone"
        )
    return Fields(header, name, STRATEGY_VERSIONS[version], memory)


def _arrays(header: Fields, body: memoryview, place: int) -> dict[str, npt.NDArray[Any]]:
    arrays = {}
    for described in header.sections("arrays"):
        name, kind = described.text("name"), described.text("type")
        if kind not in TYPES:
            raise described.error("type", f"must be one of {', '.join(TYPES)}")
        shape = [int(length) for length in described.whole_numbers("shape")]
        if name in arrays or not 1 <= len(shape) <= 2 or min(shape) < 0:
            raise described.error("shape", "must be one or two lengths, for a name that occurs once")
        little = np.dtype(TYPES[kind]).newbyteorder("<")
        place += -place % ALIGNMENT
        end = place + math.prod(shape) * little.itemsize
        if end > len(body):
            raise described.error("shape", "is larger than the file")
        # Copy: aligned, in native byte order, and not keeping the file's content alive.
        arrays[name] = np.frombuffer(body[place:end], little).astype(TYPES[kind]).reshape(shape)
        place = end
    if place != len(body):
        raise header.error("arrays", "do not fill the file")
    return arrays
