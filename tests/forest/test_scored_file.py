"""Files of trees with scores: the same forest comes back, and no wrong file gets past the checks."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import ScoreStrategy
from foregone.errors import FileFormatError
from foregone.forest import PackedForest, ScoredForest, container
from foregone.forest.category_values import CategoryValues, category_list
from tests.forest.random_scores import random_rows, random_scores

RNG = np.random.default_rng(0)
FOUND = {
    "compact": random_scores(RNG, 32, n_trees=3),
    "wide": random_scores(RNG, 32, n_trees=3, n_features=300),
    "long keys": random_scores(RNG, 64, n_trees=3, takes_infinite=True),
    "categories": random_scores(RNG, 64, n_trees=3, sets=True, zeros=True),
    "lists": random_scores(RNG, 64, n_trees=3)._replace(
        category_values=CategoryValues((0, 4), (category_list(["S", "M"]), category_list([2.5, 7])))
    ),
}
FORESTS = {name: ScoredForest.from_imported(found) for name, found in FOUND.items()}
ROWS = {name: random_rows(RNG, found, 30) for name, found in FOUND.items()}


def rewritten(path, forest, fields=(), **arrays):
    """Write a file whose checksum fits, with other fields or other arrays."""
    old_fields, old_arrays = forest.to_parts()
    container.write(path, "scored forest", {**old_fields, **dict(fields)}, {**old_arrays, **arrays})
    return path


@pytest.mark.parametrize("name", FORESTS)
def test_a_loaded_forest_is_the_saved_one(name, tmp_path):
    forest, rows = FORESTS[name], ROWS[name]
    forest.save(tmp_path / "one")
    loaded = ScoredForest.load(tmp_path / "one")
    np.testing.assert_array_equal(loaded.scores(rows), forest.scores(rows))
    strategy = ScoreStrategy.ask_all(3, start=forest.start, order=[2, 0, 1])
    assert loaded.run_one(rows[0], strategy) == forest.run_one(rows[0], strategy)
    assert (loaded.start, loaded.classes.tolist()) == (forest.start, ["no", "yes"])
    assert (loaded.takes_missing, loaded.rows.takes_infinite) == (True, forest.rows.takes_infinite)
    loaded.save(tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_lists_of_categories_come_back_and_are_looked_up(tmp_path):
    forest = FORESTS["lists"]
    forest.save(tmp_path / "forest")
    loaded = ScoredForest.load(tmp_path / "forest")
    names, numbers = ["M", 1.0, 2.0, 3.0, 2.5], [1.0, 1.0, 2.0, 3.0, 0.0]
    plain = ScoredForest.from_imported(FOUND["lists"]._replace(category_values=None))
    for given_forest in (forest, loaded):
        expected = plain.run_one(numbers, None)
        assert given_forest.run_one(names, None) == expected
        assert given_forest.run([names], None).score == expected[2]
        assert given_forest.run([names] * 2, None).score.tolist() == [expected[2]] * 2


@pytest.mark.parametrize("name", ["compact", "long keys", "categories"])
@given(data=st.data())
def test_words_with_any_bits_flipped_are_refused_or_harmless(name, data, tmp_path_factory):
    forest, rows = FORESTS[name], ROWS[name]
    changed = {"nodes": forest.nodes.copy()}
    if name == "categories":
        changed["categories"] = forest.categories.copy()
    for _ in range(data.draw(st.integers(1, 3))):
        words = changed[data.draw(st.sampled_from(sorted(changed)))].reshape(-1)
        place, bit = (
            data.draw(st.integers(0, len(words) - 1)),
            data.draw(st.integers(0, 8 * words.itemsize - 1)),
        )
        words[place] ^= words.dtype.type(1 << bit)
    path = rewritten(tmp_path_factory.mktemp("flip") / "forest", forest, **changed)
    try:
        loaded = ScoredForest.load(path)
    except FileFormatError:
        return
    scores = loaded.scores(rows)
    assert np.isfinite(scores).all()
    for row, x in enumerate(rows[:5]):
        assert loaded.run_one(x, None)[1] == loaded.n_trees
        assert np.isfinite(scores[row]).all()


def leaf_of(forest, score):
    """The nodes with one leaf's score replaced: the last place of a tree is always a leaf."""
    nodes = forest.nodes.copy()
    (nodes if nodes.ndim == 1 else nodes[:, 0])[-1] = np.float64(score).view(np.uint64)
    return nodes


