"""Scores of scikit-learn's forests, bags of trees and single trees, which average probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone.forest.importers.found import ImportedScores, ScoredTree
from foregone.forest.importers.sklearn import check_two_classes, knows_missing, members_of, splits_of
from foregone.forest.link import Link

__all__ = ["import_scores"]


def import_scores(model: Any) -> ImportedScores:
    """Read a fitted two-class forest, bag of trees or single tree; a leaf's score is p(yes) - 1/2.

    The mean of the probabilities is above 1/2 exactly when the sum of the scores is above 0. Rounding
    apart, that is: where the two classes are within the last bits of a tie, scikit-learn's sum and this one
    may round to different sides.
    """
    check_two_classes(model)
    members, subsets = members_of(model)
    takes_missing = all(knows_missing(member) for member in members)

    def trees() -> Iterator[ScoredTree]:
        for member, subset in zip(members, subsets, strict=True):
            tree = member.tree_
            # Inside an ensemble the classes are numbered; a tree may have seen only one of them.
            yes = 1 if member is not model else model.classes_[1]
            probability = tree.value[:, 0, : len(member.classes_)] @ (np.asarray(member.classes_) == yes)
            leaf = tree.children_left < 0
            yield ScoredTree(
                **splits_of(tree, subset, takes_missing),
                category_start=np.full(len(leaf), -1),
                score=np.where(leaf, probability - 0.5, 0.0),
            )

    return ImportedScores(
        trees,
        int(model.n_features_in_),
        np.asarray(model.classes_),
        0.0,
        32,
        takes_missing,
        link=Link("mean", 1 / len(members)),
    )
