"""Forests and boosted trees of ydf: every row reaches the leaves that it reaches there, votes are its own."""

import numpy as np
import pandas as pd
import pytest

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.ydf import import_model
from foregone.plurality import rules
from tests.forest.slow_class_scores import assert_packs_the_same, class_scores, class_sums, class_votes

ydf = pytest.importorskip("ydf")
ydf.verbose(0)

KINDS = [
    {},
    {"winner_take_all": False},
    {"max_depth": 1},
    {"discretize_numerical_columns": True},
    {"missing_value_policy": "LOCAL_IMPUTATION"},
    {"categorical_algorithm": "RANDOM"},
]


def data(seed=0, n_rows=300):
    """Numbers with gaps, texts with gaps, integers that are categories, and a column of yes and no."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=n_rows),
            "steps": rng.integers(0, 5, n_rows).astype(float),
            "size": rng.choice(["S", "M", "L", "XL"], n_rows).astype(object),
            "zone": rng.integers(0, 6, n_rows),
            "old": rng.random(n_rows) < 0.5,
        }
    )
    noise = rng.normal(size=n_rows) * 0.5
    frame["y"] = frame["height"] + 2 * (frame["size"] == "L") - frame["zone"] / 5 + frame["old"] + noise > 0.5
    frame["y"] = np.where(frame["y"], "sick", "healthy")
    frame.loc[rng.random(n_rows) < 0.1, "height"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "size"] = None
    return frame


def strange(frame):
    """Rows with gaps where there were none, infinities, and categories that were not seen."""
    rng = np.random.default_rng(9)
    for column, value in [
        ("size", "XXL"),
        ("zone", 77),
        ("zone", -3),
        ("height", np.inf),
        ("height", -np.inf),
    ]:
        frame.loc[rng.random(len(frame)) < 0.1, column] = value
    frame.loc[rng.random(len(frame)) < 0.1, "steps"] = np.nan
    return frame


def train(frame=None, **settings):
    features = [
        *(ydf.Feature(name) for name in ("height", "steps", "old")),
        *(ydf.Feature(name, ydf.Semantic.CATEGORICAL, min_vocab_frequency=1) for name in ("size", "zone")),
    ]
    settings = {"num_trees": 9, "max_depth": 5, "compute_oob_performances": False, **settings}
    settings.setdefault("features", features)
    return ydf.RandomForestLearner(**{"label": "y", **settings}).train(data() if frame is None else frame)


def leaf_probabilities(model, frame):
    """p(yes) of the leaf that each row reaches in each tree, by ydf's own numbers of leaves."""

    def leaves(node):
        if node.is_leaf:
            return [node.value.probability[1]]
        return leaves(node.neg_child) + leaves(node.pos_child)

    tables = [np.array(leaves(tree.root)) for tree in model.iter_trees()]
    reached = model.predict_leaves(frame)
    return np.column_stack([table[reached[:, tree]] for tree, table in enumerate(tables)])


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_every_tree_votes_and_every_leaf_counts_as_in_ydf(settings):
    model = train(**settings)
    frame = strange(data(1))
    rows = frame[model.input_feature_names()]
    packed, scored = PackedForest.from_ydf(model), ScoredForest.from_ydf(model)
    assert packed.classes.tolist() == model.label_classes()
    shares = leaf_probabilities(model, frame)
    assert packed.vote_matrix(rows).tolist() == (shares > 0.5).tolist()
    np.testing.assert_allclose(scored.scores(rows) + 0.5, shares, rtol=0, atol=1e-15)
    own = model.predict(frame, use_slow_engine=not model.list_compatible_engines())
    if model.winner_takes_all():
        assert packed.votes(rows).tolist() == np.round(own * 9).tolist()
        answers = 2 * packed.votes(rows) > packed.n_trees
    else:
        np.testing.assert_allclose(scored.full_scores(rows) / 9 + 0.5, own, rtol=0, atol=1e-6)
        answers = scored.full_scores(rows) > 0
    clear = np.abs(own - 0.5) > 1e-6
    yes = np.array(model.label_classes())[(own > 0.5).astype(int)]
    assert packed.classes[answers.astype(int)][clear].tolist() == yes[clear].tolist()


def test_one_row_and_saved_forests_answer_as_all_rows_do(tmp_path):
    model = train()
    rows = strange(data(1))[model.input_feature_names()]
    forest = PackedForest.from_ydf(model)
    forest.save(tmp_path / "forest")
    loaded = PackedForest.load(tmp_path / "forest")
    votes = forest.votes(rows).tolist()
    assert loaded.votes(rows).tolist() == votes
    lists = [[None if value != value else value for value in row] for row in rows.to_numpy(object).tolist()]
    assert loaded.votes(lists).tolist() == votes
    assert [loaded.run_one(row, None, seed=0)[2] for row in lists[:40]] == votes[:40]
    assert [loaded.votes([row]).item() for row in lists[:40]] == votes[:40]


