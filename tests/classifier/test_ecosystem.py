"""It gets along with the tools of scikit-learn."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from foregone import EarlyStoppingClassifier, early_stop
from tests.classifier import models

TRUSTED = [
    "foregone.certifying.promise.Promise",
    "foregone.classifier.counted_votes.CountedVotes",
    "foregone.classifier.estimator.EarlyStoppingClassifier",
    "foregone.classifier.two_or_many.Solved",
    "foregone.forest.packed.PackedForest",
    "foregone.monitoring.stops.Stops",
    "foregone.solving.solution.Multipliers",
    "foregone.solving.solution.Solution",
    "foregone.strategy.stopping.StoppingStrategy",
    "foregone.votes.VoteDistribution",
]


def make(**settings):
    forest = RandomForestClassifier(11, random_state=0)
    return EarlyStoppingClassifier(forest, **{"max_disagreement": 0.05, "random_state": 0, **settings})


def test_it_is_the_last_step_of_a_pipeline():
    X, y = models.rows()
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8


def test_its_settings_and_those_of_its_forest_can_be_searched():
    X, y = models.rows()
    grid = {
        "max_disagreement": [0.02, {0: 0.3, 1: 0.1}],
        "confidence": [0.95, None],
        "estimator__max_depth": [None, 8],
    }
    search = GridSearchCV(make(voting="hard"), grid, cv=3, error_score="raise")
    with pytest.warns(UserWarning, match="differs from the estimator's own predict"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_estimator_.max_disagreement in grid["max_disagreement"]
    assert search.score(X, y) > 0.8


def test_a_frozen_forest_can_be_searched_without_refitting():
    X, y = models.rows()
    classifier = EarlyStoppingClassifier(FrozenEstimator(models.forest()), random_state=0)
    search = GridSearchCV(classifier, {"max_disagreement": [0.02, 0.3]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.estimator.estimator is models.forest()


def test_clones_copies_and_pickles_do_the_same():
    X, y = models.rows()
    classifier = make().fit(X, y)
    assert clone(classifier).get_params(deep=False).keys() == classifier.get_params(deep=False).keys()
    others = [clone(classifier).fit(X, y), copy.deepcopy(classifier), pickle.loads(pickle.dumps(classifier))]  # noqa: S301  # our own
    for other in others:
        for rows in (X, X[:1]):
            for one, expected in zip(
                other.predict_with_votes(rows), classifier.predict_with_votes(rows), strict=True
            ):
                np.testing.assert_array_equal(one, expected)
            np.testing.assert_array_equal(other.predict(rows), classifier.predict(rows))


def test_other_voters_are_pickled_too(tmp_path):
    classifier = early_stop(models.several_models(), models.fresh(), 0.05, random_state=0)
    joblib.dump(classifier, tmp_path / "file")
    loaded = joblib.load(tmp_path / "file")
    np.testing.assert_array_equal(loaded.predict(models.fresh()), classifier.predict(models.fresh()))


def test_skops_keeps_it(tmp_path):
    X, y = models.rows()
    classifier = make(max_disagreement={0: 0.1, 1: 0.02}, looks=[1, 4, 8], answer="likeliest").fit(X, y)
    skops.io.dump(classifier, tmp_path / "file")
    assert sorted(skops.io.get_untrusted_types(file=tmp_path / "file")) == TRUSTED
    loaded = skops.io.load(tmp_path / "file", trusted=TRUSTED)
    for rows in (X, X[:1]):
        np.testing.assert_array_equal(loaded.predict(rows), classifier.predict(rows))
    assert loaded.strategy_ == classifier.strategy_
    assert loaded.votes_ == classifier.votes_
    assert loaded.solution_.multipliers == classifier.solution_.multipliers
    for name in ("max_disagreement", "confidence", "looks", "answer", "disagreement_by_class_"):
        assert getattr(loaded, name) == getattr(classifier, name)


def test_it_is_shown_in_a_notebook():
    for classifier in (make(), make().fit(*models.rows()), early_stop(models.forest(), models.fresh(), 0.1)):
        assert "RandomForestClassifier" in classifier._repr_html_()
        assert repr(classifier).startswith("EarlyStoppingClassifier(estimator=")
    assert "EarlyStoppingClassifier" in early_stop(models.several_models(), models.fresh(), 0.1)._repr_html_()


def test_its_tags_are_those_of_a_classifier():
    assert is_classifier(make())
    tags = get_tags(make())
    assert tags.classifier_tags.multi_class
    weighted = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], weights=[1, 2])
    for any_number_of_classes in (
        EarlyStoppingClassifier(AdaBoostClassifier()),
        EarlyStoppingClassifier(RandomForestClassifier(), voting="soft"),
        EarlyStoppingClassifier(weighted),
    ):
        assert get_tags(any_number_of_classes).classifier_tags.multi_class
    two_only = EarlyStoppingClassifier(CalibratedClassifierCV(RandomForestClassifier(), ensemble=False))
    assert not get_tags(two_only).classifier_tags.multi_class
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert tags.target_tags.required
    assert not get_tags(EarlyStoppingClassifier(FrozenEstimator(models.forest()))).target_tags.required
    assert get_tags(EarlyStoppingClassifier(models.bag_of_lines())).input_tags.sparse
    for members, sparse in ((GaussianNB(), False), (RidgeClassifier(), True)):
        boosted = EarlyStoppingClassifier(AdaBoostClassifier(members))
        assert get_tags(boosted).input_tags.sparse == sparse
