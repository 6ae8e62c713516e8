"""Fitting: who is fitted on what, and what a fitted classifier knows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, VoteDistribution, early_stop, evaluate, solve
from foregone.classifier import CalibrationWarning
from foregone.classifier.hold_out import hold_out
from foregone.errors import InvalidInputError
from tests.classifier import models


def make(**settings):
    forest = RandomForestClassifier(11, random_state=0)
    return EarlyStoppingClassifier(forest, **{"max_disagreement": 0.05, "random_state": 0, **settings})


def test_a_frozen_model_is_calibrated_and_not_refitted():
    model, X = models.forest(), models.fresh()
    trees = list(model.estimators_)
    classifier = EarlyStoppingClassifier(
        FrozenEstimator(model), max_disagreement=0.01, order="shared", random_state=0
    ).fit(X)
    assert model.estimators_ == trees
    yes_counts = np.sum([tree.predict(X) for tree in trees], axis=0)
    assert classifier.votes_ == VoteDistribution.from_yes_counts(yes_counts.astype(int), len(trees))
    assert classifier.solution_.strategy is classifier.strategy_
    assert classifier.strategy_ == solve("minimean", classifier.votes_, 0.01, confidence=0.95).strategy
    assert classifier.expected_votes_ == classifier.solution_.expected_votes
    assert classifier.n_features_in_ == models.N_FEATURES
    assert not hasattr(classifier, "feature_names_in_")
    _, asked, _ = classifier.predict_with_votes(X)
    assert abs(asked.mean() - classifier.expected_votes_) < 1
    differing = classifier.predict(X) != classifier.full_predict(X)
    assert classifier.calibration_disagreement_ == differing.mean()


def test_labels_are_not_looked_at_when_nothing_is_fitted():
    X = models.fresh()
    apart = [
        EarlyStoppingClassifier(FrozenEstimator(models.forest()), max_disagreement=0.01, random_state=0).fit(
            X, y
        )
        for y in (None, np.zeros(len(X)), ["nonsense"] * len(X))
    ]
    apart.append(early_stop(models.forest(), X, 0.01, random_state=0))
    apart.append(early_stop(FrozenEstimator(models.forest()), X, 0.01, random_state=0))
    for classifier in apart:
        assert classifier.strategy_ == apart[0].strategy_
        np.testing.assert_array_equal(classifier.predict(X), apart[0].predict(X))


def test_otherwise_rows_are_held_out_in_proportion_and_the_estimator_is_left_alone():
    X, y = models.rows()
    y = np.where(np.arange(len(y)) % 10 == 0, y, 0)
    for size, n_held_out in ((0.1, 300), (0.25, 750), (123, 123), (0.0001, 2)):
        classifier = make(calibration_size=size, max_disagreement=0.5).fit(X, y)
        assert classifier.votes_.n_observations == n_held_out
        assert not hasattr(classifier.estimator, "estimators_")
    shares = []
    for seed in range(5):
        classifier = make(calibration_size=300, random_state=seed).fit(X, y)
        # The trees know their own training rows by heart, so held-out rows are not all alike.
        shares.append(classifier.votes_.probabilities[6:].sum())
    assert np.ptp(shares) < 0.02


@pytest.mark.parametrize("criterion", ["minimean", "minimixed", "minimax"])
def test_every_criterion_keeps_its_limit(criterion):
    classifier = early_stop(
        models.forest(), models.fresh(), 0.02, criterion=criterion, order="shared", random_state=0
    )
    figures = evaluate(classifier.strategy_)
    risk = (
        figures.mean(classifier.votes_).disagreement
        if criterion == "minimean"
        else figures.worst().disagreement
    )
    assert risk <= 0.02 * (1 + 1e-9)
    assert classifier.solution_.criterion == criterion
    assert classifier.expected_votes_ == figures.mean(classifier.votes_).expected_votes


def test_everything_is_decided_by_the_random_state():
    X, y = models.rows()
    forest = RandomForestClassifier(11)  # without a seed of its own
    fitted = [
        EarlyStoppingClassifier(forest, max_disagreement=0.02, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    again = EarlyStoppingClassifier(forest, max_disagreement=0.02, random_state=np.random.RandomState(0)).fit(
        X, y
    )
    assert forest.random_state is None
    for classifier in (fitted[1], again):
        assert classifier.seed_ == fitted[0].seed_
        assert classifier.votes_ == fitted[0].votes_
        np.testing.assert_array_equal(classifier.ensemble_.nodes, fitted[0].ensemble_.nodes)
        np.testing.assert_array_equal(classifier.predict(X), fitted[0].predict(X))
    assert fitted[2].seed_ != fitted[0].seed_
    free = [EarlyStoppingClassifier(forest, max_disagreement=0.02).fit(X, y) for _ in range(2)]
    assert free[0].seed_ != free[1].seed_
    np.testing.assert_array_equal(free[0].predict(X), free[0].predict(X))


def test_seeds_of_the_estimator_are_kept():
    X, y = models.rows()
    bag = BaggingClassifier(SGDClassifier(loss="hinge"), n_estimators=3, random_state=7)
    members = [
        EarlyStoppingClassifier(bag, max_disagreement=0.1, random_state=0).fit(X, y).ensemble_.members
        for _ in range(2)
    ]
    for one, other in zip(*members, strict=True):
        assert one.random_state == other.random_state
    votes = EarlyStoppingClassifier(models.forest(5), max_disagreement=0.1, random_state=0).fit(X, y)
    other = EarlyStoppingClassifier(clone(models.forest(5)), max_disagreement=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(votes.ensemble_.nodes, other.ensemble_.nodes)


def test_a_changed_order_waits_for_the_next_fit():
    X, y = models.to_fit()
    classifier = make().fit(X, y)
    before = classifier.predict_with_votes(models.fresh())
    classifier.set_params(order="per_row")
    for one, other in zip(classifier.predict_with_votes(models.fresh()), before, strict=True):
        np.testing.assert_array_equal(one, other)
    classifier.fit(X, y)
    assert (classifier.predict_with_votes(models.fresh())[1] != before[1]).any()


def test_few_calibration_rows_are_warned_of_where_the_limit_leans_on_them():
    X = models.fresh()
    with pytest.warns(
        CalibrationWarning, match="999 calibration rows are too few .* at least 1,000"
    ) as caught:
        early_stop(models.forest(), X[:999], 1e-3, confidence=None)
    assert caught[0].category is CalibrationWarning
    for settings in ({"criterion": "minimixed"}, {"criterion": "minimax"}):
        early_stop(models.forest(), X[:50], 1e-3, confidence=None, **settings)
    early_stop(models.forest(), X[:50], 1e-3)  # with a confidence it does not
    early_stop(models.forest(), X[:1000], 1e-3, confidence=None)
    early_stop(models.forest(), X[:10], 0, confidence=None)


@pytest.mark.parametrize(
    ("n_rows", "settings", "message"),
    [
        (3, {}, "cannot hold out calibration_size=0.1 of n_samples=3 and keep rows of every"),
        (8, {"calibration_size": 8}, "cannot hold out calibration_size=8 of n_samples=8"),
        (8, {"calibration_size": 0.99}, "cannot hold out calibration_size=0.99 of n_samples=8"),
    ],
)
def test_too_few_rows_to_hold_some_out_are_refused(n_rows, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        make(**settings).fit(np.arange(2.0 * n_rows).reshape(n_rows, 2), np.arange(n_rows) % 2)


def test_a_class_that_is_all_held_out_is_refused():
    X, y = models.to_fit()
    rows = np.arange(len(y))
    _, held_out, _ = hold_out(rows, rows % 2, 0.1, np.random.RandomState(0))
    with pytest.raises(InvalidInputError, match=r"keep rows of every class .* \(none of .* is of class True"):
        hold_out(X, rows == held_out[0], 0.1, np.random.RandomState(0))


def test_rows_are_held_out_as_a_plain_random_sample():
    y = np.arange(1000) < 100
    held_out = [hold_out(np.arange(1000), y, 0.1, np.random.RandomState(seed))[1] for seed in range(200)]
    of_the_rare_class = np.array([np.count_nonzero(rows < 100) for rows in held_out])
    # Without proportions kept, their number is hypergeometric: variance 100 * .1 * .9 * 900 / 999.
    assert of_the_rare_class.mean() == pytest.approx(10, abs=1)
    assert of_the_rare_class.var() == pytest.approx(8.1, rel=0.4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_disagreement": -0.1}, "max_disagreement must be a number from 0 to 1"),
        ({"max_disagreement": "small"}, "max_disagreement must be a number from 0 to 1"),
        ({"criterion": "maximin"}, "criterion must be one of"),
        ({"order": "alphabetical"}, 'order must be one of "auto", "shared", "dealt", "per_row", "optimized"'),
        ({"voting": "loud"}, 'voting must be one of "auto", "hard", "soft", got \'loud\''),
        ({"on_failure": "cry"}, 'on_failure must be one of "curtail", "raise"'),
        ({"voting": "hard", "order": "optimized", "confidence": None}, 'order="optimized" is certified'),
        ({"calibration_size": 0.0}, "The 'calibration_size' parameter of EarlyStoppingClassifier must be"),
        ({"calibration_size": 1.0}, "The 'calibration_size' parameter"),
        ({"calibration_size": 1}, "The 'calibration_size' parameter"),
        ({"calibration_size": True}, "The 'calibration_size' parameter"),
        ({"calibration_size": "half"}, "The 'calibration_size' parameter"),
        ({"random_state": "lucky"}, "cannot be used to seed"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_fitted(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings).fit(*models.to_fit())


def test_a_classifier_that_was_not_fitted_says_so():
    for method in ("predict", "predict_with_votes", "full_predict"):
        for X in (models.fresh(), models.fresh()[:1]):
            with pytest.raises(
                NotFittedError, match="This EarlyStoppingClassifier instance is not fitted yet"
            ):
                getattr(make(), method)(X)
    with pytest.raises(NotFittedError):
        make().save("nowhere")
    with pytest.raises(NotFittedError, match="LogisticRegression"):
        early_stop([LogisticRegression()], models.fresh())
    with pytest.raises(NotFittedError, match="RandomForestClassifier"):
        early_stop(RandomForestClassifier(), models.fresh())


def test_fitting_again_forgets_the_names_of_features():
    pandas = pytest.importorskip("pandas")
    X, y = models.to_fit()
    named = pandas.DataFrame(X, columns=list("abcdef"))
    classifier = make().fit(named, y)
    assert hasattr(classifier, "feature_names_in_")
    classifier.fit(X, y)
    assert not hasattr(classifier, "feature_names_in_")
    classifier.fit(named, y)
    classifier.set_params(estimator=FrozenEstimator(models.forest())).fit(X)
    assert not hasattr(classifier, "feature_names_in_")
    classifier.predict(X[:1])


# Weights ---------------------------------------------------------------------------------------


def test_weights_are_passed_on_for_the_rows_that_are_not_held_out():
    X, y = models.to_fit()
    weights = np.random.default_rng(0).uniform(0, 3, len(y)) * np.where(y == y[0], 5, 1)
    rows = np.arange(len(y))
    split, held_out, _ = hold_out(rows, y, 0.3, np.random.RandomState(0))
    forest = RandomForestClassifier(11, random_state=0)
    expected = forest.fit(X[split["X"]], y[split["X"]], weights[split["X"]])
    classifier = make(calibration_size=0.3)
    for given in (weights, weights.tolist()):
        classifier.fit(X, y, sample_weight=given)
        np.testing.assert_array_equal(classifier.full_predict(X), expected.predict(X))
        assert classifier.votes_.n_observations == len(held_out)
    assert (classifier.fit(X, y).full_predict(X) != expected.predict(X)).any()


def test_an_estimator_that_takes_no_weights_says_so_itself():
    X, y = models.to_fit()
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    with pytest.raises(ValueError, match=r"Pipeline\.fit does not accept the sample_weight parameter"):
        EarlyStoppingClassifier(pipeline).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y, sample_weight=[1.0, 2.0])


def test_a_fitted_model_needs_no_weights():
    X = models.fresh()
    one, other = (make().set_params(estimator=FrozenEstimator(models.forest())) for _ in range(2))
    one.fit(X, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(one.predict(X), other.fit(X).predict(X))


def test_a_classifier_is_shown_in_a_line_or_two():
    trees = [DecisionTreeClassifier(max_depth=depth).fit(*models.to_fit()) for depth in range(1, 31)]
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(5)).fit(*models.to_fit())
    for model in (trees, pipeline):
        shown = repr(early_stop(model, models.fresh(), 0.1, random_state=0))
        assert shown.startswith("EarlyStoppingClassifier(estimator=")
        assert "\n" not in shown
        assert len(shown) <= 220
