"""The certificate: believes nothing, and finds out what is not so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from foregone.errors import InvalidInputError
from foregone.plurality import PluralityStrategy, certify_plurality, lattice_of, solve_plurality
from foregone.plurality.lattice_exact import cost_and_risk
from tests.plurality import slow
from tests.plurality.strategies import plurality_strategies

PAST = [[7, 0, 0]] * 30 + [[4, 2, 1]] * 5 + [[3, 3, 1]] * 5


@settings(max_examples=20)
@given(plurality_strategies())
def test_in_whole_numbers_cost_and_risk_are_those_of_every_order_and_floats_enclose_them(strategy):
    costs, risks = cost_and_risk(strategy, "rational")
    rounded_costs, rounded_risks = cost_and_risk(strategy, "float")
    for place, row in enumerate(strategy.lattice.compositions().tolist()):
        votes, wrong = slow.votes_and_disagreement(
            row, lambda seen: strategy.stop_probability(slow.sorted_counts(seen))
        )
        assert costs[place] == (votes, votes)
        assert risks[place] == (wrong, wrong)
        assert rounded_costs[place][0] <= votes <= rounded_costs[place][1]
        assert rounded_risks[place][0] <= wrong <= rounded_risks[place][1]


@pytest.mark.parametrize("criterion", ["minimean", "minimixed", "minimax"])
def test_floats_prove_nearly_what_rationals_do(criterion):
    solution = solve_plurality(PAST, 0.05, n_voters=7, confidence=None, criterion=criterion)
    exact = certify_plurality(solution)
    rounded = certify_plurality(solution, arithmetic="float")
    assert exact.holds
    assert exact.arithmetic == "rational"
    assert rounded.lower_bound <= exact.lower_bound <= rounded.lower_bound * (1 + 1e-11)
    assert rounded.expected_votes[0] <= exact.expected_votes[0] <= exact.expected_votes[1]
    assert exact.expected_votes[1] <= rounded.expected_votes[1]
    assert "floating point with proven error bounds" in str(rounded)


def test_a_strategy_that_stops_too_early_is_found_out():
    solution = solve_plurality(PAST, 0.01, n_voters=7)
    bold = np.zeros(lattice_of(7).n_states)
    bold[1], bold[lattice_of(7).level[-2] :] = 1, 1
    wrong = replace(solution, strategy=PluralityStrategy.from_probabilities(lattice_of(7), bold))
    certificate = certify_plurality(wrong)
    assert not certificate.risk_is_proven
    assert "FALSE   at 0.95 confidence by betting on 32 items, largest mean disagreement" in str(certificate)


def test_a_claimed_bound_is_not_believed():
    solution = solve_plurality(PAST, 0.05, n_voters=7)
    assert certify_plurality(replace(solution, lower_bound=5.0)).lower_bound < solution.expected_votes
    dear = replace(solution, evidence=replace(solution.evidence, risk_weights=np.full(15, 1e9)))
    assert certify_plurality(dear).lower_bound == 1


def test_what_it_cannot_do_is_said():
    solution = solve_plurality(PAST, 0.05, n_voters=7)
    with pytest.raises(InvalidInputError, match="one of auto, rational, float"):
        certify_plurality(solution, arithmetic="ball")
    with pytest.raises(InvalidInputError, match="max_gap"):
        certify_plurality(solution, max_gap=-1)
