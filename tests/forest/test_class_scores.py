"""Trees with scores of many classes: walks, sums, leads and files, against plain walks and the strategy."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from foregone import ScoreStrategy, solve_scores
from foregone._kernels.forest_walk import LANES
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import ScoredForest, container, execution
from foregone.forest.leaf_table import share_leaves
from foregone.scores import rules
from tests.forest.random_scores import random_class_scores, random_rows
from tests.forest.slow_class_scores import assert_packs_the_same

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

LEAVES = ("lines", "ones", "own")
N_TREES = 2 * LANES + 9


def uneven_forest():
    """Stumps and deep trees in turn, so that later trees arrive long before earlier ones."""
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(N_TREES, min_samples_leaf=3, random_state=0).fit(X[:600], y[:600])
    stumps = RandomForestClassifier(N_TREES, max_depth=1, random_state=1).fit(X[:600], y[:600])
    model.estimators_[::3] = stumps.estimators_[::3]
    return ScoredForest.from_model(model), X[600:]


FOREST, X = uneven_forest()
SCORES = FOREST.scores(X)


def random_strategy(rng, forest):
    """Thresholds of any shape; about a third of the steps do not look."""
    shape = (forest.n_steps + 1, forest.n_classes) if forest.drops_classes else forest.n_steps + 1
    upper = np.abs(rng.normal(size=shape)) * rng.choice([0.1, 0.5, 2.0, 8.0])
    upper[rng.random(shape) < 0.2] = np.inf
    upper[rng.random(len(upper)) < 0.2] = np.inf
    upper[0], upper[-1] = rng.choice([np.inf, 0.5]), 0  # at times all rows stop before the first tree
    return ScoreStrategy.from_thresholds(
        None,
        upper,
        order=rng.permutation(forest.n_steps),
        start=forest.start,
        drops_classes=forest.drops_classes,
    )


def slow_run(strategy, scores):
    """One row after another, one step after another, one class after another."""
    answers, asked, sums = [], [], []
    for row in scores:
        running, step, n_asked = list(strategy.start), 0, 0
        while True:
            answer = strategy.decide(step, running)
            first = max(running)
            if strategy.drops_classes and 0 < step < strategy.n_steps:
                leader = running.index(first)
                for number, value in enumerate(running):
                    if number != leader and first - value >= strategy.upper[step, number]:
                        running[number] = -np.inf
            if answer is not None:
                break
            for number, score in enumerate(row[strategy.order[step]]):
                if running[number] > -np.inf:
                    running[number] += score
                    n_asked += strategy.drops_classes
            n_asked += not strategy.drops_classes
            step += 1
        answers.append(answer)
        asked.append(n_asked)
        sums.append(running)
    return np.array(answers), np.array(asked), np.array(sums)


def assert_follows(forest, rows, strategy):
    scores = forest.scores(rows)
    expected = slow_run(strategy, scores)
    outcome = forest.run(rows, strategy)
    for one, other in zip(outcome, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    for given_scores in (scores, forest.compact_scores(rows)):
        np.testing.assert_array_equal(strategy.run(given_scores), expected[:2])
    for row in range(0, len(rows), 1 + len(rows) // 25):
        answer, asked, sums = forest.run_one(rows[row], strategy)
        assert (answer, asked) == (expected[0][row], expected[1][row])
        np.testing.assert_array_equal(sums, expected[2][row])
    return outcome


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize(
    "options", [{"key_bits": 32}, {"key_bits": 64, "sets": True, "zeros": True}], ids=str
)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_scores_and_sums_are_those_of_a_plain_walk(leaves, options, seed):
    rng = np.random.default_rng(seed)
    found = random_class_scores(rng, leaves, int(rng.integers(3, 9)), int(rng.integers(1, 30)), **options)
    assert_packs_the_same(found, random_rows(rng, found, int(rng.integers(1, 40))))


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("key_bits", [32, 64])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_any_trees_do_what_the_strategy_says_about_their_scores(leaves, key_bits, seed):
    rng = np.random.default_rng(seed)
    n_classes, n_voters = int(rng.integers(3, 9)), int(rng.integers(1, 30))
    found = random_class_scores(rng, leaves, n_classes, n_voters, key_bits=key_bits)
    forest = ScoredForest.from_imported(found)
    assert (forest.n_steps, forest.n_classes) == (n_voters, n_classes)
    assert forest.n_voters == n_voters * (n_classes if leaves == "own" else 1)
    assert_follows(forest, random_rows(rng, found, int(rng.integers(1, 40))), random_strategy(rng, forest))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_forest_does_what_the_strategy_says_about_its_scores(seed):
    assert_follows(FOREST, X[:300], random_strategy(np.random.default_rng(seed), FOREST))


def test_a_strategy_that_was_solved_for_stops_early_and_keeps_to_its_word():
    strategy = solve_scores(SCORES, 0.05, order="random", random_state=0)
    outcome = assert_follows(FOREST, X, strategy)
    assert outcome.asked.mean() < N_TREES / 2
    assert (outcome.answers != FOREST.run(X, None).answers).mean() <= 0.05


@pytest.mark.parametrize("leaves", LEAVES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_curtailment_by_the_bounds_of_the_trees_never_changes_an_answer(leaves, seed):
    rng = np.random.default_rng(seed)
    found = random_class_scores(rng, leaves, 3, 12)
    forest = ScoredForest.from_imported(found)
    rows = random_rows(rng, found, 60)
    low, high = forest.score_bounds
    scores = forest.scores(rows)
    assert ((low <= scores) & (scores <= high)).all()
    order = rng.permutation(12)
    how = {"order": order, "start": forest.start, "drops_classes": forest.drops_classes}
    certain, everyone = rules.curtailment(forest.score_bounds, **how), ScoreStrategy.ask_all(12, **how)
    np.testing.assert_array_equal(forest.run(rows, certain).answers, forest.run(rows, everyone).answers)


def test_a_class_that_trails_too_far_is_asked_for_no_more():
    found = random_class_scores(np.random.default_rng(4), "own", 5, 30)
    forest = ScoredForest.from_imported(found)
    rows = random_rows(np.random.default_rng(5), found, 300)
    upper = np.append(np.full(30, 3.0), 0.0)
    each = np.repeat(upper[:, None], 5, axis=1)
    dropping = ScoreStrategy.from_thresholds(None, each, start=forest.start, drops_classes=True)
    by_lead = ScoreStrategy.from_thresholds(None, upper, start=forest.start)
    steps = by_lead.run(forest.scores(rows))[1]
    outcome = assert_follows(forest, rows, dropping)
    assert outcome.asked.mean() < 0.7 * 5 * steps.mean()
    with pytest.raises(InvalidInputError, match="use drops_classes=True"):
        forest.run(rows, ScoreStrategy.ask_all(150, start=forest.start))


def test_the_outcome_does_not_depend_on_threads_blocks_or_batches(monkeypatch):
    strategy = random_strategy(np.random.default_rng(5), FOREST)
    whole = FOREST.run(X, strategy, n_threads=1)
    for n_rows in (1, 2, 3, 4, 5, 7, 64):
        parts = [FOREST.run(X[start : start + n_rows], strategy) for start in range(0, 200, n_rows)]
        for one, other in zip(zip(*parts, strict=True), whole, strict=True):
            np.testing.assert_array_equal(np.concatenate(one)[:200], other[:200])
    monkeypatch.setattr(execution, "FIRST_ROWS", 20)
    monkeypatch.setattr(execution, "FEWEST_ROWS", 1)
    monkeypatch.setattr(execution, "WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(execution, "usable_cores", lambda: 4)
    for block_rows, n_threads in [(1, 1), (37, 3), (400, 4)]:
        monkeypatch.setattr(execution, "BLOCK_ROWS", block_rows)
        for one, other in zip(FOREST.run(X, strategy, n_threads=n_threads), whole, strict=True):
            np.testing.assert_array_equal(one, other)


def test_leaves_that_say_the_same_are_kept_once():
    rng = np.random.default_rng(0)
    found = random_class_scores(rng, "lines", 5, 9)
    forest = ScoredForest.from_imported(found)
    assert forest.table.shape[1:] == (5,)
    assert len(forest.table) <= 6
    assert len(np.unique(forest.table, axis=0)) == len(forest.table)


def test_a_table_is_of_float32_only_where_that_holds_the_same_numbers():
    found = random_class_scores(np.random.default_rng(1), "lines", 3, 4)
    trees = list(found.trees())

    def table(change):
        return share_leaves(
            found._replace(trees=lambda: (tree._replace(score=change(tree.score)) for tree in trees))
        )[1]

    assert table(lambda score: score.astype(np.float32).astype(float)).dtype == np.float32
    assert table(lambda score: score.astype(np.float32).astype(float) + 2.0**-40).dtype == np.float64


def test_pure_leaves_need_no_lines():
    forest = ScoredForest.from_imported(random_class_scores(np.random.default_rng(0), "ones", 4, 5))
    np.testing.assert_array_equal(forest.table, np.ones(4))
    assert set(np.unique(forest.scores(np.zeros((3, 5))))) == {0.0, 1.0}


def test_votes_can_be_added_up_instead_of_probabilities():
    digits, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(21, min_samples_leaf=5, random_state=0).fit(digits[:600], y[:600])
    forest = ScoredForest.from_model(model, of_votes=True)
    votes = np.stack([tree.predict(digits[600:]) for tree in model.estimators_], axis=1)
    expected = (votes[:, :, None] == np.arange(10)).sum(axis=1)
    assert forest.adds_votes
    np.testing.assert_array_equal(forest.full_scores(digits[600:]), expected)
    np.testing.assert_array_equal(forest.run(digits[600:], None).answers, expected.argmax(axis=1))
    np.testing.assert_allclose(forest.link.probability(expected.astype(float)), expected / 21, rtol=1e-15)
    with pytest.raises(InvalidInputError, match="for two, use PackedForest"):
        ScoredForest.from_model(RandomForestClassifier(3).fit(digits, y > 4), of_votes=True)


def test_copies_and_pickles_do_the_same():
    strategy = random_strategy(np.random.default_rng(3), FOREST)
    expected = FOREST.run(X, strategy)
    own = ScoredForest.from_imported(
        random_class_scores(np.random.default_rng(0), "own", key_bits=64, sets=True)
    )
    for make in (copy.copy, copy.deepcopy, lambda forest: pickle.loads(pickle.dumps(forest))):  # noqa: S301  # joblib does this between processes
        for one, two in zip(make(FOREST).run(X, strategy), expected, strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(make(own).scores(np.ones((3, 5))), own.scores(np.ones((3, 5))))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (ScoreStrategy.ask_all(7, start=np.zeros(10)), "for 7 voters, but the forest has 41"),
        (ScoreStrategy.ask_all(N_TREES), "was made with start=0.0"),
        (ScoreStrategy.ask_all(N_TREES, start=np.zeros(9)), "was made with start="),
        (ScoreStrategy.ask_all(4, start=np.zeros(10), drops_classes=True), "for 40 voters"),
    ],
)
def test_strategies_for_other_ensembles_are_refused(strategy, message):
    with pytest.raises(InvalidInputError, match=message):
        FOREST.run(X, strategy)


# Files -------------------------------------------------------------------------------------------

FOUND = {
    leaves: random_class_scores(np.random.default_rng(7), leaves, 4, 3, key_bits=bits, sets=bits == 64)
    for leaves, bits in zip(LEAVES, (32, 32, 64), strict=True)
}
FORESTS = {name: ScoredForest.from_imported(found) for name, found in FOUND.items()}


def rewritten(path, forest, fields=(), **arrays):
    """Write a file whose checksum fits, with other fields or other arrays."""
    old_fields, old_arrays = forest.to_parts()
    container.write(path, "scored forest", {**old_fields, **dict(fields)}, {**old_arrays, **arrays})
    return path


def last_leaf(forest, word):
    """The nodes with what one leaf carries replaced: the last place of a tree is always a leaf."""
    nodes = forest.nodes.copy()
    nodes[-1] = word
    return nodes


@pytest.mark.parametrize("name", FORESTS)
def test_a_loaded_forest_is_the_saved_one(name, tmp_path):
    forest, rows = FORESTS[name], random_rows(np.random.default_rng(1), FOUND[name], 30)
    forest.save(tmp_path / "one")
    loaded = ScoredForest.load(tmp_path / "one")
    np.testing.assert_array_equal(loaded.full_scores(rows), forest.full_scores(rows))
    np.testing.assert_array_equal(loaded.score_bounds, forest.score_bounds)
    np.testing.assert_array_equal(loaded.start, forest.start)
    assert (loaded.classes.tolist(), loaded.nbytes) == (forest.classes.tolist(), forest.nbytes)
    loaded.save(tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


@pytest.mark.parametrize("name", FORESTS)
@given(data=st.data())
@settings(max_examples=40)
def test_words_with_any_bits_flipped_are_refused_or_harmless(name, data, tmp_path_factory):
    forest, rows = FORESTS[name], random_rows(np.random.default_rng(1), FOUND[name], 8)
    changed = {
        key: np.array(forest.to_parts()[1][key])
        for key in ("nodes", "table")
        if forest.table is not None or key == "nodes"
    }
    for _ in range(data.draw(st.integers(1, 3))):
        words = changed[data.draw(st.sampled_from(sorted(changed)))].reshape(-1)
        words = words.view(np.uint8)
        words[data.draw(st.integers(0, len(words) - 1))] ^= np.uint8(1 << data.draw(st.integers(0, 7)))
    path = rewritten(tmp_path_factory.mktemp("flip") / "forest", forest, **changed)
    try:
        loaded = ScoredForest.load(path)
    except FileFormatError:
        return
    assert np.isfinite(loaded.full_scores(rows)).all()
    assert loaded.run_one(rows[0], None)[1] == loaded.n_voters


@pytest.mark.parametrize(
    ("name", "fields", "arrays", "message"),
    [
        ("lines", {"start": 0.0}, {}, "start"),
        ("lines", {"start": [0.0] * 3}, {}, "start"),
        ("lines", {"trees_a_round": 4}, {}, "trees_a_round"),
        ("own", {"trees_a_round": 3}, {}, "trees_a_round"),
        ("own", {"trees_a_round": 1}, {}, "trees_a_round"),
        ("own", {"adds_votes": 2}, {}, "adds_votes"),
        ("lines", {}, {"table": FORESTS["lines"].table[:, :3].copy()}, "table"),
        ("lines", {}, {"table": FORESTS["lines"].table[:1].copy()}, "missing line of scores"),
        ("lines", {}, {"table": FORESTS["lines"].table * np.nan}, "finite"),
        ("lines", {}, {"table": np.full_like(FORESTS["lines"].table, 1e308)}, "too large"),
        ("lines", {}, {"table": FORESTS["lines"].table.astype(np.int64)}, "table"),
        ("ones", {}, {"table": np.ones(5)}, "table"),
        ("lines", {}, {"nodes": last_leaf(FORESTS["lines"], 2**32)}, "missing line of scores"),
        ("ones", {}, {"nodes": last_leaf(FORESTS["ones"], 4)}, "missing line of scores"),
    ],
)  # fmt: skip
def test_files_that_lie_are_refused(name, fields, arrays, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        ScoredForest.load(rewritten(tmp_path / "forest", FORESTS[name], fields, **arrays))