def test_a_saved_model_is_read_and_other_folders_are_refused(tmp_path):
    model = train()
    rows = data(1)[model.input_feature_names()]
    model.save(str(tmp_path / "model"))
    votes = PackedForest.from_ydf(tmp_path / "model").votes(rows)
    assert votes.tolist() == PackedForest.from_ydf(model).votes(rows).tolist()
    with pytest.raises(FileFormatError, match="not a folder with a saved ydf model"):
        PackedForest.from_ydf(tmp_path)
    for part in (tmp_path / "model").iterdir():
        if part.name != "data_spec.pb":
            part.write_bytes(b"")
    with pytest.raises(FileFormatError, match="ydf cannot read this model"):
        PackedForest.from_ydf(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"split_axis": "SPARSE_OBLIQUE", "features": ["height", "steps"]},
            "NumericalSparseObliqueCondition",
        ),
        ({"label": "zone"}, "expected a model of two classes, got 6"),
        ({"label": "steps", "task": ydf.Task.REGRESSION}, "got one for regression"),
    ],
)
def test_other_forests_are_refused(settings, message):
    features = settings.pop("features", ["height"])
    with pytest.raises(InvalidInputError, match=message):
        PackedForest.from_ydf(train(**settings, features=features))


def test_what_is_no_forest_is_refused():
    boosted = boost(data(), num_trees=2)
    with pytest.raises(InvalidInputError, match="do not vote"):
        PackedForest.from_ydf(boosted)
    cart = ydf.CartLearner(label="y", features=["height"], max_depth=2).train(data())
    isolation = ydf.IsolationForestLearner(features=["height"], num_trees=2).train(data())
    assert isinstance(cart, ydf.RandomForestModel)
    for other in (isolation, 7):
        with pytest.raises(InvalidInputError, match="expected a ydf RandomForestModel"):
            PackedForest.from_ydf(other)


# Many classes --------------------------------------------------------------------------------


