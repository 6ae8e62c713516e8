"""What cannot be voted on is refused in scikit-learn's words."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from foregone.errors import InvalidInputError
from foregone.forest import PackedForest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4))
Y = (X[:, 0] > 0).astype(int)
MODEL = RandomForestClassifier(5, random_state=0).fit(X, Y)
FOREST = PackedForest.from_sklearn(MODEL)
NO_MISSING = ExtraTreeClassifier(splitter="best", random_state=0).fit(X, Y)


def words(error):
    """The message, up to the name of the class."""
    return re.sub("RandomForestClassifier|ExtraTreeClassifier", "PackedForest", str(error.value))


def with_value(value, dtype=np.float64, n_rows=6, row=3):
    rows = X[:n_rows].astype(dtype)
    rows[row % n_rows, 2] = value
    return rows


BAD = {
    "too few features": X[:, :3],
    "too few features in one row": X[:1, :3],
    "too many features": np.hstack([X, X]),
    "no rows": X[:0],
    "one row as a vector": X[0],
    "a number": np.float64(3.0),
    "three dimensions": X[None],
    "texts": [["a", "b", "c", "d"]],
    "an object": np.array([[1.0, 2.0, "x", 4.0]], object),
    "complex": X.astype(complex),
    "infinity": with_value(np.inf),
    "minus infinity": with_value(-np.inf),
    "infinity in float32": with_value(np.inf, np.float32),
    "too large for float32": with_value(1e39),
    "infinity in one row": with_value(np.inf, n_rows=1),
    "too large in one row": with_value(-1e300, n_rows=1),
    "infinity beside NaN": with_value(np.inf) + with_value(np.nan, row=1) * 0,
    "infinity beside NaN in one row": np.array([[1.0, np.nan, np.inf, 2.0]]),
    "a large number as text": [["1e300", "1", "1", "1"]],
}


@pytest.mark.parametrize("rows", BAD.values(), ids=BAD.keys())
def test_bad_rows_are_refused_as_scikit_learn_refuses_them(rows):
    with np.errstate(all="ignore"), pytest.raises(ValueError) as theirs:  # noqa: PT011  # compared below
        MODEL.predict(rows)
    with pytest.raises(InvalidInputError) as ours:
        FOREST.votes(rows)
    assert words(ours) == words(theirs)
    with pytest.raises(InvalidInputError) as ours:
        FOREST.vote_matrix(rows)
    assert words(ours) == words(theirs)


@pytest.mark.parametrize("n_rows", [1, 6])
def test_missing_values_are_refused_where_the_trees_do_not_know_them(n_rows):
    forest = PackedForest.from_sklearn(NO_MISSING)
    assert not forest.takes_missing
    rows = with_value(np.nan, n_rows=n_rows)
    with pytest.raises(ValueError, match="Input X contains NaN") as theirs:
        NO_MISSING.predict(rows)
    with pytest.raises(InvalidInputError) as ours:
        forest.votes(rows)
    same = len("Input X contains NaN.\nPackedForest does not accept missing values encoded as NaN natively")
    assert words(ours)[:same] == words(theirs)[:same]
    with pytest.raises(InvalidInputError, match="infinity"):
        forest.votes(with_value(np.inf, n_rows=n_rows))


def test_sparse_rows_are_refused_with_advice():
    with pytest.raises(InvalidInputError, match="Sparse data was passed, but dense data is required"):
        FOREST.votes(sparse.csr_matrix(X))


def test_a_refused_value_in_the_last_block_is_found():
    rows = np.tile(X, (200, 1))
    rows[-1, -1] = np.inf
    with pytest.raises(InvalidInputError, match="infinity"):
        FOREST.votes(rows)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(3).fit(X, Y),
        GradientBoostingClassifier(n_estimators=3).fit(X, Y),
        LogisticRegression().fit(X, Y),
        "a forest",
        None,
    ],
)
def test_models_of_another_kind_are_refused(model):
    with pytest.raises(InvalidInputError, match="expected a fitted RandomForestClassifier"):
        PackedForest.from_sklearn(model)


def test_a_bag_of_something_else_than_trees_is_refused():
    bag = BaggingClassifier(LogisticRegression(), 3).fit(X, Y)
    with pytest.raises(InvalidInputError, match="got one of LogisticRegression"):
        PackedForest.from_sklearn(bag)


@pytest.mark.parametrize("model", [RandomForestClassifier(3), DecisionTreeClassifier(), BaggingClassifier()])
def test_models_that_were_not_fitted_are_refused_as_scikit_learn_does(model):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        PackedForest.from_sklearn(model)


def test_other_than_two_classes_or_one_output_are_refused():
    three = RandomForestClassifier(3).fit(X, RNG.integers(0, 3, len(X)))
    with pytest.raises(InvalidInputError, match="expected a model of two classes, got 3"):
        PackedForest.from_sklearn(three)
    one = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="the model has 1"):
        PackedForest.from_sklearn(one)
    two_outputs = RandomForestClassifier(3).fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(InvalidInputError, match="expected a model with one output, got 2"):
        PackedForest.from_sklearn(two_outputs)
