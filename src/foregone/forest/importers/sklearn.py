"""Importing scikit-learn's forests, bagging models of trees and single trees, by votes or by averages.

A tree's vote is the one its own ``predict`` would give: in a leaf the first of the largest classes wins. For
two classes, a leaf's score is p(yes) - 1/2. The mean probability is above 1/2 exactly when the sum of the
scores is above 0, except for rounding: if the two classes tie up to the last bits, scikit-learn's sum and
this one may round differently.

For more classes, a leaf's scores are the probabilities that the tree's own ``predict_proba`` returns. Their
sums equal scikit-learn's bit for bit if it adds the trees one after another (forests with one job do; with
several jobs the order varies). It then divides the sums by the number of trees. If this rounds two sums to
the same mean, scikit-learn sees a tie and answers the first; here the larger sum wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import MOST_CLASSES, Found, Tree
from foregone.forest.link import Link

__all__ = ["check_classes", "import_model", "splits_of"]


def import_model(model: Any) -> Found:
    """Read a fitted forest, bagging model of trees, or single tree, of two classes or more.

    Raises
    ------
    InvalidInputError
        If a bagging model holds anything but trees, or the model has one class, too many classes, or more
        than one output.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    classes = check_classes(model)
    members, subsets = _members_of(model)
    takes_missing = all(_knows_missing(member) for member in members)

    def trees() -> Iterator[Tree]:
        for member, subset in zip(members, subsets, strict=True):
            # Inside an ensemble classes are numbered; a tree may have been trained on some of them only.
            known = len(member.classes_)
            numbers = np.arange(known) if member is model else np.asarray(member.classes_).astype(np.int64)
            value = member.tree_.value[:, 0, :known]
            yield Tree(
                **splits_of(member.tree_, subset, takes_missing=takes_missing),
                score=_scores(value, numbers, len(classes)),
                vote=numbers[value.argmax(axis=1)],
            )

    return Found(
        trees,
        int(model.n_features_in_),
        classes,
        start=0.0 if len(classes) == 2 else np.zeros(len(classes)),
        key_bits=32,
        takes_missing=takes_missing,
        trees_vote=True,
        link=Link("mean", 1 / len(members)),
    )


def check_classes(model: Any) -> npt.NDArray[Any]:
    """Return the labels of a model; raise unless it is fitted on one output of at least two classes."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"expected a model with one output, got {model.n_outputs_} outputs")
    if not 2 <= len(model.classes_) <= MOST_CLASSES:
        raise InvalidInputError(
            f"expected 2 to {MOST_CLASSES:,} classes; the model has {len(model.classes_)}"
        )
    return np.asarray(model.classes_)


def _scores(
    value: npt.NDArray[np.float64], numbers: npt.NDArray[np.int64], n_classes: int
) -> npt.NDArray[np.float64]:
    """Return the scores of leaves, given the probabilities of the classes that the tree knows."""
    if n_classes == 2:
        return value @ (numbers == 1) - 0.5  # type: ignore[no-any-return]  # of float64
    scores = np.zeros((len(value), n_classes))
    scores[:, numbers] = value
    return scores


def _members_of(model: Any) -> tuple[list[Any], list[npt.NDArray[np.int64] | None]]:
    """Return the trees and, for each, the features that it was trained on (None: all of them)."""
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    if isinstance(model, DecisionTreeClassifier):
        return [model], [None]
    members = list(model.estimators_)
    if not isinstance(model, BaggingClassifier):
        return members, [None] * len(members)
    for member in members:
        if not isinstance(member, DecisionTreeClassifier):
            raise InvalidInputError(
                f"expected a bagging model of decision trees, got one of {type(member).__name__}"
            )
    return members, [np.asarray(subset, np.int64) for subset in model.estimators_features_]


def _knows_missing(member: Any) -> bool:
    """Whether a tree accepts missing values."""
    # The rule differs between releases, so use the tree's own method, as its predict does.
    return bool(member._support_missing_values(np.empty((0, 0))))


def splits_of(
    tree: Any, subset: npt.NDArray[np.int64] | None = None, *, takes_missing: bool = False
) -> dict[str, Any]:
    """Return all parts of a `Tree` except the values of its leaves.

    ``subset`` holds the columns that the tree was trained on, None for all.
    """
    feature = tree.feature.astype(np.int64)
    if subset is not None:
        feature = np.where(feature >= 0, subset[np.maximum(feature, 0)], feature)
    missing_left = np.asarray(tree.missing_go_to_left, np.bool_)
    return {
        "left": np.ascontiguousarray(tree.children_left, np.int64),
        "right": np.ascontiguousarray(tree.children_right, np.int64),
        "feature": feature,
        "threshold": np.ascontiguousarray(tree.threshold, np.float64),
        "missing_left": missing_left if takes_missing else np.zeros_like(missing_left),
        "category_start": np.full(len(feature), -1),
        "weight": np.ascontiguousarray(tree.weighted_n_node_samples, np.float64),
    }
