"""Checksums made to fit again after a change, as somebody would who forges a file.

Written from the descriptions of the formats, without the library's functions, which are under attack.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from typing import Any

from fuzzing.mutations import Files

__all__ = [
    "container_header",
    "of_all",
    "put_container_header",
    "reseal_container",
    "reseal_journal",
    "reseal_piece",
    "reseal_strategy",
]

MAGIC, ALIGNMENT, CHECKSUM_SIZE = b"foregone packed\n", 64, 32
JOURNAL_SEAL = b', "checksum": "'
PREFIX = len(MAGIC) + 8


def of_all(reseal: Callable[[bytes], bytes]) -> Callable[[Files], Files]:
    """Return a function that reseals every file of a sample."""
    return lambda files: {name: reseal(content) for name, content in files.items()}


def reseal_strategy(content: bytes) -> bytes:
    """Fit the checksum of a strategy file."""
    return _reseal_json(content, 16)


def reseal_piece(content: bytes) -> bytes:
    """Fit the checksum of a piece of the paper's reproduction."""
    return _reseal_json(content, None)


def _reseal_json(content: bytes, digits: int | None) -> bytes:
    fields = _parse(content)
    fields.pop("checksum", None)
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    fields["checksum"] = hashlib.sha256(text.encode()).hexdigest()[:digits]
    return json.dumps(fields).encode()


def _parse(content: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply to be resealed") from None
    if not isinstance(fields, dict):
        raise ValueError("not an object, so there is nothing to seal")
    return fields


def reseal_journal(content: bytes) -> bytes:
    """Fit the checksum of every line of a journal, which is one of all lines up to it."""
    *lines, last = content.split(b"\n")
    if not any(JOURNAL_SEAL in line for line in lines):
        raise ValueError("a journal from before there were checksums")
    checksum, resealed = 0, []
    for line in lines:
        bare = line.rpartition(JOURNAL_SEAL)[0] + b"}" if JOURNAL_SEAL in line else line
        checksum = zlib.crc32(bare, checksum)
        resealed.append(bare[:-1] + JOURNAL_SEAL + f'{checksum:08x}"}}'.encode())
    return b"\n".join([*resealed, last])


def reseal_container(content: bytes) -> bytes:
    """Fit the checksum of a container of arrays."""
    body = content[:-CHECKSUM_SIZE]
    return body + hashlib.sha256(body).digest()


def container_header(content: bytes) -> list[slice]:
    """Say where a container keeps its header."""
    end = PREFIX + int.from_bytes(content[len(MAGIC) : PREFIX], "little")
    return [slice(PREFIX, end)] if content.startswith(MAGIC) and end <= len(content) else []


def put_container_header(content: bytes, place: slice, text: bytes) -> bytes:
    """Put in another header; its length is given and the arrays are aligned anew, so that they are found."""
    arrays = content[place.stop + -place.stop % ALIGNMENT :]
    head = MAGIC + len(text).to_bytes(8, "little") + text
    return head + b"\0" * (-len(head) % ALIGNMENT) + arrays
