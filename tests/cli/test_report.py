from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import early_stop
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A forest in every format, and rows to calibrate on."""
    folder = tmp_path_factory.mktemp("report")
    X, y = make_classification(900, 5, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    forest = RandomForestClassifier(11, random_state=0).fit(frame[:300], y[:300])
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    frame[300:].assign(label=y[300:], three=three[300:], other="x").to_parquet(folder / "rows.parquet")
    frame[300:].drop(columns=["c"]).to_csv(folder / "short.csv")
    skops.io.dump(forest, folder / "forest.skops")
    joblib.dump(forest, folder / "forest.joblib")
    early_stop(forest, frame[300:], 0.01, random_state=0).save(folder / "forest.foregone")
    boosting = GradientBoostingClassifier(n_estimators=9, random_state=0)
    skops.io.dump(boosting.fit(frame[:300], y[:300]), folder / "boosted.skops")
    skops.io.dump(boosting.fit(frame[:300], three[:300]), folder / "boosted3.skops")
    many = RandomForestClassifier(9, random_state=0).fit(frame[:300], three[:300])
    skops.io.dump(many, folder / "forest3.skops")
    averaging = RandomForestClassifier(9, max_depth=3, random_state=0).fit(frame[:300], three[:300])
    skops.io.dump(averaging, folder / "averaging3.skops")
    return folder


def test_two_files_lead_to_a_page(run: Run, files: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("report", files / "forest.skops", files / "rows.parquet")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Allow ")
    assert "report.html" in outcome.out
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
    html = Path("report.html").read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert "forest.skops" in html
    assert str(files) not in html  # where a file is, is nobody else's business
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_json_has_the_same_numbers(run: Run, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = run(
        "report", files / "forest.foregone", files / "rows.parquet", "--target", "label", "-o", page, "--json"
    )
    content = json.loads(outcome.out)
    assert content["report"] == str(page)
    assert (content["n_rows"], content["n_voters"], content["saved_limit"]) == (600, 11, 0.01)
    assert set(content["errors"]) == {"stopped", "full"}
    assert f"{content['expected_votes']:.1f} of" in page.read_text(encoding="utf-8")
    assert content["promise"][1:] in page.read_text(encoding="utf-8")
    assert content["promise_values"]["confidence"] == 0.95


@pytest.mark.parametrize("model", ["forest.skops", "boosted.skops", "boosted3.skops"])
def test_labels_lead_to_limits_on_accuracy(model: str, run: Run, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    label = "three" if model == "boosted3.skops" else "label"
    arguments = ["report", files / model, files / "rows.parquet", "--target", label, "-o", page]
    content = json.loads(run(*arguments, "--json").out)
    assert (content["loss"], content["max_disagreement"]) == ("accuracy", None)
    assert f"early_stop(model, X, y, max_accuracy_loss={content['max_accuracy_loss']}" in content["call"]
    assert 0.5 < content["full_accuracy"] <= 1
    assert all(len(point["accuracy_loss_by_class"]) == len(content["labels"]) for point in content["points"])
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert "accuracy" in outcome.out.splitlines()[0]


def test_a_threshold_is_taken(run: Run, files: Any, tmp_path: Path) -> None:
    arguments = ["report", files / "forest.skops", files / "rows.parquet", "-o", tmp_path / "page.html"]
    content = json.loads(run(*arguments, "--threshold", "1/4", "--json").out)
    assert (content["threshold"], content["quota"]) == (0.25, 3)
    assert "threshold=0.25" in content["call"]


@pytest.mark.parametrize(
    ("model", "voting", "n_classes"),
    [
        ("boosted.skops", "soft", 2),
        ("forest3.skops", "hard", 3),
        ("averaging3.skops", "soft", 3),
        ("boosted3.skops", "soft", 3),
    ],
)
def test_models_of_other_kinds_lead_to_a_page(
    model: str, voting: str, n_classes: int, run: Run, files: Any, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    content = json.loads(run("report", files / model, files / "rows.parquet", "-o", page, "--json").out)
    assert (content["voting"], len(content["labels"])) == (voting, n_classes)
    assert content["expected_votes"] < 9
    assert f"{content['expected_votes']:.1f} of" in page.read_text(encoding="utf-8")
    assert content["promise"][1:] in page.read_text(encoding="utf-8")
    assert content["promise_values"]["confidence"] == 0.95
    outcome = run("report", files / model, files / "rows.parquet", "-o", page)
    assert f"voting='{voting}'" in " ".join(outcome.out.split())


def test_settings_are_taken(run: Run, files: Any, tmp_path: Path) -> None:
    arguments = ["report", files / "forest.joblib", files / "rows.parquet", "--trust-pickle", "--json"]
    page = ["-o", tmp_path / "page.html"]
    content = json.loads(run(*arguments, *page, "--confidence", "none", "--worth", "3").out)
    assert (content["confidence"], content["worth"], content["criterion"]) == (None, 3, "minimean")
    assert json.loads(run(*arguments, *page, "--criterion", "minimax").out)["criterion"] == "minimax"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["forest.joblib", "rows.parquet"], "--trust-pickle"),
        (["none.skops", "rows.parquet"], "cannot read none.skops"),
        (["forest.skops", "none.parquet"], "cannot read none.parquet"),
        (["rows.parquet", "rows.parquet"], "skops.io.dump"),
        (["forest.skops", "forest.skops"], "unknown format"),
        (["forest.skops", "short.csv"], "no column 'c'"),
        (["forest.skops", "rows.parquet", "--target", "truth"], "no column 'truth'"),
        (["forest.skops", "rows.parquet", "--target", "other"], "the column of labels holds 'x'"),
        (["forest.skops", "rows.parquet", "--threshold", "20"], "expected a share from 0 to 1"),
        (["forest3.skops", "rows.parquet", "--threshold", "0.2"], "a threshold needs exactly 2 classes"),
        (["forest.foregone", "rows.parquet", "--threshold", "0.2"], "give the model itself"),
        (["forest.skops", "rows.parquet", "--criterion", "best"], "minimax, minimean, minimixed"),
        (["forest.skops", "rows.parquet", "--confidence", "2"], "confidence"),
        (["forest.skops", "rows.parquet", "--worth", "0"], "worth must be"),
        (["forest.skops", "rows.parquet", "--voting", "loud"], 'voting must be one of "auto", "hard"'),
        (["boosted.skops", "rows.parquet", "--voting", "hard"], "do not vote"),
        (["boosted.skops", "rows.parquet", "--criterion", "minimax"], "support only criterion minimean"),
        (["boosted3.skops", "rows.parquet", "--criterion", "minimax"], "support only criterion minimean"),
        (["forest.skops", "rows.parquet", "-o", "nowhere/page.html"], "create it first"),
        (["forest.skops"], "CALIBRATION_DATA"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(
    arguments: list[str], hint: str, run: Run, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    outcome = run("report", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert hint in outcome.err
    assert sorted(files.iterdir()) == before


def test_rows_with_missing_values_are_refused_where_trees_cannot_take_them(
    run: Run, files: Any, tmp_path: Path
) -> None:
    rows = np.full((3, 5), np.inf)
    np.save(tmp_path / "rows.npy", rows)
    outcome = run("report", files / "forest.skops", tmp_path / "rows.npy", "-o", tmp_path / "page.html")
    assert outcome.code == 2
    assert "infinity" in outcome.err
