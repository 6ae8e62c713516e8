"""Scores of XGBoost models are their own margins, within the last bits; every row reaches the same leaves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from foregone.errors import InvalidInputError
from foregone.forest.importers.xgboost import import_model
from tests.forest.slow_walk import full_scores, near_thresholds

xgb = pytest.importorskip("xgboost")

SMALL = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1, "random_state": 0}
SETS = {"enable_categorical": True, "feature_types": ["q", "q", "q", "c"], "max_cat_to_onehot": 2}
STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-45, -1e-45, 5e-324]
CATEGORIES = [
    np.nan,
    -1.0,
    -0.0,
    0.5,
    3.7,
    31.0,
    32.0,
    64.0,
    69.9,
    70.0,
    1e6,
    2.0**24,
    1e10,
    np.inf,
    -np.inf,
    -3e9,
]

# Older releases keep no lists of categories, so there is nothing to look anything up in.
KEEPS_CATEGORIES = pytest.mark.skipif(
    tuple(map(int, xgb.__version__.split(".")[:2])) < (3, 1), reason="needs XGBoost 3.1 or newer"
)


def data(rng, n_rows=400):
    """Columns 0 and 2 are whole numbers or gaps, 1 has no gaps; column 3 holds categories, some missing."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 2] = np.round(2 * X[:, 2])
    X[:, 3] = rng.integers(0, 70, n_rows)
    y = (X[:, 0] + 3 * (X[:, 3] % 3 == 0) - 0.8 * X[:, 1] + X[:, 2] + rng.normal(size=n_rows) * 0.3) > 1.0
    X[rng.random(n_rows) < 0.15, 0] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    return X, y.astype(int)


def probes(found, X, rng):
    rows = X[rng.integers(len(X), size=150)].copy()
    for row in rows:
        row[rng.integers(3)] = rng.choice(STRANGE)
        row[3] = rng.choice(CATEGORIES)
    return np.concatenate([X[:60], rows, near_thresholds(found, X, rng, 40)])


def assert_same_margins(found, rows, margins):
    """The sum made in float32 is XGBoost's but for the last bits of base_score's logarithm."""
    np.testing.assert_allclose(full_scores(found, rows, np.float32), margins, rtol=3e-7, atol=3e-7)
    np.testing.assert_allclose(full_scores(found, rows), margins, rtol=2e-6, atol=2e-6)


OPTIONS = {
    "plain": {},
    "exact": {"tree_method": "exact", "gamma": 1.0},
    "base score": {"base_score": 0.3, "tree_method": "approx"},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "parallel trees": {"num_parallel_tree": 3, "subsample": 0.5},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 6, "scale_pos_weight": 3.0},
    "hinge": {"objective": "binary:hinge"},
    "raw": {"objective": "binary:logitraw"},
    "regression to chances": {"objective": "reg:logistic", "base_score": 0.6},
}


CASES = [
    pytest.param(options, sets, id=f"{name}, {kind}")
    for name, options in OPTIONS.items()
    for kind, sets in [("numbers", {}), ("categories", SETS)]
    if not (sets and name == "exact")  # XGBoost's exact trees know no categories
]


@pytest.mark.parametrize(("options", "sets"), CASES)
def test_scores_are_the_margins_and_their_sign_is_the_answer(options, sets):
    rng = np.random.default_rng(0)
    X, y = data(rng)
    model = xgb.XGBClassifier(**{**SMALL, **sets, **options}).fit(X, y)
    found = import_model(model)
    shift = 0.5 if options.get("objective") == "binary:logitraw" else 0.0
    rows = probes(found, X, rng)
    for given in (rows, rows.astype(np.float32)):
        assert_same_margins(
            found._replace(start=found.start + shift), given, model.predict(given, output_margin=True)
        )
        np.testing.assert_array_equal(full_scores(found, given) > 0, model.predict(given))
    assert any((tree.category_start >= 0).any() for tree in found.trees()) == bool(sets)


