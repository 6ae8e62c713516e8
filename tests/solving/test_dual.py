"""The fast solver against the authors' optimal values, the linear program, and its own promises."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import VoteDistribution, certify, evaluate, rules, solve
from foregone.solving import CRITERIA, dual, oracle
from tests.strategies import vote_distributions

# Computed from the paper authors' published exact-rational strategies; not part of the project.
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "optimal_values.csv"

limits = st.one_of(st.floats(1e-9, 1.0), st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.25, 0.5, 1.0]))
criteria = st.sampled_from(CRITERIA)


@st.composite
def problems(draw: st.DrawFn, most_voters: int = 14) -> tuple[str, VoteDistribution, float]:
    n_voters = draw(st.integers(1, most_voters))
    return draw(criteria), draw(vote_distributions(n_voters)), draw(limits)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the authors' optimal values are not beside the project")
@pytest.mark.parametrize("criterion", CRITERIA)
def test_it_finds_the_authors_optimal_values(criterion):
    with REFERENCE.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["criterion"] == criterion]
    assert len(rows) == 120
    for row in rows:
        limit = float(row["max_disagreement"])
        solution = solve(criterion, int(row["n_voters"]), limit)
        assert solution.expected_votes == pytest.approx(float(row["objective"]), rel=1e-9), row
        assert solution.disagreement <= limit * (1 + 1e-12), row


@given(problems())
@settings(max_examples=60)
def test_it_agrees_with_the_linear_program(problem):
    fast, slow = solve(*problem), solve(*problem, method="linear_program")
    assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("n_voters", [1, 2, 20, 31, 40])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_it_agrees_with_the_linear_program_for_more_voters(criterion, n_voters):
    random = np.random.default_rng(n_voters)
    for limit in (1e-5, 1e-3, 0.07):
        votes = VoteDistribution.from_counts(random.random(n_voters + 1) ** 3)
        slow = solve(criterion, votes, limit, method="linear_program")
        assert solve(criterion, votes, limit).expected_votes == pytest.approx(slow.expected_votes, rel=1e-8)


@given(problems(most_voters=60))
@settings(max_examples=150)
def test_it_keeps_the_limit_and_proves_itself_optimal(problem):
    solution = solve(*problem)
    assert solution.disagreement <= problem[2]
    assert 0 <= solution.lower_bound <= solution.expected_votes
    assert solution.expected_votes - solution.lower_bound <= 1e-9 * max(1, solution.expected_votes)


@given(criteria, st.integers(1, 40).flatmap(vote_distributions), limits, limits)
@settings(max_examples=60)
def test_allowing_more_disagreement_never_costs_more(criterion, votes, one, other):
    less, more = sorted([one, other])
    strict, lax = solve(criterion, votes, less), solve(criterion, votes, more)
    assert lax.expected_votes <= strict.expected_votes * (1 + 1e-9) + 1e-12


@given(problems(most_voters=40))
@settings(max_examples=60)
def test_no_more_states_are_randomised_than_there_are_limits(problem):
    limited = {"minimean": 1, "minimixed": 2, "minimax": 4}[problem[0]]
    assert len(solve(*problem).strategy.randomised) <= limited


@pytest.mark.parametrize("n_voters", [1, 2, 7, 10, 101])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_without_any_allowance_flat_votes_are_asked_until_decided(criterion, n_voters):
    solution = solve(criterion, n_voters, 0.0)
    assert solution.strategy == rules.curtailment(n_voters)
    assert solution.disagreement == 0
    assert solution.gap < 1e-12


@pytest.mark.parametrize("criterion", CRITERIA)
def test_with_every_allowance_nobody_is_asked(criterion):
    solution = solve(criterion, 12, 1.0)
    assert solution.expected_votes == 0
    assert solution.strategy.stop_probability(0, 0) == 1


def test_nobody_is_asked_when_yes_is_as_rare_as_the_limit():
    votes = VoteDistribution.from_counts([97, 0, 0, 0, 0, 3])
    assert solve("minimean", votes, 0.04).expected_votes == 0
    assert solve("minimean", votes, 0.03).expected_votes < 1e-9  # 0.03 is a float, 3 in 100 is not
    assert solve("minimixed", votes, 0.03).expected_votes > 0


@pytest.mark.parametrize("limit", [0.0, 1e-3])
def test_votes_that_were_never_seen_are_asked_on_until_decided(limit):
    votes = VoteDistribution.from_counts([1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1])  # n is 0, 1, 9 or 10
    strategy = solve("minimean", votes, limit).strategy
    decided = rules.curtailment(10)
    for asked in range(4, 10):
        for yes in range(2, asked - 1):
            assert strategy.stop_probability(asked, yes) == decided.stop_probability(asked, yes)


@pytest.mark.parametrize("n_voters", [21, 40])
@pytest.mark.parametrize("limit", [1e-5, 1e-2, 0.1])
def test_minimax_takes_the_least_mean_cost_among_its_ties(n_voters, limit):
    votes = VoteDistribution.from_counts(np.arange(1.0, n_voters + 2))
    fast = solve("minimax", votes, limit)
    slow = solve("minimax", votes, limit, method="linear_program")
    mean = evaluate(fast.strategy).mean(votes).expected_votes
    # Both allow the worst case a hair more than the least, which moves the mean a little.
    assert mean == pytest.approx(evaluate(slow.strategy).mean(votes).expected_votes, rel=1e-3)
    assert mean >= solve("minimixed", votes, limit).expected_votes * (1 - 1e-9)


def test_a_band_around_the_boundary_gives_the_same_as_every_open_state(monkeypatch):
    random = np.random.default_rng(5)
    for votes in (
        VoteDistribution.flat(150),
        VoteDistribution.from_counts(random.random(152) * (random.random(152) < 0.1)),
        VoteDistribution.from_counts(np.eye(151)[90] + np.eye(151)[20]),
    ):
        monkeypatch.setattr(oracle, "_NARROW_FROM", 10**9)
        everywhere = solve("minimean", votes, 1e-3)
        monkeypatch.setattr(oracle, "_NARROW_FROM", 1)
        band = solve("minimean", votes, 1e-3)
        assert band.expected_votes == pytest.approx(everywhere.expected_votes, rel=1e-12)
        figures = [evaluate(solution.strategy) for solution in (band, everywhere)]
        assert figures[0].disagreement == pytest.approx(figures[1].disagreement, abs=1e-9)


def point(n_voters: int, n: int) -> VoteDistribution:
    return VoteDistribution.from_counts(np.eye(n_voters + 1)[n])


AWKWARD = [
    ("minimixed", 3, 1 / 3),  # limits that a strategy without randomised states meets exactly
    ("minimixed", 7, 1 / 7),
    ("minimax", 7, 3 / 7),
    ("minimean", 9, 0.5),
    ("minimean", VoteDistribution.from_counts([45, 19, 15, 11, 18, 50]), 0.5),
    ("minimixed", VoteDistribution.from_counts([999, 0, 0, 0, 0, 0, 1]), 0.2),
    ("minimax", point(2, 0), 0.5),
    ("minimax", point(6, 0), 0.6),
    ("minimixed", point(118, 59), 0.5),
    ("minimax", 32, 1 - 1e-9),  # limits near one
    ("minimixed", 3, 1 - 1e-14),
    ("minimean", VoteDistribution.from_counts([1e-310] * 6 + [1, 1e-310]), 1.0),  # weights next to nothing
    ("minimixed", VoteDistribution.from_counts([1, 0, 0, 1e-323]), 0.1),
    ("minimixed", VoteDistribution.from_counts([1, 0, 5e-324, 0, 0, 1e-16]), 0.12695356596674404),
    ("minimean", VoteDistribution.from_counts([0.5, 0, 1e-300, 1e-300, 0, 0.5]), 0.0),
    ("minimean", VoteDistribution.from_counts([0.5, 0, 1e-300, 1e-300, 0, 0.5]), 1e-250),
    ("minimean", 11, 1e-250),  # limits next to nothing
    ("minimax", 11, 1e-299),
    ("minimean", 5, 0.4999999999999999),
]


@pytest.mark.parametrize("problem", AWKWARD)
def test_awkward_problems_are_solved_and_certified(problem):
    solution = solve(*problem)
    assert solution.disagreement <= problem[2]
    assert solution.gap < 1e-9
    assert certify(solution).holds


@pytest.mark.parametrize("criterion", CRITERIA)
def test_strategies_are_mixed_where_ties_do_not_help(monkeypatch, criterion):
    expected = solve(criterion, 31, 1e-3).expected_votes
    monkeypatch.setattr(dual, "_recover", lambda *arguments: None)
    mixed = solve(criterion, 31, 1e-3)
    assert mixed.expected_votes == pytest.approx(expected, rel=1e-9)
    assert mixed.gap < 1e-9
    assert certify(mixed).holds


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_thousand_voters_are_no_trouble(criterion):
    solution = solve(criterion, 2001, 1e-3)
    assert solution.gap < 1e-9
    assert solution.disagreement <= 1e-3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("minimum", 5, 0.1), "criterion must be one of"),
        (("minimean", 0, 0.1), "n_voters must be an integer"),
        (("minimean", -3, 0.1), "n_voters must be an integer"),
        (("minimean", 2.5, 0.1), "n_voters must be an integer"),
        (("minimean", "5", 0.1), "a number of voters, got str"),
        (("minimean", 5, -0.1), "max_disagreement must be a number from 0 to 1"),
        (("minimean", 5, 1.1), "max_disagreement must be a number from 0 to 1"),
        (("minimean", 5, float("nan")), "max_disagreement must be a number from 0 to 1"),
        (("minimean", 5, 10**400), "max_disagreement must be a number from 0 to 1"),
        (("minimean", 5, None), "max_disagreement must be a number from 0 to 1"),
    ],
)
def test_what_cannot_be_solved_is_refused_with_a_reason(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        solve(*arguments)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of dual, linear_program, quadratic_program"):
        solve("minimean", 5, 0.1, method="magic")
