"""Fitting where scores are added up: what can be certified, and what happens when nothing can."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.naive_bayes import GaussianNB

from foregone import EarlyStoppingClassifier, ScoreStrategy, early_stop, solve_scores
from foregone.certifying import Promise, RowLabels
from foregone.classifier import CannotCertifyWarning
from foregone.classifier.calibration_scores import scores_of
from foregone.errors import InvalidInputError, SolverError
from foregone.scores.paths import BLOCK_SCORES, full_answers
from foregone.scores.rules import curtailment
from tests.classifier import models, score_models

KINDS = ["soft forest", "histograms", "soft committee"]


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_rows_mean_that_it_curtails_and_the_reason_is_told(kind):
    model, X = score_models.fitted(kind), models.fresh()
    with pytest.warns(CannotCertifyWarning, match="has 50 rows.* cannot change the answer") as caught:
        classifier = early_stop(model, X[:100], 0.01, random_state=0)
    assert len(caught) == 1
    assert "calibration_size" in str(caught[0].message)
    assert "at least 299 are needed" in classifier.strategy_.reason
    assert classifier.strategy_.certificate is None
    labels, asked, _ = classifier.predict_with_votes(X)
    assert asked.mean() < classifier.strategy_.n_voters
    np.testing.assert_array_equal(labels, model.predict(X))
    assert classifier.expected_votes_ == asked[:100].mean()
    assert classifier.promise_ == Promise.certain(0.01)
    assert classifier.disagreement_by_class_ == {"ham": 0, "spam": 0}
    assert classifier.calibration_disagreement_ == 0
    with pytest.raises(SolverError, match=r"no early stop can be certified: .* has 50 rows"):
        early_stop(model, X[:100], 0.01, on_failure="raise")


def test_the_warning_points_at_the_call_of_fit():
    with pytest.warns(CannotCertifyWarning) as caught:
        EarlyStoppingClassifier(GradientBoostingClassifier(n_estimators=5)).fit(*models.to_fit())
    assert caught[0].filename == __file__


def test_rows_of_one_class_teach_nothing():
    model, X = score_models.fitted("soft forest"), models.fresh()
    ham = X[model.predict(X) == "ham"]
    with pytest.warns(CannotCertifyWarning, match='has a full sum that says "yes"'):
        classifier = early_stop(model, ham, 0.05, random_state=0)
    np.testing.assert_array_equal(classifier.predict(X), model.predict(X))
    with pytest.raises(SolverError, match="give rows of both answers"):
        early_stop(model, ham, 0.05, on_failure="raise")


def test_no_disagreement_at_all_is_kept_by_curtailing():
    classifier = early_stop(score_models.fitted("soft forest"), models.fresh(), 0, on_failure="raise")
    assert classifier.promise_ == Promise.certain(0)
    assert classifier.expected_votes_ < 21
    assert classifier.strategy_ == curtailment(
        classifier.ensemble_.score_bounds, order=classifier.strategy_.order
    )


@pytest.mark.parametrize("kind", score_models.UNFITTED)
def test_without_rows_it_stops_where_the_answer_is_certain(kind):
    model, X = score_models.fitted(kind), models.fresh()
    classifier = early_stop(model, random_state=0)
    labels, asked, _ = classifier.predict_with_votes(X)
    everyone = ScoreStrategy.ask_all(
        classifier.strategy_.n_voters, order=classifier.strategy_.order, start=classifier.strategy_.start
    )
    full = everyone.run(classifier.ensemble_.scores(X))[0]
    np.testing.assert_array_equal(labels, classifier.classes_[full.astype(int)])
    assert asked.mean() < classifier.strategy_.n_voters
    assert classifier.promise_ == Promise.certain(1e-3)
    assert classifier.strategy_.reason == "no calibration rows were given"
    assert classifier.expected_votes_ == classifier.strategy_.n_voters
    assert not hasattr(classifier, "calibration_disagreement_")
    assert not hasattr(classifier, "rounding_disagreement_")


@pytest.mark.parametrize("kind", score_models.UNFITTED)
def test_no_voter_leaves_its_bounds(kind):
    ensemble = early_stop(score_models.fitted(kind), random_state=0).ensemble_
    scores, (low, high) = ensemble.scores(models.fresh()), ensemble.score_bounds
    assert ((low <= scores) & (scores <= high)).all()
    if kind in score_models.PACKED:  # leaves that no row reaches are among them
        assert (low <= scores.min(axis=0)).all()
        assert (high >= scores.max(axis=0)).all()
        assert np.mean(low == scores.min(axis=0)) > 0.3


def test_bounds_of_voters_know_weights_of_either_sign():
    X, y = models.to_fit()
    model = VotingClassifier(score_models.COMMITTEE[:3], weights=[2, -1, 3]).fit(X, y)
    hard = early_stop(model, random_state=0).ensemble_
    np.testing.assert_array_equal(hard.score_bounds, [[-2, -1, -3], [2, 1, 3]])
    soft = early_stop(model.set_params(voting="soft"), random_state=0).ensemble_
    np.testing.assert_allclose(soft.score_bounds, [[-1, -0.5, -1.5], [1, 0.5, 1.5]], rtol=1e-5)
    assert (soft.score_bounds[1] > [1, 0.5, 1.5]).all()


class Boastful(ClassifierMixin, BaseEstimator):
    """Gives probabilities that are not numbers."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        yes = 0.5 + 2.0 * np.sign(X[:, 1])
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_voters_who_say_more_than_they_can_are_not_curtailed():
    X, y = models.to_fit()
    model = VotingClassifier([("a", GaussianNB()), ("b", Boastful()), ("c", GaussianNB())], voting="soft")
    model.fit(X, y)
    with pytest.warns(CannotCertifyWarning, match="every voter will be asked"):
        classifier = early_stop(model, models.fresh()[:50], 0.01, random_state=0)
    np.testing.assert_array_equal(classifier.predict(models.fresh()), model.predict(models.fresh()))


