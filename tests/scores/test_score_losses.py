"""Scores with true answers: limits on the loss of accuracy and on costs, kept on new rows and saved."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from foregone import ScoreStrategy, load, solve_scores
from foregone.certifying import RowLosses, betting_bound, clopper_pearson_bound
from foregone.errors import FileFormatError, InvalidInputError, SolverError
from foregone.scores import CannotCertifyWarning, ScoreRows, estimate_scores
from foregone.strategy.json_file import write_file
from foregone.strategy.limits import Limits

COSTS = np.array([[0.0, 1.0], [4.0, 0.0]])


def draw(n_rows: int, n_voters: int = 20, seed: int = 0, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores of voters that share an opinion about each row, and a truth that it often misses."""
    rng = np.random.default_rng(seed)
    opinion = rng.normal(shift, 1, size=n_rows)
    labels = rng.random(n_rows) < 1 / (1 + np.exp(-2 * opinion))
    return rng.normal(opinion[:, None], 1.5, size=(n_rows, n_voters)), labels


def draw_classes(n_rows: int, n_voters: int = 20, n_classes: int = 3, seed: int = 0):
    """Draw the same for several classes."""
    rng = np.random.default_rng(seed)
    opinion = rng.normal(size=(n_rows, n_classes))
    labels = (opinion + rng.gumbel(0, 0.6, size=opinion.shape)).argmax(axis=1)
    return rng.normal(0.6 * opinion[:, None], 1.0, size=(n_rows, n_voters, n_classes)), labels


def full_answers(scores: np.ndarray) -> np.ndarray:
    sums = scores.sum(axis=1)
    return sums.argmax(axis=1) if scores.ndim == 3 else sums > 0


def loss_in_words(answers, full, labels, costs=None) -> list[float]:
    """Return what each row loses, one row at a time."""
    lost = []
    for said, everyone, truth in zip(answers, full, labels, strict=True):
        if costs is None:
            lost.append(float(everyone == truth) - float(said == truth))
        else:
            lost.append(costs[int(truth)][int(said)] - costs[int(truth)][int(everyone)])
    return lost


