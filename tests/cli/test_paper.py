from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import make_classification

from foregone.paper.items import ITEMS
from foregone.paper.known_datasets import KNOWN
from tests.cli.conftest import Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    X, y = make_classification(2_000, 5, flip_y=0.2, random_state=0)
    (tmp_path / "data").mkdir()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
    frame.to_parquet(tmp_path / "data" / "wine_sample.parquet")
    return tmp_path / "data"


def test_the_list_names_every_item_and_every_dataset(run: Run) -> None:
    outcome = run("paper", "list")
    assert outcome.code == 0
    words = outcome.out.split()
    assert all(name in words for name in (*ITEMS, *KNOWN))
    assert list(ITEMS) == [
        *("fig1", "fig2", "fig3", "fig4", "fig5", "table2", "table3", "figS1", "figS2", "tableS1")
    ]
    assert max(len(line) for line in outcome.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "fig9"), "no item is called 'fig9'; there are fig1, fig2, "),
        (("run", "fig3", "--datasets", "skn,skin"), "no dataset is called 'skn'; there are ground_cover, "),
        (("all", "--datasets", ""), "no dataset is called ''; there are"),
        (("run", "fig1", "--repeats", "0"), "--repeats must be at least 1, not 0"),
        (("run", "fig1", "--seed", "-1"), "--seed must be at least 0, not -1"),
        (("run", "fig1", "--jobs", "0"), "--jobs must be at least 1, not 0"),
        (("run", "fig1", "--voters", "0"), "n_voters must be a whole number of at least 1, not 0"),
        (("run", "fig1", "--voters", "20000"), "--voters must be at most 10,001"),
        (("run", "fig3", "--data", "nowhere"), "the data folder nowhere does not exist"),
        (("run", "fig3", "--datasets", "wine"), "nothing is left to do"),
        (("run",), "Missing argument"),
    ],
)
def test_a_bad_argument_is_one_line_before_anything_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOREGONE_DATA", raising=False)
    outcome = run("paper", *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("foregone:")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_run_does_what_is_asked_in_plain_lines(run: Run, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "results"
    arguments = ("--datasets", "wine", "--repeats", "2", "--voters", "3", "--jobs", "1", "--data", data)
    outcome = run("paper", "run", "table2", "tableS1", *arguments, "-o", output)
    assert outcome.code == 0
    assert f"look at {output / 'index.html'}" in outcome.out
    said = outcome.err.splitlines()
    assert "a variant of the set, from the file wine_sample.parquet" in said[0]
    assert said[1:] == ["2 pieces: 0 are there, 2 to do", "wine is done, 0 pieces to go"]
    assert (output / "tableS1.csv").exists()


def test_an_interruption_ends_at_once_and_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "results"
    arguments = ["--datasets", "wine", "--repeats", "500", "--data", str(data), "-o", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-m", "foregone", "paper", "run", "tableS1", *arguments, "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
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
    assert last == "foregone: interrupted; run the same command again to do the rest"
