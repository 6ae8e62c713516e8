"""CalibratedClassifierCV of two classes is a threshold on the score of its ensemble, and stopped as one."""

from functools import cache

import lightgbm
import numpy as np
import pandas
import pytest
import sklearn
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
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier.answer_threshold import MAJORITY, shift_start
from foregone.classifier.calibrated import calibrate
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import ScoredForest, container
from foregone.forest.link import Calibration, Link
from foregone.strategy.json_file import Fields
from tests.classifier.models import RareRows, catboost_models, three_members

HAS_TEMPERATURE = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 8)
METHODS = ["sigmoid", "isotonic", *(["temperature"] if HAS_TEMPERATURE else [])]
SETTINGS = {"max_disagreement": 0.02, "random_state": 0}


# A rare class, so that calibration moves the threshold away from one half.
part = RareRows(4500, 700, 1300, 3000, common=0.8, flip_y=0.15)


MODELS = {
    "forest": RandomForestClassifier(31, random_state=0),
    "tuned forest": RandomForestClassifier(31, min_samples_leaf=5, random_state=0),
    "weighted forest": ExtraTreesClassifier(30, min_samples_leaf=9, class_weight="balanced", random_state=0),
    "bag of trees": BaggingClassifier(DecisionTreeClassifier(), 15, max_features=0.7, random_state=0),
    "bag of others": BaggingClassifier(GaussianNB(), 9, max_samples=0.1, random_state=0),
    "committee": VotingClassifier(three_members(), voting="soft", weights=[1, 2, 3]),
    "gradients": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "exponential": GradientBoostingClassifier(n_estimators=30, loss="exponential", random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=20, random_state=0),
    "adaboost of others": AdaBoostClassifier(GaussianNB(), n_estimators=5, random_state=0),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, sigmoid=2.0, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
    **catboost_models(catboost={"iterations": 20}),
}


@cache
def calibrated(name, method, text=False):
    model = clone(MODELS[name]).fit(*part("fit", text))
    return CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(*part("calibrate", text))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_the_full_sum_answers_as_the_calibrated_model_and_tells_its_probabilities(name, method):
    model, X = calibrated(name, method), part("test")[0]
    classifier = early_stop(model, part("stop")[0], **SETTINGS)
    own = model.predict(X)
    assert len(np.unique(own)) == 2
    assert classifier.voting_ == "soft"
    np.testing.assert_array_equal(classifier.full_predict(X), own)
    tolerance = 1e-4 if name == "xgboost" else 1e-12  # it adds up float32, and the curve may be steep
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), rtol=0, atol=tolerance)
    assert np.mean(classifier.predict(X) != own) <= 0.03
    assert classifier.rounding_disagreement_ == 0
    labels = classifier.predict(X[:5])
    assert [classifier.predict(X[k : k + 1])[0] for k in range(5)] == labels.tolist()


def test_calibration_moves_the_threshold_and_the_limit_is_about_the_calibrated_answer():
    X = part("test")[0]
    for name in ("forest", "tuned forest", "histograms"):
        model = calibrated(name, "isotonic")
        inside = model.calibrated_classifiers_[0].estimator
        assert np.mean(model.predict(X) != inside.predict(X)) > 0.004
        classifier = early_stop(model, part("stop")[0], 0.02, random_state=0)
        assert classifier.promise_.about == "classifier"
        assert classifier.expected_votes_ < 0.9 * classifier.ensemble_.n_voters
        assert np.mean(classifier.predict(X) != model.predict(X)) <= 0.02


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms", "committee"])
def test_curtailment_without_rows_agrees_on_every_row(name):
    model, X = calibrated(name, "sigmoid"), part("test")[0]
    classifier = early_stop(model)
    np.testing.assert_array_equal(classifier.predict(X), model.predict(X))
    assert classifier.predict_with_votes(X)[1].mean() < classifier.ensemble_.n_voters


