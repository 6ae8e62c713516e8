"""The plain meaning of imported scores of many classes: every row walks every tree, one split at a time."""

import numpy as np

from tests.forest.slow_walk import in_set, prepare


def leaf_reached(found, tree, rows):
    """The node at which each row's walk ends."""
    node = np.zeros(len(rows), np.int64)
    while (tree.left[node] >= 0).any():
        walking = np.flatnonzero(tree.left[node] >= 0)
        at = node[walking]
        value = rows[walking, tree.feature[at]]
        goes_left = value <= tree.threshold[at]
        for place in np.flatnonzero(tree.category_start[at] >= 0):
            goes_left[place] = in_set(found.categories, tree.category_start[at[place]], value[place])
        goes_left = np.where(np.isnan(value), tree.missing_left[at], goes_left)
        node[walking] = np.where(goes_left, tree.left[at], tree.right[at])
    return node


def leaf_scores(found, X):
    """What each voter adds to each class for each row, shape (n_rows, n_voters, n_classes), in float64."""
    rows, n_classes = prepare(found, X), len(found.classes)
    trees = list(found.trees())
    assert found.trees_a_round in (1, n_classes)
    width = n_classes if found.trees_a_round == 1 else 1
    said = [tree.score.reshape(-1, width)[leaf_reached(found, tree, rows)] for tree in trees]
    by_tree = np.array(said, np.float64).reshape(len(trees), len(rows), width)
    return by_tree.transpose(1, 0, 2).reshape(len(rows), -1, n_classes)


def full_sums(found, X, dtype=np.float64):
    """The start and then voter after voter, added in ``dtype``, shape (n_rows, n_classes)."""
    scores = leaf_scores(found, X)
    assert np.shape(found.start) == (len(found.classes),)
    total = np.tile(np.asarray(found.start, dtype), (len(scores), 1))
    for voter in scores.transpose(1, 0, 2):
        total += voter.astype(dtype)
    return total
