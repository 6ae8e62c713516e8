"""The fields and arrays of a file that holds packed trees, whether they vote or have scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import CATEGORY, NO_RULES, ZERO_IS_MISSING
from foregone.forest.category_values import CategoryValues
from foregone.forest.labels import labels_from_field, labels_to_field
from foregone.forest.layout import NodeArray
from foregone.forest.rows import RowFormat
from foregone.strategy.json_file import Fields

__all__ = ["from_parts", "to_parts"]

Arrays = dict[str, npt.NDArray[Any]]
ForestParts = tuple[NodeArray, npt.NDArray[np.int64], npt.NDArray[Any], RowFormat, npt.NDArray[np.uint32]]

TYPES: dict[str, type[np.number[Any]]] = {
    "nodes": np.uint64,
    "tree_start": np.int64,
    "rules": np.int64,
    "categories": np.uint32,
}


def to_parts(
    nodes: NodeArray,
    tree_start: npt.NDArray[np.int64],
    classes: npt.NDArray[Any],
    rows: RowFormat,
    categories: npt.NDArray[np.uint32],
) -> tuple[dict[str, Any], Arrays]:
    """Return fields and arrays."""
    fields = {
        "n_trees": len(tree_start) - 1,
        "n_features": rows.n_features,
        "takes_missing": int(rows.takes_missing),
        "takes_infinite": int(rows.takes_infinite),
        "key_bits": rows.key_bits,
        "array_bits": rows.array_bits,
        "classes": labels_to_field(classes),
        "category_values": None if rows.category_values is None else rows.category_values.to_field(),
    }
    return fields, dict(zip(TYPES, (nodes, tree_start, rows.rules, categories), strict=True))


def from_parts(fields: Fields, arrays: Arrays, owner: str, most_classes: int = 2) -> ForestParts:
    """Return the arguments of `to_parts`, each checked, except for whether the nodes form trees.

    Files from before forests of other libraries were supported do not store the format of rows.
    """
    if "key_bits" not in fields:
        arrays = {"rules": NO_RULES, "categories": np.empty(0, np.uint32), **arrays}
    n_trees = fields.whole("n_trees", 1)
    n_features = fields.whole("n_features", 1, 2**31 - 1)
    takes_missing = bool(fields.whole("takes_missing", 0, 1))
    takes_infinite = "key_bits" in fields and bool(fields.whole("takes_infinite", 0, 1))
    key_bits = fields.whole("key_bits", 32, 64) if "key_bits" in fields else 32
    if key_bits not in (32, 64):
        raise fields.error("key_bits", "must be 32 or 64")
    array_bits = fields.whole("array_bits", 32, 64) if "array_bits" in fields else 64
    for name, kind in TYPES.items():
        if name not in arrays:
            raise fields.error(name, "is missing")
        if arrays[name].dtype != kind or (arrays[name].ndim != 1 and name != "nodes"):
            raise fields.error(name, f"must be an array of {kind.__name__}")
    nodes, tree_start, rules, categories = (arrays[name] for name in TYPES)
    if nodes.shape[1:] not in ((), (2,)) or (nodes.ndim == 1 and (key_bits == 64 or len(categories))):
        raise fields.error("nodes", "must hold one 64-bit word per node, or two if keys are long")
    if len(tree_start) != n_trees + 1:
        raise fields.error("tree_start", f"must hold {n_trees + 1} integers")
    if len(rules) not in (0, n_features) or (rules & ~(ZERO_IS_MISSING | CATEGORY)).any():
        raise fields.error("rules", "must hold one valid rule per column")
    values = None
    if "category_values" in fields:
        values = CategoryValues.from_field(fields, "category_values", n_features)
    rows = RowFormat(owner, n_features, takes_missing, takes_infinite, key_bits, rules, values, array_bits)
    classes = labels_from_field(fields, "classes", 2, most_classes)
    return nodes, tree_start, classes, rows, categories
