"""Models of treelite: every row reaches the leaves that it reaches there, by every kind of test."""

import contextlib
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

from foregone.errors import FileFormatError, ForegoneError, InvalidInputError
from foregone.forest import PackedForest, ScoredForest
from foregone.forest.importers.treelite import import_model
from tests.forest.slow_class_scores import class_scores, class_sums
from tests.forest.slow_walk import full_scores

treelite = pytest.importorskip("treelite")

pytestmark = [  # of XGBoost 3.4
    pytest.mark.filterwarnings("ignore:.*booster=dart. is deprecated"),
    pytest.mark.filterwarnings("ignore:.XGBRFClassifier. is deprecated"),
]

STRANGE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45]
CATEGORIES = [np.nan, -1.0, 0.7, 3.2, 31.0, 32.0, 39.0, 40.0, 1e6, np.inf, -np.inf]


def data(seed=0, n_rows=300):
    """Three columns of numbers with gaps, and one of categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 3] = rng.integers(0, 40, n_rows)
    y = (X[:, 0] + X[:, 3] % 3 + rng.normal(size=n_rows) * 0.5) > 1
    X[rng.random((n_rows, 4)) < 0.1] = np.nan
    return X, y.astype(int)


@contextlib.contextmanager
def limited_memory():
    """Let this process take 2 GB more at most, where that can be said."""
    resource = pytest.importorskip("resource", reason="memory cannot be limited here")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path("/proc/self/statm").read_text().split()[5]) if Path("/proc/self/statm").exists() else 0
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + 2 * 10**9, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def probes(model, dtype):
    """Rows with all that is strange, and values that lie on thresholds and beside them."""
    rng = np.random.default_rng(1)
    X, _ = data(2, 300)
    thresholds = np.concatenate(
        [model.get_tree_accessor(number).get_field("threshold") for number in range(model.num_tree)]
    )
    near = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)])
    for row in X[60:]:
        row[rng.integers(3)] = rng.choice(STRANGE)
        row[rng.integers(3)] = rng.choice(near)
        row[3] = rng.choice(CATEGORIES)
    return X.astype(dtype)


def assert_same_leaves(model):
    """Scores are what treelite's trees give; return the scored forest, rows and treelite's leaves."""
    forest = ScoredForest.from_treelite(model)
    rows = probes(model, np.float32 if forest.rows.key_bits == 32 else np.float64)
    leaves = treelite.gtil.predict_per_tree(model, rows)
    scores = forest.scores(rows)
    if leaves.shape[-1] == 2 and leaves.ndim == 3:
        assert scores.tolist() == ((leaves[:, :, 1] - leaves[:, :, 0]) / 2).tolist()
    else:
        assert scores.tolist() == leaves.reshape(scores.shape).astype(np.float64).tolist()
    assert len(np.unique(scores)) > 3
    return forest, rows, leaves


def assert_same_sum(model, forest, rows, averages):
    margin = treelite.gtil.predict(model, rows, pred_margin=True).squeeze()
    sums = forest.full_scores(rows) / (forest.n_trees if averages else 1)
    np.testing.assert_allclose(sums, margin, rtol=0, atol=1e-6)
    with pytest.raises(InvalidInputError, match=r"do not vote, .* use ScoredForest"):
        PackedForest.from_treelite(model)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_of_scikit_learn_vote_and_average_as_through_treelite(kind):
    X, y = data()
    model = treelite.sklearn.import_model(kind(9, max_depth=4, random_state=0).fit(X, y))
    forest, rows, leaves = assert_same_leaves(model)
    packed = PackedForest.from_treelite(model)
    assert packed.vote_matrix(rows).tolist() == (leaves.argmax(axis=2) == 1).tolist()
    mean = treelite.gtil.predict(model, rows).squeeze()[:, 1]
    np.testing.assert_allclose(forest.full_scores(rows) / 9 + 0.5, mean, rtol=0, atol=1e-15)


def test_votes_of_float32_rows_are_scikit_learns_own():
    X, y = data()
    fitted = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y)
    rows = data(5)[0].astype(np.float32)
    through = PackedForest.from_treelite(treelite.sklearn.import_model(fitted), classes=fitted.classes_)
    assert through.vote_matrix(rows).tolist() == PackedForest.from_sklearn(fitted).vote_matrix(rows).tolist()


def test_boosted_trees_of_scikit_learn_add_up():
    X, y = data()
    fitted = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(np.nan_to_num(X), y)
    model = treelite.sklearn.import_model(fitted)
    forest, rows, _ = assert_same_leaves(model)
    assert_same_sum(model, forest, rows, averages=False)


def test_random_forests_of_xgboost_add_margins_and_do_not_vote():
    xgb = pytest.importorskip("xgboost")
    settings = {"enable_categorical": True, "feature_types": ["q", "q", "q", "c"], "max_cat_to_onehot": 2}
    fitted = xgb.XGBRFClassifier(n_estimators=7, max_depth=4, random_state=0, n_jobs=1, **settings).fit(
        *data()
    )
    model = treelite.frontend.from_xgboost(fitted.get_booster())
    forest, rows, _ = assert_same_leaves(model)
    assert len(forest.categories) > 0
    assert_same_sum(model, forest, rows, averages=False)


def test_lightgbm_rf_averages_margins_and_does_not_vote():
    lgb = pytest.importorskip("lightgbm")
    settings = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "min_child_samples": 5}
    settings |= {"min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": 2}
    fitted = lgb.LGBMClassifier(n_estimators=7, random_state=0, n_jobs=1, verbose=-1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(*data(), categorical_feature=[3])
    model = treelite.frontend.from_lightgbm(fitted.booster_)
    forest, rows, _ = assert_same_leaves(model)
    assert len(forest.categories) > 0
    assert_same_sum(model, forest, rows, averages=True)


def many_classes(n_classes, n_rows=300):
    """The same columns, and a class that depends on them."""
    X, _ = data(n_rows=n_rows)
    score = np.nan_to_num(X[:, 0] + X[:, 3] % 3) + np.random.default_rng(3).normal(size=n_rows) * 0.2
    return X, np.argsort(np.argsort(score)) * n_classes // n_rows


def boosted(library, n_classes, **settings):
    """A model of treelite, from a small one of XGBoost or LightGBM; column 3 may hold categories."""
    X, y = many_classes(n_classes)
    if library == "xgboost":
        xgb = pytest.importorskip("xgboost")
        sets = {"enable_categorical": True, "feature_types": ["q", "q", "q", "c"], "max_cat_to_onehot": 2}
        sets = {} if "multi_strategy" in settings else sets
        fitted = xgb.XGBClassifier(n_estimators=5, max_depth=3, random_state=0, n_jobs=1, **sets, **settings)
        return treelite.frontend.from_xgboost(fitted.fit(X, y).get_booster())
    lgb = pytest.importorskip("lightgbm")
    settings |= {"min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": 2, "min_child_samples": 5}
    fitted = lgb.LGBMClassifier(
        n_estimators=5, num_leaves=6, random_state=0, n_jobs=1, verbose=-1, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y, categorical_feature=[3])
    return treelite.frontend.from_lightgbm(fitted.booster_)


RF = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
MANY = {
    "xgboost": ("xgboost", {}, "softmax"),
    "parallel trees": ("xgboost", {"num_parallel_tree": 2, "subsample": 0.5}, "softmax"),
    "dart": ("xgboost", {"booster": "dart", "rate_drop": 0.5}, "softmax"),
    "vectors": ("xgboost", {"multi_strategy": "multi_output_tree"}, "softmax"),
    "lightgbm": ("lightgbm", {}, "softmax"),
    "each class alone": ("lightgbm", {"objective": "multiclassova", "sigmoid": 0.7}, "logistic"),
    "averages": ("lightgbm", RF, "softmax"),
    "averages of each class": ("lightgbm", {**RF, "objective": "multiclassova"}, "logistic"),
}


def assert_same_sums(model, found, rows, averages=1):
    """Sums and probabilities are treelite's, within the last bits of float32."""
    own = treelite.gtil.predict(model, rows, pred_margin=True).squeeze(axis=1)
    sums = class_sums(found, rows)
    np.testing.assert_allclose(sums / averages, own, rtol=0, atol=2e-6)
    chances = treelite.gtil.predict(model, rows).squeeze(axis=1)
    np.testing.assert_allclose(found.link.probability(sums), chances, rtol=1e-6, atol=2e-6)
    assert ScoredForest.from_imported(found).full_scores(rows).tolist() == sums.tolist()
    return sums


