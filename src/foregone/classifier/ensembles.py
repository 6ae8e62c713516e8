"""From a fitted model to what is asked: a packed forest where it holds trees, else a list of voters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from foregone.classifier.plurality_voters import PluralityVoters
from foregone.classifier.voters import Voters
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.by_model import importer_of

__all__ = [
    "check_kind",
    "check_two_classes",
    "classes_of",
    "ensemble_of",
    "is_boosted",
    "is_booster",
    "is_fitted_already",
    "names_of_features",
    "peel",
    "planned_n_voters",
    "plurality_ensemble_of",
    "unwrap",
    "voters_of_list",
    "will_be_packed",
]

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)
PACKED = (PackedForest, PluralityForest, ScoredForest)
BOOSTED_TREES = ("gradient_boosting", "hist_boosting", "lightgbm", "xgboost")  # their importers


def is_fitted_already(estimator: Any) -> bool:
    """Whether a classifier's ``estimator`` says that nothing is to be fitted any more."""
    return isinstance(estimator, (FrozenEstimator, list, tuple, *PACKED)) or is_booster(estimator)


def unwrap(estimator: Any) -> Any:
    """Return what a FrozenEstimator was put around."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def peel(model: Any) -> tuple[Any, list[Any]]:
    """Return the ensemble inside a model, fitted or not, and what transforms its rows, first things first.

    Looked into are FrozenEstimator, pipelines, and searches for parameters that refit the best.
    """
    transformers = []
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, BaseSearchCV) and model.refit is not False:
            model = getattr(model, "best_estimator_", model.estimator)
        elif isinstance(model, Pipeline) and len(model.steps) > 0:
            if len(model.steps) > 1:
                transformers.append(model[:-1])
            model = model.steps[-1][1]
        else:
            return model, transformers


def is_booster(model: Any) -> bool:
    """Whether a model is a Booster of LightGBM or XGBoost: trained, without labels or ``fit`` of its own."""
    return importer_of(model) in BOOSTED_TREES and not hasattr(model, "fit")


def is_boosted(model: Any) -> bool:
    """Whether each member of a model, fitted or not, adds to what those before it left to do."""
    return isinstance(model, AdaBoostClassifier) or _is_boosted_trees(model)


def _is_boosted_trees(model: Any) -> bool:
    return importer_of(model) in BOOSTED_TREES


def will_be_packed(model: Any) -> bool:
    """Whether a model, fitted or not, holds nothing but decision trees."""
    if isinstance(model, BaggingClassifier | AdaBoostClassifier):
        return model.estimator is None or isinstance(model.estimator, DecisionTreeClassifier)
    return isinstance(model, FORESTS) or _is_boosted_trees(model)


def names_of_features(model: Any, X: Any) -> npt.NDArray[Any] | None:
    """Return the names that a fitted model knows its features by, or None.

    LightGBM makes names up where it was given none, and underscores of spaces; those are found in X again.
    """
    names: Any = getattr(model, "feature_names_in_", None)
    if names is None or list(names) == [f"Column_{place}" for place in range(len(names))]:
        return None
    given = [str(name) for name in getattr(X, "columns", ())]
    if importer_of(model) == "lightgbm" and [name.replace(" ", "_") for name in given] == list(names):
        return np.array(given, dtype=object)
    return np.asarray(names)


def planned_n_voters(model: Any) -> int:
    """Return how many voters a model of a supported kind will have once it is fitted."""
    if isinstance(model, VotingClassifier):
        named = model.estimators if isinstance(model.estimators, list | tuple) else []
        return max(1, len([voter for *_, voter in named if voter != "drop"]))
    planned = getattr(model, "max_iter", getattr(model, "n_estimators", 1))
    if planned is None:
        planned = 100  # XGBoost's own default
    # What makes no sense as voters, here and above, is left to the model's own fit to refuse.
    return int(planned) if isinstance(planned, int | np.integer) and planned >= 1 else 1


def check_kind(model: Any) -> None:
    """Raise unless a model, fitted or not, is an ensemble whose members can be asked one by one."""
    if isinstance(model, PACKED) or is_booster(model):
        return
    if isinstance(model, list | tuple):
        if len(model) == 0:
            raise InvalidInputError("the list of voters is empty: give at least one fitted classifier")
        for member in model:
            if not (_is_classifier(member) or (hasattr(member, "predict") and hasattr(member, "classes_"))):
                raise InvalidInputError(f"The estimator {type(member).__name__} should be a classifier.")
        return
    if model is None:
        raise InvalidInputError(
            "there is no estimator to fit. A classifier loaded from a file holds none: it can only predict."
        )
    if isinstance(model, BaseSearchCV):
        raise InvalidInputError(
            f"this {type(model).__name__} has refit=False, so it has no best_estimator_ to stop early: use "
            "refit=True, or give the estimator that you fitted with its best_params_"
        )
    if not _is_classifier(model):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidInputError(f"The estimator {name} should be a classifier.")
    if not (isinstance(model, (*FORESTS, BaggingClassifier, VotingClassifier)) or is_boosted(model)):
        raise InvalidInputError(
            f"{type(model).__name__} has no members to ask one by one: estimator must be a "
            "RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier, VotingClassifier, "
            "DecisionTreeClassifier, AdaBoostClassifier, GradientBoostingClassifier, "
            "HistGradientBoostingClassifier, a classifier or Booster of LightGBM or XGBoost, a list of "
            "fitted classifiers, or a pipeline or search with one of these at its end"
        )


def ensemble_of(model: Any) -> PackedForest | Voters:
    """Return those who vote in a fitted model of a supported kind.

    Raises
    ------
    InvalidInputError
        If it does not decide between two classes; for more see `plurality_ensemble_of`.
    sklearn.exceptions.NotFittedError
        If it, or one of its voters, has not been fitted.
    """
    if isinstance(model, PackedForest):
        return model
    if isinstance(model, list | tuple):
        return voters_of_list(model)
    classes = check_two_classes(model)
    if isinstance(model, VotingClassifier):
        return Voters(model.estimators_, classes, 1)
    if isinstance(model, BaggingClassifier):
        members = model.estimators_
        if not all(isinstance(member, DecisionTreeClassifier) for member in members):
            return Voters(members, classes, 1, model.estimators_features_)
    return PackedForest.from_sklearn(model)


def classes_of(model: Any) -> npt.NDArray[Any] | None:
    """Return the labels that a fitted model of a supported kind knows; None if it cannot tell."""
    if isinstance(model, PACKED):
        return model.classes
    first = model[0] if isinstance(model, list | tuple) else model
    labels = getattr(first, "classes_", None)
    return labels if isinstance(labels, np.ndarray) and labels.ndim == 1 else None


def plurality_ensemble_of(model: Any) -> PluralityForest | PluralityVoters:
    """Return those who vote in a fitted model of a supported kind that knows more than two classes."""
    if isinstance(model, PluralityForest):
        return model
    if isinstance(model, list | tuple):
        classes = _common_classes(model)
        return PluralityVoters(model, classes, classes)
    classes = np.asarray(model.classes_)
    numbers = np.arange(len(classes))
    if isinstance(model, VotingClassifier):
        return PluralityVoters(model.estimators_, classes, numbers)
    if isinstance(model, BaggingClassifier):
        members = model.estimators_
        if not all(isinstance(member, DecisionTreeClassifier) for member in members):
            return PluralityVoters(members, classes, numbers, model.estimators_features_)
    return PluralityForest.from_sklearn(model)


def check_two_classes(model: Any) -> npt.NDArray[Any]:
    """Return the labels of no and yes, or raise because a model is not fitted or has others."""
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"Only one output is supported. The model has {model.n_outputs_} outputs.")
    return _two_classes(model.classes_)


def _is_classifier(model: Any) -> bool:
    known = hasattr(model, "__sklearn_tags__") and not isinstance(model, type)
    return known and bool(is_classifier(model))


def voters_of_list(members: Sequence[Any]) -> Voters:
    """Return the voters of a list of fitted classifiers that know the same two classes."""
    classes = _two_classes(_common_classes(members))
    return Voters(members, classes, classes[1])


def _common_classes(members: Sequence[Any]) -> npt.NDArray[Any]:
    """Return the labels that all of a list of classifiers know, or raise: not fitted, or they differ."""
    for member in members:
        if hasattr(member, "classes_"):
            continue
        check_is_fitted(
            member,
            msg="This %(name)s instance is not fitted yet: a list of voters is used as it is. If it was "
            "cloned, wrap each voter in FrozenEstimator, which a clone keeps fitted.",
        )
    classes = np.asarray(members[0].classes_)
    for member in members:
        if not np.array_equal(member.classes_, classes):
            raise InvalidInputError(
                f"all voters must know the same classes, found {classes!r} and {member.classes_!r}"
            )
    return classes


def _two_classes(classes: Any) -> npt.NDArray[Any]:
    labels = np.asarray(classes)
    if len(labels) == 1:
        raise InvalidInputError(f"A vote is between two classes or more. The model has 1 class: {classes!r}.")
    if labels.shape != (2,):
        raise InvalidInputError(
            f"Only binary classification is supported here. The model has {len(classes)} classes: {labels}."
        )
    return labels
