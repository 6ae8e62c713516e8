"""Cost and risk in exact arithmetic, against every order of the votes and against the fast evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, evaluate
from foregone.solving.exact import arithmetic_named, cost_and_risk
from tests.strategies import answering_strategies
from tests.test_evaluation import by_enumeration


@given(st.integers(1, 5).flatmap(answering_strategies))
def test_rationals_are_exactly_those_of_every_order_whatever_is_answered(strategy):
    with arithmetic_named("rational") as numbers:
        costs, risks = cost_and_risk(strategy, numbers)
    for n_yes in range(strategy.n_voters + 1):
        cost, wrong, _ = by_enumeration(strategy, n_yes)
        assert costs[n_yes] == (cost, cost)
        assert risks[n_yes] == (wrong, wrong)


@pytest.mark.parametrize("arithmetic", ["rational", "ball"])
@pytest.mark.parametrize(("n_voters", "quota"), [(40, 21), (41, 21), (41, 3), (40, 40)])
def test_they_enclose_the_evaluation_of_many_voters_with_any_answers(arithmetic, n_voters, quota):
    rng = np.random.default_rng(n_voters)
    table = rng.random((n_voters + 1, n_voters + 1)) ** 8
    table[-1] = 1
    yes_from = [*(rng.integers(0, asked + 2) for asked in range(n_voters)), quota]
    strategy = StoppingStrategy.from_table(table, yes_from=yes_from)
    assert not strategy.answers_majority
    evaluation = evaluate(strategy)
    with arithmetic_named(arithmetic) as numbers:
        costs, risks = cost_and_risk(strategy, numbers)
    for given_, computed in ((costs, evaluation.expected_votes), (risks, evaluation.disagreement)):
        for (low, high), value in zip(given_, computed, strict=True):
            assert float(high - low) <= 1e-25
            assert value == pytest.approx(float(low), rel=1e-13)
