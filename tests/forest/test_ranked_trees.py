"""Trees that compare ranks: ranks order rows as keys do, and no result depends on whether they are used."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import solve
from foregone._kernels.leaf_masks import MaskTrees
from foregone._kernels.row_ranks import CUTS_A_COLUMN, fill_ranks
from foregone.forest import PackedForest, ScoredForest, forest, ranked_trees
from foregone.forest.ranked_trees import Cuts, RankedTrees
from tests.forest.random_scores import random_rows, random_scores
from tests.forest.slow_walk import tree_scores


def ranks_of(cuts, keys):
    n_rows, stride = keys.shape
    ranks = np.full(n_rows * cuts.n_columns, 77, np.uint8)
    fill_ranks(keys.ravel(), stride, n_rows, *cuts, ranks)
    return ranks.reshape(n_rows, cuts.n_columns)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("n_cuts", [1, 2, 47, 48, 49, 253, 254, 255, 600])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
def test_a_rank_is_above_that_of_a_node_exactly_where_the_key_is_above_its_own(n_rows, n_cuts, kind):
    rng = np.random.default_rng(n_cuts)
    most = np.iinfo(kind).max
    cuts_of = [rng.choice(5 * n_cuts, n_cuts, replace=False).astype(kind), np.array([0, most - 1], kind)]
    columns = np.repeat([2, 0], [len(own) for own in cuts_of])  # column 1 is compared with nothing
    keys_of_nodes = np.concatenate(cuts_of)
    cuts, rank_columns, ranks_of_nodes = Cuts.of(columns, keys_of_nodes)
    assert cuts.n_columns == 1 + -(-n_cuts // CUTS_A_COLUMN)
    rows = rng.integers(0, 5 * n_cuts, (n_rows, 3)).astype(kind)
    rows[rng.random(rows.shape) < 0.1] = most  # as a missing value has it
    rows[rng.random(rows.shape) < 0.1] = 0
    goes_right = rows[:, columns] > keys_of_nodes
    np.testing.assert_array_equal(ranks_of(cuts, rows)[:, rank_columns] > ranks_of_nodes, goes_right)
    assert ranks_of_nodes.max() < CUTS_A_COLUMN


def test_more_cuts_than_fit_have_no_ranks():
    keys = np.arange(CUTS_A_COLUMN * 256 + 1, dtype=np.uint32)
    assert Cuts.of(np.zeros(len(keys), np.int64), keys) is None
    assert Cuts.of(np.zeros(len(keys) - 1, np.int64), keys[:-1])[0].n_columns == 256


def rows_and_labels(n_rows=6_000, **options):
    X, y = make_classification(n_rows, 8, n_informative=6, flip_y=0.3, random_state=0, **options)
    return np.round(X, 1).astype(np.float32), y


@pytest.fixture(scope="module")
def packed():
    X, y = rows_and_labels()
    return PackedForest.from_sklearn(RandomForestClassifier(51, random_state=0).fit(X[:800], y[:800])), X


def form_of(some_forest):
    return some_forest._batch._ranked.get(1)


def test_ranks_are_used_once_enough_rows_have_asked_enough_trees(packed):
    some_forest, X = packed
    some_forest = PackedForest(*(getattr(some_forest, name) for name in (
        "nodes", "tree_start", "classes", "rows", "categories")))  # fmt: skip
    strategy = solve("minimean", some_forest.n_trees, 0.2).strategy
    first = some_forest.run(X[:100], None, seed=0)
    assert form_of(some_forest) is None
    for _ in range(30):
        votes = some_forest.run(X, None, seed=0)[2]
    assert isinstance(form_of(some_forest), RankedTrees)
    np.testing.assert_array_equal(votes[:100], first[2])
    np.testing.assert_array_equal(votes, some_forest.vote_matrix(X).sum(axis=1))
    asked = some_forest.run(X, strategy, seed=0)[1].mean()
    ranked = form_of(some_forest)
    assert ranked.pays(some_forest.n_trees)
    assert not ranked.pays(0.1 * asked)


def test_few_rows_are_run_one_by_one_until_as_many_came_as_a_form_for_batches_takes(packed, monkeypatch):
    monkeypatch.setattr(forest, "NODES_A_ROW", 200)
    monkeypatch.setattr(forest, "n_compiled", itertools.count().__next__)  # as if every row were the first
    made, X = packed
    some_forest = PackedForest(made.nodes, made.tree_start, made.classes, made.rows, made.categories)
    strategy = solve("minimixed", made.n_trees, 0.05).strategy
    enough = len(made.nodes) // 200 + 1
    assert 20 < enough < len(X)
    for order in ("shared", "dealt", "per_row"):
        expected = made.run(X[:enough], strategy, seed=3, order=order)
        several = [some_forest.run(X[k : k + 8], strategy, seed=3, order=order) for k in range(0, 16, 8)]
        for part, outcome in zip(expected, zip(*several, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(outcome), part[:16])
    assert not some_forest._batch.are_made
    assert some_forest.nbytes_of_batches == 0
    some_forest.run(X[:enough], strategy, seed=3)
    assert some_forest._batch.are_made
    assert some_forest.nbytes_of_batches > some_forest.nodes.nbytes


@pytest.mark.parametrize("max_leaf_nodes", [2, 7, 8, 9, 31, 32, 33, 64, 65, 256, 257])
def test_trees_of_up_to_256_leaves_need_no_walks(max_leaf_nodes, form, monkeypatch):
    monkeypatch.setattr(ranked_trees, "CLEAR", 0.0)  # as if masks were always the fastest
    monkeypatch.setattr(ranked_trees, "BYTE", 0.0)
    X, y = rows_and_labels()
    model = RandomForestClassifier(9, max_leaf_nodes=max_leaf_nodes, random_state=0, bootstrap=False)
    scored = ScoredForest.from_model(model.fit(X[:3000], y[:3000]))
    sums = scored.full_scores(X, n_threads=1)
    np.testing.assert_array_equal(sums, np.cumsum(scored.scores(X), axis=1)[:, -1])
    if form == "ranks":
        assert isinstance(form_of(scored).trees, MaskTrees) == (max_leaf_nodes <= 256)


def test_masks_are_used_where_they_are_faster_than_walks(form):
    X, y = rows_and_labels()
    for max_leaf_nodes, is_faster in ((31, True), (250, False)):
        model = RandomForestClassifier(9, max_leaf_nodes=max_leaf_nodes, random_state=0, bootstrap=False)
        scored = ScoredForest.from_model(model.fit(X[:3000], y[:3000]))
        scored.full_scores(X, n_threads=1)
        if form == "ranks":
            assert isinstance(form_of(scored).trees, MaskTrees) == is_faster


@given(st.integers(0, 10_000), st.integers(5, 300))
def test_any_trees_say_the_same_in_every_form(form, seed, n_rows):
    rng = np.random.default_rng(seed)
    found = random_scores(rng, n_trees=int(rng.integers(1, 6)))
    rows = random_rows(rng, found, n_rows)
    scored = ScoredForest.from_imported(found)
    summed = np.full(n_rows, found.start)
    for scores in tree_scores(found, rows).T:
        summed = summed + scores
    np.testing.assert_array_equal(scored.full_scores(rows, n_threads=1), summed)
