"""Voters that are no trees are asked only about the rows that are still undecided."""

import hashlib
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, StoppingStrategy, early_stop, rules
from foregone.classifier.voters import Members, Voters
from foregone.errors import InvalidInputError
from foregone.forest import FixedOrder, PackedForest
from tests.classifier import models
from tests.forest.simulation import ORDERS, order_named, sequence_of, simulate
from tests.strategies import answering_strategies, looking_strategies


class Counting(ClassifierMixin, BaseEstimator):
    """Says yes when a column is positive, and counts the rows it was asked about."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.n_asked_ = 0
        return self

    def predict(self, X):
        self.n_asked_ += len(X)
        return (np.asarray(X)[:, self.column] > 0).astype(int)


@pytest.mark.parametrize("order", ["shared", "per_row"])
def test_each_voter_is_asked_about_undecided_rows_only(order):
    X = np.random.default_rng(0).normal(size=(2000, 9)) + np.random.default_rng(1).normal(size=(2000, 1)) * 2
    voters = [Counting(column).fit(None, None) for column in range(9)]
    classifier = early_stop(voters, X, 0.01, order=order, random_state=0)
    for voter in voters:
        voter.n_asked_ = 0
    _, asked, _ = classifier.predict_with_votes(X)
    assert sum(voter.n_asked_ for voter in voters) == asked.sum() < 0.7 * X.size
    # In one order all rows begin with the same voter, in orders of their own with any.
    most = max(voter.n_asked_ for voter in voters)
    assert most == 2000 if order == "shared" else most < 1900
    assert classifier.n_features_in_ == 9


def test_the_same_trees_packed_or_not_give_the_same_outcome():
    X, y = models.to_fit()
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=15, max_features=4, random_state=0).fit(
        X, y
    )
    packed = early_stop(bag, models.fresh(), 0.02, random_state=0)
    assert isinstance(packed.ensemble_, PackedForest)
    unpacked = Voters(Members(bag.estimators_, bag.classes_, [0, 1], bag.estimators_features_))
    for order in (order_named(name, 15) for name in ORDERS):
        expected = packed.ensemble_.run(models.fresh(), packed.strategy_, seed=5, order=order)
        found = unpacked.run(models.fresh(), packed.strategy_, seed=5, order=order)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@given(st.data(), st.sampled_from([order_named(name, 5) for name in ORDERS]), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_packed_or_not_any_answers_and_looks_are_followed(data, order, seed):
    strategy = data.draw(answering_strategies(5) | looking_strategies(5).map(lambda both: both[1]))
    bag, X = small_bag(), models.fresh()[:40]
    expected = PackedForest.from_sklearn(bag).run(X, strategy, seed=seed, order=order)
    found = Voters(Members(bag.estimators_, bag.classes_, [0, 1], bag.estimators_features_)).run(
        X, strategy, seed=seed, order=order
    )
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@cache
def small_bag():
    tree = DecisionTreeClassifier(max_depth=2)
    return BaggingClassifier(tree, n_estimators=5, random_state=0).fit(*models.to_fit())


@pytest.mark.parametrize("name", ORDERS)
def test_voters_that_take_missing_values_follow_the_simulation_vote_for_vote(name):
    X, y = models.to_fit()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    trees = [DecisionTreeClassifier(max_depth=3, random_state=k).fit(X[k::7], y[k::7]) for k in range(7)]
    voters, rows = Voters(Members(trees, np.array([0, 1]), [0, 1])), X[:120]
    votes = np.stack([tree.predict(rows) for tree in trees], axis=1)
    strategy = StoppingStrategy.from_rows(7, lambda asked: np.where(asked < 2, 0.0, np.full(asked + 1, 0.4)))
    order = order_named(name, 7)
    outcome = voters.run(rows, strategy, seed=9, order=order)
    for one, other in zip(outcome, simulate(strategy, votes, 9, order, rows), strict=True):
        np.testing.assert_array_equal(one, other)
    for k in range(10):
        alone = voters.run(rows[k : k + 1], strategy, seed=9, order=order)
        assert [part[0] for part in alone] == [part[k] for part in outcome]


@pytest.mark.parametrize("name", ORDERS)
def test_rows_of_a_frame_with_texts_are_asked_about_in_the_order_of_their_values(name):
    frame, _ = frame_with_texts()
    frame = pd.concat([frame[:60]] * 2)
    voters = [ReadsText("colour", "red"), ReadsText("a", 0.3), ReadsText("b", 0), ReadsText("c", -0.5)]
    order, strategy = order_named(name, 4), rules.lead(4, 2)
    outcome = Voters(Members(voters, np.array([0, 1]), [0, 1])).run(frame, strategy, seed=4, order=order)
    votes = np.stack([voter.predict(frame) for voter in voters], axis=1)
    for k, values in enumerate(frame.to_numpy().tolist()):
        digest = hashlib.blake2b(repr(values).encode(), digest_size=8).digest()
        sequence = sequence_of(4, 4, order, int.from_bytes(digest, "little"))
        asked = yes = 0
        while not strategy.stop_probability(asked, yes):
            yes += votes[k, sequence[asked]]
            asked += 1
        assert [part[k] for part in outcome] == [strategy.answer(asked, yes), asked, yes]
    for part in outcome:
        np.testing.assert_array_equal(part[:60], part[60:])  # equal rows, equal answers


class ReadsText:
    """Says yes when a column of a frame is this text, or above this number."""

    def __init__(self, column, wanted):
        self.column, self.wanted = column, wanted

    def predict(self, frame):
        column = frame[self.column]
        return (column == self.wanted if isinstance(self.wanted, str) else column > self.wanted).astype(int)


def test_an_order_of_other_voters_is_refused():
    voters = Voters(Members(small_bag().estimators_, np.array([0, 1]), [0, 1]))
    with pytest.raises(InvalidInputError, match="each of the 5 voters once, but it has 3"):
        voters.run(models.fresh()[:3], rules.lead(5, 2), seed=0, order=FixedOrder([2, 0, 1]))


def test_a_committee_is_fitted_on_all_but_the_held_out_rows():
    X, y = models.rows()
    names = np.array(["bad", "good"])
    committee = VotingClassifier(
        [("a", GaussianNB()), ("b", LogisticRegression()), ("c", DecisionTreeClassifier())]
    )
    classifier = EarlyStoppingClassifier(committee, max_disagreement=0.05, random_state=0).fit(X, names[y])
    assert classifier.score(X, names[y]) > 0.75
    assert classifier.hard_soft_disagreement_ == 0
    assert "3 voters: DecisionTreeClassifier, GaussianNB, LogisticRegression" in repr(classifier.ensemble_)


def test_a_single_voter_and_an_even_number_of_them_work():
    for n_voters in (1, 2, 4):
        members = models.several_models()[:n_voters]
        classifier = early_stop(members, models.fresh(), 0, random_state=0)
        votes = models.votes_of_members(members, models.fresh()).sum(axis=1)
        np.testing.assert_array_equal(classifier.predict(models.fresh()), 2 * votes > n_voters)


class Stranger:
    """A voter that knows nothing of scikit-learn."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_a_voter_need_not_be_an_estimator():
    classifier = early_stop([*models.several_models()[:2], Stranger()], models.fresh(), 0.05, random_state=0)
    alone = early_stop([Stranger()], models.fresh(), 0, random_state=0)
    np.testing.assert_array_equal(alone.predict(models.fresh()), models.fresh()[:, 0] > 0)
    assert classifier.n_features_in_ == alone.n_features_in_ == models.N_FEATURES


