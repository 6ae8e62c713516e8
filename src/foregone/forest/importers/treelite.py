"""Importing two-class models of treelite, which reads those of XGBoost, LightGBM, scikit-learn and others.

Treelite itself only adds up or averages what leaves hold; whether that is a vote is up to where it came from:

- leaves with a probability for each class (scikit-learn's forests): treelite averages them, as a
  `ScoredForest` does; each tree has a vote, for the larger one, and a `PackedForest` counts those votes;
- leaves with a margin (all boosted trees, but also XGBoost's random forests, which add up margins, and
  LightGBM's ``boosting="rf"``, which averages them): trees do not vote. They make a `ScoredForest`, which
  says yes when the sum is above 0, that is when treelite's probability is above a half.

Every row reaches the same leaves as with ``treelite.gtil.predict``, given the same type of rows. Values are
compared as the model's thresholds are stored: in float32 for XGBoost, in float64 for the others. (But
scikit-learn rounds values to float32: round rows so, or use `PackedForest.from_sklearn`.)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.file_reading import cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.forest.importers.found import CategorySets, Found, Tree, check_links
from foregone.forest.link import Link

__all__ = ["import_model"]

# The numbers that stand in a model for its kinds of task, types, nodes and comparisons.
BINARY, MULTICLASS = 0, 2
TASKS = ("two classes", "regression", "several classes", "ranking", "outliers")
FLOAT32 = 2
LEAF, NUMERIC, CATEGORICAL = 0, 1, 2
LESS, AT_MOST, MORE, AT_LEAST = 2, 3, 4, 5

SIGN_IS_THE_ANSWER = ("sigmoid", "hinge", "identity", "signed_square")
Array = npt.NDArray[Any]


def import_model(model: Any, classes: Sequence[Any] = (0, 1)) -> Found:
    """Read a ``treelite.Model``, or a checkpoint that its ``serialize`` wrote.

    A leaf's score is its margin, or half of p(yes) - p(no). Scores are added up even where treelite divides
    by the number of trees. Categories are whole numbers; one between -1 and 0 is 0 here and unknown to
    treelite.

    Raises
    ------
    InvalidInputError
        If the model is not one of two classes, or tests for equality.
    FileFormatError
        If the file is no checkpoint of treelite.
    """
    model = _model(model)
    header = model.get_header_accessor()
    labels = np.asarray(classes)
    if labels.shape != (2,) or labels[0] == labels[1]:
        raise InvalidInputError(f"classes must be two labels, those of 0 and 1, not {classes!r}")
    by_class = _has_leaf_vectors(header)
    n_features = int(header.get_field("num_feature")[0])
    averages, base = bool(header.get_field("average_tree_output")[0]), header.get_field("base_scores")
    sets = CategorySets()
    try:
        trees = [
            _tree(model.get_tree_accessor(number), n_features, by_class, sets)
            for number in range(model.num_tree)
        ]
    except (ValueError, IndexError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"this model of treelite is damaged: {error}") from None
    start = (base[1] - base[0]) / 2 if by_class else base[0]
    share = 1 / len(trees) if averages else 1.0
    return Found(
        lambda: iter(trees),
        n_features=n_features,
        classes=labels,
        start=float(start) / share,
        key_bits=32 if header.get_field("threshold_type")[0] == FLOAT32 else 64,
        takes_missing=True,
        takes_infinite=True,
        categories=sets.words(),
        trees_vote=by_class and start == 0,
        link=_link(header, by_class, share),
        in_order=not by_class,
    )


def _model(model: Any) -> Any:
    try:
        import treelite
    except ImportError:
        raise MissingExtraError("treelite", "forests", "Reading a model of treelite") from None
    if isinstance(model, treelite.Model):
        return model
    if not isinstance(model, str | os.PathLike):
        raise InvalidInputError(
            f"a treelite.Model or the path of a checkpoint is expected, not {type(model).__name__}"
        )
    try:
        with Path(model).open("rb") as file:
            version = np.frombuffer(file.read(4), "<i4")
    except (OSError, ValueError) as error:
        raise cannot_read(model, error) from None
    # Treelite takes the sizes in a file at their word, so what is surely none of its own is kept from it.
    if len(version) < 1 or not 3 <= version[0] <= int(treelite.__version__.partition(".")[0]):
        raise FileFormatError(f"{model}: not a checkpoint that treelite's Model.serialize wrote")
    try:
        return treelite.Model.deserialize(str(model))
    except (treelite.TreeliteError, MemoryError):
        raise FileFormatError(
            f"{model}: treelite cannot read this checkpoint: it is damaged, or written by another version"
        ) from None


def _has_leaf_vectors(header: Any) -> bool:
    """Whether leaves have a probability for each of two classes, or one margin; raise if neither."""
    task, postprocessor = int(header.get_field("task_type")[0]), header.get_field("postprocessor")
    shape, n_classes = header.get_field("leaf_vector_shape").tolist(), header.get_field("num_class").tolist()
    if task not in (BINARY, MULTICLASS) or len(n_classes) != 1 or n_classes[0] > 2:
        what = f"{n_classes[0]} classes" if task == MULTICLASS else TASKS[task]
        raise InvalidInputError(f"a vote is between two classes, this model of treelite is for {what}")
    if shape == [1, 2] and postprocessor in ("identity_multiclass", "identity"):
        return True
    if shape != [1, 1] or task != BINARY or postprocessor not in SIGN_IS_THE_ANSWER:
        raise InvalidInputError(
            f"leaves of shape {shape} that end in {postprocessor} are not supported: they should hold "
            "probabilities of two classes, or a margin whose sign is the answer"
        )
    return False


def _link(header: Any, by_class: bool, share: float) -> Link | None:
    """Return how a sum becomes treelite's probability; None if it gives another number."""
    if by_class:
        return Link("mean", share)
    alpha = float(header.get_field("sigmoid_alpha")[0])
    return Link("logistic", alpha * share) if header.get_field("postprocessor") == "sigmoid" else None


