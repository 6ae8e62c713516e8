import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from foregone import VoteDistribution, certify, evaluate, rules, solve
from foregone.errors import SolverError
from foregone.solving import CRITERIA, Problem
from foregone.solving.budget import Budget, NestedBounds
from foregone.solving.reference import linear_program
from foregone.solving.reference.linear_program_rows import RiskRows, States
from tests.strategies import vote_distributions


def solve_lp(criterion, votes, max_disagreement, **options):
    return solve(criterion, votes, max_disagreement, method="linear_program", **options)


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


@st.composite
def nested_bounds(draw: st.DrawFn) -> NestedBounds:
    """Bounds that leave at least one distribution, and some of them nothing or everything open."""
    N = draw(st.integers(1, 9))
    step = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
    no, yes = (
        np.minimum(np.cumsum(draw(st.lists(step, min_size=size, max_size=size))), 1.0)
        for size in (N // 2 + 1, N - N // 2)
    )
    draw(st.sampled_from([no, yes]))[-1] = 1.0
    return NestedBounds(yes, no)


@given(nested_bounds(), st.integers(0, 2**32 - 1))
def test_what_covers_a_disagreement_at_the_least_price_is_its_largest_mean(bounds, seed):
    N = len(bounds.yes) + len(bounds.no) - 1
    m, disagreement = N // 2, np.random.default_rng(seed).random(N + 1)
    # By definition: over all weights that sum to one, and near the middle to no more than the bounds.
    near = [np.isin(np.arange(N + 1), range(m + 1, m + 1 + r)) for r in range(1, len(bounds.yes) + 1)]
    near += [np.isin(np.arange(N + 1), range(m + 1 - r, m + 1)) for r in range(1, len(bounds.no) + 1)]
    most = np.concatenate([bounds.yes, bounds.no])
    direct = linprog(-disagreement, np.array(near), most, np.ones((1, N + 1)), [1.0])
    # As in the linear program: the least sum of y that covers it, for likeliest answers, which need every n.
    problem = Problem.check("minimixed", N, 0.5, answer="likeliest")
    rows = RiskRows([Budget("all", 0.5, bounds, np.ones(N + 1))], States(problem))
    cover = linprog(np.ones(rows.cover.shape[1]), -rows.cover, -rows.weights @ disagreement)
    assert cover.fun == pytest.approx(-direct.fun, rel=1e-6, abs=1e-9)


def test_one_voter_guessed_per_class_as_derived_by_hand():
    # Guessing, with probability g, says "no", which is wrong if the voter would say yes.
    assert solve_lp("minimean", 1, {"yes": 0.3, "no": 0.0}).expected_votes == pytest.approx(0.7, rel=1e-12)
    assert solve_lp("minimean", 1, {"yes": 0.0, "no": 1.0}).expected_votes == pytest.approx(1.0, rel=1e-12)
    # It says "yes" if that is likelier.
    votes = VoteDistribution.from_counts([1, 3])
    guess = solve_lp("minimean", votes, {"yes": 0.0, "no": 0.3}, answer="likeliest")
    assert guess.expected_votes == pytest.approx(0.7, rel=1e-12)
    assert guess.disagreement == {"yes": 0.0, "no": pytest.approx(0.3, rel=1e-12)}


def test_looks_are_paid_for_up_to_the_next():
    # Two equal votes out of three decide; without a look there, all are asked.
    assert solve_lp("minimean", 3, 0.0, looks=[3]).expected_votes == pytest.approx(3.0, rel=1e-12)
    # For n = 1 the first two are equal in 1/3 of all orders, for n = 0 in all: (2 + 8/3 + 8/3 + 2) / 4.
    assert solve_lp("minimax", 3, 0.0, looks=[2]).expected_votes == pytest.approx(8 / 3, rel=1e-12)
    assert solve_lp("minimean", 3, 0.0, looks=[2]).expected_votes == pytest.approx(7 / 3, rel=1e-12)
    assert solve_lp("minimean", 3, 1.0, looks=[2]).expected_votes == pytest.approx(2.0, rel=1e-12)


def test_a_confidence_prices_every_n_and_is_proven():
    votes = VoteDistribution.from_counts([40, 5, 3, 1, 0, 1, 2, 30])
    solution = solve_lp("minimean", votes, 0.1, confidence=0.95)
    assert solution.multipliers.mean_disagreement == 0
    assert len(solution.multipliers.disagreement_at) > 2
    assert certify(solution).holds


def test_states_out_of_reach_are_stops():
    strategy = solve_lp("minimean", 9, 1.0).strategy
    assert (strategy.table() == 1).all()


def test_a_failure_of_highs_is_reported_with_a_way_out(monkeypatch):
    class Failed:
        status = 4
        message = "Numerical difficulties"

    monkeypatch.setattr(linear_program, "linprog", lambda *_, **__: Failed)
    with pytest.raises(SolverError, match=r"Numerical difficulties.*use the default"):
        solve_lp("minimean", 5, 0.1)
