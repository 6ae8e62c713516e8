from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from foregone import StoppingStrategy, VoteDistribution, evaluate, rules, solve
from foregone.display import StateGraphDisplay, state_flow
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("n_yes", range(5))
def test_state_probabilities_are_those_of_all_orders(n_yes: int) -> None:
    strategy = rules.curtailment(4)
    seen: dict[tuple[int, int], Fraction] = {}
    for order in itertools.permutations([1] * n_yes + [0] * (4 - n_yes)):
        for asked in range(5):
            state = asked, sum(order[:asked])
            seen[state] = seen.get(state, Fraction(0)) + Fraction(1, 24)
            if strategy.stop_probability(*state) == 1:
                break
    flow = state_flow(strategy, n_yes)
    assert {state: pytest.approx(float(p)) for state, p in seen.items()} == flow.states
    for state, probability in flow.states.items():
        arriving = sum(p for (_, end), p in flow.moves.items() if end == state)
        assert state == (0, 0) or arriving == pytest.approx(probability)


def test_over_a_distribution_the_stops_are_those_of_evaluate() -> None:
    votes = VoteDistribution.from_counts([5, 1, 0, 2, 0, 3])
    strategy = solve("minimean", votes, 0.05).strategy
    flow = state_flow(strategy, votes)
    asked = np.zeros(6)
    for state, probability in flow.states.items():
        asked[state[0]] += probability * flow.stops[state]
    np.testing.assert_allclose(asked, evaluate(strategy).votes_asked(votes), atol=1e-12)


def test_every_state_that_can_be_reached_bears_its_probability() -> None:
    ax = StateGraphDisplay.from_strategy(rules.curtailment(3), votes=1).ax_
    written = {text.get_position(): text.get_text() for text in ax.texts}
    third, rest = "1/3", "2/3"
    assert written == {(0, 0): "1", (1, 0): rest, (1, 1): third, (2, 0): third, (2, 1): rest, (3, 1): rest}


def test_stops_have_a_second_ring_and_chance_a_dashed_one() -> None:
    from matplotlib.patches import Circle

    strategy = StoppingStrategy.from_table([[0, 1, 1], [0.25, 0, 1], [1, 1, 1]])
    ax = StateGraphDisplay.from_strategy(strategy).ax_
    circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
    rings = sorted(circle.center for circle in circles if not circle.fill)
    assert rings == [(2, 0), (2, 1), (2, 2)]
    assert [circle.center for circle in circles if circle.get_linestyle() not in ("-", "solid")] == [(1, 0)]


@pytest.mark.parametrize("n_voters", [1, 2, 12])
def test_numbers_fit_into_their_circles(n_voters: int) -> None:
    display = StateGraphDisplay.from_strategy(solve("minimean", n_voters, 0.01).strategy)
    display.figure_.draw_without_rendering()
    ax = display.ax_
    left, right = ax.transData.transform([[0, 0], [2 * 0.23, 0]])[:, 0]
    assert max(text.get_window_extent().width for text in ax.texts) < right - left


def test_many_voters_are_an_error_that_says_what_to_draw_instead() -> None:
    with pytest.raises(InvalidInputError, match=r"at most 12 voters, got 101: use EnvelopeDisplay"):
        StateGraphDisplay.from_strategy(rules.curtailment(101))


@pytest.mark.parametrize("votes", [4, -1, VoteDistribution.flat(4)])
def test_votes_that_do_not_fit_are_errors(votes: VoteDistribution | int) -> None:
    with pytest.raises(InvalidInputError):
        StateGraphDisplay.from_strategy(rules.curtailment(3), votes)
