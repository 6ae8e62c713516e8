"""What a report says, held against the library and scikit-learn."""

from __future__ import annotations

import json
import re
import warnings
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop, plan, rules
from foregone.errors import InvalidInputError
from foregone.planning import LIMITS as PLANNED
from foregone.planning import Plan
from foregone.report import Report, make_report
from foregone.report.trade_off import LIMITS
from foregone.strategy.evaluation import evaluate
from tests.report.conftest import HOSTILE


def test_the_recommendation_is_that_of_a_plan_for_the_same_rows(
    report: Report, forest: Any, rare: Any
) -> None:
    made = early_stop(forest, rare[2], 0.5, voting="hard", random_state=0).plan()
    assert report.plan.max_disagreement == made.max_disagreement
    assert report.recommended.expected_votes == made.recommended.expected_votes
    assert set(PLANNED) <= set(LIMITS)


def test_errors_and_hard_against_soft_are_counted_on_the_rows(
    labelled_report: Report, forest: Any, rare: Any
) -> None:
    report, (X, truth) = labelled_report, rare[2:]
    own = forest.predict(X)
    votes = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)
    full = forest.classes_[(votes > 0.5).astype(int)]
    assert report.own_differences is not None
    assert report.own_differences.n_differing == np.sum(own != full) > 0  # the trees are shallow
    assert report.errors["own"].n_differing == np.sum(own != truth)
    assert report.errors["full"].n_differing == np.sum(full != truth)
    of_rare = report.errors_by_class["full"][list(forest.classes_).index(HOSTILE)]
    assert (of_rare.n_rows, of_rare.n_differing) == (
        np.sum(truth == HOSTILE),
        np.sum(full[truth == HOSTILE] != HOSTILE),
    )
    assert report.in_order_drawn.n_rows == len(X)
    exact = evaluate(rules.curtailment(21)).mean(report.trade_off.votes)
    assert report.trade_off.exact_votes == exact.expected_votes


def test_json_has_every_number_of_the_page(report: Report) -> None:
    fields = json.loads(json.dumps(report.fields(), allow_nan=False))
    assert fields["recommended"] == fields["max_disagreement"] == report.plan.max_disagreement
    assert (fields["loss"], fields["max_accuracy_loss"], fields["full_accuracy"]) == (
        "disagreement",
        None,
        None,
    )
    assert [point["limit"] for point in fields["points"]] == [*LIMITS, *LIMITS]
    for point, record in zip(report.points, fields["points"], strict=True):
        assert record["expected_votes"] == point.expected_votes
        assert record["disagreement_by_yes_votes"] == point.by_yes.disagreement.tolist()
    assert set(fields["speed"]["batch"]) == set(fields["speed"]["single"]) == {"stopped", "full", "own"}
    assert all(seconds > 0 for seconds in fields["speed"]["batch"].values())


def test_the_page_holds_no_address_and_no_markup_of_others(report: Report) -> None:
    html = report.html
    for address in ("http://", "https://", "src=", "@import", "url("):
        assert address not in html, address
    assert HOSTILE not in html
    assert not re.search("[\x1b\u202e\u200b]", html)
    assert r"\x1b[31m\u202e\u200b" in html
    assert html.count("<script") == html.count("</script>") == 2
    assert "default-src 'none'" in unescape(html)


def test_a_classifier_brings_its_own_settings(forest: Any, rare: Any) -> None:
    limits = {"ham": 0.01, HOSTILE: 0.02}
    classifier = early_stop(
        forest, rare[2], limits, confidence=0.8, looks=5, answer="likeliest", voting="hard", random_state=3
    )
    report = make_report(classifier, rare[2])
    assert isinstance(report.plan, Plan)
    assert (report.plan.confidence, report.plan.answer) == (0.8, "likeliest")
    assert report.plan.looks == classifier.solution_.looks
    assert report.model.seed == classifier.seed_
    assert report.own_differences is not None  # the forest is at hand
    assert report.own_differences.share == classifier.hard_soft_disagreement_
    assert report.fields()["saved_limit"] == limits
    assert make_report(classifier, rare[2], criterion="minimixed").fields()["criterion"] == "minimixed"


def test_a_classifier_from_a_file_is_reported_without_its_model(
    forest: Any, rare: Any, tmp_path: Any
) -> None:
    classifier = early_stop(forest, rare[2], 0.01, voting="hard", random_state=0)
    classifier.save(tmp_path / "model")
    report = make_report(EarlyStoppingClassifier.load(tmp_path / "model"), rare[2][:300])
    assert report.own_differences is None
    assert report.speed.slow_way == "full"
    assert "The file does not hold the model itself" in report.html
    assert "asking all trees" in report.headline[1]


