"""Importing scikit-learn's HistGradientBoostingClassifier.

Sums equal ``decision_function``, bit for bit: the same float64 leaves added in the same order to the same
baseline. ``predict`` says yes if the sum is above 0, with any class weights. For more than two classes, each
has a tree in every iteration, and ``predict`` answers the first of the largest sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import Found, Tree
from foregone.forest.importers.sklearn import check_classes
from foregone.forest.link import Link

__all__ = ["import_model"]

SET_WORDS = 8  # of 32 bits: at most 255 categories and one bin for missing values


def import_model(model: Any) -> Found:
    """Read a fitted HistGradientBoostingClassifier.

    Categories are matched by equality with the lists learned by the model, as scikit-learn does; one not
    in its list counts as missing. Missing values and infinities are treated as scikit-learn treats them.

    Raises
    ------
    InvalidInputError
        If the model has one class, or categories that are neither texts nor numbers.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = import_model(HistGradientBoostingClassifier(max_iter=7).fit(X, y))
    >>> found.n_features, len(list(found.trees()))
    (30, 7)
    """
    classes = check_classes(model)
    two = len(classes) == 2
    predictors = [predictor for iteration in model._predictors for predictor in iteration]
    sets = [predictor.raw_left_cat_bitsets for predictor in predictors]
    first_set = np.cumsum([0, *(len(bits) for bits in sets)])
    lists = _category_values(model)
    columns = _columns(model)

    def trees() -> Iterator[Tree]:
        for predictor, first in zip(predictors, first_set[:-1], strict=True):
            yield _tree(predictor.nodes, int(first), columns)

    starts = np.ravel(model._baseline_prediction).astype(np.float64)
    words = np.concatenate([np.empty((0, SET_WORDS), np.uint32), *sets])
    return Found(
        trees,
        n_features=int(model.n_features_in_),
        classes=classes,
        start=float(starts[0]) if two else starts,
        key_bits=64,
        takes_missing=True,
        takes_infinite=True,
        categories=np.insert(words, 0, SET_WORDS, axis=1).ravel().astype(np.uint32),
        category_values=lists,
        link=Link("logistic" if two else "softmax", 1.0),
        in_order=True,
        trees_a_round=len(starts),
    )


def _columns(model: Any) -> npt.NDArray[np.int64]:
    """Return the column of each feature of the trees, which number categorical columns first."""
    if getattr(model, "_preprocessor", None) is None:
        return np.arange(model.n_features_in_)
    is_categorical = np.asarray(model.is_categorical_)
    return np.argsort(~is_categorical, kind="stable").astype(np.int64)


def _category_values(model: Any) -> CategoryValues | None:
    preprocessor = getattr(model, "_preprocessor", None)
    if preprocessor is None:
        return None
    lists = []
    for values in preprocessor.named_transformers_["encoder"].categories_:
        known = list(values)
        if known and known[-1] != known[-1]:  # a NaN seen in training comes last
            known.pop()
        lists.append(category_list(known))
    return CategoryValues(tuple(np.flatnonzero(model.is_categorical_).tolist()), tuple(lists))


def _tree(nodes: npt.NDArray[Any], first_set: int, columns: npt.NDArray[np.int64]) -> Tree:
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    is_set = nodes["is_categorical"].astype(np.bool_) & ~is_leaf
    start = (first_set + nodes["bitset_idx"].astype(np.int64)) * (SET_WORDS + 1)
    return Tree(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        feature=np.where(is_leaf, -1, columns[np.where(is_leaf, 0, nodes["feature_idx"])]),
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(np.bool_),
        category_start=np.where(is_set, start, -1),
        weight=nodes["count"].astype(np.float64),
        score=np.where(is_leaf, nodes["value"], 0.0),
    )
