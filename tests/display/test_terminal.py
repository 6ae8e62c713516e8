from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, rules, solve
from foregone.display import envelope_picture


@pytest.mark.parametrize("n_voters", [1, 2, 3, 10, 101, 1001, 10_001])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_picture_keeps_to_its_size_whatever_the_number_of_voters(n_voters: int, width: int) -> None:
    lines = str(envelope_picture(rules.lead(n_voters, k=5), width=width, height=15)).splitlines()
    assert len(lines) == 1 + 15 + 3
    assert max(len(line) for line in lines) <= width
    assert lines[-2].split()[0] == "0"
    assert lines[-2].split()[-1] == str(n_voters)


def test_ascii_means_ascii() -> None:
    assert str(envelope_picture(solve("minimixed", 21, 0.01).strategy, ascii_only=True)).isascii()


def test_without_colour_the_regions_can_still_be_told_apart() -> None:
    lines = str(envelope_picture(rules.curtailment(101))).splitlines()
    yes, go_on, no = (
        next(place for place, line in enumerate(lines) if words in line)
        for words in ("answer is YES", "continue", "answer is NO")
    )
    assert yes < go_on < no
    assert "▀" in lines[yes + 3]
    assert "░" in lines[go_on]


def test_a_state_where_chance_decides_is_marked() -> None:
    strategy = StoppingStrategy.from_table([[0, 1, 1], [0.25, 0, 1], [1, 1, 1]])
    assert str(envelope_picture(strategy)).count("◆") == 1
    assert str(envelope_picture(strategy, ascii_only=True)).count("?") == 1


def test_between_looks_the_edge_is_open() -> None:
    every_vote = rules.lead(101, k=9)
    strategy = StoppingStrategy.from_rows(
        101, lambda asked: every_vote.stop_probabilities(asked) if asked % 20 == 0 else np.zeros(asked + 1)
    )
    row = max(
        str(envelope_picture(strategy)).splitlines(), key=lambda line: line.count("▄") + line.count("▀")
    )
    assert row.count("▄") + row.count("▀") <= 8
    assert "░" in row


def test_pictures_on_a_common_scale_can_be_compared() -> None:
    narrow = rules.lead(101, k=3)
    own = str(envelope_picture(narrow)).count("░")
    common = str(envelope_picture(narrow, largest_lead=51)).count("░")
    assert common < own


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_any_table_can_be_drawn(n_voters: int, seed: int) -> None:
    theta = np.random.default_rng(seed).choice([0.0, 0.5, 1.0], size=(n_voters + 1, n_voters + 1))
    theta[-1] = 1
    picture = str(envelope_picture(StoppingStrategy.from_table(theta)))
    assert max(len(line) for line in picture.splitlines()) <= 80
