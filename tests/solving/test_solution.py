"""Solutions and their files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import Solution, StoppingStrategy, VoteDistribution, rules, solve
from foregone.errors import FileFormatError
from foregone.solving import CRITERIA
from tests.strategies import vote_distributions


@given(st.sampled_from(CRITERIA), st.integers(1, 12).flatmap(vote_distributions), st.floats(0, 0.3))
@settings(max_examples=30)
def test_a_solution_comes_back_from_its_file_as_it_was(tmp_path_factory, criterion, votes, limit):
    path = tmp_path_factory.mktemp("solution") / "s.json"
    solution = solve(criterion, votes, limit)
    solution.save(path)
    back = Solution.load(path)
    for name in ("strategy", "criterion", "max_disagreement", "votes", "expected_votes", "disagreement"):
        assert getattr(back, name) == getattr(solution, name)
    assert back.lower_bound == solution.lower_bound
    assert back.gap == solution.gap
    assert back.multipliers == solution.multipliers
    assert StoppingStrategy.load(path) == solution.strategy


def test_a_strategy_alone_is_no_solution(tmp_path):
    path = tmp_path / "s.json"
    solve("minimean", 5, 0.1).strategy.save(path)
    with pytest.raises(FileFormatError, match='"solution" is missing'):
        Solution.load(path)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.json"
    solve("minimixed", VoteDistribution.from_counts([1, 2, 3, 4]), 0.1).save(path)
    return path


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("criterion", "best"),
        ("max_disagreement", 2),
        ("votes", [0.5, 0.5]),
        ("votes", [0.5, 0.6, 0.0, 0.0]),
        ("votes", [-0.5, 1.5, 0.0, 0.0]),
        ("votes", "flattish"),
        ("n_observations", 0),
        ("lower_bound", "low"),
        ("method", 7),
        ("multipliers", []),
    ],
)
def test_a_wrong_field_is_named(file, field, value):
    content = json.loads(file.read_text())
    content["solution"][field] = value
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=field):
        Solution.load(file)


@pytest.mark.parametrize(
    "pair", ["[1, 1e400]", f"[1, {10**400}]", "[9, 1.0]", "[1, -1]", "[true, 1]", "[1]", '["1", 1]']
)
def test_a_wrong_price_is_refused(file, pair):
    content = json.loads(file.read_text())
    content["solution"]["multipliers"]["disagreement_at"] = "PAIR"
    file.write_text(json.dumps(content).replace('"PAIR"', f"[{pair}]"))
    with pytest.raises(FileFormatError, match="disagreement_at"):
        Solution.load(file)


def test_a_changed_digit_does_not_pass(file):
    content = json.loads(file.read_text())
    content["solution"]["max_disagreement"] = 0.2
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="checksum"):
        Solution.load(file)


def test_cost_and_risk_are_computed_and_plain_numbers(file):
    solution = Solution.load(file)
    for name in ("expected_votes", "disagreement", "lower_bound", "gap"):
        assert type(getattr(solution, name)) is float


def test_a_solution_carries_the_evaluation_of_its_own_strategy():
    solution = solve("minimean", 11, 0.01)
    assert solution.evaluation is solution.evaluation
    assert solution.evaluation.mean(solution.votes).expected_votes == solution.expected_votes
    other = replace(solution, strategy=rules.curtailment(11))
    assert other.evaluation.strategy is other.strategy
    assert other.evaluation.worst().disagreement == 0
