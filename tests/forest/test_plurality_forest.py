"""Forests of many classes: votes are the trees' own, and runs follow the strategy vote for vote."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, PluralityForest, container
from foregone.plurality import PluralityStrategy, lattice_of, rules, solve_plurality
from tests.forest.simulation import ORDERS, bits_of_row, order_named, random_bits, sequence_of
from tests.forest.test_votes import probes

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

N_CLASSES = 4
LABELS = np.array(["ash", "birch", "cherry", "douglas"])


def data(n_rows=600, seed=0, **options):
    return make_classification(
        n_rows, 6, n_informative=4, n_classes=N_CLASSES, n_clusters_per_class=1, flip_y=0.3, class_sep=0.8,
        random_state=seed, **options,
    )  # fmt: skip


X, Y = data()


def own_votes(model, X):
    """Each tree's own predict, as the number of a class of the whole."""
    trees = getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [slice(None)] * len(trees))
    said = [tree.predict(X[:, subset]) for tree, subset in zip(trees, columns, strict=True)]
    matrix = np.stack(said, axis=1)
    return np.searchsorted(model.classes_, matrix) if trees[0] is model else matrix.astype(int)


def assert_same_votes(model, X):
    forest = PluralityForest.from_sklearn(model)
    expected = own_votes(model, X)
    np.testing.assert_array_equal(forest.vote_matrix(X), expected)
    counts = np.stack([(expected == number).sum(axis=1) for number in range(len(model.classes_))], axis=1)
    np.testing.assert_array_equal(forest.votes(X), counts)
    np.testing.assert_array_equal(forest.votes(X[:1]), counts[:1])
    return forest


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(9, random_state=0),
        ExtraTreesClassifier(5, max_depth=4, random_state=0),
        RandomForestClassifier(7, min_samples_leaf=20, class_weight="balanced", random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=5), 6, max_features=0.5, random_state=0),
        DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
        DecisionTreeClassifier(max_depth=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_votes_are_each_trees_own_predict_bit_for_bit(model):
    model = model.fit(X, LABELS[Y])
    forest = assert_same_votes(model, np.concatenate([X, probes(model, X)]))
    assert forest.classes.tolist() == LABELS.tolist()


def test_a_tie_inside_a_leaf_is_for_the_first_class():
    rows, labels = np.zeros((6, 1)), [2, 1, 0, 2, 1, 0]
    forest = PluralityForest.from_sklearn(DecisionTreeClassifier().fit(rows, labels))
    assert forest.votes(rows[:1]).tolist() == [[1, 0, 0]]


def test_trees_that_saw_only_some_of_the_classes_vote_for_the_right_ones():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.integers(0, 12, 40) * 10
    model = BaggingClassifier(DecisionTreeClassifier(), 9, max_samples=8, random_state=0).fit(rows, labels)
    assert_same_votes(model, rows)


def test_missing_values_go_where_the_trees_send_them():
    rows = X.copy()
    rows[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    forest = assert_same_votes(RandomForestClassifier(7, random_state=0).fit(rows, Y), rows)
    assert forest.takes_missing
    refuses = forest.rows._replace(takes_missing=False)
    forest = PluralityForest(forest.nodes, forest.tree_start, forest.classes, refuses, forest.categories)
    with pytest.raises(InvalidInputError, match="NaN"):
        forest.votes(rows)


def test_wide_nodes_vote_as_compact_ones_do():
    many = np.random.default_rng(0).normal(size=(60, 300))
    forest = assert_same_votes(RandomForestClassifier(5, random_state=0).fit(many, Y[:60]), many)
    assert forest.nodes.ndim == 2


def test_with_two_classes_the_counts_are_those_of_a_packed_forest():
    model = RandomForestClassifier(11, max_depth=3, random_state=0).fit(X, Y > 1)
    yes = PackedForest.from_sklearn(model).votes(X)
    np.testing.assert_array_equal(PluralityForest.from_sklearn(model).votes(X), np.stack([11 - yes, yes], 1))


# Runs ----------------------------------------------------------------------------------------

N_TREES = 15
MODEL = RandomForestClassifier(N_TREES, max_depth=4, random_state=1).fit(X, Y)
FOREST = PluralityForest.from_sklearn(MODEL)
OWN = own_votes(MODEL, X)


def random_strategy(n_classes=N_CLASSES, seed=0):
    """Stops, goes on, and leaves it to chance wherever it likes."""
    lattice = lattice_of(N_TREES, n_classes)
    rng = np.random.default_rng(seed)
    stop = rng.choice([0, 0, 0, 0.3, 0.8, 1], lattice.n_states)
    stop[: lattice.level[3]], stop[lattice.level[6] : lattice.level[8]], stop[lattice.level[-2] :] = 0, 0, 1
    return PluralityStrategy.from_probabilities(lattice, stop)


def ask_everyone(n_voters):
    lattice = lattice_of(n_voters, N_CLASSES)
    stop = np.zeros(lattice.n_states)
    stop[lattice.level[-2] :] = 1
    return PluralityStrategy.from_probabilities(lattice, stop)


def solved():
    counts = FOREST.votes(X)
    return solve_plurality(counts, 0.02, n_voters=N_TREES, n_classes=N_CLASSES, confidence=None).strategy


STRATEGIES = {
    "a lead": rules.lead(N_TREES, 3),
    "solved": solved(),
    "by chance": random_strategy(),
    "any number of answers": random_strategy(None, seed=1),
    "asks everyone": ask_everyone(N_TREES),
    "asks one": rules.lead(N_TREES, 1),
}


def simulate(strategy, votes, seed, order, X, bits=bits_of_row):
    """Follow the strategy one row and one vote at a time, with `PluralityStrategy`'s own view of a state."""
    outcome = []
    for x, said in zip(X, votes, strict=True):
        row = bits(x)
        counts = {}
        for asked, tree in enumerate(sequence_of(votes.shape[1], seed, order, row), 1):
            counts[said[tree]] = counts.get(said[tree], 0) + 1
            chance = strategy.stop_probability(list(counts.values()))
            if (random_bits(seed, row, 2 * asked) >> 11) / 2**53 < chance:
                break
        # The first of equals: dicts keep the order of insertion; when all were asked, the first class.
        leader = max(counts if asked < votes.shape[1] else sorted(counts), key=counts.get)
        outcome.append((leader, asked, counts[leader]))
    return np.array(outcome).T


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_run_follows_the_strategy_vote_for_vote(name, order):
    strategy, rows, order = STRATEGIES[name], X[:150], order_named(order, N_TREES)
    expected = simulate(strategy, OWN[:150], 7, order, rows)
    outcome = FOREST.run(rows, strategy, seed=7, order=order)
    np.testing.assert_array_equal(np.array(outcome), expected)
    for k in range(20):
        one = FOREST.run_one(rows[k], strategy, seed=7, order=order)
        assert list(one) == expected[:, k].tolist()
        assert np.array_equal(np.array(FOREST.run(rows[k : k + 1], strategy, seed=7, order=order)).T[0], one)


def test_without_chance_a_run_is_the_strategys_own_run():
    strategy = STRATEGIES["a lead"]
    asked_as = OWN[:, FOREST.order(3)]
    outcome = FOREST.run(X, strategy, seed=3)
    for said, answer, asked in zip(asked_as, outcome.answers, outcome.asked, strict=True):
        assert strategy.run(said.tolist()) == (answer, asked)


def stop_after_two(n_voters):
    lattice = lattice_of(n_voters, N_CLASSES)
    stop = np.ones(lattice.n_states)
    stop[: lattice.level[2]] = 0
    return PluralityStrategy.from_probabilities(lattice, stop)


def test_of_tied_leaders_the_first_to_be_cast_is_answered_before_the_end():
    three = BaggingClassifier(DecisionTreeClassifier(), 3, random_state=0).fit(X, Y)
    forest, strategy = PluralityForest.from_sklearn(three), stop_after_two(3)
    said = own_votes(three, X)
    firsts = set()
    for seed in range(12):
        first, second = forest.order(seed)[:2]
        differ = said[:, first] != said[:, second]
        assert differ.any()
        firsts.add(int(first))
        answers, asked, votes = forest.run(X, strategy, seed=seed)
        assert (asked == 2).all()
        np.testing.assert_array_equal(answers[differ], said[differ, first])
        assert (votes[differ] == 1).all()
    assert firsts == {0, 1, 2}


@pytest.mark.parametrize("order", ORDERS)
def test_of_tied_leaders_the_first_class_is_answered_when_all_were_asked(order):
    order = order_named(order, 6)
    six = BaggingClassifier(DecisionTreeClassifier(), 6, random_state=0).fit(X, Y)
    forest = PluralityForest.from_sklearn(six)
    counts = own_votes_count(six, X)
    assert ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    full = counts.argmax(axis=1)
    for seed in range(3):
        np.testing.assert_array_equal(forest.run(X, ask_everyone(6), seed=seed, order=order).answers, full)
        for row in range(30):
            assert forest.run_one(X[row], ask_everyone(6), seed=seed, order=order)[0] == full[row]


def test_the_full_vote_is_scikit_learns_own_predict_where_leaves_are_pure():
    model = RandomForestClassifier(8, bootstrap=False, max_features=1, random_state=0).fit(X, Y)
    fresh = data(seed=5)[0]
    answers, asked, votes = PluralityForest.from_sklearn(model).run(fresh, None, seed=0)
    np.testing.assert_array_equal(answers, model.predict(fresh))  # ties, too: the first of the classes
    assert (asked == 8).all()
    np.testing.assert_array_equal(votes, own_votes_count(model, fresh).max(axis=1))


def own_votes_count(model, X):
    said = own_votes(model, X)
    return np.stack([(said == number).sum(axis=1) for number in range(len(model.classes_))], axis=1)


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_depends_on_threads_blocks_or_the_rest_of_the_batch(order, monkeypatch):
    order = order_named(order, N_TREES)
    monkeypatch.setattr("foregone.forest.execution.usable_cores", lambda: 2)
    rows = np.concatenate([X] * 6)
    strategy = STRATEGIES["by chance"]
    one, two = (np.array(FOREST.run(rows, strategy, seed=1, order=order, n_threads=n)) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one[:, : len(X)], one[:, -len(X) :])
    for n_rows in (1, 2, 5, 40):
        part = np.array(FOREST.run(rows[:n_rows], strategy, seed=1, order=order))
        np.testing.assert_array_equal(one[:, :n_rows], part)
    monkeypatch.setattr("foregone.forest.execution.BLOCK_ROWS", 50)
    np.testing.assert_array_equal(np.array(FOREST.run(rows, strategy, seed=1, order=order)), one)


def test_missing_values_in_some_blocks_only_change_nothing_elsewhere(monkeypatch):
    holes = X.copy()
    holes[::29, 2] = np.nan
    model = RandomForestClassifier(N_TREES, max_depth=4, random_state=1).fit(holes, Y)
    forest, strategy = PluralityForest.from_sklearn(model), STRATEGIES["by chance"]
    for order in (order_named(name, N_TREES) for name in ORDERS):
        expected = simulate(strategy, own_votes(model, holes[:100]), 3, order, holes[:100])
        for block_rows in (1000, 10):
            monkeypatch.setattr("foregone.forest.execution.BLOCK_ROWS", block_rows)
            outcome = forest.run(holes[:100], strategy, seed=3, order=order)
            np.testing.assert_array_equal(np.array(outcome), expected)


def test_a_strategy_for_other_voters_or_fewer_answers_is_refused():
    with pytest.raises(InvalidInputError, match="for 9 voters, but the forest has 15 trees"):
        FOREST.run(X, rules.lead(9, 2), seed=0)
    with pytest.raises(InvalidInputError, match="at most 3 different answers, but the forest has 4"):
        FOREST.run(X, random_strategy(3), seed=0)
    with pytest.raises(InvalidInputError, match="order must be"):
        FOREST.run(X, STRATEGIES["a lead"], seed=0, order="sorted")


def test_values_that_cannot_be_taken_are_refused():
    bad = X[:3].copy()
    bad[1, 2] = np.inf
    for rows in (bad, bad[1:2]):
        with pytest.raises(InvalidInputError, match="infinity"):
            FOREST.run(rows, STRATEGIES["a lead"], seed=0)


# Files ---------------------------------------------------------------------------------------


def test_a_saved_forest_and_a_pickled_one_run_as_before(tmp_path):
    model = RandomForestClassifier(N_TREES, max_depth=4, random_state=1).fit(X, LABELS[Y])
    forest = PluralityForest.from_sklearn(model)
    forest.save(tmp_path / "forest")
    strategy = STRATEGIES["solved"]
    expected = np.array(forest.run(X, strategy, seed=2))
    copied = pickle.loads(pickle.dumps(forest))  # noqa: S301  # our own
    for other in (PluralityForest.load(tmp_path / "forest"), copied):
        np.testing.assert_array_equal(np.array(other.run(X, strategy, seed=2)), expected)
        assert other.classes.tolist() == LABELS.tolist()
        assert not other.nodes.flags.writeable


def test_files_and_pickles_from_before_other_rows_were_taken_are_read(tmp_path):
    fields, arrays = FOREST.to_parts()
    for name in ("takes_infinite", "key_bits", "array_bits", "category_values"):
        del fields[name]
    del arrays["rules"], arrays["categories"]
    container.write(tmp_path / "old", "plurality forest", fields, arrays)
    unpickled = PluralityForest.__new__(PluralityForest)
    kept = ("nodes", "tree_start", "n_trees", "n_features", "classes", "takes_missing")
    unpickled.__setstate__({name: getattr(FOREST, name) for name in kept})
    strategy = STRATEGIES["solved"]
    expected = np.array(FOREST.run(X, strategy, seed=2))
    for old in (PluralityForest.load(tmp_path / "old"), unpickled):
        np.testing.assert_array_equal(np.array(old.run(X, strategy, seed=2)), expected)
        assert list(old.run_one(X[0], strategy, seed=2)) == expected[:, 0].tolist()
        assert not old.rows.takes_infinite


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda fields, arrays: fields.update(classes=fields["classes"][:1]), "different labels"),
        (lambda fields, arrays: fields.update(classes=fields["classes"][:1] * 4), "different labels"),
        (lambda fields, arrays: fields.update(classes=fields["classes"][:3]), "unknown class"),
        (lambda fields, arrays: arrays.update(nodes=arrays["nodes"][::-1].copy()), "do not form valid trees"),
        (
            lambda fields, arrays: arrays.update(nodes=arrays["nodes"].view(np.int64)),
            "must be an array of uint64",
        ),
        (lambda fields, arrays: arrays.pop("tree_start"), "is missing"),
        (lambda fields, arrays: fields.update(n_trees=14), "15 integers"),
    ],
)
def test_no_file_however_wrong_gets_past_the_checks(change, complaint, tmp_path):
    fields, arrays = FOREST.to_parts()
    fields, arrays = json.loads(json.dumps(fields)), dict(arrays)
    change(fields, arrays)
    container.write(tmp_path / "wrong", "plurality forest", fields, arrays)
    with pytest.raises(FileFormatError, match=complaint):
        PluralityForest.load(tmp_path / "wrong")


def test_a_file_of_a_forest_of_another_kind_is_refused(tmp_path):
    PackedForest.from_sklearn(RandomForestClassifier(3, random_state=0).fit(X, Y > 1)).save(tmp_path / "two")
    with pytest.raises(FileFormatError, match="expected a 'plurality forest'"):
        PluralityForest.load(tmp_path / "two")
