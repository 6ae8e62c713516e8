"""Logs of Inspect, written without it: a zip of JSON, its members compressed as in logs of any version."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

__all__ = ["log_members", "log_samples", "zip_of"]

DEFLATED, ZSTANDARD = 8, 93
CHOICES = (("C", "4"), ("I", "5"), ("C", "4"), ("I", None), ("C", "4"))  # score and answer of each epoch


def log_samples(n_items: int = 4) -> list[dict[str, Any]]:
    """Return samples as Inspect writes them, without messages: two scorers, five epochs."""
    return [
        {
            "id": item if item % 2 else f"q/{item}",
            "epoch": epoch + 1,
            "input": "What is 2 + 2?",
            "target": "4",
            "scores": {
                "match": {"value": value, "answer": answer, "history": []},
                "graded": {"value": {"fluent": 1, "right": epoch % 2}, "answer": "yes"},
            },
            "model_usage": {"mockllm/model": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}},
        }
        for epoch in range(len(CHOICES))
        for item in range(n_items)
        for value, answer in [CHOICES[(epoch + item) % len(CHOICES)]]
    ]


def log_members(samples: list[dict[str, Any]]) -> dict[str, bytes]:
    """Return the members of an .eval file with these samples."""
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one) for one in samples}
    members |= {"summaries.json": json.dumps(samples), "header.json": json.dumps({"version": 2})}
    return {name: text.encode() for name, text in members.items()}


def zip_of(
    members: Mapping[str, bytes], method: int = ZSTANDARD, sizes: Mapping[str, int] | None = None
) -> bytes:
    """Return a zip file; ``sizes`` is what it claims that members unpack to, where that is not true."""
    body, directory = b"", b""
    for name, content in members.items():
        packed, size = _pack(content, method), (sizes or {}).get(name, len(content))
        fields = struct.pack("<HHHHHIII", 20, 0, method, 0, 33, zlib.crc32(content), len(packed), size)
        names = struct.pack("<HH", len(name.encode()), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields + names
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + fields + names + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def _pack(content: bytes, method: int) -> bytes:
    if method == ZSTANDARD:
        return bytes(pa.compress(content, codec="zstd", asbytes=True))
    if method == DEFLATED:
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(content) + packer.flush()
    return content
