"""Check that the trees of a model read from a file can be walked safely.

scikit-learn walks its trees without checking node and feature numbers, so a manipulated tree can crash the
process or read memory outside of its arrays. Everything that such a walk depends on is checked here.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.tree._tree import TREE_LEAF, Tree

from foregone.errors import FileFormatError

__all__ = ["check_tree_states", "check_trees"]

MOST_OUTPUTS = 10_000  # labels that a tree has at a time


def check_tree_states(file: Path) -> None:
    """Raise ValueError unless scikit-learn can build the trees of a skops file within their memory.

    scikit-learn trusts the numbers of outputs and nodes that it is given, so they are compared with the
    arrays beside them before any tree is built.
    """
    with zipfile.ZipFile(file) as members:

        def array(state: dict[str, Any]) -> Any:
            if state["__loader__"] != "NdArrayNode" or state["type"] != "numpy":
                raise ValueError("an array of a tree is not a NumPy array")
            with members.open(state["file"]) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)

        for state in _tree_states(json.loads(members.read("schema.json"))):
            _, n_classes, n_outputs = state["__reduce__"]["args"]["content"]
            fields = state["content"]["content"]
            numbers, nodes = array(n_classes), array(fields["nodes"])
            if numbers.shape != (_whole(n_outputs, MOST_OUTPUTS),) or nodes.ndim != 1:
                raise ValueError("a tree has different numbers of classes and outputs")
            _whole(fields["node_count"], len(nodes))


def _tree_states(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        state = waiting.pop()
        if isinstance(state, dict):
            if state.get("__loader__") == "TreeNode":
                yield state
            waiting += state.values()
        elif isinstance(state, list):
            waiting += state


def _whole(state: dict[str, Any], most: int) -> int:
    number = json.loads(state["content"])
    if state["__loader__"] != "JsonNode" or type(number) is not int or not 1 <= number <= most:
        raise ValueError(f"a tree has a number outside 1 to {most}")
    return number


def check_trees(model: Any, name: str) -> None:
    """Raise FileFormatError unless every scikit-learn tree anywhere in ``model`` is sound."""
    for part in _parts(model):
        if isinstance(part, Tree) and not _is_sound(part):
            raise FileFormatError(f"{name} is damaged: a tree in it points outside of itself or of its rows")
        if not _fits_its_rows(part):
            raise FileFormatError(f"{name} is damaged: its trees take other numbers of features than it has")


def _is_sound(tree: Any) -> bool:
    """Whether a walk ends in a leaf for any row: all children exist and come after their parents."""
    n_nodes = tree.node_count
    if not 1 <= n_nodes <= tree.capacity:
        return False
    inner = np.flatnonzero(tree.children_left != TREE_LEAF)
    feature = tree.feature[inner]
    if ((feature < 0) | (feature >= tree.n_features)).any():
        return False
    children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    return bool(((children > np.tile(inner, 2)) & (children < n_nodes)).all())


def _fits_its_rows(part: Any) -> bool:
    """Whether an ensemble gives its trees rows of the width that they take.

    A tree checks its rows itself, but a forest checks them once for all of its trees.
    """
    width = getattr(part, "n_features_in_", None)
    held = getattr(part, "tree_", None)
    if isinstance(held, Tree) and held.n_features != width:
        return False
    if hasattr(part, "estimators_features_"):  # a bag gives each its own columns, and each checks them
        return True
    members = getattr(part, "estimators_", ())
    members = members.flat if isinstance(members, np.ndarray) else members
    trees = [member for member in members if isinstance(getattr(member, "tree_", None), Tree)]
    return all(member.tree_.n_features == width for member in trees)


def _parts(model: Any) -> Iterator[Any]:
    """Yield every object inside a model, itself included, once each."""
    waiting, seen = [model], {id(model): model}
    while waiting:
        part = waiting.pop()
        yield part
        inside: list[Any] = []
        if isinstance(part, dict):
            inside = [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            inside = list(part)
        elif isinstance(part, np.ndarray):
            inside = list(part.flat) if part.dtype == object else []
        inside += [getattr(part, "__dict__", None), getattr(part, "__self__", None)]
        for one in inside:
            if isinstance(one, str | bytes | int | float | type | ModuleType | None) or id(one) in seen:
                continue
            seen[id(one)] = one  # kept, so that no other object gets its id meanwhile
            waiting.append(one)
