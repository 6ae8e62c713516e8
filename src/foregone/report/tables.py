"""A table as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from foregone.report.markup import Html, tag

__all__ = ["table"]


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
