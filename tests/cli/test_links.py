"""Links of the pages outside the documentation site lead to files and headings that exist.

Links of the pages of the site are checked where it is built: ``mkdocs build --strict``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "RELEASING", "SECURITY", "CHANGELOG")),
    ROOT / "examples" / "README.md",
]
CODE = re.compile(r"^ *```.*?^ *```[ ]*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")


def links(text: str) -> list[str]:
    """Return where links and pictures of a page lead to within the repository."""
    return [link for link in LINK.findall(CODE.sub("", text)) if not ELSEWHERE.match(link)]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and as the site makes them."""
    prose = re.sub(r"^ *```.*?^ *```[ ]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", LINK.sub("", heading)).strip().lower() for heading in headings]
    return {word.replace(" ", "-") for word in words} | {re.sub(r"[- ]+", "-", word) for word in words}


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    return [link for link in links(text) if not _leads_somewhere(link, page.parent, text)]


def _leads_somewhere(link: str, folder: Path, text: str) -> bool:
    name, _, anchor = link.partition("#")
    target = folder / name
    if name and not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8") if name else text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    assert not broken(page, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](LICENSE), ![b](docs/images/logo.svg), [c](https://example.org), [d](mailto:a@b.c)", []),
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[a](README.md#develop) [b](README.md#nowhere)", ["README.md#nowhere"]),
        ("## What it saves, and why\n\n[a](#what-it-saves-and-why) [b](#what)", ["#what"]),
        ("`[a](nowhere.md)`\n\n```text\n[b](nowhere.md)\n```\n", []),
    ],
)
def test_a_link_that_leads_nowhere_is_found(text: str, expected: list[str]) -> None:
    assert broken(ROOT / "page.md", text) == expected
