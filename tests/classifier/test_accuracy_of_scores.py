"""Limits on the loss of accuracy, and on costs, of classifiers that add up scores."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier import RareClassWarning
from foregone.errors import InvalidInputError, SolverError
from foregone.scores import CannotCertifyWarning

FITTED, CALIBRATION, NEW = slice(0, 800), slice(800, 10_000), slice(10_000, None)
NAMES = np.array(["ham", "other", "spam"])


def _lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=40, n_jobs=1, verbose=-1)


MODELS = {
    "soft forest": (2, lambda: RandomForestClassifier(31, min_samples_leaf=5, random_state=0)),
    "histograms": (2, lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0)),
    "LightGBM": (2, _lightgbm),
    "soft forest of three classes": (
        3, lambda: RandomForestClassifier(31, min_samples_leaf=5, random_state=0),
    ),
    "histograms of three classes": (3, lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0)),
}  # fmt: skip


@cache
def rows(n_classes: int) -> tuple[Any, Any]:
    """Return rows and labels of which many are hard to tell."""
    X, y = make_classification(
        22_000, 8, n_informative=5, flip_y=0.1, class_sep=0.4, n_classes=n_classes, random_state=3
    )
    return X.astype(np.float32), NAMES[y]


@cache
def fitted(kind: str) -> tuple[Any, Any, Any]:
    n_classes, make = MODELS[kind]
    X, y = rows(n_classes)
    return X, y, make().fit(X[FITTED], y[FITTED])


def stop(kind: str, **options: Any) -> EarlyStoppingClassifier:
    X, y, model = fitted(kind)
    return early_stop(model, X[CALIBRATION], y[CALIBRATION], random_state=0, **options)


@cache
def stopped(kind: str, **options: Any) -> EarlyStoppingClassifier:
    return stop(kind, **options)


def costs_of(n_classes: int) -> Any:
    """Return costs that differ by the answer, in dollars say."""
    return (5 * (1 - np.eye(n_classes)) + 10 * np.eye(n_classes, k=-1)).tolist()


@pytest.mark.parametrize("kind", MODELS)
def test_a_limit_on_accuracy_asks_fewer_and_is_kept_on_new_rows(kind):
    X, y, model = fitted(kind)
    accuracy, disagreement = stopped(kind, max_accuracy_loss=0.01), stopped(kind, max_disagreement=0.01)
    assert accuracy.expected_votes_ < 0.9 * disagreement.expected_votes_
    lost = np.mean(model.predict(X[NEW]) == y[NEW]) - np.mean(accuracy.predict(X[NEW]) == y[NEW])
    assert lost <= 0.01
    assert np.mean(model.predict(X[NEW]) != accuracy.predict(X[NEW])) > 0.01  # it is not about that


@pytest.mark.parametrize("kind", MODELS)
def test_the_promise_and_what_the_calibration_rows_lost_are_told(kind):
    X, y, model = fitted(kind)
    classifier = stopped(kind, max_accuracy_loss=0.01)
    promise = classifier.promise_
    assert (promise.about, promise.loss, promise.limit) == ("classifier", "accuracy", 0.01)
    assert 0 <= promise.bound <= 0.01
    assert "the accuracy of this classifier on new rows is at most 0.01 below" in str(promise)
    X, y = X[CALIBRATION], y[CALIBRATION]
    lost = np.mean(model.predict(X) == y) - np.mean(classifier.predict(X) == y)
    assert classifier.calibration_accuracy_loss_ == pytest.approx(lost, abs=1e-9)
    assert not hasattr(stopped(kind, max_disagreement=0.01), "calibration_accuracy_loss_")


@pytest.mark.parametrize("kind", MODELS)
def test_costs_are_kept_and_told_in_their_own_unit(kind):
    X, y, model = fitted(kind)
    classes = model.classes_
    costs = np.array(costs_of(len(classes)))
    classifier = stop(kind, max_accuracy_loss=0.2, costs=costs)
    assert classifier.promise_.loss == "cost"
    assert classifier.promise_.limit == pytest.approx(0.2)
    assert 0 <= classifier.promise_.bound <= 0.2 * (1 + 1e-12)
    truth, full, answers = (
        np.searchsorted(classes, labels)
        for labels in (y[NEW], model.predict(X[NEW]), classifier.predict(X[NEW]))
    )
    assert (costs[truth, answers] - costs[truth, full]).mean() <= 0.2
    in_cents = stop(kind, max_accuracy_loss=20, costs=100 * costs)
    assert in_cents.strategy_ == classifier.strategy_
    loss = classifier.calibration_accuracy_loss_
    assert in_cents.calibration_accuracy_loss_ == pytest.approx(100 * loss)


def test_a_limit_for_each_class_is_on_the_accuracy_within_it():
    limits = {"ham": 0.02, "other": 0.05}
    X, y, model = fitted("histograms")
    classifier = stop("histograms", max_accuracy_loss=limits)
    assert classifier.promise_.limit == limits
    assert all(classifier.promise_.bound[label] <= limit for label, limit in limits.items())
    full, answers = model.predict(X[NEW]), classifier.predict(X[NEW])
    for label, limit in limits.items():
        own = y[NEW] == label
        assert np.mean(full[own] == label) - np.mean(answers[own] == label) <= limit


@pytest.mark.parametrize("kind", ["soft forest", "histograms", "histograms of three classes"])
def test_what_was_certified_survives_a_file(kind: str, tmp_path: Path):
    X, _, model = fitted(kind)
    for options in (
        {"max_accuracy_loss": 0.01},
        {"max_accuracy_loss": 0.2, "costs": costs_of(len(model.classes_))},
    ):
        classifier = stop(kind, **options)
        path = tmp_path / "classifier.foregone"
        classifier.save(path)
        loaded = EarlyStoppingClassifier.load(path)
        assert loaded.strategy_ == classifier.strategy_
        assert loaded.strategy_.certificate == classifier.strategy_.certificate
        assert loaded.promise_ == classifier.promise_
        assert loaded.calibration_accuracy_loss_ == classifier.calibration_accuracy_loss_
        assert loaded.max_accuracy_loss == pytest.approx(options["max_accuracy_loss"])
        assert (loaded.predict(X[NEW]) == classifier.predict(X[NEW])).all()


def test_a_limit_of_zero_stops_only_where_the_answer_is_certain():
    X, _, model = fitted("soft forest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CannotCertifyWarning)
        classifier = stop("soft forest", max_accuracy_loss=0)
    assert classifier.promise_.confidence == 1
    assert (classifier.predict(X[NEW]) == model.predict(X[NEW])).all()
    assert classifier.calibration_accuracy_loss_ == 0
    assert classifier.predict_with_votes(X[NEW])[1].mean() < 31


def test_every_group_keeps_the_limit_and_clusters_count_once():
    X, y, model = fitted("histograms")
    n_rows = CALIBRATION.stop - CALIBRATION.start
    classifier = early_stop(
        model,
        X[CALIBRATION],
        y[CALIBRATION],
        max_accuracy_loss=0.03,
        groups=np.arange(n_rows) % 4 // 2,
        clusters=np.arange(n_rows) // 2,
        random_state=0,
    )
    promise = classifier.promise_
    assert promise.groups == (0, 1)
    assert promise.in_clusters
    assert all(bound <= 0.03 for bound in promise.bound.values())


def test_accuracy_says_nothing_of_a_class_that_loses_agreement():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        stop("histograms", max_accuracy_loss=0.03)


def test_too_few_rows_are_refused_in_terms_of_accuracy():
    X, y, model = fitted("histograms")
    few = slice(1000, 1300)
    with pytest.raises(SolverError, match=r"at least 299 are needed.*allow a larger loss of accuracy"):
        early_stop(model, X[few], y[few], max_accuracy_loss=0.01, on_failure="raise", random_state=0)
    with pytest.warns(CannotCertifyWarning, match="allow a larger loss of accuracy"):
        classifier = early_stop(model, X[few], y[few], max_accuracy_loss=0.01, random_state=0)
    assert (classifier.predict(X[NEW]) == model.predict(X[NEW])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: None, "needs the true labels of the calibration rows"),
        (lambda y: y[:-1], "of the 9,200 calibration rows, got 9,199 labels"),
        (lambda y: np.where(y == "ham", "eggs", y), "among the model's classes .*, got 'eggs'"),
    ],
    ids=["none", "too few", "of no class"],
)
def test_labels_that_do_not_fit_are_refused(change, message):
    X, y, model = fitted("histograms")
    with pytest.raises(InvalidInputError, match=message):
        early_stop(model, X[CALIBRATION], change(y[CALIBRATION]), max_accuracy_loss=0.01)


def test_rows_are_held_out_with_their_labels_where_the_model_is_fitted_here():
    X, y = rows(2)
    classifier = EarlyStoppingClassifier(
        RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
        max_accuracy_loss=0.03,
        calibration_size=4000,
        random_state=0,
    ).fit(X[:5000], y[:5000])
    assert classifier.promise_.loss == "accuracy"
    assert classifier.expected_votes_ < 20
