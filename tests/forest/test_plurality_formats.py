"""Forests of many classes take every format of rows: long keys, infinities, categories, rules of columns."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone.errors import InvalidInputError
from foregone.forest import PluralityForest
from foregone.forest.schedule import row_bits
from tests.forest.random_scores import random_rows, random_scores
from tests.forest.simulation import ORDERS, order_named
from tests.forest.slow_class_scores import class_votes
from tests.forest.test_plurality_forest import N_TREES, random_strategy, simulate

FORMATS = [
    {"key_bits": 64, "takes_infinite": True},
    {"key_bits": 64, "takes_infinite": True, "sets": True},
    {"key_bits": 32, "takes_infinite": True, "sets": True, "zeros": True},
    {"key_bits": 64, "zeros": True},
    {"key_bits": 32, "sets": True},
    {"key_bits": 64, "n_features": 300, "sets": True},
]


def random_forest(rng, n_classes=4, **options):
    """An ensemble whose leaves vote for random classes."""
    found = random_scores(rng, n_trees=N_TREES, **options)
    trees = [tree._replace(vote=rng.integers(0, n_classes, len(tree.left))) for tree in found.trees()]
    classes = np.array([f"class {number}" for number in range(n_classes)])
    return found._replace(trees=lambda: iter(trees), classes=classes, trees_vote=True)


def rows_for(rng, found, n_rows=120):
    rows = random_rows(rng, found, n_rows)
    rows[: n_rows // 3] = np.nan_to_num(rows[: n_rows // 3])  # a block of these only has keys of its own
    return rows if found.takes_infinite else np.clip(rows, -1e30, 1e30)


@pytest.mark.parametrize("options", FORMATS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 100])
def test_every_tree_votes_as_a_plain_walk_through_it(options, n_classes, tmp_path):
    rng = np.random.default_rng(n_classes)
    found = random_forest(rng, n_classes, **options)
    rows = rows_for(rng, found)
    forest = PluralityForest.from_imported(found)
    votes = class_votes(found, rows)
    counts = np.stack([(votes == number).sum(axis=1) for number in range(n_classes)], axis=1)
    forest.save(tmp_path / "forest")
    copied = pickle.loads(pickle.dumps(forest))  # noqa: S301  # our own
    for same in (forest, copied, PluralityForest.load(tmp_path / "forest")):
        np.testing.assert_array_equal(same.vote_matrix(rows), votes)
        np.testing.assert_array_equal(same.votes(rows), counts)
        np.testing.assert_array_equal(same.votes(rows[:40]), counts[:40])
        np.testing.assert_array_equal(same.votes(rows[:1]), counts[:1])
        assert same.rows.key_bits == options["key_bits"]
        assert same.classes.tolist() == found.classes.tolist()


@pytest.mark.parametrize("options", FORMATS, ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_runs_and_rows_alone_follow_the_strategy_vote_for_vote(options, order):
    rng = np.random.default_rng(5)
    found = random_forest(rng, **options)
    rows, order, strategy = rows_for(rng, found, 60), order_named(order, N_TREES), random_strategy()
    forest = PluralityForest.from_imported(found)
    expected = simulate(
        strategy, class_votes(found, rows), 7, order, rows, lambda x: row_bits(x, forest.rows) % 2**64
    )
    np.testing.assert_array_equal(np.array(forest.run(rows, strategy, seed=7, order=order)), expected)
    for k, row in enumerate(rows):
        assert list(forest.run_one(row, strategy, seed=7, order=order)) == expected[:, k].tolist()
        one = forest.run(rows[k : k + 1], strategy, seed=7, order=order)
        assert np.array(one).T.tolist() == [expected[:, k].tolist()]


def test_what_rows_must_not_hold_is_refused_in_batches_and_alone():
    rng = np.random.default_rng(0)
    found = random_forest(rng, key_bits=64)._replace(takes_missing=False)
    forest, strategy = PluralityForest.from_imported(found), random_strategy()
    for value, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        rows = rng.normal(size=(20, found.n_features))
        rows[11, 3] = value
        with pytest.raises(InvalidInputError, match=message):
            forest.run(rows, strategy, seed=0)
        with pytest.raises(InvalidInputError, match=message):
            forest.run_one(rows[11], strategy, seed=0)
        forest.run_one(rows[10], strategy, seed=0)


def test_forests_of_many_classes_read_through_treelite_vote_as_in_scikit_learn():
    treelite = pytest.importorskip("treelite")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.7, 0.0, 0.7])
    model = RandomForestClassifier(N_TREES, max_depth=5, random_state=0).fit(X, y)
    names = ["ash", "birch", "cherry", "douglas"]
    forest = PluralityForest.from_treelite(treelite.sklearn.import_model(model), classes=names)
    own = PluralityForest.from_sklearn(model)
    rows = X.astype(np.float32)  # treelite does not round, scikit-learn does
    np.testing.assert_array_equal(forest.vote_matrix(rows), own.vote_matrix(rows))
    assert (forest.rows.key_bits, forest.classes.tolist()) == (64, names)
    strategy = random_strategy()
    outcome = np.array(forest.run(rows, strategy, seed=1))
    assert np.array([forest.run_one(row, strategy, seed=1) for row in rows]).T.tolist() == outcome.tolist()
