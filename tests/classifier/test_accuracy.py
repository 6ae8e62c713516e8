"""Limits on the loss of accuracy, and on costs, where votes are counted."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, LabelledVotes, certify, early_stop, evaluate, solve
from foregone.classifier import RareClassWarning
from foregone.errors import InvalidInputError, SolverError
from foregone.forest import PackedForest
from foregone.scores import CannotCertifyWarning

N_TREES = 51
FITTED, CALIBRATION, NEW = slice(0, 600), slice(600, 9_000), slice(9_000, None)


@cache
def noisy() -> tuple[Any, Any, Any]:
    """Return rows, labels of which many are hard to tell, and a forest."""
    X, y = make_classification(30_000, 8, n_informative=5, flip_y=0.1, class_sep=0.3, random_state=3)
    X = X.astype(np.float32)
    return X, y, RandomForestClassifier(N_TREES, random_state=0).fit(X[FITTED], y[FITTED])


@cache
def stopped(**options: Any) -> EarlyStoppingClassifier:
    X, y, forest = noisy()
    return early_stop(forest, X[CALIBRATION], y[CALIBRATION], **{"random_state": 0, **options})


def with_limits(**limits: Any) -> EarlyStoppingClassifier:
    """Return a classifier for options that cannot be kept in a cache."""
    X, y, forest = noisy()
    return early_stop(forest, X[CALIBRATION], y[CALIBRATION], random_state=0, **limits)


def loss_on_new_rows(classifier: EarlyStoppingClassifier, quota: int = N_TREES // 2 + 1) -> dict[str, float]:
    """Return the accuracy lost on new rows, on average over orders, from the votes alone."""
    X, y, forest = noisy()
    votes = PackedForest.from_sklearn(forest).votes(X[NEW])
    differs = evaluate(classifier.strategy_).disagreement[votes]
    lost = np.where((votes >= quota) == y[NEW], differs, -differs)
    return {"all": lost.mean(), 0: lost[y[NEW] == 0].mean(), 1: lost[y[NEW] == 1].mean()}


def test_a_limit_on_accuracy_asks_far_fewer_than_the_same_limit_on_disagreement() -> None:
    accuracy, disagreement = stopped(max_accuracy_loss=0.005), stopped(max_disagreement=0.005)
    assert accuracy.expected_votes_ < 0.8 * disagreement.expected_votes_
    assert loss_on_new_rows(accuracy)["all"] <= 0.005


def test_the_promise_says_that_it_is_about_accuracy_over_orders_of_the_voters() -> None:
    promise = stopped(max_accuracy_loss=0.005).promise_
    assert (promise.about, promise.loss, promise.limit, promise.confidence) == (
        "orders",
        "accuracy",
        0.005,
        0.95,
    )
    assert 0 <= promise.bound <= 0.005
    assert str(promise).startswith(
        "With 95 % confidence, the accuracy of stopping early on new rows is at most 0.005 below that of the "
        "full vote"
    )


def test_an_optimized_order_is_certified_as_the_classifier_that_runs() -> None:
    classifier = stopped(max_accuracy_loss=0.005, order="optimized")
    assert classifier.promise_.about == "classifier"
    assert "the accuracy of this classifier on new rows" in str(classifier.promise_)
    X, y, _ = noisy()
    early, full = classifier.predict(X[NEW]), classifier.full_predict(X[NEW])
    assert np.mean(full == y[NEW]) - np.mean(early == y[NEW]) <= 0.005
    assert classifier.expected_votes_ <= stopped(max_disagreement=0.005).expected_votes_


@pytest.mark.parametrize("order", ["dealt", "shared"])
def test_other_orders_keep_the_mean_over_orders(order: str) -> None:
    classifier = stopped(max_accuracy_loss=0.005, order=order)
    assert (classifier.promise_.about, classifier.strategy_) == (
        "orders",
        stopped(max_accuracy_loss=0.005).strategy_,
    )


def test_without_a_confidence_it_is_the_optimum_of_the_weighted_program() -> None:
    X, y, forest = noisy()
    classifier = stopped(max_accuracy_loss=0.005, confidence=None)
    votes = PackedForest.from_sklearn(forest).votes(X[CALIBRATION])
    labelled = LabelledVotes.from_yes_counts(votes, y[CALIBRATION], N_TREES)
    # A little lower than the limit, such that the rows themselves keep it, not only the smoothed values.
    limit = classifier.solution_.max_disagreement
    assert 0.0045 < limit <= 0.005
    assert classifier.strategy_ == solve("minimean", labelled.votes, limit, values=labelled.values()).strategy
    assert certify(classifier).holds
    assert labelled.losses(evaluate(classifier.strategy_).disagreement)["all"] <= 0.005
    assert str(classifier.promise_).startswith("The accuracy of stopping early on the 8,400 rows observed")


def test_a_certified_loss_is_not_proven_by_the_program_it_was_learned_from() -> None:
    with pytest.raises(InvalidInputError, match="certified on rows, with a confidence"):
        certify(stopped(max_accuracy_loss=0.005))


def test_the_loss_on_the_calibration_rows_is_that_of_plain_code() -> None:
    X, y, _ = noisy()
    classifier = stopped(max_accuracy_loss=0.005)
    early, full = (predict(X[CALIBRATION]) for predict in (classifier.predict, classifier.full_predict))
    truth = y[CALIBRATION]
    assert classifier.calibration_accuracy_loss_ == pytest.approx(
        np.mean(full == truth) - np.mean(early == truth)
    )
    assert not hasattr(stopped(max_disagreement=0.005), "calibration_accuracy_loss_")


def test_limits_within_each_true_class_are_kept_in_each() -> None:
    classifier = with_limits(max_accuracy_loss={0: 0.01, 1: 0.02})
    lost = loss_on_new_rows(classifier)
    assert lost[0] <= 0.01
    assert lost[1] <= 0.02
    assert classifier.promise_.limit == {0: 0.01, 1: 0.02}
    assert "0.01 for class 0" in str(classifier.promise_)


def test_without_a_confidence_each_class_uses_up_its_limit_on_the_calibration_rows() -> None:
    X, y, forest = noisy()
    classifier = with_limits(max_accuracy_loss={0: 0.01, 1: 0.02}, confidence=None)
    votes = PackedForest.from_sklearn(forest).votes(X[CALIBRATION])
    labelled = LabelledVotes.from_yes_counts(votes, y[CALIBRATION], N_TREES)
    lost = labelled.losses(evaluate(classifier.strategy_).disagreement)
    assert lost["no"] <= 0.01
    assert lost["yes"] <= 0.02
    assert max(lost["no"] / 0.01, lost["yes"] / 0.02) > 0.7  # gains are set off


def test_a_true_class_that_pays_for_the_mean_is_told() -> None:
    X, y = make_classification(20_000, 8, n_informative=5, weights=[0.97], class_sep=0.6, random_state=0)
    forest = RandomForestClassifier(25, random_state=0).fit(X[:4_000], y[:4_000])
    rows, labels = X[4_000:], y[4_000:]
    with pytest.warns(RareClassWarning, match="the accuracy on inputs that are truly 1 falls by") as caught:
        early_stop(forest, rows, labels, max_accuracy_loss=0.005, random_state=0)
    assert "max_accuracy_loss={0: 0.005, 1: 0.005}" in str(caught[0].message)
    each = early_stop(forest, rows, labels, max_accuracy_loss={0: 0.005, 1: 0.05}, random_state=0)
    assert each.promise_.loss == "accuracy"


def test_costs_are_in_the_unit_they_were_given_in() -> None:
    once = with_limits(max_accuracy_loss=0.02, costs=[[0, 1], [4, 0]])
    often = with_limits(max_accuracy_loss=0.14, costs=np.array([[0, 7], [28, 0]]))
    assert once.strategy_ == often.strategy_
    assert (once.promise_.loss, once.promise_.limit) == ("cost", pytest.approx(0.02))
    assert often.promise_.limit == pytest.approx(0.14)
    assert often.promise_.bound == pytest.approx(7 * once.promise_.bound)
    assert often.calibration_accuracy_loss_ == pytest.approx(7 * once.calibration_accuracy_loss_)
    assert "mean cost of stopping early" in str(once.promise_)
    assert with_limits(max_accuracy_loss=99, costs=[[0, 1], [4, 0]]).expected_votes_ < 1


def test_equal_costs_of_errors_are_accuracy() -> None:
    plain, costs = (
        stopped(max_accuracy_loss=0.005),
        with_limits(max_accuracy_loss=0.005, costs=[[0, 1], [1, 0]]),
    )
    assert plain.strategy_ == costs.strategy_


def test_a_threshold_goes_with_a_limit_on_accuracy() -> None:
    X, _, forest = noisy()
    classifier = stopped(max_accuracy_loss=0.01, threshold=0.3, voting="hard")
    votes = PackedForest.from_sklearn(forest).votes(X[NEW])
    quota = classifier.strategy_.quota
    assert np.array_equal(classifier.full_predict(X[NEW]) == 1, votes >= quota)
    assert loss_on_new_rows(classifier, quota)["all"] <= 0.01


def test_no_loss_at_all_stops_only_where_the_answer_is_certain() -> None:
    classifier = stopped(max_accuracy_loss=0)
    assert classifier.promise_.confidence == 1
    X, _, _ = noisy()
    assert np.array_equal(classifier.predict(X[NEW]), classifier.full_predict(X[NEW]))


def test_few_rows_still_certify_a_careful_strategy() -> None:
    X, y, forest = noisy()
    few = slice(600, 660)
    classifier = early_stop(forest, X[few], y[few], max_accuracy_loss=0.01, random_state=0)
    assert classifier.promise_.bound <= 0.01
    assert evaluate(classifier.strategy_).disagreement.max() < 0.1
    assert classifier.expected_votes_ < early_stop(forest, X[few], random_state=0).expected_votes_


@pytest.mark.parametrize("n_rows", [1, 3, 40])
def test_hardly_any_rows_curtail_with_a_warning(n_rows: int) -> None:
    X, y, forest = noisy()
    with pytest.warns(CannotCertifyWarning, match="rows are left to learn from"):
        classifier = early_stop(forest, X[600 : 600 + n_rows], y[600 : 600 + n_rows], max_accuracy_loss=0.01)
    assert classifier.promise_.confidence == 1


def test_rows_too_few_for_one_order_curtail_with_a_warning_or_raise() -> None:
    X, y, forest = noisy()
    few = slice(600, 660)
    options: dict[str, Any] = {"max_accuracy_loss": 0.01, "order": "optimized", "random_state": 0}
    with pytest.warns(CannotCertifyWarning, match="until the rest cannot change the answer"):
        classifier = early_stop(forest, X[few], y[few], **options)
    assert classifier.promise_.confidence == 1
    with pytest.raises(SolverError, match="48 rows are left for certification, but at least"):
        early_stop(forest, X[few], y[few], on_failure="raise", **options)


def test_an_estimator_that_is_fitted_here_brings_its_own_labels() -> None:
    X, y, forest = noisy()
    classifier = EarlyStoppingClassifier(
        clone(forest), max_accuracy_loss=0.01, calibration_size=0.5, random_state=0
    ).fit(X[:8_000], y[:8_000])
    assert (classifier.promise_.loss, classifier.promise_.n_rows) == ("accuracy", 3_200)


def test_every_group_keeps_the_limit() -> None:
    X, y, forest = noisy()
    groups = np.where(X[CALIBRATION, 0] > 0, "high", "low")
    classifier = early_stop(
        forest, X[CALIBRATION], y[CALIBRATION], max_accuracy_loss=0.01, groups=groups, random_state=0
    )
    assert set(classifier.promise_.bound) == {"high", "low"}
    assert max(classifier.promise_.bound.values()) <= 0.01
    clusters = np.arange(len(groups)) // 3
    clustered = early_stop(
        forest, X[CALIBRATION], y[CALIBRATION], max_accuracy_loss=0.01, clusters=clusters, random_state=0
    )
    assert clustered.promise_.in_clusters


def test_a_committee_is_stopped_likewise() -> None:
    X, y, _ = noisy()
    members = [LogisticRegression(), GaussianNB(), *(DecisionTreeClassifier(max_depth=d) for d in (3, 5, 7))]
    committee = VotingClassifier([(str(k), member) for k, member in enumerate(members)])
    committee.fit(X[FITTED], y[FITTED])
    classifier = early_stop(committee, X[CALIBRATION], y[CALIBRATION], max_accuracy_loss=0.01, random_state=0)
    early, full = classifier.predict(X[NEW]), classifier.full_predict(X[NEW])
    assert np.mean(full == y[NEW]) - np.mean(early == y[NEW]) <= 0.01
    assert classifier.expected_votes_ < 3


def test_many_classes_are_certified_in_the_order_in_use() -> None:
    X, y = make_classification(
        9_000, 8, n_informative=5, n_classes=3, flip_y=0.2, class_sep=1.2, random_state=0
    )
    forest = RandomForestClassifier(25, random_state=0).fit(X[:600], y[:600])
    limits: dict[str, Any] = {
        "accuracy": {"max_accuracy_loss": 0.02},
        "agreement": {"max_disagreement": 0.02},
    }
    found = {
        name: early_stop(forest, X[600:6_000], y[600:6_000], random_state=0, **limit)
        for name, limit in limits.items()
    }
    accuracy = found["accuracy"]
    assert accuracy.expected_votes_ < found["agreement"].expected_votes_
    assert (accuracy.promise_.about, accuracy.promise_.loss) == ("classifier", "accuracy")
    early, full, truth = accuracy.predict(X[6_000:]), accuracy.full_predict(X[6_000:]), y[6_000:]
    assert np.mean(full == truth) - np.mean(early == truth) <= 0.02
    costs = np.ones((3, 3)) - np.eye(3)
    same = early_stop(forest, X[600:6_000], y[600:6_000], max_accuracy_loss=0.02, costs=costs, random_state=0)
    assert same.strategy_ == accuracy.strategy_
    for broken in ({"confidence": None}, {"order": "dealt"}):
        with pytest.raises(InvalidInputError, match="more than two classes needs a confidence"):
            early_stop(forest, X[600:], y[600:], max_accuracy_loss=0.02, **broken)
    with pytest.raises(InvalidInputError, match="limits by class need exactly 2 classes"):
        early_stop(forest, X[600:], y[600:], max_accuracy_loss={0: 0.1, 1: 0.1, 2: 0.1})


@pytest.mark.parametrize(
    "limits",
    [
        {"max_accuracy_loss": 0.005},
        {"max_accuracy_loss": 0.005, "order": "optimized"},
        {"max_accuracy_loss": {0: 0.01, 1: 0.02}},
        {"max_accuracy_loss": 0.02, "costs": [[0.0, 1.0], [4.0, 0.0]]},
        {"max_accuracy_loss": 0.01, "threshold": 0.3, "voting": "hard"},
        {"max_disagreement": 0.01, "threshold": 2 / 3, "voting": "hard"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning")
def test_a_saved_classifier_comes_back_with_its_promise_and_settings(limits: Any, tmp_path: Path) -> None:
    X, _, _ = noisy()
    saved = with_limits(**limits)
    saved.save(tmp_path / "classifier.foregone")
    loaded = EarlyStoppingClassifier.load(tmp_path / "classifier.foregone")
    assert loaded.promise_ == saved.promise_
    assert str(loaded.promise_) == str(saved.promise_)
    for name in ("max_accuracy_loss", "max_disagreement", "costs", "threshold"):
        assert getattr(loaded, name) == getattr(saved, name), name
    assert getattr(loaded, "calibration_accuracy_loss_", None) == getattr(
        saved, "calibration_accuracy_loss_", None
    )
    for method in ("predict", "full_predict"):
        np.testing.assert_array_equal(getattr(loaded, method)(X[NEW]), getattr(saved, method)(X[NEW]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_accuracy_loss": 0.01, "max_disagreement": 0.01}, "got both"),
        ({"max_accuracy_loss": 0.01, "criterion": "minimixed"}, "mean over rows"),
        ({"max_accuracy_loss": 0.01, "order": "per_row"}, 'use order="auto"'),
        ({"max_accuracy_loss": 1.5}, "max_accuracy_loss"),
        ({"max_accuracy_loss": -0.1}, "max_accuracy_loss"),
        (
            {"max_accuracy_loss": {0: 0.1}},
            "max_accuracy_loss must be a number, or a mapping with one for each",
        ),
        ({"costs": [[0, 1], [1, 0]]}, "costs need max_accuracy_loss"),
        ({"max_accuracy_loss": 0.1, "costs": [[0, 1]]}, "costs must have shape"),
        ({"max_accuracy_loss": 0.1, "costs": [[0, np.nan], [1, 0]]}, "finite"),
        ({"max_accuracy_loss": 0.1, "costs": [[1, 1], [1, 1]]}, "costs must differ between answers"),
        (
            {"max_accuracy_loss": {0: 0.1, 1: 0.1}, "costs": [[0, 1], [1, 0]]},
            "must be a number if costs are given",
        ),
        ({"max_accuracy_loss": "much", "costs": [[0, 1], [1, 0]]}, "must be a number of at least 0"),
        ({"threshold": 1.2}, "threshold"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        with_limits(**options)


def test_labels_are_needed_and_checked() -> None:
    X, y, forest = noisy()
    rows, labels = X[CALIBRATION], y[CALIBRATION]
    with pytest.raises(InvalidInputError, match="needs the true labels of the calibration rows"):
        early_stop(forest, rows, max_accuracy_loss=0.01)
    with pytest.raises(InvalidInputError, match="of the 8,400 calibration rows, got 8,399 labels"):
        early_stop(forest, rows, labels[1:], max_accuracy_loss=0.01)
    with pytest.raises(InvalidInputError, match=r"among the model's classes .*, got 2"):
        early_stop(forest, rows, labels + 1, max_accuracy_loss=0.01)


def test_a_number_in_the_place_of_labels_is_a_limit_on_the_disagreement() -> None:
    X, y, forest = noisy()
    by_place = early_stop(forest, X[CALIBRATION], 0.01, random_state=0)
    by_name = early_stop(forest, X[CALIBRATION], y[CALIBRATION], max_disagreement=0.01, random_state=0)
    assert by_place.max_disagreement == 0.01
    assert by_place.strategy_ == by_name.strategy_
    with pytest.raises(InvalidInputError, match="must be the labels"):
        early_stop(forest, X[CALIBRATION], 0.01, 0.02)


def test_the_limit_is_kept_in_at_least_95_of_100_calibrations() -> None:
    """Calibration rows are drawn anew from known votes and labels; the true loss is known exactly."""
    rng = np.random.default_rng(0)
    n_voters, limit, n_rows = 21, 0.02, 1_500
    n = np.arange(n_voters + 1)
    spread = np.exp(-(((n - 9) / 8) ** 2))
    spread /= spread.sum()
    chance = np.clip(0.5 + (n - 10.2) / 24, 0, 1)  # that the truth is yes, where n vote for it
    members = [_Remembered(k) for k in range(n_voters)]
    above = 0
    for draw in range(100):
        yes = rng.choice(n_voters + 1, n_rows, p=spread)
        truth = (rng.random(n_rows) < chance[yes]).astype(int)
        X = (rng.permuted(np.tile(np.arange(n_voters), (n_rows, 1)), axis=1) < yes[:, None]).astype(float)
        classifier = early_stop(members, X, truth, max_accuracy_loss=limit, random_state=draw)
        differs = evaluate(classifier.strategy_).disagreement
        lost = spread @ (differs * np.where(n > n_voters // 2, 2 * chance - 1, 1 - 2 * chance))
        above += bool(lost > limit)
    assert above <= 5


class _Remembered:
    """A voter whose vote is a column of the row."""

    classes_ = np.array([0, 1])

    def __init__(self, column: int) -> None:
        self.column = column

    def predict(self, X: Any) -> Any:
        return X[:, self.column].astype(int)
