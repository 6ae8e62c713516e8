"""mutate(): a damaged or hostile variant of a valid sample, the same one for the same random state.

A sample is a folder: names of files and their content. Bytes are damaged whatever they mean; JSON, wherever
the format keeps some, is also changed by its structure, so that the result parses and says something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

__all__ = ["Files", "JsonPlaces", "dump_json", "mutate", "parse_json"]

Files = dict[str, bytes]
# Where a file keeps JSON, and how other JSON is put there.
JsonPlaces = tuple[Callable[[bytes], list[slice]], Callable[[bytes, slice, bytes], bytes]]

MOST_BYTES = 2_000_000
MOST_IN_A_CHUNK = 4_096
WHOLE = (
    0,
    1,
    2,
    3,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**63,
)
TEXTS = (
    "",
    "0",
    "nan",
    "inf",
    "-1",
    "1e999",
    "\0",
    "\ud800",
    "%s%n",
    "../../x",
    "\x1b[31m",
    "majority",
    "flat",
)


def mutate(chance: Random, samples: Sequence[Files], json_places: JsonPlaces) -> Files:
    """Return one of the samples with one to three things about it changed."""
    sample = chance.choice(samples)
    mutant = dict(sample)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        name = chance.choice(sorted(mutant))
        others = [other[name] for other in samples if name in other] + list(mutant.values())
        if len(mutant) > 1 and chance.random() < 0.05:
            del mutant[name]
        elif chance.random() < 0.5 and (places := json_places[0](mutant[name])):
            place = chance.choice(places)
            changed = _mutate_json(chance, mutant[name][place])
            mutant[name] = json_places[1](mutant[name], place, changed)
        else:
            changes = IN_PLACE if chance.random() < 0.5 else OF_BYTES
            mutant[name] = chance.choice(changes)(chance, mutant[name], chance.choice(others))
        mutant = {name: content[:MOST_BYTES] for name, content in mutant.items()}
    return mutant


# Bytes -----------------------------------------------------------------------------------------


def _chunk(chance: Random, content: bytes) -> tuple[int, int]:
    """Return where a chunk starts and ends, more often a short one than a long one."""
    start = chance.randrange(len(content) + 1)
    most = min(MOST_IN_A_CHUNK, len(content) - start)
    return start, start + int(most ** chance.random()) if most else start


def _flip_bits(chance: Random, content: bytes, other: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _change_bytes(chance: Random, content: bytes, other: bytes) -> bytes:
    start, end = _chunk(chance, content)
    byte = chance.choice((b"\0", b"\xff", b"\x7f", b" ", b'"', None))
    return (
        content[:start]
        + (chance.randbytes(end - start) if byte is None else byte * (end - start))
        + content[end:]
    )


def _delete(chance: Random, content: bytes, other: bytes) -> bytes:
    start, end = _chunk(chance, content)
    return content[:start] + content[end:]


def _insert(chance: Random, content: bytes, other: bytes) -> bytes:
    place = chance.randrange(len(content) + 1)
    size = 2 ** chance.randrange(13)
    return (
        content[:place]
        + chance.choice((b"\0" * size, b"\xff" * size, b"9" * size, chance.randbytes(size)))
        + content[place:]
    )


def _truncate(chance: Random, content: bytes, other: bytes) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _duplicate(chance: Random, content: bytes, other: bytes) -> bytes:
    start, end = _chunk(chance, content)
    place = chance.choice((end, chance.randrange(len(content) + 1)))
    return content[:place] + content[start:end] * chance.choice((1, 1, 2, 10)) + content[place:]


def _swap(chance: Random, content: bytes, other: bytes) -> bytes:
    cuts = sorted(chance.randrange(len(content) + 1) for _ in range(4))
    a, b, c, d = cuts
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _splice(chance: Random, content: bytes, other: bytes) -> bytes:
    if chance.random() < 0.5:
        return content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]
    start, end = _chunk(chance, other)
    place = chance.randrange(len(content) + 1)
    return content[:place] + other[start:end] + content[place + end - start :]


def _set_number(chance: Random, content: bytes, other: bytes) -> bytes:
    """Put a number that is often a limit where a binary file may have one."""
    size = chance.choice((1, 2, 4, 8))
    if len(content) < size:
        return content
    place = chance.randrange(len(content) - size + 1)
    place -= place % chance.choice((1, size))
    number = chance.choice((1, -1)) * chance.choice((*WHOLE, len(content)))
    if chance.random() < 0.3:  # near what is there
        number = int.from_bytes(content[place : place + size], "little") + chance.choice((-64, -1, 1, 2, 64))
    return content[:place] + (number % 256**size).to_bytes(size, "little") + content[place + size :]


def _lines(chance: Random, content: bytes, other: bytes) -> bytes:
    lines, others = content.splitlines(keepends=True), other.splitlines(keepends=True)
    if not lines:
        return content
    place = chance.randrange(len(lines))
    kind = chance.randrange(5)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(chance.randrange(len(lines) + 1), lines[place])
    elif kind == 2:
        lines.insert(chance.randrange(len(lines)), lines.pop(place))
    elif kind == 3 and others:
        lines.insert(place, chance.choice(others))
    else:
        lines[place] *= chance.choice((10, 1_000))
    return b"".join(lines)


def _set_text_number(chance: Random, content: bytes, other: bytes) -> bytes:
    """Put another number in the place of one that is written out, as in CSV."""
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", content))
    if not found:
        return content
    place = chance.choice(found)
    number = chance.choice((_number(chance), 10 ** chance.choice((30, 400)), -0.0))
    return content[: place.start()] + str(number).encode() + content[place.end() :]


OF_BYTES: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    _flip_bits,
    _change_bytes,
    _delete,
    _insert,
    _truncate,
    _duplicate,
    _swap,
    _splice,
    _set_number,
    _lines,
    _set_text_number,
)

# A file whose parts stay where they are is looked at more closely before it is refused.
IN_PLACE = (_flip_bits, _set_number, _set_text_number)

# JSON ------------------------------------------------------------------------------------------


class Pairs(list[tuple[str, Any]]):
    """An object as the list of its fields, which may hold one twice."""


def parse_json(text: bytes) -> Any:
    """Parse JSON, objects as `Pairs`."""
    return json.loads(text, object_pairs_hook=Pairs)


def dump_json(value: Any) -> str:
    """Write what `parse_json` returns, and what no JSON has, such as NaN and a field that is there twice."""
    if isinstance(value, Pairs):
        return "{" + ", ".join(f"{json.dumps(key)}: {dump_json(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump_json, value)) + "]"
    return value.text if isinstance(value, Raw) else json.dumps(value)


class Raw:
    """JSON that is too large or too deep to be built first."""

    def __init__(self, text: str) -> None:
        self.text = text


def _mutate_json(chance: Random, text: bytes) -> bytes:
    try:
        return _mutate_parsed(chance, text)
    except RecursionError:  # nested too deep by an earlier change; some Pythons read deeper than this writes
        return _flip_bits(chance, text, b"")


def _mutate_parsed(chance: Random, text: bytes) -> bytes:
    try:
        root = parse_json(text)
    except ValueError:  # an earlier change broke it
        return _flip_bits(chance, text, b"")
    holders = list(_holders(root))
    if not holders:
        return dump_json(_value(chance, root)).encode()
    holder = chance.choice(holders)
    place = chance.randrange(len(holder))
    key, value = holder[place] if isinstance(holder, Pairs) else (None, holder[place])
    kind = chance.randrange(10)
    if kind == 0:
        del holder[place]
    elif kind == 1:
        holder.insert(chance.randrange(len(holder) + 1), holder[place])
    elif kind == 2:
        other = chance.randrange(len(holder))
        holder[place], holder[other] = holder[other], holder[place]
    elif kind == 3 and key is not None:
        holder[place] = (chance.choice((*TEXTS, *(k for k, _ in holder))), value)
    else:
        new = _value(chance, value)
        holder[place] = new if key is None else (key, new)
    return dump_json(root).encode("utf-8", "surrogatepass")


def _holders(value: Any) -> Any:
    """Yield every object and list that holds something."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list) and one:
            yield one
            waiting += [item for _, item in one] if isinstance(one, Pairs) else one


