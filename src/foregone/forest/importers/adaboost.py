"""Importing scikit-learn's AdaBoostClassifier of decision trees: scores are weighted votes."""

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
    """Read a fitted model; each tree votes with its weight.

    For two classes, the score of a leaf is the tree's weight, negative if the leaf says no. The sum is above
    0 exactly when ``decision_function`` is, which doubles it and divides it by the sum of the weights.

    For K classes, a leaf adds the weight to the tree's answer, and subtracts the weight over K - 1 from every
    other class. The sums equal those of ``decision_function``, bit for bit, before it divides them by the sum
    of the weights. If this division rounds two sums to the same number, scikit-learn sees a tie and answers
    the first; here the larger sum wins.

    Raises
    ------
    InvalidInputError
        If its members are not decision trees.
    """
    from sklearn.tree import DecisionTreeClassifier

    classes = check_classes(model)
    for member in model.estimators_:
        if not isinstance(member, DecisionTreeClassifier):
            raise InvalidInputError(
                f"expected an AdaBoostClassifier of decision trees, got one of {type(member).__name__}: "
                "train with a DecisionTreeClassifier as estimator"
            )
    n_classes = len(classes)
    # What decision_function divides by, and predict_proba after it.
    divided_by = float(np.sum(model.estimator_weights_)) * (n_classes - 1)

    def trees() -> Iterator[Tree]:
        # If boosting ended early, the weights after the last member are 0.
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
            # The first of the largest wins; a tree trained on some of the classes knows only those.
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
