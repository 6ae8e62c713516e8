"""The installed command in a process of its own: pipes, encodings, colours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def foregone(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return subprocess.run(
        [sys.executable, "-m", "foregone", *map(str, arguments)],
        capture_output=True,
        env={**kept, **environment},
        check=False,
    )


def test_piped_output_has_no_colour_codes_and_is_not_cropped_on_narrow_terminals(strategy_file: Path) -> None:
    wide, narrow = (foregone("evaluate", strategy_file, COLUMNS=columns) for columns in ("80", "20"))
    assert b"\x1b" not in wide.stdout

    def numbers(output: bytes) -> list[str]:
        return [word for word in output.decode().split() if word.replace(".", "").isdigit()]

    assert numbers(narrow.stdout) == numbers(wide.stdout)


@pytest.mark.parametrize("command", ["show", "evaluate", "certify"])
def test_a_terminal_that_knows_only_ascii_gets_only_ascii(command: str, strategy_file: Path) -> None:
    result = foregone(command, strategy_file, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.isascii()


def test_colours_are_there_when_asked_for(strategy_file: Path) -> None:
    assert b"\x1b[" in foregone("show", strategy_file, FORCE_COLOR="1").stdout


def test_a_reader_that_leaves_early_is_no_error_worth_a_traceback(strategy_file: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "foregone", "evaluate", str(strategy_file), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()


def test_a_name_that_the_terminal_cannot_show_is_no_problem(tmp_path: Path) -> None:
    result = foregone("show", tmp_path / "höchst.json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.returncode == 2
    assert result.stderr.count(b"\n") == 1
    assert b"Traceback" not in result.stderr
