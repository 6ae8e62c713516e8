"""A bad argument or file: exit code 2, one line on stderr that says what to do, nothing written."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from foregone.errors import InvalidInputError
from tests.cli.conftest import Run

BAD = {
    "an unknown command": (["bogus"], "No such command 'bogus'"),
    "an unknown option": (["solve", "--nope"], "No such option"),
    "a missing option": (["solve", "--voters", "11"], "--max-disagreement"),
    "a missing argument": (["show"], "FILE"),
    "a superfluous argument": (["evaluate", "a", "b"], "extra argument"),
    "no voters at all": (["solve", "--max-disagreement", "0.1"], "--voters N"),
    "zero voters": (["solve", "--voters", "0", "--max-disagreement", "0.1"], "at least 1"),
    "negative voters": (["solve", "--voters", "-3", "--max-disagreement", "0.1"], "at least 1"),
    "a fraction of a voter": (["solve", "--voters", "3.5", "--max-disagreement", "0.1"], "--voters"),
    "a negative rate": (["solve", "--voters", "11", "--max-disagreement", "-0.1"], "from 0 to 1"),
    "a rate above one": (["compare", "--voters", "11", "--max-disagreement", "2"], "from 0 to 1"),
    "a rate that is NaN": (["solve", "--voters", "11", "--max-disagreement", "nan"], "from 0 to 1"),
    "an unknown criterion": (
        ["solve", "--voters", "11", "--max-disagreement", "0.1", "--criterion", "best"],
        "minimax, minimean, minimixed",
    ),
    "an unknown method": (
        ["solve", "--voters", "11", "--max-disagreement", "0.1", "--method", "guess"],
        "linear_program",
    ),
    "a folder that is not there": (
        ["solve", "--voters", "11", "--max-disagreement", "0.1", "-o", "nowhere/strategy.json"],
        "does not exist",
    ),
    "a folder instead of a file": (
        ["solve", "--voters", "11", "--max-disagreement", "0.1", "-o", "."],
        "it is a folder",
    ),
    "a strategy file that is not there": (["show", "missing.json"], "cannot read missing.json"),
    "a vote file that is not there": (
        ["compare", "--votes", "missing.csv"],
        "cannot read missing.csv",
    ),
    "a lead of nothing": (["compare", "--voters", "11", "--lead", "0"], "at least 1"),
    "a range that is none": (
        ["precompute", "--voters", "1:x", "--max-disagreement", "0", "-o", "grid"],
        "start:stop:step",
    ),
    "no processes": (
        ["precompute", "--voters", "11", "--max-disagreement", "0", "-o", "grid", "--jobs", "0"],
        "--jobs",
    ),
    "a criterion of a grid that is none": (
        [
            "precompute",
            "--voters",
            "11",
            "--max-disagreement",
            "0",
            "-o",
            "grid",
            "--criterion",
            "minimax,best",
        ],
        "'best'",
    ),
}


@pytest.mark.parametrize(("arguments", "hint"), BAD.values(), ids=BAD.keys())
def test_exits_with_2_and_one_line_and_writes_nothing(
    arguments: list[str], hint: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("foregone: ")
    assert hint in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "evaluate", "certify"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"format": "foregone-strategy"}']
)
def test_a_damaged_strategy_file_is_named(command: str, content: bytes, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "damaged.json"
    file.write_bytes(content)
    outcome = run(command, file)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "damaged.json" in outcome.err


def test_votes_for_another_number_of_voters_are_refused(
    run: Run, strategy_file: Path, tmp_path: Path
) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("1\n2\n3\n")
    outcome = run("evaluate", strategy_file, "--votes", counts)
    assert outcome.code == 2
    assert "3 counts do not fit 11 voters" in outcome.err


def test_a_picture_that_cannot_be_written_is_refused_before_any_work(run: Run, strategy_file: Path) -> None:
    outcome = run("show", strategy_file, "--png", "nowhere/picture.png")
    assert (outcome.code, outcome.out) == (2, "")
    assert "create it first" in outcome.err


def test_warnings_are_one_line_without_escapes_from_elsewhere(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from foregone.cli import solve as command

    def warn(*arguments: object, **settings: object) -> None:
        warnings.warn("the label \x1b[2J is rare\nand \u202elate", UserWarning, stacklevel=1)
        raise InvalidInputError("enough")

    monkeypatch.setattr(command, "solve", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        outcome = run("solve", "--voters", "5", "--max-disagreement", "0.1")
    assert outcome.err.splitlines()[0] == r"foregone: warning: the label \x1b[2J is rare and \u202elate"
