"""From a threshold on, the answer is classes_[1]: one that is given, or one that a model brings along."""

from functools import cache

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier.calibration_warnings import HardVoteWarning
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, ScoredForest
from tests.classifier.models import CATBOOST, RareRows, catboost_models, three_members

CLOSE = 1e-12  # probabilities may differ by so much, added up in another order
CLOSE_32 = 1e-5  # in float32


part = RareRows(6000, 600, 1000, 3500, common=0.85, flip_y=0.1)


def in_a_pipeline(model):
    return make_pipeline(StandardScaler(), model)


MODELS = {
    "forest": RandomForestClassifier(30, random_state=0),
    "tuned forest": RandomForestClassifier(31, min_samples_leaf=5, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "small tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "bag of trees": BaggingClassifier(DecisionTreeClassifier(), 15, max_features=0.7, random_state=0),
    "bag of others": BaggingClassifier(GaussianNB(), 9, max_samples=0.1, random_state=0),
    "bag of votes": BaggingClassifier(RidgeClassifier(), 10, max_samples=0.05, random_state=0),
    "committee": VotingClassifier(three_members(), voting="soft", weights=[1, 2, 3]),
    "gradients": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "exponential": GradientBoostingClassifier(n_estimators=20, loss="exponential", random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=20, random_state=0),
    "adaboost of others": AdaBoostClassifier(GaussianNB(), n_estimators=5, random_state=0),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, sigmoid=2.0, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
    **catboost_models(catboost={"iterations": 20}),
    "calibrated forest": CalibratedClassifierCV(
        RandomForestClassifier(15, random_state=0), method="isotonic", ensemble=False, cv=2
    ),
    "calibrated histograms": CalibratedClassifierCV(
        HistGradientBoostingClassifier(max_iter=10, random_state=0), ensemble=False, cv=2
    ),
    "pipeline": in_a_pipeline(RandomForestClassifier(15, min_samples_leaf=3, random_state=0)),
}  # fmt: skip
COUNTED = {"forest", "extra trees", "tree", "bag of trees", "bag of votes"}


@cache
def fitted(name, text=False):
    return clone(MODELS[name]).fit(*part("fit", text))


def told(model, X):
    return model.predict_proba(X)[:, 1]


def clearly(probability, threshold):
    """Rows whose probability is that of the threshold, or so far away that rounding does not matter."""
    close = CLOSE if probability.dtype == np.float64 else CLOSE_32
    exact = (probability == threshold) & (probability.dtype == np.float64)
    return exact | (np.abs(probability - threshold) > close)


@pytest.mark.parametrize("name", MODELS)
def test_the_answer_is_the_model_s_own_at_any_threshold(name):
    model, X = fitted(name), part("test")[0]
    probability = told(model, X)
    occurring = np.unique(probability)
    for threshold in (0.2, 0.5, 2 / 3, *(float(p) for p in occurring[[1, len(occurring) // 2, -1]])):
        classifier = early_stop(model, threshold=threshold)
        assert classifier.voting_ == ("hard" if name in COUNTED else "soft")
        own = (probability >= threshold).astype(int)
        sure = clearly(probability, threshold)
        assert sure.mean() > 0.9
        np.testing.assert_array_equal(classifier.full_predict(X)[sure], own[sure])
        np.testing.assert_array_equal(classifier.predict(X), classifier.full_predict(X))
        tolerance = CLOSE_32 if name == "xgboost" else CLOSE
        np.testing.assert_allclose(told(classifier, X), probability, rtol=0, atol=tolerance)
    assert [classifier.predict(X[k : k + 1])[0] for k in range(5)] == classifier.predict(X[:5]).tolist()


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms", "committee", "calibrated forest"])
def test_the_limit_is_about_the_model_s_own_answer_at_the_threshold(name):
    model, X = fitted(name, text=True), part("test")[0]
    classifier = early_stop(model, part("stop")[0], 0.02, threshold=0.2, random_state=0)
    own = np.where(told(model, X) >= 0.2, "yes", "no")
    assert np.mean(own != model.predict(X)) > 0.05
    assert classifier.promise_.about == "classifier"
    assert classifier.expected_votes_ < 0.9 * classifier.ensemble_.n_voters
    assert np.mean(classifier.predict(X) != own) <= 0.03
    differs = getattr(classifier, "hard_soft_disagreement_", None)
    assert (classifier.rounding_disagreement_ if differs is None else differs) == 0


@pytest.mark.parametrize("name", ["forest", "tuned forest"])
def test_limits_by_class_are_kept_at_a_threshold(name):
    model, X = fitted(name), part("test")[0]
    limits = {0: 0.05, 1: 0.02}
    classifier = early_stop(model, part("stop")[0], limits, threshold=0.2, random_state=0)
    own = (told(model, X) >= 0.2).astype(int)
    for label, limit in limits.items():
        assert np.mean(classifier.predict(X)[own == label] != label) <= limit + 0.02


def test_pure_leaves_count_votes_and_others_add_up_probabilities():
    forest = early_stop(fitted("forest"), threshold=0.2)
    assert isinstance(forest.ensemble_, PackedForest)
    votes = forest.full_votes(part("test")[0])
    np.testing.assert_array_equal(forest.full_predict(part("test")[0]) == 1, votes >= 6)
    assert isinstance(early_stop(fitted("tuned forest"), threshold=0.2).ensemble_, ScoredForest)


def test_probabilities_of_pure_leaves_may_be_added_up_too():
    model, X = fitted("forest"), part("test")[0]
    for threshold in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0):
        classifier = early_stop(model, threshold=threshold, voting="soft")
        assert classifier.ensemble_.start == round(2 * classifier.ensemble_.start) / 2
        np.testing.assert_array_equal(classifier.predict(X), told(model, X) >= threshold)


@pytest.mark.parametrize("name", ["tuned forest", "bag of others", "committee"])
def test_a_threshold_just_above_nothing_needs_something(name):
    model, X = fitted(name), part("test")[0]
    for threshold in (1e-9, 1 - 1e-9, 1.0):
        answers = early_stop(model, threshold=threshold).predict(X)
        np.testing.assert_array_equal(answers, told(model, X) >= threshold)


def test_the_smallest_threshold_of_a_forest_is_any_probability_at_all():
    model, X = fitted("tuned forest"), part("test")[0]
    X = X[told(model, X) > 0]
    assert early_stop(model, threshold=5e-324).predict(X).all()


# Committees, lists, boosters, packed forests ---------------------------------------------------


def votes_of(voters, X):
    return np.mean([voter.predict(X) == 1 for voter in voters], axis=0)


def test_a_hard_committee_has_a_threshold_on_the_share_of_votes():
    model, X = VotingClassifier(three_members()).fit(*part("fit")), part("test")[0]
    share = votes_of(model.estimators_, X)
    for threshold in (1 / 3, 0.5, 2 / 3, 1.0):
        classifier = early_stop(model, threshold=threshold)
        np.testing.assert_array_equal(classifier.predict(X), share >= threshold)
        assert not hasattr(classifier, "predict_proba")


def test_votes_with_weights_have_a_threshold_on_their_share():
    model = VotingClassifier(three_members(), weights=[1, 2, 5]).fit(*part("fit"))
    X = part("test")[0]
    votes = np.array([voter.predict(X) == 1 for voter in model.estimators_])
    share = model.weights @ votes / 8
    for threshold in (1 / 8, 0.25, 3 / 8, 0.5, 1.0):
        classifier = early_stop(model, threshold=threshold)
        np.testing.assert_array_equal(classifier.predict(X), share >= threshold)
        assert not hasattr(classifier, "predict_proba")


def test_a_list_has_a_threshold_on_the_share_of_votes_or_on_the_mean_probability():
    voters = [voter.fit(*part("fit")) for _, voter in three_members()]
    X, calibrating = part("test")[0], part("stop")[0]
    for threshold in (0.3, 2 / 3):
        by_votes = early_stop(voters, calibrating, 0.0, threshold=threshold)
        np.testing.assert_array_equal(by_votes.predict(X), votes_of(voters, X) >= threshold)
        by_mean = early_stop(voters, threshold=threshold, voting="soft")
        mean = np.mean([told(voter, X) for voter in voters], axis=0)
        np.testing.assert_array_equal(by_mean.predict(X), mean >= threshold)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_booster_has_a_threshold_on_its_probability(name):
    model, X = fitted(name), part("test")[0]
    booster = model.booster_ if name == "lightgbm" else model.get_booster()
    classifier = early_stop(booster, part("stop")[0], 0.02, threshold=0.2, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(X), told(model, X) >= 0.2)


@pytest.mark.skipif(not CATBOOST, reason="CatBoost is not installed")
def test_a_threshold_takes_the_place_of_catboost_s_own():
    model, X = clone(MODELS["catboost"]).fit(*part("fit")), part("test")[0]
    model.set_probability_threshold(0.3)
    probability = told(model, X)
    np.testing.assert_array_equal(early_stop(model).predict(X), model.predict(X))
    for classifier in (
        early_stop(model, threshold=0.6),
        early_stop(FixedThresholdClassifier(model, threshold=0.6)),
    ):
        np.testing.assert_array_equal(classifier.predict(X), probability >= 0.6)
        np.testing.assert_allclose(told(classifier, X), probability, atol=CLOSE)


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms"])
def test_a_packed_forest_gets_a_threshold_and_stays_as_it_is(name):
    model, X = fitted(name), part("test")[0].astype(np.float32)
    pack = PackedForest.from_sklearn if name == "forest" else ScoredForest.from_model
    packed = pack(model)
    seed = {"seed": 0} if name == "forest" else {}
    before = packed.run(X, None, **seed)[0]
    settings = {"max_disagreement": 0.01, "random_state": 0}
    classifier = early_stop(packed, X[:1000], threshold=0.2, **settings)
    np.testing.assert_array_equal(classifier.full_predict(X), told(model, X) >= 0.2)
    again = early_stop(classifier.ensemble_, X[:1000], threshold=0.7, **settings)
    np.testing.assert_array_equal(again.full_predict(X), told(model, X) >= 0.7)
    np.testing.assert_allclose(told(again, X), told(model, X), atol=CLOSE)
    np.testing.assert_array_equal(packed.run(X, None, **seed)[0], before)


def test_a_majority_of_votes_that_stands_for_an_average_is_held_against_its_threshold():
    model = fitted("tuned forest")
    with pytest.warns(HardVoteWarning):
        classifier = early_stop(model, part("stop")[0], 0.02, threshold=0.2, voting="hard", random_state=0)
    X = part("test")[0]
    share = votes_of(model.estimators_, X)
    np.testing.assert_array_equal(classifier.full_predict(X), share >= 0.2)
    X = part("stop")[0]
    differs = np.mean((told(model, X) >= 0.2) != (votes_of(model.estimators_, X) >= 0.2))
    assert classifier.hard_soft_disagreement_ == pytest.approx(differs)


# Wrappers --------------------------------------------------------------------------------------

WRAPPED = {
    "fixed": lambda model: FixedThresholdClassifier(model, threshold=0.21),
    "by default": lambda model: FixedThresholdClassifier(model),
    "of the first": lambda model: FixedThresholdClassifier(model, threshold=0.9, pos_label=0),
    "of the second": lambda model: FixedThresholdClassifier(model, threshold=2 / 3, pos_label=1),
    "tuned": lambda model: TunedThresholdClassifierCV(model, cv=2, thresholds=10),
    "tuned for the first": lambda model: TunedThresholdClassifierCV(
        model, cv=2, thresholds=10, scoring=make_scorer(f1_score, pos_label=0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize(
    "name",
    ["forest", "tuned forest", "small tree", "histograms", "bag of others", "calibrated forest", "pipeline"],
)
def test_a_wrapper_with_a_threshold_is_taken_as_it_is(name, wrapper):
    X = part("test")[0]
    model = WRAPPED[wrapper](clone(MODELS[name])).fit(*part("fit"))
    classifier = early_stop(model)
    assert classifier.voting_ == ("hard" if name in COUNTED else "soft")
    np.testing.assert_array_equal(classifier.predict(X), model.predict(X))
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), atol=CLOSE)
    assert classifier.threshold is None


def test_a_wrapper_is_held_against_its_own_answers():
    X = part("test")[0]
    for name in ("forest", "tuned forest"):
        model = FixedThresholdClassifier(FrozenEstimator(fitted(name)), threshold=0.9, pos_label=0)
        classifier = early_stop(model.fit(*part("fit")), part("stop")[0], 0.02, random_state=0)
        assert classifier.promise_.about == "classifier"
        assert np.mean(classifier.predict(X) != model.predict(X)) <= 0.03


@pytest.mark.parametrize("name", ["gradients", "exponential", "histograms", "adaboost", "adaboost of others"])
@pytest.mark.parametrize("label", [None, 0])
def test_the_threshold_may_be_on_the_decision_function(name, label):
    X = part("test")[0]
    middle = float(np.quantile(fitted(name).decision_function(X), 0.7))
    for threshold in ("auto", -middle if label == 0 else middle):
        model = FixedThresholdClassifier(
            FrozenEstimator(fitted(name)),
            threshold=threshold,
            pos_label=label,
            response_method="decision_function",
        ).fit(*part("fit"))
        np.testing.assert_array_equal(early_stop(model).predict(X), model.predict(X))


AROUND = {
    "frozen": FrozenEstimator,
    "at the end of a pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "in a search": lambda model: GridSearchCV(model, {"threshold": [0.3]}, cv=2),
    "around a pipeline": lambda model: clone(model).set_params(estimator=in_a_pipeline(model.estimator)),
    "around a search": lambda model: clone(model).set_params(
        estimator=GridSearchCV(model.estimator, {}, cv=2)
    ),
    "around a calibrated model": lambda model: clone(model).set_params(
        estimator=CalibratedClassifierCV(model.estimator, ensemble=False, cv=2)
    ),
    "around another": lambda model: clone(model).set_params(
        estimator=FixedThresholdClassifier(model.estimator, threshold=0.8)
    ),
    "inside a calibrated model": lambda model: CalibratedClassifierCV(model, ensemble=False, cv=2),
}  # fmt: skip


@pytest.mark.parametrize("name", ["forest", "gradients"])
@pytest.mark.parametrize("around", AROUND)
def test_other_wrappers_may_be_inside_and_around(around, name):
    X = part("test")[0]
    model = FixedThresholdClassifier(clone(MODELS[name]), threshold=0.2)
    if around == "frozen":
        model.fit(*part("fit"))
    model = AROUND[around](model).fit(*part("fit"))
    classifier = early_stop(model, part("stop")[0], 0.02, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), atol=CLOSE)


def test_a_wrapper_that_was_put_around_a_fitted_model_needs_no_fit():
    X = part("test")[0]
    for name in ("forest", "histograms", "pipeline"):
        model = FixedThresholdClassifier(fitted(name), threshold=0.21)
        np.testing.assert_array_equal(early_stop(model).predict(X), model.predict(X))


@pytest.mark.parametrize("wrapper", ["fixed", "tuned"])
def test_a_wrapper_that_is_not_fitted_yet_is_fitted_first(wrapper):
    X, y = part("all")
    y = np.array(["no", "yes"])[y]
    model = WRAPPED[wrapper](RandomForestClassifier(21, min_samples_leaf=3))
    settings = {"max_disagreement": 0.05, "calibration_size": 0.4, "random_state": 0}
    classifier = EarlyStoppingClassifier(model, **settings).fit(X[:3000], y[:3000])
    assert np.mean(classifier.predict(X[3000:]) != classifier.full_predict(X[3000:])) <= 0.06
    assert np.mean(classifier.full_predict(X[3000:]) == "yes") > 0.1
    if wrapper == "fixed":
        np.testing.assert_array_equal(
            classifier.full_predict(X[3000:]) == "yes", told(classifier, X[3000:]) >= 0.21
        )


def test_a_threshold_may_be_tuned_for_a_model_that_is_fitted():
    X, y = part("stop")
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(fitted("forest")), cv="prefit", refit=False, thresholds=20
    )
    classifier = EarlyStoppingClassifier(tuned, max_disagreement=0.05, calibration_size=0.5, random_state=0)
    classifier.fit(X, y)
    quota = classifier.strategy_.quota
    X = part("test")[0]
    np.testing.assert_array_equal(classifier.full_predict(X) == 1, classifier.full_votes(X) >= quota)
    assert quota < 15


# Files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms", "calibrated forest", *CATBOOST])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_saved_classifier_keeps_its_threshold(tmp_path, name, wrapped):
    model, X = fitted(name), part("test")[0]
    settings = {"threshold": 0.2}
    if wrapped:
        model, settings = FixedThresholdClassifier(model, threshold=0.2), {}
    for calibrating in (None, part("stop")[0]):
        classifier = early_stop(model, calibrating, 0.02, random_state=0, **settings)
        classifier.save(tmp_path / "file")
        loaded = EarlyStoppingClassifier.load(tmp_path / "file")
        assert loaded.threshold == classifier.threshold
        for one, other in zip(classifier.predict_with_votes(X), loaded.predict_with_votes(X), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(loaded.full_predict(X), classifier.full_predict(X))
        np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


# What is refused -------------------------------------------------------------------------------


def test_two_thresholds_are_refused():
    model = FixedThresholdClassifier(RandomForestClassifier(5), threshold=0.3)
    with pytest.raises(InvalidInputError, match=r"expected one threshold, got threshold=0\.2"):
        EarlyStoppingClassifier(model, threshold=0.2).fit(*part("fit"))
    with pytest.raises(InvalidInputError, match="expected one threshold"):
        early_stop(model.fit(*part("fit")), threshold=0.2)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, "auto", np.nan])
def test_what_is_no_share_is_refused(threshold):
    for name in ("forest", "histograms"):
        with pytest.raises(InvalidInputError, match="threshold"):
            early_stop(fitted(name), threshold=threshold)


def test_more_than_two_classes_are_refused():
    X, y = part("fit")
    y = y + (X[:, 0] > 0)
    for model in (RandomForestClassifier(5), HistGradientBoostingClassifier(max_iter=2)):
        with pytest.raises(InvalidInputError, match="a threshold needs exactly 2 classes, got 3"):
            EarlyStoppingClassifier(model, threshold=0.2).fit(X, y)
        with pytest.raises(InvalidInputError, match="a threshold needs exactly 2 classes, got 3"):
            early_stop(model.fit(X, y), threshold=0.2)
        wrapped = FixedThresholdClassifier(model, threshold=0.2)
        with pytest.raises(InvalidInputError, match="FixedThresholdClassifier needs exactly 2 classes"):
            EarlyStoppingClassifier(wrapped).fit(X, y)
        with pytest.raises(InvalidInputError, match="FixedThresholdClassifier needs exactly 2 classes"):
            early_stop(wrapped)


def test_a_threshold_that_every_row_is_above_or_below_leaves_nothing_to_stop_early():
    X = part("test")[0]
    always = early_stop(fitted("forest"), threshold=0.0)
    assert always.predict(X).all()
    assert not always.predict_with_votes(X)[1].any()
    for threshold in (0.0, 1.0):
        with pytest.raises(InvalidInputError, match=f"answers {1 - int(threshold)} for every row"):
            early_stop(fitted("histograms"), threshold=threshold)
    for name, threshold, answer in (("forest", 0.0, 0), ("histograms", 1.0, 1), ("histograms", 0.0, 0)):
        model = FixedThresholdClassifier(fitted(name), threshold=threshold, pos_label=0)
        with pytest.raises(InvalidInputError, match=f"answers {answer} for every row"):
            early_stop(model)
    with pytest.raises(
        InvalidInputError, match=r"with the threshold 1\.2 this model answers 0 for every row"
    ):
        early_stop(FixedThresholdClassifier(fitted("forest"), threshold=1.2))


def test_a_decision_function_that_is_another_sum_is_refused():
    for bag in (
        BaggingClassifier(LogisticRegression(), 3, random_state=0),
        BaggingClassifier(RidgeClassifier(), 3, random_state=0),
    ):
        model = FixedThresholdClassifier(bag, response_method="decision_function").fit(*part("fit"))
        with pytest.raises(InvalidInputError, match="BaggingClassifier decides by its decision"):
            early_stop(model)
    model = FixedThresholdClassifier(fitted("forest"), response_method="decision_function")
    with pytest.raises(InvalidInputError, match="its estimator has no decision_function"):
        early_stop(model)


def test_a_threshold_that_was_never_tuned_is_refused():
    with pytest.raises(NotFittedError):
        early_stop(TunedThresholdClassifierCV(fitted("forest")), part("stop")[0])
    with pytest.raises(NotFittedError):
        early_stop(FixedThresholdClassifier(RandomForestClassifier(5)), part("stop")[0])


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(InvalidInputError, match=r"must be one of the classes \[0, 1\], got 'sick'"):
        early_stop(FixedThresholdClassifier(fitted("forest"), pos_label="sick"))


def test_scores_that_are_no_probabilities_have_no_threshold():
    model = xgboost.XGBClassifier(n_estimators=3, objective="binary:hinge", n_jobs=1).fit(*part("fit"))
    with pytest.raises(InvalidInputError, match="gives no probability"):
        early_stop(model, threshold=0.2)
