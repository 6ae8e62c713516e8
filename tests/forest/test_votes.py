"""Each tree's vote is the one its own ``predict`` gives, bit for bit."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from foregone.forest import PackedForest

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form


def members(model):
    return getattr(model, "estimators_", [model])


def own_votes(model, X):
    """Each tree's own predict, as scikit-learn would call it."""
    columns = getattr(model, "estimators_features_", [slice(None)] * len(members(model)))
    predictions = [tree.predict(X[:, subset]) for tree, subset in zip(members(model), columns, strict=True)]
    yes = model.classes_[1] if members(model)[0] is model else 1
    return np.stack(predictions, axis=1) == yes


def assert_same_votes(model, X):
    forest = PackedForest.from_sklearn(model)
    expected = own_votes(model, X)
    matrix = forest.vote_matrix(X)
    assert matrix.dtype == np.bool_
    np.testing.assert_array_equal(matrix, expected)
    np.testing.assert_array_equal(forest.votes(X), expected.sum(axis=1))
    for row in range(min(5, len(X))):
        assert forest.votes(X[row : row + 1]) == expected[row].sum()
    return forest


def data(n_rows=400, n_features=8, seed=0, **options):
    X, y = make_classification(n_rows, n_features, n_informative=4, flip_y=0.2, random_state=seed, **options)
    return X, y


def probes(model, X):
    """Rows of X with one feature moved onto, just below and just above a threshold of the model."""
    rng = np.random.default_rng(0)
    rows = []
    for tree, subset in zip(
        members(model), getattr(model, "estimators_features_", [None] * 999), strict=False
    ):
        splits = np.flatnonzero(tree.tree_.children_left >= 0)
        for node in splits[:40]:
            feature, threshold = tree.tree_.feature[node], tree.tree_.threshold[node]
            feature = feature if subset is None else subset[feature]
            near = np.float32(threshold)
            values = [threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf), near]
            values += [np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
            for value in values:
                row = X[rng.integers(len(X))].astype(np.float64)
                row[feature] = value
                rows.append(row)
    return np.array(rows)


MODELS = [
    RandomForestClassifier(15, random_state=1),
    RandomForestClassifier(15, max_depth=3, random_state=1),
    RandomForestClassifier(7, class_weight="balanced_subsample", min_samples_leaf=5, random_state=1),
    ExtraTreesClassifier(15, random_state=2),
    DecisionTreeClassifier(random_state=3),
    ExtraTreeClassifier(random_state=3),
    BaggingClassifier(DecisionTreeClassifier(), 15, random_state=4),
    BaggingClassifier(DecisionTreeClassifier(), 15, max_features=0.5, max_samples=0.3, random_state=5),
    BaggingClassifier(ExtraTreeClassifier(), 9, max_features=3, bootstrap_features=True, random_state=6),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_tree_votes_as_its_own_predict_does(model, dtype):
    X, y = data()
    model.fit(X[:250], y[:250])
    assert_same_votes(model, X.astype(dtype))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
def test_votes_agree_on_both_sides_of_thresholds(model):
    X, y = data()
    model.fit(X, y)
    assert_same_votes(model, probes(model, X))


def test_votes_agree_at_zeros_of_both_signs_and_the_edges_of_float32():
    largest = np.finfo(np.float32).max
    special = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-300, -1e-300, largest, -largest, 1.0, -1.0])
    X = np.array(np.meshgrid(special, special)).reshape(2, -1).T
    y = np.random.default_rng(0).integers(0, 2, len(X))
    with np.errstate(invalid="ignore", over="ignore"):  # scikit-learn sums the values to look for infinities
        model = RandomForestClassifier(25, random_state=0).fit(X, y)
        assert_same_votes(model, X)
        thresholds_near_zero = ExtraTreesClassifier(25, random_state=0).fit(np.sign(X), y)
        assert_same_votes(thresholds_near_zero, X)


def test_a_threshold_of_minus_zero_sends_both_zeros_left():
    X = np.array([[-1.0], [1.0]])
    model = DecisionTreeClassifier().fit(X, [0, 1])
    state = model.tree_.__getstate__()
    state["nodes"]["threshold"][0] = -0.0
    model.tree_.__setstate__(state)
    assert_same_votes(model, np.array([[0.0], [-0.0], [1e-45], [-1e-45]]))


def test_votes_do_not_depend_on_the_number_of_rows():
    X, y = data()
    model = RandomForestClassifier(9, random_state=0).fit(X, y)
    forest = PackedForest.from_sklearn(model)
    expected = own_votes(model, X).sum(axis=1)
    for n_rows in range(1, 40):
        np.testing.assert_array_equal(forest.votes(X[:n_rows]), expected[:n_rows])


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(21, random_state=0), ExtraTreesClassifier(21, random_state=0)]
)
@pytest.mark.parametrize("missing_when_fitted", [True, False])
def test_missing_values_go_where_each_tree_sends_them(model, missing_when_fitted):
    X, y = data()
    rng = np.random.default_rng(1)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.2] = np.nan
    holes[:, 3] = np.nan
    holes[::7] = X[::7]
    forest = assert_same_votes(model.fit(holes if missing_when_fitted else X, y), holes)
    assert forest.takes_missing
    negative_nan = -np.abs(holes.astype(np.float32))
    assert_same_votes(model, negative_nan)


def test_missing_values_in_a_bag_with_feature_subsets():
    X, y = data()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = BaggingClassifier(DecisionTreeClassifier(), 9, max_features=0.6, random_state=0).fit(X, y)
    assert_same_votes(model, X)


