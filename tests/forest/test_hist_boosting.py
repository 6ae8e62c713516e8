"""Scores of HistGradientBoostingClassifier are its own decision function, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from foregone.errors import InvalidInputError
from foregone.forest.importers.hist_boosting import import_model
from tests.forest.slow_class_scores import assert_packs_the_same, class_sums
from tests.forest.slow_walk import full_scores, near_thresholds

STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 5e-324]
CATEGORIES = [np.nan, -1.0, -0.0, -0.5, 0.5, 3.7, 3.0, 254.0, 255.0, 256.0, 259.0, 1e10]


@pytest.fixture(autouse=True)
def one_thread():
    """The models are tiny, and threads that wait for each other slow down a busy machine."""
    with threadpool_limits(1):
        yield


def data(rng, n_rows=400):
    """Numbers with gaps in columns 0 to 2, categories (gaps, negatives, fractions) in 3 and 4."""
    X = rng.normal(size=(n_rows, 5))
    X[:, 3] = rng.integers(0, 50, n_rows)
    X[:, 4] = rng.choice([-7.0, 2.5, 300.0, 1e6, 0.0], n_rows)
    y = (X[:, 0] + (X[:, 3] % 3 == 0) + (X[:, 4] > 1) - 0.8 * X[:, 1] + rng.normal(size=n_rows) * 0.3) > 0.8
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def with_strange_values(X, rng):
    rows = X[rng.integers(len(X), size=150)].copy()
    for row in rows:
        row[rng.integers(3)] = rng.choice(STRANGE)
        row[3 + rng.integers(2)] = rng.choice(CATEGORIES)
    return rows


@pytest.mark.parametrize(
    "categorical", [[3, 4], [False] * 5, None], ids=["categories", "none marked", "numeric"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_the_decision_function_bit_for_bit(categorical, dtype):
    rng = np.random.default_rng(0)
    X, y = data(rng)
    model = HistGradientBoostingClassifier(max_iter=12, categorical_features=categorical, random_state=0)
    model.fit(X.astype(dtype), y)
    found = import_model(model)
    rows = np.concatenate([X[:100], with_strange_values(X, rng), near_thresholds(found, X, rng)])
    for given in (rows, rows.astype(np.float32)):
        np.testing.assert_array_equal(full_scores(found, given), model.decision_function(given))
        np.testing.assert_array_equal(full_scores(found, given) > 0, model.predict(given))
    if categorical == [3, 4]:
        assert any((tree.category_start >= 0).any() for tree in found.trees())


def test_frames_with_texts_as_categories_are_encoded_as_the_model_does():
    rng = np.random.default_rng(1)
    X, y = data(rng)
    names = np.array([f"no {value:g}" for value in X[:, 3]], dtype=object)
    names[np.isnan(X[:, 3])] = None
    frame = pd.DataFrame(
        {"a": X[:, 0], "kind": pd.Categorical(names), "b": X[:, 1], "size": pd.Categorical(X[:, 4])}
    )
    model = HistGradientBoostingClassifier(max_iter=12).fit(frame, np.where(y, "yes", "no"))
    found = import_model(model)
    assert found.classes.tolist() == ["no", "yes"]
    other = frame.iloc[:120].copy()
    other["kind"] = pd.Categorical(
        ["unseen" if place % 7 == 0 else n for place, n in enumerate(other["kind"])]
    )
    for given in (frame.iloc[:120], other, other.astype({"kind": object})):
        np.testing.assert_array_equal(full_scores(found, given), model.decision_function(given))


def test_a_sum_of_exactly_zero_means_no_for_both():
    X = np.array([[0.0], [1.0], [0.0], [1.0]] * 20)
    y = np.array([0, 1, 1, 0] * 20)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1).fit(X, y)
    found = import_model(model)
    assert full_scores(found, X).tolist() == [0.0] * 80
    assert not model.predict(X).any()


def test_class_weights_and_early_stopping_are_part_of_the_trees():
    rng = np.random.default_rng(2)
    X, y = data(rng)
    model = HistGradientBoostingClassifier(
        max_iter=60, class_weight={0: 1, 1: 5}, early_stopping=True, n_iter_no_change=2, random_state=0
    ).fit(X, y.astype(int))
    found = import_model(model)
    assert len(list(found.trees())) == model.n_iter_ < 60
    np.testing.assert_array_equal(full_scores(found, X[:50]), model.decision_function(X[:50]))
    np.testing.assert_array_equal(full_scores(found, X[:50]) > 0, model.predict(X[:50]))


def many(X, n_classes):
    """As many classes, which depend on numbers and on categories."""
    shifted = np.nan_to_num(X[:, 0]) + (X[:, 3] % 3 == 0) + (X[:, 4] > 1)
    return np.argsort(np.argsort(shifted)) * n_classes // len(X)


def assert_adds_up_as_the_model(model, rows):
    found = import_model(model)
    sums = class_sums(found, rows)
    np.testing.assert_array_equal(sums, model.decision_function(rows))
    np.testing.assert_array_equal(found.classes[sums.argmax(axis=1)], model.predict(rows))
    np.testing.assert_allclose(found.link.probability(sums), model.predict_proba(rows), rtol=1e-12)
    assert found.trees_a_round == len(found.classes)
    assert_packs_the_same(found, rows)
    return found


@pytest.mark.parametrize("categorical", [[3, 4], None], ids=["categories", "numeric"])
@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (3, {"max_iter": 12}),
        (3, {"max_iter": 300, "max_leaf_nodes": 3}),
        (5, {"max_iter": 1}),
        (26, {"max_iter": 4, "class_weight": "balanced"}),
        (100, {"max_iter": 2, "min_samples_leaf": 3}),
    ],
)
def test_sums_of_many_classes_are_the_decision_function_bit_for_bit(n_classes, options, categorical):
    rng = np.random.default_rng(n_classes)
    X, _ = data(rng)
    model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=0, **options)
    model.fit(X, many(X, n_classes) * 10)
    found = import_model(model)
    assert len(list(found.trees())) == model.n_iter_ * n_classes
    rows = np.concatenate([X[:60], with_strange_values(X, rng), near_thresholds(found, X, rng, 20)])
    with np.errstate(over="ignore"):
        rounded = rows.astype(np.float32)
    for given in (rows, rounded):
        assert_adds_up_as_the_model(model, given)
    if categorical:
        assert any((tree.category_start >= 0).any() for tree in found.trees())


def test_frames_with_texts_as_categories_and_labels_that_are_texts_of_many_classes():
    rng = np.random.default_rng(1)
    X, _ = data(rng)
    names = np.array([f"no {value:g}" for value in X[:, 3]], dtype=object)
    names[np.isnan(X[:, 3])] = None
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(names), "b": X[:, 1]})
    labels = np.array(["ash", "birch", "cherry"])
    model = HistGradientBoostingClassifier(max_iter=12).fit(frame, labels[many(X, 3)])
    assert assert_adds_up_as_the_model(model, frame.iloc[:120]).classes.tolist() == labels.tolist()


def test_equal_sums_of_many_classes_are_for_the_first_as_in_predict():
    X = np.zeros((90, 1))
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, np.arange(90) % 3)
    sums = class_sums(import_model(model), X[:2])
    assert (sums == sums[:, :1]).all()
    assert model.predict(X[:2]).tolist() == [0, 0]


def test_other_models_are_refused_with_a_reason():
    X = np.arange(90.0)[:, None]
    one = HistGradientBoostingClassifier(max_iter=2).fit(X, np.arange(90) % 2)
    one.classes_ = one.classes_[:1]
    with pytest.raises(InvalidInputError, match="the model has 1"):
        import_model(one)
    with pytest.raises(NotFittedError):
        import_model(HistGradientBoostingClassifier())


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_times_as_categories_are_refused_with_a_reason(unit):
    """In nanoseconds, NumPy would convert them to integers, which no entry of a frame equals."""
    days = np.array(["2020-01-01", "2020-01-02"] * 45, dtype=f"datetime64[{unit}]")
    for times in (days, days - days[0]):
        frame = pd.DataFrame({"day": pd.Categorical(times)})
        with pytest.raises(InvalidInputError, match="astype"):
            import_model(HistGradientBoostingClassifier(max_iter=2).fit(frame, np.arange(90) % 2))
