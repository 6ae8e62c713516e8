"""Markdown tables, and their places in the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["as_list", "put_into", "table"]

END = "<!-- to here -->"


def as_list(facts: dict[str, str]) -> str:
    """Return facts as a list."""
    return "\n".join(f"- {key}: {value}" for key, value in facts.items())


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns line up, the first one to the left and the others to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "| " + " | ".join(f"{cell:{'<' if k == 0 else '>'}{widths[k]}}" for k, cell in enumerate(row)) + " |"
        for row in [head, *rows]
    ]
    ruler = "|" + "|".join("-" * (width + 1) + (":" if k else "-") for k, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], ruler, *lines[1:]])


def put_into(page: Path, text: str, part: str = "generated") -> None:
    """Put the text where the page keeps what is generated, or a part of it, in place of what is there."""
    begin = f"<!-- {part} from here -->"
    before, found, rest = page.read_text().partition(begin)
    if not found:
        raise SystemExit(f"{page.name} has no line {begin}")
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{END}{after}")
    print(f"wrote {page.parent.name}/{page.name}")
