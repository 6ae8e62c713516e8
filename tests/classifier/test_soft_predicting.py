"""What is predicted is what the strategy says about the members' own scores, added up one by one."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier

from foregone import EarlyStoppingClassifier, ScoreStrategy, early_stop
from foregone.classifier.voters import ScoreVoters
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from tests.classifier import models, score_models

pl = pytest.importorskip("polars")

KINDS = list(score_models.UNFITTED)
OWN_SCORES = [
    kind for kind in KINDS if kind not in ("LightGBM", "XGBoost")
]  # others cannot be asked one by one
LIMIT = 0.02


def stopped(kind, **settings):
    return early_stop(
        score_models.fitted(kind),
        models.fresh(),
        **{"max_disagreement": LIMIT, "random_state": 0, **settings},
    )


@pytest.mark.parametrize("order", ["shared", "optimized"])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_strategy_on_all_scores(kind, order):
    X = models.fresh()[:500]
    classifier = stopped(kind, order=order)
    packed = kind in score_models.PACKED
    assert isinstance(classifier.ensemble_, ScoredForest if packed else ScoreVoters)
    strategy, classes = classifier.strategy_, classifier.classes_
    answers, asked = strategy.run(classifier.ensemble_.scores(X))
    labels, n_asked, score = classifier.predict_with_votes(X)
    np.testing.assert_array_equal(labels, classes[answers.astype(int)])
    np.testing.assert_array_equal(n_asked, asked)
    np.testing.assert_array_equal(classifier.predict(X), labels)
    np.testing.assert_array_equal(np.concatenate([classifier.predict(x[None]) for x in X[:50]]), labels[:50])
    for row in range(50):
        assert strategy.decide(int(asked[row]), score[row]) == answers[row]
    assert len(np.unique(asked)) > 1


@pytest.mark.parametrize("kind", OWN_SCORES)
def test_scores_are_those_of_the_members(kind):
    X = models.fresh()[:200]
    classifier = stopped(kind)
    scores, start = score_models.scores_of_members(score_models.fitted(kind), X)
    assert classifier.ensemble_.start == pytest.approx(start, abs=1e-12)
    np.testing.assert_allclose(classifier.ensemble_.scores(X), scores, atol=1e-12)
    np.testing.assert_allclose(classifier.ensemble_.full_scores(X), start + scores.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_drawn_once_but_boosted_members_keep_theirs(kind):
    first, again, other = (stopped(kind, random_state=seed).strategy_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.order, again.order)
    assert first == again
    given = np.arange(first.n_voters)
    if kind in score_models.BOOSTED:
        np.testing.assert_array_equal(first.order, given)
        np.testing.assert_array_equal(other.order, given)
    elif first.n_voters > 4:
        assert (first.order != other.order).any()
        assert (first.order != given).any()


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_the_estimators_own_and_ask_everyone(kind):
    X, model = models.fresh()[:300], score_models.fitted(kind)
    classifier = stopped(kind)
    if kind == "weighted hard committee":
        assert not hasattr(classifier, "predict_proba")
        with pytest.raises(AttributeError):
            classifier.predict_proba(X)
        return
    # XGBoost adds in float32.
    tolerance = 1e-6 if kind == "XGBoost" else 1e-13
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), atol=tolerance)
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(classifier.predict_proba(X[:1]), model.predict_proba(X[:1]), atol=tolerance)


def test_a_score_that_is_no_log_odds_tells_no_probability(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = models.rows()
    model = xgboost.XGBClassifier(n_estimators=20, objective="binary:hinge", n_jobs=1).fit(X[:500], y[:500])
    classifier = early_stop(model, X[500:], LIMIT, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    classifier.save(tmp_path / "file")
    for one in (classifier, EarlyStoppingClassifier.load(tmp_path / "file")):
        with pytest.raises(InvalidInputError, match="the objective of this model gives no probability"):
            one.predict_proba(X)


def test_shares_of_votes_are_the_probabilities_of_counted_votes():
    X = models.fresh()[:300]
    forest = early_stop(models.forest(), X, 0.05, random_state=0)
    np.testing.assert_allclose(forest.predict_proba(X), models.forest().predict_proba(X), atol=1e-15)
    bag = early_stop(models.bag_of_lines(), X, 0.05, random_state=0)
    np.testing.assert_allclose(bag.predict_proba(X), models.bag_of_lines().predict_proba(X), atol=1e-15)
    assert not hasattr(early_stop(models.committee(), X, 0.05), "predict_proba")
    assert not hasattr(early_stop(models.several_models(), X, 0.05), "predict_proba")
    assert hasattr(EarlyStoppingClassifier(RandomForestClassifier()), "predict_proba")
    assert not hasattr(EarlyStoppingClassifier(VotingClassifier(score_models.COMMITTEE)), "predict_proba")


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_is_kept_against_the_estimators_own_predict(kind):
    X, model = models.fresh(), score_models.fitted(kind)
    classifier = stopped(kind)
    certificate = classifier.strategy_.certificate
    differing = np.mean(classifier.predict(X) != model.predict(X))
    assert classifier.calibration_disagreement_ == differing <= LIMIT
    assert certificate.bound <= LIMIT
    assert certificate.n_certified == certificate.n_learned == len(X) // 2
    assert classifier.expected_votes_ == certificate.mean_asked < classifier.strategy_.n_voters
    asked = classifier.predict_with_votes(X)[1]
    assert asked.mean() == pytest.approx(classifier.expected_votes_, rel=0.1)
    assert set(classifier.disagreement_by_class_) == set(classifier.classes_.tolist())


def test_a_limit_for_each_class_is_kept():
    X, model = models.fresh(), score_models.fitted("soft forest")
    limits = {"ham": 0.05, "spam": 0.02}
    classifier = stopped("soft forest", max_disagreement=limits)
    own, labels = model.predict(X), classifier.predict(X)
    for label, limit in limits.items():
        assert classifier.disagreement_by_class_[label] <= limit
        assert np.mean(labels[own == label] != label) <= limit
    assert classifier.strategy_.certificate.max_disagreement == {"yes": 0.02, "no": 0.05}
    # Swapped, the other class is the careful one.
    swapped = stopped("soft forest", max_disagreement={"ham": 0.02, "spam": 0.05})
    assert swapped.strategy_.certificate.max_disagreement == {"yes": 0.05, "no": 0.02}


@pytest.mark.parametrize("kind", ["soft forest", "histograms", "bag of bayes"])
@pytest.mark.parametrize(("looks", "allowed"), [(5, {5, 10, 15, 20, 25, 30}), ([2, 9], {2, 9})], ids=str)
def test_it_stops_at_looks_only(kind, looks, allowed):
    classifier = stopped(kind, looks=looks)
    asked = classifier.predict_with_votes(models.fresh())[1]
    assert {*asked.tolist()} <= allowed | {classifier.strategy_.n_voters}
    assert len(np.unique(asked)) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_fitted_with_rows_held_out(kind):
    X, y = models.rows()
    labels = y if kind == "XGBoost" else score_models.NAMES[y]
    model = score_models.UNFITTED[kind]()
    classifier = EarlyStoppingClassifier(
        model, max_disagreement=0.05, calibration_size=0.3, random_state=0
    ).fit(X, labels)
    assert classifier.strategy_.certificate.n_learned == 450
    assert classifier.score(X, labels) > 0.6
    again = clone(classifier).fit(X, labels)
    np.testing.assert_array_equal(again.predict_with_votes(X)[1], classifier.predict_with_votes(X)[1])


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        *product(
            ["soft forest", "histograms", "soft committee", "boosted bayes"], [pd.DataFrame, pl.DataFrame]
        ),
        ("LightGBM", pd.DataFrame),  # which itself takes no frames of polars
    ],
)
def test_frames_are_taken(kind, frame):
    X, y = models.rows()
    named = frame({name: X[:, place] for place, name in enumerate("abcdef")})
    make = EarlyStoppingClassifier(
        score_models.UNFITTED[kind](), max_disagreement=0.05, calibration_size=0.3, random_state=0
    )
    classifier = clone(make).fit(named, y)
    assert classifier.feature_names_in_.tolist() == list("abcdef")
    nameless = clone(make).fit(X, y)
    assert not hasattr(nameless, "feature_names_in_")
    np.testing.assert_array_equal(classifier.predict(named), nameless.predict(X))
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        classifier.predict(named[list("fedcba")])


def test_missing_values_go_where_the_trees_send_them():
    X, y = models.rows()
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for model in (
        RandomForestClassifier(15, min_samples_leaf=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=15, random_state=0),
    ):
        model.fit(holed[:500], y[:500])
        classifier = early_stop(model, holed[500:], LIMIT, random_state=0)
        np.testing.assert_array_equal(classifier.full_predict(holed), model.predict(holed))
        labels = classifier.predict(holed)
        assert np.mean(labels != model.predict(holed)) < LIMIT
        np.testing.assert_array_equal([classifier.predict(x[None])[0] for x in holed[:40]], labels[:40])


def test_missing_values_are_refused_where_the_estimator_refuses_them():
    holed = models.fresh()[:5].copy()
    holed[3, 2] = np.nan
    for kind in ("boosted trees", "boosted bayes", "soft committee"):
        classifier = stopped(kind)
        for rows in (holed, holed[3:4]):
            for method in ("predict", "full_predict", "predict_with_votes"):
                with pytest.raises(ValueError, match="Input X contains NaN"):
                    getattr(classifier, method)(rows)


def test_categories_come_by_name_or_by_number():
    rng = np.random.default_rng(0)
    X, y = models.rows()
    colours = np.array(["blue", "green", "red", "white"])[(X[:, 0] > 0) * 2 + rng.integers(2, size=len(X))]
    frame = pd.DataFrame(X[:, 1:], columns=list("bcdef"))
    frame.insert(0, "colour", pd.Categorical(colours))
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
    model.fit(frame[:500], y[:500])
    classifier = early_stop(model, frame[500:], LIMIT, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(frame), model.predict(frame))
    assert np.mean(classifier.predict(frame) != model.predict(frame)) < LIMIT
    np.testing.assert_array_equal(classifier.predict(frame[:1]), classifier.predict(frame)[:1])


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_changes_nothing(n_jobs):
    X = models.rows(n_rows=30_000)[0]
    expected = stopped("soft forest").predict_with_votes(X)
    for one, other in zip(stopped("soft forest", n_jobs=n_jobs).predict_with_votes(X), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_last_bits_are_counted_against_the_limit():
    """A committee whose weights tie but for rounding: its own sum and ours, in another order, may differ."""
    X, y = models.to_fit()
    model = VotingClassifier(score_models.COMMITTEE[:3], weights=[0.1, 0.3, 0.4]).fit(X, y)
    differing = []
    for seed in range(6):
        classifier = early_stop(model, models.fresh(), 0.2, random_state=seed)
        scores, _ = score_models.scores_of_members(model, models.fresh())
        everyone = ScoreStrategy.ask_all(3, order=classifier.strategy_.order)
        own = model.predict(models.fresh()) == 1
        differing.append(np.mean(everyone.run(scores)[0] != own))
        assert classifier.rounding_disagreement_ == differing[-1]
        stopped_early = classifier.predict(models.fresh()) == 1
        assert classifier.calibration_disagreement_ == np.mean(stopped_early != own)
    assert max(differing) > 0
