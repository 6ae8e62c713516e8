"""Strategies on scores: run() does what a plain loop does, and says no to what is no strategy."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import ScoreStrategy
from foregone.errors import InvalidInputError

finite = st.floats(-4, 4).map(lambda x: round(x, 1))  # coarse, so that scores meet thresholds exactly


@st.composite
def score_strategies(draw: st.DrawFn, n_voters: int) -> ScoreStrategy:
    """Any strategy of so many voters, with steps at which it does not look."""
    pair = st.tuples(st.one_of(finite, st.just(-math.inf)), st.one_of(finite, st.just(math.inf)))
    pairs = draw(st.lists(pair, min_size=n_voters, max_size=n_voters))
    lower, upper = zip(*(sorted(two) for two in pairs), strict=True)
    order = draw(st.permutations(range(n_voters)))
    return ScoreStrategy.from_thresholds([*lower, 0], [*upper, 0], order=order, start=draw(finite))


def plainly(strategy: ScoreStrategy, row: list[float]) -> tuple[bool, int]:
    """Answer one row as the class's docstring says, in plain Python."""
    running = strategy.start
    for asked in range(strategy.n_voters + 1):
        if asked:
            running += row[strategy.order[asked - 1]]
        if asked == strategy.n_voters:
            return running > 0, asked
        if running <= strategy.lower[asked]:
            return False, asked
        if running >= strategy.upper[asked]:
            return True, asked
    raise AssertionError


@given(data=st.data(), n_voters=st.integers(1, 6))
def test_running_is_what_a_plain_loop_does(data, n_voters):
    strategy = data.draw(score_strategies(n_voters))
    rows = data.draw(st.lists(st.lists(finite, min_size=n_voters, max_size=n_voters), min_size=1, max_size=8))
    answers, asked = strategy.run(rows)
    expected = [plainly(strategy, row) for row in rows]
    assert list(zip(answers.tolist(), asked.tolist(), strict=True)) == expected
    paths = [np.cumsum([strategy.start, *np.array(row)[strategy.order]])[1:] for row in rows]
    for one, other in zip(strategy.run_paths(paths), (answers, asked), strict=True):
        np.testing.assert_array_equal(one, other)


@given(data=st.data(), n_voters=st.integers(1, 5))
def test_deciding_step_by_step_is_running(data, n_voters):
    strategy = data.draw(score_strategies(n_voters))
    row = data.draw(st.lists(finite, min_size=n_voters, max_size=n_voters))
    running, asked = strategy.start, 0
    while (answer := strategy.decide(asked, running)) is None:
        running += row[strategy.order[asked]]
        asked += 1
    answers, counts = strategy.run([row])
    assert (answer, asked) == (answers[0], counts[0])


def test_at_the_end_a_sum_of_zero_is_no():
    answers, asked = ScoreStrategy.ask_all(2).run([[1, -1], [1, -0.5], [-1, 0.5]])
    np.testing.assert_array_equal(answers, [False, True, False])
    np.testing.assert_array_equal(asked, 2)


def test_a_score_at_both_thresholds_is_no():
    strategy = ScoreStrategy.from_thresholds([-1, 0.5, 0], [1, 0.5, 0])
    assert strategy.decide(1, 0.5) is False


def test_no_rows_are_answered_with_nothing():
    answers, asked = ScoreStrategy.ask_all(3).run(np.empty((0, 3)))
    assert len(answers) == len(asked) == 0


def test_looks_are_the_steps_with_a_finite_threshold():
    inf = math.inf
    strategy = ScoreStrategy.from_thresholds([-inf, -inf, -1, -inf, 0], [inf, 2, inf, inf, 0])
    np.testing.assert_array_equal(strategy.looks, [1, 2, 4])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused_with_their_place(bad):
    with pytest.raises(InvalidInputError, match=r"row 1, column 0 is"):
        ScoreStrategy.ask_all(2).run([[1, 2], [bad, 0]])
    with pytest.raises(InvalidInputError, match="running score must be finite"):
        ScoreStrategy.ask_all(2).decide(1, bad)


def test_sums_that_overflow_are_refused():
    with pytest.raises(InvalidInputError, match=r"running scores must be finite: row 0, column 1"):
        ScoreStrategy.ask_all(2).run([[1e308, 1e308]])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([-1, 1, 0], [1, -1, 0], "step 1 must have lower <= upper"),
        ([-1, math.nan, 0], [1, 1, 0], "step 1 must have"),
        ([math.inf, -1, 0], [math.inf, 1, 0], "step 0 must have"),
        ([-1, -1, -1], [1, 1, 1], "the last step must be 0"),
        ([-1, 0], [1, 1, 0], "two rows"),
        ([0], [0], "two rows"),
        (["a", 0], [1, 0], "must be numbers"),
    ],
)
def test_thresholds_that_are_none_are_refused(lower, upper, message):
    with pytest.raises(InvalidInputError, match=message):
        ScoreStrategy.from_thresholds(lower, upper)


@pytest.mark.parametrize("order", [[0, 0], [0, 2], [0], [0.0, 1.0], [[0, 1]], ["a", "b"]])
def test_orders_that_are_none_are_refused(order):
    with pytest.raises(InvalidInputError, match="order must"):
        ScoreStrategy.from_thresholds([-1, -1, 0], [1, 1, 0], order=order)


@pytest.mark.parametrize("start", [math.nan, math.inf, "x", None, True])
def test_starts_that_are_none_are_refused(start):
    with pytest.raises(InvalidInputError, match="must be a finite number"):
        ScoreStrategy.ask_all(2, start=start)


@pytest.mark.parametrize("scores", [[1, 2], [[1, 2, 3]], [["a", "b"]], np.empty((2, 0)), [[1], [1, 2]]])
def test_score_matrices_that_are_none_are_refused(scores):
    with pytest.raises(InvalidInputError, match="scores must"):
        ScoreStrategy.ask_all(2).run(scores)


@pytest.mark.parametrize("asked", [-1, 3])
def test_impossible_steps_are_refused(asked):
    with pytest.raises(InvalidInputError, match="asked must be between"):
        ScoreStrategy.ask_all(2).decide(asked, 0.0)


def test_it_is_frozen_also_when_copied():
    strategy = ScoreStrategy.ask_all(3)
    for one in (strategy, copy.deepcopy(strategy), pickle.loads(pickle.dumps(strategy))):  # noqa: S301  # our own
        assert one == strategy
        assert hash(one) == hash(strategy)
        with pytest.raises(ValueError, match="read-only"):
            one.lower[0] = 1
        with pytest.raises(AttributeError):
            one.start = 1.0
    assert strategy != ScoreStrategy.ask_all(3, order=[1, 0, 2])
    assert strategy != "asks everyone"
    assert "asks everyone" in repr(strategy)
    assert "no guarantee" in repr(ScoreStrategy.from_thresholds([-1, -1, 0], [1, 1, 0]))
