"""How often the majority of votes differs from averaged probabilities is measured, and told if it matters."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier import HardVoteWarning
from foregone.classifier.calibration_warnings import is_small_beside
from tests.classifier import models


def test_fully_grown_trees_agree_and_nothing_is_said():
    classifier = early_stop(models.forest(), models.fresh(), 1e-3)
    assert classifier.hard_soft_disagreement_ == 0


def test_shallow_trees_disagree_and_the_figure_is_told():
    model = RandomForestClassifier(25, max_depth=2, random_state=0).fit(*models.to_fit())
    X = models.fresh()
    with pytest.warns(HardVoteWarning) as caught:
        classifier = early_stop(model, X, 1e-3, voting="hard", random_state=0)
    votes = np.sum([tree.predict(X) for tree in model.estimators_], axis=0)
    differing = np.count_nonzero((2 * votes > 25) != model.predict(X))
    assert classifier.hard_soft_disagreement_ == differing / len(X) > 0.01
    assert f"{differing:,} of 2,500 calibration rows ({differing / 2500:.2g})" in str(caught[0].message)
    assert "max_disagreement=0.001" in str(caught[0].message)


def test_the_warning_points_at_the_call_of_fit():
    model = RandomForestClassifier(25, max_depth=2, random_state=0)
    with pytest.warns(HardVoteWarning) as caught:
        EarlyStoppingClassifier(
            model, max_disagreement=0.01, voting="hard", calibration_size=0.3, random_state=0
        ).fit(*models.rows())
    assert caught[0].filename == __file__


def test_a_soft_committee_is_measured_too():
    members = [("a", GaussianNB()), ("b", LogisticRegression()), ("c", DecisionTreeClassifier(max_depth=1))]
    soft = VotingClassifier(members, voting="soft").fit(*models.to_fit())
    hard = VotingClassifier(members).fit(*models.to_fit())
    with pytest.warns(HardVoteWarning):
        classifier = early_stop(soft, models.fresh(), 1e-3, voting="hard", random_state=0)
    expected = np.mean(hard.predict(models.fresh()) != soft.predict(models.fresh()))
    assert classifier.hard_soft_disagreement_ == expected
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert early_stop(hard, models.fresh(), 1e-3).hard_soft_disagreement_ == 0


@pytest.mark.parametrize(("n_rows", "limit"), [(50, 0.1), (2000, 1e-3), (20_000, 1e-3), (100_000, 0.01)])
def test_small_means_that_a_tenth_of_the_limit_could_well_have_shown_as_many(n_rows, limit):
    for n_differing in range(0, 60):
        chance = binom.sf(n_differing - 1, n_rows, limit / 10)
        assert is_small_beside(n_differing, n_rows, limit) == (chance >= 0.05)


def test_with_no_disagreement_allowed_a_single_row_is_too_much():
    assert is_small_beside(0, 1000, 0.0)
    assert not is_small_beside(1, 1000, 0.0)
    assert not is_small_beside(1000, 1000, 0.5)
