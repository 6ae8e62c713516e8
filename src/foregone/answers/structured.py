"""Fields of JSON in a reply, and several ways to read one reply."""

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

_MOST_OBJECTS = 1000  # places in a reply where JSON is looked for


def json_field(path: str, extract: Extractor = text) -> Extractor:
    r"""Return an extractor of one field of a JSON object in the reply, alone, in prose or in a fenced block.

    The last object that has the field counts.

    Parameters
    ----------
    path : str
        Name of the field; dots lead into objects, and numbers into lists: ``"result.answers.0"``.
    extract : callable
        What to make of its value, which it gets as a text: ``json_field("total", number)``. A list or an
        object is compared as it is, whatever the order of its keys. Null is no answer.

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
    """Return the JSON objects that are not inside of others, with numbers as they are spelled."""
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
    """Return what is at the end of a path, true and false as texts; None if there is nothing."""
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
    r"""Return an extractor that tries several in turn and takes the first answer that there is.

    Examples
    --------
    >>> from foregone.answers import boxed, first_of, number
    >>> read = first_of(boxed, number)
    >>> read(r"In 3 steps: \boxed{\frac{6}{4}}"), read("In 3 steps: 1.5"), read("I do not know.")
    ('1.5', '1.5', None)
    """
    if not extractors or not all(map(callable, extractors)):
        raise InvalidInputError("first_of takes one extractor or more, such as first_of(boxed, number)")

    def first(reply: str) -> str | bool | None:
        answers = (extract(reply) for extract in extractors)
        return next((answer for answer in answers if answer is not None), None)

    return first