def _value(chance: Random, old: Any) -> Any:
    """Return a value in place of an old one: close to it, of another type, or monstrous."""
    kind = chance.randrange(12)
    if kind <= 3 and isinstance(old, int | float) and not isinstance(old, bool):
        return old + chance.choice((-1, 1, 1e-9, -0.5)) if kind % 2 else _number(chance)
    if kind <= 3 and isinstance(old, str):
        place = chance.randrange(len(old) + 1)
        return chance.choice((old[:place], old[:place] + chance.choice("A9=\0é") + old[place + 1 :], *TEXTS))
    if kind <= 3 and isinstance(old, list) and not isinstance(old, Pairs):
        return chance.choice((old[:-1], old[::-1], old + old[:1], old * 2, []))
    if kind == 4:
        return [old]
    if kind == 5:
        return Pairs([("", old)])
    if kind == 6:
        depth = chance.choice((3, 990, 100_000))
        return Raw("[" * depth + "]" * depth)
    if kind == 7:
        item = (
            "0"
            if isinstance(old, Pairs) or old == []
            else dump_json(old[0] if isinstance(old, list) else old)
        )
        times = min(chance.choice((10, 1_000, 100_000)), MOST_BYTES // (len(item) + 2))
        return Raw("[" + ", ".join([item] * times) + "]")
    if kind == 8:
        return Raw(chance.choice(("1" * 5_000, "1e400", "-1e-400", "NaN", "Infinity", "-0", "1.0")))
    if kind == 9:
        return chance.choice(("x" * 100_000, *TEXTS))
    return chance.choice((None, True, False, [], Pairs(), _number(chance)))


def _number(chance: Random) -> int | float:
    return chance.choice((1, -1)) * chance.choice((*WHOLE, 10**6, 10**9, 10**30, 0.5, 1e-300, 1e300, math.pi))
