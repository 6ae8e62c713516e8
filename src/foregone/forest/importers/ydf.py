"""Importing the two-class random forests of ydf (Yggdrasil Decision Forests), through its own tree API.

Its own rule: with ``winner_take_all``, the default, every tree has one vote and votes are counted, as a
`PackedForest` does; without it the leaves' probabilities are averaged, as a `ScoredForest` does. Either can
be made of any forest. Each row reaches the same leaf of each tree as in ydf, missing values and categories
that were not seen in training included. A leaf with as many for yes as for no votes no. So does a
forest, while in ydf the rounding of its sums decides ties (an odd number of trees has none).
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
from foregone.forest.importers.found import CategorySets, Found, Tree
from foregone.forest.link import Link

__all__ = ["import_model"]


def import_model(model: Any) -> Found:
    """Read a two-class ``RandomForestModel`` of ydf, or the folder that its ``save`` wrote.

    Rows hold the columns in the order of ``model.input_feature_names()``, as numbers, or as texts where
    the model was trained on texts: in a frame or a list of lists. A leaf's score is half of p(yes) - p(no).

    Raises
    ------
    InvalidInputError
        If the model is no random forest, has other than two classes, or tests that are not of one column,
        such as oblique splits.
    FileFormatError
        If the folder holds no model of ydf.
    """
    forest = _forest(model)
    spec = forest.data_spec()
    columns = {feature.column_idx: place for place, feature in enumerate(forest.input_features())}
    lists = {place: _category_list(spec.columns[index]) for index, place in columns.items()}
    listed = {place: values for place, values in lists.items() if values is not None}
    reader = _Reader(spec.columns, columns, lists, CategorySets())
    trees = [reader.read(tree.root) for tree in forest.iter_trees()]
    values = CategoryValues(tuple(listed), tuple(listed.values()), others_last=True)
    return Found(
        lambda: iter(trees),
        n_features=len(columns),
        classes=np.array(forest.label_classes()),
        start=0.0,
        key_bits=32,
        takes_missing=True,
        takes_infinite=True,
        categories=reader.sets.words(),
        category_values=values if listed else None,
        trees_vote=True,
        link=Link("mean", 1 / len(trees)),
    )


def _forest(model: Any) -> Any:
    try:
        import ydf
    except ImportError:
        raise MissingExtraError("ydf", "forests", "Reading a random forest of ydf") from None
    if isinstance(model, str | os.PathLike):
        try:
            is_model = (Path(model) / "data_spec.pb").is_file()
        except OSError as error:
            raise cannot_read(model, error) from None
        if not is_model:
            raise FileFormatError(f"{model}: not a folder that a model of ydf was saved to")
        try:
            model = ydf.load_model(str(model))
        except Exception as error:  # it raises whatever its C++ side does
            reason = str(error).strip().partition("\n")[0]
            raise FileFormatError(f"{model}: ydf cannot read its model: {reason}") from None
    if not isinstance(model, ydf.RandomForestModel):
        raise InvalidInputError(f"a random forest of ydf is expected, not {type(model).__name__}")
    if model.task() != ydf.Task.CLASSIFICATION:
        raise InvalidInputError(f"the forest is for {model.task().name.lower()}, it does not vote on classes")
    if len(model.label_classes()) != 2:
        raise InvalidInputError(
            f"a vote is between two classes, the forest has {len(model.label_classes())}: "
            f"{model.label_classes()}"
        )
    return model


def _category_list(column: Any) -> npt.NDArray[Any] | None:
    """Return the categories of a column, without that of all others, which ydf has as number 0."""
    if not column.HasField("categorical"):
        return None
    if column.categorical.is_already_integerized:
        raise InvalidInputError(
            f"column {column.name!r} holds categories that are numbered already, which is not supported: "
            "train ydf on the categories themselves"
        )
    by_number = {item.index: name for name, item in column.categorical.items.items()}
    names = [by_number[number] for number in sorted(by_number) if number > 0]
    whole = [int(name) for name in names if name.lstrip("-").isdecimal()]
    # Whole numbers were made texts by ydf; a caller writes numbers.
    return category_list(whole if [str(number) for number in whole] == names else names)


class _Reader(NamedTuple):
    """Turns the nodes of ydf, by the kind of their condition, into arrays."""

    specs: Sequence[Any]
    columns: dict[int, int]
    lists: dict[int, npt.NDArray[Any] | None]
    sets: CategorySets

    def read(self, root: Any) -> Tree:
        rows: list[tuple[Any, ...]] = []
        parents: list[tuple[Any, int, int]] = [(root, -1, 0)]  # a node, its parent's number and side
        children: list[list[int]] = []
        while parents:
            node, parent, side = parents.pop()
            number = len(rows)
            if parent >= 0:
                children[parent][side] = number
            children.append([-1, -1])
            if node.is_leaf:
                no, yes = node.value.probability
                rows.append((-1, 0.0, False, -1, node.value.num_examples, (yes - no) / 2))
                continue
            split, positive_is_left = self._split(node.condition)
            weight = node.value.num_examples if node.value is not None else 1.0
            rows.append((*split, weight, 0.0))
            sides = (0, 1) if positive_is_left else (1, 0)
            parents += [(node.pos_child, number, sides[0]), (node.neg_child, number, sides[1])]
        feature, threshold, missing_left, category_start, weight, score = zip(*rows, strict=True)
        left, right = np.array(children, np.int64).T.copy()
        return Tree(
            left=left,
            right=right,
            feature=np.array(feature, np.int64),
            threshold=np.array(threshold, np.float64),
            missing_left=np.array(missing_left, np.bool_),
            category_start=np.array(category_start, np.int64),
            weight=np.array(weight, np.float64),
            score=np.array(score, np.float64),
        )

    def _split(self, condition: Any) -> tuple[tuple[int, float, bool, int], bool]:
        """Return column, threshold, missing_left and set of a split; whether what it asks for goes left."""
        readers: dict[str, Callable[[Any], float]] = {
            "NumericalHigherThanCondition": lambda asks: asks.threshold,
            "DiscretizedNumericalHigherThanCondition": self._boundary,
            "IsTrueCondition": lambda asks: 0.5,
        }
        kind = type(condition).__name__
        if kind == "CategoricalIsInCondition":
            column = self.columns[condition.attribute]
            # Ours are numbered from 0, and all others, 0 in ydf, come last.
            n_listed = len(self.lists[column])  # type: ignore[arg-type]  # such a column has a list
            members = [number - 1 if number else n_listed for number in condition.mask]
            return (column, 0.0, condition.missing, self.sets.add(members)), True
        if kind not in readers:
            raise InvalidInputError(
                f"a tree of the forest splits by {kind}, which is not supported: train with splits of one "
                "column by a threshold or a set of categories (split_axis='AXIS_ALIGNED')"
            )
        least = np.float32(readers[kind](condition))
        below = float(np.nextafter(least, np.float32(-np.inf)))
        return (self.columns[condition.attribute], below, not condition.missing, -1), False

    def _boundary(self, condition: Any) -> float:
        boundaries = self.specs[condition.attribute].discretized_numerical.boundaries
        return float(boundaries[condition.threshold_idx - 1])
