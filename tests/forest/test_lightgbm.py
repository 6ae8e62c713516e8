"""Scores of LightGBM models are their own raw scores, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.lightgbm import ZERO, import_model
from tests.forest.slow_class_scores import class_scores, class_sums
from tests.forest.slow_walk import full_scores, near_thresholds

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

lgb = pytest.importorskip("lightgbm")

SMALL = {
    "n_estimators": 12,
    "num_leaves": 7,
    "verbose": -1,
    "n_jobs": 1,
    "min_child_samples": 5,
    "random_state": 0,
}
SETS = {"min_data_per_group": 5, "cat_smooth": 1.0, "max_cat_to_onehot": 2}
STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, ZERO, -ZERO, 5e-324, np.nextafter(ZERO, 1)]
CATEGORIES = [np.nan, -1.0, -0.0, -0.5, -3e9, 0.5, 3.7, 31.0, 32.0, 64.0, 1e10, 2.0**31, np.inf, -np.inf]


def data(rng, n_rows=400):
    """Column 0 has gaps, 1 none, 2 many zeros; column 3 holds categories, some of them missing."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 2] *= rng.random(n_rows) < 0.4
    X[:, 3] = rng.integers(0, 70, n_rows)
    y = (X[:, 0] + 1.2 * (X[:, 3] % 3 == 0) - 0.8 * X[:, 1] + X[:, 2] + rng.normal(size=n_rows) * 0.3) > 0.5
    X[rng.random(n_rows) < 0.15, 0] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    return X, y


def many_classes(rng, n_classes, n_rows=400):
    """The same columns, and a class that depends on all of them."""
    X, _ = data(rng, n_rows)
    score = (
        np.nan_to_num(X) @ [1.0, -0.8, 1.0, 0.0] + np.nan_to_num(X[:, 3]) % 3 + rng.normal(size=n_rows) * 0.2
    )
    return X, np.argsort(np.argsort(score)) * n_classes // n_rows


def probes(found, X, rng):
    rows = X[rng.integers(len(X), size=150)].copy()
    for row in rows:
        row[rng.integers(3)] = rng.choice(STRANGE)
        row[3] = rng.choice(CATEGORIES)
    return np.concatenate([X[:60], rows, near_thresholds(found, X, rng, 40)])


def to_float32(rows):
    with np.errstate(over="ignore"):
        return rows.astype(np.float32)


