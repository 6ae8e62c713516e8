from __future__ import annotations

import pytest

from foregone import solve
from paper import timing


@pytest.mark.slow
def test_a_method_that_finishes_gives_its_time_and_its_optimum() -> None:
    found = timing.measure_timing("linear_program", 7)
    assert found.finished
    assert 0 < found.seconds < timing.TIME_LIMIT
    assert found.expected_votes == pytest.approx(solve("minimax", 7, timing.MAX_DISAGREEMENT).expected_votes)


@pytest.mark.slow
def test_a_method_that_takes_too_long_is_ended() -> None:
    found = timing.measure_timing("quadratic_program", 12, time_limit=0.05)
    assert (found.finished, found.seconds, found.expected_votes) == (False, 0.05, None)


@pytest.mark.slow
def test_a_method_that_fails_counts_as_not_finished() -> None:
    found = timing.measure_timing("quadratic_program", 13)
    assert not found.finished
    assert found.seconds < timing.TIME_LIMIT


def test_sizes_rise_and_ours_go_as_far_as_the_papers() -> None:
    for sizes in timing.SIZES.values():
        assert list(sizes) == sorted(set(sizes))
    assert set(timing.SIZES["linear_program"]) <= set(timing.SIZES["dual"])
    assert max(timing.SIZES["linear_program"]) >= 200
