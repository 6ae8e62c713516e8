from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import typer
from sklearn.datasets import make_classification

from paper.__main__ import app, main
from paper.items import ITEMS
from paper.known_datasets import KNOWN
from tests.cli.conftest import Outcome, Run
from tests.cli.test_coherence import VOCABULARY, examples
from tests.systems import posix

ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # it is a group
OPTIONS = {
    "--data": "a folder of datasets",
    "--datasets": "which of them",
    "--record": "where to write the page of a reproduction",
    "--repeats": "how often to repeat",
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, on 80 columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run_it(*arguments: str | Path) -> Outcome:
        return Outcome(main([str(argument) for argument in arguments]), *capsys.readouterr())

    return run_it


@pytest.fixture
def data(tmp_path: Path) -> Path:
    X, y = make_classification(2_000, 5, flip_y=0.2, random_state=0)
    (tmp_path / "data").mkdir()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
    frame.to_parquet(tmp_path / "data" / "wine_sample.parquet")
    return tmp_path / "data"


def test_the_list_names_every_item_and_every_dataset(run: Run) -> None:
    outcome = run("list")
    assert outcome.code == 0
    words = outcome.out.split()
    assert all(name in words for name in (*ITEMS, *KNOWN))
    assert list(ITEMS) == [
        *("fig1", "fig2", "fig3", "fig4", "fig5", "table2", "table3", "figS1", "figS2", "tableS1")
    ]
    assert max(len(line) for line in outcome.out.splitlines()) <= 80


def test_the_list_speaks_json(run: Run) -> None:
    outcome = run("list", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    content = json.loads(outcome.out)
    assert [item["name"] for item in content["items"]] == list(ITEMS)
    assert [dataset["name"] for dataset in content["datasets"]] == list(KNOWN)


@pytest.mark.parametrize("called", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help_with_examples_that_fit_80_columns(called: tuple[str, ...], run: Run) -> None:
    outcome = run(*called, "--help")
    assert outcome.code == 0
    assert " ".join(("python -m paper", *called)) in outcome.out.split("Examples:")[1]
    assert max(len(line) for line in outcome.out.splitlines()) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_one_that_the_command_understands(name: str) -> None:
    for example in examples(COMMANDS[name].help):
        words = shlex.split(example)
        assert words[:4] == ["python", "-m", "paper", name]
        COMMANDS[name].make_context(name, words[4:])  # parses, does not run


@pytest.mark.parametrize("name", COMMANDS)
def test_options_mean_what_they_mean_in_every_other_command(name: str) -> None:
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert {**VOCABULARY, **OPTIONS}.keys() & set(parameter.opts), parameter.opts
        assert parameter.help, parameter.name
    assert any("--json" in parameter.opts for parameter in COMMANDS[name].params)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "fig9"), "no item is called 'fig9'; there are fig1, fig2, "),
        (("run", "fig3", "--datasets", "skn,skin"), "no dataset is called 'skn'; there are ground_cover, "),
        (("all", "--datasets", ""), "no dataset is called ''; there are"),
        (("run", "fig1", "--repeats", "0"), "--repeats must be at least 1, not 0"),
        (("run", "fig1", "--seed", "-1"), "--seed must be at least 0, not -1"),
        (("run", "fig1", "--jobs", "0"), "--jobs must be at least 1, not 0"),
        (("run", "fig1", "--voters", "0"), "--voters must be at least 1, not 0"),
        (("run", "fig1", "--voters", "20000"), "--voters must be at most 10,001"),
        (("run", "fig3", "--data", "nowhere"), "the data folder nowhere does not exist"),
        (("run", "fig3", "--datasets", "wine"), "nothing is left to do"),
        (("run",), "(see python -m paper run --help)"),
        ((), "Missing command"),
    ],
)
def test_a_bad_argument_is_one_line_before_anything_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOREGONE_DATA", raising=False)
    outcome = run(*arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("paper:")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_run_does_what_is_asked_in_plain_lines(run: Run, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "results"
    arguments = ("--datasets", "wine", "--repeats", "2", "--voters", "3", "--jobs", "1", "--data", data)
    outcome = run("run", "table2", "tableS1", *arguments, "-o", output)
    assert outcome.code == 0
    assert f"look at {output / 'index.html'}" in outcome.out
    said = outcome.err.splitlines()
    assert "a variant of the set, from the file wine_sample.parquet" in said[0]
    assert said[1:] == ["2 pieces: 0 are there, 2 to do", "wine is done, 0 pieces to go"]
    assert (output / "tableS1.csv").exists()


@posix
def test_an_interruption_ends_at_once_and_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "results"
    arguments = ["--datasets", "wine", "--repeats", "500", "--data", str(data), "-o", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-m", "paper", "run", "tableS1", *arguments, "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
        # Whoever runs the tests in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not list((output / "pieces").glob("*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    last = err.decode().splitlines()[-1]
    assert last == "paper: interrupted; run the same command again to do the rest"
