"""Importing Spark ML's RandomForestClassificationModel from the folder that its ``save`` wrote.

Spark averages: each leaf's class counts are divided by their sum, these shares are added over the trees, and
the first of the largest sums wins. A `ScoredForest` does the same. For two classes, a leaf's score is half of
p(yes) - p(no); the answers can differ only if the two sums tie up to the last bits. For more, a leaf's scores
are the shares, and the sums equal Spark's ``rawPrediction``, bit for bit.

A `PackedForest` or `PluralityForest` counts the trees' votes instead, each the result of
``model.trees[i].predict``. Measure on your rows how often the two differ. (Spark's old ``mllib`` counts
votes.)

Values are compared as float64. As in Spark, a missing value or unknown category is never at or below a
threshold, and never in a set.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import MEMORY_PER_BYTE, Memory, cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import MOST_CLASSES, CategorySets, Found, Tree, check_links
from foregone.forest.link import Link

__all__ = ["import_model"]

FOREST = "org.apache.spark.ml.classification.RandomForestClassificationModel"
FIELDS = ("id", "impurityStats", "leftChild", "rightChild", "split")
SPLIT_FIELDS = ("featureIndex", "leftCategoriesOrThreshold", "numCategories")
NUMERIC = -1  # in the place of the number of categories
BYTES_A_CATEGORY = 150  # in the list of a column, while it is built
BYTES_A_FEATURE = 24
BYTES_A_NODE = 1_000  # while it is read, with counts of two classes
BYTES_A_COUNT = 64  # for each further class


def import_model(
    folder: PathLike, classes: Sequence[Any] | None = None, max_memory: float | None = None
) -> Found:
    """Read a saved forest, without Spark.

    Rows hold the entries of the vectors in the features column; categories are the numbers given by Spark's
    indexers. ``classes`` are the labels of 0.0, 1.0, ..., by default these numbers.

    Raises
    ------
    FileFormatError
        If the folder does not hold such a model, or the model is damaged.
    InvalidInputError
        If the forest has one class or more than `MOST_CLASSES`, if its ``thresholds`` are set, or if
        ``classes`` does not hold one unique label per class.
    """
    root = Path(folder)
    head = _metadata(root)
    n_classes = head["numClasses"]
    if not 2 <= n_classes <= MOST_CLASSES:
        raise InvalidInputError(
            f"{folder}: expected 2 to {MOST_CLASSES:,} classes; the forest has {n_classes:,}"
        )
    labels = np.arange(n_classes, dtype=np.float64) if classes is None else np.asarray(classes)
    if labels.shape != (n_classes,) or len(set(labels.tolist())) != n_classes:
        raise InvalidInputError(
            f"classes must be {n_classes} unique labels, for 0.0 to {n_classes - 1}.0, got {classes!r}"
        )
    if head["paramMap"].get("thresholds") is not None:
        raise InvalidInputError(
            f"{folder}: a forest with thresholds is not supported: clear them with  "
            "model.clear(model.thresholds)  before saving it"
        )
    memory = Memory(str(root), max_memory)
    memory.take(head["numFeatures"] * BYTES_A_FEATURE, f"for {head['numFeatures']:,} features")
    reader = _Reader(root, head["numFeatures"], n_classes, memory)
    trees = reader.read(_nodes(root, n_classes, memory), head["numTrees"])
    return Found(
        lambda: iter(trees),
        n_features=head["numFeatures"],
        classes=labels,
        start=0.0 if n_classes == 2 else np.zeros(n_classes),
        key_bits=64,
        takes_missing=True,
        takes_infinite=True,
        categories=reader.sets.words(),
        category_values=reader.category_values(),
        trees_vote=True,
        link=Link("mean", 1 / len(trees)),
    )


def _metadata(root: Path) -> dict[str, Any]:
    try:
        parts = sorted((root / "metadata").glob("part-*"))
    except (OSError, ValueError) as error:
        raise cannot_read(root, error) from None
    if not parts:
        raise FileFormatError(f"{root}: not a model saved by Spark ML (no metadata/part-*)")
    try:
        head = json.loads("".join(part.read_text(encoding="utf-8") for part in parts))
        kind, _ = head["class"], head.setdefault("paramMap", {}).items()
        sizes = {name: head.get(name) for name in ("numFeatures", "numClasses", "numTrees")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileFormatError(
            f"{root}: damaged, or not a model saved by Spark ML (its metadata cannot be read)"
        ) from None
    if kind != FOREST:
        raise FileFormatError(
            f"{root}: expected a RandomForestClassificationModel, found a {str(kind).rpartition('.')[2]}"
        )
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise FileFormatError(f"{root}: damaged metadata: {name} is {size!r}")
    return dict(head)


def _nodes(root: Path, n_classes: int, memory: Memory) -> dict[int, list[dict[str, Any]]]:
    """Return the nodes of each tree."""
    try:
        from pyarrow import ArrowException, dataset
    except ImportError:
        raise MissingExtraError("pyarrow", "forests", "Reading a Spark ML forest") from None
    # The names of the columns in Spark 3 and 4; other columns are ignored.
    try:
        found = dataset.dataset(root / "data")
        size = sum(file.stat().st_size for file in map(Path, found.files))
        n_nodes = found.count_rows()
        needed = n_nodes * (BYTES_A_NODE + BYTES_A_COUNT * (n_classes - 2))
        memory.take(max(needed - MEMORY_PER_BYTE * size, 0), f"for {n_nodes:,} nodes")
        table = found.to_table(columns=["treeID", "nodeData"])
        rows = zip(table["treeID"].to_pylist(), table["nodeData"].to_pylist(), strict=True)
        trees: dict[int, list[dict[str, Any]]] = {}
        for tree, node in rows:
            if not isinstance(tree, int) or not isinstance(node, dict) or not set(FIELDS) <= set(node):
                raise FileFormatError(f"{root}: damaged data: a node lacks some of {', '.join(FIELDS)}")
            trees.setdefault(tree, []).append(node)
    except (OSError, UnicodeDecodeError, ArrowException, KeyError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise FileFormatError(f"{root}: damaged data: the Parquet files cannot be read: {reason}") from None
    return trees


class _Reader:
    """Turns Spark's nodes into arrays and records the number of categories of each column."""

    def __init__(self, root: Path, n_features: int, n_classes: int, memory: Memory) -> None:
        self.root = root
        self.n_features = n_features
        self.n_classes = n_classes
        self.sets = CategorySets()
        self.n_categories: dict[int, int] = {}
        self.memory = memory

    def read(self, by_tree: dict[int, list[dict[str, Any]]], n_trees: int) -> list[Tree]:
        if len(by_tree) != n_trees or sorted(by_tree) != list(range(n_trees)):
            raise FileFormatError(f"{self.root}: damaged data: expected {n_trees} trees")
        try:
            return [
                self._tree(sorted(by_tree[number], key=lambda node: node["id"])) for number in range(n_trees)
            ]
        except FileFormatError:
            raise
        except (TypeError, ValueError, IndexError, KeyError, OverflowError):
            raise FileFormatError(f"{self.root}: damaged data: a node is invalid") from None

    def category_values(self) -> CategoryValues | None:
        """Return lists that match only valid category numbers, like Spark's sets."""
        if not self.n_categories:
            return None
        columns = sorted(self.n_categories)
        return CategoryValues(
            tuple(columns), tuple(category_list(range(self.n_categories[column])) for column in columns)
        )

    def _tree(self, nodes: list[dict[str, Any]]) -> Tree:
        n_nodes = len(nodes)
        if [node["id"] for node in nodes] != list(range(n_nodes)):
            raise ValueError
        stats = [node["impurityStats"] for node in nodes]
        counts = np.array(stats, np.float64).reshape(n_nodes, self.n_classes)
        total = np.cumsum(counts, axis=1)[:, -1]  # one by one, as Spark adds them
        if not (np.isfinite(total).all() and (counts >= 0).all()):
            raise ValueError
        left = np.array([node["leftChild"] for node in nodes], np.int64)
        right = np.array([node["rightChild"] for node in nodes], np.int64)
        check_links(left, right)
        is_leaf = left < 0
        feature, category_start = np.full((2, n_nodes), -1)
        threshold = np.zeros(n_nodes)
        for number in np.flatnonzero(~is_leaf):
            split = nodes[number]["split"]
            feature[number], values, n_categories = (split[name] for name in SPLIT_FIELDS)
            if not 0 <= feature[number] < self.n_features:
                raise ValueError
            if n_categories == NUMERIC:
                (threshold[number],) = values
                continue
            category_start[number], is_right_set = self._set(int(feature[number]), values, n_categories)
            if is_right_set:
                left[number], right[number] = right[number], left[number]
        share = np.divide(counts, total[:, None], out=np.zeros_like(counts), where=total[:, None] > 0)
        two = self.n_classes == 2
        return Tree(
            left=left,
            right=right,
            feature=feature,
            threshold=threshold,
            missing_left=np.zeros(n_nodes, np.bool_),
            category_start=category_start,
            weight=np.maximum(total, 1.0),
            score=np.where(is_leaf, (share[:, 1] - share[:, 0]) / 2, 0.0) if two else share,
            vote=None if two else counts.argmax(axis=1),
        )

    def _set(self, column: int, values: list[float], n_categories: int) -> tuple[int, bool]:
        """Return where a set of categories begins, and whether its categories go right.

        Spark searches the smaller of the two sets; values in neither go the other way.
        """
        if column not in self.n_categories:
            self.memory.take(n_categories * BYTES_A_CATEGORY, f"for the categories of column {column}")
        if self.n_categories.setdefault(column, n_categories) != n_categories or n_categories < 1:
            raise ValueError
        goes_left: npt.NDArray[np.bool_] = np.isin(np.arange(n_categories), values)
        if goes_left.sum() != len(values):
            raise ValueError
        is_right_set = len(values) > n_categories // 2
        return self.sets.add(np.flatnonzero(goes_left != is_right_set).tolist()), is_right_set
