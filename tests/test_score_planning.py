"""plan of ScoreRows and EarlyStoppingClassifier.plan: what each limit costs where scores are added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foregone import Plan, early_stop, plan, solve_scores
from foregone.classifier import CannotCertifyWarning
from foregone.errors import InvalidInputError
from foregone.scores import ScoreRows
from tests.classifier import models, score_models

LIMITS = [0.1, 0.03, 0.01, 0.001]


def draw(n_rows: int = 6000, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(rng.normal(shift, 1, size=(n_rows, 1)), 1, size=(n_rows, 30))


def plan_scores(
    scores: np.ndarray,
    limits: list[float] | None = None,
    *,
    order: str = "given",
    random_state: int = 0,
    **options: Any,
) -> Plan:
    return plan(ScoreRows(scores, order=order, random_state=random_state), limits, **options)


def test_rows_are_what_solve_scores_finds() -> None:
    scores = draw()
    made = plan_scores(scores, LIMITS[::-1], looks=5, confidence=0.9, random_state=3)
    assert [row.limit for row in made.rows] == LIMITS
    for row in made.rows[:3]:
        strategy = solve_scores(scores, row.limit, order="given", looks=5, confidence=0.9, random_state=3)
        certificate = strategy.certificate
        assert row.expected_votes == certificate.mean_asked
        assert row.speed_up == 30 / certificate.mean_asked
        assert row.disagreement == certificate.n_wrong / certificate.n_certified
        assert row.reason is None
    for looser, row in zip(made.rows, made.rows[1:3], strict=False):
        cost = (row.expected_votes - looser.expected_votes) / 30
        assert row.price == pytest.approx(cost / (looser.limit - row.limit))


def test_it_tightens_as_long_as_that_is_worth_it() -> None:
    scores = draw()
    prices = [row.price for row in plan_scores(scores, LIMITS[:3]).rows]
    assert prices[0] is None
    assert 0 < prices[1] < prices[2]
    for worth, chosen in ((prices[1] / 2, 0.1), ((prices[1] + prices[2]) / 2, 0.03), (prices[2] * 2, 0.01)):
        made = plan_scores(scores, LIMITS[:3], worth=worth)
        assert made.max_disagreement == chosen
        assert f"Take a limit of {chosen:g}" in made.recommendation
    assert "No tighter" not in made.recommendation


def test_it_stops_where_the_rows_can_tell_no_more() -> None:
    made = plan_scores(draw(1000), [0.1, 0.01, 0.001], worth=1e9)
    assert made.max_disagreement == 0.01
    assert made.rows[2].expected_votes == 30
    assert "at least 2,995 are needed" in made.rows[2].reason
    assert "No tighter: for 0.001, no early stop can be certified" in made.recommendation
    nothing = plan_scores(draw(20), [0.1, 0.01])
    assert "Nothing could be certified" in nothing.recommendation
    assert nothing.recommended.expected_votes == 30


def test_a_class_that_loses_gets_a_limit_of_its_own() -> None:
    made = plan_scores(draw(40_000, shift=-1.7), [0.01], labels=("healthy", "ill"))
    share = made.chosen.losing_classes()["yes"]
    assert 0.1 < share < 0.3
    assert made.max_disagreement == {"healthy": 0.01, "ill": 0.01}
    said = f"{100 * share:.3g} % of the inputs with a full vote of 'ill' are answered otherwise"
    assert said in made.recommendation
    assert made.recommended.expected_votes > made.chosen.expected_votes


def test_records_are_plain_numbers() -> None:
    made = plan_scores(draw(), LIMITS)
    assert [record["max_disagreement"] for record in made.records()] == LIMITS
    assert all(
        value is None or isinstance(value, float) for record in made.records() for value in record.values()
    )
    assert repr(made).startswith(
        "<Plan for 30 voters, minimean at 0.95 confidence: 4 limits from 0.1 to 0.001, "
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limits": []}, "limits is empty"),
        ({"limits": [2]}, "each of limits must be a number from 0 to 1"),
        ({"worth": 0}, "worth must be a number above 0"),
        ({"confidence": 1}, "confidence must lie strictly between"),
        ({"order": "best"}, "order must be None"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_scores(draw(100), **settings)


@pytest.mark.parametrize("kind", ["soft forest", "histograms", "soft committee"])
def test_a_classifier_plans_with_rows_that_it_is_given(kind: str) -> None:
    X = models.fresh()
    classifier = early_stop(score_models.fitted(kind), X, 0.02, looks=2, random_state=0)
    made = classifier.plan([0.1, 0.02], X=X, worth=1e9)
    assert made.labels == ("ham", "spam")
    # The same rows, halves, order and looks: what it was fitted with.
    assert made.rows[1].expected_votes == classifier.expected_votes_
    assert classifier.plan([0.1], X=X, confidence=0.5).confidence == 0.5
    with pytest.raises(InvalidInputError, match=r"not kept, so give rows .*plan\(X=X_calibration\)"):
        classifier.plan()


def test_a_classifier_that_could_not_be_certified_can_plan_with_more_rows() -> None:
    X = models.fresh()
    with pytest.warns(CannotCertifyWarning):
        classifier = early_stop(score_models.fitted("soft forest"), X[:50], 0.02, random_state=0)
    assert classifier.plan([0.05], X=X).recommended.expected_votes < 10


def test_counted_votes_plan_with_other_rows_too() -> None:
    X = models.fresh()
    classifier = early_stop(models.forest(), X[:1000], 0.02, random_state=0)
    assert classifier.plan([0.02], X=X).votes.n_observations == len(X)
    assert classifier.plan([0.02]).votes.n_observations == 1000


def test_a_class_that_loses_is_named_even_if_its_rows_are_too_few_for_a_limit_of_its_own() -> None:
    made = plan_scores(draw(6_000, shift=-3.0), [0.01], labels=("healthy", "ill"))
    share = made.chosen.losing_classes()["yes"]
    assert made.class_budgets is None
    assert (
        f"But a class loses: {100 * share:.3g} % of the inputs with a full vote of 'ill'"
        in made.recommendation
    )
    assert "These rows cannot certify a limit for each class: give more of them" in made.recommendation
