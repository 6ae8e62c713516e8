"""Full votes that are not decided by a majority: any, all, two thirds, three of twenty."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import StoppingStrategy, VoteDistribution, certify, evaluate, rules, solve
from foregone.errors import InvalidInputError
from foregone.solving import CRITERIA, oracle
from foregone.solving.problem import likeliest_answers
from foregone.strategy.thresholds import answers_for
from tests.strategies import tables, vote_distributions

METHODS = ("dual", "linear_program")


# By hand -------------------------------------------------------------------------------------


def stop_at_the_first(vote: bool, n_voters: int) -> StoppingStrategy:
    """Ask until someone votes like this, as everyone would write it: answer that vote, or else the other."""
    rows = [
        [float((yes > 0) if vote else (yes < asked)) for yes in range(asked + 1)] for asked in range(n_voters)
    ]
    yes_from = [1] * (n_voters + 1) if vote else [max(asked, 1) for asked in range(n_voters + 1)]
    return StoppingStrategy.from_rows(n_voters, lambda asked: rows[asked], yes_from=yes_from)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [1, 2, 3, 10, 101, 450])
def test_any_and_all_stop_at_the_first_yes_and_at_the_first_no(criterion, n_voters):
    for quota, vote in ((1, True), (n_voters, False)):
        by_hand = stop_at_the_first(vote, n_voters)
        solution = solve(criterion, n_voters, 0.0, quota=quota)
        assert solution.strategy == by_hand == rules.curtailment(n_voters, quota=quota)
        assert solution.gap < 1e-12
        if n_voters <= 101:
            assert certify(solution).holds


@pytest.mark.parametrize("n_voters", [1, 4, 7])
def test_asking_for_any_takes_as_many_votes_as_the_first_yes_lies_deep(n_voters):
    cost = evaluate(solve("minimean", n_voters, 0.0, quota=1).strategy).expected_votes
    # The first of n yes votes among N lies at (N + 1) / (n + 1) on average.
    expected = [n_voters if n == 0 else (n_voters + 1) / (n + 1) for n in range(n_voters + 1)]
    assert cost == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_quota_of_nothing_is_answered_yes_at_the_first_look(criterion, method):
    for looks, asked in ((None, 0), ([3], 3), ([2, 4], 2), (2, 0), ([5], 5)):
        solution = solve(criterion, 5, 1e-3, quota=0, looks=looks, method=method)
        assert solution.expected_votes == pytest.approx(asked, abs=1e-12)
        assert solution.disagreement == 0
        assert all(solution.strategy.answer(i, 0) for i in range(6))
        if method == "dual":
            assert certify(solution).holds


@pytest.mark.parametrize("method", METHODS)
def test_one_of_two_as_derived_by_hand(method):
    # "Yes" if any of two says so; before the first vote the answer is no, after a first no it is no, too.
    # With nothing allowed a first yes ends it: 2, 1.5 and 1 votes for n = 0, 1 and 2.
    assert solve("minimean", 2, 0.0, quota=1, method=method).expected_votes == pytest.approx(1.5, rel=1e-12)
    # Stopping at a first no, with probability x, is wrong for n = 1 in half of all orders: x = 0.2 at a limit
    # of 0.1, were nobody guessed about. Guessing no, with probability y, is wrong for n = 1 and 2: y = 0.1
    # saves more of the mean, 0.1 * 1.5 votes; stopping at a no then saves 0.9 * x / 2 for n = 1, but
    # has nothing left to spend: y + (1 - y) x / 2 <= 0.1.
    mean = solve("minimixed", 2, 0.1, quota=1, method=method).expected_votes
    saved_by_stopping = (0.2 * 1 + 0.2 / 2) / 3  # x = 0.2: one vote for n = 0, half a vote for n = 1
    assert mean == pytest.approx(1.5 - max(0.1 * 1.5, saved_by_stopping), rel=1e-9)


# Against enumeration -------------------------------------------------------------------------


def deterministic_strategies(n_voters: int, quota: int, yes_from: np.ndarray) -> list[StoppingStrategy]:
    states = [(asked, yes) for asked in range(n_voters) for yes in range(asked + 1)]
    found = []
    for stops in product([0.0, 1.0], repeat=len(states)):
        table = np.ones((n_voters + 1, n_voters + 1))
        for state, stop in zip(states, stops, strict=True):
            table[state] = stop
        found.append(StoppingStrategy.from_table(table, yes_from=yes_from))
    return found


@pytest.mark.parametrize("n_voters", [1, 2, 3, 4])
@pytest.mark.parametrize("answer", ["majority", "likeliest"])
def test_no_mixture_of_two_deterministic_strategies_is_better_than_the_optimum(n_voters, answer):
    random = np.random.default_rng(n_voters)
    votes = VoteDistribution.from_counts(random.random(n_voters + 1))
    values = random.random(n_voters + 1)
    for quota in range(n_voters + 1):
        yes_from = answers_for(n_voters, quota)
        if answer == "likeliest":
            yes_from = likeliest_answers(votes, quota)
        if n_voters == 4 and quota not in (1, 2):
            continue
        figures = np.array(
            [
                (
                    votes.probabilities @ evaluated.expected_votes,
                    votes.probabilities @ (values * evaluated.disagreement),
                )
                for evaluated in map(evaluate, deterministic_strategies(n_voters, quota, yes_from))
            ]
        )
        for limit in (0.0, 0.01, 0.1):
            solution = solve("minimean", votes, limit, quota=quota, values=values, answer=answer)
            assert solution.expected_votes == pytest.approx(least_mixed(figures, limit), rel=1e-9, abs=1e-9)


def least_mixed(figures: np.ndarray, limit: float) -> float:
    """Return the least cost of a mixture of two (cost, risk) pairs whose risk is within the limit."""
    cost, risk = figures.T
    kept, broken = risk <= limit, risk > limit
    least = cost[kept].min()
    # One within and one beyond the limit: as much of the second as just keeps it.
    share = (limit - risk[kept])[:, None] / (risk[broken][None, :] - risk[kept][:, None])
    mixed = cost[kept][:, None] * (1 - share) + cost[broken][None, :] * share
    return float(min(least, mixed.min(initial=least)))


# Against the linear program ------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_voters", [1, 2, 9, 16])
def test_every_quota_agrees_with_the_linear_program_to_nine_digits(criterion, n_voters):
    random = np.random.default_rng(n_voters)
    votes = VoteDistribution.from_counts(random.random(n_voters + 1) ** 3)
    for quota in range(n_voters + 1):
        for limit in (1e-4, {"yes": 0.02, "no": 1e-3}):
            fast, slow = (solve(criterion, votes, limit, quota=quota, method=method) for method in METHODS)
            assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-9, abs=1e-9)
            assert certify(fast).holds


@pytest.mark.parametrize(("quota", "share"), [(7, "a third"), (14, "two thirds"), (20, "all"), (1, "any")])
def test_shares_of_twenty_agree_with_the_linear_program_with_everything_promised(quota, share):
    votes = VoteDistribution.from_counts(np.random.default_rng(quota).integers(0, 90, 21))
    for options in (
        {"confidence": 0.95},
        {"confidence": 0.9, "looks": [2, 5, 11]},
        {"answer": "likeliest"},
        {"confidence": 0.95, "answer": "likeliest", "looks": 4},
    ):
        for limit in (0.01, {"yes": 1e-3, "no": 0.05}, {"yes": 0.0, "no": 0.05}, {"yes": 1.0, "no": 0.01}):
            fast, slow = (
                solve("minimean", votes, limit, quota=quota, method=method, **options) for method in METHODS
            )
            assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-9, abs=1e-9), (
                limit,
                options,
            )
            assert certify(fast).holds


@pytest.mark.parametrize(
    ("criterion", "n_voters", "quota"),
    [("minimean", 3, 1), ("minimean", 3, 3), ("minimixed", 3, 1), ("minimax", 2, 1)],
)
def test_the_quadratic_program_knows_quotas_and_values(criterion, n_voters, quota):
    pytest.importorskip("pyscipopt")
    values = [0.5, 1.0, 0.25, 1.0][: n_voters + 1]
    quadratic, fast = (
        solve(criterion, n_voters, 0.05, quota=quota, values=values, method=method)
        for method in ("quadratic_program", "dual")
    )
    assert quadratic.expected_votes == pytest.approx(fast.expected_votes, rel=1e-6, abs=1e-7)
    assert quadratic.disagreement <= 0.05 + 1e-6


# The worst n ---------------------------------------------------------------------------------


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(tables(n), st.integers(0, n))))
def test_disagreement_by_the_share_never_rises_away_from_the_quota(table_and_quota):
    table, quota = table_and_quota
    strategy = StoppingStrategy.from_table(table, yes_from=answers_for(len(table) - 1, quota))
    disagreement = evaluate(strategy).disagreement
    for side in (disagreement[quota:], disagreement[:quota][::-1]):
        assert (side[1:] <= side[:-1] * (1 + 1e-12)).all()


def test_with_values_the_worst_n_may_be_far_from_the_quota():
    rising = solve("minimixed", 20, 0.01, quota=3, values=np.linspace(0, 1, 21))
    disagreement = evaluate(rising.strategy).disagreement
    assert disagreement.argmax() in (2, 3)
    lost = disagreement * np.array(rising.values)
    assert lost[20] == pytest.approx(0.01, rel=1e-6)
    assert lost[4:20].max() < lost[20]
    assert lost.max() == rising.disagreement <= 0.01


@pytest.mark.parametrize("quota", [1, 2, 19, 20])
@pytest.mark.parametrize("looks", [None, 7])
def test_minimax_finds_a_worst_poll_far_from_the_quota(quota, looks):
    solution = solve("minimax", 20, 0.05, quota=quota, looks=looks)
    assert solution.gap < 1e-9
    assert certify(solution).holds
    assert solution.expected_votes == evaluate(solution.strategy).expected_votes.max()


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(vote_distributions(n), st.integers(0, n))))
def test_where_the_full_vote_is_decided_every_answer_is_right(votes_and_quota):
    votes, quota = votes_and_quota
    n_voters = votes.n_voters
    for yes_from in (answers_for(n_voters, quota), likeliest_answers(votes, quota)):
        for asked in range(n_voters + 1):
            for yes in range(asked + 1):
                full = {yes + more >= quota for more in range(n_voters - asked + 1)}
                assert len(full) == 2 or (yes >= yes_from[asked]) in full


# The narrow band -----------------------------------------------------------------------------


@pytest.mark.parametrize("quota", [1, 2, 30, 100, 149, 150])
@pytest.mark.parametrize("options", [{}, {"answer": "likeliest"}, {"values": "some"}], ids=str)
def test_a_band_around_the_quota_gives_the_same_as_every_open_state(monkeypatch, quota, options):
    random = np.random.default_rng(quota)
    if "values" in options:
        options = {"values": random.random(151) * (random.random(151) < 0.8)}
    for votes in (
        VoteDistribution.flat(150),
        VoteDistribution.from_counts(random.random(151) * (random.random(151) < 0.1)),
        VoteDistribution.from_counts(np.eye(151)[max(quota - 20, 0)] + np.eye(151)[min(quota + 20, 150)]),
    ):
        for limit in (1e-3, {"yes": 1e-3, "no": 0.02}):
            monkeypatch.setattr(oracle, "_NARROW_FROM", 10**9)
            everywhere = solve("minimean", votes, limit, quota=quota, **options)
            monkeypatch.setattr(oracle, "_NARROW_FROM", 1)
            band = solve("minimean", votes, limit, quota=quota, **options)
            assert band.expected_votes == pytest.approx(everywhere.expected_votes, rel=1e-9, abs=1e-12)
            assert band.gap < 1e-9


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("quota", [1, 90, 400, 450])
def test_hundreds_of_voters_with_a_quota_are_no_trouble(criterion, quota):
    solution = solve(criterion, 450, 1e-3, quota=quota)
    assert solution.gap < 1e-9
    assert solution.disagreement <= 1e-3
    assert certify(solution).holds


# Promises ------------------------------------------------------------------------------------


@given(st.integers(1, 10).flatmap(vote_distributions), st.data())
@settings(max_examples=40)
def test_the_likeliest_answer_never_costs_more_for_any_quota(votes, data):
    quota = data.draw(st.integers(0, votes.n_voters))
    limit = data.draw(st.sampled_from([0.0, 1e-6, 1e-2, 0.3]))
    likeliest, by_share = (
        solve("minimean", votes, limit, quota=quota, answer=answer) for answer in ("likeliest", "majority")
    )
    assert likeliest.expected_votes <= by_share.expected_votes * (1 + 1e-9) + 1e-12


def test_a_confidence_is_kept_for_a_quota_as_often_as_promised():
    truth = np.array([60, 12, 6, 5, 4, 3, 2, 2, 1, 1, 1, 3]) / 100
    true, random, excess = VoteDistribution.from_counts(truth), np.random.default_rng(3), 0
    for counts in random.multinomial(300, truth, size=60):
        strategy = solve(
            "minimean", VoteDistribution.from_counts(counts), 1e-2, confidence=0.8, quota=2
        ).strategy
        excess += evaluate(strategy).mean(true).disagreement > 1e-2
    assert excess <= 0.2 * 60


@pytest.mark.parametrize("quota", [-1, 6, 2.5, True, "3"])
def test_a_quota_that_no_vote_can_have_is_refused(quota):
    with pytest.raises(InvalidInputError, match="quota must"):
        solve("minimean", 5, 0.1, quota=quota)


def test_a_false_claim_about_a_quota_is_refuted():
    # Right for a majority, wrong for two thirds: the same stops and answers, another full vote.
    majority = solve("minimixed", 21, 0.01)
    yes_from = [*majority.strategy.yes_from[:-1], 14]
    table = majority.strategy.table()
    claimed = solve("minimixed", 21, 0.01, quota=14)
    false = StoppingStrategy.from_table(table, yes_from=yes_from)
    certificate = certify(type(claimed).of(claimed.problem, false, 0.0, claimed.multipliers, "by hand"))
    assert not certificate.risk_is_proven
    assert "FALSE" in str(certificate)
