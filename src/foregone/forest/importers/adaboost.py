"""Scores of scikit-learn's AdaBoostClassifier of decision trees: weighted votes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import ImportedScores, ScoredTree
from foregone.forest.importers.sklearn import check_two_classes, says_yes, splits_of
from foregone.forest.link import Link

__all__ = ["import_scores"]


def import_scores(model: Any) -> ImportedScores:
    """Read a fitted two-class model; the score of a leaf is the tree's weight, negative where it says no.

    The sum is above 0 exactly when ``decision_function`` is, which doubles it and divides it by the sum
    of the weights.

    Raises
    ------
    InvalidInputError
        If its members are no decision trees.
    """
    from sklearn.tree import DecisionTreeClassifier

    check_two_classes(model)
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise InvalidInputError(
                f"only an AdaBoostClassifier of decision trees can be packed, this one holds "
                f"{type(member).__name__}"
            )

    def trees() -> Iterator[ScoredTree]:
        # Boosting that ended early leaves weights of 0 behind the last member.
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
            tree = member.tree_
            leaf = tree.children_left < 0
            vote = np.where(says_yes(member, model.classes_[1]), weight, -weight)
            yield ScoredTree(
                **splits_of(tree, None, takes_missing=False),
                category_start=np.full(len(leaf), -1),
                score=np.where(leaf, vote, 0.0),
            )

    return ImportedScores(
        trees,
        int(model.n_features_in_),
        np.asarray(model.classes_),
        0.0,
        32,
        takes_missing=False,
        link=Link("logistic", 2 / float(np.sum(model.estimator_weights_))),
        in_order=True,
    )
