"""Votes of many classes that can be split in too many ways to be counted: the lead alone is followed."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier import CannotCertifyWarning, HardVoteWarning
from foregone.errors import InvalidInputError
from foregone.forest import PluralityForest, ScoredForest


@cache
def digits():
    X, y = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(X))
    return X[shuffled], y[shuffled]


@cache
def forest():
    X, y = digits()
    return RandomForestClassifier(100, random_state=0).fit(X[:700], y[:700])


@cache
def stopped():
    return early_stop(forest(), digits()[0][700:1400], 0.05, random_state=0)


def fresh():
    return digits()[0][1400:]


def test_a_default_forest_of_ten_classes_is_stopped_by_its_lead():
    classifier, X = stopped(), fresh()
    assert (classifier._decider.scheme, classifier.voting_) == ("lead", "hard")
    assert isinstance(classifier.ensemble_, ScoredForest)
    assert classifier.promise_.about == "classifier"
    assert classifier.expected_votes_ < 50
    labels, asked, counts = classifier.predict_with_votes(X)
    np.testing.assert_array_equal(counts.sum(axis=1), asked)
    np.testing.assert_array_equal(counts.argmax(axis=1), labels)
    own = forest().predict(X)
    np.testing.assert_array_equal(classifier.full_predict(X), own)
    np.testing.assert_allclose(classifier.predict_proba(X), forest().predict_proba(X), atol=1e-12)
    assert np.mean(labels != own) <= 0.05
    assert [classifier.predict(X[k : k + 1])[0] for k in range(20)] == labels[:20].tolist()
    assert classifier.hard_soft_disagreement_ == 0


def test_its_full_votes_are_those_of_the_trees():
    votes = stopped().full_votes(fresh())
    np.testing.assert_array_equal(votes, PluralityForest.from_sklearn(forest()).votes(fresh()))
    assert votes.dtype == np.int32


def test_curtailment_agrees_with_the_forest_on_every_row():
    classifier = early_stop(forest())
    np.testing.assert_array_equal(classifier.predict(fresh()), forest().predict(fresh()))
    assert classifier.predict_with_votes(fresh())[1].mean() < 90


def test_it_is_saved_and_loaded(tmp_path):
    stopped().save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    assert (loaded._decider.scheme, loaded.voting_) == ("lead", "hard")
    for mine, theirs in zip(
        loaded.predict_with_votes(fresh()), stopped().predict_with_votes(fresh()), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(loaded.full_votes(fresh()), stopped().full_votes(fresh()))


def test_it_plans_on_rows():
    plan = stopped().plan([0.2, 0.05], X=digits()[0][700:1400])
    assert plan.rows[0].expected_votes <= plan.rows[1].expected_votes < 100


@pytest.mark.parametrize(
    ("n_trees", "n_classes", "scheme"), [(2000, 3, "lead"), (30, 100, "plurality"), (60, 100, "lead")]
)
def test_no_number_of_trees_and_classes_is_too_large(n_trees, n_classes, scheme):
    rng = np.random.default_rng(0)
    y = np.arange(1200) % n_classes
    X = np.c_[y + rng.normal(size=1200) * 0.3, rng.normal(size=1200)]
    model = RandomForestClassifier(n_trees, max_samples=80, random_state=0).fit(X[:300], y[:300])
    classifier = early_stop(model, X[300:900], 0.1, random_state=0)
    assert classifier._decider.scheme == scheme
    assert classifier.expected_votes_ < n_trees
    np.testing.assert_array_equal(classifier.full_predict(X[900:]), model.predict(X[900:]))
    assert np.mean(classifier.predict(X[900:]) != model.predict(X[900:])) <= 0.15


@pytest.mark.parametrize(
    "settings",
    [
        {"criterion": "minimax"},
        {"criterion": "minimixed"},
        {"confidence": None},
        {"order": "dealt"},
        {"order": "per_row"},
    ],
    ids=str,
)
def test_settings_that_take_counts_are_refused_by_the_number_of_states(settings):
    with pytest.raises(
        InvalidInputError, match=r"a vote of 100 voters among 10 different answers has .* states"
    ):
        early_stop(forest(), digits()[0][700:1400], 0.05, **settings)
    with pytest.raises(
        InvalidInputError, match=r"a vote of 100 voters among 10 different answers has .* states"
    ):
        EarlyStoppingClassifier(RandomForestClassifier(100), voting="hard", **settings).fit(*digits())


def test_an_answer_by_likelihood_is_refused_with_the_reason():
    with pytest.raises(InvalidInputError, match="100 voters among 10 classes can be split in too many ways"):
        early_stop(forest(), digits()[0][700:1400], 0.05, answer="likeliest")


def test_too_few_rows_curtail():
    with pytest.warns(CannotCertifyWarning, match="certification half"):
        classifier = early_stop(forest(), digits()[0][700:760], 0.001, random_state=0)
    np.testing.assert_array_equal(classifier.predict(fresh()), forest().predict(fresh()))


def test_it_looks_only_where_it_is_told():
    classifier = early_stop(forest(), digits()[0][700:1400], 0.05, looks=10, random_state=0)
    assert set(classifier.predict_with_votes(fresh())[1] % 10) == {0}


def test_a_tuned_forest_that_is_to_be_counted_warns_of_how_much_that_changes():
    X, y = digits()
    model = RandomForestClassifier(100, max_depth=3, random_state=0).fit(X[:700], y[:700])
    with pytest.warns(HardVoteWarning, match="averages probabilities"):
        classifier = early_stop(model, X[700:1400], 0.05, voting="hard", random_state=0)
    hard = classifier.full_predict(X[700:1400])
    assert classifier.hard_soft_disagreement_ == np.mean(hard != model.predict(X[700:1400])) > 0
    assert np.mean(classifier.predict(fresh()) != classifier.full_predict(fresh())) <= 0.08


def test_votes_of_others_are_followed_too():
    X, y = make_classification(2400, 8, n_informative=6, n_classes=8, n_clusters_per_class=1, random_state=0)
    members = [
        (f"{k} {smoothing}", model)
        for k, smoothing in enumerate(np.geomspace(1e-9, 1, 30))
        for model in (GaussianNB(var_smoothing=smoothing),)
    ] + [(f"near {k}", KNeighborsClassifier(k)) for k in range(1, 31)]
    model = VotingClassifier(members).fit(X[:300], y[:300])
    classifier = early_stop(model, X[300:1500], 0.05, random_state=0)
    assert (classifier._decider.scheme, classifier.voting_) == ("lead", "hard")
    np.testing.assert_array_equal(classifier.full_predict(X[1500:]), model.predict(X[1500:]))
    assert np.mean(classifier.predict(X[1500:]) != model.predict(X[1500:])) <= 0.07
    assert classifier.predict_with_votes(X[1500:])[1].mean() < 60


def test_a_bag_and_a_pipeline_are_followed_too():
    X, y = digits()
    bag = make_pipeline(StandardScaler(), BaggingClassifier(n_estimators=60, random_state=0))
    bag.fit(X[:700], y[:700])
    classifier = early_stop(bag, X[700:1400], 0.05, random_state=0)
    assert classifier._decider.scheme == "lead"
    np.testing.assert_array_equal(classifier.full_predict(fresh()), bag.predict(fresh()))
    assert np.mean(classifier.predict(fresh()) != bag.predict(fresh())) <= 0.08
