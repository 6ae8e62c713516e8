"""Choosing the importer for a fitted model. Only the libraries that the model needs are imported."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, LeafKind

__all__ = ["import_model", "importer_of"]

# By class: the first one found among the model's class and its bases.
IMPORTERS = {
    ("sklearn", "RandomForestClassifier"): "sklearn",
    ("sklearn", "ExtraTreesClassifier"): "sklearn",
    ("sklearn", "DecisionTreeClassifier"): "sklearn",
    ("sklearn", "BaggingClassifier"): "sklearn",
    ("sklearn", "GradientBoostingClassifier"): "gradient_boosting",
    ("sklearn", "AdaBoostClassifier"): "adaboost",
    ("sklearn", "HistGradientBoostingClassifier"): "hist_boosting",
    ("lightgbm", "LGBMClassifier"): "lightgbm",
    ("lightgbm", "Booster"): "lightgbm",
    ("xgboost", "XGBClassifier"): "xgboost",
    ("xgboost", "Booster"): "xgboost",
    ("catboost", "CatBoostClassifier"): "catboost",
}
WITH_VOTES = ("sklearn",)  # the importers of models whose trees vote


def importer_of(model: Any) -> str | None:
    """Return the name of the importer module for a model, fitted or not; None if the model is not supported.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> importer_of(ExtraTreesClassifier()), importer_of(7)
    ('sklearn', None)
    """
    for kind in type(model).__mro__:
        name = IMPORTERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if name is not None:
            return name
    return None


def import_model(model: Any, leaf: LeafKind) -> Found:
    """Read a fitted model for a forest with this kind of leaves.

    Raises
    ------
    InvalidInputError
        If this kind of model, or its number of classes, is not supported.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    name = importer_of(model)
    if leaf in (LeafKind.VOTE, LeafKind.CLASS) and name not in WITH_VOTES:
        raise InvalidInputError(
            "expected a fitted RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier or "
            f"BaggingClassifier of decision trees, got {type(model).__name__}"
        )
    if name is None:
        known = ", ".join(dict.fromkeys(kind for _, kind in IMPORTERS))
        raise InvalidInputError(f"expected a fitted model of trees ({known}), got {type(model).__name__}")
    read: Callable[[Any], Found] = import_module(f"foregone.forest.importers.{name}").import_model
    return read(model)
