"""What "auto" decides: whatever agrees with the estimator's own predict, by votes where they are the same."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier.deciding import Settings
from foregone.classifier.ensembles import leaves_are_pure
from foregone.classifier.given_model import GivenModel
from foregone.errors import InvalidInputError
from tests.classifier import models, score_models

MEMBERS = [
    ("a", GaussianNB()),
    ("b", LogisticRegression(max_iter=1000)),
    ("c", DecisionTreeClassifier(max_depth=2)),
]
DECIDED = {
    "fully grown trees": (RandomForestClassifier(5, random_state=0), None, "hard"),
    "with class weights": (RandomForestClassifier(5, class_weight="balanced", random_state=0), None, "hard"),
    "leaves of two": (RandomForestClassifier(5, min_samples_leaf=2, random_state=0), None, "soft"),
    "shallow trees": (RandomForestClassifier(5, max_depth=3, random_state=0), None, "soft"),
    "bag of grown trees": (BaggingClassifier(n_estimators=5, random_state=0), None, "hard"),
    "bag of stumps": (BaggingClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5), None, "soft"),
    "bag that knows probabilities": (BaggingClassifier(GaussianNB(), n_estimators=5), None, "soft"),
    "bag that knows none": (BaggingClassifier(RidgeClassifier(), n_estimators=5), None, "hard"),
    "one tree": (DecisionTreeClassifier(max_depth=2), "hard", "hard"),
    "hard committee": (VotingClassifier(MEMBERS), "hard", "hard"),
    "equal weights": (VotingClassifier(MEMBERS, weights=[2, 2, 2]), "hard", "hard"),
    "weights": (VotingClassifier(MEMBERS, weights=[2, 2, 3]), "soft", "soft"),
    "soft committee": (VotingClassifier(MEMBERS, voting="soft"), "soft", "soft"),
    "AdaBoost": (AdaBoostClassifier(n_estimators=5), "soft", "soft"),
    "GradientBoosting": (GradientBoostingClassifier(n_estimators=5), "soft", "soft"),
    "HistGradientBoosting": (HistGradientBoostingClassifier(max_iter=5), "soft", "soft"),
}


def settings(**given):
    """Return the defaults but for what is given."""
    return Settings.of(EarlyStoppingClassifier(None, **given))


@pytest.mark.parametrize(("model", "before", "after"), DECIDED.values(), ids=DECIDED.keys())
def test_auto_counts_votes_only_where_that_is_what_the_estimator_does(model, before, after):
    assert GivenModel.of(model).scheme(settings(), 2) == before
    assert GivenModel.of(model.fit(*models.to_fit())).scheme(settings(), 2) == after


@pytest.mark.parametrize(("model", "before", "after"), DECIDED.values(), ids=DECIDED.keys())
def test_among_many_classes_the_same_is_decided(model, before, after):
    assert GivenModel.of(clone(model)).scheme(settings(), 3) == {"hard": "plurality"}.get(before, before)
    fitted = clone(model).fit(*load_iris(return_X_y=True))
    assert GivenModel.of(fitted).scheme(settings(), 3) == {"hard": "plurality"}.get(after, after)


def test_votes_that_can_be_split_in_too_many_ways_are_followed_by_their_lead():
    grown = GivenModel.of(RandomForestClassifier(300))
    for n_voters, n_classes, scheme in (
        (300, 2, "hard"),
        (21, 4, "plurality"),
        (100, 10, "lead"),
        (2000, 3, "lead"),
        (30, 100, "plurality"),
        (60, 100, "lead"),
    ):
        grown.inside.set_params(n_estimators=n_voters)
        assert grown.scheme(settings(voting="hard"), n_classes) == scheme
    assert grown.scheme(settings(voting="hard", criterion="minimax"), 100) == "plurality"


def test_a_list_is_asked_for_votes_unless_told_otherwise():
    assert GivenModel.of(models.several_models()).scheme(settings(), 2) == "hard"
    assert GivenModel.of(models.several_models()).scheme(settings(voting="soft"), 2) == "soft"


def test_a_single_mixed_leaf_makes_a_forest_soft():
    X, y = models.to_fit()
    X = np.vstack([X, X[:1]])
    y = np.append(y, 1 - y[0])  # the same row with either label
    forest = RandomForestClassifier(15, bootstrap=False, random_state=0).fit(X, y)
    assert not leaves_are_pure(forest)
    assert early_stop(forest, models.fresh(), 0.02, random_state=0).voting_ == "soft"
    assert leaves_are_pure(models.forest())


@pytest.mark.parametrize("kind", score_models.UNFITTED)
def test_everyone_together_is_the_estimators_own_predict(kind):
    X = models.fresh()
    model = score_models.fitted(kind)
    classifier = early_stop(model, X, 0.02, random_state=0)
    assert classifier.voting_ == "soft"
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    assert classifier.rounding_disagreement_ == 0


def test_with_pure_leaves_votes_and_scores_are_of_one_mind():
    X = models.fresh()
    counted = early_stop(models.forest(), X, 0.02, random_state=0)
    added = early_stop(models.forest(), X, 0.02, voting="soft", random_state=0)
    assert (counted.voting_, added.voting_) == ("hard", "soft")
    np.testing.assert_array_equal(counted.full_predict(X), added.full_predict(X))
    np.testing.assert_array_equal(counted.full_predict(X), models.forest().predict(X))
    np.testing.assert_allclose(counted.predict_proba(X), added.predict_proba(X), atol=1e-12)


def test_votes_and_averages_of_a_soft_forest_can_be_chosen():
    X = models.fresh()
    shallow = RandomForestClassifier(25, max_depth=2, random_state=0).fit(*models.to_fit())
    with pytest.warns(UserWarning, match="differs from the estimator's own predict"):
        hard = early_stop(shallow, X, 0.02, voting="hard", random_state=0)
    soft = early_stop(shallow, X, 0.02, voting="soft", random_state=0)
    np.testing.assert_array_equal(soft.full_predict(X), shallow.predict(X))
    differing = np.mean(hard.full_predict(X) != shallow.predict(X))
    assert hard.hard_soft_disagreement_ == differing > 0
    assert not hasattr(soft, "hard_soft_disagreement_")
    assert not hasattr(hard, "rounding_disagreement_")


def test_fitting_again_in_another_way_forgets_the_first():
    X, y = models.rows()
    classifier = EarlyStoppingClassifier(
        RandomForestClassifier(11, random_state=0),
        max_disagreement=0.05,
        calibration_size=0.3,
        random_state=0,
    ).fit(X, y)
    assert classifier.voting_ == "hard"
    assert {"solution_", "votes_", "hard_soft_disagreement_"} <= vars(classifier).keys()
    classifier.set_params(estimator__max_depth=3).fit(X, y)
    assert classifier.voting_ == "soft"
    assert not {"solution_", "votes_", "hard_soft_disagreement_"} & vars(classifier).keys()
    classifier.set_params(voting="hard", max_disagreement=1.0).fit(X, y)
    assert not hasattr(classifier, "rounding_disagreement_")
    assert classifier.votes_.n_voters == 11


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "minimixed"}, "criterion='minimixed' bounds the disagreement for every number of yes"),
        ({"criterion": "minimax"}, "criterion='minimax'"),
        ({"answer": "likeliest"}, "answer='likeliest' is for counted votes"),
        ({"confidence": None}, "confidence must be a number such as 0.95 for scores"),
        ({"order": "per_row"}, "order='per_row' is for counted votes"),
    ],
    ids=str,
)
def test_settings_for_votes_are_refused_for_scores_before_anything_is_fitted(settings, message):
    never = GradientBoostingClassifier(n_estimators=5, max_depth="never fitted")
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(never, **settings).fit(*models.to_fit())
    with pytest.raises(InvalidInputError, match=message):
        early_stop(score_models.fitted("soft forest"), models.fresh(), **settings)
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(RandomForestClassifier(5, max_depth=2), **settings).fit(*models.to_fit())


def test_values_that_make_no_sense_are_refused_before_leaves_are_known():
    never = RandomForestClassifier(11, max_depth="never fitted")
    for settings, message in (
        ({"confidence": 2}, "confidence must be a number from 0 to 1"),
        ({"looks": [12]}, "from 0 to 11"),
        ({"max_disagreement": {"ham": 0.1}}, "one for each of the labels 0 and 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            EarlyStoppingClassifier(never, **settings).fit(*models.to_fit())
