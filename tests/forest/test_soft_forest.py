"""Scores of scikit-learn's own ensembles are what their predict_proba and decision_function add up."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.by_model import import_model
from foregone.forest.importers.found import LeafKind
from tests.forest.slow_class_scores import assert_packs_the_same, class_scores, class_sums, class_votes
from tests.forest.slow_walk import near_thresholds

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

X, Y = make_classification(500, 8, n_informative=4, flip_y=0.2, random_state=0)

SOFT = [
    RandomForestClassifier(15, min_samples_leaf=5, random_state=1),
    RandomForestClassifier(14, max_depth=3, class_weight="balanced_subsample", random_state=1),
    ExtraTreesClassifier(15, max_depth=6, random_state=2),
    DecisionTreeClassifier(min_samples_leaf=7, random_state=3),
    ExtraTreeClassifier(max_depth=4, random_state=3),
    BaggingClassifier(DecisionTreeClassifier(max_depth=5), 15, random_state=4),
    BaggingClassifier(DecisionTreeClassifier(max_depth=5), 9, max_features=0.5, random_state=5),
    BaggingClassifier(ExtraTreeClassifier(), 9, max_features=3, bootstrap_features=True, random_state=6),
]


def probes(model):
    found = import_model(model, LeafKind.SCORE)
    return np.concatenate([X[250:], near_thresholds(found, X, np.random.default_rng(0))])


def assert_averages_as_the_model(model, rows):
    forest = ScoredForest.from_model(model)
    members = getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [slice(None)] * len(members))
    expected = np.zeros((len(rows), len(members)))
    for place, (member, subset) in enumerate(zip(members, columns, strict=True)):
        probability = member.predict_proba(rows[:, subset])
        yes = 1 if member is not model else model.classes_[1]
        if yes in member.classes_:
            expected[:, place] = probability[:, list(member.classes_).index(yes)]
    np.testing.assert_array_equal(forest.scores(rows), expected - 0.5)
    mean = forest.full_scores(rows) / len(members) + 0.5
    np.testing.assert_allclose(mean, model.predict_proba(rows)[:, 1], rtol=0, atol=1e-14)
    clear = np.abs(mean - 0.5) > 1e-14
    says = forest.classes[(forest.full_scores(rows) > 0).astype(int)]
    np.testing.assert_array_equal(says[clear], model.predict(rows)[clear])
    assert clear.mean() > 0.9
    return forest


@pytest.mark.parametrize("model", SOFT, ids=lambda model: str(model)[:60])
@pytest.mark.parametrize("labels", [(0, 1), ("yes", "no")])
def test_forests_average_as_their_predict_proba_does(model, labels):
    model.fit(X[:250], np.array(labels)[Y[:250]])
    forest = assert_averages_as_the_model(model, probes(model))
    np.testing.assert_array_equal(forest.classes, model.classes_)
    assert (forest.start, forest.takes_missing) == (0.0, True)


def test_missing_values_go_where_each_tree_sends_them():
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    assert_averages_as_the_model(RandomForestClassifier(9, max_depth=6, random_state=0).fit(holes, Y), holes)


def test_a_bagged_tree_that_knows_one_class_only_is_sure_of_it():
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, random_state=0).fit(X, Y)
    bag.estimators_[0] = DecisionTreeClassifier().fit(X, np.ones(len(X), int))
    bag.estimators_[1] = DecisionTreeClassifier().fit(X, np.zeros(len(X), int))
    assert ScoredForest.from_model(bag).scores(X[:1])[0, :2].tolist() == [0.5, -0.5]
    assert_averages_as_the_model(bag, X)


def test_a_tie_is_for_the_first_class_as_in_predict():
    model = RandomForestClassifier(4, random_state=0).fit(np.zeros((8, 1)), [0, 1] * 4)
    for member, yes in zip(model.estimators_, (0.25, 0.75, 1.0, 0.0), strict=True):
        member.tree_.value[0, 0] = [1 - yes, yes]
    forest = ScoredForest.from_model(model)
    assert forest.full_scores([[0.0], [1.0]]).tolist() == [0.0, 0.0]
    assert forest.run([[0.0], [1.0]], None).answers.tolist() == [False, False]
    assert model.predict([[0.0]])[0] == 0


@pytest.mark.parametrize(
    "options", [{}, {"init": "zero"}, {"loss": "exponential"}, {"learning_rate": 0.37, "subsample": 0.5}]
)
def test_gradient_boosting_adds_up_its_decision_function_stage_by_stage(options):
    model = GradientBoostingClassifier(n_estimators=30, random_state=0, **options).fit(X[:250], Y[:250])
    rows = probes(model)
    forest = ScoredForest.from_model(model)
    expected = [model.learning_rate * tree.predict(rows) for tree in model.estimators_[:, 0]]
    scores = forest.scores(rows)
    np.testing.assert_array_equal(scores, np.stack(expected, axis=1))
    running = forest.start + np.cumsum(scores, axis=1)
    stages = np.stack([np.ravel(stage) for stage in model.staged_decision_function(rows)], axis=1)
    # The last bit is the compiler's of scikit-learn: it may fuse the product and the sum.
    np.testing.assert_allclose(running, stages, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(forest.run(rows, None).answers, model.predict(rows))
    assert not forest.takes_missing


def test_gradient_boosting_from_a_constant_and_from_another_model():
    from sklearn.dummy import DummyClassifier

    constant = GradientBoostingClassifier(
        n_estimators=5, init=DummyClassifier(strategy="constant", constant=1), random_state=0
    ).fit(X, Y)
    forest = ScoredForest.from_model(constant)
    np.testing.assert_allclose(forest.full_scores(X), constant.decision_function(X), rtol=1e-13)
    for init in (LogisticRegression(), DummyClassifier(strategy="uniform")):
        model = GradientBoostingClassifier(n_estimators=5, init=init, random_state=0).fit(X, Y)
        with pytest.raises(InvalidInputError, match=f"init={type(init).__name__} is not supported"):
            ScoredForest.from_model(model)


@pytest.mark.parametrize("labels", [(0, 1), ("yes", "no")])
def test_adaboost_adds_up_weighted_votes_to_its_decision_function(labels):
    y = np.array(labels)[Y]
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=25, random_state=0)
    model.fit(X[:250], y[:250])
    rows = probes(model)
    forest = ScoredForest.from_model(model)
    votes = np.stack([member.predict(rows) == model.classes_[1] for member in model.estimators_], axis=1)
    weights = model.estimator_weights_[: len(model.estimators_)]
    np.testing.assert_array_equal(forest.scores(rows), np.where(votes, weights, -weights))
    full = forest.full_scores(rows)
    np.testing.assert_allclose(
        2 * full / model.estimator_weights_.sum(), model.decision_function(rows), atol=1e-14
    )
    np.testing.assert_array_equal(forest.classes[(full > 0).astype(int)], model.predict(rows))


def test_adaboost_that_ended_early_has_as_many_voters_as_members():
    model = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=10).fit(X, Y)
    assert len(model.estimators_) == 1
    forest = ScoredForest.from_model(model)
    assert forest.n_voters == 1
    np.testing.assert_array_equal(forest.run(X, None).answers, model.predict(X))


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(n_estimators=3), AdaBoostClassifier(n_estimators=3)]
)
def test_boosted_trees_refuse_missing_values_as_their_models_do(model):
    model.fit(X, Y)
    rows = X[:3].copy()
    rows[1, 1] = np.nan
    forest = ScoredForest.from_model(model)
    for given in (rows, rows[1:2]):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.predict(given)
        with pytest.raises(InvalidInputError, match="Input X contains NaN"):
            forest.run(given, None)


def test_boosted_trees_of_other_libraries_are_found_and_run():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    holes = X.copy()
    holes[::7, 3] = np.nan
    hist = HistGradientBoostingClassifier(max_iter=12, categorical_features=[7], random_state=0)
    holes[:, 7] = np.round(np.abs(X[:, 7]) * 3)
    light = lightgbm.LGBMClassifier(n_estimators=12, verbose=-1, n_jobs=1)
    extreme = xgboost.XGBClassifier(n_estimators=12, n_jobs=1)
    for model in (hist, light, extreme):
        model.fit(holes[:250], Y[:250])
    for model, raw, tolerance in (
        (hist, hist.decision_function(holes), 0),
        (light, light.predict(holes, raw_score=True), 0),
        (extreme, extreme.predict(holes, output_margin=True), 1e-5),
    ):
        forest = ScoredForest.from_model(model)
        np.testing.assert_allclose(forest.full_scores(holes), raw, rtol=0, atol=tolerance)
        for row in range(5):
            assert abs(forest.run_one(holes[row], None)[2] - raw[row]) <= tolerance
            assert abs(forest.run_one(holes[row].tolist(), None)[2] - raw[row]) <= tolerance


# Many classes --------------------------------------------------------------------------------


def many(n_classes, seed=0, n_rows=300):
    """Rows of many classes, the last of which are rare, so that bagged trees do not know all of them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 6))
    rows[:, 5] = rng.integers(0, 3, n_rows)
    shifted = rows[:, 0] + rows[:, 5] + 0.5 * rng.normal(size=n_rows)
    share = np.linspace(1.0, 0.05, n_classes)
    y = np.searchsorted(np.cumsum(share / share.sum()), np.argsort(np.argsort(shifted)) / n_rows)
    y[:n_classes] = np.arange(n_classes)
    return rows, y


