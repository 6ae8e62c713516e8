"""Ensembles made up at random, of every format that trees with scores can have."""

import numpy as np

from foregone.forest.importers.found import Found, Tree

VALUES = np.array([-np.inf, -1e30, -1.5, -1.0, -1e-40, -0.0, 0.0, 1e-36, 0.1, 1.0, 1.0 + 1e-12, 2.5, 1e30])
STRANGE = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, -0.5, 31.0, 32.0, 63.9, 64.0, 1e30, 4294967294.0]
)


def random_tree(rng, n_features, set_starts, by_category, size=25):
    """A tree grown by splitting random leaves; some are a single leaf."""
    left, right, feature = [-1], [-1], [-1]
    for _ in range(rng.integers(0, size)):
        leaves = [node for node, child in enumerate(left) if child < 0]
        node = int(rng.choice(leaves))
        # Either child may have the lower number: importers number nodes as their source does.
        children = rng.permutation([len(left), len(left) + 1])
        left[node], right[node] = children.tolist()
        feature[node] = int(rng.integers(n_features))
        for part in (left, right, feature):
            part += [-1, -1]
    left, right, feature = np.array(left), np.array(right), np.array(feature)
    is_set = (feature >= 0) & by_category[feature]
    jitter = rng.choice([0.0, 1e-9, -1e-9], len(left))
    return Tree(
        left=left,
        right=right,
        feature=feature,
        threshold=np.where(
            rng.random(len(left)) < 0.5, rng.choice(VALUES, len(left)) + jitter, rng.normal(size=len(left))
        ),
        missing_left=rng.random(len(left)) < 0.5,
        category_start=np.where(is_set, rng.choice(set_starts, len(left)), -1),
        weight=rng.integers(1, 9, len(left)).astype(float),
        score=np.where(left < 0, np.round(rng.normal(size=len(left)), rng.integers(0, 17)), 0.0),
    )


def random_scores(rng, key_bits=32, n_trees=9, n_features=5, sets=False, zeros=False, takes_infinite=False):
    """An ensemble; ``sets``: two columns hold categories, ``zeros``: in two columns zero is missing."""
    words, starts = [], [-1]
    if sets:
        starts = []
        for length in (1, 2, 3):
            starts.append(len(words))
            words += [length, *rng.integers(0, 2**32, length).tolist()]
    by_category = np.isin(np.arange(n_features), [1, 2]) & sets
    trees = [random_tree(rng, n_features, starts, by_category) for _ in range(n_trees)]
    return Found(
        trees=lambda: iter(trees),
        n_features=n_features,
        classes=np.array(["no", "yes"]),
        start=float(rng.normal()),
        key_bits=key_bits,
        takes_missing=True,
        takes_infinite=takes_infinite,
        categories=np.array(words, np.uint32),
        zero_is_missing=np.isin(np.arange(n_features), [2, 3]) if zeros else None,
    )


def random_class_scores(rng, leaves, n_classes=4, n_voters=7, **options):
    """An ensemble of many classes, whose ``leaves`` are of one kind.

    "lines" have a score for each class, "ones" give 1 to one class, "own" are of trees for one class each.
    """
    n_trees = n_voters * n_classes if leaves == "own" else n_voters
    found = random_scores(rng, n_trees=n_trees, **options)
    trees = list(found.trees())
    if leaves != "own":
        few = np.round(rng.normal(size=(6, n_classes)), int(rng.integers(0, 17)))  # so that leaves are shared
        few = np.eye(n_classes) if leaves == "ones" else few
        trees = [tree._replace(score=few[rng.integers(len(few), size=len(tree.left))]) for tree in trees]
    return found._replace(
        trees=lambda: iter(trees),
        classes=np.array([f"class {number}" for number in range(n_classes)]),
        start=np.zeros(n_classes) if leaves == "ones" else rng.normal(size=n_classes),
        trees_a_round=n_classes if leaves == "own" else 1,
    )


def random_rows(rng, found, n_rows):
    """Rows full of values that are next to thresholds, between categories or otherwise strange."""
    rows = rng.normal(size=(n_rows, found.n_features))
    thresholds = np.concatenate([tree.threshold for tree in found.trees()])
    near = rng.choice(thresholds, rows.shape)
    near = np.where(rng.random(rows.shape) < 0.5, near, near.astype(np.float32))
    with np.errstate(over="ignore"):
        towards = rng.choice([-np.inf, np.inf], rows.shape)
        near = np.where(rng.random(rows.shape) < 0.5, near, np.nextafter(near, towards))
    choice = rng.integers(0, 4, rows.shape)
    rows = np.choose(choice, [rows, near, rng.choice(STRANGE, rows.shape), rng.integers(0, 99, rows.shape)])
    if not found.takes_infinite:
        rows[np.isinf(rows) | (np.abs(rows) > 3e38)] = 7.0
    return rows