def certified_rows(n_rows: int, seed: int = 0) -> np.ndarray:
    """Return the four fifths of the rows that had no part in learning."""
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[n_rows // 5 :])


# What is lost --------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [None, COSTS])
def test_the_certificate_says_what_the_rows_lost_that_were_not_learned_from(costs):
    scores, labels = draw(6001)
    strategy = solve_scores(scores, 0.03, order="given", random_state=3, labels=labels, costs=costs)
    certificate = strategy.certificate
    certified = certified_rows(6001, seed=3)
    answers, asked = strategy.run(scores[certified])
    full = full_answers(scores[certified])
    lost = np.array(loss_in_words(answers, full, labels[certified], costs))
    unit = 1.0 if costs is None else 4.0
    (part,) = certificate.judged
    assert part.mean_loss == pytest.approx(lost.mean(), abs=1e-12)
    bound = unit * betting_bound(lost / unit, 0.95, may_gain=True)
    assert certificate.bound == pytest.approx(bound, rel=1e-9)
    assert certificate.bound <= certificate.max_disagreement == pytest.approx(0.03)
    assert (certificate.n_learned, certificate.n_certified) == (1200, 4801)
    assert certificate.n_wrong == np.count_nonzero(answers != full)
    assert certificate.mean_asked == asked.mean()
    assert certificate.loss == ("accuracy" if costs is None else "cost")
    assert certificate.is_kept


def test_where_few_rows_lose_gains_are_left_out_and_losses_counted():
    scores, labels = draw(6000)
    strategy = solve_scores(scores, 0.001, order="given", random_state=0, labels=labels)
    certified = certified_rows(6000)
    answers, full, truth = (
        strategy.run(scores[certified])[0],
        full_answers(scores[certified]),
        labels[certified],
    )
    n_lost = np.count_nonzero((answers != truth) & (full == truth))
    certificate = strategy.certificate
    assert certificate.bound == clopper_pearson_bound(n_lost, 4800, 0.95) <= 0.001
    assert certificate.judged[0].mean_loss == n_lost / 4800


def test_a_limit_on_accuracy_may_disagree_far_more_often():
    scores, labels = draw(12_000)
    strategy = solve_scores(scores, 0.01, order="given", random_state=0, labels=labels)
    certificate = strategy.certificate
    assert certificate.n_wrong / certificate.n_certified > 0.02
    assert set(certificate.bound_by_class) == {"yes", "no"}
    assert min(certificate.bound_by_class.values()) > 0.02


def test_promises_say_what_is_kept():
    scores, labels = draw(6000)
    options = {"order": "given", "random_state": 0, "labels": labels}
    promise = solve_scores(scores, 0.03, **options).certificate.promise
    assert (promise.about, promise.loss, promise.limit, promise.confidence) == (
        "classifier", "accuracy", 0.03, 0.95,
    )  # fmt: skip
    assert "the accuracy of this classifier on new rows is at most 0.03 below" in str(promise)
    by_class = solve_scores(scores, {"yes": 0.05, "no": 0.06}, **options).certificate.promise
    assert by_class.limit == {"yes": 0.05, "no": 0.06}
    assert "0.05 for class 'yes' and 0.06 for class 'no'" in str(by_class)
    of_costs = solve_scores(scores, 0.2, costs=COSTS, **options).certificate.promise
    assert of_costs.limit == pytest.approx(0.2)
    assert "the mean cost of this classifier on new rows is at most 0.2 above" in str(of_costs)


def test_a_strategy_says_what_its_limit_is_on():
    scores, labels = draw(6000)
    assert "accuracy within 0.03 at 95%" in repr(
        solve_scores(scores, 0.03, order="given", random_state=0, labels=labels)
    )


# The guarantee -------------------------------------------------------------------------------


def fraction_broken(limits, solves: int, n_rows: int = 1200, **how) -> float:
    scores, labels = draw(60_000, 12, seed=10**6, shift=0.4)
    full = full_answers(scores)
    sides = limits if isinstance(limits, dict) else {"all": limits}
    rows_of = {"all": np.ones_like(labels), "yes": labels, "no": ~labels}
    broken = 0
    for seed in range(solves):
        own, truth = draw(n_rows, 12, seed, 0.4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CannotCertifyWarning)
            strategy = solve_scores(own, limits, order="given", random_state=seed, labels=truth, **how)
        answers = strategy.run(scores)[0]
        costs = np.array(how.get("costs", [[0, 1], [1, 0]]))
        lost = costs[labels.astype(int), answers.astype(int)] - costs[labels.astype(int), full.astype(int)]
        broken += any(lost[rows_of[side]].mean() > limit for side, limit in sides.items())
    return broken / solves


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "how"),
    [(0.03, {}), ({"yes": 0.05, "no": 0.08}, {}), (0.1, {"costs": COSTS})],
    ids=["accuracy", "accuracy within each class", "costs"],
)
def test_the_limit_is_kept_as_often_as_the_confidence_says(limits, how):
    # 25 solves at 80 %: more than 10 broken has a probability below 1 % even if each breaks with 20 %.
    assert fraction_broken(limits, 25, confidence=0.8, **how) <= 10 / 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "how"),
    [(0.03, {}), ({"yes": 0.05, "no": 0.08}, {}), (0.1, {"costs": COSTS})],
    ids=["accuracy", "accuracy within each class", "costs"],
)
def test_the_limit_is_kept_in_nineteen_of_twenty_calibrations(limits, how):
    # 60 solves at 95 %: more than 8 broken has a probability below 1 % even if each breaks with 5 %.
    assert fraction_broken(limits, 60, **how) <= 8 / 60


def test_an_accuracy_within_each_class_is_limited_by_the_truth_and_not_by_the_full_answer():
    scores, labels = draw(8000, shift=-0.5)
    limits = {"yes": 0.08, "no": 0.02}
    certificate = solve_scores(scores, limits, order="given", random_state=0, labels=labels).certificate
    certified = certified_rows(8000)
    truth = labels[certified]
    assert certificate.n_certified == {"yes": np.count_nonzero(truth), "no": np.count_nonzero(~truth)}
    assert [part.n_observations for part in certificate.judged] == list(certificate.n_certified.values())
    assert certificate.bound["yes"] <= 0.08
    assert certificate.bound["no"] <= 0.02
    # What the classes disagree is told beside it, by the full answer.
    full = full_answers(scores[certified])
    assert certificate.wrong_by_class["yes"][1] == np.count_nonzero(full)


