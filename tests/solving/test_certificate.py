import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foregone import Solution, StoppingStrategy, VoteDistribution, rules, solve
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.solving import CRITERIA, Multipliers, Problem
from foregone.solving.certificate import certify
from foregone.solving.exact import arithmetic_named, cost_and_risk, least_priced_cost
from tests.strategies import answering_strategies, answers, vote_distributions

small_strategies = st.integers(1, 6).flatmap(answering_strategies)
weights = st.floats(0, 100).map(Fraction)


def by_enumeration(strategy: StoppingStrategy, n_yes: int) -> tuple[Fraction, Fraction]:
    """Expected votes and disagreement by walking through every order of the votes."""
    voters, cost, risk = strategy.n_voters, Fraction(0), Fraction(0)
    orders = list(combinations(range(voters), n_yes))
    for order in orders:
        still_asking, yes = Fraction(1), 0
        for asked in range(voters + 1):
            stop = Fraction(strategy.stop_probability(asked, yes))
            if strategy.answer(asked, yes) != (n_yes >= strategy.quota):
                risk += still_asking * stop
            still_asking *= 1 - stop
            cost += still_asking
            yes += asked in order
    return cost / len(orders), risk / len(orders)


def solution_of(
    strategy: StoppingStrategy,
    criterion: str = "minimean",
    max_disagreement: float = 0.1,
    multipliers: Multipliers | None = None,
) -> Solution:
    """Claim, rightly or not, that the strategy is optimal for flat votes."""
    problem = Problem.check(criterion, strategy.n_voters, max_disagreement)
    return Solution.of(problem, strategy, 0.0, multipliers or Multipliers(), "by hand")


@given(small_strategies)
def test_cost_and_risk_are_exactly_those_found_by_walking_through_every_order(strategy):
    with arithmetic_named("rational") as numbers:
        costs, risks = cost_and_risk(strategy, numbers)
    for n_yes in range(strategy.n_voters + 1):
        cost, risk = by_enumeration(strategy, n_yes)
        assert costs[n_yes] == (cost, cost)
        assert risks[n_yes] == (risk, risk)


@given(small_strategies)
def test_balls_enclose_the_exact_values_tightly(strategy):
    with arithmetic_named("rational") as numbers:
        exact = [low for row in cost_and_risk(strategy, numbers) for low, _ in row]
    with arithmetic_named("ball") as numbers:
        balls = [ball for row in cost_and_risk(strategy, numbers) for ball in row]
    for value, (low, high) in zip(exact, balls, strict=True):
        assert low <= value <= high
        assert high - low <= value / 2**100


@settings(max_examples=20)
@given(st.data(), st.integers(1, 3), st.sampled_from(["rational", "ball"]))
def test_the_dual_bound_is_the_least_over_all_deterministic_strategies(data, n_voters, arithmetic):
    cost, risk = (
        data.draw(st.lists(weights, min_size=n_voters + 1, max_size=n_voters + 1)) for _ in range(2)
    )
    states = [(asked, yes) for asked in range(n_voters) for yes in range(asked + 1)]
    *drawn, quota = data.draw(answers(n_voters))
    # Any answers that are right where the full vote is decided, as those of every problem are.
    yes_from = [min(max(first, asked - n_voters + quota), quota) for asked, first in enumerate(drawn)] + [
        quota
    ]
    looks = sorted(data.draw(st.sets(st.integers(0, n_voters))) | {n_voters})
    least = None
    for stops in product([0.0, 1.0], repeat=len(states)):
        table = np.ones((n_voters + 1, n_voters + 1))
        for state, stop in zip(states, stops, strict=True):
            table[state] = stop * (state[0] in looks)
        strategy = StoppingStrategy.from_table(table, yes_from=yes_from)
        figures = [by_enumeration(strategy, n) for n in range(n_voters + 1)]
        priced = sum(c * f[0] + r * f[1] for c, r, f in zip(cost, risk, figures, strict=True))
        least = priced if least is None else min(least, priced)
    with arithmetic_named(arithmetic) as numbers:
        bound = least_priced_cost(cost, risk, numbers, yes_from, looks)
    assert bound == least if arithmetic == "rational" else least * (1 - Fraction(1, 2**100)) <= bound <= least


