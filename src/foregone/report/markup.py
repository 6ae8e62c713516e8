"""HTML that is safe by construction: text is escaped, invisible characters too, unless it is `Html`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from foregone._system.shown import shown

__all__ = ["Html", "data_block", "definitions", "raw", "table", "tag"]

EMPTY = {"circle", "input", "line", "link", "meta", "path", "rect"}  # elements without content
ROLES = ("table", "rowgroup", "row", "columnheader", "rowheader", "cell")


class Html(str):
    """Text that is already markup. Only `tag`, `raw` and `data_block` make it."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; children and attribute values are escaped unless they are `Html`.

    Parameters
    ----------
    name : str
        Name of the element.
    *children : object
        Content, in order; None is skipped.
    **attributes : object
        An underscore becomes a hyphen; one at the end is dropped. True writes the bare name, None nothing.

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
    cards: bool = False,
) -> Html:
    """Return a table whose first column names its rows; a table that is too wide scrolls in its own box.

    On a phone, ``cards`` shows each row as a block with one line per column.
    """
    listed = list(rows)
    attributes = row_attributes or [{}] * len(listed)
    names: Sequence[str | None] = columns if cards else [None] * len(columns)
    # Browsers drop the roles of a table that is laid out as blocks, so they are stated.
    role: Any = {part: part for part in ROLES} if cards else dict.fromkeys(ROLES)
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", role=role["rowheader"]),
            *(
                tag("td", cell, data_column=name, role=role["cell"])
                for cell, name in zip(row[1:], names[1:], strict=True)
            ),
            role=role["row"],
            **extra,
        )
        for row, extra in zip(listed, attributes, strict=True)
    ]
    head = (tag("th", name, scope="col", role=role["columnheader"]) for name in columns)
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head, role=role["row"]), role=role["rowgroup"]),
        tag("tbody", *body, role=role["rowgroup"]),
        role=role["table"],
    )
    kinds = {"scroll": True, "narrow": narrow, "cards": cards}
    # What scrolls must be reachable by keyboard, and then needs a name.
    return tag(
        "div",
        made,
        class_=" ".join(kind for kind, applies in kinds.items() if applies),
        role="region",
        aria_label=caption,
        tabindex="0",
    )


def definitions(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return a list of names, each with its explanation."""
    parts = (part for name, words in pairs for part in (tag("dt", name), tag("dd", words)))
    return tag("dl", *parts, class_="limits")


def raw(name: str, content: str) -> Html:
    """Return a ``style`` or ``script`` element; the content is ours and must not hold its closing tag."""
    if f"</{name}" in content.lower():
        raise AssertionError(f"the content of <{name}> would end it")
    return Html(f"<{name}>{content}</{name}>")


def data_block(name: str, content: Any) -> Html:
    r"""Return a JSON block with an id; no text in it can close the element or open another.

    Examples
    --------
    >>> print(data_block("d", {"label": "</script>"}))
    <script type="application/json" id="d">{"label":"\u003c/script\u003e"}</script>
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')
