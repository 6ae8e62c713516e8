"""Scores of many classes: leads, dropped classes, curtailment and certificates, against plain code."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import ScoreStrategy, load, solve_scores
from foregone.errors import FileFormatError, InvalidInputError
from foregone.scores import CannotCertifyWarning, ClassScores, ScoreRows, estimate_scores, rules
from foregone.scores.families import fit_by_class
from foregone.scores.paths import full_answers
from foregone.strategy.limits import Limits


def drawn(seed, n_rows=3000, n_voters=40, n_classes=4, strength=0.6):
    """Scores of voters that share an opinion about each row, with noise of their own."""
    rng = np.random.default_rng(seed)
    opinion = strength * rng.normal(size=(n_rows, 1, n_classes))
    return rng.normal(opinion, 1.0, size=(n_rows, n_voters, n_classes)).clip(-3, 3)


def each(upper, n_classes):
    return np.repeat(np.asarray(upper, float)[:, None], n_classes, axis=1)


def slow(strategy, scores):
    """Answers and how many were asked, one number at a time."""
    answers, asked = [], []
    for row in scores:
        sums, n_asked, step = list(strategy.start), 0, 0
        while strategy.decide(step, sums) is None:
            if strategy.drops_classes and step:
                first = max(sums)
                for number in range(len(sums)):
                    if number != sums.index(first) and first - sums[number] >= strategy.upper[step, number]:
                        sums[number] = -math.inf
            voter = strategy.order[step]
            for number in range(len(sums)):
                if sums[number] > -math.inf:
                    sums[number] += row[voter, number]
                    n_asked += strategy.drops_classes
            n_asked += not strategy.drops_classes
            step += 1
        answers.append(strategy.decide(step, sums))
        asked.append(n_asked)
    return np.array(answers), np.array(asked)


@pytest.mark.parametrize("drops", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_a_strategy_is_followed_number_by_number(drops, seed):
    rng = np.random.default_rng(seed)
    n_steps, n_classes = int(rng.integers(1, 9)), int(rng.integers(2, 6))
    shape = (n_steps + 1, n_classes) if drops else n_steps + 1
    upper = np.abs(rng.normal(size=shape)) * 2
    upper[rng.random(shape) < 0.3] = np.inf
    upper[-1] = 0
    scores = np.round(rng.normal(size=(40, n_steps, n_classes)), 1)  # so that there are ties
    strategy = ScoreStrategy.from_thresholds(
        None,
        upper,
        order=rng.permutation(n_steps),
        start=np.round(rng.normal(size=n_classes), 1),
        drops_classes=drops,
    )
    expected = slow(strategy, scores)
    np.testing.assert_array_equal(strategy.run(scores), expected)
    running = strategy.start + np.cumsum(scores[:, strategy.order], axis=1)
    in_order = ScoreStrategy.from_thresholds(None, upper, start=strategy.start, drops_classes=drops)
    differences = scores[:, strategy.order]
    if np.array_equal(running[:, -1], strategy.start + np.cumsum(differences, axis=1)[:, -1]):
        given_paths = in_order.run_paths(running)
        assert (given_paths[0] == in_order.run(differences)[0]).mean() > 0.9  # sums may round otherwise
    lines = ClassScores(np.arange(40 * n_steps).reshape(40, n_steps), scores.reshape(-1, n_classes))
    np.testing.assert_array_equal(strategy.run(lines), expected)


@pytest.mark.parametrize("drops", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_curtailment_agrees_with_the_full_sum_whatever_the_voters_say(drops, seed):
    rng = np.random.default_rng(seed)
    n_voters, n_classes = int(rng.integers(2, 12)), int(rng.integers(2, 5))
    ends = np.sort(
        rng.normal(size=(2, n_voters, n_classes)) * rng.choice([1e-9, 1.0, 1e9], size=n_voters)[:, None],
        axis=0,
    )
    start = rng.normal(size=n_classes)
    # Mostly at the ends of what voters can say, where curtailment is tight.
    said = ends[
        rng.integers(2, size=(300, n_voters, n_classes)), np.arange(n_voters)[:, None], np.arange(n_classes)
    ]
    order = rng.permutation(n_voters)
    strategy = rules.curtailment(ends, order=order, start=start, drops_classes=drops)
    answers, asked = strategy.run(said)
    np.testing.assert_array_equal(answers, full_answers(ClassScores(None, said), order, start))
    assert asked.max() <= n_voters * (n_classes if drops else 1)


def test_curtailment_stops_as_soon_as_the_rest_cannot_change_the_answer():
    votes = np.random.default_rng(0).choice(3, size=(400, 15), p=[0.7, 0.2, 0.1])
    bounds = np.stack([np.zeros((15, 3)), np.ones((15, 3))])
    strategy = rules.curtailment(bounds, start=[0, 0, 0])
    asked = strategy.run(ClassScores.of_votes(votes, 3))[1]
    for row, n_asked in zip(votes, asked, strict=True):
        counts = [np.sort(np.bincount(row[:step], minlength=3)) for step in range(1, 16)]
        certain = [step for step, count in enumerate(counts, 1) if count[-1] - count[-2] > 15 - step]
        assert n_asked == (certain[0] if certain else 15)


@pytest.mark.parametrize("drops", [False, True])
def test_thresholds_are_certified_on_rows_they_were_not_learned_from(drops):
    scores, fresh = drawn(0, 8000), drawn(1, 8000)
    strategy = solve_scores(scores, 0.02, order="given", random_state=0, drops_classes=drops)
    certificate = strategy.certificate
    assert certificate.bound <= 0.02
    assert (certificate.n_learned, certificate.n_certified) == (4000, 4000)
    assert certificate.wrong_by_class is None
    answers, asked = strategy.run(fresh)
    assert 0.001 < (answers != fresh.sum(axis=1).argmax(axis=1)).mean() <= 0.02
    assert asked.mean() < 0.9 * strategy.n_voters
    assert asked.mean() == pytest.approx(certificate.mean_asked, rel=0.1)
    rows = ScoreRows(scores, random_state=0, drops_classes=drops)
    half = rows.halves[1]
    wrong = strategy.run(scores[half])[0] != scores[half].sum(axis=1).argmax(axis=1)
    assert certificate.n_wrong == wrong.sum()


def test_dropping_classes_asks_fewer_of_their_voters():
    scores = drawn(0, 6000, n_classes=8)
    asked = [
        solve_scores(scores, 0.02, order="given", random_state=0, drops_classes=drops).certificate.mean_asked
        for drops in (False, True)
    ]
    assert asked[1] < 0.6 * 8 * asked[0]


def test_rare_classes_that_begin_far_behind_are_not_dropped_for_it():
    rng = np.random.default_rng(3)
    start = np.array([0.0, 0.0, -6.0])
    truth = rng.choice(3, size=9000, p=[0.48, 0.48, 0.04])
    scores = rng.normal(0.6 * (truth[:, None, None] == np.arange(3)), 0.6, size=(9000, 60, 3))
    strategy = solve_scores(scores, 0.02, order="given", start=start, random_state=0, drops_classes=True)
    early = strategy.upper[5]
    assert early[2] > early[:2].max() + 2


@pytest.mark.slow
@pytest.mark.parametrize("drops", [False, True])
def test_the_limit_is_kept_as_often_as_promised(drops):
    truth = drawn(10**6, 20_000, 15, 3)
    full = truth.sum(axis=1).argmax(axis=1)
    above = 0
    for seed in range(60):
        strategy = solve_scores(
            drawn(seed, 700, 15, 3),
            0.05,
            confidence=0.9,
            order="given",
            random_state=seed,
            drops_classes=drops,
        )
        above += (strategy.run(truth)[0] != full).mean() > 0.05
    assert above <= 11  # of 60 at a chance of at most 0.1: more come up once in a hundred times


def test_answers_of_the_model_itself_count():
    scores = drawn(2, 4000)
    own = scores.sum(axis=1).argmax(axis=1)
    own[::100] = (own[::100] + 1) % 4  # as if the model rounded otherwise
    strategy = solve_scores(scores, 0.05, order="given", answers=own, random_state=0)
    rows = ScoreRows(scores, answers=own, random_state=0)
    half = rows.halves[1]
    assert strategy.certificate.n_wrong == (strategy.run(scores[half])[0] != own[half]).sum()


def test_running_sums_and_scores_of_single_voters_give_the_same():
    scores = np.round(drawn(4, 3000) * 1024) / 1024  # which are added up exactly
    single = solve_scores(scores, 0.03, order="given", random_state=0)
    running = solve_scores(np.cumsum(scores, axis=1), 0.03, order=None, random_state=0)
    np.testing.assert_array_equal(single.upper, running.upper)
    np.testing.assert_array_equal(single.run(scores), running.run_paths(np.cumsum(scores, axis=1)))


def test_an_order_is_learned_from_the_learning_half_only():
    scores = drawn(5, 3000)
    scores[:, :30] *= 0.1  # who say most should be asked first
    strategy = solve_scores(scores, 0.05, order="optimized", random_state=0)
    assert (strategy.order[:8] >= 30).all()
    half = ScoreRows(scores, random_state=0).halves[1]
    scores[half] = scores[half][:, ::-1]
    again = solve_scores(scores, 0.05, order="optimized", random_state=0)
    np.testing.assert_array_equal(again.order, strategy.order)


def test_groups_keep_the_limit_each_and_clusters_count_once():
    scores, groups = drawn(6, 6000), np.arange(6000) % 3
    strategy = solve_scores(scores, 0.03, order="given", groups=groups, random_state=0)
    assert len(strategy.certificate.judged) == 3
    assert all(part.bound <= 0.03 for part in strategy.certificate.judged)
    clusters = np.arange(6000) // 3
    strategy = solve_scores(scores, 0.05, order="given", clusters=clusters, random_state=0)
    assert strategy.certificate.in_clusters
    assert 990 <= strategy.certificate.judged[0].n_observations <= 1010


def test_too_few_rows_curtail_with_the_reason():
    scores = drawn(7, 40)
    bounds = np.stack([np.full((40, 4), -3.0), np.full((40, 4), 3.0)])
    with pytest.warns(CannotCertifyWarning, match="at least 59 are needed"):
        strategy = solve_scores(scores, 0.05, order="given", bounds=bounds, random_state=0)
    np.testing.assert_array_equal(strategy.upper, rules.curtailment(bounds, start=np.zeros(4)).upper)
    with pytest.warns(CannotCertifyWarning, match="nearly all learning rows"):
        solve_scores(np.abs(drawn(0, 3000)) * [1, 0, 0, 0], 0.05, order="given", random_state=0)


def test_estimates_look_at_the_learning_half_only():
    scores = drawn(8, 4000)
    rows = ScoreRows(scores, random_state=1)
    found = estimate_scores(rows, Limits.of(0.03), 0.95)
    half = rows.halves[1]
    scores = scores.copy()
    scores[half] = 0.0
    again = estimate_scores(ScoreRows(scores, random_state=1), Limits.of(0.03), 0.95)
    np.testing.assert_array_equal(again.strategy.upper, found.strategy.upper)
    np.testing.assert_array_equal(found.final, rows.scores[rows.halves[0]].table.sum(axis=1).argmax(axis=1))


@pytest.mark.parametrize("limit", [0.0, 0.02, 0.1])
def test_a_constant_margin_is_the_smallest_that_keeps_the_limit_on_its_rows(limit):
    scores = drawn(9, 400, 12, 3)
    strategy = rules.constant_margin(scores, limit, order=np.arange(12))
    full = scores.sum(axis=1).argmax(axis=1)
    assert (strategy.run(scores)[0] != full).sum() <= limit * 400
    bolder = strategy.upper.copy()
    bolder[1:-1] *= 1 - 1e-9
    bold = ScoreStrategy.from_thresholds(None, bolder, start=np.zeros(3))
    assert (bold.run(scores)[0] != full).sum() > limit * 400


def test_lightgbm_stops_where_its_rule_says():
    lightgbm = pytest.importorskip("lightgbm")
    from sklearn.datasets import load_digits

    from foregone.forest import ScoredForest

    X, y = load_digits(return_X_y=True)
    model = lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1).fit(X[:800], y[:800])
    forest = ScoredForest.from_model(model)
    stopped = model.predict(
        X[800:], raw_score=True, pred_early_stop=True, pred_early_stop_freq=5, pred_early_stop_margin=3.0
    )
    rule = rules.lightgbm_margin(30, margin=3.0, every=5, start=forest.start)
    scores = forest.scores(X[800:])
    answers, asked = rule.run(scores)
    sums = np.array([row[:n].sum(axis=0) for row, n in zip(scores, asked, strict=True)])
    assert 5 < asked.mean() < 25
    np.testing.assert_allclose(stopped, sums, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(answers, stopped.argmax(axis=1))


def test_the_log_odds_of_classes_are_where_no_step_is_left_to_go():
    rng = np.random.default_rng(0)
    gaps = rng.exponential(size=(4000, 3)) * (rng.random((4000, 3)) > 0.2)
    truth, slope = np.array([1.0, 0.0, -2.0]), 1.5
    wins = rng.random((4000, 3)) < 1 / (1 + np.exp(slope * gaps - truth))
    level, found = fit_by_class(gaps, wins, np.zeros(3), 0.0)
    np.testing.assert_allclose(level, truth, atol=0.25)
    assert found == pytest.approx(slope, abs=0.15)


# Files and refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize("drops", [False, True])
def test_a_saved_strategy_comes_back(drops, tmp_path):
    strategy = solve_scores(
        drawn(0), 0.05, order="random", start=[0.1, 0.2, 0, 0], random_state=0, drops_classes=drops
    )
    strategy.save(tmp_path / "strategy.json")
    for loaded in (load(tmp_path / "strategy.json"), ScoreStrategy.load(tmp_path / "strategy.json")):
        assert loaded == strategy
        assert (loaded.n_classes, loaded.n_voters, loaded.n_steps) == (4, 160 if drops else 40, 40)
        np.testing.assert_array_equal(loaded.upper, strategy.upper)
        assert loaded.certificate == strategy.certificate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fields: fields.update(start=[1.0]), "n_voters"),
        (lambda fields: fields.update(n_voters=41), "n_voters"),
        (lambda fields: fields["upper"].pop(), "upper"),
        (lambda fields: fields["upper"][3].append(1.0), "upper"),
        (lambda fields: fields["upper"][3].__setitem__(0, "much"), "upper"),
        (lambda fields: fields["upper"][40].__setitem__(0, 1.0), "last step must be 0"),
        (lambda fields: fields.update(drops_classes=2), "drops_classes"),
    ],
)
def test_fields_that_lie_are_refused(change, message, tmp_path):
    import json

    path = tmp_path / "strategy.json"
    solve_scores(drawn(0), 0.05, order="given", random_state=0, drops_classes=True).save(path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    with pytest.raises(FileFormatError, match=message):
        ScoreStrategy.load(path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve_scores(drawn(0), {"yes": 0.1, "no": 0.1}, order="given"), "need two classes"),
        (lambda: solve_scores(drawn(0), 0.1, order="given", start=[0, 0, 0]), "one for each of 4 classes"),
        (lambda: solve_scores(drawn(0), 0.1, order="given", answers=np.full(3000, 4)), "number of a class"),
        (
            lambda: solve_scores(drawn(0)[:, :, 0], 0.1, order="given", drops_classes=True),
            "more than two classes",
        ),
        (lambda: solve_scores(drawn(0)[:, :, 0], 0.1, order="given", start=[0, 0]), "one number"),
        (lambda: solve_scores(drawn(0) * np.nan, 0.1, order="given"), "must be finite"),
        (lambda: solve_scores(drawn(0), 0.1, order="given", bounds=np.zeros((2, 40))), "shape"),
        (
            lambda: solve_scores(drawn(0), 0.1, order="given", bounds=np.zeros((2, 40, 4))),
            "out of bounds",
        ),
        (lambda: rules.qwyc(drawn(0), 0.1), "for two classes"),
        (lambda: ScoreStrategy.from_thresholds([0, 0], [1, 0], start=[0, 0, 0]), "lower must be None"),
        (lambda: ScoreStrategy.from_thresholds(None, [1, 0]), "lower must be given for two classes"),
        (
            lambda: ScoreStrategy.from_thresholds(None, [1, 0], start=[0, 0, 0], drops_classes=True),
            "for each of 3",
        ),
        (lambda: ScoreStrategy.ask_all(3, start=[0, 0, 0]).run(drawn(0, 5, 3)), "each of 3 classes"),
        (lambda: ScoreStrategy.ask_all(3, start=[0, 0, 0]).run(np.zeros((5, 3))), "each of 3 classes"),
        (lambda: ScoreStrategy.ask_all(3).run(drawn(0, 5, 3)), "one number a voter"),
        (lambda: ScoreStrategy.ask_all(3, start=[0, 0, 0]).decide(1, 0.5), "must have the shape"),
        (lambda: ScoreStrategy.ask_all(3, start=[0, 0, 0]).decide(1, [0, 0, -np.inf]), "must be finite"),
        (lambda: ScoreRows(ClassScores(np.array([[3]]), np.eye(3))), "between 0 and 2"),
        (lambda: ScoreRows(ClassScores(np.array([[0]]), np.full((3, 3), np.inf))), "finite scores"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_exact_sums_bound_what_rounding_can_do():
    """The margin in the thresholds is far above the errors of sums of numbers that do not add up exactly."""
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(2, 200, 3)) / 3, axis=0)
    upper = rules.curtailment(ends, start=np.zeros(3), drops_classes=True).upper
    rest = [sum(map(Fraction, ends[1, 1:, number].tolist())) for number in range(3)]
    least = [sum(map(Fraction, ends[0, 1:, number].tolist())) for number in range(3)]
    for number in range(3):
        exact = rest[number] - min(least[other] for other in range(3) if other != number)
        assert 0 < Fraction(upper[1, number]) - exact < Fraction(1, 10**9)