class Unsure(ClassifierMixin, BaseEstimator):
    """Gives a probability of NaN where a column is far out."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        yes = np.where(X[:, 0] > 2.5, np.nan, 1 / (1 + np.exp(-X[:, 0])))
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_scores_that_are_nan_mean_that_everyone_is_asked():
    X, y = models.rows()
    model = VotingClassifier([("a", GaussianNB()), ("b", Unsure())], voting="soft").fit(X[:500], y[:500])
    row = np.flatnonzero(X[500:, 0] > 2.5)[0]
    with pytest.warns(CannotCertifyWarning, match=f"got nan from voter 1 for calibration row {row}"):
        classifier = early_stop(model, X[500:], 0.1, random_state=0)
    np.testing.assert_array_equal(classifier.predict(X), model.predict(X))  # argmax takes NaN for the first
    assert (classifier.predict_with_votes(X)[1] == 2).all()
    with pytest.raises(SolverError, match="leave out such rows, or repair the voter"):
        early_stop(model, X[500:], 0.1, on_failure="raise")
    usual = X[500:][X[500:, 0] <= 2.5]
    careful = early_stop(model, usual, 0.1, random_state=0)
    assert careful.strategy_.certificate is not None
    _, asked, score = careful.predict_with_votes(X)
    assert (asked[np.isnan(score)] == 2).all()
    assert np.isnan(score).any()


def test_the_strategy_is_what_solve_scores_makes_of_the_scores():
    X, model = models.fresh(), score_models.fitted("soft forest")
    classifier = early_stop(model, X, 0.02, confidence=0.9, looks=3, random_state=0)
    scores, bounds = classifier.ensemble_.scores(X), classifier.ensemble_.score_bounds
    expected = solve_scores(
        scores, 0.02, confidence=0.9, looks=3, bounds=bounds,
        order=classifier.strategy_.order, random_state=classifier.seed_,
    )  # fmt: skip
    assert classifier.strategy_ == expected
    assert classifier.strategy_.certificate == expected.certificate
    best = early_stop(model, X, 0.02, order="optimized", random_state=0)
    learned = solve_scores(scores, 0.02, order="optimized", bounds=bounds, random_state=best.seed_)
    assert best.strategy_ == learned


@pytest.mark.parametrize("kind", score_models.UNFITTED)
@pytest.mark.parametrize("order", ["auto", "optimized"])
def test_predict_is_what_was_certified(kind, order):
    """The halves are known: asked again, the rows that certify are answered as the certificate says."""
    X, model = models.fresh(), score_models.fitted(kind)
    classifier = early_stop(model, X, 0.02, order=order, random_state=3)
    half = X[RowLabels().split(len(X), 0.5, np.random.default_rng(classifier.seed_))[1]]
    labels, asked, _ = classifier.predict_with_votes(half)
    certificate, promise = classifier.strategy_.certificate, classifier.promise_
    assert certificate.n_wrong == np.count_nonzero(labels != model.predict(half))
    assert certificate.mean_asked == asked.mean()
    one_by_one = np.concatenate([classifier.predict(x[None]) for x in half[:60]])
    np.testing.assert_array_equal(one_by_one, labels[:60])
    assert (promise.about, promise.limit, promise.n_rows) == ("classifier", 0.02, len(half))
    assert promise.bound == certificate.bound <= 0.02
    assert str(promise).startswith("With 95 % confidence, this classifier disagrees with its full vote on at")


def test_groups_and_clusters_of_rows_are_kept_apart():
    X, model = models.fresh(), score_models.fitted("soft forest")
    groups, patients = np.where(X[:, 2] > 0, "old", "young"), np.arange(len(X)) // 2
    classifier = early_stop(model, X, 0.05, groups=groups, clusters=patients, random_state=3)
    halves = RowLabels.of(groups, patients, len(X)).split(
        len(X), 0.5, np.random.default_rng(classifier.seed_)
    )
    half = halves[1]
    wrong = classifier.predict(X[half]) != model.predict(X[half])
    for part in classifier.strategy_.certificate.parts:
        of_it = groups[half] == part.group
        owners = patients[half][of_it]
        means = [wrong[of_it][owners == one].mean() for one in np.unique(owners)]
        assert part.n_observations == len(means)
        assert part.mean_loss == pytest.approx(np.mean(means))
        assert part.bound <= 0.05
    promise = classifier.promise_
    assert (promise.groups, promise.in_clusters, promise.n_rows) == (("old", "young"), True, len(half))
    assert "in each of 2 groups" in str(promise)
    labelled = early_stop(model, X, {"ham": 0.1, "spam": 0.05}, groups=groups, random_state=3).promise_
    assert labelled.limit == {"ham": 0.1, "spam": 0.05}
    assert set(labelled.bound) == {(label, age) for label in ("ham", "spam") for age in ("old", "young")}


def test_scores_are_asked_for_in_blocks(monkeypatch):
    X = models.fresh()
    ensemble = early_stop(score_models.fitted("soft forest"), X, 0.02, random_state=0).ensemble_
    whole = scores_of(ensemble, X)
    sizes = []

    class Watched:
        n_steps, start = ensemble.n_steps, ensemble.start

        def compact_scores(self, rows):
            sizes.append(len(rows))
            return ensemble.compact_scores(rows)

    monkeypatch.setattr("foregone.scores.paths.BLOCK_SCORES", 21 * 700)
    np.testing.assert_array_equal(scores_of(Watched(), X), whole)
    assert sizes == [700, 700, 700, 400]
    strategy = ScoreStrategy.ask_all(21, order=np.arange(21)[::-1])
    np.testing.assert_array_equal(strategy.run(whole)[0], full_answers(whole, strategy.order, strategy.start))
    assert whole.dtype == np.float64
    assert BLOCK_SCORES * 8 < 50e6


def test_looks_that_can_be_gone_through_once_are_enough():
    X, y = models.rows()
    classifier = EarlyStoppingClassifier(
        score_models.UNFITTED["boosted trees"](),
        max_disagreement=0.05,
        looks=iter([3]),
        calibration_size=0.3,
        random_state=0,
    )
    assert classifier.fit(X, y).strategy_.looks.tolist() == [3, 30]


def test_looks_are_held_against_the_trees_that_were_grown():
    X, y = models.rows()
    stops = GradientBoostingClassifier(n_estimators=200, n_iter_no_change=1, random_state=0)
    with pytest.raises(InvalidInputError, match="looks must be"):
        EarlyStoppingClassifier(stops, looks=[150], calibration_size=0.3, random_state=0).fit(X, y)


def test_every_random_state_gives_its_own_halves_and_the_same_promise():
    X = models.fresh()
    made = [early_stop(score_models.fitted("histograms"), X, 0.02, random_state=seed) for seed in range(4)]
    assert len({one.seed_ for one in made}) == 4
    assert all(one.strategy_.certificate.bound <= 0.02 for one in made)
    assert len({one.strategy_ for one in made}) > 1


def test_the_limit_is_kept_on_all_rows_in_nearly_all_calibrations():
    """The fresh rows are the truth here, and calibration rows are drawn from them."""
    X, model, rng = models.fresh(), score_models.fitted("soft forest"), np.random.default_rng(0)
    own, broken = model.predict(X), 0
    for seed in range(40):
        drawn = X[rng.integers(len(X), size=600)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CannotCertifyWarning)
            classifier = early_stop(model, drawn, 0.03, random_state=seed)
        broken += np.mean(classifier.predict(X) != own) > 0.03
    assert broken <= 6  # at 5 % more than this would come up once in 100 times


def test_a_forest_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="RandomForestClassifier instance is not fitted yet"):
        early_stop(RandomForestClassifier(), models.fresh(), voting="soft")
