"""One row on its own: trees walk side by side, arrive in any order, and are counted in theirs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import StoppingStrategy
from foregone._kernels.forest_keys import fill_keys
from foregone._kernels.forest_walk import LANES, NOTHING, VOTE, add_trees
from foregone._kernels.prefetch import prefetch
from foregone.forest import PackedForest, forest
from tests.forest.simulation import ORDERS, order_named, simulate

N_TREES = 2 * LANES + 9


@njit
def keys_of(values, keys):
    return fill_keys(values, keys)


@njit
def ask_trees(nodes, roots, keys, memory, first, last, end, started, walking):
    one, nothing = np.uint64(1), np.uint64(0)
    return add_trees(
        nodes, VOTE, roots, keys, one, nothing, memory, first, last, end, started, walking, np.int64(0)
    )


def uneven_forest():
    """Stumps and deep trees in turn, so that later trees arrive long before earlier ones."""
    X, y = make_classification(400, 6, n_informative=3, n_redundant=1, flip_y=0.4, random_state=0)
    model = RandomForestClassifier(N_TREES, random_state=0).fit(X[::2], y[::2])
    stumps = RandomForestClassifier(N_TREES, max_depth=1, random_state=1).fit(X[::2], y[::2])
    model.estimators_[::3] = stumps.estimators_[::3]
    return PackedForest.from_sklearn(model), X[1:60:2]


FOREST, X = uneven_forest()
VOTES = FOREST.vote_matrix(X)
EVERY_ORDER = {name: order_named(name, N_TREES) for name in ORDERS}


def lead_of(width, chance=0.0):
    """Stop when one side leads by ``width``; one vote short of that by chance."""

    def row(asked):
        lead = np.abs(2 * np.arange(asked + 1) - asked)
        return np.where(lead == width - 1, chance, lead >= width)

    return StoppingStrategy.from_rows(N_TREES, row)


STRATEGIES = {
    **{f"lead of {width}": lead_of(width) for width in (1, 2, 5, N_TREES)},
    "a chance at every vote": StoppingStrategy.from_rows(N_TREES, lambda asked: np.full(asked + 1, 0.05)),
    "both": lead_of(7, chance=0.3),
}


def run_all(forest, strategy, order):
    outcomes = [forest.run_one(x, strategy, seed=5, order=order) for x in X]
    return [np.array(part) for part in zip(*outcomes, strict=True)]


@pytest.mark.parametrize("order", EVERY_ORDER.values(), ids=EVERY_ORDER.keys())
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())
def test_a_row_alone_follows_the_simulation_vote_for_vote(strategy, order):
    expected = simulate(strategy, VOTES, 5, order, X)
    for one, other in zip(run_all(FOREST, strategy, order), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(EVERY_ORDER.values())))
@settings(max_examples=25, deadline=None)
def test_any_strategy_is_followed_by_a_row_alone(seed, order):
    rng = np.random.default_rng(seed)
    strategy = StoppingStrategy.from_rows(
        N_TREES, lambda asked: rng.choice([0.0, 0.3, 1.0], asked + 1, p=[0.92, 0.04, 0.04])
    )
    expected = simulate(strategy, VOTES, 5, order, X)
    for one, other in zip(run_all(FOREST, strategy, order), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_a_strategy_a_row_alone_asks_everyone():
    _, asked, yes = run_all(FOREST, None, "shared")
    assert (asked == N_TREES).all()
    np.testing.assert_array_equal(yes, VOTES.sum(axis=1))


@st.composite
def polls(draw):
    """Where decisions fall, and how far ahead trees may set out before each."""
    decisions = sorted(draw(st.sets(st.integers(1, N_TREES), min_size=1, max_size=12)))
    return [(decision, draw(st.integers(decision, N_TREES))) for decision in decisions]


@given(st.integers(0, len(X) - 1), st.integers(0, N_TREES - 1), polls())
@settings(max_examples=60, deadline=None)
def test_walks_go_on_from_one_decision_to_the_next(row, first, poll):
    keys = np.empty(X.shape[1], np.uint32)
    keys_of(X[row], keys)
    roots = FOREST.tree_start[:-1].copy()
    memory = np.full(2 * LANES + N_TREES, 999, np.uint64)
    started, walking, furthest = first, 0, first
    for last, end in poll:
        if last <= first:
            continue
        numbers = (np.uint64(number) for number in (first, last, end, started, walking))
        yes, started, walking = ask_trees(FOREST.nodes, roots, keys, memory, *numbers)
        assert yes == VOTES[row, first:last].sum()
        furthest = max(furthest, end)
        # No tree sets out from beyond the end it was given, and none gets lost.
        assert last <= started <= furthest
        under_way = memory[2 * LANES + last : 2 * LANES + started] == NOTHING
        assert walking == under_way.sum() <= LANES
        np.testing.assert_array_equal(
            np.sort(memory[LANES : LANES + walking]), last + np.flatnonzero(under_way)
        )
        first = last


@pytest.mark.parametrize("shape", [(5,), (5, 2)])
def test_memory_may_be_asked_for_anywhere_and_stays_as_it_is(shape):
    @njit
    def ask(array, index, distance):
        prefetch(array, index, distance)

    array = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape)
    before = array.copy()
    for index in (0, 4, 5, 10**6, 2**62):
        ask(array, np.uint64(index), np.uint64(64))
    np.testing.assert_array_equal(array, before)
    assert "llvm.prefetch" in ask.inspect_llvm(ask.signatures[0])


def test_a_row_that_has_to_be_compiled_for_makes_batches_compiled_too(monkeypatch):
    monkeypatch.setattr(forest, "n_compiled", itertools.count().__next__)  # as if every kernel were new
    again = PackedForest(FOREST.nodes, FOREST.tree_start, FOREST.classes, FOREST.rows, FOREST.categories)
    sizes, run_block = [], PackedForest._run_block
    monkeypatch.setattr(
        PackedForest, "_run_block", lambda *parts: sizes.append(len(parts[2])) or run_block(*parts)
    )
    for row in X[:5]:
        again.run_one(row, STRATEGIES["lead of 5"], seed=5)
    assert len(sizes) == 1
    assert again.nbytes_of_batches == 0


def test_a_row_alone_may_have_another_type_or_layout_than_the_one_before():
    # What runs a row without a look at its type must get no other row than it was compiled for.
    strategy = STRATEGIES["lead of 5"]
    expected = FOREST.run_one(X[0].astype(np.float64), strategy, seed=5)
    apart = np.repeat(X[0].astype(np.float64), 2)[::2]
    fixed = X[0].astype(np.float32)
    fixed.setflags(write=False)
    kinds = [np.float32, np.float64, np.longdouble, ">f4", ">f8", object]
    rows = [X[0].astype(kind) for kind in kinds] + [apart, fixed, list(X[0])]
    for row in (*rows, *rows[::-1]):
        assert FOREST.run_one(row, strategy, seed=5) == expected
    whole = np.round(X[0] * 8).astype(np.int64)
    assert FOREST.run_one(whole, strategy, seed=5) == FOREST.run_one(whole * 1.0, strategy, seed=5)
