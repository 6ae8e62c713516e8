"""Every kind of model has a page, its numbers are the library's, and the call on it does what it says."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foregone import early_stop
from foregone.errors import InvalidInputError
from foregone.plurality.ties import bound_with_ties
from foregone.report import make_report, read_model
from foregone.report.trade_off import LIMITS, trade_off
from foregone.scores import CannotCertifyWarning, solve_scores
from foregone.strategy.limits import Limits
from tests.report.kinds import KINDS, LEAD, MANY_SCORES, SCORES, called, fitted, reported

# Of many classes votes are counted where the model averages, and a classifier warns of that.
pytestmark = [
    pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning"),
    pytest.mark.xdist_group("reports"),  # most are made once for all three files
]


@pytest.mark.parametrize("name", KINDS)
def test_the_call_does_what_early_stop_does_by_default(name: str) -> None:
    report, model, rows, _ = reported(name)
    classifier = early_stop(model, rows, report.plan.max_disagreement, random_state=0)
    assert classifier.expected_votes_ == report.expected_votes


@pytest.mark.parametrize("name", [name for name in KINDS if name not in [*SCORES, *LEAD]])
def test_figures_of_votes_are_those_of_a_classifier_that_is_not_certified(name: str) -> None:
    report, model, rows, _ = reported(name)
    point = report.recommended
    assert 0 <= point.disagreement <= point.at_most <= point.limit
    assert len(point.by_class) == len(report.trade_off.shares) == KINDS[name][0]
    classifier = early_stop(model, rows, report.plan.max_disagreement, order="shared", random_state=0)
    assert classifier.expected_votes_ == point.expected_votes
    if KINDS[name][0] == 2:
        bounds = [figures.at_most for figures in point.by_class]
        assert bounds == list(classifier.disagreement_by_class_.values())
    else:
        assert point.at_most == bound_with_ties(classifier.strategy_, classifier.solution_)


@pytest.mark.parametrize("name", KINDS)
def test_json_can_be_written_and_the_page_has_no_gaps(name: str) -> None:
    report, *_ = reported(name)
    fields = json.loads(json.dumps(report.fields(), allow_nan=False))
    assert [point["limit"] for point in fields["points"]][: len(LIMITS)] == list(LIMITS)
    assert fields["call"] == report.call
    assert re.search(r"\b(nan|inf|None)\b", report.html) is None


@pytest.mark.parametrize("name", ["forest of three", "committee of four"])
def test_classes_of_many_are_averaged_over_their_rows(name: str) -> None:
    report, *_ = reported(name)
    point = report.recommended
    mean = np.average([figures.disagreement for figures in point.by_class], weights=report.trade_off.shares)
    votes = np.average(
        [figures.expected_votes for figures in point.by_class], weights=report.trade_off.shares
    )
    assert (mean, votes) == pytest.approx((point.disagreement, point.expected_votes))
    html = report.html
    assert 'id="each-class"' not in html
    assert "Separate limits for each class need two classes" in html
    assert "Disagreement by margin, as a table" not in html
    assert "Disagreement by margin is for two classes" in html


@pytest.mark.parametrize("name", [*MANY_SCORES, *LEAD])
def test_scores_of_many_classes_have_figures_for_each_class(name: str) -> None:
    report, *_ = reported(name)
    learning = report.trade_off.plan.kind
    assert learning == "scores"
    point, n_classes = report.recommended, KINDS[name][0]
    assert len(point.by_class) == len(report.trade_off.shares) == n_classes
    asked = [figures.expected_votes for figures in point.by_class]
    assert min(asked) <= point.expected_votes <= max(asked)
    np.testing.assert_allclose(
        np.bincount(report.trade_off.full) / report.model.n_rows, report.trade_off.shares
    )
    html = unescape(report.html)
    assert 'id="each-class"' not in html
    assert "Separate limits for each class need two classes" in html
    assert ("Disagreement by margin is for two classes" in html) == (name in LEAD)
    assert ("Disagreement by margin is for counted votes" in html) == (name in MANY_SCORES)
    assert ("the class with the largest sum wins" in html) == (name in MANY_SCORES)
    assert ("the class with most votes wins" in html) == (name in LEAD)
    assert f"differ from {'the full vote' if name in LEAD else 'the full sum'}, on average" in html
    assert ("20, each with one tree per class" in html) == ("boosting" in name)
    assert ("its trees are no longer asked" in html) == ("boosting" in name)


def test_votes_by_their_lead_are_held_against_the_full_vote() -> None:
    report, model, rows, _ = reported("forest of seven")
    counts = early_stop(model, rows, 0.1, random_state=0).full_votes(rows)
    np.testing.assert_array_equal(report.trade_off.right, counts.argmax(axis=1))
    assert "the full vote is the first of them" in report.html
    assert "may differ from the full vote." in report.html
    assert "full sum" not in report.html
    assert "The choice of the limit" not in report.html  # it was made on the learning half alone


@pytest.mark.parametrize("name", SCORES)
def test_the_limit_for_scores_is_that_of_a_plan(name: str) -> None:
    report, model, rows, _ = reported(name)
    before = early_stop(model, rows, 0.1, random_state=0)
    made = before.plan(X=rows)
    assert report.plan.max_disagreement == made.max_disagreement
    assert "Disagreement by margin, as a table" not in report.html


@pytest.mark.parametrize(
    "name",
    ["forest of two", "forest of three", "soft forest", "gradient boosting", "soft forest of three", *LEAD],
)
def test_files_are_reported_as_the_models_in_them(name: str, tmp_path: Path) -> None:
    report, model, rows, _ = reported(name)
    skops.io.dump(model, tmp_path / "model.skops")
    from_skops = make_report(read_model(tmp_path / "model.skops"), rows)
    assert from_skops.call == report.call
    assert from_skops.expected_votes == report.expected_votes
    early_stop(model, rows, 0.05, random_state=0).save(tmp_path / "model.foregone")
    saved = make_report(read_model(tmp_path / "model.foregone"), rows)
    assert saved.call == report.call
    assert saved.recommended.expected_votes == report.recommended.expected_votes
    assert saved.expected_votes == report.expected_votes
    assert saved.own_differences is None
    assert "The classifier in the file: with 95 % confidence" in saved.html
    assert saved.fields()["saved_limit"] == 0.05


def test_boosted_trees_that_skops_does_not_trust_are_read_when_told_to(tmp_path: Path) -> None:
    report, model, rows, _ = reported("hist boosting")
    skops.io.dump(model, tmp_path / "model.skops")
    with pytest.raises(InvalidInputError, match="--trust") as caught:
        read_model(tmp_path / "model.skops")
    trust = str(caught.value).split("--trust ")[1].split(",")
    again = make_report(read_model(tmp_path / "model.skops", trust=trust), rows)
    assert again.recommended.expected_votes == report.recommended.expected_votes


def test_of_a_tie_the_first_leader_is_the_full_vote() -> None:
    report, model, rows, _ = reported("committee of four")
    counts = early_stop(model, rows, 0.1).full_votes(rows)
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.any()
    last = counts.shape[1] - 1 - counts[:, ::-1].argmax(axis=1)
    assert report.trade_off.differing(counts.argmax(axis=1)) == 0
    assert report.trade_off.differing(last) == tied.sum()
    assert "the full vote is the first of them" in report.html


def test_votes_are_counted_where_that_is_asked_for() -> None:
    _, model, rows, _ = reported("soft forest")
    report = make_report(model, rows, voting="hard", criterion="minimixed")
    classifier = called(report, model, rows)
    assert classifier.voting_ == "hard"
    assert classifier.criterion == "minimixed"
    assert classifier.expected_votes_ == report.expected_votes == report.recommended.expected_votes


def test_a_pipeline_says_what_model_and_rows_of_the_call_are() -> None:
    _, rows, labels = fitted("soft forest")
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(9, max_depth=3, random_state=0))
    pipeline.fit(rows, labels)
    report = make_report(pipeline, rows)
    classifier = called(report, pipeline[-1], pipeline[:-1].transform(rows))
    assert classifier.expected_votes_ == report.expected_votes
    assert "model is the last step of the pipeline" in report.html


def test_settings_of_a_classifier_are_in_the_call() -> None:
    _, model, rows, _ = reported("soft forest")
    before = early_stop(model, rows, 0.05, confidence=0.9, looks=3, order="optimized", random_state=7)
    report = make_report(before, rows)
    assert re.search(r"confidence=0.9, looks=3, order='optimized', random_state=7\)$", report.call)
    assert called(report, model, rows).expected_votes_ == report.expected_votes


def test_too_few_rows_for_scores_are_said_to_turn_early_stopping_off() -> None:
    _, model, rows, _ = reported("gradient boosting")
    report = make_report(model, rows[:40])
    assert report.headline[0] == "No limit can be certified"
    assert "half has 20 rows" in report.reasons[0]
    with pytest.warns(CannotCertifyWarning):
        classifier = called(report, model, rows[:40])
    assert 0 < classifier.expected_votes_ == report.expected_votes < 20
    assert str(classifier.promise_)[1:] in report.html
    assert "Drift" not in report.html  # what is certain needs no rows


def test_without_enough_rows_the_promise_is_about_orders_and_the_page_says_so() -> None:
    _, model, rows, _ = reported("forest of two")
    report = make_report(model, rows[:100])
    assert report.trade_off.promise.about == "orders"
    assert report.fields()["promise_values"]["rows_to_certify"] > 100
    assert "calibration rows would certify the classifier itself" in report.html
    assert "which of many random orders" in report.html
    assert "The choice of the limit" not in report.html
    certified, *_ = reported("forest of two")
    assert certified.trade_off.promise.about == "classifier"
    assert "which of many random orders" not in certified.html
    assert "The choice of the limit" in certified.html


def test_a_certificate_that_was_asked_for_and_cannot_be_had_is_said_to_be_missing() -> None:
    _, model, rows, _ = reported("forest of two")
    with pytest.warns(CannotCertifyWarning):
        before = early_stop(model, rows[:100], 1e-3, order="optimized", random_state=0)
    report = make_report(before, rows[:100])
    assert report.headline[0] == "No limit can be certified"
    assert "80 rows are left" in report.reasons[0]
    assert report.trade_off.promise.confidence == 1


def test_rows_that_rounding_decides_are_counted_as_in_a_classifier() -> None:
    report, model, rows, _ = reported("soft forest")
    asked, own = report.model, model.predict(rows)
    own[:3] = np.where(own[:3] == "ant", "bee", "ant")  # as if rounding had decided them
    traded = trade_off(asked, own, 1.0, lambda: None)  # a limit that leaves room for them
    before = asked.classifier.strategy_
    strategy = solve_scores(
        asked.ensemble.scores(asked.rows),
        Limits.of_labels(traded.plan.max_disagreement, ["ant", "bee"]).given,
        order=before.order,
        start=before.start,
        answers=own == "bee",
        bounds=asked.ensemble.score_bounds,
        random_state=asked.seed,
    )
    assert strategy.certificate is not None
    assert traded.deployed_votes == strategy.certificate.mean_asked
    assert traded.promise.n_rows == strategy.certificate.promise.n_rows
    assert traded.differing(traded.full) == 3


@pytest.mark.parametrize("voting", [None, "soft"])
def test_labels_by_themselves_count_as_agreement_where_scores_are_of_many_classes(voting: str | None) -> None:
    _, model, rows, _ = reported("soft forest of three")
    report = make_report(model, rows, voting=voting)
    own = np.searchsorted(model.classes_, model.predict(rows))
    np.testing.assert_array_equal(report.trade_off.right, own)
    assert report.trade_off.differing((own + 1) % 3) == len(own)


@pytest.mark.parametrize("settings", [{"criterion": "minimax"}, {"confidence": None}])
def test_settings_that_are_for_votes_are_refused_for_scores(settings: dict[str, Any]) -> None:
    _, model, rows, _ = reported("gradient boosting")
    with pytest.raises(
        InvalidInputError, match=r"scores support only criterion minimean with a confidence, such as 0.95"
    ):
        make_report(model, rows, **settings)


def test_a_classifier_cannot_be_given_another_voting() -> None:
    _, model, rows, _ = reported("soft forest")
    classifier = early_stop(model, rows, 0.05, random_state=0)
    with pytest.raises(InvalidInputError, match="give the model itself"):
        make_report(classifier, rows, voting="hard")
    assert make_report(classifier, rows, voting="soft").model.voting == "soft"
