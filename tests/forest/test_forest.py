"""What forests of every kind of leaf share: making, running, files and pickles."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import Forest, PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.by_model import import_model
from foregone.forest.importers.found import LeafKind
from tests.forest.random_scores import random_rows, random_scores

X, Y = make_classification(200, 6, flip_y=0.2, random_state=0)
MODEL = RandomForestClassifier(7, max_depth=5, random_state=0).fit(X, Y)
KINDS = [PackedForest, PluralityForest, ScoredForest]
every_kind = pytest.mark.parametrize("kind", KINDS)


def made(kind):
    return kind.from_imported(import_model(MODEL, LeafKind.SCORE))


def says(forest, rows):
    return forest.scores(rows) if isinstance(forest, ScoredForest) else forest.vote_matrix(rows)


@every_kind
def test_each_kind_is_a_forest_of_the_same_trees(kind):
    forest = made(kind)
    assert isinstance(forest, Forest)
    assert (forest.n_trees, forest.n_voters, forest.n_features, forest.n_classes) == (7, 7, 6, 2)
    assert forest.takes_missing
    assert forest.rows.owner == kind.__name__
    assert repr(forest).startswith(f"<{kind.__name__} of 7 trees, 6 features, ")
    assert says(forest, X).dtype == forest.leaf.dtype


def test_leaves_say_what_they_are_asked_for():
    votes = np.stack([tree.predict(X) for tree in MODEL.estimators_], axis=1)
    np.testing.assert_array_equal(made(PackedForest).vote_matrix(X), votes == 1)
    np.testing.assert_array_equal(made(PluralityForest).vote_matrix(X), votes)
    shares = np.stack([tree.predict_proba(X)[:, 1] for tree in MODEL.estimators_], axis=1)
    np.testing.assert_array_equal(made(ScoredForest).scores(X), shares - 0.5)


@every_kind
def test_a_file_may_take_no_more_memory_than_it_is_given(kind, tmp_path):
    forest = made(kind)
    forest.classes = np.array(["no", "x" * 9999])
    forest.save(tmp_path / "forest")
    assert kind.load(tmp_path / "forest").classes.tolist() == forest.classes.tolist()
    with pytest.raises(FileFormatError, match="memory"):
        kind.load(tmp_path / "forest", max_memory=1)


@every_kind
def test_a_pickle_holds_arrays_and_numbers_where_rows_are_plain(kind):
    forest = made(kind)
    state = forest.__getstate__()
    assert {"rows", "categories"}.isdisjoint(state)
    assert not any(name.startswith("_") for name in state)
    back = pickle.loads(pickle.dumps(forest))  # noqa: S301  # just pickled
    assert back.rows == forest.rows
    np.testing.assert_array_equal(says(back, X), says(forest, X))


@every_kind
def test_pickles_of_earlier_releases_are_read(kind):
    """They held what is made anew today: the shape of a row, or the bounds of the scores."""
    forest = made(kind)
    old = {**forest.__getstate__(), "_row_shape": (1,), "_bounds": None}
    back = kind.__new__(kind)
    back.__setstate__(old)
    np.testing.assert_array_equal(says(back, X), says(forest, X))
    if kind is ScoredForest:
        old = {**old, "rows": forest.rows, "categories": forest.categories}
        del old["takes_missing"]
        back.__setstate__(old)
        np.testing.assert_array_equal(says(back, X), says(forest, X))


def test_a_pickle_of_other_rows_keeps_them():
    found = random_scores(np.random.default_rng(0), 64, sets=True, takes_infinite=True)
    rows = random_rows(np.random.default_rng(1), found, 20)
    for kind in (PackedForest, PluralityForest, ScoredForest):
        forest = kind.from_imported(found._replace(trees_vote=True))
        back = pickle.loads(pickle.dumps(forest))  # noqa: S301  # just pickled
        np.testing.assert_array_equal(says(back, rows), says(forest, rows))


@pytest.mark.parametrize("change", [{}, {"takes_infinite": True}, {"key_bits": 64}, {"sets": True}])
def test_votes_of_two_classes_can_be_counted_by_number_too(change):
    found = random_scores(np.random.default_rng(0), **change)._replace(trees_vote=True)
    rows = random_rows(np.random.default_rng(1), found, 50)
    numbers = PluralityForest.from_imported(found).vote_matrix(rows)
    np.testing.assert_array_equal(numbers, PackedForest.from_imported(found).vote_matrix(rows))


def test_one_row_of_many_classes_needs_a_strategy():
    with pytest.raises(InvalidInputError, match="needs a strategy"):
        made(PluralityForest).run_one(X[0], None, seed=0)


def test_votes_among_more_classes_are_by_number():
    many = RandomForestClassifier(3, random_state=0).fit(X, np.arange(len(X)) % 3)
    assert PluralityForest.from_imported(import_model(many, LeafKind.CLASS)).n_classes == 3
    found = import_model(many, LeafKind.VOTE)
    with pytest.raises(InvalidInputError, match="expected a model of two classes, got 3"):
        PackedForest.from_imported(found)
