"""Scores of CatBoost models are their own raw values, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.by_model import importer_of
from foregone.forest.importers.catboost import import_model
from tests.forest.slow_class_scores import class_scores, class_sums
from tests.forest.slow_walk import full_scores, near_thresholds

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

cb = pytest.importorskip("catboost")

SMALL = {
    "iterations": 12,
    "depth": 3,
    "learning_rate": 0.4,
    "verbose": False,
    "thread_count": 1,
    "allow_writing_files": False,
    "random_seed": 0,
}
STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 3.5e38, -3.5e38, 1e-45, -1e-45, 5e-324]
LABELS = np.array(["no", "yes", *(f"class {number}" for number in range(2, 200))])


def data(rng, n_classes, n_rows=400):
    """Columns 0 and 3 have gaps, 1 none, 2 is always the same and 3 holds integers."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 2] = 1.0
    X[:, 3] = rng.integers(0, 9, n_rows)
    score = X[:, 0] - X[:, 1] + (X[:, 3] % 3) + 0.3 * rng.normal(size=n_rows)
    X[rng.random((n_rows, 4)) < [0.15, 0, 0, 0.1]] = np.nan
    y = (np.argsort(np.argsort(score)) * n_classes) // n_rows
    return X, y


def probes(found, X, rng):
    rows = X[rng.integers(len(X), size=100)].copy()
    for row in rows:
        row[rng.integers(4)] = rng.choice(STRANGE)
    with np.errstate(over="ignore"):  # thresholds may be the lowest float32
        return np.concatenate([X[:60], rows, near_thresholds(found, X, rng, 40)])


def to_float32(rows):
    with np.errstate(over="ignore"):
        return rows.astype(np.float32)


def raw_values(model, rows):
    return model.predict(rows, prediction_type="RawFormulaVal")


OPTIONS = {
    "plain": {},
    "missing is large": {"nan_mode": "Max"},
    "depth 9": {"depth": 9, "iterations": 5},
    "depthwise": {"grow_policy": "Depthwise"},
    "lossguide": {"grow_policy": "Lossguide", "max_leaves": 9, "nan_mode": "Max"},
    "ordered": {"boosting_type": "Ordered"},
    "weights": {"auto_class_weights": "Balanced", "bootstrap_type": "Bernoulli", "subsample": 0.6},
    "a column left out": {"ignored_features": [0]},
    "few borders": {"border_count": 4, "random_strength": 5.0},
}


LOSSES = ["Logloss", "CrossEntropy", "Focal:focal_alpha=0.4;focal_gamma=1"]
OF_MANY = ["plain", "missing is large", "depth 9", "depthwise", "lossguide", "weights", "few borders"]
OF_TWO = [
    *(pytest.param(options, "Logloss", id=f"Logloss, {name}") for name, options in OPTIONS.items()),
    *(pytest.param(OPTIONS[name], loss, id=f"{loss}, {name}") for loss in LOSSES[1:] for name in OF_MANY[:5]),
]


@pytest.mark.parametrize(("options", "loss"), OF_TWO)
def test_scores_of_two_classes_are_the_raw_values_bit_for_bit(options, loss):
    rng = np.random.default_rng(0)
    X, y = data(rng, 2)
    y = y if loss == "CrossEntropy" else LABELS[y]
    model = cb.CatBoostClassifier(**{**SMALL, **options}, loss_function=loss).fit(X, y)
    found = import_model(model)
    assert (found.n_features, found.trees_a_round, found.in_order) == (4, 1, True)
    rows = probes(found, X, rng)
    for given in (rows, to_float32(rows)):
        scores = full_scores(found, given)
        np.testing.assert_array_equal(scores, raw_values(model, given))
        np.testing.assert_array_equal(found.classes[(scores > 0).astype(int)], model.predict(given))
    np.testing.assert_allclose(
        found.link.probability(scores), model.predict_proba(to_float32(rows))[:, 1], rtol=1e-13
    )
    assert len(np.unique(scores)) > 9