def test_the_threshold_of_a_forest_of_pure_leaves_is_between_two_numbers_of_votes():
    model = calibrated("forest", "isotonic")
    forest = early_stop(model).ensemble_
    assert forest.start == round(2 * forest.start) / 2
    votes = np.arange(32)
    said = model.calibrated_classifiers_[0].calibrators[0].predict(votes / 31) > 0.5
    np.testing.assert_array_equal(votes - 31 / 2 + forest.start > 0, said)


@pytest.mark.parametrize("n_trees", [10, 49])
@pytest.mark.parametrize("has_votes", [True, False])
def test_many_rows_right_at_the_threshold_are_answered_as_the_calibrated_model_does(n_trees, has_votes):
    forest = RandomForestClassifier(n_trees, random_state=0).fit(*part("fit"))
    model = CalibratedClassifierCV(FrozenEstimator(forest), method="isotonic").fit(*part("calibrate"))
    X = part("test")[0]
    for share in np.arange(1, n_trees, 4) / n_trees:  # where the calibrated probability is one half
        model.calibrated_classifiers_[0].calibrators[0].fit([0, share, share, 1], [0, 0, 1, 1])
        packed = ScoredForest.from_model(forest)
        shift_start(packed, MAJORITY, calibrate(packed, model, forest), has_votes=has_votes)
        np.testing.assert_array_equal(packed.run(X, None).answers, model.predict(X) == 1)


def test_a_single_tree_has_a_threshold_too():
    model = CalibratedClassifierCV(DecisionTreeClassifier(max_depth=4), ensemble=False, cv=2)
    model.fit(*part("fit"))
    X = part("test")[0]
    np.testing.assert_array_equal(early_stop(model).predict(X), model.predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_text_labels_are_answered(method):
    model, X = calibrated("tuned forest", method, text=True), part("test")[0]
    classifier = early_stop(model, part("stop")[0], **SETTINGS)
    assert classifier.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_one_ensemble_is_fitted_and_calibrated_by_cross_validation(method):
    X, y = part("all")
    model = CalibratedClassifierCV(
        HistGradientBoostingClassifier(max_iter=10), method=method, cv=2, ensemble=False
    )
    text = np.array(["no", "yes"])[y]
    classifier = EarlyStoppingClassifier(
        model, max_disagreement=0.05, calibration_size=0.4, random_state=0
    ).fit(X[:3000], text[:3000])
    assert classifier.classes_.tolist() == ["no", "yes"]
    assert np.mean(classifier.predict(X[3000:]) != classifier.full_predict(X[3000:])) <= 0.06
    assert classifier.score(X[3000:], text[3000:]) > 0.8
    fitted = clone(model).fit(X[:1500], text[:1500])
    np.testing.assert_array_equal(early_stop(fitted).predict(X[3000:]), fitted.predict(X[3000:]))


WRAPPED = {
    "pipeline inside": lambda model: CalibratedClassifierCV(
        make_pipeline(StandardScaler(), model), ensemble=False, cv=2
    ),
    "at the end of a pipeline": lambda model: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(model, ensemble=False, cv=2)
    ),
    "search inside": lambda model: CalibratedClassifierCV(
        GridSearchCV(model, {}, cv=2), ensemble=False, cv=2
    ),
    "inside a search": lambda model: GridSearchCV(
        CalibratedClassifierCV(model, ensemble=False, cv=2), {"method": ["isotonic"]}, cv=2
    ),
}


