"""Markdown tables, and where they go in a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["put_into", "table"]

BEGIN, END = "<!-- generated from here -->", "<!-- to here -->"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns line up, the first one to the left and the others to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "| " + " | ".join(f"{cell:{'<' if k == 0 else '>'}{widths[k]}}" for k, cell in enumerate(row)) + " |"
        for row in [head, *rows]
    ]
    ruler = "|" + "|".join("-" * (width + 1) + (":" if k else "-") for k, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], ruler, *lines[1:]])


def put_into(page: Path, text: str) -> None:
    """Put the text where the page keeps what is generated, in place of what is there."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")
    print(f"wrote {page.parent.name}/{page.name}")
