"""Importing random forests and gradient boosted trees of ydf (Yggdrasil Decision Forests).

Random forests: with ``winner_take_all``, the default, ydf counts one vote per tree, like `PackedForest` and
`PluralityForest`; without it, ydf averages the leaves' probabilities, like `ScoredForest`. Votes can be
counted for any forest: a leaf votes for the first of its largest classes. Scores of two classes are always
averaged probabilities; for more classes they are votes if ydf counts votes, and the leaves' probabilities if
it averages them. Here a tie goes to the first class, while in ydf the rounding of its float32 sums breaks
ties (an odd number of trees of two classes has none).

Gradient boosted trees: scores are float32 leaves, which ydf adds in float32 and this importer in float64. The
answer can differ from ydf's only by the rounding of those sums.

Each row reaches the same leaf of each tree as in ydf, including missing values and categories not seen in
training.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._system.file_reading import cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import MOST_CLASSES, CategorySets, Found, Tree
from foregone.forest.importers.votes_as_scores import votes_as_scores
from foregone.forest.link import Link

__all__ = ["import_model"]


def import_model(model: Any) -> Found:
    """Read a ``RandomForestModel`` or ``GradientBoostedTreesModel`` of ydf, or the folder its ``save`` wrote.

    Rows hold the columns in the order of ``model.input_feature_names()``, as numbers, or as texts if the
    model was trained on texts (in a frame or a list of lists). In a random forest of two classes a leaf's
    score is half of p(yes) - p(no).

    Raises
    ------
    InvalidInputError
        If the model is of another kind, has one class or a loss that is not for classification, or has splits
        of several columns, such as oblique ones.
    FileFormatError
        If the folder does not hold a ydf model.
    """
    source = _classifier(model)
    classes = np.array(source.label_classes())
    n_classes = len(classes)
    spec = source.data_spec()
    columns = {feature.column_idx: place for place, feature in enumerate(source.input_features())}
    lists = {place: _category_list(spec.columns[index]) for index, place in columns.items()}
    listed = {place: values for place, values in lists.items() if values is not None}
    reader = _Reader(spec.columns, columns, lists, CategorySets())
    is_boosted = hasattr(source, "initial_predictions")
    trees = [_with_leaves(*reader.read(tree.root), is_boosted, n_classes) for tree in source.iter_trees()]
    values = CategoryValues(tuple(listed), tuple(listed.values()), others_last=True)
    only_votes = n_classes > 2 and not is_boosted and source.winner_takes_all()
    start: float | npt.NDArray[np.float64] = 0.0 if n_classes == 2 else np.zeros(n_classes)
    link = Link("mean", 1 / len(trees))
    if is_boosted:
        starts = np.asarray(source.initial_predictions(), np.float64)
        start = float(starts[0]) if n_classes == 2 else starts
        link = Link("logistic" if n_classes == 2 else "softmax", 1.0)
    return Found(
        (lambda: votes_as_scores(trees, n_classes)) if only_votes else (lambda: iter(trees)),
        n_features=len(columns),
        classes=classes,
        start=start,
        key_bits=32,
        takes_missing=True,
        takes_infinite=True,
        categories=reader.sets.words(),
        category_values=values if listed else None,
        trees_vote=not is_boosted,
        link=link,
        in_order=is_boosted,
        trees_a_round=n_classes if is_boosted and n_classes > 2 else 1,
    )


def _classifier(model: Any) -> Any:
    """Return a ydf model, read from a folder if necessary; raise unless it is a supported classifier."""
    try:
        import ydf
    except ImportError:
        raise MissingExtraError("ydf", "forests", "Reading a ydf model") from None
    if isinstance(model, str | os.PathLike):
        try:
            is_model = (Path(model) / "data_spec.pb").is_file()
        except OSError as error:
            raise cannot_read(model, error) from None
        if not is_model:
            raise FileFormatError(f"{model}: not a folder with a saved ydf model")
        try:
            model = ydf.load_model(str(model))
        except Exception as error:  # it passes on any error of its C++ code
            reason = str(error).strip().partition("\n")[0]
            raise FileFormatError(f"{model}: ydf cannot read this model: {reason}") from None
    if not isinstance(model, ydf.RandomForestModel | ydf.GradientBoostedTreesModel):
        raise InvalidInputError(
            f"expected a ydf RandomForestModel or GradientBoostedTreesModel, got {type(model).__name__}"
        )
    if model.task() != ydf.Task.CLASSIFICATION:
        raise InvalidInputError(
            f"expected a ydf model for classification, got one for {model.task().name.lower()}"
        )
    n_classes = len(model.label_classes())
    if not 2 <= n_classes <= MOST_CLASSES:
        raise InvalidInputError(f"expected 2 to {MOST_CLASSES:,} classes; the model has {n_classes:,}")
    if isinstance(model, ydf.GradientBoostedTreesModel):
        _check_loss(model, n_classes)
    return model


def _check_loss(model: Any, n_classes: int) -> None:
    """Raise unless boosted trees answer by the sign of their sum, or by the first of the largest sums."""
    try:
        activation = model.activation().name
    except ValueError:  # a loss that ydf has no name for
        activation = "unknown"
    n_trees = model.num_trees_per_iteration()
    expected = ("SIGMOID", 1) if n_classes == 2 else ("SOFTMAX", n_classes)
    if (activation, n_trees) != expected:
        raise InvalidInputError(
            f"ydf's boosted trees for {n_classes} classes with activation {activation} and {n_trees} trees "
            "per iteration are not supported: train with the default loss"
        )
    if model.output_logits():
        raise InvalidInputError(
            "the ydf model returns logits instead of classes: call model.set_output_logits(False)"
        )


def _with_leaves(splits: Tree, leaves: npt.NDArray[np.float64], is_boosted: bool, n_classes: int) -> Tree:
    """Return a tree with the scores and votes that follow from its leaves."""
    if is_boosted:
        return splits._replace(score=leaves[:, 0])
    if n_classes == 2:
        return splits._replace(score=(leaves[:, 1] - leaves[:, 0]) / 2)
    return splits._replace(score=leaves, vote=leaves.argmax(axis=1))


def _category_list(column: Any) -> npt.NDArray[Any] | None:
    """Return the categories of a column, without ydf's category 0, which stands for all others."""
    if not column.HasField("categorical"):
        return None
    if column.categorical.is_already_integerized:
        raise InvalidInputError(
            f"column {column.name!r} holds pre-numbered categories, which are not supported: "
            "train ydf on the categories themselves"
        )
    by_number = {item.index: name for name, item in column.categorical.items.items()}
    names = [by_number[number] for number in sorted(by_number) if number > 0]
    whole = [int(name) for name in names if name.lstrip("-").isdecimal()]
    # ydf converts integers to texts; callers pass numbers.
    return category_list(whole if [str(number) for number in whole] == names else names)


