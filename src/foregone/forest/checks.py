"""What must hold before a kernel sees trees that were imported or read, whoever made them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import CATEGORY, NO_RULES, ZERO_IS_MISSING
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.forest.importers.found import ImportedScores
from foregone.forest.layout import NodeArray, find_payloads
from foregone.forest.rows import RowFormat

__all__ = ["row_format", "score_bounds"]


def score_bounds(
    nodes: NodeArray,
    tree_start: IntArray,
    start: float,
    rows: RowFormat,
    categories: npt.NDArray[np.uint32],
) -> npt.NDArray[np.float64]:
    """Return the lowest and the highest score of each tree, shape (2, n_trees).

    Raises
    ------
    InvalidInputError
        If a walk could go astray, a score is not finite, or a sum could become so large that it is not.
    """
    found = find_payloads(nodes, tree_start, rows.n_features, rows.key_bits, categories)
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


def row_format(found: ImportedScores, owner: str) -> RowFormat:
    """Return what rows an ensemble takes; errors about them speak of ``owner``.

    Raises
    ------
    InvalidInputError
        If a column is split both by thresholds and by categories.
    """
    return RowFormat(
        owner,
        found.n_features,
        found.takes_missing,
        found.takes_infinite,
        found.key_bits,
        _column_rules(found),
        found.category_values,
        found.array_bits,
    )


def _column_rules(found: ImportedScores) -> IntArray:
    """Return what values mean in each column; empty if no column has a rule."""
    rules = np.zeros(found.n_features, np.int64)
    if found.zero_is_missing is not None:
        rules[found.zero_is_missing] = ZERO_IS_MISSING
    if len(found.categories):
        by_category, by_threshold = np.zeros((2, found.n_features), np.bool_)
        for tree in found.trees():
            by_category[tree.feature[tree.category_start >= 0]] = True
            by_threshold[tree.feature[(tree.category_start < 0) & (tree.left >= 0)]] = True
        both = np.flatnonzero(by_category & by_threshold)
        if len(both):
            raise InvalidInputError(
                f"column {both[0]} is split both by categories and by thresholds, which is not supported"
            )
        rules[by_category] |= CATEGORY
    return rules if rules.any() else NO_RULES
