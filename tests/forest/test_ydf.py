"""Random forests of ydf: every row reaches the leaves that it reaches there, and the votes are its own."""

import numpy as np
import pandas as pd
import pytest

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, ScoredForest

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
    """Numbers with gaps, texts with gaps, whole numbers that are categories, and a column of yes and no."""
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
    with pytest.raises(FileFormatError, match="not a folder that a model of ydf"):
        PackedForest.from_ydf(tmp_path)
    for part in (tmp_path / "model").iterdir():
        if part.name != "data_spec.pb":
            part.write_bytes(b"")
    with pytest.raises(FileFormatError, match="ydf cannot read its model"):
        PackedForest.from_ydf(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"split_axis": "SPARSE_OBLIQUE", "features": ["height", "steps"]},
            "NumericalSparseObliqueCondition",
        ),
        ({"label": "zone"}, "the forest has 6"),
        ({"label": "steps", "task": ydf.Task.REGRESSION}, "is for regression"),
    ],
)
def test_other_forests_are_refused(settings, message):
    features = settings.pop("features", ["height"])
    with pytest.raises(InvalidInputError, match=message):
        PackedForest.from_ydf(train(**settings, features=features))


def test_what_is_no_random_forest_is_refused():
    boosted = ydf.GradientBoostedTreesLearner(label="y", features=["height"], num_trees=2).train(data())
    for other in (boosted, 7):
        with pytest.raises(InvalidInputError, match="a random forest of ydf is expected"):
            PackedForest.from_ydf(other)
