"""With labels a report is in accuracy, beside disagreement; a threshold is part of what it is about."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier

from foregone import LabelledVotes, early_stop, evaluate, plan, rules
from foregone.errors import InvalidInputError
from foregone.planning import ACCURACY_LIMITS
from foregone.report import Report, make_report
from foregone.report.phrases import percent, points
from foregone.report.trade_off import positions_for
from tests.report.conftest import HOSTILE
from tests.report.kinds import called, fitted
from tests.report.kinds import reported as of_kind

pytestmark = [
    pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning"),
    pytest.mark.xdist_group("reports"),  # most are made once for all three files
]

IN_ACCURACY = ["forest of two", "soft forest", "hist boosting of three", "forest of seven"]


def reported(name: str, threshold: float | None = None) -> tuple[Report, Any, Any, Any]:
    """Return the report on a model with labels, the model, its calibration rows and their labels."""
    return of_kind(name, True, threshold)


@pytest.mark.parametrize("name", IN_ACCURACY)
def test_with_labels_the_recommendation_and_the_call_are_in_accuracy(name: str) -> None:
    report, model, rows, labels = reported(name)
    assert re.match(r"Allow an accuracy loss of [\d.]+\spoints?", report.headline[0])
    assert "early_stop(model, X, y, max_accuracy_loss=" in report.call
    classifier = called(report, model, rows, labels)
    assert classifier.max_accuracy_loss == report.plan.max_accuracy_loss is not None
    assert classifier.expected_votes_ == report.expected_votes < report.model.n_voters
    assert str(classifier.promise_) == report.fields()["promise"]
    assert classifier.promise_.loss == "accuracy"
    early = classifier.predict(rows)
    assert report.errors["stopped"].n_differing == np.sum(early != labels)
    lost = np.mean(early != labels) - np.mean(classifier.full_predict(rows) != labels)
    assert report.trade_off.accuracy_loss == classifier.calibration_accuracy_loss_ == pytest.approx(lost)


@pytest.mark.parametrize("name", IN_ACCURACY)
def test_every_limit_shows_both_currencies(name: str) -> None:
    report, *_ = reported(name)
    fields, html = json.loads(json.dumps(report.fields(), allow_nan=False)), unescape(report.html)
    limits, n_classes = positions_for("accuracy"), len(report.model.labels)
    assert set(ACCURACY_LIMITS) <= set(limits)
    assert [point["limit"] for point in fields["points"]][: len(limits)] == list(limits)
    assert (fields["loss"], fields["max_disagreement"]) == ("accuracy", None)
    assert fields["max_accuracy_loss"] == fields["recommended"]
    settings = json.loads(re.search(r'id="settings">(.*?)</script>', report.html)[1])
    for place, point in enumerate(report.points):
        record = fields["points"][place]
        assert record["accuracy_loss"] == point.accuracy_loss
        assert record["accuracy_loss_by_class"] == list(point.accuracy_loss_by_class)
        assert len(point.accuracy_loss_by_class) == n_classes
        shown = settings["each" if point.each_class else "all"][place % len(limits)]["live"]
        assert shown["loss"] == [point.accuracy_loss, points(point.accuracy_loss)]
        assert shown["mean"] == [point.disagreement, percent(point.disagreement)]
        assert shown[f"class-{n_classes - 1}-loss"][0] == point.accuracy_loss_by_class[-1]
    for words in ("Allowed accuracy loss", "accuracy loss, ", "differ, ", "of answers differ from the full"):
        assert words in html
    assert "Allowed disagreement" not in html
    assert re.search(r"\b(nan|inf|None)\b", report.html) is None


def test_figures_of_votes_are_those_of_plain_code_on_the_rows() -> None:
    report, model, rows, labels = reported("forest of two")
    said = np.sum([tree.predict(rows.to_numpy()) for tree in model.estimators_], axis=0).astype(int)
    truth = np.searchsorted(model.classes_, labels)
    right = (said >= 11) == truth
    assert report.plan.full_accuracy == np.mean(right)
    for point in report.points:
        risk = evaluate(point.strategy).disagreement[said]
        assert point.disagreement == pytest.approx(np.mean(risk))
        assert point.accuracy_loss == pytest.approx(np.mean(np.where(right, risk, -risk)))
        for number, lost in enumerate(point.accuracy_loss_by_class):
            of_it = truth == number
            assert lost == pytest.approx(np.mean(np.where(right, risk, -risk)[of_it]))
    votes = LabelledVotes.from_yes_counts(said, truth, 21)
    made = plan(votes, labels=model.classes_)
    assert report.plan.max_accuracy_loss == made.max_accuracy_loss


def test_what_rows_certify_does_not_cover_a_limit_that_was_chosen_by_them() -> None:
    report, *_ = reported("forest of two")
    assert report.trade_off.promise.about == "orders"
    html = unescape(report.html)
    assert "The order of the trees" in html
    assert "The choice of the limit" in html
    assert "The accuracy loss on them is" in html
    scores, *_ = reported("soft forest")
    assert "The choice of the limit" not in scores.html  # it was made on other rows than those that certify
    assert "It says nothing about that accuracy itself" in unescape(scores.html)


def test_without_a_confidence_every_limit_is_kept_on_these_rows(forest: Any, rare: Any) -> None:
    table = np.column_stack([rare[2].astype(object), rare[3]])
    report = make_report(forest, table, target="-1", voting="hard", confidence=None)
    assert all(point.accuracy_loss <= point.limit + 1e-12 for point in report.points)
    assert "on these rows, on average over random orders" in report.html
    classifier = called(report, forest, rare[2], rare[3])
    assert classifier.expected_votes_ == report.expected_votes


@pytest.mark.parametrize("name", ["forest of three", "committee of four"])
def test_counted_votes_of_many_classes_stay_in_disagreement_and_the_page_says_why(name: str) -> None:
    report, model, rows, labels = reported(name)
    assert (report.trade_off.loss, report.plan.max_accuracy_loss) == ("disagreement", None)
    assert "not on the accuracy loss, although there are labels" in unescape(report.html)
    assert "does not use labels for counted votes" in unescape(report.html)
    early = called(report, model, rows, labels).predict(rows)
    assert report.errors["stopped"].n_differing == np.sum(early != labels)
    for number, label in enumerate(model.classes_):
        of_it = report.errors_by_class["own"][number]
        assert of_it.n_differing == np.sum((model.predict(rows) != labels) & (labels == label))


def test_limits_for_every_row_stay_on_the_disagreement_beside_the_accuracy(forest: Any, rare: Any) -> None:
    table = np.column_stack([rare[2].astype(object), rare[3]])
    report = make_report(forest, table, target="-1", voting="hard", criterion="minimixed")
    assert report.trade_off.loss == "disagreement"
    assert "minimixed limits each row separately" in report.html
    assert report.recommended.accuracy_loss is not None
    assert "accuracy loss, expected" in report.html
    assert report.fields()["full_accuracy"] == report.recommended.full_accuracy


def test_the_order_that_keeps_no_accuracy_stays_in_disagreement(forest: Any, rare: Any) -> None:
    limits = {"ham": 0.01, HOSTILE: 0.01}
    before = early_stop(forest, rare[2], limits, voting="hard", order="per_row", random_state=0)
    report = make_report(before, np.column_stack([rare[2].astype(object), rare[3]]), target="-1")
    assert report.trade_off.loss == "disagreement"
    assert "per_row" in report.trade_off.texts.no_accuracy


def test_rows_without_a_label_are_left_out_where_most_have_one(forest: Any, rare: Any) -> None:
    labels = rare[3].copy()
    labels[::4] = None
    table = np.column_stack([rare[2].astype(object), labels])
    report = make_report(forest, table, target="-1", voting="hard")
    assert report.notes == (
        "500 of 2,000 rows have no label and are left out. The report assumes that the others are like them",
    )
    assert report.notes[0] in unescape(report.html)
    assert (report.trade_off.loss, report.model.n_rows) == ("accuracy", 1500)
    known = labels != None  # noqa: E711  # element by element
    classifier = called(report, forest, rare[2][known], rare[3][known])
    assert classifier.expected_votes_ == report.expected_votes


@pytest.mark.parametrize("n_labelled", [0, 600])
def test_too_few_labels_tell_error_rates_only(n_labelled: int, forest: Any, rare: Any) -> None:
    labels = rare[3].copy()
    labels[n_labelled:] = None
    table = np.column_stack([rare[2].astype(object), labels])
    report = make_report(forest, table, target="-1", voting="hard")
    assert (report.trade_off.loss, report.model.n_rows) == ("disagreement", 2000)
    assert f"only {n_labelled} of 2,000 rows have a label" in report.html
    assert {way: found.n_rows for way, found in report.errors.items()} == (
        dict.fromkeys(("stopped", "full", "own"), n_labelled) if n_labelled else {}
    )


def test_labels_that_the_model_does_not_know_are_refused(forest: Any, rare: Any) -> None:
    table = np.column_stack([rare[2].astype(object), np.where(rare[3] == "ham", "ham", "beef")])
    with pytest.raises(InvalidInputError, match="the column of labels holds 'beef', but the model knows"):
        make_report(forest, table, target="-1")


def test_a_class_without_true_rows_is_said_to_be_so(forest: Any, rare: Any) -> None:
    table = np.column_stack([rare[2].astype(object), rare[3]])[rare[3] == "ham"]
    report = make_report(forest, table, target="-1", voting="hard")
    assert report.recommended.accuracy_loss_by_class[0] is None  # it comes first in the alphabet
    assert "none seen" in report.html
    assert re.search(r"\b(nan|inf|None)\b", report.html) is None


def test_too_few_labelled_rows_are_said_to_certify_nothing() -> None:
    model, rows, labels = fitted("soft forest")
    report = make_report(model, rows[:40].assign(label=labels), target="label")
    assert report.headline[0] == "No limit can be certified"
    assert re.search(r"\b(nan|inf|None)\b", report.html) is None


# Classifiers with limits on accuracy ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["forest of two", "soft forest"])
def test_a_classifier_that_was_saved_with_a_limit_on_accuracy_is_described(name: str, tmp_path: Path) -> None:
    from foregone import EarlyStoppingClassifier

    report, model, rows, labels = reported(name)
    early_stop(model, rows, labels, max_accuracy_loss=0.02, random_state=0).save(tmp_path / "model.foregone")
    saved = EarlyStoppingClassifier.load(tmp_path / "model.foregone")
    unlabelled = make_report(saved, rows)
    assert unlabelled.trade_off.loss == "disagreement"
    html = unescape(unlabelled.html)
    assert "2\N{NO-BREAK SPACE}points on the accuracy loss" in html
    assert str(saved.promise_)[1:] in html
    fields = unlabelled.fields()
    assert (fields["saved_limit"], fields["saved_loss"]) == (0.02, "accuracy")
    again = make_report(saved, rows.assign(label=labels), target="label")
    assert again.call == report.call
    assert again.expected_votes == report.expected_votes


def test_a_classifier_with_costs_is_described(forest: Any, rare: Any) -> None:
    costs = [[0, 10], [1, 0]]
    before = early_stop(
        forest, rare[2], rare[3], max_accuracy_loss=0.05, costs=costs, voting="hard", random_state=0
    )
    report = make_report(before, rare[2])
    assert "0.05 on the increase of the mean cost" in report.html
    assert report.fields()["saved_loss"] == "cost"


# Thresholds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, "label"])
@pytest.mark.parametrize("name", ["forest of two", "soft forest", "gradient boosting"])
def test_a_report_is_about_the_model_at_its_threshold(name: str, target: str | None) -> None:
    model, rows, labels = fitted(name)
    table = rows if target is None else rows.assign(label=labels)
    report = make_report(model, table, target=target, threshold=0.2)
    yes = model.predict_proba(rows)[:, 1] >= 0.2
    assert report.trade_off.shares[1] == pytest.approx(np.mean(yes))
    assert "threshold=0.2" in report.call
    classifier = called(report, model, rows, labels)
    assert classifier.expected_votes_ == report.expected_votes
    assert str(classifier.promise_) == report.fields()["promise"]
    assert report.fields()["threshold"] == 0.2
    assert report.own_differences is not None
    assert report.own_differences.n_differing == 0
    assert "is at least 0.2" in report.html
    if target is not None:
        wrong = report.errors["own"].n_differing
        assert wrong == np.sum(np.where(yes, *model.classes_[::-1]) != labels)


def test_a_quota_is_in_the_pictures_and_tables_of_votes() -> None:
    report, *_ = reported("forest of two", threshold=0.2)
    assert report.fields()["quota"] == 5
    votes = report.trade_off.votes
    assert votes is not None
    exact = evaluate(rules.curtailment(21, quota=5)).mean(votes)
    assert report.trade_off.exact_votes == exact.expected_votes
    html = unescape(report.html)
    assert "if at least 5 of 21 vote for it" in html
    assert "that is, at least 5 of 21 trees vote for it" in html
    assert "votes to change" in html
    by_yes = report.recommended.by_yes
    for name, n_yes in (("no-1", 4), ("yes-1", 5), ("no-5", 0), ("yes-17", 21)):
        shown = re.search(rf'<data value="([^"]*)" data-live="{name}"', html)
        if shown is not None:
            assert float(shown[1]) == by_yes.disagreement[n_yes]
    assert 'data-live="yes-17"' in html
    assert 'data-live="no-17"' not in html


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_thresholds_at_the_ends_have_a_page(threshold: float, forest: Any, rare: Any) -> None:
    report = make_report(forest, rare[2][:200], voting="hard", threshold=threshold)
    assert report.fields()["quota"] == (0 if threshold == 0 else 21)
    assert re.search(r"\b(nan|inf|None)\b", report.html) is None


@pytest.mark.parametrize("name", ["forest of two", "soft forest"])
def test_a_model_brings_its_threshold(name: str) -> None:
    report, model, rows, labels = reported(name, threshold=0.2)
    wrapped = FixedThresholdClassifier(model, threshold=0.2, pos_label="bee", response_method="predict_proba")
    wrapped.fit(rows[:10], labels[:10])  # a clone: put the fitted one back
    wrapped.estimator_ = model
    own = make_report(wrapped, rows.assign(label=labels), target="label")
    assert own.recommended.expected_votes == report.recommended.expected_votes
    assert own.expected_votes == report.expected_votes
    assert "threshold=" not in own.call
    assert called(own, wrapped, rows, labels).expected_votes_ == own.expected_votes


def test_a_classifier_keeps_the_threshold_it_has() -> None:
    _, model, rows, _ = reported("forest of two", threshold=0.2)
    classifier = early_stop(model, rows, 0.05, threshold=0.2, random_state=0)
    report = make_report(classifier, rows)
    assert (report.fields()["threshold"], report.fields()["quota"]) == (0.2, 5)
    assert called(report, model, rows, None).expected_votes_ == report.expected_votes
    with pytest.raises(
        InvalidInputError, match=r"fitted with threshold=0.2, got 0.3: .*give the model itself"
    ):
        make_report(classifier, rows, threshold=0.3)


def test_a_threshold_among_many_classes_is_refused() -> None:
    model, rows, _ = fitted("forest of three")
    with pytest.raises(InvalidInputError, match=r"a threshold .* 3"):
        make_report(model, rows, threshold=0.2)


def test_labels_that_are_numbers_in_a_frame_are_known() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(900, 3)), columns=list("abc"))
    label = (rows["a"] + rng.normal(size=900) > 0).astype(float)
    forest = RandomForestClassifier(7, random_state=0).fit(rows[:300], label[:300].astype(int))
    report = make_report(forest, rows[300:].assign(label=label), target="label", voting="hard")
    assert report.trade_off.loss == "accuracy"
    full = np.sum([tree.predict(rows[300:].to_numpy()) for tree in forest.estimators_], axis=0) > 3
    assert report.plan.full_accuracy == np.mean(full == label[300:])


def test_hostile_labels_do_no_harm_with_accuracy(labelled_report: Report) -> None:
    assert labelled_report.trade_off.loss == "accuracy"
    assert HOSTILE not in labelled_report.html
    assert labelled_report.html.count("<script") == 2
