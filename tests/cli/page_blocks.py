"""The fenced blocks of a page, and how each kind of them is run.

========= ==========================================================================================
kind      what is done with it
========= ==========================================================================================
python    run, in order, as one session a page, without prompts. What a ``print(...)`` prints is compared
          with the comment at the end of its line, or with the comment lines right below it or below
          the loop that it is in (see `statements`)
console   each ``$ foregone ...`` is run and must succeed; output that is shown is compared (``...`` stands
          for anything). ``$ cat FILE`` writes the file as shown, for the commands after it
json      must be JSON
text      is not code
any other must stand below a line  <!-- not run: REASON -->  (a python or console block may, too)
========= ==========================================================================================
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Block", "blocks", "sessions", "statements"]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE
)
NOT_RUN = re.compile(r"<!-- not run: (\S[^\n]*) -->\s*\Z")


class Block(NamedTuple):
    """A fenced block: its kind, what it says, the line it starts in, and why it is not run."""

    kind: str
    text: str
    line: int
    not_run: str | None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    content = page.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(content):
        reason = NOT_RUN.search(content[: fence.start()])
        line = content.count("\n", 0, fence.start()) + 1
        found.append(Block(fence["kind"], fence["text"], line, reason and reason[1]))
    return found


class Statement(NamedTuple):
    """One statement of a block without prompts, and what it must print, if that is shown."""

    node: ast.stmt
    shown: str | None


def statements(text: str) -> Iterator[Statement]:
    """Return the statements of a block in order; the comment after one that prints is its output."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        shown = None
        if any(map(_is_print, ast.walk(node))):
            end = node.end_lineno or node.lineno
            own = lines[end - 1][len(lines[end - 1].encode()[: node.end_col_offset].decode()) :].strip()
            beside = isinstance(node, ast.Expr) and own.startswith("#")
            said = [own.removeprefix("#").strip()] if beside else []
            for line in lines[end:]:
                if not line.startswith("#"):
                    break
                said.append(line.removeprefix("#").removeprefix(" "))
            shown = "\n".join(said) if said else None
        yield Statement(node, shown)


def _is_print(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """Return each command of a console block, joined where it goes on in the next line, and its output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        command = lines.pop(0).rstrip("\n")
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0).strip()
        yield re.sub(r"\s+# .*$", "", command), "".join(lines)
