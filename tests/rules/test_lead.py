"""The lead rule against its definition in exact rational numbers."""

from __future__ import annotations

import numpy as np
import pytest

from foregone import evaluate, rules
from foregone.errors import InvalidInputError
from tests.rules.checks import FEW_VOTERS, check_asks_no_fewer, check_state_by_state
from tests.rules.definitions import lead_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 40])
def test_it_stops_exactly_at_the_lead_or_when_the_vote_is_decided(n_voters, k):
    check_state_by_state(
        rules.lead(n_voters, k), lambda voters, asked, yes, _: lead_stops(voters, asked, yes, k), 0
    )


def test_the_lead_is_three_unless_said_otherwise():
    assert rules.lead(21) == rules.lead(21, 3)
    assert rules.lead(21) != rules.lead(21, 2)


@pytest.mark.parametrize("n_voters", [1, 2, 9, 10, 51])
def test_a_longer_lead_never_asks_fewer_votes(n_voters):
    for k in range(1, n_voters + 2):
        check_asks_no_fewer(rules.lead(n_voters, k + 1), rules.lead(n_voters, k))


def test_a_lead_beyond_the_voters_is_curtailment():
    assert rules.lead(9, 10) == rules.curtailment(9)
    assert rules.lead(9, 10**30) == rules.curtailment(9)


def test_a_lead_of_one_asks_one_voter():
    np.testing.assert_allclose(evaluate(rules.lead(7, 1)).expected_votes, np.ones(8), rtol=1e-14)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None, float("nan"), float("inf")])
def test_no_lead_is_refused(k):
    with pytest.raises(InvalidInputError, match="k must be an integer of at least 1"):
        rules.lead(5, k)


@pytest.mark.parametrize("n_voters", [0, 2.5, True])
def test_no_number_of_voters_is_refused(n_voters):
    with pytest.raises(InvalidInputError, match="n_voters"):
        rules.lead(n_voters)