# What it saves -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "drops_classes", [None, False, True], ids=["two classes", "leads", "dropped classes"]
)
def test_a_limit_on_accuracy_asks_fewer_than_the_same_limit_on_disagreement(drops_classes):
    options = {"order": "given", "random_state": 0}
    if drops_classes is None:
        scores, labels = draw(12_000)
    else:
        scores, labels = draw_classes(12_000)
        options["drops_classes"] = drops_classes
    by_agreement = solve_scores(scores, 0.01, **options).certificate
    by_accuracy = solve_scores(scores, 0.01, labels=labels, **options).certificate
    assert by_accuracy.mean_asked < 0.9 * by_agreement.mean_asked
    assert by_accuracy.is_kept


def test_where_the_full_answer_is_no_better_than_the_first_voter_one_is_asked():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(8000, 15))
    labels = rng.random(8000) < 0.5
    strategy = solve_scores(scores, 0.1, order="given", random_state=0, labels=labels)
    assert strategy.certificate.mean_asked == 1


def test_costs_and_limit_in_another_unit_give_the_same_strategy():
    scores, labels = draw(6000)
    options = {"order": "given", "random_state": 0, "labels": labels}
    one = solve_scores(scores, 0.125, costs=COSTS, **options)
    seven = solve_scores(scores, 7 * 0.125, costs=7 * COSTS, **options)
    assert one == seven
    assert seven.certificate.bound == pytest.approx(7 * one.certificate.bound)
    assert seven.certificate.max_disagreement == pytest.approx(7 * 0.125)


def test_costs_of_one_for_each_wrong_answer_are_a_limit_on_accuracy():
    scores, labels = draw_classes(6000)
    options = {"order": "given", "random_state": 0, "labels": labels}
    by_costs = solve_scores(scores, 0.02, costs=1 - np.eye(3), **options)
    assert by_costs == solve_scores(scores, 0.02, **options)


def test_dear_mistakes_are_made_less_often():
    scores, labels = draw(12_000)
    dear_no = solve_scores(
        scores, 0.05, order="given", random_state=0, labels=labels, costs=[[0, 1], [20, 0]]
    )
    wrong = dear_no.certificate.wrong_by_class
    assert wrong["yes"][0] < wrong["no"][0]


def test_a_limit_of_zero_asks_for_certainty_and_warns_of_nothing():
    scores, labels = draw(2000)
    bounds = np.array([[-9.0] * 20, [9.0] * 20])
    strategy = solve_scores(scores.clip(-9, 9), 0, order="given", bounds=bounds, labels=labels)
    assert strategy.certificate is None
    assert "allow a larger loss of accuracy" in strategy.reason
    assert (strategy.run(scores)[0] == full_answers(scores.clip(-9, 9))).all()


@pytest.mark.parametrize("limit", [1, 99], ids=["the unit", "above it"])
def test_a_limit_that_no_answer_can_break_asks_one(limit):
    scores, labels = draw(1000)
    strategy = solve_scores(
        scores, limit, order="given", random_state=0, labels=labels, costs=[[0, 1], [1, 0]]
    )
    assert strategy.certificate.mean_asked < 1.5


# Groups and clusters -------------------------------------------------------------------------


def test_every_group_keeps_the_limit_on_accuracy():
    scores, labels = draw(9000)
    groups = np.where(np.arange(9000) % 3 == 0, "a", "b")
    certificate = solve_scores(
        scores, 0.03, order="given", random_state=0, labels=labels, groups=groups
    ).certificate
    assert [part.group for part in certificate.judged] == ["a", "b"]
    assert all(bound <= 0.03 for bound in certificate.bound.values())
    assert "in each of 2 groups" in str(certificate.promise)