class _Reader(NamedTuple):
    """Turns ydf's nodes into arrays, by the kind of their condition."""

    specs: Sequence[Any]
    columns: dict[int, int]
    lists: dict[int, npt.NDArray[Any] | None]
    sets: CategorySets

    def read(self, root: Any) -> tuple[Tree, npt.NDArray[np.float64]]:
        """Return a tree without scores, and the values of its leaves (zeros in other nodes), one per node."""
        rows: list[tuple[Any, ...]] = []
        parents: list[tuple[Any, int, int]] = [(root, -1, 0)]  # a node, its parent's number, its side
        children: list[list[int]] = []
        held: dict[int, Sequence[float]] = {}
        while parents:
            node, parent, side = parents.pop()
            number = len(rows)
            if parent >= 0:
                children[parent][side] = number
            children.append([-1, -1])
            if node.is_leaf:
                rows.append((-1, 0.0, False, -1, node.value.num_examples))
                is_forest = hasattr(node.value, "probability")
                held[number] = node.value.probability if is_forest else [node.value.value]
                continue
            split, positive_is_left = self._split(node.condition)
            weight = node.value.num_examples if node.value is not None else 1.0
            rows.append((*split, weight))
            sides = (0, 1) if positive_is_left else (1, 0)
            parents += [(node.pos_child, number, sides[0]), (node.neg_child, number, sides[1])]
        feature, threshold, missing_left, category_start, weight = zip(*rows, strict=True)
        left, right = np.array(children, np.int64).T.copy()
        of_leaves = np.array(list(held.values()), np.float64)
        leaves = np.zeros((len(rows), of_leaves.shape[1]))
        leaves[list(held)] = of_leaves
        splits = Tree(
            left=left,
            right=right,
            feature=np.array(feature, np.int64),
            threshold=np.array(threshold, np.float64),
            missing_left=np.array(missing_left, np.bool_),
            category_start=np.array(category_start, np.int64),
            weight=np.array(weight, np.float64),
            score=np.empty(0),
        )
        return splits, leaves

    def _split(self, condition: Any) -> tuple[tuple[int, float, bool, int], bool]:
        """Return column, threshold, missing_left and set of a split, and whether matching values go left."""
        readers: dict[str, Callable[[Any], float]] = {
            "NumericalHigherThanCondition": lambda asks: asks.threshold,
            "DiscretizedNumericalHigherThanCondition": self._boundary,
            "IsTrueCondition": lambda asks: 0.5,
        }
        kind = type(condition).__name__
        if kind == "CategoricalIsInCondition":
            column = self.columns[condition.attribute]
            # Here categories are numbered from 0, and all others, 0 in ydf, come last.
            n_listed = len(self.lists[column])  # type: ignore[arg-type]  # such a column has a list
            members = [number - 1 if number else n_listed for number in condition.mask]
            return (column, 0.0, condition.missing, self.sets.add(members)), True
        if kind not in readers:
            raise InvalidInputError(
                f"splits by {kind} are not supported: train with splits of one column, by a threshold or a "
                "set of categories (split_axis='AXIS_ALIGNED')"
            )
        least = np.float32(readers[kind](condition))
        below = float(np.nextafter(least, np.float32(-np.inf)))
        return (self.columns[condition.attribute], below, not condition.missing, -1), False

    def _boundary(self, condition: Any) -> float:
        boundaries = self.specs[condition.attribute].discretized_numerical.boundaries
        return float(boundaries[condition.threshold_idx - 1])
