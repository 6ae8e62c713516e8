"""Importing treelite's classifiers; treelite reads models of XGBoost, LightGBM, scikit-learn and others.

Treelite itself only adds up or averages the values of leaves. Whether trees vote depends on the source:

- Leaves with one probability per class (scikit-learn's forests): treelite averages them, like a
  `ScoredForest`. Each tree also has a vote, for the largest one; a `PackedForest` counts those votes.
- Leaves with a margin, or one per class (all boosted trees, but also XGBoost's random forests, which add up
  margins, and LightGBM's ``boosting="rf"``, which averages them): trees do not vote. Use a `ScoredForest`.
  For two classes it says yes if the sum is above 0, that is, if treelite's probability is above a half. For
  more, the first of the largest sums is the answer.

Every row reaches the same leaves as with ``treelite.gtil.predict``, given the same type of rows. Values are
compared in the type of the model's thresholds: float32 for XGBoost, float64 for the others. (But scikit-learn
rounds values to float32: round your rows too, or use `PackedForest.from_sklearn`.) Treelite adds up in the
type of the leaves, here sums use float64: they are equal up to the last bits of that type.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._system.file_reading import cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.forest.importers.found import MOST_CLASSES, CategorySets, Found, Tree, check_links
from foregone.forest.link import Link

__all__ = ["import_model"]

# The numbers that stand in a model for its kinds of task, types, nodes and comparisons.
BINARY, MULTICLASS = 0, 2
TASKS = ("two classes", "regression", "several classes", "ranking", "outliers")
FLOAT32 = 2
LEAF, NUMERIC, CATEGORICAL = 0, 1, 2
LESS, AT_MOST, MORE, AT_LEAST = 2, 3, 4, 5

SIGN_IS_THE_ANSWER = ("sigmoid", "hinge", "identity", "signed_square")
LARGEST_IS_THE_ANSWER = ("softmax", "multiclass_ova", "identity_multiclass")
Array = npt.NDArray[Any]

LEAF_ONLY = np.full(1, -1)
NOTHING = Tree(  # for classes with fewer trees than others: adds 0
    left=LEAF_ONLY,
    right=LEAF_ONLY,
    feature=LEAF_ONLY,
    threshold=np.zeros(1),
    missing_left=np.zeros(1, np.bool_),
    category_start=LEAF_ONLY,
    weight=np.ones(1),
    score=np.zeros(1),
)


def import_model(model: Any, classes: Sequence[Any] | None = None) -> Found:
    """Read a ``treelite.Model``, or a checkpoint that its ``serialize`` wrote.

    For two classes, a leaf's score is its margin, or half of p(yes) - p(no). For more, it is the leaf's value
    for each class. If each tree belongs to one class, a voter is the v-th tree of every class, and classes
    with fewer trees are padded with trees that add 0. (With two such classes, every tree is a voter, and
    those of the first class count with the opposite sign.) Scores are added up even if treelite divides by
    the number of trees. Categories are integers; one between -1 and 0 counts as 0 here and is unknown to
    treelite.

    Parameters
    ----------
    model : treelite.Model or path
    The model to read.
    classes : sequence of labels, optional
        One per class, in treelite's order; by default 0, 1, ...

    Raises
    ------
    InvalidInputError
        If the model is not a classifier, or a split tests for equality.
    FileFormatError
        If the file is not a treelite checkpoint.
    """
    model = _model(model)
    header = model.get_header_accessor()
    leaves = _leaves(header)
    labels = np.arange(leaves.n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (leaves.n_classes,) or len(set(labels.tolist())) != leaves.n_classes:
        many = "two unique labels" if leaves.n_classes == 2 else f"{leaves.n_classes} unique labels"
        raise InvalidInputError(f"classes must be {many}, got {classes!r}")
    n_features = int(header.get_field("num_feature")[0])
    sets = CategorySets()
    try:
        trees = [
            _tree(model.get_tree_accessor(number), n_features, leaves.width, sets)
            for number in range(model.num_tree)
        ]
        class_of_tree = header.get_field("class_id").astype(np.int64)
        trees, share = _voters(trees, leaves, class_of_tree)
    except (ValueError, IndexError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"the treelite model is damaged: {error}") from None
    if not header.get_field("average_tree_output")[0]:
        share = 1.0
    elif np.isnan(share):
        raise InvalidInputError(
            "a model that averages the trees of each class must have the same number of trees for all "
            "classes: train it so"
        )
    start = _start(header, leaves) / share
    return Found(
        lambda: iter(trees),
        n_features=n_features,
        classes=labels,
        start=start if leaves.n_classes > 2 else float(start[0]),
        key_bits=32 if header.get_field("threshold_type")[0] == FLOAT32 else 64,
        takes_missing=True,
        takes_infinite=True,
        categories=sets.words(),
        trees_vote=leaves.are_chances and not start.any(),
        link=_link(header, leaves, share),
        in_order=not leaves.are_chances,
        trees_a_round=leaves.n_classes if leaves.n_classes > 2 and leaves.width == 1 else 1,
    )


def _model(model: Any) -> Any:
    try:
        import treelite
    except ImportError:
        raise MissingExtraError("treelite", "forests", "Reading a treelite model") from None
    if isinstance(model, treelite.Model):
        return model
    if not isinstance(model, str | os.PathLike):
        raise InvalidInputError(
            f"expected a treelite.Model or the path of a checkpoint, got {type(model).__name__}"
        )
    try:
        with Path(model).open("rb") as file:
            version = np.frombuffer(file.read(4), "<i4")
    except (OSError, ValueError) as error:
        raise cannot_read(model, error) from None
    # Treelite trusts the sizes in a file, so files that cannot be checkpoints are not passed to it.
    if len(version) < 1 or not 3 <= version[0] <= int(treelite.__version__.partition(".")[0]):
        raise FileFormatError(f"{model}: not a treelite checkpoint (as written by Model.serialize)")
    try:
        return treelite.Model.deserialize(str(model))
    except (treelite.TreeliteError, MemoryError):
        raise FileFormatError(
            f"{model}: treelite cannot read this checkpoint: it is damaged, or from another version"
        ) from None


class _Leaves(NamedTuple):
    """Format of a model's leaves.

    Attributes
    ----------
    n_classes : int
        The number of classes, at least 2.
    width : int
        How many numbers a leaf holds: 1, or one per class.
    by_class : bool
        Whether there is one sum per class, even for two classes.
    are_chances : bool
        Whether the numbers are class probabilities; otherwise they are margins.
    """

    n_classes: int
    width: int
    by_class: bool
    are_chances: bool


def _leaves(header: Any) -> _Leaves:
    """Return the format of the leaves; raise unless they belong to a supported classifier."""
    task, postprocessor = int(header.get_field("task_type")[0]), header.get_field("postprocessor")
    shape, n_classes = header.get_field("leaf_vector_shape").tolist(), header.get_field("num_class").tolist()
    if task not in (BINARY, MULTICLASS) or len(n_classes) != 1 or n_classes[0] > MOST_CLASSES:
        what = f"{n_classes} classes" if task == MULTICLASS else TASKS[task]
        raise InvalidInputError(
            f"expected a treelite model for one label of up to {MOST_CLASSES:,} classes, got one for {what}"
        )
    many = max(n_classes[0], 2)
    if shape == [1, many] and postprocessor in ("identity_multiclass", "identity"):
        return _Leaves(many, many, by_class=True, are_chances=True)
    if task == MULTICLASS and shape in ([1, 1], [1, many]) and postprocessor in LARGEST_IS_THE_ANSWER:
        return _Leaves(many, shape[1], by_class=True, are_chances=False)
    if task == BINARY and shape == [1, 1] and postprocessor in SIGN_IS_THE_ANSWER:
        return _Leaves(2, 1, by_class=False, are_chances=False)
    raise InvalidInputError(
        f"leaves of shape {shape} with the postprocessor {postprocessor} are not supported: they must hold "
        "class probabilities, one margin whose sign is the answer, or one margin per class"
    )


def _start(header: Any, leaves: _Leaves) -> Array:
    """Return the sum, or sums, before the first tree."""
    base: Array = header.get_field("base_scores").astype(np.float64)
    if not leaves.by_class:
        return base[:1]
    return _of_classes(base[None, : leaves.n_classes], leaves).reshape(-1)


def _of_classes(numbers: Array, leaves: _Leaves) -> Array:
    """Return scores, given lines with one number per class: for two classes they become one number."""
    if leaves.n_classes > 2:
        return numbers
    return (numbers[:, 1] - numbers[:, 0]) / (2 if leaves.are_chances else 1)


def _voters(trees: list[Tree], leaves: _Leaves, class_of_tree: Array) -> tuple[list[Tree], float]:
    """Return the trees in the format of `Found`, and one over the number of trees per sum."""
    if leaves.width > 1:
        scored = [tree._replace(score=_of_classes(tree.score, leaves)) for tree in trees]
        if leaves.are_chances and leaves.n_classes > 2:
            scored = [tree._replace(vote=tree.score.argmax(axis=1)) for tree in scored]
        return scored, 1 / max(len(trees), 1)
    scored = [tree._replace(score=tree.score[:, 0]) for tree in trees]
    if not leaves.by_class:
        return scored, 1 / max(len(trees), 1)
    if len(class_of_tree) != len(trees) or not np.isin(class_of_tree, np.arange(leaves.n_classes)).all():
        raise ValueError("a tree does not belong to one class")
    count = np.bincount(class_of_tree, minlength=leaves.n_classes)
    # If classes have different numbers of trees, no single factor turns sums into means.
    share = 1 / count[0] if count.min() == count.max() and count[0] else np.nan
    if leaves.n_classes == 2:
        signed = zip(scored, 2 * class_of_tree - 1, strict=True)
        return [tree._replace(score=sign * tree.score) for tree, sign in signed], share
    by_class = [
        [tree for tree, own in zip(scored, class_of_tree, strict=True) if own == number]
        for number in range(leaves.n_classes)
    ]
    voters = zip_longest(*by_class, fillvalue=NOTHING)
    return [tree for voter in voters for tree in voter], share


def _link(header: Any, leaves: _Leaves, share: float) -> Link | None:
    """Return how sums become treelite's probabilities; None if it returns no probabilities."""
    postprocessor, alpha = header.get_field("postprocessor"), float(header.get_field("sigmoid_alpha")[0])
    if leaves.are_chances:
        return Link("mean", share)
    if postprocessor == "softmax":
        return Link("softmax" if leaves.n_classes > 2 else "logistic", share)
    is_logistic = postprocessor == "sigmoid" or (postprocessor == "multiclass_ova" and leaves.n_classes > 2)
    return Link("logistic", alpha * share) if is_logistic else None


def _tree(tree: Any, n_features: int, width: int, sets: CategorySets) -> Tree:
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
        raise InvalidInputError("splits that test for equality are not supported: use <, <=, > or >=")
    # "Less than" becomes "at most the previous float"; "greater" swaps the sides.
    is_strict = (operator == LESS) | (operator == AT_LEAST)
    lowest = np.array(-np.inf, threshold.dtype)
    threshold = np.where(is_strict & numeric, np.nextafter(threshold, lowest), threshold)
    swapped = numeric & ((operator == MORE) | (operator == AT_LEAST))
    category_start = np.full(len(left), -1)
    first, last, listed = get("category_list_begin"), get("category_list_end"), get("category_list")
    for node in np.flatnonzero(is_set):
        category_start[node] = sets.add(listed[int(first[node]) : int(last[node])].tolist())
    swapped |= is_set & (get("category_list_right_child") > 0)
    score = np.zeros((len(left), width))
    if width > 1:
        starts = get("leaf_vector_begin")[is_leaf].astype(np.int64)
        score[is_leaf] = get("leaf_vector").astype(np.float64)[starts[:, None] + np.arange(width)]
    else:
        score[is_leaf, 0] = get("leaf_value")[is_leaf]
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
