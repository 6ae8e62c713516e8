"""Sums of GradientBoostingClassifier of many classes are its own decision function, bit for bit."""

import platform

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from foregone.errors import InvalidInputError
from foregone.forest.importers.gradient_boosting import import_model
from tests.forest.slow_class_scores import assert_packs_the_same, class_scores, class_sums
from tests.forest.slow_walk import near_thresholds

# The compiler of scikit-learn may fuse the product with the learning rate and the sum, elsewhere than here.
TOLERANCE = 0.0 if platform.machine() in ("x86_64", "AMD64") else 1e-13


def data(rng, n_classes, n_rows=240):
    X = rng.normal(size=(n_rows, 5))
    X[:, 4] = rng.integers(0, 4, n_rows)  # ties between values
    y = np.argsort(np.argsort(X[:, 0] + X[:, 4] + 0.4 * rng.normal(size=n_rows))) * n_classes // n_rows
    return X, y


def assert_adds_up_as_the_model(model, X, rng):
    found = import_model(model)
    rows = np.concatenate([X[:60], near_thresholds(found, X, rng, 25)])
    for given in (rows, rows.astype(np.float32)):
        sums = class_sums(found, given)
        np.testing.assert_allclose(sums, model.decision_function(given), rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_array_equal(found.classes[sums.argmax(axis=1)], model.predict(given))
        assert_packs_the_same(found, given)
    np.testing.assert_allclose(found.link.probability(sums), model.predict_proba(given), rtol=1e-12)
    return found


@pytest.mark.parametrize(
    ("n_classes", "n_stages", "options"),
    [
        (3, 300, {"max_depth": 1}),
        (3, 1, {}),
        (4, 30, {"learning_rate": 0.37, "subsample": 0.5}),
        (7, 12, {"init": "zero"}),
        (26, 6, {"max_leaf_nodes": 5, "max_features": 2}),
        (100, 2, {"max_depth": 2, "learning_rate": 1.9}),
    ],
)
def test_sums_are_the_decision_function_bit_for_bit(n_classes, n_stages, options):
    rng = np.random.default_rng(n_classes)
    X, y = data(rng, n_classes)
    model = GradientBoostingClassifier(n_estimators=n_stages, random_state=0, **options).fit(X, y * 10)
    found = assert_adds_up_as_the_model(model, X, rng)
    assert found.trees_a_round == n_classes
    assert len(list(found.trees())) == n_stages * n_classes
    assert (found.in_order, found.takes_missing, found.trees_vote) == (True, False, False)
    assert found.link.kind == "softmax"


def test_stages_are_voters_and_each_has_a_tree_for_every_class():
    X, y = data(np.random.default_rng(0), 4)
    model = GradientBoostingClassifier(n_estimators=9, random_state=0).fit(X, np.array(list("abcd"))[y])
    scores = class_scores(import_model(model), X[:50])
    for stage in range(9):
        for number in range(4):
            own = model.learning_rate * model.estimators_[stage, number].predict(X[:50])
            np.testing.assert_array_equal(scores[:, stage, number], own)


def test_equal_sums_are_answered_with_the_first_class_as_in_predict():
    rows = np.array([[0.0], [1.0]] * 6)
    model = GradientBoostingClassifier(n_estimators=3, init="zero").fit(rows, [1, 1, 2, 2, 3, 3] * 2)
    sums = class_sums(import_model(model), rows[:2])
    assert (sums == sums[:, :1]).all()
    assert model.predict(rows[:2]).tolist() == [1, 1]


def test_a_constant_start_is_read_and_another_model_as_start_is_refused():
    rng = np.random.default_rng(1)
    X, y = data(rng, 3)
    for init in (
        DummyClassifier(strategy="prior"),
        DummyClassifier(strategy="most_frequent"),
        DummyClassifier(strategy="constant", constant=2),
    ):
        model = GradientBoostingClassifier(n_estimators=3, init=init, random_state=0).fit(X, y)
        assert_adds_up_as_the_model(model, X, rng)
    for init in (LogisticRegression(), DummyClassifier(strategy="stratified")):
        model = GradientBoostingClassifier(n_estimators=2, init=init, random_state=0).fit(X, y)
        with pytest.raises(InvalidInputError, match=f"init={type(init).__name__} is not supported"):
            import_model(model)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        import_model(GradientBoostingClassifier())