@settings(max_examples=25)
@given(
    st.sampled_from(CRITERIA),
    st.integers(1, 12).flatmap(vote_distributions),
    st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(1e-9, 1)),
)
@example("minimean", VoteDistribution.flat(21), 0.5)
def test_linear_program_solutions_are_proven(criterion, votes, max_disagreement):
    certificate = certify(solve(criterion, votes, max_disagreement, method="linear_program"))
    assert certificate.arithmetic == "rational"
    assert certificate.holds, str(certificate)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("max_disagreement", [0.0, 1e-6, 1e-3, 0.1])
def test_solutions_for_201_voters_are_proven_in_exact_rationals(criterion, max_disagreement):
    solution = solve(criterion, 201, max_disagreement)
    certificate = certify(solution, arithmetic="rational")
    assert certificate.holds, str(certificate)
    assert certificate.lower_bound <= solution.expected_votes * (1 + 1e-12)
    assert certificate.expected_votes == pytest.approx((solution.expected_votes,) * 2, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["rational", "ball"])
@pytest.mark.parametrize(("criterion", "limit"), [("minimean", 1e-3), ("minimixed", 0.0), ("minimax", 0.1)])
def test_solutions_for_2001_voters_are_proven_in_either_arithmetic(criterion, limit, arithmetic):
    certificate = certify(solve(criterion, 2001, limit), arithmetic=arithmetic)
    assert certificate.holds, str(certificate)


def test_both_arithmetics_give_the_same_figures():
    solution = solve("minimax", 31, 0.01, method="linear_program")
    exact, ball = certify(solution, arithmetic="rational"), certify(solution, arithmetic="ball")
    assert ball.holds
    assert ball.lower_bound == pytest.approx(exact.lower_bound, rel=1e-15)
    assert ball.expected_votes == pytest.approx(exact.expected_votes, rel=1e-15)
    assert ball.disagreement[0] <= exact.disagreement[1]


def test_a_strategy_that_disagrees_too_often_is_refuted():
    strategy = rules.lead(21, 2)
    certificate = certify(solution_of(strategy, max_disagreement=1e-3))
    assert not certificate.risk_is_proven
    assert not certificate.holds
    assert certificate.disagreement[0] > 1e-3
    assert "FALSE" in str(certificate)


def test_a_risk_above_the_limit_by_one_rounding_is_refuted():
    # Whoever stops at once is wrong for 2 of 4 equally likely n.
    strategy = StoppingStrategy.from_table(np.ones((4, 4)))
    assert certify(solution_of(strategy, max_disagreement=0.5)).holds
    assert not certify(solution_of(strategy, max_disagreement=np.nextafter(0.5, 0))).risk_is_proven


@pytest.mark.parametrize("criterion", CRITERIA)
def test_multipliers_that_are_too_weak_or_too_strong_leave_the_optimality_open(criterion):
    solution = solve(criterion, 21, 0.01, method="linear_program")
    prices = solution.multipliers
    for factor in (0.5, 2.0):
        changed = replace(
            prices,
            mean_disagreement=prices.mean_disagreement * factor,
            disagreement_at=tuple((n, price * factor) for n, price in prices.disagreement_at),
        )
        certificate = certify(replace(solution, multipliers=changed))
        assert certificate.risk_is_proven
        assert certificate.gap > 1e-3
        assert certificate.lower_bound < solution.expected_votes
        assert not certificate.holds
        assert "OPEN" in str(certificate)


def test_a_lower_bound_that_was_tampered_with_is_not_believed():
    solution = solve("minimixed", 15, 0.01, method="linear_program")
    honest = certify(solution)
    worse = replace(solution, strategy=rules.curtailment(15), proven_bound=1e9)
    certificate = certify(worse)
    assert certificate.lower_bound == honest.lower_bound
    assert certificate.risk_is_proven
    assert not certificate.holds


