"""Trees for batches: rows come to the leaves that a plain walk leads to, in every form of the trees."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone.forest import PluralityForest, ScoredForest, batch_trees
from foregone.forest.batch_trees import SORTING_OUT, best_phases
from foregone.forest.execution import Scratch
from foregone.forest.importers.found import Found, Tree
from foregone.scores import ScoreStrategy
from tests.forest.random_scores import random_rows, random_scores
from tests.forest.slow_walk import tree_scores


def pure_forest(**settings):
    X, y = make_classification(600, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
    X = X.astype(np.float32)
    return RandomForestClassifier(12, random_state=0, **settings).fit(X, y), X


def made(forest, rows):
    """The trees in the form of the first batch: nodes, what leaves carry, bounds, phases."""
    return forest._batch.load(rows, Scratch(forest.rows, len(rows)))[0][:4]


def chain(n_levels):
    """One tree: each node has a leaf to its left and the rest of the tree to its right."""
    left, right = np.full((2, 2 * n_levels + 1), -1)
    left[: 2 * n_levels : 2], right[: 2 * n_levels : 2] = (
        1 + np.arange(n_levels) * 2,
        2 + np.arange(n_levels) * 2,
    )
    n_nodes = len(left)
    tree = Tree(
        left=left,
        right=right,
        feature=np.where(left < 0, -1, 0),
        threshold=np.arange(n_nodes) / 2,
        missing_left=np.zeros(n_nodes, bool),
        category_start=np.full(n_nodes, -1),
        weight=np.ones(n_nodes),
        score=np.where(left < 0, np.arange(n_nodes, dtype=float), 0.0),
    )
    return Found(
        trees=lambda: iter([tree]),
        n_features=1,
        classes=np.array([0, 1]),
        start=0.0,
        key_bits=32,
        takes_missing=False,
        takes_infinite=False,
        categories=np.empty(0, np.uint32),
        zero_is_missing=None,
    )


@pytest.mark.parametrize("n_rows", [*range(2, 20), 63, 64, 65])
def test_any_number_of_rows_comes_to_the_right_leaves(n_rows):
    rng = np.random.default_rng(n_rows)
    found = random_scores(rng, n_trees=5)
    rows = random_rows(rng, found, n_rows)
    forest = ScoredForest.from_imported(found)
    np.testing.assert_array_equal(forest.scores(rows), tree_scores(found, rows))


def test_the_order_in_which_trees_are_asked_is_the_strategys():
    model, X = pure_forest(min_samples_leaf=5)
    forest = ScoredForest.from_model(model)
    scores = forest.scores(X)
    order = np.random.default_rng(0).permutation(forest.n_trees)
    lower, upper = np.full((2, forest.n_trees + 1), [[-np.inf], [np.inf]])
    lower[-1] = upper[-1] = 0
    lower[4], upper[4] = -1.2, 1.2
    strategy = ScoreStrategy.from_thresholds(lower, upper, order=order)
    running = scores[:, order].cumsum(axis=1)
    stops = np.abs(running[:, 3]) >= 1.2
    asked, score = forest.run(X, strategy, n_threads=1)[1:]
    assert 0.1 < stops.mean() < 0.9
    np.testing.assert_array_equal(asked, np.where(stops, 4, forest.n_trees))
    np.testing.assert_array_equal(score, np.where(stops, running[:, 3], running[:, -1]))


def test_leaves_that_carry_the_same_are_shared():
    model, X = pure_forest()
    forest = ScoredForest.from_model(model)
    trees, leaves, bounds, _ = made(forest, X)
    assert len(trees) == len(leaves) == bounds[0, -1, 1] < 0.95 * len(forest.nodes)
    np.testing.assert_array_equal(bounds[0, 1:, 0], bounds[0, :-1, 1])
    own = np.stack([tree.predict_proba(X)[:, 1] for tree in model.estimators_], axis=1) - 0.5
    np.testing.assert_array_equal(forest.scores(X), own)


@pytest.mark.parametrize("most_shared", [0, 20])
def test_large_trees_share_no_leaves_and_say_the_same(most_shared, monkeypatch):
    rng = np.random.default_rng(5)
    found = random_scores(rng, n_trees=40)
    rows = random_rows(rng, found, 100)
    expected = tree_scores(found, rows)
    monkeypatch.setattr(batch_trees, "MOST_SHARED", most_shared)
    forest = ScoredForest.from_imported(found)
    np.testing.assert_array_equal(forest.scores(rows), expected)
    bounds = made(forest, rows)[2][0]
    sizes = np.diff(forest.tree_start)
    large = sizes > most_shared
    assert large.any()
    np.testing.assert_array_equal((bounds[:, 1] - bounds[:, 0])[large], sizes[large])


def test_a_walk_may_be_longer_than_all_phases_together():
    found = chain(700)
    forest = ScoredForest.from_imported(found)
    rows = np.linspace(-1, 750, 3001)[:, None].astype(np.float32)
    assert made(forest, rows)[3].sum() < 700
    np.testing.assert_array_equal(forest.scores(rows), tree_scores(found, rows))


def test_rows_with_and_without_missing_values_take_turns():
    rng = np.random.default_rng(1)
    found = random_scores(rng)
    forest = ScoredForest.from_imported(found)
    rows = random_rows(rng, found, 60)
    for part in (np.where(np.isnan(rows), 0.5, rows), rows, np.where(np.isnan(rows), -0.5, rows)):
        np.testing.assert_array_equal(forest.scores(part), tree_scores(found, part))


def test_a_forest_of_many_classes_carries_their_numbers():
    model, X = pure_forest()
    forest = PluralityForest.from_sklearn(model)
    assert made(forest, X)[1].dtype == np.uint16
    own = np.stack([tree.predict(X) for tree in model.estimators_], axis=1)
    np.testing.assert_array_equal(forest.vote_matrix(X), own)


def cost(by_level, phases):
    """Steps in all when walks that have arrived are sorted out after each phase."""
    lengths = np.repeat(np.arange(len(by_level)), by_level)
    total, level = 0, 0
    for steps in phases:
        total += int((lengths > level).sum()) * (steps + SORTING_OUT)
        level += steps
    assert level == len(by_level) - 1
    return total


@given(st.lists(st.integers(0, 30), min_size=0, max_size=7), st.integers(1, 30))
def test_no_other_phases_take_fewer_steps(by_level, at_last):
    by_level = np.array([0, *by_level, at_last])
    longest = len(by_level) - 1
    fewest = min(
        cost(by_level, np.diff([0, *[k for k, ends in enumerate(chosen, 1) if ends], longest]))
        for chosen in product([False, True], repeat=longest - 1)
    )
    phases, steps = best_phases(by_level)
    assert cost(by_level, phases) == fewest == pytest.approx(steps * by_level.sum())
