"""Replaying votes with many answers: exact means over choices and orders."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from foregone import solve_plurality
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, evaluate_plurality, rules
from foregone.replaying import PluralityItems, RecordedVotes, YesNoItems, choose_methods, replay
from tests.plurality import slow


def recorded(rows: list[list[str]], tokens: list[list[float]] | None = None) -> RecordedVotes:
    columns: dict[str, list[object]] = {
        "item": [k for k, row in enumerate(rows) for _ in row],
        "draw": [draw for row in rows for draw in range(len(row))],
        "answer": [answer for row in rows for answer in row],
    }
    if tokens is not None:
        columns["tokens"] = [cost for row in tokens for cost in row]
    return RecordedVotes.from_columns(columns)


ROWS = [list("aabac"), list("bcdaa"), list("bbbb"), list("abcde")]
TOKENS = [
    [5.0, 3.0, 9.0, 4.0, 1.0],
    [2.0, 7.0, 1.0, 8.0, 3.0],
    [1.0, 2.0, 3.0, 4.0],
    [9.0, 1.0, 1.0, 1.0, 2.0],
]


def simulated(row: list[str], tokens: list[float], n_voters: int, k: int) -> tuple[float, float, float]:
    """Calls, disagreement and tokens of a lead of k, over every choice and every order."""
    calls, wrong, spent, n = 0.0, 0.0, 0.0, 0
    for chosen in combinations(range(len(row)), n_voters):
        for order in permutations(chosen):
            n += 1
            answers = tuple(row[place] for place in order)
            for asked in range(1, n_voters + 1):
                counts = [*slow.sorted_counts(answers[:asked]), 0]
                if counts[0] - counts[1] >= min(k, n_voters - asked):
                    break
            calls += asked
            wrong += slow.leaders(answers[:asked])[0] not in slow.leaders(answers)
            spent += sum(tokens[place] for place in order[:asked])
    return calls / n, wrong / n, spent / n


@pytest.mark.parametrize("k", [1, 2])
def test_calls_disagreement_and_tokens_are_means_over_every_choice_and_order(k):
    items = PluralityItems.of(recorded(ROWS, TOKENS), 4)
    played = items.play(rules.lead(4, k))
    expected = [simulated(row, tokens, 4, k) for row, tokens in zip(ROWS, TOKENS, strict=True)]
    for item, figures in enumerate(expected):
        assert played.on(np.array([item])) == pytest.approx(figures)
    assert played.on(np.array([0, 1, 3])) == pytest.approx(np.mean([expected[k] for k in (0, 1, 3)], axis=0))
    assert items.full_tokens() == pytest.approx(np.mean([4 * np.mean(tokens) for tokens in TOKENS]))
    assert items.n_answers == 5


def test_calibration_takes_all_choices_or_the_first_votes():
    items = PluralityItems.of(recorded(ROWS), 4)
    calibration = items.calibrate(np.arange(4))
    assert calibration.observed == CompositionDistribution.from_answers([row[:4] for row in ROWS])
    averaged = dict(
        zip(
            map(tuple, calibration.averaged.compositions.tolist()),
            calibration.averaged.probabilities.tolist(),
            strict=True,
        )
    )
    # Of aabac, one vote is left out: an a leaves 2 1 1, b or c leave 3 1.
    assert averaged[3, 1, 0, 0] == pytest.approx(2 / 5 / 4)
    assert averaged[4, 0, 0, 0] == pytest.approx(1 / 4)
    assert calibration.expected.n_observations is None


def test_two_answers_give_the_figures_of_yes_and_no():
    generator = np.random.default_rng(0)
    rows = [["yes" if said else "no" for said in generator.random(7) < 0.3] for _ in range(12)]
    votes = recorded(rows, generator.random((12, 7)).tolist())
    many, two = PluralityItems.of(votes, 5, n_classes=2), YesNoItems.of(votes, 5)
    names, splits = ["lead:2", "esc:2", "adaptive-consistency:0.8", "curtailment"], {"splits": 2}
    ours = replay(many, choose_methods(names, many_answers=True), **splits)
    plain = replay(two, choose_methods(names), **splits)
    for a, b in zip(ours.rows, plain.rows, strict=True):
        assert (a.label, a.calls, a.disagreement, a.tokens) == pytest.approx(
            (b.label, b.calls, b.disagreement, b.tokens)
        )


def test_each_method_is_solved_for_the_calibration_items():
    generator = np.random.default_rng(4)
    rows = [list(generator.choice(list("abcd"), 5, p=generator.dirichlet([0.3] * 4))) for _ in range(30)]
    items = PluralityItems.of(recorded(rows), 5, n_classes=4)
    calibration = items.calibrate(np.arange(10))
    size = {"n_voters": 5, "n_classes": 4}
    expected = {
        "minimean": solve_plurality(calibration.averaged, 0.1, confidence=None, **size),
        "minimean-smoothed": solve_plurality(calibration.expected, 0.1, confidence=None, **size),
        "minimean-confident": solve_plurality(calibration.observed, 0.1, confidence=0.9, **size),
        "minimixed": solve_plurality(calibration.averaged, 0.1, criterion="minimixed", **size),
        "minimax": solve_plurality(None, 0.1, criterion="minimax", **size),
    }
    for method in choose_methods(expected, [0.1], 0.9, many_answers=True):
        assert method.strategy(calibration) == expected[method.name].strategy, method.name
    made = replay(items, choose_methods(None, [0.1], many_answers=True), splits=1)
    assert [curve.label for curve in made.curves] == ["minimean, smoothed"]
    assert all(row.calls >= 1 for row in made.rows)


def test_every_rule_is_the_one_of_its_name():
    items = PluralityItems.of(recorded(ROWS), 4)
    calibration = items.calibrate(np.arange(4))
    names = ["lead:2", "esc:2", "adaptive-consistency:0.9", "dirichlet:0.9", "curtailment"]
    found = choose_methods(names, many_answers=True)
    assert [method.strategy(calibration) for method in found] == [
        rules.lead(4, 2),
        rules.esc(4, 2),
        rules.adaptive_consistency(4, 0.9),
        rules.adaptive_consistency(4, 0.9, kind="dirichlet"),
        rules.curtailment(4),
    ]
    assert items.play(rules.lead(4, 2)).worst()[:2] == evaluate_plurality(rules.lead(4, 2)).worst()


def test_what_cannot_be_replayed_is_refused():
    with pytest.raises(InvalidInputError, match="1 of 4 items have fewer than 5 votes"):
        PluralityItems.of(recorded(ROWS), 5)
    assert PluralityItems.of(recorded(ROWS), 5, skip_short=True).n_left_out == 1
    with pytest.raises(InvalidInputError, match="at most 2 different answers"):
        PluralityItems.of(recorded(ROWS), 4, n_classes=2)
    with pytest.raises(InvalidInputError, match="no rule 'e-process'"):
        choose_methods(["e-process"], many_answers=True)
