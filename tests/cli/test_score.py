from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foregone import EarlyStoppingClassifier, early_stop
from tests.classifier import models
from tests.cli.conftest import Run

pytest.importorskip("pyarrow")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    classifier = early_stop(models.forest(), models.fresh()[:500], max_disagreement=0.05, random_state=0)
    classifier.save(tmp_path / "forest.foregone")
    return tmp_path / "forest.foregone"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    names = ["id", *"abcdef"]
    lines = [f"{k}," + ",".join(map(repr, map(float, row))) for k, row in enumerate(models.fresh()[500:700])]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(names), *lines]))
    return tmp_path / "rows.csv"


def expected() -> tuple[np.ndarray, np.ndarray]:
    classifier = early_stop(models.forest(), models.fresh()[:500], max_disagreement=0.05, random_state=0)
    labels, asked, _ = classifier.predict_with_votes(models.fresh()[500:700])
    return labels, asked


def test_a_file_is_scored_and_summed_up(run: Run, model: Path, rows: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    outcome = run("score", model, rows, output, "--columns", "a,b,c,d,e,f", "--keep", "id", "--prefix", "p_")
    labels, asked = expected()
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("200 rows scored in ")
    assert f"{asked.mean():.2f} votes asked per row" in outcome.out
    assert f"Labels 0: {(labels == 0).sum()}, 1: {(labels == 1).sum()}" in outcome.out
    written = output.read_text().replace('"', "").splitlines()
    assert written[0] == "id,p_label,p_votes_asked"
    assert written[1:] == [f"{k},{label},{n}" for k, (label, n) in enumerate(zip(labels, asked, strict=True))]


def test_json_has_the_counts(run: Run, model: Path, rows: Path, tmp_path: Path) -> None:
    outcome = run("score", model, rows, tmp_path / "out.parquet", "--columns", "a,b,c,d,e,f", "--json")
    content = json.loads(outcome.out)
    labels, asked = expected()
    assert content["rows"] == 200
    assert content["by_label"] == [[0, (labels == 0).sum()], [1, (labels == 1).sum()]]
    assert content["mean_votes_asked"] == pytest.approx(asked.mean())
    promise = EarlyStoppingClassifier.load(model).promise_
    assert content["promise"] == str(promise)
    assert content["promise_values"]["n_rows"] == promise.n_rows == 400
    assert (content["engine"], content["parts"], content["parts_found"]) == ("local", 1, 0)


def test_a_share_of_rows_is_audited(run: Run, model: Path, rows: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    assert run("score", model, rows, output, "--columns", "a,b,c,d,e,f", "--audit", "0.2").code == 0
    written = output.read_text().replace('"', "").splitlines()
    full = [line.split(",")[2] for line in written[1:]]
    want = EarlyStoppingClassifier.load(model).full_predict(models.fresh()[500:700])
    assert written[0] == "label,votes_asked,full_label"
    assert 20 < len(full) - full.count("") < 80
    assert all(label in ("", str(whole)) for label, whole in zip(full, want, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "7 columns, but the model has 6 features"),
        (["--columns", "a,b,c,d,e,z"], "no column 'z'"),
        (["--columns", "a,b,,d,e,f"], "--columns must be names separated by commas"),
        (["--columns", "a,b,c,d,e,f", "--keep", "nothing"], "no column 'nothing'"),
        (["--columns", "a,b,c,d,e,f", "--engine", "abacus"], "engine must be local, dask or spark"),
        (["--columns", "a,b,c,d,e,f", "--jobs", "0"], "jobs must be at least 1"),
        (["--columns", "a,b,c,d,e,f", "--audit", "1.5"], "audit must be a number from 0 to 1, got 1.5"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: list[str], message: str, run: Run, model: Path, rows: Path, tmp_path: Path
) -> None:
    outcome = run("score", model, rows, tmp_path / "out.csv", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_file_that_is_no_classifier_is_named(
    run: Run, strategy_file: Path, rows: Path, tmp_path: Path
) -> None:
    outcome = run("score", strategy_file, rows, tmp_path / "out.csv")
    assert outcome.code == 2
    assert "strategy.json: not a foregone file" in outcome.err
    assert outcome.err.count("\n") == 1
