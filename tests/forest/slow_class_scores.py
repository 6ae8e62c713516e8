"""The plain meaning of imported scores of many classes: trees are walked node by node, added one by one."""

import numpy as np

from foregone.forest import ScoredForest
from tests.forest.slow_walk import in_set, prepare


def leaves_reached(found, tree, rows):
    """The leaf of a tree that each row reaches; ``rows`` are prepared."""
    reached = np.empty(len(rows), np.int64)
    waiting = [(0, np.arange(len(rows)))]
    while waiting:
        node, here = waiting.pop()
        if tree.left[node] < 0:
            reached[here] = node
            continue
        values = rows[here, tree.feature[node]]
        start = tree.category_start[node]
        if start >= 0:
            goes_left = np.array([in_set(found.categories, start, value) for value in values], bool)
        else:
            goes_left = values <= tree.threshold[node]
        goes_left = np.where(np.isnan(values), tree.missing_left[node], goes_left)
        waiting += [(tree.left[node], here[goes_left]), (tree.right[node], here[~goes_left])]
    return reached


def class_scores(found, X):
    """What each voter adds to the sum of each class, shape (n_rows, n_voters, n_classes)."""
    rows = prepare(found, X)
    said = [tree.score[leaves_reached(found, tree, rows)] for tree in found.trees()]
    n_classes = len(found.classes)
    if found.trees_a_round == 1:
        assert all(scores.shape == (len(rows), n_classes) for scores in said)
        return np.stack(said, axis=1)
    assert found.trees_a_round == n_classes
    assert all(scores.shape == (len(rows),) for scores in said)
    return np.stack(said, axis=1).reshape(len(rows), -1, n_classes)


def class_sums(found, X, dtype=np.float64):
    """The start and then voter after voter, added in ``dtype``, shape (n_rows, n_classes)."""
    assert np.shape(found.start) == found.classes.shape
    scores = class_scores(found, X)
    total = np.tile(np.asarray(found.start, dtype), (len(scores), 1))
    for voter in range(scores.shape[1]):
        total += scores[:, voter].astype(dtype)
    return total


def class_votes(found, X):
    """The number of the class that each tree votes for, shape (n_rows, n_trees)."""
    rows = prepare(found, X)
    return np.stack([tree.vote[leaves_reached(found, tree, rows)] for tree in found.trees()], axis=1)


def assert_packs_the_same(found, X):
    """A `ScoredForest` adds up the same numbers in the same order, bit for bit."""
    forest = ScoredForest.from_imported(found)
    np.testing.assert_array_equal(forest.scores(X), class_scores(found, X))
    sums = class_sums(found, X)
    outcome = forest.run(X, None)
    np.testing.assert_array_equal(forest.full_scores(X), sums)
    np.testing.assert_array_equal(outcome.answers, sums.argmax(axis=1))
    np.testing.assert_array_equal(forest.full_scores(X[:1]), sums[:1])
    np.testing.assert_array_equal(forest.classes, found.classes)
