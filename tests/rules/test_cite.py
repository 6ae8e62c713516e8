"""The CITE rule against its definition in exact rational numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from foregone import evaluate, rules
from foregone.plurality.mode_evidence import log_evidence
from tests.rules.checks import FEW_VOTERS, LIMITS, check_asks_no_fewer, check_state_by_state
from tests.rules.definitions import cite_stops, lead_evidence


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_state_is_that_of_the_evidence_in_exact_rationals(n_voters, limit):
    check_state_by_state(rules.cite(n_voters, limit), cite_stops, limit)


@pytest.mark.parametrize(("ahead", "behind"), [(0, 0), (1, 0), (0, 9), (7, 7), (30, 12), (60, 0), (5, 60)])
def test_the_evidence_is_that_of_exact_rationals(ahead, behind):
    assert np.exp(log_evidence(ahead, behind)) == pytest.approx(float(lead_evidence(ahead, behind)), rel=1e-9)


@pytest.mark.parametrize("inclination", [Fraction(1, 2), Fraction(2, 5), Fraction(1, 10)])
def test_evidence_for_an_answer_that_is_not_ahead_never_grows_on_average(inclination):
    for ahead, behind in itertools.product(range(8), repeat=2):
        after = inclination * lead_evidence(ahead + 1, behind) + (1 - inclination) * lead_evidence(
            ahead, behind + 1
        )
        assert after <= lead_evidence(ahead, behind)


@pytest.mark.parametrize("limit", [0.01, 0.1, 0.5])
def test_independent_votes_are_rarely_certified_for_the_unlikelier_answer(limit):
    n_voters, inclination = 60, 0.49  # for yes
    strategy = rules.cite(n_voters, limit)
    reach, certified = np.ones(1), 0.0
    for asked in range(n_voters):
        yes = np.arange(asked + 1)
        stops = strategy.stop_probabilities(asked)
        is_decided = (2 * yes > n_voters) | (2 * (asked - yes) >= n_voters)
        certified += (reach * stops * (2 * yes > asked) * ~is_decided).sum()
        going_on = reach * (1 - stops)
        reach = np.append(going_on * (1 - inclination), 0) + np.append(0, going_on * inclination)
    assert 0 < certified <= limit


def test_a_stricter_level_never_asks_fewer_votes():
    levels = [0, 1e-6, 0.001, 0.05, 0.3, 1]
    strategies = [rules.cite(31, level) for level in levels]
    for careful, bold in itertools.pairwise(strategies):
        check_asks_no_fewer(careful, bold)
    assert strategies[0] == rules.curtailment(31)
    assert evaluate(strategies[-1]).expected_votes.max() == 0
