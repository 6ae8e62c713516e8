"""The quorum rule against its definition."""

from __future__ import annotations

import pytest

from foregone import evaluate, rules
from foregone.errors import InvalidInputError
from tests.rules.checks import FEW_VOTERS, check_asks_no_fewer, check_state_by_state
from tests.rules.definitions import likelihood, quorum_stops


@pytest.mark.parametrize("n_voters", FEW_VOTERS)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 40])
def test_it_stops_exactly_at_k_votes_or_when_the_vote_is_decided(n_voters, k):
    check_state_by_state(
        rules.quorum(n_voters, k), lambda voters, asked, yes, _: quorum_stops(voters, asked, yes, k), 0
    )


def test_it_disagrees_as_often_as_the_majority_of_the_first_2k_minus_1_voters():
    n_voters, k = 15, 3
    disagreement = evaluate(rules.quorum(n_voters, k)).disagreement
    for n_yes in range(n_voters + 1):
        first_say_yes = sum(likelihood(n_voters, n_yes, 2 * k - 1, yes) for yes in range(k, 2 * k))
        wrong = 1 - first_say_yes if 2 * n_yes > n_voters else first_say_yes
        assert disagreement[n_yes] == pytest.approx(float(wrong), abs=1e-12)


def test_a_larger_quorum_never_asks_fewer_votes():
    for k in range(1, 12):
        check_asks_no_fewer(rules.quorum(10, k + 1), rules.quorum(10, k))


def test_five_votes_are_enough_unless_said_otherwise():
    assert rules.quorum(21) == rules.quorum(21, 5) != rules.quorum(21, 4)


def test_a_quorum_of_a_majority_or_more_is_curtailment():
    assert rules.quorum(9, 5) == rules.quorum(9, 10**30) == rules.curtailment(9)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_no_quorum_is_refused(k):
    with pytest.raises(InvalidInputError, match="k must be an integer of at least 1"):
        rules.quorum(5, k)
