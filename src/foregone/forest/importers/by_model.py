"""One door to every importer of fitted models. Nothing is imported that a model does not need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, LeafKind

__all__ = ["import_model", "importer_of"]

# By the class that is found first among a model's own and those it was derived from.
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
    """Return the name of the module that reads such a model, fitted or not; None if there is none.

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
    """Read a fitted model for a forest with leaves of this kind.

    Raises
    ------
    InvalidInputError
        If the model is of a kind that is not supported, or its number of classes is not.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    name = importer_of(model)
    if leaf in (LeafKind.VOTE, LeafKind.CLASS) and name not in WITH_VOTES:
        raise InvalidInputError(
            "a packed forest is made from a fitted RandomForestClassifier, ExtraTreesClassifier, "
            f"DecisionTreeClassifier or BaggingClassifier of decision trees, not from {type(model).__name__}"
        )
    if name is None:
        known = ", ".join(kind for _, kind in IMPORTERS)
        raise InvalidInputError(
            f"trees with scores are read from a fitted {known}, not from {type(model).__name__}"
        )
    read: Callable[[Any], Found] = import_module(f"foregone.forest.importers.{name}").import_model
    return read(model)
