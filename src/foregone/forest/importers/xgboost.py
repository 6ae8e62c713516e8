"""Importing XGBoost's classifiers, from their JSON format.

Every row reaches the same leaves, and the sums equal ``predict(output_margin=True)`` up to its last bits.
XGBoost starts with the margin of ``base_score`` and adds float32 leaves in float32; here the same numbers are
added in float64, in the same order for each class. Added in float32 instead, they give XGBoost's margins bit
for bit. For booster dart that holds for ``Booster.predict`` of a DMatrix; ``XGBClassifier.predict`` adds the
margin of ``base_score`` to each tree and subtracts it again, in float32, which changes the last bits.

An answer can differ from XGBoost's only if the sum of two classes is 0, or the two largest of several sums
are equal, up to the rounding of the float32 sums and of the float32 probabilities computed from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.checks import is_a
from foregone.errors import InvalidInputError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import CategorySets, Found, Tree
from foregone.forest.link import Link

__all__ = ["import_model"]

# Objectives whose answer is the sign of the score; with True, base_score is a probability.
SIGN = {"binary:logistic": True, "reg:logistic": True, "binary:logitraw": False, "binary:hinge": False}
SMALLEST_CHANCE = np.float32(1e-6)  # probabilities closer to 0 or 1 are clipped to this
LARGEST = ("multi:softprob", "multi:softmax")  # whose answer is the class of the largest score


def import_model(model: Any) -> Found:
    """Read a fitted ``XGBClassifier`` (or ``XGBRFClassifier``) or ``Booster``; labels are 0, 1, ...

    Like ``predict``, this uses the trees up to the best iteration of a classifier that stopped early, and all
    trees of a Booster. Boosters gbtree and dart are supported. Arrays hold categories as numbers (one between
    -1 and 0 counts as 0 here and is unknown to XGBoost). In a pandas frame, columns of dtype category are
    translated with the lists of the training frame, which XGBoost stores since release 3.1. A category not in
    its list counts as missing here; XGBoost rejects such rows.

    With objective binary:logitraw, ``XGBClassifier.predict`` says yes above 0.5, not above 0; the scores are
    0.5 less than XGBoost's in this case.

    For more than two classes, a voter consists of one tree per class, the v-th of each; with
    ``num_parallel_tree``, an iteration makes several voters. With ``multi_strategy="multi_output_tree"`` a
    voter is one tree, whose leaves hold one score per class. In a Booster with objective multi:softprob or
    multi:softmax and ``num_class=2`` each tree is a voter, and those of class 0 count with the opposite sign:
    their sum is the difference of XGBoost's two margins, up to the last bits.

    Raises
    ------
    InvalidInputError
        If the model is not a classifier, is linear, has an unsupported objective, or uses a value other than
        NaN for missing values.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    booster, n_rounds, yes_above = _booster(model)
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    size = learner["learner_model_param"]
    objective = learner["objective"]["name"]
    if objective not in (*SIGN, *LARGEST) or int(size.get("num_target", 1)) > 1:
        raise InvalidInputError(
            f"objective {objective} with num_target={size.get('num_target', 1)} is not supported: train with "
            f"one target and one of the objectives {', '.join((*SIGN, *LARGEST))}"
        )
    n_classes = int(size["num_class"]) if objective in LARGEST else 2
    members = _members(learner["gradient_booster"], n_rounds)
    has_vectors = any(member.has_vectors for member in members)
    if objective in LARGEST and not has_vectors:
        members = _side_by_side(members, n_classes)
    parts = [member.part for member in members]
    categories, set_starts = _sets(parts)
    n_features = int(size["num_feature"])
    _check_columns(parts, n_features)

    def trees() -> Iterator[Tree]:
        for member, starts in zip(members, set_starts, strict=True):
            tree = _tree(member.part, member.factor, starts)
            if objective in LARGEST and n_classes == 2:
                said = tree.score
                against = said[:, 1] - said[:, 0] if has_vectors else said if member.group == 1 else -said
                tree = tree._replace(score=against)
            yield tree

    start = _start(size, objective, n_classes)
    return Found(
        trees,
        n_features=n_features,
        classes=np.arange(n_classes),
        start=start - yes_above if objective == "binary:logitraw" else start,
        key_bits=32,
        takes_missing=True,
        takes_infinite=True,
        categories=categories,
        category_values=_category_values(learner),
        link=_link(objective, n_classes),
        in_order=True,
        trees_a_round=n_classes if n_classes > 2 and not has_vectors else 1,
    )


class _Member(NamedTuple):
    """A tree of the model: its JSON, the factor of its leaves, and its class."""

    part: dict[str, Any]
    factor: np.float32
    group: int

    @property
    def has_vectors(self) -> bool:
        """Whether each leaf holds one score per class."""
        return int(self.part["tree_param"].get("size_leaf_vector", 1)) > 1


def _start(size: dict[str, str], objective: str, n_classes: int) -> float | npt.NDArray[np.float64]:
    """Return the margin of base_score: one number, or for more than two classes one per class."""
    base = np.array(str(size["base_score"]).strip("[]").split(","), np.float32)
    if SIGN.get(objective):
        base = np.clip(base, SMALLEST_CHANCE, np.float32(1) - SMALLEST_CHANCE)
        odds = np.float32(1) / base - np.float32(1)
        base = -np.log(odds.astype(np.float64)).astype(np.float32)
    margins = np.broadcast_to(base.astype(np.float64), n_classes if objective in LARGEST else 1)
    if n_classes > 2:
        return margins.copy()
    return float(margins[1] - margins[0] if objective in LARGEST else margins[0])


