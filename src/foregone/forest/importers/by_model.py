"""One door to everything that scores can be imported from. Nothing is imported that a model does not need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import ImportedScores

__all__ = ["import_scores", "importer_of"]

# By the class that is found first among a model's own and those it was derived from.
IMPORTERS = {
    ("sklearn", "RandomForestClassifier"): "soft_forest",
    ("sklearn", "ExtraTreesClassifier"): "soft_forest",
    ("sklearn", "DecisionTreeClassifier"): "soft_forest",
    ("sklearn", "BaggingClassifier"): "soft_forest",
    ("sklearn", "GradientBoostingClassifier"): "gradient_boosting",
    ("sklearn", "AdaBoostClassifier"): "adaboost",
    ("sklearn", "HistGradientBoostingClassifier"): "hist_boosting",
    ("lightgbm", "LGBMClassifier"): "lightgbm",
    ("lightgbm", "Booster"): "lightgbm",
    ("xgboost", "XGBClassifier"): "xgboost",
    ("xgboost", "Booster"): "xgboost",
}


def importer_of(model: Any) -> str | None:
    """Return the name of the module that reads such a model, fitted or not; None if there is none.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> importer_of(ExtraTreesClassifier()), importer_of(7)
    ('soft_forest', None)
    """
    for kind in type(model).__mro__:
        name = IMPORTERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if name is not None:
            return name
    return None


def import_scores(model: Any) -> ImportedScores:
    """Read a fitted two-class model whose trees add up scores.

    Raises
    ------
    InvalidInputError
        If the model is of a kind that is not supported, or has other than two classes.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    name = importer_of(model)
    if name is None:
        known = ", ".join(kind for _, kind in IMPORTERS)
        raise InvalidInputError(
            f"trees with scores are read from a fitted {known}, not from {type(model).__name__}"
        )
    read: Callable[[Any], ImportedScores] = import_module(f"foregone.forest.importers.{name}").import_scores
    return read(model)
