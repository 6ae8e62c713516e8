"""Importing LightGBM's two-class models, from the text that they save themselves as.

A score is what ``predict(raw_score=True)`` gives, bit for bit: the same float64 leaves added in the same
order, up to the best iteration of a model that stopped early. LightGBM's ``predict`` says yes when the
probability made of it is above a half, which is when the score is above 0; only a score between 0 and about
2e-16 makes a half after rounding, so that LightGBM says no. With ``boosting_type="rf"`` the score is the
sum over the trees, as LightGBM's raw score is, though its probability is made of their mean.
"""

from __future__ import annotations

import re
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

ZERO = float(np.float32(1e-35))  # values of at most this size are 0 to LightGBM

# Bits of a split's decision_type, and what its missing type may be.
IS_SET, DEFAULT_LEFT = 1, 2
MISSING_IS_ZERO, ZERO_IS_MISSING = 0, 1  # else only NaN is missing


def import_model(model: Any) -> Found:
    """Read a fitted ``LGBMClassifier``, or a ``Booster`` with labels 0 and 1, of objective binary.

    Arrays hold categories as numbers. The columns of dtype category of a pandas frame are turned into
    numbers by the lists of the frame that the model was trained on. Arrays of neither float32 nor float64
    are rounded to float32, and columns of a frame are not, as LightGBM itself has it.

    Raises
    ------
    InvalidInputError
        If the model is no two-class classifier, has linear trees, or treats one column in several ways,
        as can happen when training is continued on other data.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    from lightgbm import Booster, LGBMClassifier

    if isinstance(model, LGBMClassifier):
        booster, classes = model.booster_, np.asarray(model.classes_)
        if len(classes) != 2:
            raise InvalidInputError(f"scores are for two classes, the model has {len(classes)}: {classes!r}")
    elif isinstance(model, Booster):
        booster, classes = model, np.array([0, 1])
    else:
        raise InvalidInputError(
            "of LightGBM's models only LGBMClassifier and Booster have scores for two classes, "
            f"not {type(model).__name__}"
        )
    text = booster.model_to_string()  # as predict does, up to the best iteration
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    _check_objective(_fields(head))
    parts = [_fields(block) for block in blocks]
    if any(part.get("is_linear", "0") != "0" for part in parts):
        raise InvalidInputError(
            "the model has linear trees, whose leaves add no fixed score: train with linear_tree=False"
        )
    categories, set_starts = _sets(parts)
    n_features = int(booster.num_feature())
    zero_is_missing = _zero_is_missing(parts, n_features)

    def trees() -> Iterator[Tree]:
        for part, starts in zip(parts, set_starts, strict=True):
            yield _tree(part, starts)

    return Found(
        trees,
        n_features=n_features,
        classes=classes,
        start=0.0,
        key_bits=64,
        takes_missing=True,
        takes_infinite=True,
        categories=categories,
        zero_is_missing=zero_is_missing if zero_is_missing.any() else None,
        category_values=_category_values(booster, text),
        array_bits=32,
        link=Link("logistic", _sigmoid(head) / (len(parts) if "\naverage_output\n" in head else 1)),
        in_order=True,
    )


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {key: value for key, _, value in pairs}


def _category_values(booster: Any, text: str) -> CategoryValues:
    """Return the lists of the training frame; its columns are known if all of them were split by category."""
    lists = tuple(map(category_list, booster.pandas_categorical or []))
    found = re.search(r"^\[categorical_feature: ([\d,]*)\]$", text, re.MULTILINE)
    columns = tuple(sorted(int(number) for number in found[1].split(",") if number)) if found else ()
    known = columns if len(columns) == len(lists) else None
    return CategoryValues(known if lists else (), lists, of_frames=True)


def _check_objective(head: dict[str, str]) -> None:
    objective = head.get("objective", "one of its own")
    if objective.split(" ")[0] != "binary":
        raise InvalidInputError(
            f"the model's objective is {objective}: only LightGBM models of objective binary have scores "
            "whose sign is the answer; train with objective='binary'"
        )


def _sigmoid(head: str) -> float:
    """Return what the score is multiplied with: the head says, for example, objective=binary sigmoid:1."""
    found = re.search(r"^objective=.* sigmoid:(\S+)", head, re.MULTILINE)
    return float(found[1]) if found else 1.0


def _whole(part: dict[str, str], key: str) -> npt.NDArray[np.int64]:
    return np.array(part.get(key, "").split(), dtype=np.int64)


def _floats(part: dict[str, str], key: str) -> npt.NDArray[np.float64]:
    return np.array(part.get(key, "").split(), dtype=np.float64)


def _sets(parts: list[dict[str, str]]) -> tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.int64]]]:
    """Return all sets of categories, each after its length, and where those of each tree begin."""
    sets, starts = CategorySets(), []
    for part in parts:
        bounds = _whole(part, "cat_boundaries")
        bits = np.array(part.get("cat_threshold", "").split(), dtype=np.uint32)
        own = [sets.add_bits(bits[first:last]) for first, last in pairwise(bounds)]
        starts.append(np.array(own, np.int64))
    return sets.words(), starts


def _zero_is_missing(parts: list[dict[str, str]], n_features: int) -> npt.NDArray[np.bool_]:
    """Return the columns in which 0 is missing, once it is sure that each is treated in one way only."""
    is_set, zero_missing, zero_known = np.zeros((3, n_features), np.bool_)
    for part in parts:
        feature, decision = _whole(part, "split_feature"), _whole(part, "decision_type")
        numeric = (decision & IS_SET) == 0
        is_zero_type = numeric & (decision >> 2 == ZERO_IS_MISSING)
        is_set[feature[~numeric]] = True
        zero_missing[feature[is_zero_type]] = True
        zero_known[feature[numeric & ~is_zero_type]] = True
    mixed = np.flatnonzero((is_set & (zero_missing | zero_known)) | (zero_missing & zero_known))
    if len(mixed):
        raise InvalidInputError(
            f"the model's trees treat column {mixed[0]} in different ways (as numbers and as categories, or "
            "with and without zero_as_missing): train it in one go"
        )
    return zero_missing


def _tree(part: dict[str, str], set_starts: npt.NDArray[np.int64]) -> Tree:
    """Return the tree with its splits first, numbered as LightGBM does, and then its leaves."""
    n_leaves = int(part["num_leaves"])
    n_splits = n_leaves - 1
    feature, decision = _whole(part, "split_feature"), _whole(part, "decision_type")
    threshold, is_set = _floats(part, "threshold"), (decision & IS_SET) > 0
    missing_type, default_left = decision >> 2, (decision & DEFAULT_LEFT) > 0
    category_start = np.full(n_splits, -1)
    category_start[is_set] = set_starts[threshold[is_set].astype(np.int64)]
    missing_left = np.where(missing_type == MISSING_IS_ZERO, threshold >= 0, default_left) & ~is_set
    # Tiny values are 0 before they are compared, so a threshold among them moves to the end of them.
    tiny = np.abs(threshold) <= ZERO
    threshold = np.where(tiny, np.where(threshold >= 0, ZERO, np.nextafter(-ZERO, -np.inf)), threshold)

    def children(key: str) -> npt.NDArray[np.int64]:
        numbers = _whole(part, key)[:n_splits]
        return np.append(np.where(numbers < 0, n_splits + ~numbers, numbers), np.full(n_leaves, -1))

    def both(splits: npt.NDArray[Any], leaves: npt.NDArray[Any] | float) -> npt.NDArray[Any]:
        return np.append(splits, np.broadcast_to(leaves, n_leaves)).astype(splits.dtype)

    counts = np.append(_floats(part, "internal_count"), _floats(part, "leaf_count"))
    return Tree(
        left=children("left_child"),
        right=children("right_child"),
        feature=both(feature, -1),
        threshold=both(threshold, 0.0),
        missing_left=both(missing_left, leaves=False),
        category_start=both(category_start, -1),
        weight=counts if len(counts) == n_splits + n_leaves else np.ones(n_splits + n_leaves),
        score=both(np.zeros(n_splits), _floats(part, "leaf_value")),
    )
