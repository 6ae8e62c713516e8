"""The ibep rule against its definition in exact rational numbers."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import VoteDistribution, evaluate, rules
from tests.rules.checks import FEW_VOTERS, LIMITS, check_state_by_state, flat_mean_votes
from tests.rules.definitions import ibep_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("limit", [*LIMITS, 0.5])
def test_every_state_is_that_of_the_posterior_in_exact_rationals(n_voters, limit):
    check_state_by_state(rules.ibep(n_voters, limit), ibep_stops, limit)


@pytest.mark.parametrize(("limit", "mean_votes", "worst_percent"), [(0.05, 16.0, 30.9), (0.001, 35.9, 1.3)])
def test_its_figures_at_101_are_those_of_the_theory(limit, mean_votes, worst_percent):
    strategy = rules.ibep(101, limit)
    assert round(flat_mean_votes(strategy), 1) == mean_votes
    assert round(100 * evaluate(strategy).worst().disagreement, 1) == worst_percent


@given(st.integers(1, 60), st.floats(1e-9, 1))
def test_under_flat_votes_the_mean_disagreement_is_within_the_limit(n_voters, limit):
    mean = evaluate(rules.ibep(n_voters, limit)).mean(VoteDistribution.flat(n_voters))
    assert mean.disagreement <= limit * (1 + 1e-12)


@pytest.mark.parametrize("n_voters", [200, 201])
def test_its_thresholds_are_exact_for_many_voters(n_voters):
    limit, middle = 1e-3, n_voters // 2
    strategy = rules.ibep(n_voters, limit)
    for asked in (1, 37, 99, 150, 190, n_voters - 1):
        # Under flat votes: how many of the full votes that fit, weighted by their likelihood, are no?
        ways = [
            (comb(n, yes) * comb(n_voters - n, asked - yes), yes, n > middle)
            for yes in range(asked + 1)
            for n in range(yes, n_voters - asked + yes + 1)
        ]
        totals = np.zeros((asked + 1, 2), dtype=object)
        for way, yes, is_yes in ways:
            totals[yes, int(is_yes)] += way
        expected = [Fraction(min(row), sum(row)) <= Fraction(limit) for row in totals]
        np.testing.assert_array_equal(strategy.stop_probabilities(asked), expected)
