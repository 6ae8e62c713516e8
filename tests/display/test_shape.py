from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, rules, solve
from foregone.display import envelope_shape
from tests.strategies import looking_strategies


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


def at_looks(strategy: StoppingStrategy, looks: set[int]) -> StoppingStrategy:
    return StoppingStrategy.from_rows(
        strategy.n_voters,
        lambda asked: strategy.stop_probabilities(asked) if asked in looks else np.zeros(asked + 1),
    )


def test_answers_decide_what_is_a_stop_with_yes_and_what_one_with_no() -> None:
    # Two of three are asked. One yes is not enough by majority, but here it is.
    theta = np.zeros((4, 4))
    theta[2:] = 1
    majority = envelope_shape(StoppingStrategy.from_table(theta))
    assert (majority.stop_yes.tolist(), majority.stop_no.tolist()) == ([[2, 2]], [[2, 0]])
    eager = envelope_shape(StoppingStrategy.from_table(theta, yes_from=[1, 1, 1, 2]))
    assert (eager.stop_yes.tolist(), eager.stop_no.tolist()) == ([[2, 0]], [[2, -2]])
    always = envelope_shape(StoppingStrategy.from_table(theta, yes_from=[1, 1, 0, 2]))
    assert (always.stop_yes.tolist(), always.stop_no.tolist()) == ([[2, -2]], [])
    assert majority.inside == eager.inside == always.inside == []


def test_stops_above_the_others_that_answer_no_are_not_taken_for_yes() -> None:
    theta = np.zeros((4, 4))
    theta[2, 2] = theta[3] = 1
    shape = envelope_shape(StoppingStrategy.from_table(theta, yes_from=[1, 1, 3, 2]))
    assert shape.stop_yes.tolist() == [[3, 1]]
    assert shape.inside == [(2, 2, 1.0)]


def test_between_looks_there_is_no_line_but_every_look_is_kept() -> None:
    looks = set(range(10, 101, 10))
    shape = envelope_shape(at_looks(rules.lead(101, k=6), looks))
    # After 100 votes a lead of two decides the full vote.
    assert shape.stop_yes.tolist() == [[asked, 6] for asked in range(10, 91, 10)] + [[100, 2], [101, 1]]
    assert shape.stop_steps == [*sorted(looks), 101]
    assert shape.has_looks
    assert [len(run) for run in shape.runs("no")] == [1] * 9 + [2]  # from 100 to 101 nothing can pass
    asked, lead = shape.edge("yes")
    assert (lead[(asked >= 10) & (asked <= 90)] == 6).all()


@pytest.mark.parametrize(
    "strategy",
    [
        rules.lead(101, k=3),
        rules.lead(100, k=8),
        rules.curtailment(101),
        rules.e_process(101, 1e-3),
        rules.schwing(101, 1e-3),
        rules.ibep(1001, 1e-3),
        solve("minimean", 101, 1e-3).strategy,
        solve("minimax", 101, 1e-3).strategy,
        StoppingStrategy.from_rows(9, lambda asked: np.zeros(asked + 1)),
        StoppingStrategy.from_rows(9, lambda asked: np.ones(asked + 1)),
    ],
)
def test_a_strategy_that_always_looks_has_unbroken_lines(strategy: StoppingStrategy) -> None:
    shape = envelope_shape(strategy)
    assert not shape.has_looks
    for answer, stops in (("yes", shape.stop_yes), ("no", shape.stop_no)):
        assert [run.tolist() for run in shape.runs(answer)] == ([stops.tolist()] if len(stops) else [])


@given(st.integers(1, 7).flatmap(looking_strategies))
def test_stops_are_those_beyond_every_state_that_may_go_on(looks_and_strategy) -> None:
    looks, strategy = looks_and_strategy
    reached, frontier = {(0, 0)}, [(0, 0)]
    while frontier:
        asked, yes = frontier.pop()
        if strategy.stop_probability(asked, yes) < 1:
            following = {(asked + 1, yes), (asked + 1, yes + 1)} - reached
            reached |= following
            frontier.extend(following)
    shape = envelope_shape(strategy)
    may_stop = {state for state in reached if strategy.stop_probability(*state) > 0}
    assert shape.stop_steps == sorted({asked for asked, _ in may_stop})
    assert set(shape.stop_steps) <= looks
    for stops, answer, outward in ((shape.stop_yes, True, 1), (shape.stop_no, False, -1)):
        for asked, lead in stops.tolist():
            states = [yes for step, yes in reached if step == asked]
            beyond = [yes for yes in states if outward * (2 * yes - asked) >= outward * lead]
            assert all(strategy.stop_probability(asked, yes) == 1 for yes in beyond)
            assert all(strategy.answer(asked, yes) is answer for yes in beyond)
        assert np.concatenate([np.empty((0, 2), int), *shape.runs("yes" if answer else "no")]).tolist() == (
            stops.tolist()
        )
