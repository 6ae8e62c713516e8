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
from tests.forest.slow_walk import near_thresholds

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
        with pytest.raises(InvalidInputError, match=f"init={type(init).__name__} cannot be packed"):
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


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LogisticRegression().fit(X, Y), InvalidInputError, "not from LogisticRegression"),
        (RandomForestRegressor(3).fit(X, Y), InvalidInputError, "not from RandomForestRegressor"),
        ("a forest", InvalidInputError, "not from str"),
        (RandomForestClassifier(3), NotFittedError, "not fitted"),
        (GradientBoostingClassifier(), NotFittedError, "not fitted"),
        (AdaBoostClassifier(), NotFittedError, "not fitted"),
        (BaggingClassifier(GaussianNB(), 3).fit(X, Y), InvalidInputError, "holds GaussianNB"),
        (AdaBoostClassifier(GaussianNB(), n_estimators=3).fit(X, Y), InvalidInputError, "holds GaussianNB"),
        (
            RandomForestClassifier(3).fit(X, np.arange(500) % 3),
            InvalidInputError,
            "two classes, the model has 3",
        ),
        (DecisionTreeClassifier().fit(X, np.c_[Y, Y]), InvalidInputError, "2 outputs"),
        (GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(500) % 3), InvalidInputError, "has 3"),
    ],
)
def test_what_has_no_trees_of_two_classes_is_refused_with_a_reason(model, error, message):
    with pytest.raises(error, match=message):
        ScoredForest.from_model(model)
