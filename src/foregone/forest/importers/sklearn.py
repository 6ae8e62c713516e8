"""Importing fitted scikit-learn ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.forest.layout import ClassTree, TreeArrays

__all__ = [
    "ImportedForest",
    "check_classes",
    "check_two_classes",
    "import_classes",
    "import_forest",
    "knows_missing",
    "members_of",
    "says_yes",
    "splits_of",
]

MOST_CLASSES = (1 << 16) - 1  # whose numbers, and the number of votes for them, have 16 bits


class ImportedForest(NamedTuple):
    """What an importer hands over. Each call of ``trees`` goes through the trees from the first on."""

    trees: Callable[[], Iterator[TreeArrays]] | Callable[[], Iterator[ClassTree]]
    n_features: int
    classes: npt.NDArray[Any]
    takes_missing: bool


def import_forest(model: Any) -> ImportedForest:
    """Read a fitted two-class forest, bag of trees or single tree.

    Raises
    ------
    InvalidInputError
        If the model is of another kind, or has other than two classes or more than one output.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    _check_kind(model)
    check_two_classes(model)
    members, subsets = members_of(model)
    takes_missing = all(knows_missing(member) for member in members)

    def trees() -> Iterator[TreeArrays]:
        for member, subset in zip(members, subsets, strict=True):
            # Inside an ensemble the classes are numbered.
            yes = 1 if member is not model else model.classes_[1]
            splits = splits_of(member.tree_, subset, takes_missing)
            yield TreeArrays(**splits, says_yes=says_yes(member, yes))

    return ImportedForest(trees, int(model.n_features_in_), np.asarray(model.classes_), takes_missing)


def import_classes(model: Any) -> ImportedForest:
    """Read a forest, bag of trees or single tree, of two classes or more; raises as `import_forest`."""
    _check_kind(model)
    classes = check_classes(model)
    members, subsets = members_of(model)
    takes_missing = all(knows_missing(member) for member in members)

    def trees() -> Iterator[ClassTree]:
        for member, subset in zip(members, subsets, strict=True):
            splits = splits_of(member.tree_, subset, takes_missing)
            # The first of the largest wins. A tree inside an ensemble may have seen only some of the numbers.
            winner = member.tree_.value[:, 0, : len(member.classes_)].argmax(axis=1)
            says = winner if member is model else np.asarray(member.classes_)[winner]
            yield ClassTree(**splits, says=says.astype(np.uint64))

    return ImportedForest(trees, int(model.n_features_in_), classes, takes_missing)


def _check_kind(model: Any) -> None:
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if not isinstance(
        model, RandomForestClassifier | ExtraTreesClassifier | DecisionTreeClassifier | BaggingClassifier
    ):
        raise InvalidInputError(
            "a packed forest is made from a fitted RandomForestClassifier, ExtraTreesClassifier, "
            f"DecisionTreeClassifier or BaggingClassifier of decision trees, not from {type(model).__name__}"
        )


def check_classes(model: Any) -> npt.NDArray[Any]:
    """Return the labels of a model that is fitted, on one output of at least two classes, or raise."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"the model has {model.n_outputs_} outputs; only one is supported")
    if not 2 <= len(model.classes_) <= MOST_CLASSES:
        raise InvalidInputError(
            f"a vote is between two classes or more, up to {MOST_CLASSES:,}; the model has "
            f"{len(model.classes_)}"
        )
    return np.asarray(model.classes_)


def check_two_classes(model: Any) -> None:
    """Raise unless a model is fitted, on one output of two classes."""
    if len(check_classes(model)) != 2:
        raise InvalidInputError(
            f"a vote is between two classes, the model has {len(model.classes_)}: {model.classes_!r}"
        )


def members_of(model: Any) -> tuple[list[Any], list[npt.NDArray[np.int64] | None]]:
    """Return the trees and, for each, the features of the whole that it was given (None: all of them)."""
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
                f"a packed forest holds decision trees, this bag holds {type(member).__name__}"
            )
    return members, [np.asarray(subset, np.int64) for subset in model.estimators_features_]


def knows_missing(member: Any) -> bool:
    """Whether a tree takes missing values."""
    # The rule has changed between releases, so the tree itself is asked, as its own predict does.
    return bool(member._support_missing_values(np.empty((0, 0))))


def says_yes(member: Any, yes: Any) -> npt.NDArray[np.bool_]:
    """Return for each node whether a tree's own predict would say yes there: the first of the largest wins.

    A tree that saw only one of the classes knows only that one.
    """
    winner = member.tree_.value[:, 0, :].argmax(axis=1)
    answers: npt.NDArray[np.bool_] = np.asarray(member.classes_)[winner] == yes
    return answers


def splits_of(tree: Any, subset: npt.NDArray[np.int64] | None, takes_missing: bool) -> dict[str, Any]:
    """Return all that is the same in trees with votes and with scores.

    ``subset`` are the columns of the whole that the tree was given, None for all.
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
        "weight": np.ascontiguousarray(tree.weighted_n_node_samples, np.float64),
    }