@pytest.mark.parametrize("criterion", ["minimixed", "minimax"])
def test_criteria_for_every_row_have_no_switch_and_no_confidence(
    criterion: str, forest: Any, rare: Any
) -> None:
    report = make_report(forest, rare[2][:200], voting="hard", criterion=criterion)
    assert len(report.points) == len(LIMITS)
    assert report.plan.confidence is None
    html = report.html
    assert 'id="each-class"' not in html
    assert "For every row, whatever its votes" in html
    assert "Drift" not in html


def test_a_pipeline_found_by_a_search_is_taken_apart(rare: Any) -> None:
    X, y = rare[:2]
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(kind=np.where(X[:, 0] > 0, "x", "y"))
    encode = ColumnTransformer(
        [("kind", OneHotEncoder(), ["kind"])], remainder="passthrough", sparse_threshold=1.0
    )
    pipeline = make_pipeline(encode, RandomForestClassifier(5, max_depth=3, random_state=0))
    search = GridSearchCV(pipeline, {"randomforestclassifier__max_depth": [2]}, cv=2).fit(frame, y)
    report = make_report(search, frame[::-1].assign(more=1), voting="hard")  # columns are matched by name
    full = np.mean(
        [
            tree.predict(search.best_estimator_[0].transform(frame))
            for tree in search.best_estimator_[-1].estimators_
        ],
        0,
    )
    assert report.model.name == "RandomForestClassifier"
    share = report.trade_off.shares[1]
    assert share == pytest.approx(np.mean(full > 0.5))


def test_voters_that_are_no_trees_are_asked_through_their_predict(rare: Any) -> None:
    X, y = rare[:2]
    members = [
        ("bayes", GaussianNB()),
        ("line", LogisticRegression()),
        ("tree", DecisionTreeClassifier(max_depth=2)),
    ]
    committee = VotingClassifier(members).fit(X, y)
    report = make_report(committee, rare[2][:300])
    assert report.model.voters == "voters"
    assert report.own_differences is not None
    assert report.own_differences.n_differing == 0
    listed = make_report([model.fit(X, y) for _, model in members], rare[2][:300])
    assert listed.model.own_predict is None
    assert listed.trade_off.votes == report.trade_off.votes
    assert "There is no predict of the model" in listed.html


@pytest.mark.parametrize("n_trees", [1, 2, 170])
def test_forests_of_any_size_are_drawn(n_trees: int, rare: Any) -> None:
    forest = ExtraTreesClassifier(n_trees, max_depth=3, random_state=0).fit(*rare[:2])
    report = make_report(forest, rare[2][:50], voting="hard")
    assert report.html.count("<path") == 4
    assert re.search(r"\b(nan|inf)\b", report.html) is None


def test_a_class_never_seen_is_said_to_be_so(rare: Any) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(*rare[:2])
    rows = rare[2][forest.predict(rare[2]) == "ham"][:40]
    report = make_report(forest, rows)
    assert report.recommended.by_class[0].disagreement is None  # it comes first in the alphabet
    assert "none seen" in report.html


def test_what_has_no_votes_is_refused(rare: Any) -> None:
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(*rare[:2])
    with pytest.raises(ValueError, match="RandomForestClassifier, ExtraTreesClassifier"):
        make_report(scaled, rare[2])


def test_what_a_model_says_about_rows_it_cannot_take_is_passed_on(rare: Any) -> None:
    X, y = rare[:2]
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"cannot take the calibration rows: ValueError: .*infinity"):
        make_report(pipeline, np.full((3, 6), np.inf))
    with pytest.raises(InvalidInputError, match="not fitted"):
        make_report(RandomForestClassifier(3), X)
    with pytest.raises(InvalidInputError, match="not fitted"):
        make_report(EarlyStoppingClassifier(RandomForestClassifier(3)), X)


def test_warnings_are_shown_on_the_page(forest: Any, rare: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("made by <another> release", UserWarning, stacklevel=1)
        warnings.warn("not for users", DeprecationWarning, stacklevel=1)
    report = make_report(forest, rare[2][:50], caught=caught)
    assert report.notes == ("made by <another> release",)
    assert "made by &lt;another&gt; release" in report.html


def test_plan_and_report_agree_on_worth(forest: Any, rare: Any) -> None:
    report = make_report(forest, rare[2], voting="hard", worth=1000)
    assert report.trade_off.votes is not None
    made = plan(report.trade_off.votes, worth=1000, labels=("ham", HOSTILE))
    assert report.plan.max_disagreement == made.max_disagreement
