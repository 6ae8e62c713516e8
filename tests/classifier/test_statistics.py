"""The disagreement measured on fresh rows is the one computed for the strategy, within sampling error."""

import numpy as np
import pytest

from foregone import early_stop, evaluate
from tests.classifier import models


@pytest.mark.parametrize("order", ["shared", "per_row"])
@pytest.mark.parametrize("make", [models.forest, models.bag_of_lines], ids=["forest", "bag of lines"])
def test_disagreement_and_votes_asked_on_fresh_rows_are_those_computed(make, order):
    X = models.fresh()
    calibration, fresh = X[:1250], X[1250:]
    n_orders = 60 if make is models.forest else 16
    risks, costs = [], []
    for seed in range(n_orders):
        classifier = early_stop(make(), calibration, 0.02, confidence=None, order=order, random_state=seed)
        labels, asked, _ = classifier.predict_with_votes(fresh)
        risks.append(np.mean(labels != classifier.full_predict(fresh)))
        costs.append(asked.mean())
    figures = evaluate(classifier.strategy_)
    n_yes = classifier.ensemble_.votes(fresh)
    # Rows that share an order share its luck, so the spread is taken from the runs themselves.
    for measured, computed in ((risks, figures.disagreement[n_yes]), (costs, figures.expected_votes[n_yes])):
        error = np.std(measured, ddof=1) / np.sqrt(n_orders)
        assert abs(np.mean(measured) - computed.mean()) < 4.5 * error
        assert computed.mean() > 0
    # And fresh rows are like the calibration rows, for which the limit was met exactly.
    assert figures.mean(classifier.votes_).disagreement == pytest.approx(0.02)
    spread = figures.disagreement[n_yes].std() / np.sqrt(len(fresh))
    assert abs(figures.disagreement[n_yes].mean() - 0.02) < 6 * spread


def test_rows_in_orders_of_their_own_do_not_share_their_luck():
    X = models.fresh()
    wrong = []
    for seed in range(60):
        classifier = early_stop(models.forest(), X, 0.05, order="per_row", random_state=seed)
        wrong.append(classifier.predict(X) != classifier.full_predict(X))
    risk = evaluate(classifier.strategy_).disagreement[classifier.ensemble_.votes(X)]
    # Independent rows: the variance of the count is the sum of the variances.
    counts = np.sum(wrong, axis=1)
    ratio = counts.var(ddof=1) / (risk * (1 - risk)).sum()
    assert 0.4 < ratio < 1.9