def test_constant_features_and_trees_of_one_leaf():
    X, y = data()
    X[:, :6] = 7.0
    assert_same_votes(RandomForestClassifier(9, random_state=0).fit(X, y), X)
    for majority in (0, 1):
        stump = RandomForestClassifier(9, random_state=0).fit(
            np.ones((20, 3)), [majority] * 15 + [1 - majority] * 5
        )
        forest = assert_same_votes(stump, np.ones((4, 3)))
        assert forest.votes(np.ones((1, 3)))[0] == (9 if majority else 0)


def test_a_tie_inside_a_leaf_is_for_the_first_class():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = DecisionTreeClassifier().fit(X, ["a", "b", "a", "b"])
    assert assert_same_votes(model, X).votes(X).tolist() == [0, 0, 0, 0]


def test_a_class_absent_from_some_bootstraps():
    X, y = data(300)
    y[:] = 0
    y[:4] = 1
    for model in (
        RandomForestClassifier(15, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 15, max_samples=0.2, random_state=0),
    ):
        assert_same_votes(model.fit(X, y), X)
        assert_same_votes(model.fit(X, 1 - y), X)


def test_a_bagged_tree_that_knows_one_class_only_votes_for_it():
    X, y = data(60)
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, random_state=0).fit(X, y)
    bag.estimators_[0] = DecisionTreeClassifier().fit(X, np.ones(60, int))
    bag.estimators_[1] = DecisionTreeClassifier().fit(X, np.zeros(60, int))
    matrix = assert_same_votes(bag, X).vote_matrix(X)
    assert matrix[:, 0].all()
    assert not matrix[:, 1].any()


def test_more_than_256_features_take_wide_nodes():
    X, y = data(150, 300)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    forest = assert_same_votes(ExtraTreesClassifier(9, random_state=0).fit(X, y), X)
    assert forest.nodes.ndim == 2
    few = assert_same_votes(ExtraTreesClassifier(9, random_state=0).fit(X[:, :256], y), X[:, :256])
    assert few.nodes.ndim == 1


def test_offsets_too_long_for_a_compact_node_take_wide_nodes(monkeypatch):
    X, y = data()
    model = RandomForestClassifier(9, random_state=0).fit(X, y)
    compact = PackedForest.from_sklearn(model)
    monkeypatch.setattr("foregone.forest.layout.COMPACT_OFFSET_LIMIT", 10)
    wide = assert_same_votes(model, X)
    assert compact.nodes.ndim == 1
    assert wide.nodes.ndim == 2
    assert wide.nodes.nbytes == 2 * compact.nodes.nbytes


@pytest.mark.parametrize(
    "names", [("no", "yes"), ("yes", "no"), (0, 1), (5, -3), (True, False), (2.0, 1.0), (b"x", b"y")]
)
def test_labels_of_any_type_in_either_order(names):
    X, y = data(150)
    labels = np.array(names)[y]
    for model in (RandomForestClassifier(5, random_state=0), DecisionTreeClassifier(max_depth=4)):
        model.fit(X, labels)
        forest = assert_same_votes(model, X)
        np.testing.assert_array_equal(forest.classes, model.classes_)


def test_every_way_to_pass_the_same_numbers_gives_the_same_votes():
    pd = pytest.importorskip("pandas")
    X, y = data()
    X = np.round(X * 3)
    forest = PackedForest.from_sklearn(RandomForestClassifier(9, random_state=0).fit(X, y))
    expected = forest.votes(X)
    read_only = X.copy()
    read_only.setflags(write=False)
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = X
    unaligned = np.frombuffer(b"x" + X.tobytes(), np.float64, offset=1).reshape(X.shape)
    others = [
        np.asfortranarray(X), wide[:, ::2], np.repeat(X, 2, axis=0)[::2], X[::-1][::-1], read_only, unaligned,
        X.astype(np.float32), np.asfortranarray(X.astype(np.float32)), X.astype(np.int64), X.astype(np.int8),
        X.astype(np.float16), X.astype(">f8"), X.astype(object), X.tolist(), pd.DataFrame(X),
        pd.DataFrame(X).astype({0: np.int64, 1: np.float32}), X.astype(str), X.astype(np.longdouble),
    ]  # fmt: skip
    for other in others:
        np.testing.assert_array_equal(forest.votes(other), expected)
        one = other.iloc[3:4] if isinstance(other, pd.DataFrame) else other[3:4]
        assert forest.votes(one)[0] == expected[3]


def test_whole_numbers_are_rounded_to_float32_once():
    # 2**60 + 2**36 + 1 lies just above the middle of two float32; by way of float64 it would be rounded down.
    value = 2**60 + 2**36 + 1
    X = np.array([[2**60], [2**60 + 2**37]], np.float64)
    model = DecisionTreeClassifier().fit(X, [0, 1])
    assert_same_votes(model, np.array([[value], [value - 2], [2**60]], np.int64))


def test_a_packed_forest_is_far_smaller_than_the_model():
    X, y = data(2000)
    model = RandomForestClassifier(11, random_state=0).fit(X, y)
    forest = PackedForest.from_sklearn(model)
    node_bytes = sum(tree.tree_.node_count * (64 + 16) for tree in model.estimators_)
    assert forest.nbytes * 15 < node_bytes
    assert forest.n_trees == 11
    assert forest.n_features == 8


def test_nodes_that_no_row_can_reach_are_left_out():
    X, y = data()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    before = PackedForest.from_sklearn(model)
    state = model.tree_.__getstate__()
    branch = state["nodes"]["left_child"][0]
    assert state["nodes"]["left_child"][branch] >= 0
    state["nodes"]["left_child"][branch] = state["nodes"]["right_child"][branch] = -1
    model.tree_.__setstate__(state)
    assert assert_same_votes(model, X).nbytes < before.nbytes
