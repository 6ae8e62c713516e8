"""Scores of scikit-learn's AdaBoostClassifier of decision trees: weighted votes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, Tree
from foregone.forest.importers.sklearn import check_two_classes, splits_of
from foregone.forest.link import Link

__all__ = ["import_model"]


def import_model(model: Any) -> Found:
    """Read a fitted two-class model; the score of a leaf is the tree's weight, negative where it says no.

    The sum is above 0 exactly when ``decision_function`` is, which doubles it and divides it by the sum
    of the weights.

    Raises
    ------
    InvalidInputError
        If its members are no decision trees.
    """
    from sklearn.tree import DecisionTreeClassifier

    classes = check_two_classes(model)
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise InvalidInputError(
                f"only an AdaBoostClassifier of decision trees can be packed, this one holds "
                f"{type(member).__name__}"
            )

    def trees() -> Iterator[Tree]:
        # Boosting that ended early leaves weights of 0 behind the last member.
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
            # The first of the largest wins; a tree that saw only one of the classes knows only that one.
            winner = member.tree_.value[:, 0, :].argmax(axis=1)
            says_yes = np.asarray(member.classes_)[winner] == classes[1]
            yield Tree(**splits_of(member.tree_), score=np.where(says_yes, weight, -weight))

    return Found(
        trees,
        int(model.n_features_in_),
        classes,
        start=0.0,
        key_bits=32,
        takes_missing=False,
        link=Link("logistic", 2 / float(np.sum(model.estimator_weights_))),
        in_order=True,
    )
