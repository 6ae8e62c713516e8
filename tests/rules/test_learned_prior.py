"""The rule of a learned prior against its definition in exact rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import VoteDistribution, evaluate, rules, solve
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution
from tests.rules.checks import check_state_by_state
from tests.rules.definitions import ibep_stops, learned_prior_stops

PASTS = [
    [3, 2],
    [9, 3, 1, 1, 2, 9],
    [0, 0, 5, 0, 1, 0, 2],
    [1, 0, 0, 0, 0, 0, 0, 7],
    [40, 9, 3, 2, 1, 1, 2, 2, 11],
]


@pytest.mark.parametrize("past", PASTS)
@pytest.mark.parametrize("limit", [1e-6, 0.011, 0.049, 0.23, 0.49, 0.83, 1.0])
def test_every_state_is_that_of_the_posterior_in_exact_rationals(past, limit):
    strategy = rules.learned_prior(VoteDistribution.from_counts(past), limit)
    check_state_by_state(
        strategy, lambda _, asked, yes, lim: learned_prior_stops(past, asked, yes, lim), limit
    )


def test_from_flat_votes_it_learns_what_ibep_assumes():
    strategy = rules.learned_prior(VoteDistribution.flat(12), 0.11)
    for asked in range(1, 12):
        expected = [ibep_stops(12, asked, yes, Fraction(0.11)) for yes in range(asked + 1)]
        np.testing.assert_array_equal(strategy.stop_probabilities(asked), expected)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30).filter(any), st.floats(1e-6, 1))
def test_on_the_votes_it_learned_from_it_keeps_the_limit_and_the_optimum_asks_no_more(past, limit):
    votes = VoteDistribution.from_counts(past)
    mean = evaluate(rules.learned_prior(votes, limit)).mean(votes)
    assert mean.disagreement <= limit * (1 + 1e-9)
    assert solve("minimean", votes, limit).expected_votes <= mean.expected_votes + 1e-6


def test_where_no_past_vote_leads_only_a_decided_vote_stops():
    strategy = rules.learned_prior(VoteDistribution.from_counts([5, 0, 0, 0, 0, 0, 0, 5]), 0.05)
    assert strategy.stop_probability(1, 1) == strategy.stop_probability(1, 0) == 1
    assert strategy.stop_probability(3, 2) == strategy.stop_probability(6, 3) == 0
    assert strategy.stop_probability(4, 4) == 1


def test_no_limit_is_curtailment_and_one_vote_is_always_asked():
    votes = VoteDistribution.from_counts([9, 3, 1, 1, 2, 9])
    assert rules.learned_prior(votes, 0) == rules.curtailment(5)
    assert evaluate(rules.learned_prior(votes, 1)).expected_votes == pytest.approx(np.ones(6))


@pytest.mark.parametrize("votes", [21, None, [0.5, 0.5], CompositionDistribution.from_counts([[3, 2]])])
def test_what_is_not_a_vote_distribution_is_refused(votes):
    with pytest.raises(InvalidInputError, match="votes must be a VoteDistribution"):
        rules.learned_prior(votes, 0.05)
