"""Importing LightGBM's classifiers, from their text format.

Sums equal ``predict(raw_score=True)``, bit for bit: the same float64 leaves added in the same order, up to
the best iteration of a model that stopped early. Scores given to rows in training (``init_score``) are not
part of a model: neither LightGBM's ``predict`` nor this importer adds them.

- Two classes: LightGBM's ``predict`` says yes if the probability is above a half, that is, if the sum is
  above 0. Only for a sum between 0 and about 2e-16 does the probability round to a half, and LightGBM says
  no.
- More classes: a voter is one iteration, with one tree per class. LightGBM's ``predict`` takes the first of
  the largest probabilities; here the first of the largest sums wins. They differ only if the probabilities of
  different sums are rounded to the same number. With multiclass these are sums within about 1e-16 of each
  other. With multiclassova they are sums within about ``1e-16 * exp(s)``, where s is the larger one times
  ``sigmoid``: all sums with s above 37 have the probability 1.
- Objective multiclass or multiclassova with ``num_class=2``: each tree is a voter, and those of class 0 count
  with the opposite sign. Their sum is the difference of LightGBM's two raw scores, up to its last bits.
- ``boosting_type="rf"``: sums are over the trees, like LightGBM's raw scores, although its probabilities use
  their means.
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

# Bits of a split's decision_type, and its possible missing types.
IS_SET, DEFAULT_LEFT = 1, 2
MISSING_IS_ZERO, ZERO_IS_MISSING = 0, 1  # otherwise only NaN is missing


def import_model(model: Any) -> Found:
    """Read a fitted ``LGBMClassifier`` or ``Booster``; the labels of a Booster are 0, 1, ...

    Supported objectives are binary, multiclass (softmax) and multiclassova; boosting types gbdt, dart, rf and
    goss.

    Arrays hold categories as numbers. In a pandas frame, columns of dtype category are translated with the
    lists of the training frame. As in LightGBM, arrays other than float32 and float64 are rounded to float32,
    and columns of a frame are not.

    Raises
    ------
    InvalidInputError
        If the model is not a classifier, has a custom objective or linear trees, or treats one column in
        several ways, which can happen if training is continued on other data.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    """
    from lightgbm import Booster, LGBMClassifier

    if isinstance(model, LGBMClassifier):
        booster, classes = model.booster_, np.asarray(model.classes_)
    elif isinstance(model, Booster):
        booster, classes = model, None
    else:
        raise InvalidInputError(
            f"expected an LGBMClassifier or a Booster of LightGBM, got {type(model).__name__}"
        )
    text = booster.model_to_string()  # as predict does, up to the best iteration
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    objective, n_classes = _objective(_fields(head))
    if classes is None:
        classes = np.arange(n_classes)
    if len(classes) != n_classes:
        raise InvalidInputError(
            f"the model has {len(classes)} labels but scores for {n_classes} classes: train it on rows of "
            "all classes, without num_class"
        )
    parts = [_fields(block) for block in blocks]
    by_class = objective != "binary"
    if any(part.get("is_linear", "0") != "0" for part in parts):
        raise InvalidInputError(
            "linear trees are not supported, because their leaves have no fixed score: "
            "train with linear_tree=False"
        )
    categories, set_starts = _sets(parts)
    n_features = int(booster.num_feature())
    zero_is_missing = _zero_is_missing(parts, n_features)

    def trees() -> Iterator[Tree]:
        for number, (part, starts) in enumerate(zip(parts, set_starts, strict=True)):
            tree = _tree(part, starts)
            against = by_class and n_classes == 2 and number % 2 == 0
            yield tree._replace(score=-tree.score) if against else tree

    n_rounds = len(parts) // n_classes if by_class else len(parts)
    return Found(
        trees,
        n_features=n_features,
        classes=classes,
        start=np.zeros(n_classes) if n_classes > 2 else 0.0,
        key_bits=64,
        takes_missing=True,
        takes_infinite=True,
        categories=categories,
        zero_is_missing=zero_is_missing if zero_is_missing.any() else None,
        category_values=_category_values(booster, text),
        array_bits=32,
        link=_link(objective, n_classes, _sigmoid(head) / (n_rounds if "\naverage_output\n" in head else 1)),
        in_order=True,
        trees_a_round=n_classes if n_classes > 2 else 1,
    )


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {key: value for key, _, value in pairs}


def _category_values(booster: Any, text: str) -> CategoryValues:
    """Return the lists of the training frame; their columns are known only if all were split by category."""
    lists = tuple(map(category_list, booster.pandas_categorical or []))
    found = re.search(r"^\[categorical_feature: ([\d,]*)\]$", text, re.MULTILINE)
    columns = tuple(sorted(int(number) for number in found[1].split(",") if number)) if found else ()
    known = columns if len(columns) == len(lists) else None
    return CategoryValues(known if lists else (), lists, of_frames=True)


def _objective(head: dict[str, str]) -> tuple[str, int]:
    """Return the name of the objective and the number of classes."""
    objective = head.get("objective", "one of its own")
    name = objective.split(" ")[0]
    if name not in ("binary", "multiclass", "multiclassova"):
        raise InvalidInputError(
            f"the model's objective {objective} is not supported: train with objective binary, multiclass or "
            "multiclassova"
        )
    return name, 2 if name == "binary" else int(head["num_class"])


def _link(objective: str, n_classes: int, scale: float) -> Link | None:
    """Return how sums become LightGBM's probabilities; None for two classes trained one-vs-all."""
    if objective == "multiclass" and n_classes > 2:
        return Link("softmax", scale)
    return None if objective == "multiclassova" and n_classes == 2 else Link("logistic", scale)


def _sigmoid(head: str) -> float:
    """Return the factor of the score, from the header: for example, objective=binary sigmoid:1."""
    found = re.search(r"^objective=.* sigmoid:(\S+)", head, re.MULTILINE)
    return float(found[1]) if found else 1.0


def _whole(part: dict[str, str], key: str) -> npt.NDArray[np.int64]:
    return np.array(part.get(key, "").split(), dtype=np.int64)


def _floats(part: dict[str, str], key: str) -> npt.NDArray[np.float64]:
    return np.array(part.get(key, "").split(), dtype=np.float64)


def _sets(parts: list[dict[str, str]]) -> tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.int64]]]:
    """Return all sets of categories, each preceded by its length, and where those of each tree begin."""
    sets, starts = CategorySets(), []
    for part in parts:
        bounds = _whole(part, "cat_boundaries")
        bits = np.array(part.get("cat_threshold", "").split(), dtype=np.uint32)
        own = [sets.add_bits(bits[first:last]) for first, last in pairwise(bounds)]
        starts.append(np.array(own, np.int64))
    return sets.words(), starts


def _zero_is_missing(parts: list[dict[str, str]], n_features: int) -> npt.NDArray[np.bool_]:
    """Return the columns in which 0 is missing; raise if a column is treated in several ways."""
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
            "with and without zero_as_missing), which is not supported: train all trees in one call"
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
    # Tiny values count as 0 when compared, so a threshold among them is moved to their end.
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
