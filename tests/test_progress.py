from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foregone._system import progress
from foregone._system.progress import counting, working


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


# With real terminals, because rich replaces sys.stdout while it draws ---------------------------

COUNTED = """
from foregone._system.progress import counting

with counting("at work", 2) as advance:
    print("first")
    advance()
    print("second")
"""
WORKED = """
import threading
from foregone._system import progress

progress.PATIENCE = 0.0
with progress.working("at work"):
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.join()
    print("first")
    print("second")
"""
POLLED = """
import asyncio
from foregone import poll_many, rules

async def main():
    lines = iter(["first", "second"])
    async for _ in poll_many(["a", "b"], lambda *_: True, rules.lead(5, 2), progress=True):
        print(next(lines))

asyncio.run(main())
"""


def on_a_terminal(script: str, stdout: int | None = None) -> str:
    """Run a script with a terminal as stderr, and as stdout unless that is given; return what it shows."""
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody has the other side any more
        while part := os.read(ours, 4096):
            seen += part
    os.close(ours)
    assert process.wait() == 0, seen
    return seen.decode()


@pytest.mark.parametrize("script", [COUNTED, WORKED, POLLED], ids=["counting", "working", "poll_many"])
def test_what_is_printed_meanwhile_goes_to_stdout_and_the_bar_to_the_terminal(
    script: str, tmp_path: Path
) -> None:
    with (tmp_path / "out").open("wb") as out:
        terminal = on_a_terminal(script, out.fileno())
    assert (tmp_path / "out").read_text() == "first\nsecond\n"
    assert "at work" in terminal or "polling" in terminal
    assert "first" not in terminal


def test_on_one_terminal_what_is_printed_stands_above_the_bar() -> None:
    terminal = on_a_terminal(COUNTED)
    assert re.search(r"(^|\n|\x1b\[2K)first\r\n", terminal)
    assert re.search(r"(^|\n|\x1b\[2K)second\r\n", terminal)


def test_two_terminals_are_told_apart() -> None:
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    ours, theirs = pty.openpty()
    terminal = on_a_terminal(COUNTED, theirs)
    os.close(theirs)
    assert os.read(ours, 4096) == b"first\r\nsecond\r\n"
    assert "first" not in terminal
    os.close(ours)