OPTIONS = {
    "plain": {},
    "zero as missing": {"zero_as_missing": True},
    "missing as zero": {"use_missing": False},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "random forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "weights": {"class_weight": "balanced", "sigmoid": 0.7},
    "no average": {"boost_from_average": False, "extra_trees": True},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("categorical", [[3], []], ids=["categories", "numbers"])
def test_scores_are_the_raw_scores_bit_for_bit(options, categorical):
    rng = np.random.default_rng(0)
    X, y = data(rng)
    model = lgb.LGBMClassifier(**{**SMALL, **SETS, **options})
    model.fit(X, np.where(y, "yes", "no"), categorical_feature=categorical)
    found = import_model(model)
    rows = probes(found, X, rng)
    for given in (rows, to_float32(rows)):
        scores = full_scores(found, given)
        np.testing.assert_array_equal(scores, model.predict(given, raw_score=True))
        np.testing.assert_array_equal(found.classes[(scores > 0).astype(int)], model.predict(given))
    assert any((tree.category_start >= 0).any() for tree in found.trees()) == bool(categorical)
    assert (found.zero_is_missing is not None) == ("zero_as_missing" in options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
@pytest.mark.parametrize("categorical", [[3], []], ids=["categories", "numbers"])
def test_sums_of_many_classes_are_the_raw_scores_bit_for_bit(options, objective, categorical):
    rng = np.random.default_rng(7)
    n_classes = 4
    X, y = many_classes(rng, n_classes)
    model = lgb.LGBMClassifier(**{**SMALL, **SETS, **options}, objective=objective)
    model.fit(X, np.array(["b", "a", "d", "c"])[y], categorical_feature=categorical)
    found = import_model(model)
    assert found.trees_a_round == n_classes
    assert found.classes.tolist() == ["a", "b", "c", "d"]
    rows = probes(found, X, rng)
    for given in (rows, to_float32(rows)):
        sums = class_sums(found, given)
        np.testing.assert_array_equal(sums, model.predict(given, raw_score=True))
        np.testing.assert_array_equal(found.classes[sums.argmax(axis=1)], model.predict(given))
        own = model.predict_proba(given)
        np.testing.assert_allclose(found.link.probability(sums), own, rtol=1e-12)
    assert any((tree.category_start >= 0).any() for tree in found.trees()) == bool(categorical)
    assert found.link.kind == ("softmax" if objective == "multiclass" else "logistic")


def test_models_made_up_at_random_are_read_bit_for_bit():
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.choice([2, 3, 5, 20, 100]))
        X, y = many_classes(rng, n_classes, int(rng.integers(20, 50)) * n_classes)
        n_trees = int(rng.integers(1, 200 if n_classes < 5 else 4))
        settings = {
            "n_estimators": n_trees,
            "num_leaves": int(rng.integers(2, 12)),
            "use_missing": bool(rng.random() < 0.8),
            "zero_as_missing": bool(rng.random() < 0.3),
            "boosting_type": str(rng.choice(["gbdt", "dart"])),
            "learning_rate": 0.05,
        }
        model = lgb.LGBMClassifier(**{**SMALL, **SETS, **settings}).fit(X, y, categorical_feature=[3])
        found = import_model(model)
        rows = probes(found, X, rng)[::2]
        sums = full_scores(found, rows) if n_classes == 2 else class_sums(found, rows)
        np.testing.assert_array_equal(sums, model.predict(rows, raw_score=True))
        np.testing.assert_array_equal(ScoredForest.from_model(model).full_scores(rows), sums)
        assert n_classes == 2 or class_scores(found, rows[:1]).shape == (1, n_trees, n_classes)


@pytest.mark.parametrize(("objective", "kind"), [("multiclass", "logistic"), ("multiclassova", None)])
def test_two_classes_with_trees_of_their_own_are_told_apart_by_the_difference(objective, kind):
    rng = np.random.default_rng(8)
    X, y = data(rng)
    model = lgb.LGBMClassifier(**SMALL, objective=objective, num_class=2).fit(X, y)
    found = import_model(model)
    assert (len(list(found.trees())), found.trees_a_round) == (24, 1)
    rows = probes(found, X, rng)
    own = model.predict(rows, raw_score=True)
    scores = full_scores(found, rows)
    np.testing.assert_allclose(scores, own[:, 1] - own[:, 0], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(scores > 0, model.predict(rows))
    assert (found.link and found.link.kind) == kind
    if kind:
        np.testing.assert_allclose(
            found.link.probability(scores), model.predict_proba(rows)[:, 1], rtol=1e-12
        )


def test_scores_that_rows_were_given_in_training_are_not_part_of_the_model():
    rng = np.random.default_rng(9)
    X, y = many_classes(rng, 3)
    given = rng.normal(size=(len(X), 3))
    model = lgb.LGBMClassifier(**SMALL).fit(X, y, init_score=given)
    found = import_model(model)
    assert found.start.tolist() == [0.0] * 3
    np.testing.assert_array_equal(class_sums(found, X), model.predict(X, raw_score=True))


def test_classes_without_a_split_have_trees_of_a_single_leaf():
    rng = np.random.default_rng(10)
    X, y = many_classes(rng, 3)
    y[y == 2] = 1
    y[:2] = 2  # too few rows for a split
    model = lgb.LGBMClassifier(**SMALL, min_child_weight=8.0).fit(X, y)
    found = import_model(model)
    assert {len(tree.left) for tree in found.trees()} > {1}
    np.testing.assert_array_equal(class_sums(found, X), model.predict(X, raw_score=True))
    flat = lgb.LGBMClassifier(**SMALL).fit(np.zeros((60, 2)), np.arange(60) % 3)
    np.testing.assert_array_equal(
        class_sums(import_model(flat), X[:2, :2]), flat.predict(np.zeros((2, 2)), raw_score=True)
    )


def test_equal_sums_are_for_the_first_class_for_both():
    flat = lgb.LGBMClassifier(**SMALL).fit(np.zeros((60, 1)), np.arange(60) % 3)
    sums = class_sums(import_model(flat), np.zeros((1, 1)))
    assert len(set(sums[0].tolist())) == 1
    assert flat.predict(np.zeros((1, 1))).tolist() == [0]


def test_values_that_were_never_missing_in_training_may_be_missing_later():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 6, 400)])
    y = X[:, 0] + 2 * np.isin(X[:, 1], [0, 2, 5]) > 1
    model = lgb.LGBMClassifier(**SMALL, **SETS).fit(X, y, categorical_feature=[1])
    found = import_model(model)
    rows = X[:90].copy()
    rows[:30, 0] = rows[20:60, 1] = np.nan
    np.testing.assert_array_equal(full_scores(found, rows), model.predict(rows, raw_score=True))


