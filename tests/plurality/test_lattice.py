"""The lattice: every partition once, in order, with the right neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from foregone.errors import InvalidInputError
from foregone.plurality import lattice as lattice_module
from foregone.plurality import lattice_of, solve_plurality


def partitions(total: int, most_parts: int, largest: int) -> list[tuple[int, ...]]:
    if total == 0:
        return [()]
    if most_parts == 0:
        return []
    return [
        (first, *rest)
        for first in range(1, min(total, largest) + 1)
        for rest in partitions(total - first, most_parts - 1, first)
    ]


@pytest.mark.parametrize(("n_voters", "n_classes"), [(1, None), (2, 1), (7, None), (9, 3), (10, 4)])
def test_states_are_partitions_in_lexicographic_order_and_know_their_neighbours(n_voters, n_classes):
    lattice = lattice_of(n_voters, n_classes)
    most = n_voters if n_classes is None else n_classes
    states = [state for i in range(n_voters + 1) for state in sorted(partitions(i, most, i))]
    assert lattice.n_states == len(states)
    assert [lattice.number_of(state) for state in states] == list(range(len(states)))
    assert [tuple(part for part in row if part) for row in lattice.compositions().tolist()] == states[
        lattice.level[-2] :
    ]
    for number, state in enumerate(states):
        edges = range(lattice.edge_start[number], lattice.edge_start[number + 1])
        assert [(lattice.value[e], lattice.times[e]) for e in edges] == [
            (part, state.count(part)) for part in sorted(set(state), reverse=True)
        ]
        for e in edges:
            fewer = list(state)
            fewer[fewer.index(lattice.value[e])] -= 1
            assert lattice.child[e] == lattice.number_of(fewer)


def test_a_lattice_is_made_once_however_it_is_asked_for():
    assert lattice_of(7) is lattice_of(7, 7) is lattice_of(7.0, 9)


def test_the_sizes_are_those_of_the_theory():
    assert lattice_of(40).n_states == 215_308
    assert lattice_of(101, 3).n_states == 31_688


@pytest.mark.parametrize(
    ("n_voters", "n_classes", "message"),
    [
        (101, None, r"has 1,\d{3},\d{3},\d{3} states, .*set n_classes to the number of possible answers"),
        (
            101,
            12,
            r"among 12 different answers has [\d,]+ states, .*allow fewer answers, or use fewer voters",
        ),
        (10**6, None, "has more than 1,000,000,000,000 states"),
        (10**9, 5, "allow fewer answers, or use fewer voters"),
    ],
)
def test_what_is_too_large_is_refused_with_its_size_and_what_to_do(n_voters, n_classes, message):
    with pytest.raises(InvalidInputError, match=message):
        lattice_of(n_voters, n_classes)


@pytest.mark.parametrize("n_classes", [0, -1, 1.5, True, "3"])
def test_a_strange_number_of_answers_is_refused(n_classes):
    with pytest.raises(InvalidInputError, match="n_classes must be an integer of at least 1, or None"):
        lattice_of(5, n_classes)


@pytest.mark.parametrize("counts", [[1, 1, 1], [6], [2, -1]])
def test_counts_that_cannot_occur_are_refused(counts):
    with pytest.raises(InvalidInputError, match="cannot occur with 5 votes for at most 2"):
        lattice_of(5, 2).number_of(counts)


def test_pulling_back_gives_the_chance_of_each_state_and_of_a_leader_that_does_not_win():
    lattice = lattice_of(3)
    weights = np.array([0.0, 1.0, 0.0])  # two votes for one answer, one for another
    at = {state: lattice.number_of(state) for state in [(1,), (2,), (1, 1), (2, 1)]}
    chance, wrong = lattice.pull_back(weights), lattice.pull_back_wrong(weights)
    assert chance[at[1,]] == pytest.approx(1)
    assert chance[at[2,]] == pytest.approx(1 / 3)
    assert wrong[at[1,]] == pytest.approx(1 / 3)
    assert wrong[at[1, 1]] == pytest.approx(1 / 3)  # two thirds, of which half follow the wrong one
    assert wrong[at[2,]] == wrong[at[2, 1]] == 0


def test_votes_drawn_anew_follow_the_urn():
    lattice = lattice_of(2)
    # One vote of two stays; the other repeats it with weight 1, or is new with weight 3.
    assert lattice.redraw(np.array([0.0, 1.0]), 1, 3.0) == pytest.approx([0.75, 0.25])
    assert lattice.redraw(np.array([0.2, 0.8]), 0, 3.0) == pytest.approx([0.2, 0.8])
    assert lattice_of(2, 1).redraw(np.array([1.0]), 1, 3.0) == pytest.approx([1.0])
    # Three votes, one drawn anew: of (1, 1) stay either; nothing new if there are two answers at most.
    assert lattice_of(3, 2).redraw(np.array([1.0, 0.0]), 1, 1.0) == pytest.approx(
        [2 / 3 + 1 / 3 * 1 / 3, 1 / 3 * 2 / 3]
    )


def test_passes_cut_into_pieces_give_the_same(monkeypatch):
    def figures():
        lattice_module._kept.cache_clear()
        solution = solve_plurality([[6, 2, 1], [5, 4, 0], [9, 0, 0]], 0.02, n_voters=9)
        worst = solve_plurality(None, 0.02, n_voters=9, criterion="minimixed")
        return [
            (found.strategy.stop_probabilities().tolist(), found.lower_bound, found.disagreement)
            for found in (solution, worst)
        ]

    whole = figures()
    monkeypatch.setattr(lattice_module, "_STATES_A_PIECE", 10)
    assert figures() == whole
    assert len(lattice_of(9).pieces) > 5
    lattice_module._kept.cache_clear()
