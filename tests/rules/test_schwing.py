"""The schwing rule against its definition in exact rational numbers."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from foregone import evaluate, rules
from tests.rules.checks import FEW_VOTERS, LIMITS, check_state_by_state, flat_mean_votes
from tests.rules.definitions import schwing_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("limit", [*LIMITS, 0.5, 0.25, 0.125])  # the last are probabilities of its own
def test_every_state_is_that_of_the_posterior_in_exact_rationals(n_voters, limit):
    check_state_by_state(rules.schwing(n_voters, limit), schwing_stops, limit)


@pytest.mark.parametrize(("limit", "mean_votes", "worst_percent"), [(0.05, 19.8, 17.3), (0.001, 44.0, 0.24)])
def test_its_figures_at_101_are_those_of_the_theory(limit, mean_votes, worst_percent):
    strategy = rules.schwing(101, limit)
    assert round(flat_mean_votes(strategy), 1) == mean_votes
    digits = 2 if worst_percent < 1 else 1
    assert round(100 * evaluate(strategy).worst().disagreement, digits) == worst_percent


@pytest.mark.parametrize("limit", [0.3, 1e-3, 1e-9])
def test_its_thresholds_are_exact_far_beyond_the_reach_of_the_hypergeometric_series(limit):
    n_voters = 2001
    strategy = rules.schwing(n_voters, limit)
    for asked in (60, 169, 170, 171, 500, 1000):  # fewer than half asked, so none is decided
        tails = np.cumsum([comb(asked + 1, heads) for heads in range(asked + 2)], dtype=object)
        least = [Fraction(min(tails[yes], tails[asked - yes]), 2 ** (asked + 1)) for yes in range(asked + 1)]
        expected = [chance < Fraction(limit) for chance in least]
        assert 0 < sum(expected) < asked + 1
        np.testing.assert_array_equal(strategy.stop_probabilities(asked), expected)


def test_where_the_tails_vanish_it_is_still_two_thresholds():
    strategy = rules.schwing(3001, 1e-3)  # one half to the power 3001 is zero to a float
    assert strategy.exceptions == []
    assert strategy.stop_probability(1500, 750) == 0
    assert strategy.stop_probability(1500, 1500) == 1
