"""The e_process rule against its definition in exact rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foregone import evaluate, rules
from tests.rules.checks import FEW_VOTERS, LIMITS, check_state_by_state, flat_mean_votes
from tests.rules.definitions import e_process_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_state_is_that_of_the_likelihood_ratios_in_exact_rationals(n_voters, limit):
    check_state_by_state(rules.e_process(n_voters, limit), e_process_stops, limit)


@pytest.mark.parametrize(("limit", "mean_votes", "worst_percent"), [(0.05, 31.0, 3.6), (0.001, 44.3, 0.06)])
def test_its_figures_at_101_are_those_of_the_theory(limit, mean_votes, worst_percent):
    strategy = rules.e_process(101, limit)
    assert round(flat_mean_votes(strategy), 1) == mean_votes
    digits = 2 if worst_percent < 1 else 1
    assert round(100 * evaluate(strategy).worst().disagreement, digits) == worst_percent


@given(st.integers(1, 120), st.floats(1e-12, 1))
@example(1001, 1e-3)
@example(1000, 0.2)
def test_the_disagreement_is_within_the_limit_whatever_the_vote(n_voters, limit):
    assert evaluate(rules.e_process(n_voters, limit)).worst().disagreement <= limit * (1 + 1e-12)


@pytest.mark.parametrize("n_voters", [200, 201])
def test_its_thresholds_are_exact_for_many_voters(n_voters):
    limit = 1e-3
    strategy = rules.e_process(n_voters, limit)
    for asked in (1, 37, 99, 190, n_voters - 1):
        expected = [e_process_stops(n_voters, asked, yes, Fraction(limit)) for yes in range(asked + 1)]
        np.testing.assert_array_equal(strategy.stop_probabilities(asked), expected)


def test_where_likelihoods_vanish_it_is_still_two_thresholds():
    strategy = rules.e_process(3001, 1e-3)
    assert strategy.exceptions == []
    assert strategy.stop_probability(1400, 700) == 0
    assert strategy.stop_probability(1400, 1400) == 1
    assert strategy.stop_probability(1400, 0) == 1