def assert_answers_as_the_model(model, rows, sums, divided):
    """The first of the largest sums is ``predict``, except where only the division makes a tie."""
    largest = divided == divided.max(axis=1, keepdims=True)
    by_division = (largest & (sums < sums.max(axis=1, keepdims=True))).any(axis=1)
    assert by_division.mean() < 0.1
    answers = model.classes_[sums.argmax(axis=1)]
    np.testing.assert_array_equal(answers[~by_division], model.predict(rows)[~by_division])


def own_probabilities(model, rows):
    """Each tree's own predict_proba, in the columns of the classes of the whole."""
    members = getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [slice(None)] * len(members))
    expected = np.zeros((len(rows), len(members), len(model.classes_)))
    for place, (member, subset) in enumerate(zip(members, columns, strict=True)):
        known = slice(None) if member is model else member.classes_.astype(int)
        expected[:, place, known] = member.predict_proba(rows[:, subset])
    return expected


def assert_averages_many_as_the_model(model, rows):
    found = import_model(model, LeafKind.SCORE)
    expected = own_probabilities(model, rows)
    np.testing.assert_array_equal(class_scores(found, rows), expected)
    sums = class_sums(found, rows)
    np.testing.assert_array_equal(sums / expected.shape[1], model.predict_proba(rows))
    assert_answers_as_the_model(model, rows, sums, sums / expected.shape[1])
    np.testing.assert_array_equal(class_votes(found, rows), expected.argmax(axis=2))
    assert_packs_the_same(found, rows)
    np.testing.assert_allclose(found.link.probability(sums), model.predict_proba(rows), rtol=1e-14)
    assert (found.trees_a_round, found.trees_vote, found.in_order) == (1, True, False)
    return found


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (RandomForestClassifier(15, min_samples_leaf=5, random_state=1), 3),
        (RandomForestClassifier(14, max_depth=3, class_weight="balanced_subsample", random_state=1), 5),
        (RandomForestClassifier(1, random_state=1), 7),
        (ExtraTreesClassifier(300, max_depth=2, random_state=2), 4),
        (RandomForestClassifier(8, criterion="entropy", max_leaf_nodes=30, random_state=2), 100),
        (DecisionTreeClassifier(min_samples_leaf=7, random_state=3), 6),
        (ExtraTreeClassifier(max_depth=4, class_weight="balanced", random_state=3), 3),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=5), 15, random_state=4), 4),
        (
            BaggingClassifier(DecisionTreeClassifier(), 9, max_samples=25, max_features=0.5, random_state=5),
            26,
        ),
        (BaggingClassifier(ExtraTreeClassifier(), 9, max_features=3, bootstrap_features=True), 3),
    ],
    ids=lambda given: str(given)[:60],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_forests_of_many_classes_add_up_their_predict_proba_bit_for_bit(model, n_classes, weighted):
    rows, y = many(n_classes)
    labels = np.array([f"class {number:03}" for number in range(n_classes)])
    weights = np.random.default_rng(0).gamma(1.0, size=len(y)) if weighted else None
    model.fit(rows, labels[y], sample_weight=weights)
    found = import_model(model, LeafKind.SCORE)
    near = near_thresholds(found, rows, np.random.default_rng(0), 25)
    assert_averages_many_as_the_model(model, np.concatenate([rows[:100], near]))
    np.testing.assert_array_equal(found.classes, labels)


