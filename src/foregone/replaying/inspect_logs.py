"""Read logs of Inspect (inspect_ai) without importing it: each epoch of a sample is a vote.

An ``.eval`` file is a zip of JSON files: ``samples/ID_epoch_N.json`` holds one epoch of a sample (or
``samples/ID_epoch_N/sample.json``, without its messages), ``summaries.json`` the scores of all samples, with
long answers truncated. A ``.json`` log has the samples in a list. Inspect compresses with Zstandard (method
93 of zip), which pyarrow decompresses; Python's zipfile supports it from 3.14 on.

Files are not trusted: their stated size is checked before anything is decompressed, and no more than that is
decompressed.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from foregone._system.file_reading import MEMORY, MEMORY_PER_BYTE, Memory, cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.replaying.recorded import Counted

__all__ = ["ZIP_MAGIC", "columns_of_log", "is_log", "read_eval_log"]

ZIP_MAGIC = b"PK"
SUMMARIES = "summaries.json"
SAMPLE = re.compile(r"samples/.*_epoch_[0-9]+(?:/sample)?\.json", re.DOTALL)
ZSTANDARD = 93
LOCAL_HEADER, LOCAL_MAGIC = 30, b"PK\x03\x04"
JSON_MEMORY = 50  # bytes of memory that a byte of JSON can take
MOST_UNPACKED = 1000  # largest compression ratio of a log; real ones have about 20


def is_log(content: Any) -> bool:
    """Whether JSON is an Inspect log with samples."""
    return isinstance(content, dict) and "eval" in content and isinstance(content.get("samples"), list)


# The zip ---------------------------------------------------------------------------------------


def read_eval_log(file: Path, memory: Memory, *, summaries: bool) -> list[Any]:
    """Return the samples of an ``.eval`` file.

    Parameters
    ----------
    file : Path
        The log.
    memory : Memory
        The memory limit.
    summaries : bool
        Whether to read only summaries, in which long answers are truncated.
    """
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            by_name = {info.filename: info for info in archive.infolist()}  # the last of duplicates counts
            members = [info for name, info in by_name.items() if SAMPLE.fullmatch(name)]
            if summaries and SUMMARIES in by_name:
                members = [by_name[SUMMARIES]]
            if not members:
                raise FileFormatError(f"{file}: not an Inspect log: the zip file has no samples")
            _check_sizes(file, members, memory)
            return [sample for info in members for sample in _samples(file, archive, stream, info)]
    except OSError as error:
        raise cannot_read(file, error) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{file}: damaged, or not an Inspect log ({error})") from None


def _check_sizes(file: Path, members: list[zipfile.ZipInfo], memory: Memory) -> None:
    """Raise if the decompressed size would be too large, before anything is decompressed."""
    size, unpacked = file.stat().st_size, sum(info.file_size for info in members)
    if unpacked > MOST_UNPACKED * size + MEMORY:
        raise FileFormatError(
            f"{file}: would decompress to {unpacked / 1e6:,.0f} MB, more than {MOST_UNPACKED:,} times its "
            "size: Inspect does not write such logs"
        )
    largest = max(info.file_size for info in members)
    memory.take(max(JSON_MEMORY * largest - MEMORY_PER_BYTE * size, 0), "for its largest part")


def _samples(file: Path, archive: zipfile.ZipFile, stream: BinaryIO, info: zipfile.ZipInfo) -> Iterator[Any]:
    """Yield the samples in a part of a log, with the fields that are needed."""
    try:
        content = json.loads(_unpack(file, archive, stream, info))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{file}: damaged: {info.filename} is not valid JSON") from None
    for sample in content if isinstance(content, list) else [content]:
        yield {key: sample.get(key) for key in NEEDED} if isinstance(sample, dict) else sample


def _unpack(file: Path, archive: zipfile.ZipFile, stream: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    if info.flag_bits & 1:
        raise FileFormatError(f"{file}: {info.filename} is encrypted; decrypt the log first")
    if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with archive.open(info) as member:
            content = member.read(info.file_size + 1)
    elif info.compress_type == ZSTANDARD:
        content = _unpack_zstandard(file, stream, info)
    else:
        raise FileFormatError(
            f"{file}: {info.filename} has compression method {info.compress_type}, which Inspect does not use"
        )
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise FileFormatError(f"{file}: {info.filename} is damaged: its size or checksum does not match")
    return content


def _unpack_zstandard(file: Path, stream: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            "pyarrow", "replay", "Reading an Inspect log compressed with Zstandard"
        ) from None
    stream.seek(info.header_offset)
    header = stream.read(LOCAL_HEADER)
    if len(header) < LOCAL_HEADER or not header.startswith(LOCAL_MAGIC):
        raise FileFormatError(f"{file}: damaged: {info.filename} is not where the zip directory says")
    name, extra = (int.from_bytes(header[place : place + 2], "little") for place in (26, 28))
    stream.seek(name + extra, 1)
    packed = stream.read(min(info.compress_size, file.stat().st_size))
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as unpacked:
            return bytes(unpacked.read(info.file_size + 1))
    except OSError as error:
        raise FileFormatError(f"{file}: {info.filename} is damaged ({error})") from None


# The votes -------------------------------------------------------------------------------------

NEEDED = ("id", "epoch", "scores", "model_usage")


def columns_of_log(
    samples: Sequence[Any], source: str, count: Counted, scorer: str | None
) -> Mapping[str, Sequence[Any]]:
    """Return the votes of a log as columns: item, draw, answer, and tokens if known for every vote.

    Parameters
    ----------
    samples : sequence
        As in the log; of several with the same id and epoch, the last one counts.
    source : str
        Name of the file.
    count : {"answer", "score"}
        Whether the vote is the answer that a scorer read, or the score that it gave.
    scorer : str or None
        Name of the scorer, with ``:KEY`` to choose one of several values; None if there is only one scorer.
    """
    latest: dict[tuple[str, int], Mapping[str, Any]] = {}
    for sample in samples:
        if not isinstance(sample, dict) or not isinstance(sample.get("epoch"), int):
            raise InvalidInputError(f"{source}: not a readable Inspect log: a sample has no epoch")
        latest[str(sample.get("id")), sample["epoch"]] = sample
    kept = [latest[key] for key in sorted(latest)]  # an .eval file has them in the order they finished
    name, key = _chosen(kept, source, scorer)
    votes = [_vote(_scores(sample).get(name), key, count, source, name) for sample in kept]
    if all(vote is None for vote in votes):
        raise InvalidInputError(
            f"{source}: no sample has {'an answer' if count == 'answer' else 'a score'} of scorer {name!r}: "
            f"count {'scores' if count == 'answer' else 'answers'} instead, or choose another scorer"
        )
    tokens = [_tokens_used(sample) for sample in kept]
    known = all(used is not None for used, vote in zip(tokens, votes, strict=True) if vote is not None)
    return {
        "item": [sample.get("id") for sample in kept],
        "draw": [sample["epoch"] for sample in kept],
        "answer": votes,
        **({"tokens": tokens} if known else {}),
    }


def _scores(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    scores = sample.get("scores")
    return scores if isinstance(scores, dict) else {}


def _chosen(samples: list[Mapping[str, Any]], source: str, scorer: str | None) -> tuple[str, str | None]:
    """Return the name of the scorer, and the key of its value."""
    found = list(dict.fromkeys(name for sample in samples for name in _scores(sample)))
    if not found:
        raise InvalidInputError(f"{source}: no sample has a score: score the log first")
    listed = ", ".join(found[:10]) + (", ..." if len(found) > 10 else "")
    if scorer is None:
        if len(found) > 1:
            raise InvalidInputError(
                f"{source}: several scorers ({listed}): choose one (scorer=NAME, or --scorer NAME)"
            )
        return found[0], None
    name, colon, key = scorer.rpartition(":")
    if scorer in found:
        return scorer, None
    if colon and name in found:
        return name, key
    raise InvalidInputError(f"{source}: no scorer {scorer!r}: choose from {listed}")


def _vote(score: Any, key: str | None, count: Counted, source: str, name: str) -> Any:
    """Return the vote in a score, None if it has none."""
    if not isinstance(score, dict):
        return None
    value = score.get("answer" if count == "answer" else "value")
    if count == "score" and isinstance(value, dict):
        if key is None or key not in value:
            raise InvalidInputError(
                f"{source}: scorer {name!r} gives several values ({', '.join(list(value)[:10])}): choose one "
                f"(scorer='{name}:KEY', or --scorer {name}:KEY)"
            )
        value = value[key]
    elif key is not None and count == "score":
        raise InvalidInputError(f"{source}: scorer {name!r} gives one value, not {key!r}: leave out :{key}")
    if isinstance(value, dict | list):
        raise InvalidInputError(
            f"{source}: scorer {name!r} gives a list, which cannot be a vote: count answers instead"
        )
    return value


def _tokens_used(sample: Mapping[str, Any]) -> int | None:
    """Return the total tokens of all models used; None if not recorded."""
    usage = sample.get("model_usage")
    models = list(usage.values()) if isinstance(usage, dict) else []
    used = [model.get("total_tokens") if isinstance(model, dict) else None for model in models]
    whole = [tokens for tokens in used if isinstance(tokens, int) and not isinstance(tokens, bool)]
    return sum(whole) if whole and len(whole) == len(used) else None
