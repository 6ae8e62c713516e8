"""Importing XGBoost's two-class models, from the JSON that they save themselves as.

A score is what ``predict(output_margin=True)`` gives, within its last bits: XGBoost adds float32 leaves in
float32, here the same leaves are added in float64; every row reaches the same leaves. The answer can differ
from XGBoost's own only where the score is 0 within the rounding of those float32 sums.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import CategorySets, Found, Tree
from foregone.forest.link import Link

__all__ = ["import_model"]

# Whose answer is the sign of the score; in those with True, base_score is a probability.
OBJECTIVES = {"binary:logistic": True, "reg:logistic": True, "binary:logitraw": False, "binary:hinge": False}


def import_model(model: Any) -> Found:
    """Read a fitted ``XGBClassifier`` (or ``XGBRFClassifier``), or a ``Booster`` with labels 0 and 1.

    Of a classifier that stopped early the trees up to its best iteration are taken, of a Booster all:
    as ``predict`` does. Boosters gbtree and dart are read. Arrays hold categories as numbers (one between
    -1 and 0 is 0 here and unknown to XGBoost); the columns of dtype category of a pandas frame are turned
    into numbers by the lists of the frame that the model was trained on, which XGBoost keeps since its
    release 3.1. A category that is not in its list counts as missing here; XGBoost refuses such rows.

    With objective binary:logitraw ``XGBClassifier.predict`` says yes above 0.5, not above 0; then the scores
    are 0.5 less than XGBoost's.

    Raises
    ------
    InvalidInputError
        If the model is no two-class classifier, linear, of another objective, or has a value other than
        NaN that stands for missing.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    booster, n_rounds, yes_above = _booster(model)
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    size = learner["learner_model_param"]
    objective = learner["objective"]["name"]
    if objective not in OBJECTIVES or int(size.get("num_target", 1)) > 1:
        raise InvalidInputError(
            f"the model's objective is {objective}: only XGBoost models of one target and objective "
            f"{', '.join(OBJECTIVES)} have scores whose sign is the answer"
        )
    base = np.float32(str(size["base_score"]).strip("[]"))
    if OBJECTIVES[objective]:
        base = -np.log(np.float32(1) / base - np.float32(1))
    parts, factors = _parts(learner["gradient_booster"], n_rounds)
    categories, set_starts = _sets(parts)
    n_features = int(size["num_feature"])
    _check_columns(parts, n_features)

    def trees() -> Iterator[Tree]:
        for part, factor, starts in zip(parts, factors, set_starts, strict=True):
            yield _tree(part, np.float32(factor), starts)

    return Found(
        trees,
        n_features=n_features,
        classes=np.array([0, 1]),
        start=float(base) - (yes_above if objective == "binary:logitraw" else 0.0),
        key_bits=32,
        takes_missing=True,
        takes_infinite=True,
        categories=categories,
        category_values=_category_values(learner),
        link=Link("logistic", 1.0) if OBJECTIVES[objective] else None,
        in_order=True,
    )


def _booster(model: Any) -> tuple[Any, int | None, float]:
    """Return the booster, how many rounds its predict uses (None: all), and what it says yes above."""
    from xgboost import Booster, XGBClassifier

    if isinstance(model, Booster):
        return model, None, 0.0
    if not isinstance(model, XGBClassifier):
        raise InvalidInputError(
            "of XGBoost's models only XGBClassifier and Booster have scores for two classes, "
            f"not {type(model).__name__}"
        )
    booster = model.get_booster()
    if model.n_classes_ != 2:
        raise InvalidInputError(f"scores are for two classes, the model has {model.n_classes_}")
    if callable(model.objective):
        raise InvalidInputError("the model has an objective of its own, whose answers are not known here")
    if model.missing is not None and not np.isnan(model.missing):
        raise InvalidInputError(
            f"the model takes {model.missing!r} for missing: put NaN there and train with missing=nan"
        )
    best = booster.attr("best_iteration")
    return booster, None if best is None else int(best) + 1, 0.5


