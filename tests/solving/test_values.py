"""Limits on what disagreements lose: the weighted program, against references and in exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import Solution, VoteDistribution, certify, evaluate, rules, solve
from foregone.errors import InvalidInputError
from foregone.solving import CRITERIA
from tests.strategies import vote_distributions
from tests.test_evaluation import by_enumeration

METHODS = ("dual", "linear_program")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [1, 2, 7, 12, 21, 30])
def test_random_values_agree_with_the_linear_program_to_nine_digits(criterion, n_voters):
    random = np.random.default_rng(n_voters)
    for limit in (1e-5, 1e-3, 0.07, {"yes": 0.01, "no": 0.1}):
        votes = VoteDistribution.from_counts(random.random(n_voters + 1) ** 3)
        values, quota = random.random(n_voters + 1), int(random.integers(0, n_voters + 1))
        fast, slow = (
            solve(criterion, votes, limit, quota=quota, values=values, method=method) for method in METHODS
        )
        assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-9, abs=1e-9)
        assert certify(fast).holds


@pytest.mark.parametrize(
    "options",
    [
        {"confidence": 0.95},
        {"looks": 3},
        {"answer": "likeliest"},
        {"confidence": 0.9, "looks": [2, 9], "answer": "likeliest", "quota": 5},
    ],
    ids=str,
)
def test_they_agree_with_everything_else_that_can_be_promised(options):
    random = np.random.default_rng(len(options))
    for n_voters in (15, 16):
        votes = VoteDistribution.from_counts(
            random.multinomial(1000, random.dirichlet(np.full(n_voters + 1, 0.4)))
        )
        values = np.abs(np.linspace(-1, 1, n_voters + 1))
        for limit in (1e-3, {"yes": 1e-3, "no": 0.03}):
            fast, slow = (
                solve("minimean", votes, limit, values=values, method=method, **options) for method in METHODS
            )
            assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-9, abs=1e-9)
            assert certify(fast).holds


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(vote_distributions(n), st.integers(0, n))), st.data())
@settings(max_examples=30)
def test_the_loss_within_the_limit_is_that_of_every_order_of_the_votes(votes_and_quota, data):
    votes, quota = votes_and_quota
    size = votes.n_voters + 1
    values = data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    limit = data.draw(st.sampled_from([0.0, 1e-3, 0.05, 0.3]))
    solution = solve("minimean", votes, limit, quota=quota, values=values)
    weights = [Fraction(p) for p in votes.probabilities.tolist()]
    parts = [by_enumeration(solution.strategy, n) for n in range(size)]
    loss = sum(w * Fraction(v) * wrong for w, v, (_, wrong, _) in zip(weights, values, parts, strict=True))
    assert loss / sum(weights) <= Fraction(limit)
    assert solution.disagreement == pytest.approx(float(loss / sum(weights)), rel=1e-12, abs=1e-300)
    cost = sum(w * cost for w, (cost, _, _) in zip(weights, parts, strict=True)) / sum(weights)
    assert solution.expected_votes == pytest.approx(float(cost), rel=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_values_of_one_change_nothing_and_equal_ones_scale_the_limit(criterion):
    plain = solve(criterion, 15, 0.01)
    ones = solve(criterion, 15, 0.01, values=np.ones(16))
    assert ones.expected_votes == pytest.approx(plain.expected_votes, rel=1e-9)
    quarter = solve(criterion, 15, 0.0025, values=np.full(16, 0.25))
    assert quarter.expected_votes == pytest.approx(plain.expected_votes, rel=1e-9)
    assert quarter.disagreement == pytest.approx(plain.disagreement / 4, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_where_nothing_can_be_lost_nobody_is_asked(criterion, method):
    assert solve(criterion, 9, 0.0, values=np.zeros(10), method=method).expected_votes == 0
    looking = solve(criterion, 9, 0.0, values=np.zeros(10), looks=[2, 5], method=method)
    assert looking.expected_votes == pytest.approx(2, rel=1e-12)
    # Before anyone is asked the answer is no, which loses nothing if only a full "no" has a value.
    no_only = np.array([1.0] * 5 + [0.0] * 5)
    assert solve(criterion, 9, 0.0, values=no_only, method=method).expected_votes == 0
    assert solve(criterion, 9, 0.0, values=1 - no_only, method=method).expected_votes > 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_losing_less_never_costs_more(criterion):
    random = np.random.default_rng(1)
    votes = VoteDistribution.from_counts(random.random(20))
    values = random.random(20)
    costs = [
        solve(criterion, votes, 0.01, values=values * share, quota=6).expected_votes
        for share in (1.0, 0.5, 0.1, 0.0)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 0


def test_what_one_vote_of_three_loses_as_derived_by_hand():
    # Where n is 1 or 2 anything goes, and where it is 0 or 3 the first vote tells.
    values = [1, 0, 0, 1]
    assert solve("minimean", 3, 0.0, values=values).expected_votes == pytest.approx(1.0, rel=1e-12)
    # A limit of a tenth pays for guessing no, which loses 1 for n = 3 alone, in four tenths of all polls.
    assert solve("minimean", 3, 0.1, values=values).expected_votes == pytest.approx(0.6, rel=1e-9)
    assert solve("minimixed", 3, 0.1, values=values).expected_votes == pytest.approx(0.9, rel=1e-9)


POINT = VoteDistribution.from_counts(np.eye(17)[2])
ALL_YES, ALL_NO = VoteDistribution.from_counts([0, 0, 0, 0, 7]), VoteDistribution.from_counts([9, 0, 0, 0, 0])
AWKWARD = [
    ("minimax", 21, {"yes": 0.05, "no": 0.05}, {"values": np.abs(np.linspace(-1, 1, 22))}),
    ("minimixed", 6, {"yes": 5e-324, "no": 0.01}, {"quota": 1, "values": [0, 0, 1, 0.5, 0, 0.5, 1]}),
    ("minimax", 6, {"yes": 1e-300, "no": 0.01}, {"quota": 4, "values": [1, 0, 0, 0, 0, 0.5, 1]}),
    ("minimax", POINT, {"yes": 0.05, "no": 1e-12}, {"quota": 8, "values": np.abs(np.linspace(-1, 1, 17))}),
    ("minimean", 9, 1e-16, {"quota": 3, "values": [1e-12] * 5 + [1] * 5}),
    ("minimean", 9, 1e-300, {"quota": 9, "values": [1e-12] * 5 + [1] * 5}),
    ("minimax", 9, 1e-16, {"quota": 1}),
    ("minimax", 9, 0.3, {"quota": 9, "looks": 4}),
    ("minimean", 1, 0.1, {"quota": 1, "values": [0.5, 0.25]}),
    ("minimean", 1, 1e-9, {"quota": 0, "values": [0.5, 0.25], "looks": [1]}),
    ("minimixed", 8, {"yes": 0.0, "no": 1.0}, {"quota": 2}),
    ("minimixed", 8, {"yes": 1.0, "no": 0.0}, {"quota": 7}),
    ("minimean", 8, {"yes": 0.0, "no": 1.0}, {"quota": 8, "answer": "likeliest"}),
    ("minimean", 8, {"yes": 1.0, "no": 1.0}, {"quota": 1, "looks": [3]}),
    ("minimax", 8, {"yes": 0.0, "no": 1e-16}, {"quota": 1, "values": [1] + [0.5] * 8}),
    ("minimean", ALL_YES, {"yes": 0.1, "no": 0.1}, {"quota": 4, "values": [1, 0, 0, 0, 0]}),
    ("minimean", ALL_NO, 0.05, {"quota": 1, "confidence": 0.9, "values": [0, 1, 1, 1, 1]}),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "votes", "limit", "options"), AWKWARD, ids=str)
def test_awkward_problems_are_solved_and_certified(criterion, votes, limit, options):
    solution = solve(criterion, votes, limit, **options)
    assert solution.gap < 1e-9
    assert certify(solution).holds


# Certificates --------------------------------------------------------------------------------


def accuracy_like(n_voters: int) -> Solution:
    votes = VoteDistribution.from_counts(1.0 / (1 + np.arange(n_voters + 1)))
    return solve("minimean", votes, 0.003, values=np.abs(np.linspace(-1, 1, n_voters + 1)), quota=4)


@pytest.mark.parametrize("arithmetic", ["rational", "ball"])
def test_the_limit_on_the_loss_is_proven_and_other_values_are_refuted(arithmetic):
    solution = accuracy_like(13)
    assert certify(solution, arithmetic=arithmetic).holds
    dearer = tuple(min(1.0, 1.01 * value) for value in solution.values)
    certificate = certify(replace(solution, values=dearer), arithmetic=arithmetic)
    assert not certificate.risk_is_proven
    assert "FALSE" in str(certificate)
    assert not certify(replace(solution, values=None), arithmetic=arithmetic).risk_is_proven


def test_cheaper_values_leave_the_optimality_open():
    solution = accuracy_like(13)
    cheaper = tuple(value / 2 for value in solution.values)
    certificate = certify(replace(solution, values=cheaper))
    assert certificate.risk_is_proven
    assert not certificate.holds


def test_a_value_larger_by_one_rounding_is_refuted():
    # Whoever stops at once is wrong for 2 of 4 equally likely n, and loses 3/8 of one each time.
    stop = solve("minimean", 3, 0.1875, values=[0.375] * 4)
    assert stop.expected_votes == 0
    assert certify(stop).holds
    more = (0.375, 0.375, 0.375, float(np.nextafter(0.375, 1)))
    assert not certify(replace(stop, values=more)).risk_is_proven


def test_a_careful_strategy_is_not_taken_for_an_optimal_one():
    solution = accuracy_like(13)
    careful = replace(solution, strategy=rules.curtailment(13, quota=4))
    certificate = certify(careful)
    assert certificate.risk_is_proven
    assert certificate.lower_bound == certify(solution).lower_bound
    assert not certificate.holds


def test_no_price_proves_more_than_the_optimum():
    solution = accuracy_like(9)
    for factor in (0.5, 0.9, 1.1, 3.0, 1e6):
        price = solution.multipliers.mean_disagreement * factor
        priced = replace(solution, multipliers=replace(solution.multipliers, mean_disagreement=price))
        assert certify(priced).lower_bound <= certify(solution).expected_votes[1]


# Files and bad input -------------------------------------------------------------------------


def test_values_survive_the_file(tmp_path):
    solution = accuracy_like(13)
    solution.save(tmp_path / "s.json")
    loaded = Solution.load(tmp_path / "s.json")
    assert (loaded.values, loaded.quota, loaded.disagreement) == (
        solution.values,
        solution.quota,
        solution.disagreement,
    )
    assert certify(loaded).holds
    plain = solve("minimean", 5, 0.1)
    plain.save(tmp_path / "s.json")
    assert Solution.load(tmp_path / "s.json").values is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 1, 1], r"n_voters \+ 1 = 5 numbers"),
        ([[1, 1, 1, 1, 1]], r"got shape \(1, 5\)"),
        (0.5, "got shape"),
        ([1, 1, 1, 1, 1.1], "from 0 to 1, got 1 to 1.1: divide them, and the limit, by the largest value"),
        ([1, 1, 1, 1, -0.1], "must be from 0 to 1"),
        ([1, 1, 1, 1, np.nan], "must be from 0 to 1"),
        (["a"] * 5, "must be numbers"),
    ],
)
def test_values_that_are_none_are_refused(values, words):
    with pytest.raises(InvalidInputError, match=words):
        solve("minimean", 4, 0.1, values=values)


def test_the_disagreement_itself_is_still_that_of_the_strategy():
    solution = accuracy_like(13)
    evaluation = evaluate(solution.strategy)
    assert solution.evaluation.mean(solution.votes) == evaluation.mean(solution.votes)
    assert evaluation.mean(solution.votes).disagreement > solution.disagreement
