"""ESC against the rule itself, run on every order of every vote."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from foregone import VoteDistribution, evaluate, rules
from foregone.errors import InvalidInputError
from tests.rules.definitions import is_decided


def run(votes: list[bool], window: int) -> tuple[int, bool]:
    """Return how many votes the rule asks in this order, and what it answers."""
    for asked in range(len(votes) + 1):
        seen = votes[:asked]
        last = seen[-window:] if asked and asked % window == 0 else []
        if (last and len(set(last)) == 1) or is_decided(len(votes), asked, sum(seen)):
            break
    return asked, 2 * sum(seen) > asked


@pytest.mark.parametrize("n_voters", range(1, 12))
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 20])
def test_averaged_over_every_order_it_asks_and_answers_as_the_rule_itself(n_voters, window):
    strategy = rules.esc(n_voters, window)
    evaluation = evaluate(strategy)
    for n_yes in range(n_voters + 1):
        orders, asked_in, wrong = comb(n_voters, n_yes), Counter(), 0
        for places in combinations(range(n_voters), n_yes):
            asked, answer = run([place in places for place in range(n_voters)], window)
            asked_in[asked] += 1
            wrong += answer != (2 * n_yes > n_voters)
        mean = Fraction(sum(asked * times for asked, times in asked_in.items()), orders)
        assert evaluation.expected_votes[n_yes] == pytest.approx(float(mean), rel=1e-12)
        assert evaluation.disagreement[n_yes] == pytest.approx(wrong / orders, rel=1e-12, abs=1e-15)
        point = VoteDistribution.from_counts(np.arange(n_voters + 1) == n_yes)
        expected = [asked_in[asked] / orders for asked in range(n_voters + 1)]
        np.testing.assert_allclose(evaluation.votes_asked(point), expected, atol=1e-12)


def test_the_window_is_five_unless_said_otherwise():
    assert rules.esc(39) == rules.esc(39, 5)
    assert rules.esc(39) != rules.esc(39, 4)


def test_a_window_of_one_asks_one_voter_and_one_of_all_is_curtailment():
    assert rules.esc(9, 1) == rules.lead(9, 1)
    assert rules.esc(9, 9) == rules.esc(9, 10**30) == rules.curtailment(9)


@pytest.mark.parametrize("window", [0, -1, 1.5, True, "3", None, float("nan")])
def test_no_window_is_refused(window):
    with pytest.raises(InvalidInputError, match="window must be an integer of at least 1"):
        rules.esc(5, window)
