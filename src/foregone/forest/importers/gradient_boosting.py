"""Importing scikit-learn's GradientBoostingClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, Tree
from foregone.forest.importers.sklearn import check_classes, splits_of
from foregone.forest.link import Link

__all__ = ["import_model"]

CONSTANT = ("prior", "most_frequent", "constant")  # these predict the same for every row


def import_model(model: Any) -> Found:
    """Read a fitted model; the score of a leaf is ``learning_rate * value``.

    The sum of start and scores equals ``decision_function``, bit for bit unless scikit-learn was compiled
    with fused multiply-add (on x86-64 it is not). For two classes its ``predict`` says yes if that is at
    least 0, here it must be above 0: they differ only for a sum of exactly 0. For more, each class has a
    tree in every stage, and both answer the first of the largest sums.

    Raises
    ------
    InvalidInputError
        If ``init`` is a model, because its predictions differ from row to row.
    """
    from sklearn.dummy import DummyClassifier

    classes = check_classes(model)
    init = model.init_
    is_constant = isinstance(init, DummyClassifier) and init.strategy in CONSTANT
    if not (is_constant or (isinstance(init, str) and init == "zero")):
        raise InvalidInputError(
            f"a GradientBoostingClassifier with init={type(init).__name__} is not supported, because the "
            "prediction of init differs from row to row: fit it with init=None (the default) or init='zero'"
        )
    n_features = int(model.n_features_in_)
    # Only this method of scikit-learn returns the initial scores; the values of the row do not matter.
    starts = np.array(model._raw_predict_init(np.zeros((1, n_features), np.float32))[0], np.float64)
    two = len(classes) == 2

    def trees() -> Iterator[Tree]:
        for member in model.estimators_.ravel():  # stage by stage, within a stage class by class
            yield Tree(**splits_of(member.tree_), score=model.learning_rate * member.tree_.value[:, 0, 0])

    return Found(
        trees,
        n_features,
        classes,
        float(starts[0]) if two else starts,
        key_bits=32,
        takes_missing=False,
        link=Link("logistic" if two else "softmax", 2.0 if model.loss == "exponential" else 1.0),
        in_order=True,
        trees_a_round=len(starts),
    )
