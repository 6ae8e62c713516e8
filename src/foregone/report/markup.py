"""HTML that is safe by construction: whatever is not marked as HTML is escaped, invisible characters too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from foregone._system.shown import shown

__all__ = ["Html", "data_block", "definitions", "raw", "table", "tag"]

EMPTY = {"circle", "input", "line", "link", "meta", "path", "rect"}  # elements that hold nothing


class Html(str):
    """Text that is markup already. Only `tag`, `raw` and `data_block` make it."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; children and attribute values are escaped unless they are `Html`.

    Parameters
    ----------
    name : str
        Of the element.
    *children : object
        Put one after another; None is left out.
    **attributes : object
        An underscore stands for a hyphen, one at the end is dropped. True gives the bare name, None nothing.

    Examples
    --------
    >>> print(tag("p", "1 < 2, ", tag("b", "R&D"), class_="note"))
    <p class="note">1 &lt; 2, <b>R&amp;D</b></p>
    """
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(shown(str(value)))}"')
        for key, value in attributes.items()
        if value is not None
    )
    if name in EMPTY:
        return Html(f"<{name}{said}/>")
    inside = "".join(
        child if isinstance(child, Html) else escape(shown(str(child)), quote=False)
        for child in children
        if child is not None
    )
    return Html(f"<{name}{said}>{inside}</{name}>")


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    row_attributes: Sequence[dict[str, Any]] | None = None,
    narrow: bool = False,
) -> Html:
    """Return a table that scrolls by itself where it is too wide; the first column names its rows."""
    listed = list(rows)
    attributes = row_attributes or [{}] * len(listed)
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]), **extra)
        for row, extra in zip(listed, attributes, strict=True)
    ]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in columns))),
        tag("tbody", *body),
    )
    # What scrolls must be reachable by keyboard, and then needs a name.
    return tag(
        "div",
        made,
        class_="scroll narrow" if narrow else "scroll",
        role="region",
        aria_label=caption,
        tabindex="0",
    )


def definitions(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return a list of names, each with what is said of it."""
    parts = (part for name, words in pairs for part in (tag("dt", name), tag("dd", words)))
    return tag("dl", *parts, class_="limits")


def raw(name: str, content: str) -> Html:
    """Return a ``style`` or ``script`` element with content of our own, which must not end it."""
    if f"</{name}" in content.lower():
        raise AssertionError(f"the content of <{name}> would end it")
    return Html(f"<{name}>{content}</{name}>")


def data_block(name: str, content: Any) -> Html:
    r"""Return JSON that a script finds by its id; no text in it can end the element or begin another.

    Examples
    --------
    >>> print(data_block("d", {"label": "</script>"}))
    <script type="application/json" id="d">{"label":"\u003c/script\u003e"}</script>
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')
