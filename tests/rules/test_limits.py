"""What the rules with a limit on the disagreement have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import evaluate, rules
from foregone.errors import InvalidInputError
from tests.rules.checks import check_asks_no_fewer

WITH_LIMIT = [rules.schwing, rules.ibep, rules.e_process]
with_limit = pytest.mark.parametrize("rule", WITH_LIMIT, ids=lambda rule: rule.__name__)


@given(st.sampled_from(WITH_LIMIT), st.integers(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_limit_never_asks_fewer_votes(rule, n_voters, one, other):
    check_asks_no_fewer(rule(n_voters, min(one, other)), rule(n_voters, max(one, other)))


@given(st.sampled_from(WITH_LIMIT), st.integers(1, 60), st.floats(0, 1))
def test_a_decided_vote_is_always_stopped(rule, n_voters, limit):
    check_asks_no_fewer(rules.curtailment(n_voters), rule(n_voters, limit))


@given(st.sampled_from(WITH_LIMIT), st.integers(1, 60), st.floats(0, 1))
def test_the_stop_region_is_two_thresholds_that_agree_with_the_majority(rule, n_voters, limit):
    strategy = rule(n_voters, limit)
    assert strategy.exceptions == []
    steps = np.arange(n_voters + 1)
    assert (2 * strategy.lower <= steps).all()  # it stops with "no" only where no leads or it is a tie
    assert (2 * strategy.upper >= steps).all()  # and with "yes" only where yes does


@with_limit
@pytest.mark.parametrize("n_voters", [1, 2, 3, 8, 15, 100, 2001])
def test_a_limit_of_zero_is_curtailment(rule, n_voters):
    assert rule(n_voters, 0) == rules.curtailment(n_voters)


@with_limit
@pytest.mark.parametrize("n_voters", [1, 2, 8, 101])
def test_a_limit_of_one_asks_nobody(rule, n_voters):
    assert (evaluate(rule(n_voters, 1)).expected_votes == 0).all()


@with_limit
@pytest.mark.parametrize("limit", [-0.1, 1.1, float("nan"), float("inf"), "0.1", True, None, 1j])
def test_no_limit_is_refused(rule, limit):
    with pytest.raises(InvalidInputError, match="max_disagreement must be a number from 0 to 1"):
        rule(5, limit)


@with_limit
@pytest.mark.parametrize("n_voters", [0, -1, 2.5, True, "7", None])
def test_no_number_of_voters_is_refused(rule, n_voters):
    with pytest.raises(InvalidInputError, match="n_voters"):
        rule(n_voters, 0.1)
