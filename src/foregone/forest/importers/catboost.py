"""Importing CatBoost's classifiers, from their JSON format.

Every row reaches the same leaves. CatBoost adds up their float64 values tree by tree, starting from 0; then
it multiplies the sum by a scale and adds a bias. So sums match ``prediction_type="RawFormulaVal"``

- bit for bit with scale 1 and bias 0, which a model has unless it was trained with ``boost_from_average`` or
  ``set_scale_and_bias`` was called: of two classes (losses Logloss, CrossEntropy and Focal) and of more
  (losses MultiClass and MultiClassOneVsAll), with trees of every ``grow_policy``;
- up to the last bits otherwise: here the sum starts at the bias, and leaves are scaled one by one.

For two classes, CatBoost's ``predict`` says yes if the raw value is above 0; for more, it takes the first of
the largest. The same is done here. After ``set_probability_threshold(p)`` it says yes above the log odds of
p; these are subtracted from the start, so the sums are smaller than CatBoost's by that amount. Two classes
with a multiclass loss have two raw values; a leaf's score is the second minus the first, up to the last bits.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Found, Tree
from foregone.forest.link import Link

__all__ = ["import_model"]

# The losses whose answer is the sign of one sum, and those with one sum per class.
SIGN, LARGEST = ("Logloss", "CrossEntropy", "Focal"), ("MultiClass", "MultiClassOneVsAll")
MISSING_IS_LARGE = "AsTrue"  # missing values go right with this, left otherwise


def import_model(model: Any) -> Found:
    """Read a fitted ``CatBoostClassifier`` of numeric columns; labels are its ``classes_``.

    It reads the trees that ``predict`` uses: with ``use_best_model``, those up to the best iteration. A
    symmetric tree becomes an ordinary one, with the same split in all nodes of a level. Values are rounded to
    float32. A missing value counts as smaller or larger than all others, as learned in training.

    Raises
    ------
    InvalidInputError
        If the model is not a single-label classifier, has a custom loss, or has columns of categories,
        texts or embeddings.
    sklearn.exceptions.NotFittedError
        If it has not been fitted.

    Examples
    --------
    >>> from catboost import CatBoostClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> settings = {"iterations": 7, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    >>> found = import_model(CatBoostClassifier(**settings).fit(X, y))
    >>> found.n_features, len(list(found.trees())), found.start.tolist()
    (4, 7, [0.0, 0.0, 0.0])
    """
    saved = _saved(model)
    loss = _loss(saved)
    classes = np.array(model.classes_.tolist())  # whose texts are objects
    scale, biases = saved["scale_and_bias"]
    n_sums = 1 if loss in SIGN else len(classes)
    if len(classes) < 2 or len(biases) != n_sums:
        raise InvalidInputError(
            f"the model has {len(classes)} labels and {len(biases)} sums of scores, which is not supported: "
            "train a CatBoostClassifier on one label of two classes or more"
        )
    features = _features(saved)
    parts = saved.get("oblivious_trees") or saved.get("trees") or []

    def trees() -> Iterator[Tree]:
        for part in parts:
            tree = (
                _symmetric(part, n_sums, features) if "splits" in part else _branching(part, n_sums, features)
            )
            yield tree._replace(score=_scores(scale * tree.score))

    start = _scores(np.array([biases], np.float64))[0]
    link, shift = _link(loss, len(classes)), 0.0
    if loss in SIGN:
        threshold = float(model.get_probability_threshold())
        shift = -float(np.log(threshold / (1 - threshold)))
    return Found(
        trees,
        n_features=len(model.feature_names_),
        classes=classes,
        start=float(start + shift) if len(classes) == 2 else start,
        key_bits=32,
        takes_missing=True,
        takes_infinite=True,
        link=link._replace(shift=shift) if link is not None else None,
        in_order=True,
    )


def _saved(model: Any) -> dict[str, Any]:
    """Return the model's JSON."""
    from catboost import CatBoostClassifier
    from sklearn.exceptions import NotFittedError

    if not isinstance(model, CatBoostClassifier):
        raise InvalidInputError(f"expected a CatBoostClassifier, got {type(model).__name__}")
    if not model.is_fitted():
        raise NotFittedError("This CatBoostClassifier instance is not fitted yet: call 'fit' first")
    if model.get_text_feature_indices() or model.get_embedding_feature_indices():
        raise InvalidInputError(
            "columns of texts or embeddings are not supported: convert them to numbers first (texts with "
            "scikit-learn's TfidfVectorizer) and train without text_features and embedding_features"
        )
    if model.get_cat_feature_indices():
        raise InvalidInputError(
            "cat_features are not supported, because CatBoost replaces them by statistics of the training "
            "rows: encode them first, with scikit-learn's OneHotEncoder or TargetEncoder, and train without "
            "cat_features"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        saved: dict[str, Any] = json.loads(path.read_bytes())
    return saved


def _loss(saved: dict[str, Any]) -> str:
    loss = str(saved["model_info"].get("params", {}).get("loss_function", {}).get("type", "unknown"))
    if loss not in (*SIGN, *LARGEST):
        raise InvalidInputError(
            f"the model's loss {loss} is not supported: train with one of the losses "
            f"{', '.join((*SIGN, *LARGEST))}"
        )
    return loss


def _link(loss: str, n_classes: int) -> Link | None:
    """Return how sums become CatBoost's probabilities; None for two classes trained one-vs-all."""
    if n_classes == 2:
        return None if loss == "MultiClassOneVsAll" else Link("logistic", 1.0)
    return Link("softmax" if loss == "MultiClass" else "logistic", 1.0)


def _scores(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what each leaf adds: to the sum for yes with two classes, or to that of each class."""
    if sums.shape[1] > 2:
        return sums
    return sums[:, 0] if sums.shape[1] == 1 else sums[:, 1] - sums[:, 0]


def _features(saved: dict[str, Any]) -> dict[int, tuple[int, bool]]:
    """Return, for each number used in splits, the column and whether its missing values go left."""
    return {
        int(feature["feature_index"]): (
            int(feature["flat_feature_index"]),
            feature["nan_value_treatment"] != MISSING_IS_LARGE,
        )
        for feature in saved["features_info"]["float_features"]
    }


def _columns_of(
    splits: list[dict[str, Any]], features: dict[int, tuple[int, bool]]
) -> tuple[list[int], list[float], list[bool]]:
    """Return column, threshold and whether missing values go left, for numeric splits."""
    places = [features[split["float_feature_index"]] for split in splits]
    borders = [float(np.float32(split["border"])) for split in splits]
    return [column for column, _ in places], borders, [goes_left for _, goes_left in places]


def _symmetric(part: dict[str, Any], n_sums: int, features: dict[int, tuple[int, bool]]) -> Tree:
    """Return an ordinary tree, its levels one after another, in which node n has children 2n + 1 and 2n + 2.

    A leaf's number has bit d set if its rows go right at split d. So the last split is the root's, and the
    leaves are in the order of their numbers.
    """
    column, border, goes_left = _columns_of(part["splits"][::-1], features)
    depth = len(column)
    n_splits, n_leaves = 2**depth - 1, 2**depth
    repeats = 2 ** np.arange(depth)
    left = np.append(2 * np.arange(n_splits) + 1, np.full(n_leaves, -1))
    counts = np.array(part.get("leaf_weights", np.ones(n_leaves)), np.float64)
    weight = [counts]
    while len(weight[0]) > 1:
        weight.insert(0, weight[0].reshape(-1, 2).sum(axis=1))
    leaves = np.array(part["leaf_values"], np.float64).reshape(n_leaves, n_sums)

    def by_node(of_split: list[Any], of_leaf: float, dtype: type) -> npt.NDArray[Any]:
        return np.append(np.repeat(np.array(of_split, dtype), repeats), np.full(n_leaves, of_leaf, dtype))

    return Tree(
        left=left,
        right=np.where(left < 0, -1, left + 1),
        feature=by_node(column, -1, np.int64),
        threshold=by_node(border, 0.0, np.float64),
        missing_left=by_node(goes_left, 0, np.bool_),
        category_start=np.full(n_splits + n_leaves, -1),
        weight=np.concatenate(weight),
        score=np.concatenate([np.zeros((n_splits, n_sums)), leaves]),
    )


def _branching(part: dict[str, Any], n_sums: int, features: dict[int, tuple[int, bool]]) -> Tree:
    """Return a tree from nested nodes."""
    nodes, left, right = [part], [-1], [-1]
    for place, node in enumerate(nodes):  # which grows on the way
        if "split" in node:
            left[place], right[place] = len(nodes), len(nodes) + 1
            nodes += [node["left"], node["right"]]
            left += [-1, -1]
            right += [-1, -1]
    is_split = np.array(left) >= 0
    feature, threshold, missing_left = (
        np.full(len(nodes), -1),
        np.zeros(len(nodes)),
        np.zeros(len(nodes), np.bool_),
    )
    feature[is_split], threshold[is_split], missing_left[is_split] = _columns_of(
        [node["split"] for node in nodes if "split" in node], features
    )
    score, weight = np.zeros((len(nodes), n_sums)), np.zeros(len(nodes))
    for place in reversed(range(len(nodes))):
        if is_split[place]:
            weight[place] = weight[left[place]] + weight[right[place]]
        else:
            score[place], weight[place] = nodes[place]["value"], nodes[place].get("weight", 1.0)
    return Tree(
        left=np.array(left),
        right=np.array(right),
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        category_start=np.full(len(nodes), -1),
        weight=weight,
        score=score,
    )