def test_a_model_that_stopped_early_is_read_up_to_its_best_iteration():
    rng = np.random.default_rng(1)
    X, y = data(rng)
    options = {"objective": "binary", "learning_rate": 0.5, "verbose": -1, "num_threads": 1}
    train, valid = lgb.Dataset(X[:200], y[:200]), lgb.Dataset(X[200:], y[200:])
    stop = lgb.early_stopping(3, verbose=False)
    booster = lgb.train(options, train, 200, valid_sets=[valid], callbacks=[stop], keep_training_booster=True)
    found = import_model(booster)
    assert found.classes.tolist() == [0, 1]
    assert len(list(found.trees())) == booster.best_iteration < booster.current_iteration() < 200
    np.testing.assert_array_equal(full_scores(found, X[:50]), booster.predict(X[:50], raw_score=True))
    X, y = many_classes(rng, 3)
    options |= {"objective": "multiclass", "num_class": 3}
    train, valid = lgb.Dataset(X[:200], y[:200]), lgb.Dataset(X[200:], y[200:])
    booster = lgb.train(options, train, 200, valid_sets=[valid], callbacks=[stop], keep_training_booster=True)
    found = import_model(booster)
    assert found.classes.tolist() == [0, 1, 2]
    assert class_scores(found, X).shape == (400, booster.best_iteration, 3)
    assert booster.best_iteration < booster.current_iteration() < 200
    np.testing.assert_array_equal(class_sums(found, X[:50]), booster.predict(X[:50], raw_score=True))


def test_trees_of_a_single_leaf_add_their_one_score():
    X, y = np.zeros((40, 2)), np.arange(40) % 4 == 0
    model = lgb.LGBMClassifier(**SMALL).fit(X, y)
    found = import_model(model)
    assert [len(tree.left) for tree in found.trees()] == [1]
    np.testing.assert_array_equal(full_scores(found, X[:3]), model.predict(X[:3], raw_score=True))


def test_a_score_of_exactly_zero_means_no_for_both():
    model = lgb.LGBMClassifier(**SMALL).fit(np.zeros((40, 1)), np.arange(40) % 2)
    assert full_scores(import_model(model), np.zeros((1, 1))).tolist() == [0.0]
    assert model.predict(np.zeros((1, 1))).tolist() == [0]


def test_categories_of_a_frame_are_looked_up_in_the_training_frames_lists():
    rng = np.random.default_rng(2)
    X, y = data(rng)
    kinds = pd.Categorical([None if np.isnan(value) else f"no {value:g}" for value in X[:, 3]])
    sizes = pd.Categorical(rng.choice([9.0, 1.0, 4.0], len(X)), categories=[9.0, 1.0, 4.0])
    frame = pd.DataFrame({"a": X[:, 0], "kind": kinds, "size": sizes, "b": X[:, 1]})
    model = lgb.LGBMClassifier(**SMALL, **SETS).fit(frame, y)
    found = import_model(model)
    given = frame.iloc[:80].copy()
    other = given.copy()
    other["kind"] = pd.Categorical(["unseen", *given["kind"].astype(object)[1:]])
    other["size"] = pd.Categorical([5.0, *given["size"].astype(float)[1:]])
    for rows in (given, other):
        np.testing.assert_array_equal(full_scores(found, rows), model.predict(rows, raw_score=True))
    positions = np.column_stack([X[:, 0], kinds.codes, sizes.codes, X[:, 1]])[:80]
    with pytest.warns(UserWarning, match="feature names"):
        own = model.predict(positions, raw_score=True)
    np.testing.assert_array_equal(full_scores(found, positions), own)
    with pytest.raises(
        InvalidInputError, match="1 columns of dtype category, but the model was trained on 2"
    ):
        full_scores(found, given.astype({"size": float}))


def test_what_has_no_scores_for_classes_is_refused_with_a_reason():
    rng = np.random.default_rng(3)
    X, y = data(rng, 90)
    with pytest.raises(InvalidInputError, match="got LGBMRegressor"):
        import_model(lgb.LGBMRegressor(**SMALL).fit(X, y))
    with pytest.raises(InvalidInputError, match="objective regression"):
        import_model(lgb.LGBMRegressor(**SMALL).fit(X, y).booster_)
    with pytest.raises(InvalidInputError, match="linear_tree=False"):
        import_model(lgb.LGBMClassifier(**SMALL, linear_tree=True).fit(X, y))
    with pytest.raises(InvalidInputError, match="linear_tree=False"):
        import_model(lgb.LGBMClassifier(**SMALL, linear_tree=True).fit(X, np.arange(90) % 3))
    with pytest.raises(InvalidInputError, match="1 labels but scores for 2 classes: train it on rows of all"):
        import_model(lgb.LGBMClassifier(**SMALL).fit(X, np.ones(90)))
    train = lgb.Dataset(X, y, params={"verbose": -1})
    own = lgb.train({"objective": lambda scores, _: (scores, np.ones(90)), "verbose": -1}, train, 2)
    with pytest.raises(InvalidInputError, match=r"objective .* is not supported: train with objective"):
        import_model(own)
    with pytest.raises(NotFittedError):
        import_model(lgb.LGBMClassifier())


def test_a_column_that_changed_its_meaning_between_trainings_is_refused():
    rng = np.random.default_rng(4)
    X, y = data(rng)
    first = lgb.LGBMClassifier(**SMALL, zero_as_missing=True).fit(X, y)
    second = lgb.LGBMClassifier(**SMALL).fit(X, y, init_model=first.booster_)
    with pytest.raises(InvalidInputError, match="train all trees in one call"):
        import_model(second)
