from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import VoteDistribution, evaluate, rules, solve
from foregone.display import SavingsDisplay
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")


def bars(display: SavingsDisplay) -> tuple[np.ndarray, np.ndarray]:
    data = display.ax_.patches[-1].get_data()
    return data.edges, data.values


def test_expected_savings_are_those_of_evaluate() -> None:
    votes = VoteDistribution.from_counts([50, 20, 5, 5, 10, 10])
    strategy = solve("minimean", votes, 0.01).strategy
    display = SavingsDisplay.from_strategy(strategy, votes)
    assert display.mean == pytest.approx(evaluate(strategy).mean(votes).expected_votes)
    edges, heights = bars(display)
    expected = evaluate(strategy).votes_asked(votes)
    np.testing.assert_allclose(heights, expected[int(edges[0] + 0.5) :], atol=1e-12)
    assert [display.mean] * 2 in [list(line.get_xdata()) for line in display.ax_.lines]


def test_without_votes_they_are_flat() -> None:
    strategy = rules.curtailment(7)
    display = SavingsDisplay.from_strategy(strategy)
    assert display.mean == pytest.approx(evaluate(strategy).mean(VoteDistribution.flat(7)).expected_votes)
    assert display.speed_up == pytest.approx(7 / display.mean)


@pytest.mark.slow
@settings(max_examples=25)  # each draws a figure
@given(st.lists(st.integers(0, 150), min_size=1), st.none() | st.integers(1, 200))
def test_bars_hold_every_row_once(asked: list[int], bin_width: int | None) -> None:
    display = SavingsDisplay.from_asked(asked, 150, bin_width=bin_width)
    edges, heights = bars(display)
    counted = [sum(low < number < high for number in asked) for low, high in pairwise(edges)]
    np.testing.assert_allclose(heights, np.array(counted) / len(asked), atol=1e-12)
    assert sum(counted) == len(asked)
    assert display.mean == pytest.approx(np.mean(asked))
    assert bin_width is not None or len(heights) <= 40


def test_several_share_axes_and_differ_in_more_than_colour() -> None:
    first = SavingsDisplay.from_strategy(rules.curtailment(21), name="curtailment")
    second = SavingsDisplay.from_strategy(rules.lead(21, k=3), ax=first.ax_, name="lead of 3")
    assert second.ax_ is first.ax_
    one, other = first.ax_.patches
    assert one.get_hatch() != other.get_hatch()
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == [
        f"curtailment: mean {first.mean:.1f} of 21",
        f"lead of 3: mean {second.mean:.1f} of 21",
    ]
    assert first.ax_.get_ylim()[1] > max(one.get_data().values.max(), other.get_data().values.max())


@pytest.mark.parametrize(("asked", "word"), [([], "empty"), ([12], "from 0 to"), ([1.5], "integers")])
def test_bad_numbers_are_errors(asked: list[float], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        SavingsDisplay.from_asked(asked, 11)


def test_bars_of_no_width_are_an_error() -> None:
    with pytest.raises(InvalidInputError, match="bin_width"):
        SavingsDisplay.from_asked([1], 11, bin_width=0)
