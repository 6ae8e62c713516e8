"""The plain meaning of imported scores: each row walks each tree by itself, one comparison at a time."""

import math

import numpy as np


def prepare(found, X):
    """Rows as the trees compare them: float64, rounded to float32 first where the source does that."""
    if found.category_values is not None:
        X = found.category_values.encode(X)
    with np.errstate(over="ignore"):
        rows = np.asarray(X, dtype=np.float32 if found.key_bits == 32 else np.float64)
    rows = np.array(rows, dtype=np.float64)
    if found.zero_is_missing is not None:
        zero = np.abs(rows) <= np.float64(np.float32(1e-35))
        rows[zero & found.zero_is_missing] = np.nan
    return rows


def in_set(words, start, value):
    if not math.isfinite(value):
        return False
    whole = int(value)
    return 0 <= whole < 32 * int(words[start]) and bool(
        int(words[start + 1 + whole // 32]) >> (whole % 32) & 1
    )


def leaf_score(found, tree, row):
    node = 0
    while tree.left[node] >= 0:
        value = row[tree.feature[node]]
        if math.isnan(value):
            goes_left = tree.missing_left[node]
        elif tree.category_start[node] >= 0:
            goes_left = in_set(found.categories, tree.category_start[node], value)
        else:
            goes_left = value <= tree.threshold[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return tree.score[node]


def tree_scores(found, X):
    """What each tree adds for each row, shape (n_rows, n_trees)."""
    rows = prepare(found, X)
    trees = list(found.trees())
    scores = [[leaf_score(found, tree, row) for tree in trees] for row in rows]
    return np.array(scores, dtype=np.float64).reshape(len(rows), len(trees))


def full_scores(found, X, dtype=np.float64):
    """The start and then tree after tree, added in ``dtype``."""
    total = np.full(len(X), found.start).astype(dtype)
    for column in tree_scores(found, X).T:
        total += column.astype(dtype)
    return total


def near_thresholds(found, X, rng, limit=60):
    """Rows of X with one value moved onto, just below or just above a threshold, in float32 and float64."""
    splits = [
        (tree.feature[node], tree.threshold[node])
        for tree in found.trees()
        for node in np.flatnonzero((tree.left >= 0) & (tree.category_start < 0))
    ]
    rows = []
    for pick in rng.permutation(len(splits))[:limit]:
        feature, threshold = splits[pick]
        for near in (threshold, np.float32(threshold)):
            for value in (
                near,
                np.nextafter(near, type(near)(np.inf)),
                np.nextafter(near, type(near)(-np.inf)),
            ):
                row = X[rng.integers(len(X))].astype(np.float64)
                row[feature] = value
                rows.append(row)
    return np.array(rows)
