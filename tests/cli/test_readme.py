"""What the README shows is what comes out."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

README = Path(__file__).parents[2] / "README.md"


def test_its_python_examples_run() -> None:
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert results.attempted > 5
    assert results.failed == 0


def test_the_python_examples_of_the_guide_to_replaying_run() -> None:
    guide = README.parent / "docs" / "replay.md"
    results = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert results.attempted > 3
    assert results.failed == 0


def test_the_table_it_shows_is_the_one_that_is_printed(run: Run) -> None:
    text = README.read_text(encoding="utf-8")
    shown = re.search(r"\$ (foregone compare [^\n]*)\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    assert run(*shlex.split(shown[1])[1:]).out == shown[2]


def test_the_plan_it_shows_is_the_one_that_is_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = README.read_text(encoding="utf-8")
    shown = re.search(r"\$ cat (counts.csv)\n([^\n]*)\n\$ (foregone plan [^\n]*)\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    Path(shown[1]).write_text(shown[2])
    assert run(*shlex.split(shown[3])[1:]).out == shown[4]


def test_the_commands_it_lists_exist(run: Run) -> None:
    commands = set(re.findall(r"foregone ([a-z]+)", README.read_text(encoding="utf-8")))
    for command in commands & {
        "plan",
        "solve",
        "show",
        "evaluate",
        "compare",
        "replay",
        "certify",
        "precompute",
        "demo",
    }:
        assert run(command, "--help").code == 0
    assert len(commands) >= 8