@pytest.mark.parametrize(("library", "settings", "link"), MANY.values(), ids=MANY)
@pytest.mark.parametrize("n_classes", [3, 11])
def test_boosted_trees_of_many_classes_add_up_as_through_treelite(library, settings, link, n_classes):
    model = boosted(library, n_classes, **settings)
    found = import_model(model, [f"class {number}" for number in range(n_classes)])
    rows = probes(model, np.float32 if library == "xgboost" else np.float64)
    has_vectors = "multi_strategy" in settings
    assert found.trees_a_round == (1 if has_vectors else n_classes)
    assert len(found.categories) > 0 or has_vectors
    scores = class_scores(found, rows)
    leaves = treelite.gtil.predict_per_tree(model, rows).astype(np.float64).reshape(len(rows), -1)
    class_of_tree = np.repeat(
        model.get_header_accessor().get_field("class_id"), n_classes if has_vectors else 1
    )
    for number in range(n_classes):
        own = leaves[:, number::n_classes] if has_vectors else leaves[:, class_of_tree == number]
        assert scores[:, :, number].tolist() == own.tolist()
    assert_same_sums(model, found, rows, averages=5 if "boosting_type" in settings else 1)
    assert (found.link.kind, found.trees_vote, found.in_order) == (link, False, True)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, HistGradientBoostingClassifier])
