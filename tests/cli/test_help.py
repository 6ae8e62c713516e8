from __future__ import annotations

import pytest

import foregone
from tests.cli.conftest import Run

COMMANDS = [
    "plan",
    "solve",
    "show",
    "evaluate",
    "compare",
    "replay",
    "certify",
    "precompute",
    "demo",
    "paper",
]


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"foregone {foregone.__version__}\n", "")


def test_without_arguments_it_says_what_there_is(run: Run) -> None:
    outcome = run()
    assert outcome.code == 0
    assert all(f"  {command} " in outcome.out for command in COMMANDS)
    assert "..." not in outcome.out.split("Commands:")[1]  # no description is cut short


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_that_fit_80_columns(command: str, run: Run) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"foregone {command}" in outcome.out.split("Examples:")[1]
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
