from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from foregone import EarlyStoppingClassifier, Solution
from foregone.cli import demo, demo_forest
from tests.cli.conftest import Run


@pytest.fixture
def small_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo on fewer rows: what it says is tested here, not how fast it is."""
    for name, value in {
        "N_TRAIN": 600,
        "N_CALIBRATION": 2_000,
        "N_TEST": 1_000,
        "N_CLASSES": 3,
        "ROUNDS": 1,
    }.items():
        monkeypatch.setattr(demo_forest, name, value)
    monkeypatch.setattr(demo, "N_TEST", 1_000)


@pytest.mark.usefixtures("small_forest")
def test_the_demo_measures_draws_compares_and_explains(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = run("demo", "-o", tmp_path / "demo")
    assert outcome.code == 0
    paths = (str(tmp_path), sys.prefix)  # which may be long
    lines = [line for line in outcome.out.splitlines() if not any(path in line for path in paths)]
    assert max(map(len, lines)) <= 80
    for words in ("trees asked per row", "rows per second", "one row at a time", "error on test rows"):
        assert words in outcome.out
    for words in ("continue", "curtailment", "Schwing", "How to read this", "Next steps"):
        assert words in outcome.out
    promise = str(EarlyStoppingClassifier.load(tmp_path / "demo" / "forest.foregone").promise_)
    assert promise in " ".join(outcome.out.split())
    assert outcome.out.count("trees asked per row") == 2  # with two classes and with more
    assert "3 classes" in outcome.out
    assert outcome.out.count("stop: the answer is YES") == 3
    folder = tmp_path / "demo"
    written = sorted(file.name for file in folder.iterdir())
    assert written == ["forest.foregone", "forest.png", "minimax.json", "minimean.json", "minimixed.json"]
    assert (folder / "forest.png").read_bytes().startswith(b"\x89PNG")
    assert Solution.load(folder / "minimax.json").n_voters == 101
    assert EarlyStoppingClassifier.load(folder / "forest.foregone").predict(np.zeros((2, 20))).shape == (2,)


@pytest.mark.usefixtures("small_forest")
def test_as_json_the_demo_says_only_what_it_measured(run: Run, tmp_path: Path) -> None:
    outcome = run("demo", "-o", tmp_path, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    content = json.loads(outcome.out)
    assert 0 < content["expected_votes"] < content["n_voters"]
    assert (content["promise_values"]["about"], content["promise_values"]["limit"]) == ("orders", 1e-3)
    many = content["many_classes"]
    assert 0 < many["expected_votes"] < content["n_voters"]
    assert 0 <= many["disagreement"] < 0.01
    assert content["criteria"]["minimax"]["gap"] < 1e-9
    assert all(Path(file).exists() for file in content["files"].values())
