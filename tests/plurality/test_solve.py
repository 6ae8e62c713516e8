"""solve_plurality: optimal, within the limit, and with what is said about it true."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from foregone import VoteDistribution, solve, solve_plurality
from foregone.errors import FileFormatError, InvalidInputError
from foregone.plurality import (
    CompositionDistribution,
    PluralitySolution,
    certify_plurality,
    evaluate_plurality,
    lattice_of,
    rules,
)
from foregone.plurality.plurality_problem import difficulty_ranks
from tests.plurality import slow
from tests.plurality.strategies import composition_distributions

PAST = [[9, 0, 0]] * 150 + [[8, 1, 0]] * 40 + [[5, 3, 1]] * 10


def optimum_by_linear_program(n_voters: int, weights: np.ndarray, limit: float, worst: bool) -> float:
    """The least mean votes, over flows on the states: what stops and what goes on in each, given its counts.

    What each stop risks for each full vote is counted over every order of its votes.
    """
    lattice = lattice_of(n_voters)
    compositions, n = lattice.compositions().tolist(), lattice.n_states
    chance, wrong = np.zeros((2, len(compositions), n))  # of each state, and with a leader that loses
    for place, row in enumerate(compositions):
        votes = list(slow.orders(row))
        for order in votes:
            right = slow.leaders(order)
            for i in range(n_voters + 1):
                state = lattice.number_of(slow.sorted_counts(order[:i]))
                chance[place, state] += 1 / len(votes)
                if i and slow.leaders(order[:i])[0] not in right:
                    wrong[place, state] += 1 / len(votes)
    # Variables: what stops in each state, then what goes on, as a share of the orders with these counts.
    rows = np.zeros((n, 2 * n))
    for state in range(n):
        rows[state, state] = rows[state, n + state] = 1
        i = int(np.searchsorted(lattice.level, state, side="right")) - 1
        for e in range(lattice.edge_start[state], lattice.edge_start[state + 1]):
            share = int(lattice.value[e]) * int(lattice.times[e]) / i
            rows[state, n + lattice.child[e]] -= share
    right_side = np.zeros(n)
    right_side[0] = 1
    risks = np.hstack([wrong, np.zeros_like(wrong)])
    limits = risks if worst else (weights @ risks)[None]
    bounds = [(0, 0)] + [(0, None)] * (n - 1) + [(0, None)] * int(lattice.level[-2])
    bounds += [(0, 0)] * lattice.n_compositions
    result = linprog(
        np.concatenate([np.zeros(n), weights @ chance]),
        A_ub=limits, b_ub=np.full(len(limits), limit), A_eq=rows, b_eq=right_side, bounds=bounds,
    )  # fmt: skip
    return float(result.fun)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.0, 0.03, 0.2])
@pytest.mark.parametrize("criterion", ["minimean", "minimixed"])
def test_a_linear_program_over_all_strategies_finds_nothing_better(criterion, limit):
    lattice = lattice_of(6)
    weights = np.random.default_rng(1).dirichlet(np.full(lattice.n_compositions, 0.5))
    given = CompositionDistribution.on_lattice(lattice, weights)
    solution = solve_plurality(given, limit, n_voters=6, criterion=criterion, confidence=None)
    best = optimum_by_linear_program(6, weights, limit, worst=criterion == "minimixed")
    assert solution.expected_votes == pytest.approx(best, rel=1e-8)
    assert solution.disagreement <= limit
    assert solution.gap < 1e-9


@pytest.mark.parametrize("limit", [0.05, 0.001])
@pytest.mark.parametrize("criterion", ["minimean", "minimixed", "minimax"])
def test_with_two_answers_odd_voters_and_symmetric_votes_it_is_the_binary_optimum(criterion, limit):
    half = np.random.default_rng(0).random(6)
    votes = VoteDistribution.from_counts([*half, *half[::-1]])
    lattice = lattice_of(11, 2)
    most = lattice.compositions()[:, 0].astype(int)
    given = CompositionDistribution.on_lattice(lattice, 2 * votes.probabilities[most])
    ours = solve_plurality(given, limit, n_voters=11, n_classes=2, criterion=criterion, confidence=None)
    plain = solve(criterion, votes, limit)
    # The binary answer to no votes at all is "no"; here one voter at least is asked.
    assert ours.expected_votes == pytest.approx(plain.expected_votes, rel=1e-8)
    assert ours.disagreement <= limit


@settings(max_examples=25)
@given(
    composition_distributions(6, 4),
    st.sampled_from([0.0, 1e-6, 0.02, 0.3, 1.0]),
    st.sampled_from([("minimean", None), ("minimean", 0.9), ("minimixed", None), ("minimax", None)]),
)
def test_every_claim_is_proven_in_exact_arithmetic(given, limit, how):
    criterion, confidence = how
    solution = solve_plurality(
        given, limit, n_voters=6, n_classes=4, criterion=criterion, confidence=confidence
    )
    certificate = certify_plurality(solution)
    assert certificate.risk_is_proven
    assert certificate.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)
    assert confidence or certificate.optimality_is_proven
    assert certificate.expected_votes == pytest.approx((solution.expected_votes,) * 2)
    assert certificate.disagreement == pytest.approx((solution.disagreement,) * 2, rel=1e-8, abs=1e-300)


def test_with_confidence_it_asks_more_than_if_the_sample_were_the_truth_and_less_than_for_the_worst():
    plain = solve_plurality(PAST, 0.05, n_voters=9, confidence=None)
    sure = solve_plurality(PAST, 0.05, n_voters=9)
    surer = solve_plurality(PAST, 0.05, n_voters=9, confidence=0.999)
    observed = CompositionDistribution.from_counts(PAST)
    asked = [
        evaluate_plurality(solution.strategy).mean(observed).expected_votes
        for solution in (plain, sure, surer)
    ]
    worst = solve_plurality(PAST, 0.05, n_voters=9, criterion="minimixed")
    assert asked[0] < asked[1] < asked[2] < worst.expected_votes
    assert sure.disagreement > 0.04  # and it uses what it is allowed


def test_the_limit_holds_for_the_truth_behind_small_samples():
    lattice = lattice_of(7)
    generator = np.random.default_rng(2)
    truth = generator.dirichlet(np.full(lattice.n_compositions, 0.3))
    above = {0.9: 0, None: 0}
    for _ in range(60):
        rows = lattice.compositions()[generator.choice(len(truth), 40, p=truth)].astype(int)
        for confidence in above:
            strategy = solve_plurality(rows, 0.1, n_voters=7, confidence=confidence).strategy
            above[confidence] += truth @ evaluate_plurality(strategy).disagreement > 0.1
    assert above[0.9] <= 6
    assert above[None] > 12  # so that there was something to guard against


def test_danger_ranks_what_is_hard_first_and_depends_on_no_observation():
    lattice = lattice_of(9)
    ranks = difficulty_ranks(lattice)
    at = {tuple(row): rank for row, rank in zip(lattice.compositions().tolist(), ranks.tolist(), strict=True)}
    assert at[5, 4, 0, 0, 0, 0, 0, 0, 0] < at[6, 3, 0, 0, 0, 0, 0, 0, 0] < at[9, 0, 0, 0, 0, 0, 0, 0, 0]
    assert sorted(set(at.values())) == list(range(max(at.values()) + 1))


def test_a_surprising_vote_is_asked_further_but_not_beyond_its_decision():
    solution = solve_plurality([[9]], 0.01, n_voters=9, confidence=None)
    assert solution.expected_votes == 1
    assert solution.strategy.stop_probability([1, 1]) == 0
    assert solution.strategy.stop_probability([6, 2]) == 1


@pytest.mark.parametrize(
    "how", [{}, {"confidence": None}, {"criterion": "minimax"}, {"criterion": "minimixed"}]
)
def test_a_solution_survives_its_file(tmp_path, how):
    solution = solve_plurality(PAST, 0.05, n_voters=9, n_classes=3, **how)
    solution.save(tmp_path / "s.json")
    again = PluralitySolution.load(tmp_path / "s.json")
    assert again.strategy == solution.strategy
    assert again.distribution == solution.distribution
    for name in (
        "criterion",
        "max_disagreement",
        "confidence",
        "expected_votes",
        "disagreement",
        "lower_bound",
    ):
        assert getattr(again, name) == getattr(solution, name), name
    assert (again.bet is None) == (solution.bet is None) == bool(how)
    if again.bet is not None and solution.bet is not None:
        assert np.array_equal(again.bet.counts, solution.bet.counts)
        assert again.bet.first_leader_only == solution.bet.first_leader_only
    for name in ("cost_weights", "risk_weights", "price"):
        assert np.array_equal(getattr(again.evidence, name), getattr(solution.evidence, name)), name


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([[3, 2], [3, 1]], {}, "every item must have the same number of votes, at least one, got 4 to 5"),
        ([[3, 2]], {"n_voters": 6}, "the compositions have 5 votes, but n_voters is 6"),
        ([[2, 2, 1]], {"n_classes": 2}, "have 3 different answers, but n_classes is 2: use"),
        ([[3, float("nan")]], {}, "must hold integers"),
        ([[3.5, 1.5]], {}, "must hold integers"),
        ([[6, -1]], {}, "from 0 to"),
        ([["a", "b"]], {}, "item 0 has 2 answers"),
        ([], {}, "must be a matrix"),
        ([5, 0], {}, "must be a matrix"),
        (
            CompositionDistribution.flat(lattice_of(5)),
            {},
            "a confidence needs observed items",
        ),
        ([[5]], {"max_disagreement": 1.5}, "max_disagreement must be a number from 0 to 1"),
        ([[5]], {"confidence": 1}, "confidence must be strictly between 0 and 1"),
        ([[5]], {"criterion": "minimum"}, "criterion must be one of"),
        ([[5]], {"n_voters": 0}, "n_voters must be an integer"),
    ],
)
def test_what_cannot_be_solved_is_refused_with_the_reason(given, options, message):
    with pytest.raises(InvalidInputError, match=message):
        solve_plurality(given, **{"max_disagreement": 0.05, "n_voters": 5, **options})


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_without_past_votes_every_composition_is_equally_likely_whatever_the_confidence(confidence):
    solution = solve_plurality(None, 0.05, n_voters=5, confidence=confidence)
    flat = CompositionDistribution.flat(lattice_of(5))
    assert solution.distribution == flat
    assert solution.confidence is None
    assert solution.strategy == solve_plurality(None, 0.05, n_voters=5).strategy
    assert solution.disagreement == pytest.approx(evaluate_plurality(solution.strategy).mean(flat)[1])


def test_rows_of_counts_may_leave_out_the_zeros():
    ragged, full = [[5], (3, 2), [3, 1, 1]], [[5, 0, 0], [3, 2, 0], [3, 1, 1]]
    assert CompositionDistribution.from_counts(ragged) == CompositionDistribution.from_counts(full)
    solutions = [solve_plurality(rows, 0.2, n_voters=5) for rows in (ragged, full)]
    assert solutions[0].strategy == solutions[1].strategy


def test_one_item_and_one_voter_are_enough():
    assert solve_plurality([[1]], 0.1, n_voters=1).expected_votes == 1
    one = solve_plurality([[5, 2]], 0.1, n_voters=7)
    assert one.disagreement <= 0.1


def test_answers_themselves_are_counted_whatever_they_are():
    seen = CompositionDistribution.from_answers([["4", "4", True], [(1, 2), "x", "x"], [7, 7, 7]])
    assert seen.compositions.tolist() == [[2, 1], [3, 0]]
    assert seen.probabilities.tolist() == [2 / 3, 1 / 3]
    for wrong, message in [
        ([], "at least one item"),
        (["abc"], "must be a list"),
        ([[[1], [2]]], "hashable"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            CompositionDistribution.from_answers(wrong)


def test_none_is_no_answer():
    seen = CompositionDistribution.from_answers([["a", None, "b"], [np.nan, "a", "a"]])
    assert seen == CompositionDistribution.from_counts([[1, 1], [2]])
    with pytest.raises(InvalidInputError, match="at least one answer per item"):
        CompositionDistribution.from_answers([[None], [None]])


@pytest.mark.parametrize(
    ("items", "n_voters", "message"),
    [
        ([list("aab"), list("ab")], None, r"item 1 has 2 answers but item 0 has 3 .* n_voters=N"),
        ([list("ab"), ["a", None]], None, "item 1 has 1 answers but item 0 has 2"),
        ([list("aab"), list("ab")], 3, "item 1 has 2 answers .* fewer than n_voters=3: remove it"),
        ([list("aab")], 0, "n_voters must be an integer of at least 1"),
        ("aab", None, "items must be a list"),
    ],
)
def test_items_with_other_numbers_of_answers_are_named(items, n_voters, message):
    with pytest.raises(InvalidInputError, match=message):
        CompositionDistribution.from_answers(items, n_voters=n_voters)


def test_the_first_answers_of_longer_items_can_be_taken():
    ragged = [list("aabbb"), ["a", None, "a", "b"], list("abc")]
    assert CompositionDistribution.from_answers(ragged, n_voters=3) == CompositionDistribution.from_answers(
        [list("aab"), list("aab"), list("abc")]
    )


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.DataFrame], ids=lambda make: make.__name__)
def test_answers_are_solved_for_as_their_counts_are(make):
    counts = [[5], [4, 1], [3, 1, 1]] * 20
    answers = make([list("aaaaa"), list("bbcbb"), list("abaca")] * 20)
    found, expected = (solve_plurality(votes, 0.2, n_voters=5) for votes in (answers, counts))
    assert found.distribution == expected.distribution
    assert found.strategy == expected.strategy


def test_of_answers_no_more_than_there_are_voters_are_taken():
    ragged = [["a", None, "a", "b", "b", "b"], [True, True, False]]
    solution = solve_plurality(ragged, 0.2, n_voters=3, confidence=None)
    assert solution.distribution.compositions.tolist() == [[2, 1]]
    with pytest.raises(InvalidInputError, match=r"item 1 has 3 answers .* fewer than n_voters=4"):
        solve_plurality(ragged, 0.2, n_voters=4)


def test_answers_that_are_numbers_are_taken_for_counts_and_the_error_says_what_to_use():
    with pytest.raises(InvalidInputError, match=r"item 1 has 23\)\. .*from_answers"):
        solve_plurality([[7, 7, 8], [7, 8, 8]], 0.2, n_voters=3)
    with pytest.raises(InvalidInputError, match="compositions must be numbers"):
        solve_plurality(np.array([[7, 7, 8]], dtype=object), 0.2, n_voters=3)


def test_rows_of_counts_may_be_arrays_of_different_lengths():
    ragged = [np.array([5]), np.array([3, 2])]
    assert CompositionDistribution.from_counts(ragged) == CompositionDistribution.from_counts(
        [[5, 0], [3, 2]]
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("criterion", "minimum", "must be one of minimax, minimean, minimixed"),
        ("max_disagreement", 2, "max_disagreement must be a number from 0 to 1"),
        ("confidence", 1.5, "confidence must be a number from 0 to 1"),
        ("n_observations", None, "needs minimean and observed items"),
        ("price", -1, "must be a finite number from 0"),
        ("lower_bound", "x", "must be a finite number"),
        ("distribution", {"where": "?", "values": ""}, "bits and numbers in base64"),
        ("distribution", {"where": "AA==", "values": ""}, "must have entries for 12 compositions"),
        ("distribution", {"where": "AAA=", "values": ""}, "must hold probabilities that sum to one"),
        ("distribution", {"where": "gAA=", "values": ""}, "a finite number above zero for each position"),
        ("risk_weights", {"where": "gA==", "values": "AAAAAAAA+H8="}, "a finite number above zero"),
        ("risk_weights", None, "must be an object"),
        ("certified_on", {"where": "AAA=", "values": "AAAAAAAA8D8="}, "a finite number above zero"),
        (
            "certified_on",
            {"where": "ABA=", "values": "AAAAAAAA4D8="},
            "numbers of items, at most those observed",
        ),
        (
            "certified_on",
            {"where": "gAA=", "values": "AAAAAAAA8D8="},
            "numbers of items, at most those observed",
        ),
        ("first_leader_only", 2, "must be an integer of at least 0 and at most 1"),
    ],
)
def test_a_damaged_solution_is_refused(tmp_path, field, value, message):
    file = tmp_path / "s.json"
    rows = [row[:2] for row in PAST[:-10]] if field == "risk_weights" else PAST
    solve_plurality(rows, 0.05, n_voters=9, n_classes=len(rows[0])).save(file)
    content = json.loads(file.read_text())
    content["solution"][field] = value
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=message):
        PluralitySolution.load(file)


def test_a_strategy_alone_is_no_solution(tmp_path):
    rules.lead(5, 2).save(tmp_path / "s.json")
    with pytest.raises(FileFormatError, match="the file holds a strategy alone"):
        PluralitySolution.load(tmp_path / "s.json")