def test_a_classifier_that_stopped_early_is_read_up_to_its_best_iteration_and_its_booster_whole():
    rng = np.random.default_rng(1)
    X, y = data(rng)
    model = xgb.XGBClassifier(
        **{**SMALL, "n_estimators": 200, "learning_rate": 0.9, "num_parallel_tree": 2},
        early_stopping_rounds=3,
    )
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    found, whole = import_model(model), import_model(model.get_booster())
    assert len(list(found.trees())) == 2 * (model.best_iteration + 1) < len(list(whole.trees()))
    assert_same_margins(found, X[:50], model.predict(X[:50], output_margin=True))
    assert_same_margins(whole, X[:50], model.get_booster().predict(xgb.DMatrix(X[:50]), output_margin=True))


def test_trees_of_a_single_leaf_and_random_forests_are_read():
    rng = np.random.default_rng(2)
    X, y = data(rng)
    for model in (xgb.XGBClassifier(**SMALL, gamma=1e9), xgb.XGBRFClassifier(**SMALL)):
        found = import_model(model.fit(X, y))
        assert_same_margins(found, X[:50], model.predict(X[:50], output_margin=True))


def test_a_score_of_exactly_zero_means_no_for_both():
    model = xgb.XGBClassifier(**SMALL, base_score=0.5).fit(np.zeros((40, 1)), np.arange(40) % 2)
    assert full_scores(import_model(model), np.zeros((1, 1))).tolist() == [0.0]
    assert model.predict(np.zeros((1, 1))).tolist() == [0]


@KEEPS_CATEGORIES
def test_categories_of_a_frame_are_looked_up_in_the_training_frames_lists():
    rng = np.random.default_rng(3)
    X, y = data(rng)
    kinds = pd.Categorical([None if np.isnan(value) else f"size {value:g}" for value in X[:, 3]])
    sizes = pd.Categorical(rng.choice([9, 1, 4], len(X)), categories=[9, 1, 4])
    frame = pd.DataFrame({"a": X[:, 0], "kind": kinds, "size": sizes, "b": X[:, 1]})
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True, max_cat_to_onehot=2).fit(frame, y)
    found = import_model(model)
    given = frame.iloc[:80].copy()
    other = given.copy()
    other["kind"] = pd.Categorical(given["kind"].astype(object))  # fewer categories, so other codes
    other["size"] = pd.Categorical(given["size"].astype(int))
    assert other["size"].cat.codes.tolist() != given["size"].cat.codes.tolist()
    for rows in (given, other):
        assert_same_margins(found, rows, model.predict(rows, output_margin=True))
    codes = np.column_stack([X[:, 0], kinds.codes, sizes.codes, X[:, 1]])[:80]
    assert_same_margins(found, codes, model.predict(codes, output_margin=True))
    with pytest.raises(InvalidInputError, match="1 columns of dtype category, the model was trained on 2"):
        full_scores(found, given.astype({"size": float}))


@KEEPS_CATEGORIES
def test_names_of_categories_that_xgboost_does_not_keep_whole_are_refused():
    frame = pd.DataFrame({"size": pd.Categorical(["klein", "groß"] * 20)})
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True).fit(frame, np.arange(40) % 2)
    with pytest.raises(InvalidInputError, match="not plain ASCII"):
        import_model(model)


def test_what_has_no_scores_for_two_classes_is_refused_with_a_reason():
    rng = np.random.default_rng(4)
    X, y = data(rng, 90)
    small = {**SMALL, "n_estimators": 2}
    with pytest.raises(InvalidInputError, match="two classes, the model has 3"):
        import_model(xgb.XGBClassifier(**small).fit(X, np.arange(90) % 3))
    with pytest.raises(InvalidInputError, match="not XGBRegressor"):
        import_model(xgb.XGBRegressor(**small).fit(X, y))
    with pytest.raises(InvalidInputError, match="objective is reg:squarederror"):
        import_model(xgb.XGBRegressor(**small).fit(X, y).get_booster())
    linear = xgb.train({"booster": "gblinear", "objective": "binary:logistic"}, xgb.DMatrix(X, y), 2)
    with pytest.raises(InvalidInputError, match="gblinear has no trees"):
        import_model(linear)
    with pytest.raises(InvalidInputError, match=r"takes 0\.0 for missing"):
        import_model(xgb.XGBClassifier(**small, missing=0.0).fit(X[:, 1:3], y))
    with pytest.raises(NotFittedError):
        import_model(xgb.XGBClassifier())