def many(n_classes, seed=0, n_rows=400):
    """The same columns, and more classes."""
    frame = data(seed, n_rows)
    shifted = np.nan_to_num(frame["height"]) + 2 * (frame["size"] == "L") - frame["zone"] / 5 + frame["old"]
    noise = np.random.default_rng(seed + 1).normal(size=n_rows) * 0.4
    ranks = np.argsort(np.argsort(shifted + noise))
    frame["y"] = [f"class {number:02}" for number in ranks * n_classes // n_rows]
    return frame


def values_reached(model, frame):
    """What the leaf holds that each row reaches in each tree, by ydf's own numbers of leaves."""

    def leaves(node):
        if node.is_leaf:
            return [getattr(node.value, "probability", None) or [node.value.value]]
        return leaves(node.neg_child) + leaves(node.pos_child)

    reached = model.predict_leaves(frame)
    tables = [np.array(leaves(tree.root)) for tree in model.iter_trees()]
    return np.stack([table[reached[:, tree]] for tree, table in enumerate(tables)], axis=1)


def predict(model, frame):
    return model.predict(frame, use_slow_engine=not model.list_compatible_engines())


def assert_answers_as_ydf(found, sums, own):
    """Where the two largest of ydf's probabilities are not within rounding, the answer is its own."""
    top = np.sort(own, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-5
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(sums.argmax(axis=1)[clear], own.argmax(axis=1)[clear])


@pytest.mark.parametrize("settings", KINDS, ids=str)
@pytest.mark.parametrize("n_classes", [3, 20])
def test_forests_of_many_classes_vote_and_average_as_in_ydf(settings, n_classes):
    model = train(many(n_classes), **settings)
    frame = strange(many(n_classes, 1))
    rows = frame[model.input_feature_names()]
    found = import_model(model)
    assert found.classes.tolist() == model.label_classes()
    shares = values_reached(model, frame)
    votes = shares.argmax(axis=2)
    np.testing.assert_array_equal(class_votes(found, rows), votes)
    assert_packs_the_same(found, rows)
    np.testing.assert_array_equal(
        class_scores(found, rows), np.eye(n_classes)[votes] if model.winner_takes_all() else shares
    )
    forest = PluralityForest.from_ydf(model)
    np.testing.assert_array_equal(forest.vote_matrix(rows), votes)
    sums, own = class_sums(found, rows), predict(model, frame)
    np.testing.assert_allclose(found.link.probability(sums), own, rtol=0, atol=1e-6)
    assert_answers_as_ydf(found, sums, own)
    if model.winner_takes_all():
        np.testing.assert_array_equal(sums, np.round(own * 9))
        np.testing.assert_array_equal(sums, forest.votes(rows))


def test_one_row_and_saved_forests_of_many_classes_answer_as_all_rows_do(tmp_path):
    model = train(many(4))
    rows = strange(many(4, 1))[model.input_feature_names()]
    forest = PluralityForest.from_ydf(model)
    forest.save(tmp_path / "forest")
    loaded = PluralityForest.load(tmp_path / "forest")
    votes = forest.votes(rows).tolist()
    assert loaded.votes(rows).tolist() == votes
    lists = [[None if value != value else value for value in row] for row in rows.to_numpy(object).tolist()]
    assert loaded.votes(lists).tolist() == votes
    for order in ("shared", "dealt", "per_row"):
        outcome = forest.run(rows, rules.lead(9, 3), seed=0, order=order)
        alone = [loaded.run_one(row, rules.lead(9, 3), seed=0, order=order) for row in lists[:40]]
        assert alone == list(zip(*(part[:40].tolist() for part in outcome), strict=True))


# Boosted trees -------------------------------------------------------------------------------


def boost(frame, **settings):
    features = [
        *(ydf.Feature(name) for name in ("height", "steps", "old")),
        *(ydf.Feature(name, ydf.Semantic.CATEGORICAL, min_vocab_frequency=1) for name in ("size", "zone")),
    ]
    settings = {"label": "y", "num_trees": 12, "max_depth": 4, "validation_ratio": 0.0, **settings}
    settings.setdefault("features", features)
    return ydf.GradientBoostedTreesLearner(**settings).train(frame)


BOOSTED = [
    {},
    {"shrinkage": 0.7, "subsample": 0.6},
    {"forest_extraction": "DART", "dart_dropout": 0.2},
    {"validation_ratio": 0.2},
]


@pytest.mark.parametrize("settings", BOOSTED, ids=str)
@pytest.mark.parametrize("n_classes", [3, 12])
def test_boosted_trees_of_many_classes_add_up_the_leaves_that_ydf_does(settings, n_classes):
    model = boost(many(n_classes), **settings)
    frame = strange(many(n_classes, 1))
    rows = frame[model.input_feature_names()]
    found = import_model(model)
    values = values_reached(model, frame).reshape(len(frame), -1, n_classes)
    np.testing.assert_array_equal(class_scores(found, rows), values)
    assert_packs_the_same(found, rows)
    assert found.trees_a_round == n_classes
    np.testing.assert_array_equal(found.start, model.initial_predictions())
    sums, own = class_sums(found, rows), predict(model, frame)
    np.testing.assert_allclose(found.link.probability(sums), own, rtol=0, atol=2e-6)
    assert_answers_as_ydf(found, sums, own)
    model.set_output_logits(True)
    np.testing.assert_allclose(sums, predict(model, frame), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("settings", [*BOOSTED, {"loss": "BINARY_FOCAL_LOSS"}], ids=str)
def test_boosted_trees_of_two_classes_add_up_the_leaves_that_ydf_does(settings, tmp_path):
    model = boost(data(), **settings)
    frame = strange(data(1))
    rows = frame[model.input_feature_names()]
    forest = ScoredForest.from_ydf(model)
    np.testing.assert_array_equal(forest.scores(rows), values_reached(model, frame)[:, :, 0])
    own = predict(model, frame)
    sums = forest.full_scores(rows)
    np.testing.assert_allclose(forest.link.probability(sums), own, rtol=0, atol=2e-6)
    clear = np.abs(own - 0.5) > 1e-5
    np.testing.assert_array_equal((sums > 0)[clear], (own > 0.5)[clear])
    assert (forest.classes.tolist(), forest.in_order) == (model.label_classes(), True)
    model.save(str(tmp_path / "model"))
    np.testing.assert_array_equal(ScoredForest.from_ydf(tmp_path / "model").full_scores(rows), sums)


def test_boosted_trees_that_do_not_tell_classes_by_their_sums_are_refused():
    model = boost(many(3), num_trees=2)
    model.set_output_logits(True)
    with pytest.raises(InvalidInputError, match="set_output_logits"):
        import_model(model)
    with pytest.raises(InvalidInputError, match="got one for regression"):
        import_model(boost(data(), num_trees=2, label="steps", task=ydf.Task.REGRESSION, features=["height"]))
    with pytest.raises(InvalidInputError, match="2 classes with activation SOFTMAX and 2 trees"):
        import_model(boost(data(), num_trees=2, loss="MULTINOMIAL_LOG_LIKELIHOOD"))
