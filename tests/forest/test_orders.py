"""Orders of the trees: shared, dealt over several, drawn for each row, or given."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

from foregone import rules
from foregone._kernels.forest_random import stop_draw
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import FixedOrder, PackedForest, PluralityForest, schedule
from foregone.forest.schedule import N_ORDERS, bits_of_rows, dealt_orders, read_order, row_bits
from foregone.plurality import rules as plurality_rules
from foregone.strategy.json_file import Fields
from tests.forest.simulation import ORDERS, bits_of_row, dealt_to, order_named, order_of, sequence_of

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

N_TREES = 15
X, Y = make_moons(3000, noise=0.4, random_state=0)
MODEL = RandomForestClassifier(N_TREES, random_state=0).fit(X[:300], Y[:300])
FOREST = PackedForest.from_sklearn(MODEL)
PLURALITY_FOREST = PluralityForest.from_sklearn(MODEL)
STRATEGY = rules.lead(N_TREES, 2)
PLURALITY_STRATEGY = plurality_rules.lead(N_TREES, 2)
BOTH = [(FOREST, STRATEGY), (PLURALITY_FOREST, PLURALITY_STRATEGY)]


# Dealt ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_rows_are_dealt_as_the_plain_generator_says(seed):
    bits = bits_of_rows(X[:200])
    assert dealt_orders(seed, bits, 13).tolist() == [dealt_to(seed, bits_of_row(x), 13) for x in X[:200]]
    assert (dealt_orders(seed, bits, 1) == 0).all()


@pytest.mark.parametrize("n_orders", [2, 7, N_ORDERS])
def test_rows_are_spread_evenly_over_the_orders_and_anew_with_each_seed(n_orders):
    bits = bits_of_rows(X)
    one, other = (dealt_orders(seed, bits, n_orders) for seed in (1, 2))
    assert stats.chisquare(np.bincount(one, minlength=n_orders)).pvalue > 1e-4
    together = np.bincount(one * n_orders + other, minlength=n_orders**2)
    assert stats.chisquare(together).pvalue > 1e-4


def test_which_order_a_row_gets_says_nothing_about_its_draws():
    bits, n_rows = bits_of_rows(X), len(X)
    half = dealt_orders(3, bits, 2) == 1
    stops = np.array([stop_draw(3, row, 1) for row in bits]) < 2**52
    assert abs(np.mean(half == stops) - 0.5) < 5 * np.sqrt(0.25 / n_rows)


@pytest.mark.parametrize("n_orders", [2, 3, 500])
@pytest.mark.parametrize(("forest", "strategy"), BOTH, ids=["two", "many"])
def test_any_number_of_orders_is_followed_in_a_batch_and_by_a_row_alone(
    forest, strategy, n_orders, monkeypatch
):
    monkeypatch.setattr(schedule, "N_ORDERS", n_orders)
    seed = 1000 + n_orders  # not that of a schedule made before
    dealt = dealt_orders(seed, bits_of_rows(X), n_orders)
    outcome = [np.array(part) for part in forest.run(X, strategy, seed=seed, order="dealt")]
    shared = [np.array(part) for part in forest.run(X, strategy, seed=seed, order="shared")]
    for number in np.unique(dealt)[:5]:
        rows = dealt == number
        order = FixedOrder(order_of(N_TREES, seed, 2**64 - 1 - int(number)))
        assert forest.order(seed, X[rows][0], "dealt").tolist() == order.voters.tolist()
        expected = forest.run(X[rows], strategy, seed=seed, order=order)
        for part, same in zip(outcome, expected, strict=True):
            np.testing.assert_array_equal(part[rows], same)
        for place in np.flatnonzero(rows)[:20]:
            alone = forest.run_one(X[place], strategy, seed=seed, order="dealt")
            assert alone == tuple(part[place] for part in outcome)
        if number == 0:  # the first is the shared one
            for part, same in zip(outcome, shared, strict=True):
                np.testing.assert_array_equal(part[rows], same[rows])
    assert (outcome[1] != shared[1]).any()


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize(("forest", "strategy"), BOTH, ids=["two", "many"])
def test_equal_rows_get_equal_answers(forest, strategy, name):
    order = order_named(name, N_TREES)
    rows = np.repeat(X[:40], 9, axis=0)
    places = np.random.default_rng(0).permutation(len(rows))
    for part in forest.run(rows[places], strategy, seed=2, order=order):
        assert (part[np.argsort(places)].reshape(40, 9).std(axis=1) == 0).all()


def test_luck_evens_out_over_dealt_orders():
    full = FOREST.votes(X) * 2 > N_TREES
    spread = {}
    for order in ("shared", "dealt"):
        runs = [FOREST.run(X, STRATEGY, seed=seed, order=order)[0] for seed in range(60)]
        spread[order] = np.std([np.mean(answers != full) for answers in runs])
    assert spread["dealt"] < spread["shared"] / 2


# Given ---------------------------------------------------------------------------------------


def test_a_fixed_order_asks_voters_as_they_stand_in_it():
    order = FixedOrder(np.arange(N_TREES)[::-1])
    votes = FOREST.vote_matrix(X)[:, ::-1]
    answers, asked, yes = FOREST.run(X, STRATEGY, seed=0, order=order)
    for k in range(300):
        n_asked = n_yes = 0
        while not STRATEGY.stop_probability(n_asked, n_yes):
            n_yes += int(votes[k, n_asked])
            n_asked += 1
        assert (answers[k], asked[k], yes[k]) == (STRATEGY.answer(n_asked, n_yes), n_asked, n_yes)
    other = FOREST.run(X, STRATEGY, seed=1, order=order)
    np.testing.assert_array_equal(other[1], asked)  # there is nothing left for the seed to draw
    given = FixedOrder(FOREST.order(5))
    for one, same in zip(
        FOREST.run(X, STRATEGY, seed=5), FOREST.run(X, STRATEGY, seed=5, order=given), strict=True
    ):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    ("voters", "message"),
    [
        ([0, 1, 1], "each number from 0 to 2 once"),
        ([1, 2, 3], "each number from 0 to 2 once"),
        ([0, -1, 1], "each number from 0 to 2 once"),
        ([0.0, 1.0], "integers"),
        ([[0, 1]], "one row of integers"),
        ([], "one row of integers"),
        (3, "one row of integers"),
        (["a", "b"], "must be numbers"),
        ([True, False], "integers"),
    ],
)
def test_what_is_no_order_of_voters_is_refused(voters, message):
    with pytest.raises(InvalidInputError, match=message):
        FixedOrder(voters)


@pytest.mark.parametrize(("forest", "strategy"), BOTH, ids=["two", "many"])
def test_an_order_of_other_voters_or_a_bare_list_is_refused(forest, strategy):
    forest.run(X[:2], strategy, seed=0)
    for wrong, message in [
        (FixedOrder([1, 0]), "each of the 15 voters once, but it has 2"),
        (np.arange(N_TREES), "or a FixedOrder, got array"),
        (list(range(N_TREES)), "or a FixedOrder, got"),
        (None, "or a FixedOrder, got None"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            forest.run(X[:2], strategy, seed=0, order=wrong)
        with pytest.raises(InvalidInputError, match=message):
            forest.run_one(X[0], strategy, seed=0, order=wrong)


def test_a_fixed_order_cannot_change_and_is_equal_to_itself_alone():
    given = np.array([2, 0, 1])
    order = FixedOrder(given)
    given[0] = 7
    for same in (order, pickle.loads(pickle.dumps(order)), copy.deepcopy(order)):  # noqa: S301  # our own
        assert same.voters.tolist() == [2, 0, 1]
        with pytest.raises(ValueError, match="read-only"):
            same.voters[0] = 1
    assert len({order, order, FixedOrder(order.voters)}) == 2
    assert repr(order) == "<FixedOrder of 3 voters>"


def test_orders_and_seeds_can_alternate():
    orders = [order_named(name, N_TREES) for name in ORDERS] + [FixedOrder(np.arange(N_TREES))]
    for forest, strategy in BOTH:
        alone = {}
        for _ in range(2):
            for place, order in enumerate(orders):
                outcome = forest.run_one(X[1], strategy, seed=place, order=order)
                whole = forest.run(X[:30], strategy, seed=place, order=order)
                assert alone.setdefault(place, outcome) == outcome == tuple(part[1] for part in whole)


# Which one -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 3, 2**63])
def test_a_forest_tells_the_order_in_which_it_asks_about_a_row(seed):
    for x in X[:20]:
        row = bits_of_row(x)
        for name in ORDERS:
            order = order_named(name, N_TREES)
            assert FOREST.order(seed, x, order).tolist() == sequence_of(N_TREES, seed, order, row)
        assert FOREST.order(seed, x).tolist() == order_of(N_TREES, seed, row)
    assert FOREST.order(seed).tolist() == FOREST.order(seed, order="shared").tolist()
    assert FOREST.order(seed, order=order_named("fixed", N_TREES)).tolist() == (
        order_named("fixed", N_TREES).voters.tolist()
    )
    for name in ("dealt", "per_row"):
        with pytest.raises(InvalidInputError, match=f'order="{name}" depends on the row: pass the row'):
            FOREST.order(seed, order=name)
    with pytest.raises(InvalidInputError, match="order must be"):
        FOREST.order(seed, X[0], "sorted")


def test_bits_of_a_row_do_not_depend_on_the_rows_beside_it():
    rows = X[:50].copy()
    rows[::7, 1] = np.nan
    rows[3, 0], rows[4, 0] = np.inf, -0.0
    assert bits_of_rows(rows).tolist() == [row_bits(x) for x in rows]
    unsigned = [bits_of_row(x) for x in rows]
    assert [int(bits) % 2**64 for bits in bits_of_rows(rows)] == unsigned


def test_where_everyone_is_asked_no_order_matters():
    for forest, _ in BOTH:
        expected = forest.run(X, None, seed=0)
        for name in ORDERS:
            outcome = forest.run(X, None, seed=3, order=order_named(name, N_TREES))
            for one, other in zip(outcome, expected, strict=True):
                np.testing.assert_array_equal(one, other)
    for name in ORDERS:
        alone = FOREST.run_one(X[0], None, seed=3, order=order_named(name, N_TREES))
        assert alone[1:] == (N_TREES, FOREST.votes(X[:1])[0])


def test_files_name_orders():
    for order in ("shared", "dealt", "per_row"):
        assert read_order(Fields({"order": order}, "file"), "order") == order
    with pytest.raises(FileFormatError, match='must be "shared", "dealt" or "per_row"'):
        read_order(Fields({"order": "sorted"}, "file"), "order")


def test_files_hold_fixed_orders():
    fixed = read_order(Fields({"runs_in": [2, 0, 1]}, "file"), "runs_in")
    assert isinstance(fixed, FixedOrder)
    assert fixed.voters.tolist() == [2, 0, 1]
    for wrong in ([0, 0, 1], [1, 2, 3], [0.5], 7, [[0]]):
        with pytest.raises(FileFormatError, match="runs_in"):
            read_order(Fields({"runs_in": wrong}, "file"), "runs_in")
