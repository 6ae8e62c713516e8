"""Scores of scikit-learn's AdaBoostClassifier of decision trees: weighted votes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, Tree
from foregone.forest.importers.sklearn import check_classes, splits_of
from foregone.forest.link import Link

__all__ = ["import_model"]


def import_model(model: Any) -> Found:
    """Read a fitted model, whose trees vote with their weights.

    Of two classes the score of a leaf is the tree's weight, negative where it says no. The sum is above 0
    exactly when ``decision_function`` is, which doubles it and divides it by the sum of the weights.

    Of K classes a leaf gives the weight to the class that the tree says, and minus the weight over K - 1 to
    every other. The sums are those of ``decision_function``, bit for bit, before it divides them by the sum
    of the weights: two sums that this rounds to the same number are a tie to scikit-learn, whose answer is
    the first of them. Here it is the larger.

    Raises
    ------
    InvalidInputError
        If its members are no decision trees.
    """
    from sklearn.tree import DecisionTreeClassifier

    classes = check_classes(model)
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise InvalidInputError(
                f"only an AdaBoostClassifier of decision trees can be packed, this one holds "
                f"{type(member).__name__}"
            )
    n_classes = len(classes)
    # What decision_function divides by, and predict_proba after it.
    divided_by = float(np.sum(model.estimator_weights_)) * (n_classes - 1)

    def trees() -> Iterator[Tree]:
        # Boosting that ended early leaves weights of 0 behind the last member.
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
            # The first of the largest wins; a tree that saw only some of the classes knows only those.
            winner = member.tree_.value[:, 0, :].argmax(axis=1)
            says = np.asarray(member.classes_)[winner][:, None] == (
                classes[1:] if n_classes == 2 else classes
            )
            # The product as scikit-learn rounds it.
            score = np.where(says, weight, -1 / (n_classes - 1) * weight)
            yield Tree(**splits_of(member.tree_), score=score[:, 0] if n_classes == 2 else score)

    return Found(
        trees,
        int(model.n_features_in_),
        classes,
        start=0.0 if n_classes == 2 else np.zeros(n_classes),
        key_bits=32,
        takes_missing=False,
        link=Link("logistic", 2 / divided_by) if n_classes == 2 else Link("softmax", 1 / divided_by),
        in_order=True,
    )