SMALL, SETS = FORESTS["compact"], FORESTS["categories"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"nodes": np.zeros_like(SMALL.nodes)}, "do not form valid trees"),
        ({"nodes": SMALL.nodes | np.uint64(0x1FF)}, "do not form valid trees"),
        ({"nodes": SMALL.nodes | np.uint64(0x7FFFF << 13)}, "do not form valid trees"),
        ({"nodes": SMALL.nodes[:-1]}, "do not form valid trees"),
        ({"nodes": leaf_of(SMALL, np.nan)}, "start must be finite"),
        ({"nodes": leaf_of(SMALL, -np.inf)}, "start must be finite"),
        ({"nodes": SMALL.nodes.view(np.int64)}, "array of uint64"),
        ({"nodes": np.zeros((len(SMALL.nodes), 3), np.uint64)}, "one 64-bit word per node, or two"),
        ({"nodes": np.full((len(SMALL.nodes), 2), 2**64 - 1, np.uint64)}, "do not form valid trees"),
        ({"tree_start": SMALL.tree_start[::-1].copy()}, "do not form valid trees"),
        ({"tree_start": SMALL.tree_start[:-1]}, "must hold 4 integers"),
        ({"tree_start": SMALL.tree_start + 1}, "do not form valid trees"),
        ({"tree_start": SMALL.tree_start * 2**60}, "do not form valid trees"),
        ({"tree_start": np.array([0, -5, len(SMALL.nodes) - 1, len(SMALL.nodes)])}, "do not form valid"),
        ({"rules": np.array([0, 0, 4, 0, 0])}, "one valid rule per column"),
        ({"rules": np.array([1, 1])}, "one valid rule per column"),
        ({"rules": np.zeros((5, 1), np.int64)}, "array of int64"),
        ({"categories": np.ones(3, np.uint32)}, "one 64-bit word per node, or two"),
    ],
)
def test_arrays_that_do_not_form_trees_are_refused(arrays, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        ScoredForest.load(rewritten(tmp_path / "forest", SMALL, **arrays))


@pytest.mark.parametrize(
    "categories",
    [
        np.empty(0, np.uint32),
        SETS.categories[:-1],
        SETS.categories * np.uint32(0),
        np.where(np.arange(len(SETS.categories)) == 0, 2**32 - 1, SETS.categories).astype(np.uint32),
    ],
)
def test_sets_of_categories_that_are_none_are_refused(categories, tmp_path):
    with pytest.raises(FileFormatError, match="do not form valid trees"):
        ScoredForest.load(rewritten(tmp_path / "forest", SETS, categories=categories))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n_features": 1}, "do not form valid trees"),
        ({"n_features": 0}, "n_features"),
        ({"n_trees": 4}, "tree_start"),
        ({"takes_missing": 2}, "takes_missing"),
        ({"takes_infinite": -1}, "takes_infinite"),
        ({"key_bits": 48}, "key_bits"),
        ({"key_bits": 64}, "one 64-bit word per node, or two if keys are long"),
        ({"start": "0"}, "start"),
        ({"classes": [["i8", 0], ["i8", 0]]}, "classes"),
        ({"category_values": {"features": [9], "values": [["a"]]}}, "features"),
        ({"category_values": []}, "category_values"),
    ],
)
def test_fields_that_lie_are_refused(fields, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        ScoredForest.load(rewritten(tmp_path / "forest", SMALL, fields))


def test_a_forest_of_votes_is_no_forest_of_scores(tmp_path):
    SMALL.save(tmp_path / "scores")
    with pytest.raises(FileFormatError, match="expected a 'forest', found a 'scored forest'"):
        PackedForest.load(tmp_path / "scores")


def test_loading_and_running_need_no_other_library(tmp_path):
    SMALL.save(tmp_path / "forest")
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['sklearn', 'lightgbm', 'xgboost', 'pandas']))\n"
        "import numpy as np; from foregone.forest import ScoredForest\n"
        f"print(ScoredForest.load({str(tmp_path / 'forest')!r}).full_scores(np.zeros((2, 5))).tolist())"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(SMALL.full_scores(np.zeros((2, 5))).tolist())
