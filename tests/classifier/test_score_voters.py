"""Voters that are no trees add up their scores, each asked only about the rows that are still undecided."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, ScoreStrategy, early_stop
from foregone.classifier.given_model import GivenModel
from foregone.classifier.voters import Members, ScoreVoters
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from tests.classifier import models, score_models
from tests.scores.test_score_strategy import score_strategies


class Counting(ClassifierMixin, BaseEstimator):
    """Is surer of yes the larger a column, and counts the rows it was asked about."""

    def __init__(self, column):
        self.column = column
        self.classes_ = np.array([0, 1])
        self.n_asked_ = 0

    def predict_proba(self, X):
        self.n_asked_ += len(X)
        yes = 1 / (1 + np.exp(-np.asarray(X)[:, self.column]))
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def test_each_voter_is_asked_about_undecided_rows_only():
    X = np.random.default_rng(0).normal(size=(3000, 9)) + np.random.default_rng(1).normal(size=(3000, 1)) * 2
    voters = [Counting(column) for column in range(9)]
    classifier = early_stop(voters, X, 0.02, voting="soft", random_state=0)
    assert classifier.voting_ == "soft"
    for voter in voters:
        voter.n_asked_ = 0
    asked = classifier.predict_with_votes(X)[1]
    assert sum(voter.n_asked_ for voter in voters) == asked.sum() < 0.7 * X.size
    mean = np.mean([voter.predict_proba(X)[:, 1] for voter in voters], axis=0)
    np.testing.assert_array_equal(classifier.full_predict(X), mean > 0.5)
    assert not hasattr(classifier, "predict_proba")  # a list has none of its own


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_strategy_is_followed_score_for_score(data):
    X = models.fresh()[:60]
    voters = GivenModel.of(score_models.fitted("weighted soft committee")).voters("soft")
    strategy = data.draw(score_strategies(4))
    strategy = ScoreStrategy.from_thresholds(strategy.lower, strategy.upper, order=strategy.order)
    answers, asked = strategy.run(voters.scores(X))
    found = voters.run(X, strategy)
    np.testing.assert_array_equal(found.answers, answers)
    np.testing.assert_array_equal(found.asked, asked)
    assert (found.asked.dtype, found.score.dtype) == (np.int32, np.float64)


def test_the_same_trees_packed_or_not_give_the_same_outcome():
    X, bag = models.fresh(), score_models.fitted("bag of trees")
    packed = early_stop(bag, X, 0.02, random_state=0)
    assert isinstance(packed.ensemble_, ScoredForest)
    members = Members(bag.estimators_, bag.classes_, [0, 1], bag.estimators_features_)
    unpacked = ScoreVoters(members, np.ones(15), averages=True)
    for strategy in (packed.strategy_, None):
        for one, other in zip(unpacked.run(X, strategy), packed.ensemble_.run(X, strategy), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_a_member_that_saw_one_class_is_sure_of_it():
    X = np.arange(40.0)[:, None]
    y = np.arange(40) >= 39
    neighbours = KNeighborsClassifier(n_neighbors=1)
    bag = BaggingClassifier(neighbours, n_estimators=12, max_samples=20, random_state=0).fit(X, y)
    known = [len(member.classes_) for member in bag.estimators_]
    assert {1, 2} == set(known)
    ensemble = GivenModel.of(bag).voters("soft")
    np.testing.assert_allclose(ensemble.full_scores(X) / 12 + 0.5, bag.predict_proba(X)[:, 1], atol=1e-12)


def test_members_that_were_dropped_have_no_weight():
    X, y = models.to_fit()
    members = [*score_models.COMMITTEE[:2], ("gone", "drop"), score_models.COMMITTEE[3]]
    model = VotingClassifier(members, voting="soft", weights=[1, 2, 50, 0.3]).fit(X, y)
    classifier = early_stop(model, models.fresh(), 0.05, random_state=0)
    assert classifier.ensemble_.weights.tolist() == [1, 2, 0.3]
    np.testing.assert_array_equal(classifier.full_predict(models.fresh()), model.predict(models.fresh()))


@pytest.mark.parametrize("weights", [[1, -1, 0, 0], [-1, 0, 0, 0], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1]])
def test_weights_without_sense_are_refused(weights):
    model = VotingClassifier(score_models.COMMITTEE, voting="soft", weights=weights).fit(*models.to_fit())
    with pytest.raises(InvalidInputError, match="weights must be finite numbers, one for each of the 4"):
        early_stop(model, models.fresh(), 0.05)


def test_a_negative_weight_turns_a_voter_round():
    model = VotingClassifier(score_models.COMMITTEE, voting="soft", weights=[2, 1, -0.5, 1])
    model.fit(*models.to_fit())
    classifier = early_stop(model, models.fresh(), 0.05, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(models.fresh()), model.predict(models.fresh()))


def test_voters_without_probabilities_cannot_be_averaged():
    voters = [LogisticRegression().fit(*models.to_fit()), models.bag_of_lines().estimators_[0]]
    with pytest.raises(InvalidInputError, match=r"voter 1 \(RidgeClassifier\) has no predict_proba"):
        ScoreVoters(Members(voters, np.array([0, 1]), [0, 1]), np.ones(2), averages=True)


def test_a_voter_with_odd_probabilities_is_found_out():
    class Odd(Counting):
        def predict_proba(self, X):
            return np.zeros(len(X))

    with pytest.raises(InvalidInputError, match=r"voter 0 \(Odd\) must return probabilities of 2 classes"):
        early_stop([Odd(0)], models.fresh()[:10], 0.5, voting="soft")


def test_a_strategy_for_others_is_refused():
    voters = GivenModel.of(score_models.fitted("soft committee")).voters("soft")
    with pytest.raises(InvalidInputError, match="as many voters as the ensemble, got 3 and 4: solve for 4"):
        voters.run(models.fresh(), ScoreStrategy.ask_all(3))


def test_voters_may_read_sparse_rows():
    X, y = models.rows()
    X = np.where(np.abs(X) < 0.5, 0, X)
    boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5, random_state=0)
    lines = BaggingClassifier(BernoulliNB(), max_samples=40, n_estimators=9, random_state=0)
    dense, thin = (
        EarlyStoppingClassifier(lines, max_disagreement=0.05, calibration_size=0.3, random_state=0).fit(
            rows, y
        )
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_array(X)))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        EarlyStoppingClassifier(boosted).fit(sparse.csr_array(X), y)


def test_it_says_what_it_is():
    voters = GivenModel.of(score_models.fitted("boosted bayes")).voters("soft")
    assert repr(voters) == f"<{voters.n_voters} voters with scores: GaussianNB>"
