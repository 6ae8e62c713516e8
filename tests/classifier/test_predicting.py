"""What is predicted is what following the strategy, vote by vote, gives."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier.voters import Voters
from foregone.forest import PackedForest
from tests.classifier import models
from tests.forest.simulation import simulate

pl = pytest.importorskip("polars")

ORDERS = ["shared", "per_row"]
MODELS = {
    "forest": models.forest,
    "bag of lines": models.bag_of_lines,
    "committee": models.committee,
    "list": models.several_models,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("random_state", [0, 1])
def test_predictions_are_those_of_a_simulation_vote_for_vote(make, order, random_state):
    model, X = make(), models.fresh()
    classifier = early_stop(model, X, 0.02, order=order, random_state=random_state)
    assert isinstance(classifier.ensemble_, PackedForest if make is models.forest else Voters)
    assert classifier.strategy_.randomised  # or the draws would not be tested
    X = X[:300]
    expected = simulate(classifier.strategy_, models.votes_of_members(model, X), classifier.seed_, order, X)
    labels, asked, yes = classifier.predict_with_votes(X)
    np.testing.assert_array_equal(labels, classifier.classes_[expected[0].astype(int)])
    np.testing.assert_array_equal(asked, expected[1])
    np.testing.assert_array_equal(yes, expected[2])
    np.testing.assert_array_equal(classifier.predict(X), labels)
    assert 0 < asked.mean() < classifier.strategy_.n_voters


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_a_row_alone_is_predicted_as_in_a_batch(make, order):
    X = models.fresh()
    classifier = early_stop(make(), X, 0.02, order=order, random_state=3)
    X = X[:60]
    whole = classifier.predict(X)
    np.testing.assert_array_equal(np.concatenate([classifier.predict(x[None]) for x in X]), whole)
    np.testing.assert_array_equal(
        np.concatenate([classifier.predict(X[k : k + 7]) for k in range(0, 60, 7)]), whole
    )


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_the_full_prediction_is_the_majority_of_all_votes(make):
    X = models.fresh()
    classifier = early_stop(make(), X, 0.02, random_state=0)
    votes = models.votes_of_members(make(), X)
    expected = classifier.classes_[(2 * votes.sum(axis=1) > votes.shape[1]).astype(int)]
    np.testing.assert_array_equal(classifier.full_predict(X), expected)
    np.testing.assert_array_equal(early_stop(make(), X, 0, random_state=0).predict(X), expected)


def test_a_tie_is_for_the_first_class():
    X, y = models.to_fit()
    classifier = early_stop(
        RandomForestClassifier(2, random_state=0).fit(X, y), models.fresh(), 0, random_state=0
    )
    labels, asked, yes = classifier.predict_with_votes(models.fresh())
    tied = (asked == 2) & (yes == 1)
    assert tied.any()
    assert (labels[tied] == classifier.classes_[0]).all()


@pytest.mark.parametrize(
    "names",
    [
        np.array(["ham", "spam"]),
        np.array(["yes", "no"]),
        np.array([False, True]),
        np.array([7, -3]),
        np.array(["b", "a"], dtype=object),
        np.array([0.0, 1.0], np.float32),
    ],
    ids=str,
)
def test_labels_of_any_type_and_order_come_back(names):
    X, y = models.to_fit()
    classifier = EarlyStoppingClassifier(
        ExtraTreesClassifier(9, random_state=0), max_disagreement=0.1, random_state=0
    )
    classifier.fit(X, names[y])
    numbered = EarlyStoppingClassifier(
        ExtraTreesClassifier(9, random_state=0), max_disagreement=0.1, random_state=0
    )
    numbered.fit(X, y if names[0] < names[1] else 1 - y)
    np.testing.assert_array_equal(classifier.classes_, np.unique(names))
    for x in (models.fresh()[:50], models.fresh()[:1]):
        labels = classifier.predict(x)
        assert labels.dtype == classifier.classes_.dtype
        np.testing.assert_array_equal(labels, classifier.classes_[numbered.predict(x)])
        np.testing.assert_array_equal(classifier.predict_with_votes(x)[0], labels)
    assert classifier.score(X, names[y]) > 0.8


def test_predicted_labels_belong_to_the_caller():
    classifier = early_stop(models.forest(), models.fresh(), 0.02, random_state=0)
    x = models.fresh()[:1]
    before = classifier.predict(x).copy()
    classifier.predict(x)[:] = 99
    np.testing.assert_array_equal(classifier.predict(x), before)
    np.testing.assert_array_equal(classifier.classes_, [0, 1])


def test_rows_come_in_any_form():
    X = models.fresh()[:40].astype(np.float32).astype(np.float64)
    classifier = early_stop(models.forest(), models.fresh(), 0.02, random_state=0)
    expected = classifier.predict(X)
    read_only = X.copy()
    read_only.setflags(write=False)
    for rows in (
        X.tolist(),
        X.astype(np.float32),
        X.astype(object),
        np.asfortranarray(X),
        read_only,
        X.astype(">f8"),
    ):
        np.testing.assert_array_equal(classifier.predict(rows), expected)
        np.testing.assert_array_equal(classifier.predict(rows[:1]), expected[:1])
    whole = np.arange(60).reshape(10, 6)
    np.testing.assert_array_equal(classifier.predict(whole), classifier.predict(whole.astype(float)))


def as_pandas(X):
    return pd.DataFrame(X, columns=list("abcdef"))


def as_polars(X):
    return pl.DataFrame(X, schema=list("abcdef"))


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
@pytest.mark.parametrize("make", [lambda: RandomForestClassifier(9, random_state=0), models.committee])
def test_frames_are_taken_and_their_names_watched(frame, make):
    X, y = models.to_fit()
    classifier = EarlyStoppingClassifier(make(), max_disagreement=0.1, random_state=0).fit(frame(X), y)
    assert classifier.feature_names_in_.tolist() == list("abcdef")
    labels = classifier.predict(frame(models.fresh()))
    nameless = EarlyStoppingClassifier(make(), max_disagreement=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(nameless.predict(models.fresh()), labels)
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        classifier.predict(frame(models.fresh())[list("fedcba")])
    for n_rows in (1, 5):
        with warnings.catch_warnings(record=True) as caught:  # members of a committee warn, too
            warnings.simplefilter("always")
            nameless.predict(frame(models.fresh()[:n_rows]))
        assert "X has feature names, but EarlyStoppingClassifier was fitted" in str(caught[0].message)


def test_a_nameless_row_for_a_classifier_with_names_is_warned_of_and_predicted():
    X, y = models.to_fit()
    classifier = EarlyStoppingClassifier(models.forest(9), max_disagreement=0.1, random_state=0)
    classifier.fit(as_pandas(X), y)
    expected = classifier.predict(as_pandas(models.fresh()))
    for n_rows in (1, 5):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but") as caught:
            labels = classifier.predict(models.fresh()[:n_rows])
        assert caught[0].filename == __file__ or n_rows > 1
        np.testing.assert_array_equal(labels, expected[:n_rows])


def test_missing_values_go_where_the_trees_send_them():
    X, y = models.to_fit()
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = RandomForestClassifier(15, random_state=0).fit(holed, y)
    classifier = early_stop(model, holed, 0.1, random_state=0)
    votes = np.array([tree.predict(holed) for tree in model.estimators_]).sum(axis=0)
    np.testing.assert_array_equal(classifier.full_predict(holed), 2 * votes > 15)
    frame = pd.DataFrame(holed).astype("Float64").rename(columns=str)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(classifier.full_predict(frame), 2 * votes > 15)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_the_number_of_threads_changes_nothing(n_jobs):
    X = models.rows(n_rows=30_000)[0]
    expected = early_stop(models.forest(), X, 0.01, random_state=0).predict_with_votes(X)
    found = early_stop(models.forest(), X, 0.01, random_state=0, n_jobs=n_jobs).predict_with_votes(X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
