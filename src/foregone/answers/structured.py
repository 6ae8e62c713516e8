"""Extractors for JSON fields, and combinations of extractors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from foregone.answers.wording import normal, text
from foregone.checks import is_a
from foregone.errors import InvalidInputError

__all__ = ["Extractor", "first_of", "json_field"]

Extractor = Callable[[str], "str | bool | None"]

_MOST_OBJECTS = 1000  # positions in a reply where JSON is tried


def json_field(path: str, extract: Extractor = text) -> Extractor:
    r"""Return an extractor for a field of a JSON object in the reply, alone, in prose or in a fenced block.

    If several objects have the field, the last one counts.

    Parameters
    ----------
    path : str
        Name of the field; use dots for nested objects and numbers for lists: ``"result.answers.0"``.
    extract : callable
        Extractor for the value as a string: ``json_field("total", number)``. Lists and objects are compared
        literally, independent of the order of keys. Null means no answer.

    Examples
    --------
    >>> from foregone.answers import json_field, number
    >>> read = json_field("answer.total", number)
    >>> read('Here it is:\n```json\n{"answer": {"total": "$12.00"}}\n```'), read('{"answer": null}')
    ('12', None)
    """
    if not (is_a(path, str) and path):
        raise InvalidInputError(f"path must be the name of a field, such as 'answer', got {path!r}")

    def field(reply: str) -> str | bool | None:
        value = None
        for found in _objects(normal(reply)):
            inner = _inside(found, path)
            value = value if inner is None else inner
        if value is None:
            return None
        if isinstance(value, str):
            return extract(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    field.__name__ = f"json_field({path!r})"
    return field


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def _objects(reply: str) -> list[Any]:
    """Return the top-level JSON objects, with numbers as strings."""
    found, end = [], 0
    for tried, start in enumerate(re.finditer(r"\{\s*[\"}]", reply)):
        if tried == _MOST_OBJECTS:
            break
        if start.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found


def _inside(value: Any, path: str) -> Any:
    """Return the value at the end of a path, true and false as strings; None if missing."""
    if isinstance(value, dict) and path in value:  # also a name with a dot in it
        found = value[path]
        return str(found).lower() if isinstance(found, bool) else found
    name, _, rest = path.partition(".")
    if isinstance(value, dict):
        inner = value.get(name)
    elif isinstance(value, list) and name.isdecimal() and len(name) < 9 and int(name) < len(value):
        inner = value[int(name)]
    else:
        return None
    if rest:
        return _inside(inner, rest)
    return str(inner).lower() if isinstance(inner, bool) else inner


def first_of(*extractors: Extractor) -> Extractor:
    r"""Return an extractor that tries several in turn and returns the first answer.

    Examples
    --------
    >>> from foregone.answers import boxed, first_of, number
    >>> read = first_of(boxed, number)
    >>> read(r"In 3 steps: \boxed{\frac{6}{4}}"), read("In 3 steps: 1.5"), read("I do not know.")
    ('1.5', '1.5', None)
    """
    if not extractors or not all(map(callable, extractors)):
        raise InvalidInputError("first_of needs at least one extractor, such as first_of(boxed, number)")

    def first(reply: str) -> str | bool | None:
        answers = (extract(reply) for extract in extractors)
        return next((answer for answer in answers if answer is not None), None)

    return first
