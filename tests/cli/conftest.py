from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from foregone import solve
from foregone.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, as the installed command does, on 80 columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run_it(*arguments: str | Path) -> Outcome:
        words: Sequence[str] = [str(argument) for argument in arguments]
        code = main(words)
        return Outcome(code, *capsys.readouterr())

    return run_it


@pytest.fixture
def strategy_file(tmp_path: Path) -> Path:
    file = tmp_path / "strategy.json"
    solve("minimixed", 11, 0.01).save(file)
    return file
