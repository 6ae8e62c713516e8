"""Evaluation: exact, as every order of the votes says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from foregone import evaluate, rules
from foregone.plurality import CompositionDistribution, evaluate_plurality
from foregone.plurality import rules as plurality_rules
from tests.plurality import slow
from tests.plurality.strategies import plurality_strategies


@settings(max_examples=30)
@given(plurality_strategies())
def test_votes_and_disagreement_are_those_of_every_order(strategy):
    evaluation = evaluate_plurality(strategy)
    for place, row in enumerate(strategy.lattice.compositions().tolist()):
        votes, wrong = slow.votes_and_disagreement(
            row, lambda seen: strategy.stop_probability(slow.sorted_counts(seen))
        )
        assert evaluation.expected_votes[place] == pytest.approx(float(votes), rel=1e-12)
        assert evaluation.disagreement[place] == pytest.approx(float(wrong), rel=1e-12, abs=1e-300)


def test_with_two_answers_and_an_odd_number_of_voters_it_is_the_evaluation_of_yes_and_no():
    two, plain = evaluate_plurality(plurality_rules.lead(11, n_classes=2)), evaluate(rules.lead(11))
    for place, (most, _) in enumerate(two.strategy.lattice.compositions().tolist()):
        assert two.expected_votes[place] == pytest.approx(plain.expected_votes[most])
        assert two.disagreement[place] == pytest.approx(plain.disagreement[most])


def test_means_and_worst_are_over_compositions():
    evaluation = evaluate_plurality(plurality_rules.lead(3, 1))
    seen = CompositionDistribution.from_counts([[2, 1, 0], [0, 3, 0], [0, 1, 2], [1, 1, 1]])
    assert evaluation.mean(seen) == pytest.approx((1.0, 0.5 * 1 / 3))
    assert evaluation.worst() == pytest.approx((1.0, 1 / 3))
