from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import LabelledVotes, early_stop, evaluate, plan, solve
from foregone.display import TradeoffDisplay
from foregone.errors import InvalidInputError
from foregone.planning import ACCURACY_LIMITS
from foregone.scores import ScoreRows

RNG = np.random.default_rng(3)
N = 21
CHANCE = RNG.beta(0.6, 0.8, 6_000)
COUNTS = RNG.binomial(N, CHANCE)
TRUTH = RNG.random(6_000) < CHANCE
LABELLED = LabelledVotes.from_yes_counts(COUNTS, TRUTH, N)
GRID = [0.02, 0.01, 0.005]


@pytest.mark.parametrize("quota", [None, 7])
@pytest.mark.parametrize("looks", [None, 4])
def test_without_a_confidence_each_row_is_the_optimum_of_the_weighted_program(
    quota: int | None, looks: int | None
) -> None:
    found = plan(LABELLED, GRID, confidence=None, quota=quota, looks=looks)
    assert found.full_accuracy == LABELLED.accuracy(quota=quota)
    assert [row.max_accuracy_loss for row in found.rows] == GRID
    for row in found.rows:
        solution = solve(
            "minimean",
            LABELLED.votes,
            row.limit,
            values=LABELLED.values(quota=quota),
            quota=quota,
            looks=looks,
        )
        assert row.max_disagreement is None
        assert row.expected_votes == pytest.approx(solution.expected_votes)
        assert row.guaranteed == solution.disagreement
        risk = evaluate(solution.strategy).disagreement[COUNTS]
        assert row.disagreement == pytest.approx(risk.mean())
        side = np.where((quota or N // 2 + 1) <= COUNTS, 1, -1)
        lost = np.where(TRUTH, side, -side) * risk
        assert row.accuracy_loss == pytest.approx(lost.mean())
        assert row.accuracy_loss_by_class == pytest.approx(
            {"no": lost[~TRUTH].mean(), "yes": lost[TRUTH].mean()}
        )


def test_the_recommended_limit_is_on_accuracy_or_on_disagreement() -> None:
    in_accuracy = plan(LABELLED, GRID)
    assert in_accuracy.loss == "accuracy"
    assert in_accuracy.max_accuracy_loss == in_accuracy.limit == in_accuracy.chosen.limit
    assert in_accuracy.max_disagreement is None
    in_disagreement = plan(LABELLED.votes, GRID)
    assert in_disagreement.max_accuracy_loss is in_disagreement.full_accuracy is None
    assert in_disagreement.max_disagreement == in_disagreement.limit
    assert in_disagreement.chosen.accuracy_loss is None


def test_the_usual_limits_on_accuracy_are_those_that_people_say() -> None:
    assert [row.limit for row in plan(LABELLED, confidence=None).rows] == [*ACCURACY_LIMITS]


def test_the_same_limit_on_the_disagreement_takes_more_votes() -> None:
    found = plan(LABELLED, GRID, confidence=None)
    same = solve("minimean", LABELLED.votes, found.chosen.limit)
    assert found.votes_in_disagreement == pytest.approx(same.expected_votes)
    assert found.votes_in_disagreement > found.chosen.expected_votes
    assert f"the same limit on the disagreement would ask {same.expected_votes:.1f}" in found.recommendation


def test_with_a_confidence_figures_are_estimates_and_more_careful() -> None:
    sure, plain = plan(LABELLED, GRID), plan(LABELLED, GRID, confidence=None)
    assert sure.is_estimated
    assert not plain.is_estimated
    assert sure.promise is None
    assert str(plain.promise).startswith("The accuracy of")
    for one, other in zip(sure.rows, plain.rows, strict=True):
        assert one.expected_votes > other.expected_votes
        assert one.guaranteed == one.limit
    assert "estimates" in sure.notes[-1]
    assert [row.expected_votes for row in plan(LABELLED, GRID).rows] == [
        row.expected_votes for row in sure.rows
    ]


def test_few_inputs_are_planned_with_care() -> None:
    few = LabelledVotes.from_yes_counts(COUNTS[:100], TRUTH[:100], N)
    for row, other in zip(plan(few, GRID).rows, plan(LABELLED, GRID).rows, strict=True):
        assert row.reason is None
        assert other.expected_votes < row.expected_votes < N


def test_a_price_is_what_an_error_avoided_costs_in_full_votes() -> None:
    first, second, _ = plan(LABELLED, GRID, confidence=None).rows
    more = second.expected_votes - first.expected_votes
    assert second.price == pytest.approx(more / (first.guaranteed - second.guaranteed) / N)


def test_a_true_class_that_loses_far_more_is_given_the_limit_for_itself() -> None:
    rare = LabelledVotes.from_counts(
        [9000, 1500, 300, 60, 20, 5, 3, 2, 1, 1, 1, 1], [20, 30, 40, 30, 30, 20, 20, 20, 20, 30, 40, 50]
    )
    found = plan(rare, [0.002], confidence=None)
    assert found.chosen.losing_classes().keys() == {"yes"}
    assert found.class_budgets is not None
    assert found.max_accuracy_loss == {"yes": 0.002, "no": 0.002}
    assert found.class_budgets.accuracy_loss_by_class["yes"] <= 0.002
    assert "truly 'yes' falls by" in found.recommendation
    limits, values = rare.by_class({"yes": 0.002, "no": 0.002})
    assert "labelled.by_class({'yes': 0.002, 'no': 0.002})" in found.call
    solution = solve("minimean", rare.votes, limits, values=values)
    assert solution.expected_votes == pytest.approx(found.class_budgets.expected_votes)
    named = plan(rare, [0.002], confidence=None, labels=["well", "ill"])
    assert "truly 'ill' falls by" in named.recommendation
    assert named.call == (
        "EarlyStoppingClassifier(..., max_accuracy_loss={'well': 0.002, 'ill': 0.002}, confidence=None)"
    )


def test_the_call_is_one_that_python_understands() -> None:
    found = plan(LABELLED, GRID, confidence=None, quota=7)
    names = {"solve": solve, "labelled": LABELLED}
    if found.class_budgets is None:
        solution = eval(found.call, names)  # noqa: S307  # it is our own
        assert solution.quota == 7
        assert solution.expected_votes == pytest.approx(found.chosen.expected_votes)
    assert plan(LABELLED, GRID, labels=["no", "yes"]).call == (
        f"EarlyStoppingClassifier(..., max_accuracy_loss={found.rows[-1].limit!r})"
    )
    assert "threshold=7/21" in plan(LABELLED, GRID, labels=["no", "yes"], quota=7).call


def test_criteria_that_bound_every_input_stay_with_disagreement_and_show_accuracy() -> None:
    found = plan(LABELLED, GRID, criterion="minimixed")
    assert found.loss == "disagreement"
    assert found.max_disagreement == found.limit
    assert found.full_accuracy == LABELLED.accuracy()
    assert found.chosen.accuracy_loss is not None


def test_a_quota_warns_that_accuracy_counts_all_errors_alike() -> None:
    assert "accuracy counts both kinds equally" in plan(LABELLED, GRID, quota=5).recommendation
    assert "accuracy counts both kinds equally" not in plan(LABELLED, GRID).recommendation


def test_the_words_read_well() -> None:
    said = plan(LABELLED, GRID, confidence=None, worth=1e9).recommendation
    accuracy = f"{100 * LABELLED.accuracy():.1f} %"
    assert said.startswith(
        f"Use a limit of 0.005 on the loss of accuracy: the accuracy of the full vote, {accuracy}, falls by "
        "at most 0.5 points on these inputs"
    )
    assert "error avoided" in said
    assert "disagreement avoided" not in said


# Scores ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def score_rows() -> ScoreRows:
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(6_000, 1))
    truth = mean[:, 0] + rng.normal(scale=0.5, size=6_000) > 0
    return ScoreRows(rng.normal(0.5 * mean, 1, size=(6_000, 30)), labels=truth)


def test_scores_with_labels_are_planned_in_accuracy(score_rows: ScoreRows) -> None:
    found = plan(score_rows, [0.05, 0.02])
    assert found.loss == "accuracy"
    half = score_rows.halves[0]
    full = score_rows.scores[half].sum(axis=1) > 0
    truth = score_rows.losses.truth
    assert truth is not None
    assert found.full_accuracy == pytest.approx((full == truth[half]).mean())
    assert found.chosen.accuracy_loss <= found.chosen.limit
    assert found.chosen.accuracy_loss_by_class.keys() == {"no", "yes"}
    assert found.votes_in_disagreement > found.chosen.expected_votes
    assert re.search(r"solve_scores\(scores, [\d.]+, .*labels=labels", found.call)


def test_scores_of_many_classes_have_the_loss_of_each() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3_000, 12, 3)) + rng.normal(scale=0.7, size=(3_000, 1, 3))
    found = plan(ScoreRows(scores, labels=scores.sum(axis=1).argmax(axis=1)), [0.05], labels=list("abc"))
    assert found.full_accuracy == 1.0
    assert found.chosen.accuracy_loss == found.chosen.disagreement
    assert found.chosen.accuracy_loss_by_class.keys() == {"a", "b", "c"}
    assert found.call.startswith("EarlyStoppingClassifier(..., max_accuracy_loss=0.05")


