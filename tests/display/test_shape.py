from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, rules
from foregone.display import envelope_shape


def test_curtailment_is_a_diamond() -> None:
    shape = envelope_shape(rules.curtailment(101))
    assert shape.stop_yes.tolist() == [[asked, 102 - asked] for asked in range(51, 102)]
    assert shape.stop_no.tolist() == [[asked, asked - 102] for asked in range(51, 102)]
    assert (shape.last_asked, shape.largest_lead, shape.inside) == (101, 51, [])


def test_a_strategy_that_asks_nobody_is_one_point() -> None:
    shape = envelope_shape(StoppingStrategy.from_table(np.ones((4, 4))))
    assert shape.stop_no.tolist() == [[0, 0]]
    assert (shape.last_asked, shape.largest_lead, len(shape.stop_yes)) == (0, 0, 0)


def test_stops_between_the_edges_and_states_of_chance_are_kept_apart() -> None:
    theta = np.zeros((5, 5))
    theta[2, 1], theta[3, 0], theta[4] = 1, 0.25, 1
    shape = envelope_shape(StoppingStrategy.from_table(theta))
    assert shape.inside == [(2, 0, 1.0), (3, -3, 0.25)]
    assert shape.randomised == [(3, -3, 0.25)]


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_an_edge_passes_through_every_stop_and_starts_at_no_votes(answer: str) -> None:
    shape = envelope_shape(rules.e_process(101, 1e-3))
    asked, lead = shape.edge(answer)
    stops = shape.stop_yes if answer == "yes" else shape.stop_no
    assert (asked[0], lead[0]) == (0, 0)
    assert set(map(tuple, stops.tolist())) <= set(zip(asked.tolist(), lead.tolist(), strict=True))


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.lists(st.sampled_from([0, 0, 0.5, 1]), min_size=(n + 1) ** 2, max_size=(n + 1) ** 2)
    )
)
def test_it_agrees_with_a_walk_through_all_orders(entries: list[float]) -> None:
    size = round(len(entries) ** 0.5)
    theta = np.array(entries).reshape(size, size)
    theta[-1] = 1
    reached, frontier = {(0, 0)}, [(0, 0)]
    while frontier:
        asked, yes = frontier.pop()
        if theta[asked, yes] < 1:
            for following in ((asked + 1, yes), (asked + 1, yes + 1)):
                if following not in reached:
                    reached.add(following)
                    frontier.append(following)
    shape = envelope_shape(StoppingStrategy.from_table(theta))
    leads = {asked: [2 * yes - asked for step, yes in reached if step == asked] for asked, _ in reached}
    assert shape.last_asked == max(leads)
    assert shape.highest.tolist() == [max(leads[asked]) for asked in sorted(leads)]
    assert shape.lowest.tolist() == [min(leads[asked]) for asked in sorted(leads)]
    chance = sorted((asked, 2 * yes - asked) for asked, yes in reached if 0 < theta[asked, yes] < 1)
    assert [state[:2] for state in shape.randomised] == chance
