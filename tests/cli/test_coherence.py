"""One command line: every command has examples that parse, --json, and options from one vocabulary."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import foregone
from foregone.cli.app import app
from foregone.cli.commands import COMMANDS, load_command
from tests.cli.conftest import Run

# One word for one thing: a new option is named here, after looking for one that means the same.
VOCABULARY = {
    "--add": "states of monitors to add up",
    "--answer": "what to say at a stop",
    "--n-answers": "how many different answers there can be",
    "--arithmetic": "what to prove in",
    "--audit": "about how many rows to ask everyone as well",
    "--calibrate-share": "how many items to calibrate with",
    "--cluster": "where a cluster is",
    "--columns": "which columns hold the features",
    "--confidence": "how surely a mean limit is kept for inputs to come",
    "--costs": "what answers cost, by what is true",
    "--count": "what of a recorded vote is counted",
    "--cpu": "which processors compiled code is for",
    "--criterion": "what is minimised and for whom the limit holds",
    "--csv": "a table, written to a file",
    "--drop-classes": "that each class has voters of its own",
    "--device": "where trees are asked, on the CPU or on a GPU",
    "--engine": "what does the work",
    "--escape-formulas": "keep spreadsheets from running texts",
    "--false-alarm": "how probable an alarm without a reason is",
    "--for": "what to compile for",
    "--help": "what a command does",
    "--into": "where to keep compiled code",
    "--jobs": "processes at a time",
    "--json": "JSON instead of text",
    "--keep": "columns to repeat",
    "--labels": "a file of what is true",
    "--lead": "the lead at which the rule of that name stops",
    "--limits": "several values of --max-disagreement or --max-accuracy-loss to try",
    "--looks": "after which votes it may stop",
    "--max-accuracy-loss": "the limit, on accuracy or costs",
    "--max-disagreement": "the limit",
    "--max-memory": "how much memory reading a file may take",
    "--method": "which solver",
    "--metrics": "figures for Prometheus, written to a file",
    "--model": "the saved classifier that is asked about",
    "--output": "where to write",
    "--png": "a picture, written to a file",
    "--prefix": "what names begin with",
    "--quota": "the fewest yes votes with which the full vote is yes",
    "--rules": "which methods to put side by side",
    "--scores": "a file of scores to add up",
    "--scorer": "whose scores in a log",
    "--seed": "what decides everything random",
    "--skip-short": "leave out what has too few votes",
    "--splits": "how often to split anew",
    "--state": "what a monitor goes on from, and saves",
    "--target": "the column of true labels",
    "--threshold": "the share of yes votes from which the full vote is yes",
    "--trust": "types in a file to load",
    "--trust-pickle": "load what can run code",
    "--values": "a file of what disagreements lose",
    "--voters": "how many voters there are",
    "--voting": "whether votes are counted or scores added up",
    "--votes": "a file of observed votes",
    "--window": "the window of the rule of that name",
    "--worth": "what avoiding a disagreement is worth",
    "--yes": "the answer that counts as yes",
}
WITHOUT_JSON: dict[str, str] = {}  # command: why it has nothing to say that a program could use


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, and the words it is called by."""
    for name in COMMANDS:
        command = load_command(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            yield from ((f"{name} {word}", one) for word, one in inner.items())


ALL = dict(commands())
every_command = pytest.mark.parametrize("called", ALL)


def examples(help_text: str) -> list[str]:
    block = help_text.split("Examples:\n")[1].split("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in block.splitlines()]


@every_command
def test_every_example_is_one_that_the_command_understands(called: str) -> None:
    for example in examples(ALL[called].help):
        words = shlex.split(example)
        assert words[0] == "foregone"
        of_this = words[1 : 1 + len(called.split())] == called.split()
        assert of_this or example.startswith("foregone solve "), example  # what it needs first
        target = ALL[called] if of_this else load_command("solve")
        target.make_context(
            called, words[1 + (len(called.split()) if of_this else 1) :]
        )  # parses, does not run


def test_the_examples_of_the_whole_are_understood() -> None:
    for example in examples(typer.main.get_command(app).help):
        words = shlex.split(example)
        load_command(words[1]).make_context(words[1], words[2:])


@every_command
def test_every_option_is_named_from_the_vocabulary_and_explained(called: str) -> None:
    for parameter in ALL[called].params:
        if parameter.param_type_name == "option":
            assert VOCABULARY.keys() & set(parameter.opts), parameter.opts
        assert parameter.help, parameter.name


def test_the_vocabulary_has_no_word_that_nobody_uses() -> None:
    used = {option for command in ALL.values() for parameter in command.params for option in parameter.opts}
    assert VOCABULARY.keys() - {"--help"} <= used


@every_command
def test_every_command_speaks_json(called: str) -> None:
    options = {option for parameter in ALL[called].params for option in parameter.opts}
    assert ("--json" in options) == (called not in WITHOUT_JSON)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_in_the_list_is_the_first_line_of_the_help(name: str) -> None:
    assert load_command(name).help.splitlines()[0] == COMMANDS[name]


JSON_RUNS = {
    "plan": ["plan", "--voters", "11"],
    "solve": ["solve", "--voters", "11", "--max-disagreement", "0.01"],
    "show": ["show", "STRATEGY", "--png", "picture.png"],
    "evaluate": ["evaluate", "STRATEGY"],
    "compare": ["compare", "--voters", "11"],
    "certify": ["certify", "STRATEGY"],
    "precompute": [
        *("precompute", "--voters", "5", "--max-disagreement", "0.1"),
        "-o",
        "grid",
        "--jobs",
        "1",
    ],
    "doctor": ["doctor"],
}


@pytest.mark.parametrize("called", JSON_RUNS)
def test_json_is_all_that_goes_to_stdout(
    called: str, run: Run, strategy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [strategy_file if word == "STRATEGY" else word for word in JSON_RUNS[called]]
    outcome = run(*words, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert isinstance(json.loads(outcome.out), dict)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_asking_for_help_loads_nothing_heavy(arguments: list[str]) -> None:
    heavy = {"matplotlib", "numba", "numpy", "pandas", "rich", "scipy", "sklearn"}
    code = (
        "import sys; from foregone.cli import main; main(sys.argv[1:]); "
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_library_is_loaded_when_it_is_used() -> None:
    code = (
        "import sys, foregone; before = 'numba' in sys.modules; foregone.solve; "
        "print(before, 'numba' in sys.modules, 'sklearn' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True", "False"]


def test_every_file_of_a_command_is_registered() -> None:
    folder = Path(importlib.import_module("foregone.cli").__file__ or "").parent
    files = {file.stem for file in folder.glob("*.py")}
    for name in files - {"app"}:
        module = importlib.import_module(f"foregone.cli.{name}")
        if hasattr(module, f"{name}_command") or hasattr(module, f"{name}_app"):
            assert name.replace("_", "-") in COMMANDS
    assert files >= {name.replace("-", "_") for name in COMMANDS}


def complete(typed: str) -> list[str]:
    """What bash is told to offer after what was typed."""
    environment = {
        "_FOREGONE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    result = subprocess.run(
        [sys.executable, "-c", "from foregone.cli import main; main([])"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.split()


def test_the_shell_is_told_how_to_complete_commands_options_and_names() -> None:
    assert complete("foregone ") == list(COMMANDS)
    assert complete("foregone pl") == ["plan"]
    assert complete("foregone solve --vot") == ["--voters", "--votes"]
    assert complete("foregone solve --criterion minim") == ["minimax", "minimean", "minimixed"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(shell: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    outcome = run("--show-completion")
    assert outcome.code == 0
    assert "_FOREGONE_COMPLETE" in outcome.out


def test_the_names_of_the_library_are_listed_before_they_are_loaded() -> None:
    code = "import foregone; print(' '.join(dir(foregone)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(foregone.__all__) <= set(result.stdout.split())
