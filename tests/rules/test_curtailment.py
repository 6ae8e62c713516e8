"""The curtailment rule against its definition in exact rational numbers."""

from __future__ import annotations

import numpy as np
import pytest

from foregone import evaluate, rules, solve
from foregone.errors import InvalidInputError
from tests.rules.checks import FEW_VOTERS, check_state_by_state, flat_mean_votes
from tests.rules.definitions import curtailment_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
def test_it_stops_exactly_when_no_way_the_rest_may_vote_changes_the_answer(n_voters):
    check_state_by_state(rules.curtailment(n_voters), curtailment_stops, 0)


@pytest.mark.parametrize("n_voters", [*FEW_VOTERS, 100, 101, 1000])
def test_it_never_disagrees(n_voters):
    assert (evaluate(rules.curtailment(n_voters)).disagreement == 0).all()


def test_its_mean_votes_at_101_are_those_of_the_theory():
    assert round(flat_mean_votes(rules.curtailment(101)), 1) == 70.2


def test_half_of_all_voters_saying_no_decide_an_even_vote():
    strategy = rules.curtailment(4)
    assert strategy.stop_probability(asked=2, yes=0) == 1
    assert strategy.stop_probability(asked=2, yes=2) == 0
    assert strategy.stop_probability(asked=3, yes=3) == 1


def test_one_voter_is_asked():
    np.testing.assert_array_equal(evaluate(rules.curtailment(1)).expected_votes, [1, 1])


@pytest.mark.parametrize("n_voters", [0, -1, 2.5, True, "7", None])
def test_no_number_of_voters_is_refused(n_voters):
    with pytest.raises(InvalidInputError, match="n_voters"):
        rules.curtailment(n_voters)


# Quotas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_voters", [1, 2, 3, 6, 7])
def test_with_a_quota_it_stops_exactly_when_the_rest_cannot_change_the_answer(n_voters):
    for quota in range(n_voters + 1):
        strategy = rules.curtailment(n_voters, quota=quota)
        assert strategy.quota == quota
        for asked in range(n_voters + 1):
            for yes in range(asked + 1):
                full = {yes + more >= quota for more in range(n_voters - asked + 1)}
                assert strategy.stop_probability(asked, yes) == (len(full) == 1)
                if len(full) == 1:
                    assert strategy.answer(asked, yes) in full


@pytest.mark.parametrize("quota", [0, 1, 2, 50, 99, 100])
def test_it_never_disagrees_with_any_quota_and_asks_what_the_optimum_with_limit_zero_asks(quota):
    evaluation = evaluate(rules.curtailment(100, quota=quota))
    assert (evaluation.disagreement == 0).all()
    optimum = evaluate(solve("minimixed", 100, 0.0, quota=quota))
    np.testing.assert_allclose(evaluation.expected_votes, optimum.expected_votes, rtol=1e-12, atol=1e-12)


def test_with_looks_it_waits_until_the_next_one():
    strategy = rules.curtailment(9, quota=2, looks=[4])
    assert strategy.stop_probability(asked=2, yes=2) == 0
    assert strategy.stop_probability(asked=4, yes=2) == 1
    assert (evaluate(rules.curtailment(9, quota=0, looks=[4])).expected_votes == 4).all()
    assert (evaluate(strategy).disagreement == 0).all()


def test_the_quota_of_a_majority_changes_nothing():
    for n_voters in (1, 2, 9, 10):
        assert rules.curtailment(n_voters, quota=n_voters // 2 + 1) == rules.curtailment(n_voters)