def test_a_list_of_voters_keeps_string_labels():
    X, y = models.to_fit()
    names = np.array(["no", "yes"])[y]
    members = [GaussianNB().fit(X[k::3], names[k::3]) for k in range(3)]
    assert early_stop(members, models.fresh(), 0.05, random_state=0).score(X, names) > 0.6
    assert early_stop(tuple(members), models.fresh(), 0.05).classes_.tolist() == ["no", "yes"]


def test_a_clone_of_a_list_needs_frozen_voters():
    X = models.fresh()
    bare = EarlyStoppingClassifier(models.several_models(), max_disagreement=0.05, random_state=0)
    with pytest.raises(NotFittedError, match="wrap each voter in FrozenEstimator"):
        clone(bare).fit(X)
    frozen = clone(bare.set_params(estimator=[FrozenEstimator(model) for model in models.several_models()]))
    np.testing.assert_array_equal(
        frozen.fit(X).predict(X), early_stop(models.several_models(), X, 0.05, random_state=0).predict(X)
    )


def frame_with_texts():
    X, y = models.rows()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["colour"] = np.where(X[:, 0] > 0, "red", "blue")
    return frame, y


@pytest.mark.parametrize("order", ["shared", "per_row"])
def test_voters_may_read_frames_with_texts(order):
    frame, y = frame_with_texts()
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    lines = VotingClassifier(
        [
            (f"{strength}", make_pipeline(encode, LogisticRegression(C=strength)))
            for strength in (1e-4, 1e-3, 1.0)
        ]
    )
    classifier = EarlyStoppingClassifier(lines, max_disagreement=0.03, order=order, random_state=0).fit(
        frame, y
    )
    assert classifier.score(frame, y) > 0.6
    labels = classifier.predict(frame)
    assert len(np.unique(classifier.predict_with_votes(frame)[1])) > 1
    np.testing.assert_array_equal(labels[:5], [classifier.predict(frame[k : k + 1])[0] for k in range(5)])


@pytest.mark.parametrize("order", ["shared", "per_row"])
def test_voters_may_read_sparse_rows(order):
    X, y = models.rows()
    X = np.where(np.abs(X) < 0.5, 0, X)
    lines = BaggingClassifier(RidgeClassifier(), max_samples=20, n_estimators=9, random_state=0)
    dense, thin = (
        EarlyStoppingClassifier(lines, max_disagreement=0.03, order=order, random_state=0).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_array(X)))


def test_a_voter_with_odd_predictions_is_found_out():
    class Odd(Counting):
        def predict(self, X):
            return np.zeros((len(X), 2))

    with pytest.raises(
        InvalidInputError, match=r"voter 0 \(Odd\) must predict one label for each of 10 rows"
    ):
        early_stop([Odd(0).fit(None, None)], models.fresh()[:10], 0.5)


def test_values_that_no_voter_can_take_are_refused_even_if_nobody_would_be_asked():
    X = models.fresh().copy()
    classifier = early_stop(models.several_models(), X, 1.0)
    assert classifier.expected_votes_ == 0
    for value in (np.nan, np.inf):
        X[3, 3] = value
        with pytest.raises(ValueError, match="Input X contains"):
            classifier.predict(X)
