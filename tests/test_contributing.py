"""What CONTRIBUTING.md says about the rooms is what import-linter keeps."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_rooms_are_listed_in_the_order_of_their_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    level = {room: place for place, line in enumerate(layers) for room in line.split(" | ")}
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| room | what is in it |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)(?:\.py|/)` \|", table, re.MULTILINE)
    rooms = [f"foregone.{name}" for name in reversed(listed)]
    assert sorted(rooms) == sorted(level)
    assert [level[room] for room in rooms] == sorted(level.values())


def test_every_file_that_is_named_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+/[\w./]+)`", page)
    assert named
    for name in named:
        assert any((folder / name).exists() for folder in (ROOT, ROOT / "src", ROOT / "src" / "foregone")), (
            name
        )
