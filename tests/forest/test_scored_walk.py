"""Every tree's score is the one that a plain walk gives, bit for bit, in every format of nodes and keys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest, layout
from tests.forest.random_scores import random_rows, random_scores
from tests.forest.slow_walk import tree_scores

FORMATS = {
    "32-bit keys": {"key_bits": 32},
    "64-bit keys": {"key_bits": 64, "takes_infinite": True},
    "32-bit keys, categories": {"key_bits": 32, "sets": True},
    "64-bit keys, categories": {"key_bits": 64, "sets": True},
    "32-bit keys, zeros": {"key_bits": 32, "zeros": True, "takes_infinite": True},
    "64-bit keys, categories, zeros": {"key_bits": 64, "sets": True, "zeros": True, "takes_infinite": True},
}


def same_bits(one, other):
    np.testing.assert_array_equal(np.asarray(one).view(np.uint64), np.asarray(other).view(np.uint64))


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS.keys())
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_scores_are_those_of_a_plain_walk(options, seed):
    rng = np.random.default_rng(seed)
    found = random_scores(rng, **options)
    forest = ScoredForest.from_imported(found)
    rows = random_rows(rng, found, 23)
    expected = tree_scores(found, rows)
    same_bits(forest.scores(rows), expected)
    total = np.full(len(rows), found.start)
    for column in expected.T:
        total += column
    same_bits(forest.full_scores(rows), total)
    for row in range(3):
        answer, asked, score = forest.run_one(rows[row], None)
        assert (answer, asked) == (total[row] > 0, forest.n_trees)
        same_bits([score], total[row : row + 1])


@pytest.mark.parametrize("options", [FORMATS["32-bit keys"], FORMATS["32-bit keys, zeros"]])
def test_wide_nodes_give_the_scores_of_compact_ones(options, monkeypatch):
    rng = np.random.default_rng(0)
    found = random_scores(rng, **options)
    rows = random_rows(rng, found, 50)
    compact = ScoredForest.from_imported(found)
    monkeypatch.setattr(layout, "COMPACT_OFFSET_LIMIT", 0)
    wide = ScoredForest.from_imported(found)
    assert (compact.nodes.ndim, wide.nodes.ndim) == (1, 2)
    same_bits(wide.scores(rows), compact.scores(rows))
    assert wide.run_one(rows[0], None) == compact.run_one(rows[0], None)


def test_many_features_take_wide_nodes():
    rng = np.random.default_rng(0)
    found = random_scores(rng, n_features=300)
    rows = random_rows(rng, found, 20)
    forest = ScoredForest.from_imported(found)
    assert forest.nodes.ndim == 2
    same_bits(forest.scores(rows), tree_scores(found, rows))


@pytest.mark.parametrize("key_bits", [32, 64])
def test_a_threshold_of_minus_zero_sends_both_zeros_left(key_bits):
    found = random_scores(np.random.default_rng(0), key_bits, n_features=1)
    tree = next(tree for tree in found.trees() if tree.left[0] >= 0)
    tree = tree._replace(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        **{name: getattr(tree, name)[:3] for name in ("missing_left", "category_start", "weight")},
        feature=np.array([0, -1, -1]),
        threshold=np.array([-0.0, 9.0, 9.0]),
        score=np.array([0.0, -1.0, 1.0]),
    )
    forest = ScoredForest.from_imported(found._replace(trees=lambda: iter([tree])))
    tiny = 1e-45 if key_bits == 32 else 5e-324
    assert forest.scores([[0.0], [-0.0], [tiny], [-tiny]]).ravel().tolist() == [-1.0, -1.0, 1.0, -1.0]


def test_a_score_of_minus_zero_comes_back_as_it_is():
    found = random_scores(np.random.default_rng(0), n_trees=1)
    leaf = next(found.trees())._replace(
        **{name: np.array([-1]) for name in ("left", "right", "feature", "category_start")},
        threshold=np.zeros(1),
        missing_left=np.zeros(1, bool),
        weight=np.ones(1),
        score=np.array([-0.0]),
    )
    forest = ScoredForest.from_imported(found._replace(trees=lambda: iter([leaf]), start=-0.0))
    assert np.signbit(forest.scores(np.zeros((2, 5)))).all()
    assert np.signbit(forest.full_scores(np.zeros((2, 5)))).all()


def test_a_column_of_both_kinds_is_refused():
    rng = np.random.default_rng(0)
    found = random_scores(rng, sets=True)
    numeric = random_scores(rng)
    both = found._replace(trees=lambda: iter([*found.trees(), *numeric.trees()]))
    with pytest.raises(InvalidInputError, match="is split both by categories and by thresholds"):
        ScoredForest.from_imported(both)


def with_scores(found, change):
    return found._replace(trees=lambda: (tree._replace(score=change(tree)) for tree in found.trees()))


def test_scores_that_cannot_be_added_up_are_refused():
    found = random_scores(np.random.default_rng(0))
    for value in (np.nan, np.inf):
        with pytest.raises(InvalidInputError, match="start must be finite"):
            ScoredForest.from_imported(with_scores(found, lambda tree, value=value: tree.score * 0 + value))
    with pytest.raises(InvalidInputError, match="the scores are too large"):
        ScoredForest.from_imported(with_scores(found, lambda tree: tree.score * 0 + 1e308))
    with pytest.raises(InvalidInputError, match="start must be finite"):
        ScoredForest.from_imported(found._replace(start=np.inf))
