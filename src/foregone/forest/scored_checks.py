"""What must hold before a kernel sees trees with scores, whoever made them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import (
    CATEGORY,
    KNOWN_ONLY,
    MISSING_IS_ZERO,
    NO_RULES,
    ZERO_IS_MISSING,
)
from foregone.errors import InvalidInputError
from foregone.forest.layout import NodeArray, find_payloads
from foregone.forest.rows import RowFormat
from foregone.forest.scored_tree import ImportedScores

__all__ = ["are_rules", "column_rules", "score_bounds"]

IntArray = npt.NDArray[np.int64]


def score_bounds(
    nodes: NodeArray, tree_start: IntArray, start: float, rows: RowFormat
) -> npt.NDArray[np.float64]:
    """Return the lowest and the highest score of each tree, shape (2, n_trees).

    Raises
    ------
    InvalidInputError
        If a walk could go astray, a score is not finite, or a sum could become so large that it is not.
    """
    found = find_payloads(nodes, tree_start, rows.n_features, rows.key_bits, rows.categories)
    if found is None:
        raise InvalidInputError("the nodes do not form trees")
    words, first = found
    scores = words.view(np.float64)
    if not (np.isfinite(scores).all() and np.isfinite(start)):
        raise InvalidInputError("every score must be finite, that of a leaf and that before the first tree")
    bounds = np.array([np.minimum.reduceat(scores, first), np.maximum.reduceat(scores, first)])
    with np.errstate(over="ignore"):
        largest = np.abs(start) + np.abs(bounds).max(axis=0).sum()
    if not np.isfinite(largest):
        raise InvalidInputError("the scores are too large to be added up")
    return bounds


def column_rules(found: ImportedScores) -> tuple[IntArray, IntArray]:
    """Return what values mean in each column and where its known categories begin; empty if there is nothing.

    Raises
    ------
    InvalidInputError
        If a column is split both by thresholds and by categories.
    """
    n_features = found.n_features
    rules = np.zeros(n_features, np.int64)
    known = np.full(n_features, -1, np.int64)
    if found.known_categories is not None:
        known[:] = found.known_categories
    rules[known >= 0] = CATEGORY | KNOWN_ONLY
    if len(found.categories):
        by_category, by_threshold = np.zeros((2, n_features), np.bool_)
        for tree in found.trees():
            by_category[tree.feature[tree.category_start >= 0]] = True
            by_threshold[tree.feature[(tree.category_start < 0) & (tree.left >= 0)]] = True
        rules[by_category] |= CATEGORY
        both = np.flatnonzero((rules & CATEGORY != 0) & by_threshold)
        if len(both):
            raise InvalidInputError(
                f"column {both[0]} is split both by categories and by thresholds, which is not supported"
            )
    for columns, rule in ((found.missing_is_zero, MISSING_IS_ZERO), (found.zero_is_missing, ZERO_IS_MISSING)):
        if columns is not None:
            rules[columns] |= rule
    return (rules, known) if rules.any() else (NO_RULES, NO_RULES)


def are_rules(rules: IntArray, known: IntArray, categories: npt.NDArray[np.uint32], n_features: int) -> bool:
    """Whether these could be the rules of so many columns."""
    if rules.shape != known.shape or rules.shape not in ((0,), (n_features,)):
        return False
    every = MISSING_IS_ZERO | ZERO_IS_MISSING | CATEGORY | KNOWN_ONLY
    if (rules & ~every).any() or (known < -1).any() or (known >= len(categories)).any():
        return False
    starts = known[known >= 0]
    return bool((starts + categories[starts] < len(categories)).all())