def _link(objective: str, n_classes: int) -> Link | None:
    """Return how sums become XGBoost's probabilities; None if it returns no probabilities."""
    if objective in LARGEST:
        return Link("softmax" if n_classes > 2 else "logistic", 1.0)
    return Link("logistic", 1.0) if SIGN[objective] else None


def _booster(model: Any) -> tuple[Any, int | None, float]:
    """Return the booster, the number of rounds that predict uses (None: all), and the threshold for yes."""
    from xgboost import Booster, XGBClassifier

    if isinstance(model, Booster):
        return model, None, 0.0
    if not isinstance(model, XGBClassifier):
        raise InvalidInputError(
            f"expected an XGBClassifier or a Booster of XGBoost, got {type(model).__name__}"
        )
    booster = model.get_booster()
    if model.n_classes_ < 2:
        raise InvalidInputError("the model has one class: train it on rows of two classes or more")
    if callable(model.objective):
        raise InvalidInputError("custom objectives are not supported: train with one of XGBoost's objectives")
    if not is_a(model.missing, type(None)) and not np.isnan(model.missing):
        raise InvalidInputError(
            f"the model treats {model.missing!r} as missing, which is not supported: replace it by NaN and "
            "train with missing=nan"
        )
    best = booster.attr("best_iteration")
    return booster, None if best is None else int(best) + 1, 0.5


def _members(gradient_booster: dict[str, Any], n_rounds: int | None) -> list[_Member]:
    """Return the trees that predict uses, in XGBoost's order."""
    name = gradient_booster["name"]
    if name not in ("gbtree", "dart"):
        raise InvalidInputError(f"booster {name!r} is not supported: train with booster='gbtree'")
    model = (gradient_booster["gbtree"] if name == "dart" else gradient_booster)["model"]
    parts = model["trees"]
    # The factors of dropped trees: beside the model, or since release 3.4 inside it.
    factors = gradient_booster.get("weight_drop") or model.get("weight_drop") or [1.0] * len(parts)
    members = [
        _Member(part, np.float32(factor), int(group))
        for part, factor, group in zip(parts, factors, model["tree_info"], strict=True)
    ]
    return members if n_rounds is None else members[: model["iteration_indptr"][n_rounds]]


def _side_by_side(members: list[_Member], n_classes: int) -> list[_Member]:
    """Return the trees voter by voter: the v-th of class 0, the v-th of class 1, ..."""
    by_class: list[list[_Member]] = [[] for _ in range(n_classes)]
    for member in members:
        by_class[member.group].append(member)
    return [member for voter in zip(*by_class, strict=True) for member in voter]


def _sets(parts: list[Any]) -> tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.int64]]]:
    """Return all sets of categories, each preceded by its length, and where that of each node begins."""
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
    """Raise if some trees treat a column as numbers and others as categories."""
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
            f"the model's trees treat column {mixed[0]} both as numbers and as categories, which is not "
            "supported: train all trees in one call"
        )


def _category_values(learner: dict[str, Any]) -> CategoryValues:
    """Return the lists of categories of the training frame, and their columns.

    Models from releases before 3.1 do not store them.
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
            "the model was trained on categories whose names are not plain ASCII, and XGBoost stores only "
            "parts of these: rename the categories and retrain"
        )
    return category_list(text[first:last].decode() for first, last in pairwise(code["offsets"]))


def _tree(part: dict[str, Any], factor: np.float32, set_start: npt.NDArray[np.int64]) -> Tree:
    left, right = np.array(part["left_children"], np.int64), np.array(part["right_children"], np.int64)
    condition = np.array(part["split_conditions"], np.float32)
    default_left = np.array(part["default_left"], np.bool_)
    is_leaf, is_set = left < 0, set_start >= 0
    leaf = _leaves(part, is_leaf, right, condition) * factor
    # XGBoost sends a set right and values below a threshold left; here sets and values at most it go left.
    return Tree(
        left=np.where(is_set, right, left),
        right=np.where(is_leaf, -1, np.where(is_set, left, right)),
        feature=np.where(is_leaf, -1, np.array(part["split_indices"], np.int64)),
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(np.float64),
        missing_left=default_left ^ is_set,
        category_start=set_start,
        weight=np.array(part["sum_hessian"], np.float64),
        score=leaf.astype(np.float64),
    )


def _leaves(
    part: dict[str, Any],
    is_leaf: npt.NDArray[np.bool_],
    right: npt.NDArray[np.int64],
    condition: npt.NDArray[np.float32],
) -> npt.NDArray[np.float32]:
    """Return the values of leaves, 0 in other nodes: one number per node, or one per class."""
    width = int(part["tree_param"].get("size_leaf_vector", 1))
    if width <= 1:
        return np.where(is_leaf, condition, np.float32(0))
    vectors = np.zeros((len(is_leaf), width), np.float32)
    if "leaf_weights" in part:  # leaves only; each stores its position in place of a right child
        vectors[is_leaf] = np.array(part["leaf_weights"], np.float32).reshape(-1, width)[right[is_leaf]]
    else:  # releases before 3.2 store a vector for every node
        vectors[is_leaf] = np.array(part["base_weights"], np.float32).reshape(-1, width)[is_leaf]
    return vectors