@given(st.integers(1, 8).flatmap(vote_distributions), st.floats(0, 1), st.floats(0, 1e6))
def test_no_price_proves_more_than_the_optimum(votes, max_disagreement, price):
    solution = solve("minimean", votes, max_disagreement, method="linear_program")
    priced = replace(solution, multipliers=Multipliers(mean_disagreement=price))
    assert certify(priced).lower_bound <= certify(solution).expected_votes[1]


def test_minimax_weights_need_not_sum_to_one():
    solution = solve("minimax", 9, 0.05, method="linear_program")
    prices = solution.multipliers
    scaled = Multipliers(
        disagreement_at=tuple((n, 4 * price) for n, price in prices.disagreement_at),
        cost_at=tuple((n, 4 * weight) for n, weight in prices.cost_at),
    )
    assert certify(replace(solution, multipliers=scaled)).holds


def test_a_solution_without_multipliers_has_only_its_risk_proven():
    certificate = certify(solution_of(rules.curtailment(9)))
    assert certificate.risk_is_proven
    assert certificate.lower_bound == 0
    assert not certificate.holds
    assert "no multipliers" in str(certificate)


def test_with_nothing_allowed_no_multipliers_are_needed():
    certificate = certify(solution_of(rules.curtailment(9), "minimixed", max_disagreement=0.0))
    assert certificate.holds
    assert certificate.gap == 0


def test_a_gap_is_judged_by_the_users_own_measure():
    solution = solve("minimean", 9, 0.05, method="linear_program")
    rough = replace(solution, strategy=rules.curtailment(9))
    assert not certify(rough).holds
    assert certify(rough, max_gap=0.9).holds


@pytest.mark.parametrize("price", [-1.0, np.inf, np.nan])
def test_multipliers_that_are_no_prices_are_an_error(price):
    bad = solution_of(rules.curtailment(9), multipliers=Multipliers(mean_disagreement=price))
    with pytest.raises(InvalidInputError, match="not negative"):
        certify(bad)


def test_multipliers_for_an_impossible_vote_are_an_error():
    bad = solution_of(
        rules.curtailment(9), "minimixed", multipliers=Multipliers(disagreement_at=((10, 1.0),))
    )
    with pytest.raises(InvalidInputError, match="n from 0 to 9"):
        certify(bad)


def test_an_unknown_arithmetic_is_an_error():
    with pytest.raises(InvalidInputError, match="arithmetic must be one of"):
        certify(solution_of(rules.curtailment(3)), arithmetic="decimal")


def test_exact_rationals_need_no_extra_and_balls_name_theirs(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    solution = solve("minimean", 31, 0.01, method="linear_program")
    assert certify(solution).holds
    with pytest.raises(MissingExtraError, match=r"foregone\[exact\]"):
        certify(solution, arithmetic="ball")


def test_ball_arithmetic_leaves_the_precision_of_others_alone():
    flint = pytest.importorskip("flint")
    before = flint.ctx.prec
    certify(solution_of(rules.curtailment(3)), arithmetic="ball")
    assert flint.ctx.prec == before


def test_it_reads_as_sentences():
    certificate = certify(solve("minimean", 11, 0.01, method="linear_program"))
    first, risk, cost = str(certificate).splitlines()
    assert first == "In exact rational arithmetic:"
    assert "PROVEN  mean disagreement" in risk
    assert "<= 0.01" in risk
    assert "PROVEN  no counting strategy within the limit asks fewer than" in cost
    assert "votes on average; this one asks" in cost


def test_with_a_confidence_optimal_means_for_this_confidence_set():
    votes = VoteDistribution.from_counts([40, 9, 5, 3, 2, 4])
    said = str(certify(solve("minimean", votes, 0.05, confidence=0.9)))
    assert "PROVEN  no counting strategy within the limit, for this confidence set, asks fewer than" in said
