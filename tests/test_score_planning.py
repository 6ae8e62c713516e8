"""plan of ScoreRows and EarlyStoppingClassifier.plan: what each limit costs where scores are added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foregone import Plan, early_stop, plan, solve_scores
from foregone.classifier import CannotCertifyWarning
from foregone.errors import InvalidInputError
from foregone.scores import ClassScores, ScoreRows, estimate_scores
from foregone.strategy.limits import Limits
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


def test_rows_are_about_what_solve_scores_certifies() -> None:
    scores = draw()
    made = plan_scores(scores, LIMITS[::-1], looks=5, confidence=0.9, random_state=3)
    assert [row.limit for row in made.rows] == LIMITS
    for row in made.rows[:3]:
        strategy = solve_scores(scores, row.limit, order="given", looks=5, confidence=0.9, random_state=3)
        assert row.expected_votes == pytest.approx(strategy.certificate.mean_asked, rel=0.15)
        assert row.speed_up == 30 / row.expected_votes
        assert 0 < row.disagreement < row.limit
        assert row.guaranteed == row.limit
        assert row.reason is None
    for looser, row in zip(made.rows, made.rows[1:3], strict=False):
        cost = (row.expected_votes - looser.expected_votes) / 30
        assert row.price == pytest.approx(cost / (looser.limit - row.limit))


@pytest.mark.parametrize(
    ("classes", "drops"), [((), False), ((3,), False), ((3,), True)], ids=["two", "three", "dropped"]
)
def test_what_other_limits_learned_from_the_rows_changes_no_estimate(
    classes: tuple[int, ...], drops: bool
) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(rng.normal(size=(2000, 1, *classes)), 1, size=(2000, 12, *classes))
    labels = scores.sum(axis=1).argmax(axis=1) if classes else scores.sum(axis=1) > 0
    settings = {"order": "optimized", "drops_classes": drops, "labels": labels}
    shared = ScoreRows(scores, **settings)
    for loss in ("accuracy", "disagreement"):
        for limit in (0.1, 0.03):
            for looks in (None, 3):
                found, alone = (
                    estimate_scores(rows, Limits.of(limit), 0.95, looks, loss).strategy
                    for rows in (shared, ScoreRows(scores, **settings))
                )
                assert found == alone


@pytest.mark.parametrize("order", ["given", "random", "optimized"])
def test_rows_that_will_certify_have_no_part_in_a_plan(order: str) -> None:
    scores, patients = draw(3000), np.arange(3000) // 2
    rows = ScoreRows(scores, order=order, random_state=7, clusters=patients)
    certifying = rows.halves[1]
    others = scores.copy()
    others[certifying] = -np.roll(others[certifying], 1, axis=0) * 3
    answers = others.sum(axis=1) > 1.5
    answers[rows.halves[0]] = rows.right(rows.orders[0])[rows.halves[0]]
    changed = ScoreRows(others, order=order, random_state=7, clusters=patients, answers=answers)
    made = plan(rows, LIMITS)
    assert plan(changed, LIMITS).rows == made.rows
    assert made.rows[0].expected_votes < made.rows[1].expected_votes
    # The same half is left out when a limit is certified then.
    strategy = solve_scores(scores, 0.1, order=order, random_state=7, clusters=patients)
    answered, asked = strategy.run(scores[certifying])
    assert strategy.certificate.mean_asked == asked.mean()
    assert strategy.certificate.n_wrong == np.sum(answered != rows.right(strategy.order)[certifying])


def test_a_generator_is_used_once() -> None:
    scores, rng = draw(1000), np.random.default_rng(0)
    rows = ScoreRows(scores, order="random", random_state=rng)
    assert plan(rows, [0.1]).rows == plan(rows, [0.1]).rows
    np.testing.assert_array_equal(rows.halves[0], ScoreRows(scores, **rows.added_up).halves[0])
    assert ScoreRows(scores, random_state=rng).halves[0].tolist() != rows.halves[0].tolist()


def test_nothing_is_said_to_be_certified() -> None:
    made = plan_scores(draw(), LIMITS[:2], random_state=4)
    assert "estimates from the learning half" in made.recommendation
    assert "It will ask about" in made.recommendation
    assert "call fit or solve_scores with the same rows and random_state" in made.recommendation
    assert made.call.endswith("order='given', start=0.0, random_state=4)")


@pytest.mark.slow
def test_a_limit_that_a_plan_led_to_is_kept_as_often_as_promised() -> None:
    def drawn(n_rows: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return rng.normal(rng.normal(0.4, 1, size=(n_rows, 1)), 1, size=(n_rows, 10))

    fresh, limits, broken, chosen = drawn(60_000, 10**6), [0.15, 0.1, 0.07, 0.05], 0, set()
    full = fresh.sum(axis=1) > 0
    for seed in range(40):
        rows = ScoreRows(drawn(500, seed), random_state=seed)
        made = plan(rows, limits, confidence=0.8)
        # Whoever looks for a bargain takes the limit that is cheapest beside its neighbours.
        votes = [row.expected_votes for row in made.rows]
        place = min((1, 2), key=lambda place: 2 * votes[place] - votes[place - 1] - votes[place + 1])
        chosen.add(place)
        strategy = solve_scores(rows.scores, limits[place], confidence=0.8, **rows.added_up)
        broken += np.mean(strategy.run(fresh)[0] != full) > limits[place]
    assert chosen == {1, 2}
    assert broken <= 14  # more has a probability of 1 % even if each breaks with 20 %


def test_it_tightens_as_long_as_that_is_worth_it() -> None:
    scores = draw()
    prices = [row.price for row in plan_scores(scores, LIMITS[:3]).rows]
    assert prices[0] is None
    assert 0 < prices[1] < prices[2]
    for worth, chosen in ((prices[1] / 2, 0.1), ((prices[1] + prices[2]) / 2, 0.03), (prices[2] * 2, 0.01)):
        made = plan_scores(scores, LIMITS[:3], worth=worth)
        assert made.max_disagreement == chosen
        assert f"Use a limit of {chosen:g}" in made.recommendation
    assert "Going to" not in made.recommendation


def test_it_stops_where_the_rows_can_tell_no_more() -> None:
    made = plan_scores(draw(1000), [0.1, 0.01, 0.001], worth=1e9)
    assert made.max_disagreement == 0.01
    assert made.rows[2].expected_votes == 30
    assert "at least 2,995 are needed" in made.rows[2].reason
    assert (
        "A limit of 0.001 is unlikely to be certified: the learning half has 500 rows" in made.recommendation
    )
    nothing = plan_scores(draw(20), [0.1, 0.01])
    assert "Early stopping is unlikely to be certified" in nothing.recommendation
    assert nothing.recommended.expected_votes == 30
    bounds = np.array([[-5.0] * 30, [5.0] * 30])
    curtailed = plan(ScoreRows(draw(20).clip(-5, 5) + 4.5, bounds=bounds + 4.5), [0.1, 0.01])
    assert curtailed.recommended.expected_votes < 30
    assert "Stopping only when the answer is certain asks" in curtailed.recommendation


def draw_classes(n_rows: int = 4000, chances: tuple[float, ...] = (0.4, 0.3, 0.3)) -> np.ndarray:
    rng = np.random.default_rng(0)
    truth = rng.choice(len(chances), p=chances, size=(n_rows, 1))
    return rng.normal(0.5 * (truth == np.arange(len(chances)))[:, None], 1, (n_rows, 30, len(chances)))


def test_rows_of_many_classes_are_about_what_solve_scores_certifies() -> None:
    scores = draw_classes()
    start = [0.1, 0.0, -0.5]
    made = plan(ScoreRows(scores, start=start, random_state=3), LIMITS[:3], labels=["ant", "bee", "cow"])
    final = (scores.sum(axis=1) + start).argmax(axis=1)
    for row in made.rows:
        strategy = solve_scores(scores, row.limit, order="given", start=start, random_state=3)
        assert row.expected_votes == pytest.approx(strategy.certificate.mean_asked, rel=0.2)
        assert list(row.by_class) == ["ant", "bee", "cow"]
        halves = ScoreRows(scores, start=start, random_state=3).halves
        shares = np.bincount(final[halves[0]]) / len(halves[0])
        assert np.dot(shares, list(row.by_class.values())) == pytest.approx(row.disagreement)
    assert made.class_budgets is None
    assert "full sum" in made.recommendation
    without = plan(ScoreRows(scores, start=start), [0.1])
    assert list(without.chosen.by_class) == [0, 1, 2]
    assert without.call.endswith("order='given', start=[0.1, 0.0, -0.5], random_state=0)")


def test_a_plan_counts_the_voters_of_every_class_where_each_has_its_own() -> None:
    scores = draw_classes(2000)
    rows = ScoreRows(scores, drops_classes=True)
    made = plan(rows, [0.1], looks=4)
    assert (made.n_voters, made.n_steps) == (90, 30)
    strategy = solve_scores(scores, 0.1, order="given", looks=4, random_state=0, drops_classes=True)
    assert made.rows[0].expected_votes == pytest.approx(strategy.certificate.mean_asked, rel=0.2)
    together = plan(ScoreRows(scores), [0.1], looks=4)
    assert together.rows[0].expected_votes < made.rows[0].expected_votes < 3 * together.rows[0].expected_votes
    assert "looks=4, order='given', start=[0.0, 0.0, 0.0], drops_classes=True, random_state=0)" in made.call


def test_votes_that_are_added_up_are_compared_with_the_full_vote() -> None:
    votes = draw_classes(1000).argmax(axis=2)
    made = plan(ScoreRows(ClassScores.of_votes(votes, 3)), [0.1])
    assert made.full == "the full vote"
    assert "1 in 10 answers may differ from the full vote." in made.recommendation
    other = plan(ScoreRows(ClassScores(votes, np.diag([1.0, 2.0, 1.0]))), [0.1])
    assert "1 in 10 answers may differ from the full sum." in other.recommendation


def test_labels_of_many_classes_are_as_many_as_these() -> None:
    with pytest.raises(InvalidInputError, match="labels must have 3 labels, one for each class, got 2"):
        plan(ScoreRows(draw_classes(200)), [0.1], labels=["no", "yes"])
    with pytest.raises(InvalidInputError, match="labels must have two labels, for no and yes, got 3"):
        plan(ScoreRows(draw(200)), [0.1], labels=["ant", "bee", "cow"])


def test_a_rare_one_of_many_classes_that_loses_is_named_and_gets_no_limit_of_its_own() -> None:
    scores = draw_classes(10_000, (0.6, 0.4))
    rare = np.arange(0, 10_000, 200)
    scores = np.concatenate([scores, np.zeros((10_000, 30, 1))], axis=2)
    scores[rare, -1, 2] = 100  # only the last voter knows
    made = plan(ScoreRows(scores), [0.02], labels=["ant", "bee", "cow"])
    share = made.chosen.losing_classes()["cow"]
    assert share > 0.2
    assert made.class_budgets is None
    assert made.max_disagreement == 0.02
    said = f"{100 * share:.3g} % of the inputs with a full vote of 'cow' change answer"
    assert said in made.recommendation
    assert "If that is too much, use a tighter limit." in made.recommendation
    assert "a limit for each class" not in made.recommendation


def test_a_class_that_loses_gets_a_limit_of_its_own() -> None:
    made = plan_scores(draw(40_000, shift=-1.7), [0.01], labels=("healthy", "ill"))
    share = made.chosen.losing_classes()["yes"]
    assert 0.1 < share < 0.3
    assert made.max_disagreement == {"healthy": 0.01, "ill": 0.01}
    said = f"{100 * share:.3g} % of the inputs with a full vote of 'ill' change answer"
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
        ({"worth": 0}, "worth must be a number of full votes above 0"),
        ({"confidence": 1}, "confidence must be strictly between"),
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
    assert made.rows[1].expected_votes == pytest.approx(classifier.expected_votes_, rel=0.2)
    # The same rows, halves, order and looks as those of a fit with the limit that is then chosen.
    again = early_stop(score_models.fitted(kind), X, 0.1, looks=2, random_state=0)
    rows = ScoreRows(classifier.ensemble_.scores(X), random_state=classifier.seed_)
    labels, asked, _ = again.predict_with_votes(X[rows.halves[1]])
    assert again.strategy_.certificate.mean_asked == asked.mean()
    own = score_models.fitted(kind).predict(X[rows.halves[1]])
    assert again.strategy_.certificate.n_wrong == np.sum(labels != own)
    assert classifier.plan([0.1], X=X, confidence=0.5).confidence == 0.5
    with pytest.raises(InvalidInputError, match=r"not stored: give rows, plan\(X=X_calibration\)"):
        classifier.plan()


def test_rows_in_clusters_are_planned_with_in_clusters() -> None:
    X = models.fresh()
    patients = np.arange(len(X)) // 2
    classifier = early_stop(score_models.fitted("soft forest"), X, 0.05, clusters=patients, random_state=0)
    with pytest.raises(InvalidInputError, match="calibrated on rows in clusters"):
        classifier.plan([0.1], X=X)
    assert classifier.plan([0.1], X=X, clusters=patients).chosen.reason is None


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
        f"not protect every class: {100 * share:.3g} % of the inputs with a full vote of 'ill'"
        in made.recommendation
    )
    assert "There are too few rows to certify a limit for each class: give more rows" in made.recommendation
