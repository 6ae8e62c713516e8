"""Scores of XGBoost models are their margins: added in float32 bit for bit, in float64 within last bits."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.xgboost import _members, import_model
from tests.forest.slow_class_scores import class_scores, class_sums
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

pytestmark = [
    pytest.mark.usefixtures("form"),  # every batch in every form
    pytest.mark.filterwarnings("ignore:.*booster=(dart|gblinear). is deprecated"),  # by XGBoost 3.4
    pytest.mark.filterwarnings("ignore:.XGBRFClassifier. is deprecated"),
]


def data(rng, n_rows=400):
    """Columns 0 and 2 are integers or gaps, 1 has no gaps; column 3 holds categories, some missing."""
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


def many_classes(rng, n_classes, n_rows=400):
    """The same columns, and a class that depends on all of them."""
    X, _ = data(rng, n_rows)
    score = (
        np.nan_to_num(X) @ [1.0, -0.8, 1.0, 0.0] + np.nan_to_num(X[:, 3]) % 3 + rng.normal(size=n_rows) * 0.2
    )
    return X, np.argsort(np.argsort(score)) * n_classes // n_rows


def assert_same_margins(found, rows, margins, exact=True):
    """The sum made in float32 is XGBoost's, bit for bit if ``exact``; that in float64 is near it."""
    total = full_scores if len(found.classes) == 2 else class_sums
    own = total(found, rows, np.float32)
    if exact:
        np.testing.assert_array_equal(own, margins)
    np.testing.assert_allclose(own, margins, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(total(found, rows), margins, rtol=2e-6, atol=2e-6)


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
    shifted = found._replace(start=found.start + shift)
    rows = probes(found, X, rng)
    for given in (rows, rows.astype(np.float32)):
        is_dart = options.get("booster") == "dart"
        assert_same_margins(shifted, given, model.predict(given, output_margin=True), exact=not is_dart)
        if not sets:
            finite = given[~np.isinf(given).any(axis=1)]  # a DMatrix takes no others
            own = model.get_booster().predict(xgb.DMatrix(finite), output_margin=True)
            assert_same_margins(shifted, finite, own)
        np.testing.assert_array_equal(full_scores(found, given) > 0, model.predict(given))
    assert any((tree.category_start >= 0).any() for tree in found.trees()) == bool(sets)


MANY_OPTIONS = {
    "plain": {},
    "exact": {"tree_method": "exact", "gamma": 1.0},
    "base score": {"base_score": 0.3, "tree_method": "approx"},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "parallel trees": {"num_parallel_tree": 3, "subsample": 0.5},
    "parallel dart": {"booster": "dart", "rate_drop": 0.5, "num_parallel_tree": 2, "subsample": 0.5},
    "softmax": {"objective": "multi:softmax", "grow_policy": "lossguide", "max_leaves": 6},
    "vectors": {"multi_strategy": "multi_output_tree"},
    "parallel vectors": {"multi_strategy": "multi_output_tree", "num_parallel_tree": 2, "subsample": 0.5},
}
MANY_CASES = [
    pytest.param(options, sets, id=f"{name}, {kind}")
    for name, options in MANY_OPTIONS.items()
    for kind, sets in [("numbers", {}), ("categories", SETS)]
    if not (sets and (name == "exact" or name.endswith("vectors")))  # which know no categories
]


@pytest.mark.parametrize(("options", "sets"), MANY_CASES)
@pytest.mark.parametrize("n_classes", [3, 12])
def test_sums_of_many_classes_are_the_margins_and_the_largest_is_the_answer(options, sets, n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = many_classes(rng, n_classes)
    model = xgb.XGBClassifier(**{**SMALL, **sets, **options}).fit(X, y)
    found = import_model(model)
    has_vectors = "multi_strategy" in options
    assert found.trees_a_round == (1 if has_vectors else n_classes)
    rows = probes(found, X, rng)
    n_voters = SMALL["n_estimators"] * options.get("num_parallel_tree", 1)
    assert class_scores(found, rows).shape == (len(rows), n_voters, n_classes)
    for given in (rows, rows.astype(np.float32)):
        is_dart = options.get("booster") == "dart"
        assert_same_margins(found, given, model.predict(given, output_margin=True), exact=not is_dart)
        if not sets:
            finite = given[~np.isinf(given).any(axis=1)]  # a DMatrix takes no others
            own = model.get_booster().predict(xgb.DMatrix(finite), output_margin=True)
            assert_same_margins(found, finite, own)
        sums = class_sums(found, given)
        np.testing.assert_allclose(
            found.link.probability(sums), model.predict_proba(given), rtol=3e-6, atol=1e-7
        )
        first, second = np.sort(sums, axis=1)[:, :-3:-1].T
        clear = first - second > 1e-5
        assert clear.mean() > 0.7
        np.testing.assert_array_equal(sums.argmax(axis=1)[clear], model.predict(given)[clear])
    assert any((tree.category_start >= 0).any() for tree in found.trees()) == bool(sets)


def test_models_made_up_at_random_are_read_bit_for_bit_in_float32():
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.choice([2, 3, 5, 20, 100]))
        X, y = many_classes(rng, n_classes, int(rng.integers(4, 20)) * n_classes)
        settings = {
            "n_estimators": int(rng.integers(1, 200 if n_classes < 5 else 4)),
            "max_depth": int(rng.integers(1, 6)),
            "learning_rate": 0.1,
            "num_parallel_tree": int(rng.choice([1, 1, 2])),
            "subsample": 0.7,
        }
        if rng.random() < 0.3:
            settings["multi_strategy"] = "multi_output_tree"
        else:
            settings |= SETS
        model = xgb.XGBClassifier(**{**SMALL, **settings}).fit(X, y)
        found = import_model(model)
        rows = probes(found, X, rng)[::2]
        assert_same_margins(found, rows, model.predict(rows, output_margin=True))
        sums = full_scores(found, rows) if n_classes == 2 else class_sums(found, rows)
        np.testing.assert_array_equal(ScoredForest.from_model(model).full_scores(rows), sums)


def test_two_classes_with_trees_of_their_own_are_told_apart_by_the_difference():
    rng = np.random.default_rng(7)
    X, y = data(rng)
    for strategy, n_voters in [("one_output_per_tree", 24), ("multi_output_tree", 12)]:
        settings = {"objective": "multi:softprob", "num_class": 2, "max_depth": 3, "nthread": 1}
        model = xgb.train({**settings, "multi_strategy": strategy}, xgb.DMatrix(X, y), 12)
        found = import_model(model)
        assert (len(list(found.trees())), found.trees_a_round) == (n_voters, 1)
        rows = xgb.DMatrix(X)
        own = model.predict(rows, output_margin=True)
        scores = full_scores(found, X)
        np.testing.assert_allclose(scores, own[:, 1] - own[:, 0], rtol=0, atol=2e-6)
        np.testing.assert_allclose(found.link.probability(scores), model.predict(rows)[:, 1], atol=1e-6)


@pytest.mark.parametrize("base_score", [1e-9, 1e-6, 0.0123, 0.37, 0.5, 0.77, 0.999, 0.99999999])
def test_the_margin_of_a_base_score_is_xgboosts_own(base_score):
    settings = {"objective": "binary:logistic", "base_score": base_score, "nthread": 1}
    rows = xgb.DMatrix(np.zeros((2, 1)), [0, 1])
    model = xgb.train(settings, rows, 0)
    assert np.float32(import_model(model).start) == model.predict(rows, output_margin=True)[0]


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
    X, y = many_classes(rng, 3)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    found, whole = import_model(model), import_model(model.get_booster())
    assert class_scores(found, X).shape == (400, 2 * (model.best_iteration + 1), 3)
    assert len(list(found.trees())) < len(list(whole.trees()))
    assert_same_margins(found, X[:50], model.predict(X[:50], output_margin=True))
    assert_same_margins(whole, X[:50], model.get_booster().predict(xgb.DMatrix(X[:50]), output_margin=True))


@pytest.mark.parametrize("inside", [False, True])
def test_factors_of_dropped_trees_are_found_where_each_release_puts_them(inside):
    X, y = data(np.random.default_rng(4))
    booster = xgb.XGBClassifier(**SMALL, booster="dart", rate_drop=0.5).fit(X, y).get_booster()
    content = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    model = content.get("gbtree", content)["model"]
    factors = content.pop("weight_drop", None) or model.pop("weight_drop")
    assert len(set(factors)) > 1
    if inside:  # since 3.4
        model["weight_drop"] = factors
        members = _members({"name": "gbtree", "model": model}, None)
    else:
        members = _members({"name": "dart", "weight_drop": factors, "gbtree": {"model": model}}, None)
    assert [member.factor for member in members] == np.array(factors, np.float32).tolist()


def test_trees_of_a_single_leaf_and_random_forests_are_read():
    rng = np.random.default_rng(2)
    X, y = data(rng)
    vectors = {"multi_strategy": "multi_output_tree"}
    for model in (
        xgb.XGBClassifier(**SMALL, gamma=1e9),
        xgb.XGBRFClassifier(**SMALL),
        xgb.XGBClassifier(**SMALL, **vectors, gamma=1e9),
        xgb.XGBRFClassifier(**SMALL, **vectors),
    ):
        for labels in (y, many_classes(rng, 5)[1]):
            found = import_model(model.fit(X, labels))
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
    with pytest.raises(InvalidInputError, match=r"1 columns of dtype category, but .* trained on 2"):
        full_scores(found, given.astype({"size": float}))


@KEEPS_CATEGORIES
def test_names_of_categories_that_xgboost_does_not_keep_whole_are_refused():
    frame = pd.DataFrame({"size": pd.Categorical(["klein", "groß"] * 20)})
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True).fit(frame, np.arange(40) % 2)
    with pytest.raises(InvalidInputError, match="not plain ASCII"):
        import_model(model)