@pytest.mark.parametrize("options", [OPTIONS[name] for name in OF_MANY], ids=OF_MANY)
@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
@pytest.mark.parametrize("n_classes", [3, 10])
def test_scores_of_many_classes_are_the_raw_values_bit_for_bit(options, loss, n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = data(rng, n_classes)
    model = cb.CatBoostClassifier(**{**SMALL, **options}, loss_function=loss).fit(X, LABELS[y])
    found = import_model(model)
    assert found.trees_a_round == 1
    rows = probes(found, X, rng)
    for given in (rows, to_float32(rows)):
        sums = class_sums(found, given)
        np.testing.assert_array_equal(sums, raw_values(model, given))
        np.testing.assert_array_equal(found.classes[sums.argmax(axis=1)], model.predict(given).ravel())
    own = model.predict_proba(to_float32(rows))
    np.testing.assert_allclose(found.link.probability(sums), own, rtol=1e-13)


def test_models_made_up_at_random_are_read_bit_for_bit():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.choice([2, 3, 4, 7, 20, 100]))
        X, y = data(rng, n_classes, int(rng.integers(n_classes * 2, n_classes * 2 + 300)))
        many = int(rng.integers(1, 200 if n_classes < 5 else 12))
        settings = {
            "iterations": many,
            "depth": int(rng.integers(1, 7)),
            "grow_policy": str(rng.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
            "nan_mode": str(rng.choice(["Min", "Max"])),
            "border_count": int(rng.choice([1, 8, 254])),
        }
        model = cb.CatBoostClassifier(**{**SMALL, **settings}).fit(X, y)
        found = import_model(model)
        rows = probes(found, X, rng)
        own = raw_values(model, rows)
        sums = full_scores(found, rows) if n_classes == 2 else class_sums(found, rows)
        np.testing.assert_array_equal(sums, own)
        np.testing.assert_array_equal(ScoredForest.from_model(model).full_scores(rows), own)
        assert len(list(found.trees())) == model.tree_count_ == many


def test_two_classes_with_a_loss_for_many_are_told_apart_by_the_difference():
    rng = np.random.default_rng(1)
    X, y = data(rng, 2)
    for loss, kind in [("MultiClass", "logistic"), ("MultiClassOneVsAll", None)]:
        model = cb.CatBoostClassifier(**SMALL, loss_function=loss).fit(X, y)
        found = import_model(model)
        rows = probes(found, X, rng)
        own = raw_values(model, rows)
        np.testing.assert_allclose(full_scores(found, rows), own[:, 1] - own[:, 0], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(full_scores(found, rows) > 0, model.predict(rows).ravel() == 1)
        assert (found.link and found.link.kind) == kind
    model = cb.CatBoostClassifier(**SMALL, loss_function="MultiClass").fit(X, y)
    said = import_model(model).link.probability(full_scores(import_model(model), X))
    np.testing.assert_allclose(said, model.predict_proba(X)[:, 1], rtol=1e-13)


def test_scale_and_bias_come_last_and_change_the_last_bits_at_most():
    rng = np.random.default_rng(2)
    for n_classes in (2, 3):
        X, y = data(rng, n_classes)
        from_average = {"boost_from_average": True} if n_classes == 2 else {}
        model = cb.CatBoostClassifier(**SMALL, **from_average).fit(X[50:], y[50:])
        plain, bias = import_model(model), 0.3 if n_classes == 2 else [0.3, -0.1, 0.2]
        plain = plain._replace(start=0.0 * plain.start)
        for _ in range(2):
            found = import_model(model)
            sums = full_scores(found, X) if n_classes == 2 else class_sums(found, X)
            np.testing.assert_allclose(sums, raw_values(model, X), rtol=0, atol=1e-14)
            assert n_classes == 3 or found.start != 0
            model.set_scale_and_bias(-1.7, bias)
        assert found.start == bias if n_classes == 2 else found.start.tolist() == bias
        sums = full_scores(plain, X) if n_classes == 2 else class_sums(plain, X)
        np.testing.assert_array_equal(-1.7 * sums + bias, raw_values(model, X))


def test_a_probability_threshold_is_taken_off_the_start():
    rng = np.random.default_rng(3)
    X, y = data(rng, 2)
    model = cb.CatBoostClassifier(**SMALL).fit(X, y)
    plain = full_scores(import_model(model), X)
    for threshold in (0.2, 0.9):
        model.set_probability_threshold(threshold)
        found = import_model(model)
        scores = full_scores(found, X)
        np.testing.assert_allclose(scores, plain - np.log(threshold / (1 - threshold)), atol=1e-14)
        np.testing.assert_array_equal(scores > 0, model.predict(X))
        told = model.predict_proba(X)[:, 1]
        np.testing.assert_allclose(found.link.probability(scores), told, atol=1e-14)


def test_a_model_cut_to_its_best_iteration_is_read_as_cut():
    rng = np.random.default_rng(4)
    X, y = data(rng, 3)
    model = cb.CatBoostClassifier(
        **{**SMALL, "iterations": 200, "learning_rate": 0.9}, early_stopping_rounds=5
    )
    model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    found = import_model(model)
    assert len(list(found.trees())) == model.tree_count_ == model.best_iteration_ + 1 < 195
    np.testing.assert_array_equal(class_sums(found, X), raw_values(model, X))
    model.shrink(2)
    assert class_scores(import_model(model), X).shape == (400, 2, 3)
    np.testing.assert_array_equal(class_sums(import_model(model), X), raw_values(model, X))


@pytest.mark.parametrize("labels", [[True, False], [3, 7, 5], [0.5, 2.5, 1.5], ["b", "a", "c"]], ids=str)
def test_labels_are_those_of_the_model(labels, tmp_path):
    rng = np.random.default_rng(5)
    X, y = data(rng, len(labels))
    model = cb.CatBoostClassifier(**SMALL).fit(X, np.array(labels)[y])
    assert import_model(model).classes.tolist() == model.classes_.tolist() == sorted(labels)
    path = str(tmp_path / "model.cbm")
    model.save_model(path)
    assert import_model(model).classes.dtype != object
    loaded = cb.CatBoostClassifier().load_model(path)
    found = import_model(loaded)
    assert found.classes.tolist() == sorted(labels)
    assert [tree.score.tolist() for tree in found.trees()] == [
        tree.score.tolist() for tree in import_model(model).trees()
    ]


def test_equal_sums_are_for_the_first_class_for_both():
    X = np.arange(40.0)[:, None] % 2
    model = cb.CatBoostClassifier(**SMALL, loss_function="MultiClass").fit(X, np.arange(40) // 2 % 4)
    sums = class_sums(import_model(model), X)
    tied = sums == sums.max(axis=1, keepdims=True)
    assert (tied.sum(axis=1) > 1).any()
    np.testing.assert_array_equal(sums.argmax(axis=1), model.predict(X).ravel())
    model = cb.CatBoostClassifier(**SMALL).fit(X, np.arange(40) // 2 % 2)
    assert full_scores(import_model(model), X).tolist() == [0.0] * 40
    assert not model.predict(X).any()


def test_values_that_were_never_missing_in_training_may_be_missing_later():
    rng = np.random.default_rng(6)
    X, y = data(rng, 3)
    model = cb.CatBoostClassifier(**SMALL, nan_mode="Max").fit(np.nan_to_num(X), y)
    np.testing.assert_array_equal(class_sums(import_model(model), X), raw_values(model, X))


def test_weights_are_the_numbers_of_training_rows():
    rng = np.random.default_rng(7)
    X, y = data(rng, 3)
    for policy in ("SymmetricTree", "Depthwise"):
        found = import_model(cb.CatBoostClassifier(**SMALL, grow_policy=policy).fit(X, y))
        for tree in found.trees():
            inside = tree.left >= 0
            assert tree.weight[0] == 400
            children = tree.weight[tree.left[inside]] + tree.weight[tree.right[inside]]
            assert tree.weight[inside].tolist() == children.tolist()


def test_what_has_no_scores_for_classes_is_refused_with_a_reason():
    rng = np.random.default_rng(8)
    X, y = data(rng, 3, 90)
    small = {**SMALL, "iterations": 2}
    with pytest.raises(InvalidInputError, match="expected a CatBoostClassifier, got CatBoostReg"):
        import_model(cb.CatBoostRegressor(**small).fit(X, y))
    plain = cb.CatBoost({**small, "loss_function": "MultiClass"}).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"got CatBoost$"):
        import_model(plain)
    assert importer_of(plain) is None
    assert importer_of(cb.CatBoostClassifier()) == "catboost"
    several = cb.CatBoostClassifier(**small, loss_function="MultiLogloss")
    with pytest.raises(InvalidInputError, match="loss MultiLogloss"):
        import_model(several.fit(X, np.column_stack([y == 0, y > 0]).astype(int)))
    with pytest.raises(NotFittedError):
        import_model(cb.CatBoostClassifier())


@pytest.mark.parametrize("one_hot_max_size", [2, 50])
def test_columns_of_categories_are_refused_with_what_to_do(one_hot_max_size):
    rng = np.random.default_rng(9)
    X, y = data(rng, 2)
    frame = pd.DataFrame({"a": X[:, 0], "kind": rng.choice(list("abcdef"), len(X))})
    model = cb.CatBoostClassifier(**SMALL, cat_features=["kind"], one_hot_max_size=one_hot_max_size)
    with pytest.raises(InvalidInputError, match=r"cat_features .* OneHotEncoder"):
        import_model(model.fit(frame, y))


def test_columns_of_texts_and_embeddings_are_refused_with_what_to_do():
    rng = np.random.default_rng(10)
    X, y = data(rng, 2)
    words = [" ".join(rng.choice(["red", "green", "blue"], 4)) for _ in y]
    model = cb.CatBoostClassifier(**SMALL, text_features=["text"])
    with pytest.raises(InvalidInputError, match=r"texts or embeddings .* TfidfVectorizer"):
        import_model(model.fit(pd.DataFrame({"a": X[:, 1], "text": words}), y))
    frame = pd.DataFrame({"a": X[:, 1], "place": list(rng.normal(size=(len(y), 3)))})
    model = cb.CatBoostClassifier(**SMALL, embedding_features=["place"])
    with pytest.raises(InvalidInputError, match="texts or embeddings"):
        import_model(model.fit(frame, y))
