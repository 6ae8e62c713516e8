import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import VoteDistribution, evaluate, rules, solve
from foregone.errors import SolverError
from foregone.solving import CRITERIA, linear_program
from tests.strategies import vote_distributions


def solve_lp(criterion, votes, max_disagreement):
    return solve(criterion, votes, max_disagreement, method="linear_program")


problems = st.tuples(
    st.sampled_from(CRITERIA),
    st.integers(1, 14).flatmap(vote_distributions),
    st.one_of(st.just(0.0), st.floats(1e-9, 1.0)),
)


@settings(max_examples=60)
@given(problems)
def test_the_strategy_keeps_the_limit_and_meets_its_bound(problem):
    solution = solve_lp(*problem)
    assert solution.disagreement <= problem[2] * (1 + 1e-9)
    assert solution.expected_votes - solution.lower_bound <= 1e-9 * max(solution.expected_votes, 1)


@settings(max_examples=20)
@given(problems, st.floats(0, 1))
def test_allowing_more_never_costs_more(problem, allowed):
    criterion, votes, max_disagreement = problem
    less, more = sorted([allowed, max_disagreement])
    careful, bold = (solve_lp(criterion, votes, limit).expected_votes for limit in (less, more))
    assert bold <= careful + 1e-9


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [1, 2, 3, 10, 11])
def test_with_nothing_allowed_it_asks_as_many_as_curtailment(criterion, n_voters):
    evaluation = evaluate(rules.curtailment(n_voters))
    mean, worst = evaluation.mean(VoteDistribution.flat(n_voters)), evaluation.worst()
    expected = worst.expected_votes if criterion == "minimax" else mean.expected_votes
    solution = solve_lp(criterion, n_voters, 0.0)
    assert solution.expected_votes == pytest.approx(expected, rel=1e-11)
    assert solution.disagreement == 0
    assert solution.lower_bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [1, 2, 7, 40])
def test_with_everything_allowed_it_asks_nobody(criterion, n_voters):
    assert solve_lp(criterion, n_voters, 1.0).expected_votes == 0


def test_one_voter_is_asked_unless_the_limit_pays_for_guessing():
    # Guessing "no" is wrong half the time: a limit of 0.1 pays for guessing with probability 0.2 ...
    assert solve_lp("minimean", 1, 0.1).expected_votes == pytest.approx(0.8, rel=1e-12)
    # ... and is always wrong when the voter says yes, so worst-case limits pay for only 0.1.
    assert solve_lp("minimixed", 1, 0.1).expected_votes == pytest.approx(0.9, rel=1e-12)
    assert solve_lp("minimax", 1, 0.1).expected_votes == pytest.approx(0.9, rel=1e-12)


def test_two_voters_as_derived_by_hand():
    # A first "no" decides (a tie is "no"), a first "yes" does not: 1, 1.5 and 2 votes for n = 0, 1 and 2.
    assert solve_lp("minimean", 2, 0.0).expected_votes == pytest.approx(1.5, rel=1e-12)
    assert solve_lp("minimax", 2, 0.0).expected_votes == pytest.approx(2.0, rel=1e-12)
    # Guessing at the start, with probability y, is wrong for n = 2: y = 0.1. Stopping at a first yes, with
    # probability x, is wrong for n = 1: 0.9 * x / 2 = 0.1. For n = 2 that leaves 0.9 * (2 - x) = 1.6 votes.
    assert solve_lp("minimax", 2, 0.1).expected_votes == pytest.approx(1.6, rel=1e-9)


def test_votes_known_to_be_unanimous_are_decided_by_the_first_unless_every_input_counts():
    unanimous = VoteDistribution.from_counts([1, 0, 0, 1])
    assert solve_lp("minimean", unanimous, 0.0).expected_votes == pytest.approx(1.0, rel=1e-12)
    assert solve_lp("minimixed", unanimous, 0.0).expected_votes == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [39, 40])
@pytest.mark.parametrize("max_disagreement", [1e-12, 1e-6, 0.05])
def test_forty_voters_are_solved_to_nine_digits(criterion, n_voters, max_disagreement):
    solution = solve_lp(criterion, n_voters, max_disagreement)
    assert solution.gap <= 1e-9
    assert solution.disagreement <= max_disagreement * (1 + 1e-9)


def test_minimax_takes_the_cheapest_on_average_of_its_ties():
    votes = VoteDistribution.from_counts(np.arange(1, 17.0))
    minimax, minimixed = solve_lp("minimax", votes, 0.05), solve_lp("minimixed", votes, 0.05)
    mean = evaluate(minimax.strategy).mean(votes).expected_votes
    assert mean < minimax.expected_votes * 0.9
    assert mean >= minimixed.expected_votes * (1 - 1e-9)
    assert minimax.gap <= 1e-9


def test_prices_sit_on_the_constraints_of_their_criterion():
    mean, mixed, worst = (
        solve_lp(criterion, 11, 0.01).multipliers for criterion in ("minimean", "minimixed", "minimax")
    )
    assert mean.mean_disagreement > 0
    assert (mean.disagreement_at, mean.cost_at) == ((), ())
    assert [n for n, _ in mixed.disagreement_at] == [5, 6]
    assert (mixed.mean_disagreement, mixed.cost_at) == (0.0, ())
    assert sum(weight for _, weight in worst.cost_at) == pytest.approx(1, rel=1e-9)


def test_states_out_of_reach_are_stops():
    strategy = solve_lp("minimean", 9, 1.0).strategy
    assert (strategy.table() == 1).all()


def test_a_failure_of_highs_is_reported_with_a_way_out(monkeypatch):
    class Failed:
        status = 4
        message = "Numerical difficulties"

    monkeypatch.setattr(linear_program, "linprog", lambda *_, **__: Failed)
    with pytest.raises(SolverError, match=r"Numerical difficulties.*default method"):
        solve_lp("minimean", 5, 0.1)
