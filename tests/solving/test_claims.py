"""What a solution claims about itself is proven, or is not claimed: limits next to zero included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foregone import VoteDistribution, certify, evaluate, rules, solve, solve_plurality
from foregone.plurality import CompositionDistribution, certify_plurality, evaluate_plurality
from foregone.plurality import rules as plurality_rules
from foregone.solving import CRITERIA
from tests.solving.test_guarantees_against_lp import Asked, asked

TINY = [0.0, 5e-324, 1e-310, 1e-300, 1e-290, 1e-289, 1e-200, 1e-30, 1e-15, 1e-13, 1e-12]
limits = st.sampled_from([*TINY, 1e-3, 0.3, 1.0])
FLAT = VoteDistribution.flat


@given(asked(12), st.one_of(limits, st.fixed_dictionaries({"yes": limits, "no": limits})))
@settings(max_examples=150)
@example(Asked("minimean", FLAT(7), 0, {}), {"yes": 1e-300, "no": 0.3})
@example(Asked("minimax", FLAT(3), 0, {}), {"yes": 1e-20, "no": 0.3})
@example(Asked("minimax", FLAT(1), 0, {}), {"yes": 0.3, "no": 1e-15})
def test_a_claimed_gap_is_confirmed_in_exact_arithmetic(problem, limit):
    solution = problem._replace(max_disagreement=limit).solve()
    certificate = certify(solution)
    assert certificate.risk_is_proven
    assert certificate.gap <= solution.gap + 1e-9


@given(asked(8), st.sampled_from([limit for limit in TINY if limit <= 1e-30]))
@settings(max_examples=50)
def test_limits_next_to_zero_cost_what_the_linear_program_says_for_zero(problem, limit):
    tiny = problem._replace(max_disagreement={"yes": limit, "no": 0.05}).solve()
    reference = problem._replace(max_disagreement={"yes": 0.0, "no": 0.05}).solve("linear_program")
    assert tiny.expected_votes == pytest.approx(reference.expected_votes, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("n_voters", [1, 2, 399, 400, 500, 2001])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_with_nothing_allowed_any_number_of_voters_is_asked_until_decided(criterion, n_voters):
    solution = solve(criterion, n_voters, 0)
    decided = evaluate(rules.curtailment(n_voters))
    figures = decided.worst() if criterion == "minimax" else decided.mean(FLAT(n_voters))
    assert solution.expected_votes == pytest.approx(figures.expected_votes, rel=1e-12)
    assert solution.disagreement == 0
    assert solution.gap < 1e-12
    if n_voters <= 500:
        assert certify(solution).holds


@pytest.mark.parametrize(
    "options",
    [{}, {"confidence": 0.9}, {"looks": 10}, {"answer": "likeliest"}, {"confidence": 0.9, "looks": 7}],
)
@pytest.mark.parametrize("limit", [0.0, 5e-324, {"yes": 0.0, "no": 1e-3}, {"yes": 1e-300, "no": 1e-3}])
def test_many_voters_and_a_limit_next_to_zero_are_certified(limit, options):
    random = np.random.default_rng(0)
    votes = VoteDistribution.from_counts(random.integers(0, 3, 451) * (random.random(451) < 0.3))
    assert certify(solve("minimean", votes, limit, **options)).holds


def test_a_rare_class_with_a_tiny_limit_is_no_division_by_zero():
    weights = np.full(501, 1e-200)
    weights[:251] = 1.0
    solution = solve("minimean", VoteDistribution.from_counts(weights), {"yes": 1e-200, "no": 0.1})
    assert solution.disagreement["yes"] <= 1e-200


def test_one_answer_alone_is_decided_by_the_first_vote():
    solution = solve_plurality([[5]], 0, n_voters=5, n_classes=1, criterion="minimax")
    assert (solution.expected_votes, solution.gap) == (1, 0)
    assert evaluate_plurality(plurality_rules.curtailment(5, 1)).worst().expected_votes == 1


@st.composite
def plurality_problems(draw: st.DrawFn) -> dict[str, object]:
    n_voters = draw(st.integers(1, 7))
    n_classes = draw(st.sampled_from([None, 1, 2, 3]))
    answers = st.integers(0, (n_classes or n_voters) - 1)
    rows = draw(st.lists(st.lists(answers, min_size=n_voters, max_size=n_voters), min_size=1, max_size=6))
    return {
        "compositions_or_distribution": CompositionDistribution.from_answers(rows),
        "max_disagreement": draw(limits),
        "n_voters": n_voters,
        "n_classes": n_classes,
        "confidence": draw(st.sampled_from([None, 0.9])),
        "criterion": draw(st.sampled_from(CRITERIA)),
    }


@given(plurality_problems())
@settings(max_examples=100, deadline=None)
def test_a_gap_claimed_for_many_answers_is_confirmed_in_exact_arithmetic(problem):
    solution = solve_plurality(**problem)
    certificate = certify_plurality(solution)
    assert certificate.risk_is_proven
    assert certificate.gap <= solution.gap + 1e-9
    assert solution.confidence is not None or solution.gap <= 1e-8
