from __future__ import annotations

import io
import sys
import time

import pytest

from foregone import progress
from foregone.progress import counting, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look_at_stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: pytest puts its own stderr back between a fixture and the test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def test_what_takes_long_says_what_it_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with working("Solving for 101 voters"):
        for _ in range(3000):  # a slow machine may take its time; for ever is too long
            if "Solving for 101 voters" in terminal.getvalue():
                break
            time.sleep(0.01)
    assert "Solving for 101 voters" in terminal.getvalue()


def test_what_is_done_soon_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    with working("Solving"):
        pass
    assert terminal.getvalue() == ""


def test_steps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    with counting("solving", 2) as advance:
        advance()
        advance()
    assert "2/2" in terminal.getvalue()


def test_nothing_is_shown_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with working("Solving"), counting("solving", 1) as advance:
        time.sleep(0.05)
        advance()
    assert capsys.readouterr() == ("", "")


def test_what_is_said_cannot_do_anything_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    with counting("\x1b[2Jscoring \u202e", 1) as advance:
        advance()
    assert r"\x1b[2Jscoring \u202e" in terminal.getvalue()
    assert "\x1b[2J" not in terminal.getvalue()
    assert "\u202e" not in terminal.getvalue()
