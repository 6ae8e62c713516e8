"""Packed forests of every format of rows: votes are those of plain walks, runs follow the strategy."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from foregone import StoppingStrategy
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest
from tests.forest.random_scores import random_rows, random_scores
from tests.forest.simulation import order_of
from tests.forest.slow_walk import tree_scores

FORMATS = {
    "32-bit keys": {"key_bits": 32, "takes_infinite": True},
    "64-bit keys": {"key_bits": 64, "takes_infinite": True},
    "32-bit keys, categories": {"key_bits": 32, "sets": True},
    "64-bit keys, categories, zeros": {"key_bits": 64, "sets": True, "zeros": True, "takes_infinite": True},
}
every_format = pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS.keys())


def voting(rng, options):
    """An import whose trees vote."""
    return random_scores(rng, **options)._replace(start=0.0, trees_vote=True)


@every_format
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_tree_votes_yes_where_the_score_of_a_plain_walk_is_above_0(options, seed):
    rng = np.random.default_rng(seed)
    found = voting(rng, options)
    forest = PackedForest.from_imported(found)
    rows = random_rows(rng, found, 23)
    expected = tree_scores(found, rows) > 0
    assert forest.vote_matrix(rows).tolist() == expected.tolist()
    assert forest.votes(rows).tolist() == expected.sum(axis=1).tolist()
    assert forest.run_one(rows[0], None, seed=0)[2] == expected[0].sum()
    assert forest.votes(rows[1:2]).tolist() == [expected[1].sum()]


@every_format
@pytest.mark.parametrize("order", ["shared", "dealt", "per_row"])
def test_runs_follow_the_strategy_vote_by_vote(options, order):
    rng = np.random.default_rng(3)
    found = voting(rng, options)
    forest = PackedForest.from_imported(found)
    rows = random_rows(rng, found, 30)
    strategy = StoppingStrategy.from_rows(
        9, lambda asked: (np.abs(2 * np.arange(asked + 1) - asked) >= 3).astype(float)
    )
    answers, asked, yes = forest.run(rows, strategy, seed=5, order=order)
    matrix = forest.vote_matrix(rows)
    orders = [forest.order(5, row, order).tolist() for row in rows]
    assert orders[0] == order_of(9, 5) or order != "shared"
    for row, sequence in enumerate(orders):
        running = np.cumsum(matrix[row, sequence])
        leads = np.abs(2 * running - np.arange(1, 10))
        stop = int(np.argmax(np.append(leads[:-1] >= 3, True)))
        assert (asked[row], yes[row]) == (stop + 1, running[stop])
        one = forest.run_one(rows[row], strategy, seed=5, order=order)
        assert one == (answers[row], asked[row], yes[row])
    assert len(set(map(tuple, orders))) == 1 if order == "shared" else len(set(map(tuple, orders))) > 10


@every_format
def test_stops_by_chance_are_the_same_one_by_one_and_for_both_zeros(options):
    rng = np.random.default_rng(4)
    found = voting(rng, options)
    forest = PackedForest.from_imported(found)
    rows = random_rows(rng, found, 200)
    strategy = StoppingStrategy.from_rows(9, lambda asked: np.full(asked + 1, 0.3))
    asked = forest.run(rows, strategy, seed=1)[1]
    assert [forest.run_one(row, strategy, seed=1)[1] for row in rows] == asked.tolist()
    assert forest.run(np.where(rows == 0, -rows, rows), strategy, seed=1)[1].tolist() == asked.tolist()
    assert 1.6 < asked.mean() < 2.9  # 2.24 is expected


@every_format
def test_files_and_pickles_give_the_same_forest(options, tmp_path):
    rng = np.random.default_rng(6)
    found = voting(rng, options)
    forest = PackedForest.from_imported(found)
    rows = random_rows(rng, found, 40)
    forest.save(tmp_path / "forest")
    for other in (PackedForest.load(tmp_path / "forest"), pickle.loads(pickle.dumps(forest))):  # noqa: S301  # our own
        assert other.vote_matrix(rows).tolist() == forest.vote_matrix(rows).tolist()
        assert other.run_one(rows[0], None, seed=0) == forest.run_one(rows[0], None, seed=0)
        assert other.nbytes == forest.nbytes


def test_nodes_that_point_to_a_set_that_is_none_are_refused(tmp_path):
    found = voting(np.random.default_rng(6), FORMATS["32-bit keys, categories"])
    forest = PackedForest.from_imported(found)
    words = forest.categories.copy()
    words[0] = 2**31
    forest.categories = words
    forest.save(tmp_path / "forest")
    with pytest.raises(FileFormatError, match="do not form valid trees"):
        PackedForest.load(tmp_path / "forest")


def test_the_state_of_a_plain_forest_is_arrays_and_numbers():
    X = np.random.default_rng(0).normal(size=(50, 2))
    forest = PackedForest.from_sklearn(RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0))
    state = forest.__getstate__()
    assert sorted(state) == ["classes", "n_features", "n_trees", "nodes", "takes_missing", "tree_start"]


def test_trees_that_do_not_vote_and_columns_that_are_none_are_refused():
    found = random_scores(np.random.default_rng(0))
    with pytest.raises(InvalidInputError, match="do not vote"):
        PackedForest.from_imported(found)
    with pytest.raises(InvalidInputError, match="do not form valid trees"):
        PackedForest.from_imported(found._replace(trees_vote=True, n_features=2))
