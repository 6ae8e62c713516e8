from __future__ import annotations

import pytest

from foregone import StoppingStrategy, solve
from foregone.solving import CRITERIA
from paper import structure
from paper.results import RATES


def test_a_strategy_is_described_as_its_table_says() -> None:
    theta = [[0, 1, 1, 1], [0.5, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]]
    shape = structure.describe(StoppingStrategy.from_table(theta), "minimean", 0.1)
    assert (shape.criterion, shape.n_voters, shape.max_disagreement) == ("minimean", 3, 0.1)
    assert (shape.first_stop, shape.n_randomised, shape.randomised_asked) == (1, 1, (1,))
    assert shape.randomised_at_first_stop
    assert shape.has_thresholds
    assert not shape.is_symmetric


def test_states_out_of_reach_do_not_count() -> None:
    theta = [[0] * 4, [1, 0, 1, 1], [0.5, 0.5, 0, 1], [1, 1, 1, 1]]  # (2, 0) is only reached from (1, 0)
    shape = structure.describe(StoppingStrategy.from_table(theta))
    assert shape.randomised_asked == (2,)


def test_a_stop_between_states_that_go_on_breaks_the_thresholds() -> None:
    theta = [[0] * 4, [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]]
    shape = structure.describe(StoppingStrategy.from_table(theta))
    assert not shape.has_thresholds
    assert shape.is_symmetric
    assert shape.first_stop == 2


@pytest.mark.parametrize("n_voters", [11, 12, 31, 61])
def test_every_optimal_strategy_has_thresholds_and_few_states_left_to_chance(n_voters: int) -> None:
    shapes = structure.structures_of(n_voters)
    assert [(shape.criterion, shape.max_disagreement) for shape in shapes] == [
        (criterion, rate) for criterion in CRITERIA for rate in RATES
    ]
    for shape in shapes:
        assert shape.has_thresholds
        # As many as there are limits: one on the mean, two on every input, and one on the worst cost.
        assert shape.n_randomised <= {"minimean": 1, "minimixed": 2, "minimax": 3}[shape.criterion]
        if shape.max_disagreement == 0:
            assert (shape.first_stop, shape.n_randomised) == (n_voters // 2 + n_voters % 2, 0)


def test_where_chance_decides_later_than_at_the_first_stop_the_linear_program_says_so_too() -> None:
    # The paper reports chance at the first stop only; here is an optimum without it, found by both methods.
    ours = solve("minimean", 51, 1e-3)
    reference = solve("minimean", 51, 1e-3, method="linear_program")
    shape = structure.describe(ours.strategy)
    assert not shape.randomised_at_first_stop
    assert shape.randomised_asked == (22,)
    states = [state for state in reference.strategy.randomised if 1e-6 < state[2] < 1 - 1e-6]
    assert [asked for asked, _, _ in states] == [22]
    assert ours.expected_votes == pytest.approx(reference.expected_votes, rel=1e-8)