def _parts(gradient_booster: dict[str, Any], n_rounds: int | None) -> tuple[list[Any], list[float]]:
    """Return the trees that predict uses, and by what each is multiplied."""
    name = gradient_booster["name"]
    if name not in ("gbtree", "dart"):
        raise InvalidInputError(f"a booster of kind {name} has no trees: train with booster='gbtree'")
    model = (gradient_booster["gbtree"] if name == "dart" else gradient_booster)["model"]
    parts = model["trees"]
    factors = gradient_booster.get("weight_drop", [1.0] * len(parts))
    per_round = max(int(model["gbtree_model_param"].get("num_parallel_tree", 1)), 1)
    last = len(parts) if n_rounds is None else n_rounds * per_round
    if any(int(part["tree_param"].get("size_leaf_vector", 1)) > 1 for part in parts):
        raise InvalidInputError("the model's leaves hold several scores: train with one output")
    return parts[:last], factors[:last]


def _sets(parts: list[Any]) -> tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.int64]]]:
    """Return all sets of categories, each after its length, and for each tree's nodes where theirs begins."""
    sets, starts = CategorySets(), []
    for part in parts:
        own = np.full(len(part["left_children"]), -1)
        listed = part["categories"]
        for node, first, count in zip(
            part["categories_nodes"], part["categories_segments"], part["categories_sizes"], strict=True
        ):
            own[node] = sets.add(listed[first : first + count])
        starts.append(own)
    return sets.words(), starts


def _check_columns(parts: list[Any], n_features: int) -> None:
    """Refuse a model whose trees take a column for numbers here and for categories there."""
    as_numbers, as_sets = np.zeros((2, n_features), np.bool_)
    for part in parts:
        is_split = np.array(part["left_children"]) >= 0
        is_set = np.array(part["split_type"]) == 1
        feature = np.array(part["split_indices"], np.int64)
        as_numbers[feature[is_split & ~is_set]] = True
        as_sets[feature[is_split & is_set]] = True
    mixed = np.flatnonzero(as_numbers & as_sets)
    if len(mixed):
        raise InvalidInputError(
            f"the model's trees take column {mixed[0]} for numbers and for categories: train it in one go"
        )


def _category_values(learner: dict[str, Any]) -> CategoryValues:
    """Return the lists of categories of a training frame, and which columns they are of.

    Models of releases before 3.1 do not say whether there were any.
    """
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster)["model"]
    if "cats" not in model and "c" in learner["feature_types"]:
        return CategoryValues(None, (), of_frames=True)
    coded = model.get("cats", {}).get("enc", [])
    listed = {
        place: _category_list(code)
        for place, (kind, code) in enumerate(zip(learner["feature_types"], coded, strict=False))
        if kind == "c"
    }
    return CategoryValues(tuple(listed), tuple(listed.values()), of_frames=True)


def _category_list(code: dict[str, Any]) -> npt.NDArray[Any]:
    if "offsets" not in code:
        return category_list(code["values"])
    text = bytes(value % 256 for value in code["values"])  # saved as signed bytes
    if not text.isascii():
        raise InvalidInputError(
            "the model was trained on names of categories that are not plain ASCII, of which XGBoost "
            "keeps only parts: rename the categories and train anew"
        )
    return category_list(text[first:last].decode() for first, last in pairwise(code["offsets"]))


def _tree(part: dict[str, Any], factor: np.float32, set_start: npt.NDArray[np.int64]) -> Tree:
    left, right = np.array(part["left_children"], np.int64), np.array(part["right_children"], np.int64)
    condition = np.array(part["split_conditions"], np.float32)
    default_left = np.array(part["default_left"], np.bool_)
    is_leaf, is_set = left < 0, set_start >= 0
    # XGBoost sends a set right and goes left below a threshold; here sets go left, and thresholds too.
    return Tree(
        left=np.where(is_set, right, left),
        right=np.where(is_set, left, right),
        feature=np.where(is_leaf, -1, np.array(part["split_indices"], np.int64)),
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(np.float64),
        missing_left=default_left ^ is_set,
        category_start=set_start,
        weight=np.array(part["sum_hessian"], np.float64),
        score=np.where(is_leaf, condition * factor, np.float32(0)).astype(np.float64),
    )
