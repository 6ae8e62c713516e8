"""Trees asked until a strategy on scores stops: what the strategy says about the matrix of scores."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import ScoreStrategy, solve_scores
from foregone._kernels.forest_walk import LANES
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest, execution, scored
from tests.forest.random_scores import random_rows, random_scores

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

N_TREES = 2 * LANES + 9


def uneven_forest():
    """Stumps and deep trees in turn, so that later trees arrive long before earlier ones."""
    X, y = make_classification(900, 6, n_informative=3, n_redundant=1, flip_y=0.4, random_state=0)
    model = RandomForestClassifier(N_TREES, min_samples_leaf=3, random_state=0).fit(X[::2], y[::2])
    stumps = RandomForestClassifier(N_TREES, max_depth=1, random_state=1).fit(X[::2], y[::2])
    model.estimators_[::3] = stumps.estimators_[::3]
    return ScoredForest.from_model(model), X[1::2]


FOREST, X = uneven_forest()
SCORES = FOREST.scores(X)


def random_strategy(rng, n_trees, start=0.0):
    """Thresholds of any shape; about a third of the steps do not look on one side or at all."""
    lower, upper = -np.abs(rng.normal(size=(2, n_trees + 1))) * rng.choice([0.1, 0.5, 2.0]) * [[1], [-1]]
    lower[rng.random(n_trees + 1) < 0.3] = -np.inf
    upper[rng.random(n_trees + 1) < 0.3] = np.inf
    lower[0], upper[0] = rng.choice([-np.inf, start]), np.inf  # at times all rows stop before the first tree
    lower[-1] = upper[-1] = 0
    return ScoreStrategy.from_thresholds(lower, upper, order=rng.permutation(n_trees), start=start)


def running(strategy, scores, asked):
    """The running score at the stop, added one by one."""
    total = np.full(len(scores), strategy.start)
    for step, voter in enumerate(strategy.order):
        total = np.where(step < asked, total + scores[:, voter], total)
    return total


def assert_follows(forest, rows, scores, strategy):
    answers, asked = strategy.run(scores)
    outcome = forest.run(rows, strategy)
    np.testing.assert_array_equal(outcome.answers, answers)
    np.testing.assert_array_equal(outcome.asked, asked)
    np.testing.assert_array_equal(outcome.score, running(strategy, scores, asked))
    for row in range(0, len(rows), 1 + len(rows) // 25):
        one = forest.run_one(rows[row], strategy)
        assert one == (answers[row], asked[row], outcome.score[row])
        assert [type(part) for part in one] == [bool, int, float]
    return outcome


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_a_forest_does_what_the_strategy_says_about_its_scores(seed):
    assert_follows(FOREST, X, SCORES, random_strategy(np.random.default_rng(seed), N_TREES))


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("sets", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_any_trees_do_what_the_strategy_says_about_their_scores(key_bits, sets, seed):
    rng = np.random.default_rng(seed)
    found = random_scores(rng, key_bits, n_trees=int(rng.integers(1, 30)), sets=sets)
    forest = ScoredForest.from_imported(found)
    rows = random_rows(rng, found, int(rng.integers(1, 40)))
    strategy = random_strategy(rng, forest.n_trees, forest.start)
    assert_follows(forest, rows, forest.scores(rows), strategy)


def test_a_strategy_that_was_solved_for_stops_early_and_keeps_to_its_word():
    strategy = solve_scores(SCORES, 0.05, order="random", random_state=0)
    outcome = assert_follows(FOREST, X, SCORES, strategy)
    assert outcome.asked.mean() < N_TREES / 2
    assert (outcome.answers != (FOREST.full_scores(X) > 0)).mean() <= 0.05


def test_without_a_strategy_every_tree_is_asked_in_the_models_order():
    everyone = ScoreStrategy.ask_all(N_TREES)
    outcome = FOREST.run(X, None)
    assert (outcome.asked == N_TREES).all()
    for one, other in zip(outcome, FOREST.run(X, everyone), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(outcome.score, running(everyone, SCORES, np.full(len(X), N_TREES)))


def test_looks_at_every_tenth_tree_only():
    lower = np.full(N_TREES + 1, -np.inf)
    lower[10::10], lower[-1] = -0.6, 0
    strategy = ScoreStrategy.from_thresholds(lower, -lower, order=np.arange(N_TREES)[::-1])
    outcome = assert_follows(FOREST, X, SCORES, strategy)
    assert set(outcome.asked.tolist()) <= {*range(10, N_TREES, 10), N_TREES}


def test_the_outcome_does_not_depend_on_threads_blocks_or_batches(monkeypatch):
    strategy = random_strategy(np.random.default_rng(5), N_TREES)
    whole = FOREST.run(X, strategy, n_threads=1)
    for n_rows in (1, 2, 3, 4, 5, 7, 64):
        parts = [FOREST.run(X[start : start + n_rows], strategy) for start in range(0, 200, n_rows)]
        for one, other in zip(zip(*parts, strict=True), whole, strict=True):
            np.testing.assert_array_equal(np.concatenate(one)[:200], other[:200])
    monkeypatch.setattr(execution, "FIRST_ROWS", 20)
    monkeypatch.setattr(execution, "FEWEST_ROWS", 1)
    monkeypatch.setattr(execution, "WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(execution, "usable_cores", lambda: 4)
    for block_rows, n_threads in [(1, 1), (37, 1), (37, 3), (100, 2), (400, 4)]:
        monkeypatch.setattr(execution, "BLOCK_ROWS", block_rows)
        for one, other in zip(FOREST.run(X, strategy, n_threads=n_threads), whole, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(FOREST.scores(X), SCORES)


def test_missing_values_in_some_blocks_only_change_nothing_elsewhere(monkeypatch):
    holes = X.copy()
    holes[::29, 2] = np.nan
    scores = FOREST.scores(holes)
    monkeypatch.setattr(execution, "BLOCK_ROWS", 10)
    np.testing.assert_array_equal(FOREST.scores(holes), scores)
    assert_follows(FOREST, holes, scores, random_strategy(np.random.default_rng(6), N_TREES))


def test_strategies_can_alternate():
    strategies = [random_strategy(np.random.default_rng(seed), N_TREES) for seed in (1, 2)]
    for _ in range(2):
        for strategy in [*strategies, None]:
            expected = (strategy or ScoreStrategy.ask_all(N_TREES)).run(SCORES)
            np.testing.assert_array_equal(FOREST.run(X, strategy)[:2], expected)


def test_copies_and_pickles_do_the_same():
    strategy = random_strategy(np.random.default_rng(3), N_TREES)
    expected = FOREST.run(X, strategy)
    with_sets = ScoredForest.from_imported(random_scores(np.random.default_rng(0), 64, sets=True))
    rows = np.ones((3, 5))
    for make in (copy.copy, copy.deepcopy, lambda forest: pickle.loads(pickle.dumps(forest))):  # noqa: S301  # joblib does this between processes
        other = make(FOREST)
        for one, two in zip(other.run(X, strategy), expected, strict=True):
            np.testing.assert_array_equal(one, two)
        assert other.run_one(X[0], strategy) == FOREST.run_one(X[0], strategy)
        assert not other.nodes.flags.writeable
        np.testing.assert_array_equal(make(with_sets).scores(rows), with_sets.scores(rows))


def test_an_interrupt_between_blocks_gets_through(monkeypatch):
    done = []

    def interrupted(*arguments):
        done.append(arguments)
        if len(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(execution, "BLOCK_ROWS", 50)
    monkeypatch.setattr(scored, "run_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FOREST.run(X, None, n_threads=1)
    assert len(done) == 3


def test_one_row_comes_in_any_form():
    strategy = random_strategy(np.random.default_rng(8), N_TREES)
    expected = FOREST.run_one(X[5], strategy)
    read_only = X[5].copy()
    read_only.setflags(write=False)
    for x in (X[5].tolist(), read_only, np.asfortranarray(X)[5], X[5].astype(">f8"), X[5].astype(object)):
        assert FOREST.run_one(x, strategy) == expected
    assert FOREST.run(np.asfortranarray(X)[5:6], strategy)[1] == expected[1]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            X,
            {"strategy": ScoreStrategy.ask_all(7)},
            "for 7 voters, but the forest has 41 trees: solve with n_voters=41",
        ),
        (
            X,
            {"strategy": ScoreStrategy.ask_all(N_TREES, start=0.5)},
            "start=0.5, but the forest starts at 0.0: make",
        ),
        (X, {"n_threads": 0}, "n_threads must be an integer"),
        (X[:, :5], {}, "X has 5 features, but ScoredForest is expecting 6 features"),
        (X[:0], {}, "0 sample"),
        (X[0], {}, "Expected 2D array"),
        (X * np.inf, {}, "infinity or a value too large for dtype"),
        (X[:1] * np.inf, {}, "infinity or a value too large for dtype"),
    ],
)
def test_what_makes_no_sense_is_refused(rows, options, message):
    with pytest.raises(InvalidInputError, match=message):
        FOREST.run(rows, **{"strategy": None, **options})


def test_values_can_be_refused_without_asking_any_tree():
    FOREST.refuse_values(X)
    for bad in (np.inf, 1e300):
        rows = X.copy()
        rows[17, 2] = bad
        with pytest.raises(InvalidInputError, match="infinity"):
            FOREST.refuse_values(rows)