def test_bagged_trees_that_know_only_some_classes_say_nothing_of_the_others():
    rows, y = many(26)
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 9, random_state=5).fit(rows, y)
    for place in range(0, 9, 2):  # those to which only some of the rows were given
        model.estimators_[place] = DecisionTreeClassifier(max_depth=3).fit(rows[place::20], y[place::20])
        assert 1 < len(model.estimators_[place].classes_) < 26
    model.estimators_[1] = DecisionTreeClassifier().fit(rows, np.full(len(rows), 25))
    assert_averages_many_as_the_model(model, rows)


def test_missing_values_go_where_each_tree_of_many_classes_sends_them():
    rows, y = many(5)
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
    model = RandomForestClassifier(9, max_depth=6, random_state=0).fit(rows, y)
    assert assert_averages_many_as_the_model(model, rows).takes_missing


def test_equal_sums_of_many_classes_are_for_the_first_as_in_predict():
    model = RandomForestClassifier(4, random_state=0).fit(np.zeros((9, 1)), [0, 1, 2] * 3)
    for member, value in zip(model.estimators_, ([0, 0.25, 0.75], [0, 0.75, 0.25]) * 2, strict=True):
        member.tree_.value[0, 0] = value
    found = import_model(model, LeafKind.SCORE)
    assert class_sums(found, [[0.0]]).tolist() == [[0.0, 2.0, 2.0]]
    assert found.classes[class_sums(found, [[0.0]]).argmax()] == model.predict([[0.0]])[0] == 1