def test_equal_sums_are_for_the_first_class_for_both():
    model = xgb.XGBClassifier(**SMALL, base_score=0.5).fit(np.zeros((60, 1)), np.arange(60) % 3)
    sums = class_sums(import_model(model), np.zeros((1, 1)))
    assert len(set(sums[0].tolist())) == 1
    assert model.predict(np.zeros((1, 1))).tolist() == [0]


def test_what_has_no_scores_for_classes_is_refused_with_a_reason():
    rng = np.random.default_rng(4)
    X, y = data(rng, 90)
    small = {**SMALL, "n_estimators": 2}
    with pytest.raises(InvalidInputError, match="the model has one class"):
        import_model(xgb.XGBClassifier(**small, base_score=0.5).fit(X, np.zeros(90)))
    with pytest.raises(InvalidInputError, match=r"num_target=2 .* one target"):
        import_model(xgb.XGBClassifier(**small).fit(X, np.column_stack([y, 1 - y])))
    with pytest.raises(InvalidInputError, match="got XGBRegressor"):
        import_model(xgb.XGBRegressor(**small).fit(X, y))
    with pytest.raises(InvalidInputError, match="objective reg:squarederror"):
        import_model(xgb.XGBRegressor(**small).fit(X, y).get_booster())
    linear = xgb.train({"booster": "gblinear", "objective": "binary:logistic"}, xgb.DMatrix(X, y), 2)
    with pytest.raises(InvalidInputError, match="booster 'gblinear' is not supported"):
        import_model(linear)
    with pytest.raises(InvalidInputError, match=r"treats 0\.0 as missing"):
        import_model(xgb.XGBClassifier(**small, missing=0.0).fit(X[:, 1:3], y))
    with pytest.raises(NotFittedError):
        import_model(xgb.XGBClassifier())