@pytest.mark.parametrize("ensemble", ["gradients", "adaboost", "bag of trees"])
@pytest.mark.parametrize("wrapping", WRAPPED)
def test_pipelines_and_searches_may_be_inside_and_around(wrapping, ensemble):
    X = part("test")[0]
    model = WRAPPED[wrapping](clone(MODELS[ensemble])).fit(*part("fit"))
    classifier = early_stop(model, part("stop")[0], **SETTINGS)
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_frames_are_taken_by_name():
    X, y = part("fit")
    names = [f"column {number}" for number in range(8)]
    frame = pandas.DataFrame(X, columns=names)
    forest = RandomForestClassifier(15, min_samples_leaf=5, random_state=0)
    model = CalibratedClassifierCV(forest, ensemble=False, cv=2).fit(frame, y)
    classifier = early_stop(model, pandas.DataFrame(part("stop")[0], columns=names), **SETTINGS)
    assert classifier.feature_names_in_.tolist() == names
    test = pandas.DataFrame(part("test")[0], columns=names)
    np.testing.assert_array_equal(classifier.full_predict(test), model.predict(test))
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(test[names[::-1]])


# Files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms", "adaboost"])
def test_a_saved_classifier_answers_and_tells_probabilities_as_before(tmp_path, name, method):
    classifier, X = early_stop(calibrated(name, method), part("stop")[0], **SETTINGS), part("test")[0]
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    for one, other in zip(classifier.predict_with_votes(X), loaded.predict_with_votes(X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert loaded.ensemble_.link == classifier.ensemble_.link
    loaded.ensemble_.save(tmp_path / "forest")
    again = ScoredForest.load(tmp_path / "forest")
    np.testing.assert_array_equal(again.full_scores(X), classifier.ensemble_.full_scores(X))
    assert again.link.calibration.method == method


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"method": "best"}, "method"),
        ({"numbers": [1.0]}, "numbers"),
        ({"method": "isotonic", "numbers": [0.0, 1.0, 0.0]}, "one value for each"),
        ({"method": "isotonic", "numbers": [1.0, 0.0, 0.0, 1.0]}, "ascending"),
        ({"method": "isotonic", "numbers": []}, "one value for each"),
        ({"method": "temperature"}, "numbers"),
        ({"shift": "far"}, "shift"),
        ({"slope": "steep"}, "slope"),
    ],
)
def test_fields_of_a_calibration_that_do_not_fit_are_refused(change, complaint):
    link = Link("mean", 0.5, Calibration("sigmoid", (-2.0, 1.0), None), shift=0.5)
    fields = link.to_fields()
    assert Link.from_fields(Fields(fields, "a file")) == link
    fields["calibration"].update(change)
    with pytest.raises(FileFormatError, match=complaint):
        Link.from_fields(Fields(fields, "a file"))


def test_files_that_have_the_shift_beside_the_calibration_are_read():
    link = Link("mean", 0.5, Calibration("sigmoid", (-2.0, 1.0), None), shift=0.5)
    fields = link.to_fields()
    fields["calibration"]["shift"] = fields.pop("shift")
    assert Link.from_fields(Fields(fields, "a file")) == link


def test_a_file_of_a_calibrated_classifier_holds_plain_numbers(tmp_path):
    early_stop(calibrated("forest", "isotonic"), part("stop")[0], **SETTINGS).save(tmp_path / "file")
    fields, _ = container.read(tmp_path / "file", "classifier")
    kept = fields.section("forest").section("link").section("calibration")
    calibrator = calibrated("forest", "isotonic").calibrated_classifiers_[0].calibrators[0]
    expected = [*calibrator.X_thresholds_, *calibrator.y_thresholds_]
    assert kept.numbers("numbers").tolist() == expected


# What is refused -------------------------------------------------------------------------------


def test_several_ensembles_whose_probabilities_are_averaged_are_refused():
    model = CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), cv=3)
    with pytest.raises(InvalidInputError, match=r"one ensemble for each split.*ensemble=False"):
        EarlyStoppingClassifier(model).fit(*part("fit"))
    with pytest.raises(InvalidInputError, match=r"averages .* of 3 ensembles.*ensemble=False"):
        early_stop(model.fit(*part("fit")), part("stop")[0])


def test_a_single_split_is_one_ensemble():
    X, y = part("fit")
    splits = [(np.arange(400), np.arange(400, 700))]
    forest = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)
    model = CalibratedClassifierCV(forest, cv=splits, ensemble=True)
    fitted = clone(model).fit(X, y)
    np.testing.assert_array_equal(early_stop(fitted).predict(X), fitted.predict(X))


