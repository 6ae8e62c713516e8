"""The page recommends one thing, and the call on it, pasted, gives exactly what the page says."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.cli import main
from foregone.report import Report, make_report
from foregone.report.phrases import percent, points
from foregone.scores import CannotCertifyWarning
from tests.report.conftest import HOSTILE
from tests.report.kinds import KINDS, called, fitted, reported

# With many classes votes are counted where the model averages, and a classifier warns of that.
pytestmark = [
    pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning"),
    pytest.mark.xdist_group("reports"),  # most are made once for all three files
]

EVERY_KIND = [(name, labelled) for name in KINDS for labelled in (False, True)]


def check(fields: dict[str, Any], classifier: EarlyStoppingClassifier, rows: Any, labels: Any = None) -> None:
    """Hold the numbers that ``--json`` prints against the classifier that its call makes."""
    in_accuracy = fields["loss"] == "accuracy"
    limit = classifier.max_accuracy_loss if in_accuracy else classifier.max_disagreement
    assert (
        fields["recommended"] == limit == fields["max_accuracy_loss" if in_accuracy else "max_disagreement"]
    )
    assert fields["voting"] == classifier.voting_
    assert fields["promise"] == str(classifier.promise_)
    assert fields["promise_values"] == json.loads(json.dumps(classifier.promise_.to_fields()))
    assert fields["expected_votes"] == classifier.expected_votes_ < fields["n_voters"]
    answers, asked, _ = classifier.predict_with_votes(rows)
    assert fields["in_order_drawn"]["mean_asked"] == asked.mean()
    assert fields["in_order_drawn"]["n_differing"] == round(classifier.calibration_disagreement_ * len(rows))
    if labels is not None and fields["errors"]:
        wrong = {"stopped": answers != labels, "full": classifier.full_predict(rows) != labels}
        for way, errors in wrong.items():
            assert fields["errors"][way] == {"n_differing": np.sum(errors), "n_rows": len(rows)}


@pytest.mark.parametrize(("name", "labelled"), EVERY_KIND)
def test_the_call_pasted_gives_what_the_page_says(name: str, labelled: bool) -> None:
    report, model, rows, labels = reported(name, labelled)
    assert report.recommended.reason is None
    assert report.model.voting == KINDS[name][1]
    fields = json.loads(json.dumps(report.fields(), allow_nan=False))
    classifier = called(report, model, rows, labels if report.trade_off.loss == "accuracy" else None)
    check(fields, classifier, rows, labels if labelled else None)
    html, point = unescape(report.html), report.recommended
    assert str(classifier.promise_) in html
    assert f"asks {classifier.expected_votes_:.1f} of {report.model.n_voters}" in html
    assert f"asks {report.asked_in_order_drawn:.1f} of {report.model.n_voters}" in html
    assert f'value="{point.expected_votes!r}" data-live="votes"' in html
    deployed = report.trade_off.deployed
    answers = classifier.predict(rows)
    np.testing.assert_array_equal(answers, report.model.predict(report.model.rows, deployed, early=True))
    assert report.model.predict_one(report.model.rows[:1], deployed, early=True) == answers[0]


def one_recommendation(report: Report) -> None:
    """Check that headline, first reason and call name the same limit and the same number of voters."""
    shown, point = points if report.trade_off.loss == "accuracy" else percent, report.recommended
    limit, cost = report.headline
    first, *others = report.reasons
    words = unescape(re.sub("<[^>]+>", "", report.html))
    assert words.count(limit) == 2  # the headline and the first reason
    assert shown(point.limit) in limit
    assert first.startswith(f"{limit}: ")
    asked = f"{report.expected_votes:.1f} of {report.model.n_voters} {report.model.voters} on average"
    assert asked in cost
    assert asked in first
    assert ("in each class" in limit) == ("of each class" in first) == isinstance(report.plan.limit, dict)
    assert repr(report.plan.limit) in report.call
    assert not any(re.search(r"\b(Take|Give each|certify nothing)\b", reason) for reason in others)


@pytest.mark.parametrize(("name", "labelled"), EVERY_KIND)
def test_headline_and_first_reason_are_one_recommendation(name: str, labelled: bool) -> None:
    one_recommendation(reported(name, labelled)[0])


def test_a_limit_for_each_class_is_the_only_recommendation(report: Report, forest: Any, rare: Any) -> None:
    one_recommendation(report)
    assert report.recommended.each_class
    (hit,) = (reason for reason in report.reasons if "hit hardest" in reason)
    assert hit.startswith("Each class has its own limit. One limit for all rows would ask about ")
    assert re.search(r"[\d.]+\s% of its rows change answer, \d+ times the limit\. ", hit)
    assert report.trade_off.promise.about == "orders"
    assert hit.endswith("the promise below holds with 90 % instead of 95 % confidence.")
    classifier = called(report, forest, rare[2])
    assert set(classifier.max_disagreement) == {"ham", HOSTILE}
    check(json.loads(json.dumps(report.fields())), classifier, rare[2])


def test_a_limit_on_accuracy_for_each_class_is_in_the_call() -> None:
    report, model, rows, labels = reported("forest of two", True, 0.2)
    one_recommendation(report)
    assert isinstance(report.plan.max_accuracy_loss, dict)
    check(json.loads(json.dumps(report.fields())), called(report, model, rows, labels), rows, labels)


def test_a_class_that_has_no_limit_of_its_own_is_named() -> None:
    X, y = make_classification(
        3000,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=3,
        weights=[0.97, 0.02],
        class_sep=1.5,
        random_state=1,
    )
    labels = np.array(["ham", "eggs", "spam"])[y]
    forest = RandomForestClassifier(15, random_state=0).fit(X[:600], labels[:600])
    report = make_report(forest, X[600:], worth=5)
    one_recommendation(report)
    (hit,) = (reason for reason in report.reasons if "hit hardest" in reason)
    assert hit.startswith("Class eggs is hit hardest: ")
    assert len(re.findall(r"[\d.]+\s% of its rows change answer, \d+ times the limit", hit)) == 2
    assert hit.endswith("If that is too much, choose a stricter limit.")


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("name", ["gradient boosting", "soft forest"])
def test_too_few_rows_are_one_recommendation_too(name: str, labelled: bool) -> None:
    model, rows, labels = fitted(name)
    rows, labels = rows[:40], labels[:40]
    table = rows.assign(label=labels) if labelled else rows
    report = make_report(model, table, target="label" if labelled else None)
    assert report.headline[0] == "No limit can be certified"
    first = report.reasons[0]
    assert first.startswith("No limit can be certified on these rows. ")
    assert report.headline[1] in first
    assert "is needed" in first or "are needed" in first
    assert "was then certified" not in report.html
    with pytest.warns(CannotCertifyWarning):
        classifier = called(report, model, rows, labels)
    check(json.loads(json.dumps(report.fields())), classifier, rows, labels if labelled else None)


@pytest.mark.parametrize("name", ["forest of two", "soft forest", "forest of three", "lightgbm"])
def test_what_is_lost_in_accuracy_is_told_in_rows(name: str) -> None:
    report, model, rows, labels = reported(name, True)
    classifier = called(report, model, rows, labels)
    full, early = (
        int(np.sum(answers == labels))
        for answers in (classifier.full_predict(rows), classifier.predict(rows))
    )
    change = {1: "fewer", 0: "no difference", -1: "more"}[int(np.sign(full - early))]
    if full != early:
        change = f"{abs(full - early):,} {change} ({points(abs(full - early) / 2600)})"
    said = (
        f"Of 2,600 labelled calibration rows, {report.trade_off.texts.full} is right on {full:,} and the "
        f"early answer on {early:,}: {change}."
    )
    (shown,) = (reason for reason in report.reasons if "is right on" in reason)
    assert shown.startswith(said)
    lost = report.trade_off.accuracy_loss
    above = lost is not None and lost > report.plan.limit
    assert ("This is above the limit" in shown) == above
    assert shown in report.html
    assert not any("is right on" in reason for reason in reported(name)[0].reasons)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("forest of two", []),
        ("forest of two", ["--target", "label"]),
        ("soft forest", ["--voting", "hard"]),
        ("soft forest of three", ["--target", "label"]),
        ("gradient boosting", ["--threshold", "0.2"]),
    ],
)
def test_the_call_that_the_command_prints_gives_what_it_says(
    name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, rows, labels = fitted(name)
    joblib.dump(model, tmp_path / "model.joblib")
    rows.assign(label=labels).to_parquet(tmp_path / "rows.parquet")
    files = [str(tmp_path / file) for file in ("model.joblib", "rows.parquet")]
    page = ["-o", str(tmp_path / "page.html"), "--trust-pickle", "--json"]
    assert main(["report", *files, *options, *page]) == 0
    fields = json.loads(capsys.readouterr().out)
    names: dict[str, Any] = {"early_stop": early_stop, "model": model, "X": rows, "y": labels}
    exec(f"classifier = {fields['call']}", names)
    check(fields, names["classifier"], rows, labels)
    assert fields["headline"][0] in fields["recommendation"][0]


def test_rows_without_a_label_are_left_out_of_the_call_too(forest: Any, rare: Any) -> None:
    table = pd.DataFrame(rare[2]).assign(label=rare[3])
    table.loc[::4, "label"] = None
    report = make_report(forest, table.rename(columns=str), target="label", voting="hard")
    assert "X holds the calibration rows that have a label, y their true labels" in report.html
    known = (table["label"].notna()).to_numpy()
    classifier = called(report, forest, rare[2][known], rare[3][known])
    check(json.loads(json.dumps(report.fields())), classifier, rare[2][known], rare[3][known])