def _tree(tree: Any, n_features: int, by_class: bool, sets: CategorySets) -> Tree:
    def get(name: str) -> Array:
        field: Array = tree.get_field(name)
        return field

    left, right, kind = get("cleft").astype(np.int64), get("cright").astype(np.int64), get("node_type")
    check_links(left, right)
    is_leaf, is_set, operator = kind == LEAF, kind == CATEGORICAL, get("cmp")
    feature = np.where(is_leaf, -1, get("split_index")).astype(np.int64)
    if (is_leaf != (left < 0)).any() or (feature >= n_features).any() or (feature[~is_leaf] < 0).any():
        raise ValueError("a node is neither a leaf nor a split by a column")
    threshold = get("threshold")
    numeric = kind == NUMERIC
    if (numeric & ((operator < LESS) | (operator > AT_LEAST) | np.isnan(threshold))).any():
        raise InvalidInputError("a split tests for equality, which is not supported: use one of <, <=, >, >=")
    # Less than a threshold is at most the number before it, and what is greater goes left by a swap of sides.
    is_strict = (operator == LESS) | (operator == AT_LEAST)
    lowest = np.array(-np.inf, threshold.dtype)
    threshold = np.where(is_strict & numeric, np.nextafter(threshold, lowest), threshold)
    swapped = numeric & ((operator == MORE) | (operator == AT_LEAST))
    category_start = np.full(len(left), -1)
    first, last, listed = get("category_list_begin"), get("category_list_end"), get("category_list")
    for node in np.flatnonzero(is_set):
        category_start[node] = sets.add(listed[int(first[node]) : int(last[node])].tolist())
    swapped |= is_set & (get("category_list_right_child") > 0)
    if by_class:
        starts = get("leaf_vector_begin")[is_leaf].astype(np.int64)
        vectors = get("leaf_vector").astype(np.float64)
        score = np.zeros(len(left))
        score[is_leaf] = (vectors[starts + 1] - vectors[starts]) / 2
    else:
        score = np.where(is_leaf, get("leaf_value").astype(np.float64), 0.0)
    weight = get("data_count") if get("data_count_present").all() else get("sum_hess")
    return Tree(
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        feature=feature,
        threshold=threshold.astype(np.float64),
        missing_left=(get("default_left") > 0) ^ swapped,
        category_start=category_start,
        weight=weight.astype(np.float64) if len(weight) == len(left) else np.ones(len(left)),
        score=score,
    )
