"""Curtailment of scores: never wrong, to the last bit, and never a step later than it could be."""

from __future__ import annotations

import itertools
import math
import struct
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foregone.errors import InvalidInputError
from foregone.scores.curtailing import largest_before
from foregone.scores.rules import curtailment

LARGEST = sys.float_info.max
numbers = st.floats(allow_nan=False, allow_infinity=False)
# Of any size, but close to each other: where rounding decides.
near = st.integers(-1074, 1000).flatmap(
    lambda power: st.lists(
        st.integers(-40, 40).map(lambda count: math.ldexp(count, power)), min_size=2, max_size=2
    )
)


def from_place(place: int) -> float:
    """Return the float at a place in the order of all of them; 0 stands at 0."""
    number: float = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return math.copysign(number, place) if place else 0.0


def slowly(total: float, added: float) -> float:
    """Return what `largest_before` does by halving the line of all floats."""
    last = struct.unpack("<q", struct.pack("<d", LARGEST))[0]
    low, high = -last - 1, last + 1  # the infinities
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if from_place(middle) + added <= total else (low, middle)
    return -math.inf if low == -last - 1 else from_place(low)


@settings(max_examples=500)
@given(st.one_of(st.tuples(numbers, numbers), near.map(tuple), st.tuples(numbers, st.just(1.0))))
def test_the_last_number_to_which_something_can_be_added_is_found_exactly(pair):
    total, added = pair
    assert largest_before(total, added) == slowly(total, added)


@pytest.mark.parametrize("total", [0.0, -5e-324, 1.0, -1.0, 2.0**-1074, LARGEST, -LARGEST, -(2.0**969), 3.5])
@pytest.mark.parametrize("added", [0.0, 5e-324, 1.0, -1.0, 1e-17, 2.0**53, LARGEST, -LARGEST, 0.1])
def test_corners_of_rounding(total, added):
    assert largest_before(total, added) == slowly(total, added)


voters = st.integers(1, 5).flatmap(
    lambda n: st.lists(
        st.one_of(
            st.tuples(st.integers(-3, 3), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))),
            st.tuples(numbers, numbers).map(sorted),
            st.tuples(st.sampled_from([1.0, 1e16, 0.1, 1e-17]), st.integers(-2, 2)).map(
                lambda pair: sorted([pair[0] * pair[1], pair[0]])
            ),
        ),
        min_size=n,
        max_size=n,
    )
)


@given(voters, st.one_of(st.integers(-5, 5).map(float), st.floats(-1e17, 1e17)))
def test_it_stops_exactly_where_no_corner_of_the_bounds_says_otherwise(bounds, start):
    """By brute force: all that is left is tried at both ends, added up as in use."""
    low, high = np.array(bounds, float).T
    assume(sum(map(abs, [start, *low.tolist(), *high.tolist()])) < math.inf)
    strategy, n_voters = curtailment([low, high], start=start), len(low)
    corners = list(itertools.product(*zip(low.tolist(), high.tolist(), strict=True)))
    for corner in corners:
        running, said = start, None
        for asked in range(1, n_voters + 1):
            running += corner[asked - 1]
            ends = set()
            for rest in itertools.product(*zip(low[asked:].tolist(), high[asked:].tolist(), strict=True)):
                total = running
                for score in rest:
                    total += score
                ends.add(total > 0)
            said = strategy.decide(asked, running)
            assert said == (ends.pop() if len(ends) == 1 else None)
        assert said == (running > 0)


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_it_agrees_with_the_full_sum_on_scores_of_all_sizes(seed, n_voters):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=n_voters) * 10.0 ** rng.integers(-18, 18, n_voters)
    high = low + np.abs(rng.normal(size=n_voters)) * 10.0 ** rng.integers(-18, 18, n_voters)
    order, start = rng.permutation(n_voters), float(rng.choice([0.0, -low.sum(), 1.0]))
    strategy = curtailment([low, high], order=order, start=start)
    share = rng.choice([0.0, 1.0, 0.5, rng.random()], size=(50, n_voters))
    scores = np.clip(low + share * (high - low), low, high)
    total = np.full(50, start)
    for voter in order:
        total += scores[:, voter]
    answers, asked = strategy.run(scores)
    np.testing.assert_array_equal(answers, total > 0)
    assert (asked >= 1).all()


def test_votes_of_equal_weight_are_curtailed_at_the_majority():
    strategy = curtailment([[-1.0] * 11, [1.0] * 11])
    assert strategy.run([[1.0] * 11, [-1.0] * 11])[1].tolist() == [6, 6]
    assert repr(strategy) == "<ScoreStrategy for 11 voters, curtails>"


def test_it_stops_only_at_looks():
    strategy = curtailment([[-1.0] * 11, [1.0] * 11], looks=4)
    assert strategy.looks.tolist() == [4, 8, 11]
    assert strategy.run([[1.0] * 11])[1].tolist() == [8]


def test_many_voters_are_curtailed_too():
    bounds = np.sort(np.random.default_rng(0).normal(size=(2, 10_000)), axis=0)
    strategy = curtailment(bounds)
    # Within the rounding of 10,000 additions it is the sum of what the others can add.
    np.testing.assert_allclose(strategy.lower[1:-1], -np.cumsum(bounds[1, ::-1])[::-1][1:], rtol=1e-9)
    np.testing.assert_allclose(strategy.upper[1:-1], -np.cumsum(bounds[0, ::-1])[::-1][1:], rtol=1e-9)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([[0.0], [1.0], [2.0]], r"bounds must have shape \(2, n_voters\)"),
        ([0.0, 1.0], r"bounds must have shape \(2, n_voters\)"),
        ([[], []], r"bounds must have shape \(2, n_voters\)"),
        ([[0.0, 2.0], [1.0, 1.0]], "bounds of voter 1 must be finite and the smallest score"),
        ([[0.0, 2.0], [1.0, math.inf]], "bounds of voter 1 must be finite"),
        ([[math.nan, 2.0], [1.0, 3.0]], "bounds of voter 0 must be finite"),
        ("wide", "bounds must be numbers"),
    ],
)
def test_bounds_that_are_none_are_refused(bounds, message):
    with pytest.raises(InvalidInputError, match=message):
        curtailment(bounds)
