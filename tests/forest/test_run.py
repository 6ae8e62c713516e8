"""Early-stopped runs follow the strategy vote for vote, however the rows are split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import StoppingStrategy, evaluate
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, execution, packed
from tests.forest.simulation import ORDERS, bits_of_row, order_named, order_of, simulate
from tests.strategies import answering_strategies, looking_strategies

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

N_TREES = 9


def make_forest(n_trees, n_rows=300, n_features=6):
    X, y = make_classification(n_rows, n_features, n_informative=3, n_redundant=1, flip_y=0.4, random_state=0)
    model = RandomForestClassifier(n_trees, max_depth=6, random_state=0).fit(X[::2], y[::2])
    return PackedForest.from_sklearn(model), X


FOREST, X = make_forest(N_TREES)
VOTES = FOREST.vote_matrix(X)
LARGE_FOREST, LARGE_X = make_forest(51)


orders_of_trees = st.sampled_from([order_named(name, N_TREES) for name in ORDERS])


def band(n_voters, width, chance=0.0, hole=False):
    """Stop when one side leads by ``width``; one vote short of that by chance; at a tie if ``hole``."""

    def row(asked):
        lead = np.abs(2 * np.arange(asked + 1) - asked)
        stop = (lead >= width).astype(float)
        stop[lead == width - 1] = chance
        if hole and asked >= 6:
            stop[lead == 0] = 1.0
        return stop

    return StoppingStrategy.from_rows(n_voters, row)


def at_looks(strategy, looks):
    """Stop only at some steps, never in between, not even when the full vote is decided."""
    return StoppingStrategy.from_rows(
        strategy.n_voters,
        lambda asked: strategy.stop_probabilities(asked) if asked in looks else np.zeros(asked + 1),
    )


def with_answers(strategy, yes_from):
    """Stop in the same states, with other answers."""
    full_vote = strategy.n_voters // 2 + 1
    return StoppingStrategy.from_table(strategy.table(), yes_from=[*yes_from, full_vote])


STRATEGIES = {
    "two thresholds": band(51, 4),
    "stops by chance": band(51, 5, chance=0.3),
    "stops in the middle": band(51, 6, hole=True),
    "all of it": band(51, 6, chance=0.5, hole=True),
    "asks nobody": StoppingStrategy.from_rows(51, lambda asked: np.ones(asked + 1)),
    "asks nobody by chance": StoppingStrategy.from_rows(51, lambda asked: np.full(asked + 1, 0.5)),
    "asks everyone": StoppingStrategy.from_rows(51, lambda asked: np.zeros(asked + 1)),
    "has answers of its own": with_answers(band(51, 5, chance=0.3), [asked // 3 for asked in range(51)]),
    "looks every eight votes": at_looks(band(51, 5, chance=0.3), range(0, 51, 8)),
    "looks and answers": with_answers(
        at_looks(band(51, 4, hole=True), [3, 4, 20, 50]), [asked * 2 // 3 for asked in range(51)]
    ),
}


def assert_same(outcome, expected):
    for one, other in zip(outcome, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())
def test_a_run_is_the_simulation_vote_for_vote(strategy, order):
    order = order_named(order, 51)
    expected = simulate(strategy, LARGE_FOREST.vote_matrix(LARGE_X), 7, order, LARGE_X)
    outcome = LARGE_FOREST.run(LARGE_X, strategy, seed=7, order=order)
    assert [array.dtype for array in outcome] == [np.bool_, np.int32, np.int32]
    assert_same(outcome, expected)


@given(answering_strategies(N_TREES), st.integers(0, 2**64 - 1), orders_of_trees)
@settings(max_examples=60, deadline=None)
def test_any_strategy_is_followed_in_a_batch_and_row_by_row(strategy, seed, order):
    expected = simulate(strategy, VOTES[:12], seed, order, X[:12])
    assert_same(FOREST.run(X[:12], strategy, seed=seed, order=order), expected)
    for row in range(12):
        outcome = FOREST.run(X[row : row + 1], strategy, seed=seed, order=order)
        assert_same(outcome, [part[row : row + 1] for part in expected])
        single = FOREST.run_one(X[row], strategy, seed=seed, order=order)
        assert single == tuple(part[row] for part in expected)


@given(looking_strategies(N_TREES), st.integers(0, 2**64 - 1), orders_of_trees)
@settings(max_examples=60, deadline=None)
def test_no_row_stops_between_looks(looks_and_strategy, seed, order):
    looks, strategy = looks_and_strategy
    expected = simulate(strategy, VOTES[:12], seed, order, X[:12])
    outcome = FOREST.run(X[:12], strategy, seed=seed, order=order)
    assert_same(outcome, expected)
    assert set(outcome[1].tolist()) <= looks
    for row in range(3):
        single = FOREST.run_one(X[row], strategy, seed=seed, order=order)
        assert single == tuple(part[row] for part in expected)


def test_everyone_asked_gives_the_full_vote_whatever_the_answers_before():
    strategy = with_answers(STRATEGIES["asks everyone"], [0] * 51)
    answers, asked, yes = LARGE_FOREST.run(LARGE_X, strategy, seed=1)
    assert (asked == 51).all()
    np.testing.assert_array_equal(answers, 2 * yes > 51)
    for row in range(20):
        assert LARGE_FOREST.run_one(LARGE_X[row], None, seed=1)[0] is bool(answers[row])


@pytest.mark.parametrize("order", ORDERS)
def test_the_outcome_does_not_depend_on_threads_blocks_or_batches(order, monkeypatch):
    order = order_named(order, 51)
    forest, X = make_forest(51, n_rows=2000)
    strategy = STRATEGIES["all of it"]
    whole = forest.run(X, strategy, seed=3, order=order, n_threads=1)
    for n_rows in (1, 2, 3, 4, 5, 7, 64, 333):
        parts = [
            forest.run(X[start : start + n_rows], strategy, seed=3, order=order)
            for start in range(0, 400, n_rows)
        ]
        assert_same(
            [np.concatenate(part)[:400] for part in zip(*parts, strict=True)], [p[:400] for p in whole]
        )
    monkeypatch.setattr(execution, "usable_cores", lambda: 4)
    for block_rows, n_threads in [(1, 1), (37, 1), (37, 3), (500, 2), (1999, 4)]:
        monkeypatch.setattr(execution, "BLOCK_ROWS", block_rows)
        monkeypatch.setattr(execution, "FIRST_ROWS", 100)
        monkeypatch.setattr(execution, "WORTH_A_THREAD", 1e-9)
        assert_same(forest.run(X, strategy, seed=3, order=order, n_threads=n_threads), whole)
        np.testing.assert_array_equal(forest.votes(X, n_threads=n_threads), forest.vote_matrix(X).sum(axis=1))


def test_missing_values_in_some_blocks_only_change_nothing_elsewhere(monkeypatch):
    holes = X.copy()
    holes[::29, 2] = np.nan
    for order in (order_named(name, N_TREES) for name in ORDERS):
        expected = simulate(band(N_TREES, 3, chance=0.5), FOREST.vote_matrix(holes), 0, order, holes)
        for block_rows in (10_000, 10):
            monkeypatch.setattr(execution, "BLOCK_ROWS", block_rows)
            assert_same(FOREST.run(holes, band(N_TREES, 3, chance=0.5), seed=0, order=order), expected)


@pytest.mark.parametrize("order", ORDERS)
def test_a_row_has_the_same_luck_wherever_it_stands_and_whichever_type_it_has(order):
    order = order_named(order, 51)
    strategy = STRATEGIES["all of it"]
    rows = LARGE_X.astype(np.float32)
    rows[::3, 1] = 0.0
    whole = LARGE_FOREST.run(rows, strategy, seed=8, order=order)
    negative = rows.copy()
    negative[::3, 1] = -0.0
    for same in (rows.astype(np.float64), negative):
        assert_same(LARGE_FOREST.run(same, strategy, seed=8, order=order), whole)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    assert_same(
        LARGE_FOREST.run(rows[shuffled], strategy, seed=8, order=order), [part[shuffled] for part in whole]
    )


def test_rows_that_differ_have_luck_of_their_own():
    strategy = STRATEGIES["asks nobody by chance"]
    rows = np.zeros((4000, 6))
    rows[:, 3] = np.arange(4000) * 1e-3
    asked = LARGE_FOREST.run(rows, strategy, seed=1)[1]
    # Each further vote is asked with probability one half, independently from row to row.
    for n in range(6):
        assert abs((asked >= n).mean() - 0.5**n) < 5 * np.sqrt(0.25 / 4000)
    stopped = asked == 0
    assert abs(np.corrcoef(stopped[1:], stopped[:-1])[0, 1]) < 5 / np.sqrt(4000)


def test_without_a_strategy_everyone_is_asked():
    answers, asked, yes = FOREST.run(X, None, seed=5)
    np.testing.assert_array_equal(yes, VOTES.sum(axis=1))
    np.testing.assert_array_equal(answers, 2 * yes > N_TREES)
    assert (asked == N_TREES).all()


def test_the_order_is_the_one_the_seed_stands_for():
    for seed in (0, 1, 2**63, 2**64 - 1):
        assert FOREST.order(seed).tolist() == order_of(N_TREES, seed)
        assert FOREST.order(seed, X[12]).tolist() == order_of(N_TREES, seed, bits_of_row(X[12]))
    assert PackedForest.order(make_forest(1)[0], 0).tolist() == [0]


def test_orders_are_uniform():
    counts = np.zeros((4, 4))
    forest, _ = make_forest(4)
    for row in range(4000):
        counts[np.arange(4), forest.order(11, [row, 0, 0, 0, 0, 0])] += 1
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 3 / 16)


def assert_as_computed(outcomes, votes, strategy):
    """Votes asked and disagreements are within five standard deviations of the computed ones."""
    n_yes = votes.sum(axis=1)
    figures = evaluate(strategy)
    wrong = np.array([answers != (2 * n_yes > votes.shape[1]) for answers, _, _ in outcomes])
    asked = np.array([asked for _, asked, _ in outcomes])
    risk = figures.disagreement[n_yes]
    # Rows of one run may share their luck, so the spread is taken from the runs themselves.
    for seen, expected in ((wrong, risk), (asked, figures.expected_votes[n_yes])):
        means = seen.mean(axis=1)
        assert abs(means.mean() - expected.mean()) < 5 * means.std(ddof=1) / np.sqrt(len(means))
    assert 0 < risk.mean() < 0.2


@pytest.mark.parametrize("order", ["shared", "dealt", "per_row"])
def test_disagreement_and_votes_asked_are_those_computed_for_the_strategy(order):
    strategy = STRATEGIES["all of it"]
    runs = [LARGE_FOREST.run(LARGE_X, strategy, seed=seed, order=order) for seed in range(200)]
    assert_as_computed(runs, LARGE_FOREST.vote_matrix(LARGE_X), strategy)


def test_a_forest_of_one_tree_and_an_even_number_of_trees_run():
    for n_trees in (1, 2, 8):
        forest, X = make_forest(n_trees)
        strategy = band(n_trees, 2)
        for order in (order_named(name, n_trees) for name in ORDERS):
            expected = simulate(strategy, forest.vote_matrix(X), 1, order, X)
            assert_same(forest.run(X, strategy, seed=1, order=order), expected)


def test_strategies_and_seeds_can_alternate():
    first, second = band(N_TREES, 2), band(N_TREES, 4)
    apart = [simulate(s, VOTES, seed, "shared", X) for s, seed in [(first, 1), (second, 1), (second, 2)]]
    for _ in range(2):
        for (strategy, seed), expected in zip([(first, 1), (second, 1), (second, 2)], apart, strict=True):
            assert_same(FOREST.run(X, strategy, seed=seed), expected)


def test_wide_nodes_run_as_compact_ones_do(monkeypatch):
    monkeypatch.setattr("foregone.forest.layout.COMPACT_OFFSET_LIMIT", 0)
    wide, X = make_forest(51)
    assert wide.nodes.ndim == 2
    for order in (order_named(name, 51) for name in ORDERS):
        strategy = STRATEGIES["all of it"]
        expected = LARGE_FOREST.run(X, strategy, seed=9, order=order)
        assert_same(wide.run(X, strategy, seed=9, order=order), expected)
        assert_same(wide.run(X[:1], strategy, seed=9, order=order), [part[:1] for part in expected])


@pytest.mark.parametrize(("cores", "block_rows", "most"), [(2, 100, 2), (9, 100, 9), (9, 700, 3)])
def test_there_are_never_more_threads_than_cores_or_blocks(monkeypatch, cores, block_rows, most):
    forest, X = make_forest(51, n_rows=2000)
    pools = []

    class Pool(execution.ThreadPoolExecutor):
        def __init__(self, n_threads):
            pools.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(execution, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(execution, "usable_cores", lambda: cores)
    for name, value in {"BLOCK_ROWS": block_rows, "FIRST_ROWS": 100, "FEWEST_ROWS": 1}.items():
        monkeypatch.setattr(execution, name, value)
    monkeypatch.setattr(execution, "WORTH_A_THREAD", 1e-12)
    monkeypatch.setattr(execution, "BLOCKS_A_THREAD", 1e-9)  # shares do not make the blocks smaller
    forest.votes(X, n_threads=1_066)
    assert pools == [most - 1]  # this thread works too


def test_threads_end_when_one_of_them_fails(monkeypatch):
    forest, X = make_forest(51, n_rows=2000)
    monkeypatch.setattr(execution, "usable_cores", lambda: 4)
    monkeypatch.setattr(execution, "FIRST_ROWS", 100)
    monkeypatch.setattr(execution, "WORTH_A_THREAD", 1e-9)
    X[1234, 0] = np.inf
    with pytest.raises(InvalidInputError, match="infinity"):
        forest.run(X, None, seed=0, n_threads=3)


def test_an_interrupt_between_blocks_gets_through(monkeypatch):
    done = []

    def interrupted(*arguments):
        done.append(arguments)
        if len(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(execution, "BLOCK_ROWS", 50)
    monkeypatch.setattr(packed, "run_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FOREST.run(X, None, seed=0, n_threads=1)
    assert len(done) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": band(5, 2)}, "the strategy is for 5 voters, but the forest has 9 trees"),
        ({"order": "alphabetical"}, 'order must be "shared", "dealt", "per_row" or a FixedOrder'),
        ({"seed": -1}, "seed must be an integer"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": None}, "seed must be an integer"),
        ({"seed": 2**64}, "seed must be an integer"),
        ({"n_threads": 0}, "n_threads must be an integer"),
        ({"n_threads": "two"}, "n_threads must be an integer"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    options = {"strategy": band(N_TREES, 3), **options}
    strategy = options.pop("strategy")
    with pytest.raises(InvalidInputError, match=message):
        FOREST.run(X, strategy, **{"seed": 0, **options})


def test_one_row_comes_in_any_form_and_its_outcome_is_plain_numbers():
    strategy = band(N_TREES, 3)
    expected = tuple(part[5].item() for part in FOREST.run(X, strategy, seed=4))
    read_only = X[5].copy()
    read_only.setflags(write=False)
    for x in (
        X[5],
        X[5].tolist(),
        read_only,
        np.asfortranarray(X)[5],
        X[5].astype(">f8"),
        X[5].astype(object),
    ):
        outcome = FOREST.run_one(x, strategy, seed=4)
        assert outcome == expected
        assert [type(number) for number in outcome] == [bool, int, int]
    holed = X[5].copy()
    holed[1] = np.nan
    assert FOREST.run_one(holed, None, seed=0)[2] == FOREST.vote_matrix(holed[None]).sum()


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (X[:1], {}, "expected one row of 6 numbers, got an array of shape"),
        (X[0, :5], {}, "X has 5 features, but PackedForest is expecting 6 features"),
        (X[0] * np.inf, {}, "infinity or a value too large"),
        (["a"] * 6, {}, "could not convert string to float"),
        (X[0], {"seed": -1}, "seed must be"),
        (X[0], {"order": "none"}, "order must be"),
    ],
)
def test_one_row_that_makes_no_sense_is_refused(x, options, message):
    with pytest.raises(InvalidInputError, match=message):
        FOREST.run_one(x, None, **{"seed": 0, **options})
