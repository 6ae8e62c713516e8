"""Replaying: calibrated on some items, measured on others, set beside ours at equal disagreement."""

from __future__ import annotations

import json

import numpy as np
import pytest

from foregone import VoteDistribution, evaluate, rules, solve
from foregone.errors import InvalidInputError
from foregone.replaying import Curve, RecordedVotes, YesNoItems, choose_methods, replay

N_ITEMS, N_DRAWS, N_VOTERS = 40, 9, 7


@pytest.fixture(scope="module")
def items() -> YesNoItems:
    generator = np.random.default_rng(3)
    answers = generator.random((N_ITEMS, N_DRAWS)) < generator.beta(0.4, 0.8, (N_ITEMS, 1))
    return YesNoItems.of(
        RecordedVotes.from_columns(
            {
                "item": np.repeat(range(N_ITEMS), N_DRAWS),
                "draw": list(range(N_DRAWS)) * N_ITEMS,
                "answer": answers.ravel(),
            }
        ),
        N_VOTERS,
    )


def test_each_method_is_solved_for_the_calibration_items_and_measured_on_the_others(items):
    names = ["minimean", "minimean-confident", "minimean-fitted", "minimixed", "minimax", "lead:2"]
    found = replay(items, choose_methods(names, [0.1], 0.9), calibrate_share=0.25, splits=2, seed=5)
    generator = np.random.default_rng(5)
    expected = {label: [] for label in range(len(names))}
    for _ in range(2):
        order = generator.permutation(N_ITEMS)
        calibration, others = order[:10], order[10:]
        observed = VoteDistribution.from_yes_counts(items.yes_of_first[calibration], N_VOTERS)
        averaged = VoteDistribution.from_counts(items.weights(calibration))
        fitted = VoteDistribution.fit_beta(items.yes[calibration], items.drawn[calibration], N_VOTERS)
        strategies = [
            solve("minimean", averaged, 0.1).strategy,
            solve("minimean", observed, 0.1, confidence=0.9).strategy,
            solve("minimean", fitted, 0.1).strategy,
            solve("minimixed", averaged, 0.1).strategy,
            solve("minimax", N_VOTERS, 0.1).strategy,
            rules.lead(N_VOTERS, 2),
        ]
        truth = VoteDistribution.from_counts(items.weights(others))
        for place, strategy in enumerate(strategies):
            evaluation = evaluate(strategy)
            expected[place].append((*evaluation.mean(truth), *evaluation.worst()))
    for place, row in enumerate(found.rows):
        calls, disagreement, worst_calls, worst_disagreement = np.array(expected[place]).T
        assert row.calls == pytest.approx(calls.mean())
        assert row.disagreement == pytest.approx(disagreement.mean())
        assert row.worst_calls == pytest.approx(worst_calls.max())
        assert row.worst_disagreement == pytest.approx(worst_disagreement.max())
        assert row.above_limit == (None if row.limit is None else np.mean(disagreement > 0.1))
    assert [row.is_ours for row in found.rows] == [True] * 5 + [False]
    assert (found.n_items, found.n_calibration, found.n_splits) == (40, 10, 2)


def test_at_its_own_disagreement_ours_takes_what_it_takes(items):
    found = replay(items, choose_methods(["minimean", "curtailment"], [0.1]), splits=2)
    (curve,) = found.curves
    on_the_curve = curve.limits.index(0.1)
    assert curve.calls[on_the_curve] == pytest.approx(found.rows[0].calls)
    assert found.rows[0].ours_at_equal["minimean"] <= found.rows[0].calls + 1e-9
    assert found.rows[1].calls >= found.rows[0].calls


def test_calibrated_with_what_it_is_measured_on_no_rule_beats_ours(items):
    everything = np.arange(N_ITEMS)
    calibration = items.calibrate(everything)
    (ours,) = choose_methods(["minimean"])
    for method in choose_methods(["lead:2", "lead:3", "esc:2", "esc:3", "adaptive-consistency:0.8", "ibep"]):
        theirs = items.play(method.strategy(calibration)).on(everything)
        best = items.play(ours.at_limit(calibration, theirs.disagreement)).on(everything)
        assert best.calls <= theirs.calls * (1 + 1e-9)


def test_the_same_seed_gives_the_same_figures_and_another_one_others(items):
    methods = choose_methods(["lead:2"])
    first, again, other = (replay(items, methods, splits=3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.rows[0].calls != other.rows[0].calls


def test_the_record_is_plain_and_progress_is_told(items):
    seen = []
    found = replay(items, choose_methods(), splits=2, advance=lambda: seen.append(1))
    assert len(seen) == 2
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert [row["label"] for row in record["rows"]] == [row.label for row in found.rows]


def test_between_two_limits_a_mixture_of_both_is_taken():
    curve = Curve("ours", (0.0, 0.1, 0.2), (10.0, 6.0, 5.0), (0.0, 0.1, 0.2))
    assert curve.calls_at(0.0) == 10
    assert curve.calls_at(0.05) == pytest.approx(8)
    assert curve.calls_at(0.2) == curve.calls_at(0.9) == 5
    assert Curve("ours", (0.0,), (10.0,), (0.01,)).calls_at(0.005) is None


def test_a_limit_that_turned_out_worse_is_not_taken():
    curve = Curve("ours", (0.0, 0.1), (5.0, 6.0), (0.01, 0.1))  # more calls and more disagreement
    assert curve.calls_at(0.1) == curve.calls_at(0.05) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splits": 0}, "splits must be an integer of at least 1"),
        ({"splits": 1.5}, "splits must be an integer"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"calibrate_share": 0}, "leaves no items to calibrate on"),
        ({"calibrate_share": 1.0}, "or none to measure on"),
        ({"calibrate_share": 2}, "calibrate_share must be a number from 0 to 1"),
    ],
)
def test_bad_options_are_refused_with_the_reason(items, options, message):
    with pytest.raises(InvalidInputError, match=message):
        replay(items, choose_methods(["lead"]), **options)


def test_methods_are_chosen_by_name_one_for_each_limit_and_none_twice():
    methods = choose_methods(
        ["esc:8", "e-process", "e-process:0.05", " lead", "lead:3", "minimax"], [0.1, 0.05]
    )
    assert [(method.label, method.limit) for method in methods] == [
        ("ESC, window 8", None),
        ("e-process", 0.1),
        ("e-process", 0.05),
        ("lead of 3", None),
        ("minimax", 0.1),
        ("minimax", 0.05),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", "no rule 'nonsense': choose from minimean, "),
        ("curtailment:3", "no rule 'curtailment:3'"),
        ("esc:x", "expected a number after the colon"),
        ("e-process:2", "max_disagreement must be a number from 0 to 1"),
    ],
)
def test_methods_that_do_not_exist_are_refused_with_what_does(name, message):
    with pytest.raises(InvalidInputError, match=message):
        choose_methods([name])


def test_rules_check_their_parameter_when_they_are_played(items):
    with pytest.raises(InvalidInputError, match="window must be an integer"):
        replay(items, choose_methods(["esc:0"]))