def test_plans_of_costs_are_refused(score_rows: ScoreRows) -> None:
    truth = score_rows.losses.truth == 1
    with pytest.raises(InvalidInputError, match="leave out costs"):
        plan(ScoreRows(score_rows.scores, labels=truth, costs=[[0, 1], [10, 0]]))


def test_scores_have_no_quota(score_rows: ScoreRows) -> None:
    with pytest.raises(InvalidInputError, match="quota is only for counted votes"):
        plan(score_rows, quota=3)


# Classifiers ----------------------------------------------------------------------------------------


def data(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(3_000, 8, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=0)


def test_a_forest_plans_in_accuracy_given_labels() -> None:
    X, y = data()
    forest = RandomForestClassifier(15, random_state=0).fit(X[:800], y[:800])
    classifier = early_stop(forest, X[800:2000], max_disagreement=0.05, voting="hard")
    found = classifier.plan([0.05, 0.02], X=X[2000:], y=y[2000:])
    counts = classifier.full_votes(X[2000:])
    assert found.full_accuracy == LabelledVotes.from_yes_counts(counts, y[2000:], 15).accuracy()
    assert found.max_accuracy_loss is not None
    drawn = TradeoffDisplay.from_estimator(classifier, [0.05, 0.02], X=X[2000:], y=y[2000:])
    assert drawn.plan is not None
    assert drawn.plan.max_accuracy_loss == found.max_accuracy_loss
    assert classifier.plan([0.05], X=X[2000:]).loss == "disagreement"
    with pytest.raises(InvalidInputError, match="got y without X"):
        classifier.plan(y=y)
    with pytest.raises(InvalidInputError, match="must be among the model's classes"):
        classifier.plan(X=X[2000:], y=y[2000:] + 5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_plan_in_accuracy_given_labels(n_classes: int) -> None:
    X, y = data(n_classes)
    model = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X[:800], y[:800])
    classifier = early_stop(model, X[800:2000], max_disagreement=0.05)
    found = classifier.plan([0.1, 0.05], X=X[2000:], y=y[2000:])
    assert found.loss == "accuracy"
    assert len(found.chosen.accuracy_loss_by_class) == n_classes


def test_counted_votes_of_many_classes_tell_no_accuracy() -> None:
    X, y = data(3)
    forest = RandomForestClassifier(9, random_state=0).fit(X[:800], y[:800])
    classifier = early_stop(forest, X[800:2000], max_disagreement=0.1, voting="hard")
    with pytest.raises(InvalidInputError, match="leave out y"):
        classifier.plan(X=X[2000:], y=y[2000:])