@pytest.mark.parametrize(
    ("n_classes", "n_members", "depth"), [(3, 300, 1), (4, 25, 3), (26, 12, 6), (100, 5, None), (3, 1, 2)]
)
def test_adaboost_of_many_classes_adds_up_its_decision_function_before_the_division(
    n_classes, n_members, depth
):
    rows, y = many(n_classes)
    labels = np.array([f"class {number:03}" for number in range(n_classes)])
    tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=3)
    model = AdaBoostClassifier(tree, n_estimators=n_members, random_state=0).fit(rows, labels[y])
    found = import_model(model, LeafKind.SCORE)
    probes = np.concatenate([rows[:100], near_thresholds(found, rows, np.random.default_rng(0), 25)])
    expected = sum(
        np.where((member.predict(probes) == labels[:, None]).T, weight, -1 / (n_classes - 1) * weight)
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False)
    )
    sums = class_sums(found, probes)
    np.testing.assert_array_equal(sums, expected)
    decision = sums / model.estimator_weights_.sum()
    np.testing.assert_array_equal(decision, model.decision_function(probes))
    assert_answers_as_the_model(model, probes, sums, decision)
    assert_packs_the_same(found, probes)
    np.testing.assert_allclose(found.link.probability(sums), model.predict_proba(probes), rtol=1e-12)
    assert (found.trees_a_round, found.trees_vote, found.in_order) == (1, False, True)


def test_a_member_of_adaboost_that_knows_only_some_classes_gives_the_others_the_negative_share():
    rows, y = many(4)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0)
    model.fit(rows, y)
    model.estimators_[1] = DecisionTreeClassifier().fit(rows, np.full(len(y), 2))
    weight = model.estimator_weights_[1]
    scores = class_scores(import_model(model, LeafKind.SCORE), rows[:5])
    assert (scores[:, 1] == np.where(np.arange(4) == 2, weight, -1 / 3 * weight)).all()


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LogisticRegression().fit(X, Y), InvalidInputError, "got LogisticRegression"),
        (RandomForestRegressor(3).fit(X, Y), InvalidInputError, "got RandomForestRegressor"),
        ("a forest", InvalidInputError, "got str"),
        (RandomForestClassifier(3), NotFittedError, "not fitted"),
        (GradientBoostingClassifier(), NotFittedError, "not fitted"),
        (AdaBoostClassifier(), NotFittedError, "not fitted"),
        (BaggingClassifier(GaussianNB(), 3).fit(X, Y), InvalidInputError, "one of GaussianNB"),
        (
            AdaBoostClassifier(GaussianNB(), n_estimators=3).fit(X, Y),
            InvalidInputError,
            "one of GaussianNB",
        ),
        (
            RandomForestClassifier(3).fit(X, 0 * Y),
            InvalidInputError,
            "expected 2 to .* the model has 1",
        ),
        (DecisionTreeClassifier().fit(X, np.c_[Y, Y]), InvalidInputError, "2 outputs"),
    ],
)
def test_what_has_no_trees_of_classes_is_refused_with_a_reason(model, error, message):
    with pytest.raises(error, match=message):
        ScoredForest.from_model(model)
