"""What cannot be fitted or predicted is refused in scikit-learn's words."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError
from tests.classifier import models

X, Y = models.to_fit()
CLASSIFIERS = {
    "forest": early_stop(models.forest(), models.fresh(), 0.02, random_state=0),
    "no missing values": early_stop(
        BaggingClassifier(ExtraTreeClassifier(splitter="best"), n_estimators=5, random_state=0).fit(X, Y),
        models.fresh(),
        0.02,
        random_state=0,
    ),
}


def with_value(value, n_rows):
    rows = X[:n_rows].copy()
    rows[-1, 2] = value
    return rows


BAD_ROWS = {
    "wrong number of features": lambda n: X[:n, :4],
    "infinity": lambda n: with_value(np.inf, n),
    "minus infinity": lambda n: with_value(-np.inf, n),
    "no rows": lambda n: X[:0],
    "one dimension": lambda n: X[0],
    "three dimensions": lambda n: X[None, :n],
    "strings": lambda n: np.full((n, 6), "a"),
    "objects": lambda n: np.full((n, 6), {}, dtype=object),
    "complex": lambda n: X[:n] + 1j,
    "sparse": lambda n: sparse.csr_array(X[:n]),
    "nothing": lambda n: None,
}


def words(error):
    return re.sub("RandomForestClassifier", "EarlyStoppingClassifier", str(error.value)).split("\n")[0]


@pytest.mark.parametrize("n_rows", [1, 7])
@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_rows_are_refused_as_the_forest_itself_refuses_them(bad, n_rows):
    rows = bad(n_rows)
    classifier = CLASSIFIERS["forest"]
    if not sparse.issparse(rows):
        with pytest.raises((ValueError, TypeError)) as expected:
            models.forest().predict(rows)
    for method in ("predict", "predict_with_votes", "full_predict"):
        with pytest.raises((ValueError, TypeError)) as found:
            getattr(classifier, method)(rows)
        if sparse.issparse(rows):
            assert "Sparse data was passed" in str(found.value)
        else:
            assert words(found) == re.sub("float32", "float64", words(expected)) or words(found) == words(
                expected
            )


def test_values_beyond_float32_are_refused():
    for rows in (with_value(1e39, 1), with_value(-1e300, 7)):
        with pytest.raises(ValueError, match=r"infinity or a value too large for dtype\('float32'\)"):
            CLASSIFIERS["forest"].predict(rows)


def test_missing_values_are_refused_when_the_trees_cannot_take_them():
    for n_rows in (1, 7):
        with pytest.raises(ValueError, match="Input X contains NaN") as found:
            CLASSIFIERS["no missing values"].predict(with_value(np.nan, n_rows))
        assert "EarlyStoppingClassifier does not accept missing values" in str(found.value)


def test_bad_calibration_rows_are_refused():
    for name in ("wrong number of features", "infinity", "no rows", "one dimension", "strings", "sparse"):
        with pytest.raises((ValueError, TypeError)):
            early_stop(models.forest(), BAD_ROWS[name](7), 0.5)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RandomForestRegressor(), "The estimator RandomForestRegressor should be a classifier"),
        (LinearRegression(), "The estimator LinearRegression should be a classifier"),
        (RandomForestClassifier, "The estimator RandomForestClassifier should be a classifier"),
        ("forest", "The estimator str should be a classifier"),
        (None, "there is no estimator to fit"),
        ([], "got an empty list"),
        ([LogisticRegression(), "forest"], "The estimator str should be a classifier"),
        (LogisticRegression(), "LogisticRegression has no members to ask one by one"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "LogisticRegression has no members to ask one by one.*a pipeline, search, .* with one of these",
        ),
    ],
)
def test_estimators_that_cannot_vote_are_refused(estimator, message):
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(estimator).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GradientBoostingClassifier(), "members of GradientBoostingClassifier do not vote"),
        (AdaBoostClassifier(), "members of AdaBoostClassifier do not vote"),
        (
            VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], weights=[1, 2]),
            "votes are counted only if every voter has one vote",
        ),
    ],
)
def test_votes_that_are_not_all_worth_the_same_cannot_be_counted(estimator, message):
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(estimator, voting="hard").fit(X, Y)


def test_targets_and_models_that_are_no_vote_between_classes_are_refused():
    three = np.arange(len(Y)) % 3
    several = RandomForestClassifier(3).fit(X, np.stack([Y, Y], axis=1))
    lists = [GaussianNB().fit(X, Y), GaussianNB().fit(X, three)]
    for model, message in (
        (DecisionTreeClassifier().fit(X, 0 * Y), "a model of 2 or more classes, got 1 class:"),
        (several, "Only one output is supported. The model has 2 outputs"),
        (lists[::-1], "all voters must have the same classes"),
        (lists, "all voters must have the same classes"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            early_stop(model, X, 0.5)
    with pytest.raises(ValueError, match=r"Unknown label type: continuous. Expected one class for each row"):
        EarlyStoppingClassifier(RandomForestClassifier(3)).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.zeros(len(Y)), "the data contains only one class"),
        (np.linspace(0, 1, len(Y)), "Unknown label type: continuous"),
        (np.where(Y, np.nan, 1.0), "Input y contains NaN"),
        (Y[:-1], "Found input variables with inconsistent numbers of samples"),
        (np.stack([Y, Y], axis=1), "y should be a 1d array"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        EarlyStoppingClassifier(RandomForestClassifier(3)).fit(X, y)