def test_clusters_count_once():
    scores, labels = draw(9000)
    clusters = np.arange(9000) // 3
    certificate = solve_scores(
        scores, 0.05, order="given", random_state=0, labels=labels, clusters=clusters
    ).certificate
    assert certificate.judged[0].n_observations == 2400
    assert certificate.promise.in_clusters


# Too few rows --------------------------------------------------------------------------------


def test_too_few_rows_are_said_with_how_many_it_takes():
    scores, labels = draw(300)
    with pytest.warns(CannotCertifyWarning, match="240 rows are left for certification, but at least 299"):
        strategy = solve_scores(scores, 0.01, order="given", random_state=0, labels=labels)
    assert "allow a larger loss of accuracy" in strategy.reason
    with pytest.raises(SolverError, match='rows whose true answer is "yes"'):
        solve_scores(
            scores, {"yes": 0.01, "no": 1}, order="given", random_state=0, labels=labels, on_failure="raise"
        )
    with pytest.raises(SolverError, match=r"needed for a limit of 0\.04 at.*allow a larger loss of costs"):
        solve_scores(
            scores, 0.04, order="given", random_state=0, labels=labels, costs=COSTS, on_failure="raise"
        )


def test_the_number_that_is_said_to_be_needed_is_enough_if_nothing_is_lost():
    rng = np.random.default_rng(0)
    sure = np.concatenate([rng.choice([-9.0, 9.0], (1200, 1)), rng.normal(size=(1200, 4))], axis=1)
    options = {"order": "given", "random_state": 0, "on_failure": "raise"}
    with pytest.raises(SolverError) as caught:
        solve_scores(sure[:300], 0.01, labels=sure[:300, 0] > 0, **options)
    needed = int(str(caught.value).split("at least ")[1].split(" ")[0])
    rows = sure[: needed * 5 // 4 + 1]
    assert solve_scores(rows, 0.01, labels=rows[:, 0] > 0, **options).certificate.mean_asked == 1


def test_thresholds_that_lose_too_much_are_not_taken():
    # The first voter is wrong where it is surest, so that even the most careful thresholds stop right there.
    labels = np.random.default_rng(0).random(4000) < 0.5
    is_sure = np.arange(4000) % 50 == 0
    first = np.where(is_sure, -60.0, 5.0) * np.where(labels, 1, -1)
    scores = np.stack([first, np.where(labels, 99.0, -99.0)], axis=1)
    with pytest.raises(SolverError, match=r"had a mean loss of 0\.0.* on 3,200 rows. The upper bound of"):
        solve_scores(scores, 0.005, order="given", random_state=0, labels=labels, on_failure="raise")


# What is held against ------------------------------------------------------------------------


def test_losses_are_held_against_the_answers_that_are_given():
    scores, labels = draw(6000)
    answers = full_answers(scores)
    answers[::10] = ~answers[::10]
    strategy = solve_scores(scores, 0.1, order="given", random_state=0, labels=labels, answers=answers)
    certified = certified_rows(6000)
    said = strategy.run(scores[certified])[0]
    lost = loss_in_words(said, answers[certified], labels[certified])
    assert strategy.certificate.judged[0].mean_loss == pytest.approx(np.mean(lost), abs=1e-12)


def test_running_scores_and_scores_of_single_voters_give_the_same():
    scores, labels = draw(4000)
    single = solve_scores(scores, 0.05, order="given", random_state=0, labels=labels)
    running = solve_scores(np.cumsum(scores, axis=1), 0.05, random_state=0, labels=labels)
    assert single == running
    assert single.certificate == running.certificate


# Estimates -----------------------------------------------------------------------------------


def test_an_estimate_tells_both_currencies_whichever_is_limited():
    scores, labels = draw(8000)
    rows = ScoreRows(scores, labels=labels)
    by_accuracy = estimate_scores(rows, Limits.of(0.02), 0.95)
    by_agreement = estimate_scores(rows, Limits.of(0.02), 0.95, loss="disagreement")
    learning = rows.halves[0]
    full = full_answers(scores[learning])
    for found in (by_accuracy, by_agreement):
        lost = loss_in_words(found.outcome.answers, full, labels[learning])
        assert found.accuracy_losses.tolist() == lost
        assert (found.outcome.wrong == (found.outcome.answers != full)).all()
    assert by_accuracy.outcome.losses.tolist() == by_accuracy.accuracy_losses.tolist()
    assert by_agreement.outcome.losses.dtype == np.bool_
    assert by_accuracy.outcome.asked.mean() < by_agreement.outcome.asked.mean()
    assert estimate_scores(ScoreRows(scores), Limits.of(0.02), 0.95).accuracy_losses is None


def test_a_limit_may_be_chosen_by_estimates_in_both_currencies_and_certified_in_either():
    scores, labels = draw(8000)
    rows = ScoreRows(scores, labels=labels, random_state=5)
    looked_at = rows.halves[0]
    np.testing.assert_array_equal(rows.losing("disagreement").halves[0], looked_at)
    for learning, certifying in (rows.halves, ScoreRows(scores, random_state=5).halves):
        assert np.isin(looked_at, learning).all()
        assert not np.isin(looked_at, certifying).any()


@pytest.mark.parametrize("loss", ["accuracy", "disagreement"])
def test_an_estimate_is_near_what_is_then_certified(loss):
    scores, labels = draw(20_000)
    rows = ScoreRows(scores, labels=labels, random_state=0)
    estimated = estimate_scores(rows, Limits.of(0.01), 0.95, loss=loss).outcome.asked.mean()
    certified = solve_scores(scores, 0.01, **rows.losing(loss).added_up).certificate.mean_asked
    assert estimated == pytest.approx(certified, rel=0.2)


def test_an_estimate_says_how_many_rows_would_certify_and_how_many_it_takes():
    scores, labels = draw(300)
    rows = ScoreRows(scores, labels=labels)
    by_accuracy = estimate_scores(rows, Limits.of(0.01), 0.95)
    assert "about 240 rows will certify, but at least 299 are needed" in by_accuracy.strategy.reason
    by_agreement = estimate_scores(rows, Limits.of(0.01), 0.95, loss="disagreement")
    assert "about 150 rows will certify, but at least 299 are needed" in by_agreement.strategy.reason


def test_rows_with_costs_can_be_limited_in_accuracy_but_not_the_other_way_round():
    scores, labels = draw(4000)
    rows = ScoreRows(scores, labels=labels, costs=COSTS)
    accuracy = rows.losing("accuracy")
    assert accuracy.losses.kind == "accuracy"
    assert rows.losing("cost") is rows
    assert accuracy.limits(0.05)["all"] == 0.05
    assert rows.limits(1.0)["all"] == 0.25
    with pytest.raises(InvalidInputError, match="needs labels and costs"):
        accuracy.losing("cost")
    with pytest.raises(InvalidInputError, match="needs labels: pass them"):
        ScoreRows(scores).losing("accuracy")


def test_solving_for_rows_with_labels_limits_accuracy():
    from foregone import solve

    scores, labels = draw(6000)
    rows = ScoreRows(scores, labels=labels, random_state=0)
    strategy = solve("minimean", rows, 0.03, confidence=0.95)
    assert strategy.certificate.loss == "accuracy"
    agreeing = solve("minimean", rows.losing("disagreement"), 0.03, confidence=0.95)
    assert agreeing.certificate.loss == "disagreement"


# Files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["accuracy", "by class", "cost", "groups", "many classes"])
def test_certificates_of_losses_survive_a_file(tmp_path, kind):
    many = kind == "many classes"
    scores, labels = draw_classes(6000) if many else draw(6000)
    options = {
        "cost": {"costs": 30 * COSTS},
        "groups": {"groups": np.arange(6000) % 2, "clusters": np.arange(6000) // 2},
    }.get(kind, {})
    limit = {"by class": {"yes": 0.05, "no": 0.06}, "cost": 6.0, "groups": 0.08}.get(kind, 0.03)
    strategy = solve_scores(scores, limit, order="given", random_state=0, labels=labels, **options)
    path = tmp_path / "strategy.json"
    strategy.save(path)
    loaded = load(path)
    assert loaded == strategy
    assert loaded.certificate == strategy.certificate
    assert loaded.certificate.promise == strategy.certificate.promise
    assert json.loads(path.read_text())["certificate"]["loss"] == ("cost" if kind == "cost" else "accuracy")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parts": []}, '"parts" must hold one result for every limit'),
        ({"parts": [["all", None, 0.03, 3000, -1.5, 0.01]]}, '"parts" must hold a side, a group'),
        ({"parts": [["all", None, 0.03, 3000, 0.0, -0.01]]}, '"parts" must hold a side, a group'),
        ({"parts": [["all", None, 0.03, 3000, "nan", 0.01]]}, '"parts" must hold a side, a group'),
        ({"parts": [["all", None, 0.03, 3000, 0.01, 0.05]]}, '"parts" is too large'),
        ({"parts": [["yes", None, 0.03, 3000, 0.01, 0.02]]}, '"parts" must hold a side, a group'),
        ({"loss": "disagreement"}, '"parts" must hold a side, a group'),
        ({"loss": 3}, '"loss" must be a string'),
    ],
)
def test_hostile_certificates_of_losses_are_refused(tmp_path, changes, message):
    scores, labels = draw(6000)
    strategy = solve_scores(scores, 0.03, order="given", random_state=0, labels=labels)
    fields = {"kind": "scores", **strategy.to_fields()}
    if changes == {"loss": "disagreement"}:
        changes["parts"] = [["all", None, 0.03, 3000, -0.001, 0.02]]
    path = tmp_path / "strategy.json"
    write_file(path, {**fields, "certificate": {**fields["certificate"], **changes}})
    with pytest.raises(FileFormatError) as caught:
        ScoreStrategy.load(path)
    assert message in str(caught.value)


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, "given"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(99, bool), "labels must hold True or False for each of the 100 rows"),
        (np.zeros((100, 2), bool), "labels must hold True or False for each of the 100 rows"),
        (np.zeros(100, int), "labels must hold True or False for each of the 100 rows, got int64"),
        (["yes"] * 100, "labels must hold True or False"),
    ],
)
def test_labels_that_are_not_answers_are_refused(order, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        solve_scores(draw(100)[0], 0.1, order=order, labels=labels)


@pytest.mark.parametrize("labels", [[0, 1, 3], [0, 1], [0.0, 1.0, 2.0], [True, False, True], [-1, 0, 1]])
def test_labels_of_classes_that_do_not_exist_are_refused(labels):
    scores = draw_classes(3)[0]
    with pytest.raises(InvalidInputError, match="labels must hold the number of a class, 0 to 2, for each"):
        solve_scores(scores, 0.1, order="given", labels=labels)


@pytest.mark.parametrize(
    ("limit", "costs", "message"),
    [
        (0.1, [[0, 1]], "costs must have shape"),
        (0.1, [[0, 0], [1, 1]], "costs must differ between answers"),
        (0.1, [[0, np.inf], [1, 0]], "costs must be finite"),
        (-1, COSTS, "with costs, the limit must be one number"),
        ({"yes": 1, "no": 1}, COSTS, "with costs, the limit must be one number"),
        (np.inf, COSTS, "with costs, the limit must be one number"),
        ("much", COSTS, "with costs, the limit must be one number"),
        (2, None, "max_disagreement must be a number from 0 to 1"),
    ],
)
def test_costs_and_limits_without_a_meaning_are_refused(limit, costs, message):
    scores, labels = draw(100)
    with pytest.raises(InvalidInputError, match=message):
        solve_scores(scores, limit, order="given", labels=labels, costs=costs)


def test_costs_without_labels_are_refused():
    with pytest.raises(InvalidInputError, match="pass labels as well"):
        solve_scores(draw(100)[0], 0.1, order="given", costs=COSTS)


def test_limits_within_each_class_are_for_two_classes():
    scores, labels = draw_classes(100)
    with pytest.raises(InvalidInputError, match="need two classes"):
        solve_scores(scores, {"yes": 0.1, "no": 0.1}, order="given", labels=labels)


def test_losses_that_were_checked_already_are_taken_as_they_are():
    scores, labels = draw(4000)
    options = {"order": "given", "random_state": 0}
    given = solve_scores(scores, 0.05, labels=RowLosses("accuracy", labels.astype(int)), **options)
    assert given == solve_scores(scores, 0.05, labels=labels, **options)
