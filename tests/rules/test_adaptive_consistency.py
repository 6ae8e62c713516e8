"""Adaptive-Consistency's Beta rule against the probability it is defined by, in exact rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from foregone import rules
from foregone.errors import InvalidInputError
from tests.rules.checks import FEW_VOTERS, check_asks_no_fewer, check_state_by_state
from tests.rules.definitions import is_decided, schwing_chances

# 0.75 and 0.9375 are probabilities that occur: there the rule says "at least", and Schwing's "more than".
THRESHOLDS = [0.0, 0.5, 0.75, 0.8, 0.9375, 0.95, 0.999]


def stops(n_voters: int, asked: int, yes: int, threshold: Fraction) -> bool:
    return is_decided(n_voters, asked, yes) or max(schwing_chances(asked, yes)) >= threshold


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_it_stops_exactly_where_the_leading_answer_is_sure_enough(n_voters, threshold):
    check_state_by_state(rules.adaptive_consistency(n_voters, threshold), stops, threshold)


def test_the_threshold_is_095_unless_said_otherwise_and_then_it_is_schwings_rule():
    assert rules.adaptive_consistency(39) == rules.adaptive_consistency(39, 0.95) == rules.schwing(39, 0.05)
    assert rules.adaptive_consistency(39) != rules.adaptive_consistency(39, 0.99)


def test_a_probability_that_equals_the_threshold_stops_unlike_schwings():
    assert rules.adaptive_consistency(9, 0.9375).stop_probability(3, 3) == 1
    assert rules.schwing(9, 0.0625).stop_probability(3, 3) == 0


@pytest.mark.parametrize("n_voters", [1, 8, 101])
def test_a_higher_threshold_never_asks_fewer_and_one_is_curtailment(n_voters):
    strategies = [rules.adaptive_consistency(n_voters, threshold) for threshold in [*THRESHOLDS, 1.0]]
    for bold, careful in pairwise(strategies):
        check_asks_no_fewer(careful, bold)
    assert strategies[-1] == rules.curtailment(n_voters)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, True, "0.9", None, float("nan")])
def test_no_threshold_is_refused(threshold):
    with pytest.raises(InvalidInputError, match="threshold must be a number from 0 to 1"):
        rules.adaptive_consistency(5, threshold)
