"""RunningEvidence against exact arithmetic: its mean is 1, and how often it is ever large is bounded."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.monitoring.evidence import LARGEST_LOG, SCALE, Capital, RunningEvidence


def reserve(n_rows):
    return 1 / (1 + math.log2(1 + n_rows / SCALE))


def slow_value(payoffs, weights, blocks):
    """All bets, each started after every block with what the reserve gives out then."""
    total = 0.0
    for pays, weight in zip(payoffs, weights, strict=True):
        ends = np.cumsum([0, *map(len, blocks)])
        worth = reserve(ends[-1])
        for start in range(len(blocks)):
            started = reserve(ends[start]) - reserve(ends[start + 1])
            worth += started * math.prod(pays[cell] for block in blocks[start:] for cell in block)
        total += weight * worth
    return total


def evidence_after(payoffs, weights, blocks):
    evidence = RunningEvidence.start(np.log(payoffs), np.array(weights))
    for block in blocks:
        evidence = evidence.after(np.bincount(block, minlength=len(payoffs[0])), len(block))
    return evidence


PAYOFFS = [[1.8, 0.9, 0.4], [0.5, 1.0, 2.0]]
WEIGHTS = [0.3, 0.7]


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), max_size=8))
def test_it_is_what_bets_are_worth_that_start_one_after_another(blocks):
    found = evidence_after(PAYOFFS, WEIGHTS, blocks).value
    assert found == pytest.approx(slow_value(PAYOFFS, WEIGHTS, blocks), rel=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1), (2, 3, 1), (4, 3)])
def test_its_mean_is_one_if_nothing_has_changed(sizes):
    """Over all sequences, with payoffs whose mean factor is exactly 1."""
    chances = np.array([0.2, 0.5, 0.3])
    payoffs = [[1.8, 1.0, 1 - 0.2 * 0.8 / 0.3], [0.4, 1.0, 1 + 0.2 * 0.6 / 0.3]]
    assert np.allclose(np.array(payoffs) @ chances, 1)
    mean = 0.0
    for row in itertools.product(range(3), repeat=sum(sizes)):
        ends = np.cumsum([0, *sizes])
        blocks = [list(row[a:b]) for a, b in itertools.pairwise(ends)]
        mean += np.prod(chances[list(row)]) * evidence_after(payoffs, WEIGHTS, blocks).value
    assert mean == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("chance", [Fraction(1, 4), Fraction(1, 5), Fraction(1, 20)])
@pytest.mark.parametrize("factor", [2, 5])
def test_the_probability_that_it_is_ever_large_is_bounded(chance, factor):
    """Exactly: sequences are followed as counts and as what the evidence is worth, until it reaches a factor.

    The bet is against every probability up to 1 / 4.
    """
    bound, alternative = 0.25, 0.6
    start = RunningEvidence.start(
        np.log([[alternative / bound, (1 - alternative) / (1 - bound)]]), np.ones(1)
    )
    reached, going = Fraction(0), {(): (Fraction(1), start)}
    for _ in range(9):
        after = {}
        for row, (probability, evidence) in going.items():
            for cell, likely in ((0, chance), (1, 1 - chance)):
                moved = evidence.after(np.bincount([cell], minlength=2), 1)
                if moved.value >= factor:
                    reached += probability * likely
                else:
                    after[*row, cell] = probability * likely, moved
        going = after
    assert 0 < reached <= Fraction(1, factor)


def test_a_change_that_comes_late_is_found_soon():
    pays = np.log([[2.0, 2 / 3]])  # against a probability of 1 / 4
    early = RunningEvidence.start(pays, np.ones(1))
    before = early.after(np.array([250_000, 750_000]), 1_000_000)
    assert before.value < 1
    assert before.after(np.array([500, 500]), 1000).value > 1000
    whole = RunningEvidence.start(pays, np.ones(1)).after(np.array([250_500, 750_500]), 1_001_000)
    assert whole.value < 1  # all rows together do not show it


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=4),
)
def test_bets_on_two_streams_are_worth_the_product(first, second):
    one, two = (evidence_after(PAYOFFS, WEIGHTS, blocks).capital for blocks in (first, second))
    both = one + two
    assert both.worth == pytest.approx(one.worth + two.worth, abs=1e-9)
    assert both.reserve == pytest.approx(one.reserve + two.reserve)
    assert both.n_rows == one.n_rows + two.n_rows
    swapped = two + one
    assert swapped.running == pytest.approx(both.running, abs=1e-9)


def test_two_streams_may_go_on_together():
    """What has been added up bets on: the mean stays 1."""
    chances, payoffs = np.array([0.25, 0.75]), [[2.0, 2 / 3]]
    mean = 0.0
    for row in itertools.product(range(2), repeat=5):
        first, second = ([[row[0]], [row[1]]], [[row[2]]])
        both = sum(
            (evidence_after(payoffs, [1.0], blocks).capital for blocks in (second,)),
            start=evidence_after(payoffs, [1.0], first).capital,
        )
        after = both.after(np.log(payoffs) @ np.bincount(row[3:], minlength=2), 2)
        mean += np.prod(chances[list(row)]) * np.exp(after.worth[0])
    assert mean == pytest.approx(1, abs=1e-12)


def test_it_never_overflows():
    evidence = RunningEvidence.start(np.array([[LARGEST_LOG, -LARGEST_LOG]]), np.ones(1))
    up = evidence.after(np.array([1000, 0]), 1000)
    assert math.isfinite(up.value)
    assert up.value > 1e300
    down = evidence.after(np.array([0, 1000]), 1000)
    assert 0 < down.value < 1
    assert math.isfinite((up.capital + up.capital).worth[0])


def test_no_rows_change_nothing():
    start = Capital.start(3)
    assert start.after(np.ones(3), 0) is start


def test_no_bets_are_no_evidence():
    assert RunningEvidence.start(np.empty((0, 0)), np.empty(0)).value == 1
