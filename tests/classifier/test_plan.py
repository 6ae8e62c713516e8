from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from foregone import EarlyStoppingClassifier, early_stop, plan, solve


@pytest.fixture(scope="module")
def classifier() -> EarlyStoppingClassifier:
    X, y = make_classification(3000, weights=[0.85], random_state=0)
    labels = np.array(["healthy", "ill"])[y]
    forest = RandomForestClassifier(15, random_state=0).fit(X[:1000], labels[:1000])
    return early_stop(forest, X[1000:], max_disagreement=0.05, random_state=0)


def test_it_plans_for_its_own_votes_and_settings(classifier: EarlyStoppingClassifier) -> None:
    made = classifier.plan()
    expected = plan(classifier.votes_, criterion=classifier.criterion, confidence=classifier.confidence)
    assert made.rows == expected.rows
    assert made.confidence == classifier.confidence
    assert made.labels == ("healthy", "ill")


def test_settings_can_be_changed(classifier: EarlyStoppingClassifier) -> None:
    made = classifier.plan([0.1], criterion="minimixed", looks=5)
    solution = solve("minimixed", classifier.votes_, 0.1, looks=5)
    assert made.rows[0].expected_votes == pytest.approx(solution.expected_votes)


def test_the_words_name_its_classes(classifier: EarlyStoppingClassifier) -> None:
    made = classifier.plan([0.01], confidence=0.9)
    losing = made.chosen.losing_classes()
    assert made.max_disagreement == ({"healthy": 0.01, "ill": 0.01} if losing else 0.01)
    assert "EarlyStoppingClassifier(..., criterion='minimean', max_disagreement=" in made.recommendation
    assert "'yes'" not in made.recommendation
    if losing:
        assert "'ill'" in made.recommendation


def test_it_must_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        EarlyStoppingClassifier(RandomForestClassifier(5)).plan()