def test_boosted_trees_of_scikit_learn_add_up_for_many_classes(kind):
    X, y = many_classes(4)
    rounds = {"max_iter" if kind is HistGradientBoostingClassifier else "n_estimators": 6}
    fitted = kind(**rounds, random_state=0).fit(np.nan_to_num(X), y)
    model = treelite.sklearn.import_model(fitted)
    rows = np.nan_to_num(probes(model, np.float32), posinf=1.0, neginf=-1.0).astype(np.float64)
    sums = assert_same_sums(model, import_model(model), rows)
    np.testing.assert_allclose(sums, fitted.decision_function(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_of_many_classes_vote_and_average_as_through_treelite(kind):
    model = treelite.sklearn.import_model(kind(9, max_depth=4, random_state=0).fit(*many_classes(5)))
    found = import_model(model)
    rows = probes(model, np.float64)
    leaves = treelite.gtil.predict_per_tree(model, rows)
    assert class_scores(found, rows).tolist() == leaves.tolist()
    assert (found.classes.tolist(), found.start.tolist()) == ([0, 1, 2, 3, 4], [0.0] * 5)
    assert (found.trees_a_round, found.trees_vote, found.in_order) == (1, True, False)
    voted = found._replace(
        trees=lambda: (tree._replace(score=np.eye(5)[tree.vote]) for tree in found.trees()),
    )
    assert class_scores(voted, rows).argmax(axis=2).tolist() == leaves.argmax(axis=2).tolist()
    mean = treelite.gtil.predict(model, rows).squeeze(axis=1)
    sums = class_sums(found, rows)
    np.testing.assert_allclose(found.link.probability(sums), mean, rtol=0, atol=1e-15)
    assert ScoredForest.from_imported(found).full_scores(rows).tolist() == sums.tolist()


def test_two_classes_with_trees_of_their_own_are_told_apart_by_the_difference():
    lgb = pytest.importorskip("lightgbm")
    X, y = data()
    for objective, kind in [("multiclass", "logistic"), ("multiclassova", None)]:
        settings = {"objective": objective, "num_class": 2, "verbose": -1, "num_threads": 1}
        model = treelite.frontend.from_lightgbm(lgb.train(settings, lgb.Dataset(X, y), 5))
        found = import_model(model)
        rows = probes(model, np.float64)
        own = treelite.gtil.predict(model, rows, pred_margin=True).squeeze(axis=1)
        scores = full_scores(found, rows)
        np.testing.assert_allclose(scores, own[:, 1] - own[:, 0], rtol=0, atol=1e-12)
        assert (found.link and found.link.kind) == kind
    xgb = pytest.importorskip("xgboost")
    settings = {"objective": "multi:softprob", "num_class": 2, "multi_strategy": "multi_output_tree"}
    model = treelite.frontend.from_xgboost(xgb.train({**settings, "nthread": 1}, xgb.DMatrix(X, y), 5))
    found = import_model(model)
    rows = probes(model, np.float32)
    own = treelite.gtil.predict(model, rows).squeeze(axis=1)[:, 1]
    np.testing.assert_allclose(found.link.probability(full_scores(found, rows)), own, atol=1e-6)


def uneven_model(averages, postprocessor="softmax"):
    """Three classes, of which the first has two trees and the last none; a tree is a single split."""
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=1,
            task_type="kMultiClf",
            average_tree_output=averages,
            num_target=1,
            num_class=[3],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=TreeAnnotation(num_tree=3, target_id=[0, 0, 0], class_id=[1, 0, 0]),
        postprocessor=PostProcessorFunc(name=postprocessor),
        base_scores=[0.25, -0.5, 0.125],
    )
    for number in range(3):
        builder.start_tree()
        builder.start_node(0)
        builder.numerical_test(
            feature_id=0, threshold=number, opname="<", default_left=True, left_child_key=1, right_child_key=2
        )
        builder.end_node()
        for key in (1, 2):
            builder.start_node(key)
            builder.leaf(2.0**number * key)
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def test_a_class_with_fewer_trees_than_others_gets_trees_that_add_nothing():
    model = uneven_model(averages=False)
    found = import_model(model)
    rows = np.array([[-1.0], [0.0], [0.5], [1.0], [2.0], [np.nan]])
    assert class_scores(found, rows[:1]).tolist() == [[[2.0, 1.0, 0.0], [4.0, 0.0, 0.0]]]
    own = treelite.gtil.predict(model, rows, pred_margin=True).squeeze(axis=1)
    assert class_sums(found, rows).tolist() == own.tolist()
    assert found.start.tolist() == [0.25, -0.5, 0.125]
    assert ScoredForest.from_imported(found).full_scores(rows).tolist() == own.tolist()
    assert import_model(uneven_model(averages=False, postprocessor="identity_multiclass")).link is None
    with pytest.raises(InvalidInputError, match="same number of trees for all classes"):
        import_model(uneven_model(averages=True))


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize("categories_go_right", [True, False])
def test_every_comparison_is_made_as_in_treelite(operator, dtype, default_left, categories_go_right):
    from treelite.model_builder import (
        Metadata,
        ModelBuilder,
        PostProcessorFunc,
        TreeAnnotation,
    )

    builder = ModelBuilder(
        threshold_type=dtype,
        leaf_output_type=dtype,
        metadata=Metadata(
            num_feature=4,
            task_type="kBinaryClf",
            average_tree_output=False,
            num_target=1,
            num_class=[1],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=TreeAnnotation(num_tree=1, target_id=[0], class_id=[0]),
        postprocessor=PostProcessorFunc(name="sigmoid", sigmoid_alpha=1.0),
        base_scores=[0.25],
    )
    ends = {"default_left": default_left, "left_child_key": 1, "right_child_key": 2}
    builder.start_tree()
    builder.start_node(0)
    builder.numerical_test(feature_id=0, threshold=0.1, opname=operator, **ends)
    builder.end_node()
    builder.start_node(1)
    builder.categorical_test(
        feature_id=3,
        category_list=[0, 3, 32],
        category_list_right_child=categories_go_right,
        default_left=default_left,
        left_child_key=3,
        right_child_key=4,
    )
    builder.end_node()
    for key, value in {2: 0.5, 3: -1.5, 4: 2.5}.items():
        builder.start_node(key)
        builder.leaf(value)
        builder.end_node()
    builder.end_tree()
    model = builder.commit()
    forest = ScoredForest.from_treelite(model)
    assert forest.rows.key_bits == int(dtype[-2:])
    near = np.dtype(dtype).type(0.1)
    beside = [near, np.nextafter(near, near.dtype.type(1)), np.nextafter(near, near.dtype.type(-1))]
    rows = np.array([[x, 0, 0, c] for x in [*STRANGE, *beside] for c in CATEGORIES], dtype)
    margin = treelite.gtil.predict(model, rows, pred_margin=True).squeeze()
    assert forest.full_scores(rows).tolist() == margin.astype(np.float64).tolist()
    assert len(set(margin.tolist())) == 3


def test_a_checkpoint_is_read_and_damaged_ones_are_refused_by_name(tmp_path):
    X, y = data()
    model = treelite.sklearn.import_model(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y))
    path = tmp_path / "model.bin"
    model.serialize(str(path))
    forest = PackedForest.from_treelite(path, classes=["ham", "spam"])
    assert forest.classes.tolist() == ["ham", "spam"]
    assert forest.votes(X).tolist() == PackedForest.from_treelite(model).votes(X).tolist()
    content = path.read_bytes()
    for bad in (b"", b"an email about forests", b"\x7fELF" + content[4:]):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError, match=r"model\.bin: not a treelite"):
            PackedForest.from_treelite(path)
    # Of what is cut off treelite takes sizes at random: they may ask for all memory, or make a damaged model.
    path.write_bytes(content[: len(content) // 2])
    with limited_memory(), pytest.raises(ForegoneError, match=r"model\.bin: treelite cannot|is damaged"):
        PackedForest.from_treelite(path)
    with pytest.raises(FileFormatError, match="cannot read"):
        PackedForest.from_treelite(tmp_path / "none")


@pytest.mark.parametrize(
    ("fitted", "message"),
    [
        (RandomForestRegressor(2, max_depth=2), "got one for regression"),
        (RandomForestClassifier(2, max_depth=2), "expected a model of two classes, got 3"),
        (IsolationForest(n_estimators=2, max_samples=20), "got one for outliers"),
    ],
)
def test_models_that_do_not_vote_between_two_classes_are_refused(fitted, message):
    X, _ = data()
    X = np.nan_to_num(X)
    model = treelite.sklearn.import_model(fitted.fit(X, X[:, 3] % 3))
    with pytest.raises(InvalidInputError, match=message):
        PackedForest.from_treelite(model)


def test_what_is_no_model_and_labels_that_are_not_one_for_each_class_are_refused():
    with pytest.raises(InvalidInputError, match="path of a checkpoint, got list"):
        PackedForest.from_treelite([])
    X, y = data()
    model = treelite.sklearn.import_model(RandomForestClassifier(1, max_depth=1).fit(X, y))
    with pytest.raises(InvalidInputError, match="two unique labels"):
        PackedForest.from_treelite(model, classes=["same", "same"])
    many = treelite.sklearn.import_model(RandomForestClassifier(1, max_depth=1).fit(*many_classes(3)))
    for classes in (["a", "b"], ["a", "b", "a"], [["a", "b", "c"]]):
        with pytest.raises(InvalidInputError, match="classes must be 3 unique labels"):
            import_model(many, classes)