def test_many_classes_are_refused_before_and_after_fitting():
    X, y = part("fit")
    y = y + (X[:, 0] > 0)
    model = CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), ensemble=False, cv=2)
    with pytest.raises(InvalidInputError, match="for exactly 2 classes, got 3"):
        EarlyStoppingClassifier(model).fit(X, y)
    with pytest.raises(InvalidInputError, match="for exactly 2 classes, got 3"):
        early_stop(model.fit(X, y), X)


def test_counting_votes_is_refused():
    with pytest.raises(InvalidInputError, match=r"calibrates the score of its ensemble"):
        early_stop(calibrated("forest", "sigmoid"), part("stop")[0], voting="hard")


def test_a_calibration_that_falls_is_refused():
    X, _ = part("calibrate")
    inside = FrozenEstimator(clone(MODELS["tuned forest"]).fit(*part("fit")))
    with pytest.raises(InvalidInputError, match="falls as the score"):
        early_stop(CalibratedClassifierCV(inside).fit(X, 1 - inside.predict(X)))


def test_a_calibrated_model_that_always_says_the_same_is_refused():
    X, _ = part("calibrate")
    rng = np.random.default_rng(0)
    for name in ("forest", "tuned forest"):
        inside = FrozenEstimator(clone(MODELS[name]).fit(*part("fit")))
        model = CalibratedClassifierCV(inside).fit(X, rng.random(len(X)) < 0.05)
        with pytest.raises(InvalidInputError, match=r"answers .*False.* for every row"):
            early_stop(model)


def test_a_bag_whose_decision_functions_are_averaged_is_refused():
    bag = BaggingClassifier(LogisticRegression(), 3, random_state=0)
    model = CalibratedClassifierCV(bag, ensemble=False, cv=2).fit(*part("fit"))
    with pytest.raises(InvalidInputError, match="this BaggingClassifier decides by its decision_function"):
        early_stop(model)


def test_classes_that_the_inside_does_not_know_are_refused():
    X, y = part("calibrate")
    inside = FrozenEstimator(clone(MODELS["tuned forest"]).fit(*part("fit")))
    model = CalibratedClassifierCV(inside).fit(X, y)
    model.classes_ = np.array([1, 2])
    with pytest.raises(InvalidInputError, match=r"has the classes \[0, 1\]"):
        early_stop(model)


def test_what_has_no_members_is_refused_inside_too():
    model = CalibratedClassifierCV(GaussianNB(), ensemble=False, cv=2).fit(*part("fit"))
    with pytest.raises(InvalidInputError, match="GaussianNB has no members"):
        early_stop(model)
    with pytest.raises(InvalidInputError, match="LinearSVC has no members"):
        EarlyStoppingClassifier(CalibratedClassifierCV(ensemble=False)).fit(*part("fit"))


def test_what_was_never_fitted_is_refused():
    model = CalibratedClassifierCV(RandomForestClassifier(5), ensemble=False)
    with pytest.raises(NotFittedError):
        early_stop(model, part("stop")[0])


def test_a_frozen_forest_is_calibrated_when_the_classifier_is_fitted():
    X, y = part("all")
    inside = FrozenEstimator(clone(MODELS["tuned forest"]).fit(*part("fit")))
    classifier = EarlyStoppingClassifier(
        CalibratedClassifierCV(inside, method="isotonic"),
        max_disagreement=0.05,
        calibration_size=0.5,
        random_state=0,
    ).fit(X[700:3000], y[700:3000])
    assert classifier.expected_votes_ < 31
    assert np.mean(classifier.predict(X[3000:]) != classifier.full_predict(X[3000:])) <= 0.06
    wanted = classifier.predict_proba(X[3000:])[:, 1] > 0.5
    assert np.mean(wanted != classifier.full_predict(X[3000:])) == 0
