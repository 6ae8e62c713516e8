"""Importing two-class forests of R's ranger, from a JSON file that a few lines of R write.

R's own objects cannot be read without R. The file is the ``forest`` element of a ranger object as jsonlite
writes it, with every number as a text of 17 digits, which is as many as a float64 needs; the lines that write
it are in docs/forests_from_elsewhere.md.

ranger's own rule: a classification forest counts votes, as a `PackedForest` does, and decides ties at random
(here a tie is no; an odd number of trees has none). A forest grown with ``probability = TRUE`` averages the
class shares of the leaves, as a `ScoredForest` does. Either can be made of a probability forest; of a
classification forest both are the same. A value goes left when it is at most the split value, as float64.
Missing values are refused, as ranger 0.14 does, with which this was tested.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import read_bytes
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.forest.importers.found import Found, Tree, check_links
from foregone.forest.link import Link

__all__ = ["import_model"]

VOTES, SHARES = "Classification", "Probability estimation"
Floats = npt.NDArray[np.float64]


def import_model(path: PathLike) -> Found:
    """Read a two-class forest from an export.

    Rows hold the columns in the order of ``independent.variable.names``. Factors are given as their whole
    numbers, or as their levels where ``respect.unordered.factors = "order"`` has put those in an order.
    Yes is the second level; of numbers, the larger one. A leaf's score is half of p(yes) - p(no).

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, or no export of a forest of ranger.
    InvalidInputError
        If the forest is not one of two classes, or splits unordered factors into sets of levels.
    """
    content = _read(path)
    try:
        return _import(content)
    except FileFormatError:
        raise
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        missing = (
            f": {error} is missing" if isinstance(error, KeyError) else f" ({error})" if str(error) else ""
        )
        raise FileFormatError(f"{path}: damaged, or not an export of a forest of ranger{missing}") from None


def _read(path: PathLike) -> dict[str, Any]:
    text = read_bytes(path)
    try:
        content = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path}: not a JSON file, so not an export of a forest of ranger") from None
    if not isinstance(content, dict) or "treetype" not in content:
        raise FileFormatError(f"{path}: not an export of a forest of ranger: treetype is missing")
    return content


def _import(content: dict[str, Any]) -> Found:
    kind = _text(content["treetype"])
    if kind not in (VOTES, SHARES):
        raise InvalidInputError(f"the forest is for {kind.lower()}, it does not vote on classes")
    columns = [_text(column) for column in content["independent.variable.names"]]
    unordered = [
        column for column, is_ordered in zip(columns, content["is.ordered"], strict=True) if not is_ordered
    ]
    if unordered:
        raise InvalidInputError(
            f"the forest splits the unordered factor {unordered[0]!r} into sets of levels, which is not "
            'supported: grow it with respect.unordered.factors = "order"'
        )
    values = _floats(content["class.values"])
    labels = _labels(content, values)
    # Where ranger has yes: classes are listed in the order in which they came up in the training rows.
    yes = int(np.argmax(values))
    levels = _covariate_levels(content, columns)
    # In an order of levels ranger counts from 1.
    shift = np.array([1.0 if column in levels else 0.0 for column in columns])
    n_trees = int(_floats([_single(content["num.trees"])])[0])
    if n_trees < 1 or len(content["child.nodeIDs"]) != n_trees:
        raise ValueError("the number of trees is not num.trees")
    trees = [_tree(content, number, kind, values, yes, shift) for number in range(n_trees)]
    places = [place for place, column in enumerate(columns) if column in levels]
    lists = tuple(category_list(levels[columns[place]]) for place in places)
    return Found(
        lambda: iter(trees),
        n_features=len(columns),
        classes=labels,
        start=0.0,
        key_bits=64,
        takes_missing=False,
        takes_infinite=True,
        category_values=CategoryValues(tuple(places), lists) if places else None,
        trees_vote=True,
        link=Link("mean", 1 / len(trees)),
    )


def _labels(content: dict[str, Any], values: Floats) -> npt.NDArray[Any]:
    """Return the labels of no and yes."""
    levels = content.get("levels")
    known = [_text(level) for level in levels] if levels else np.sort(values).tolist()
    if len(known) != 2 or len(values) != 2 or values[0] == values[1]:
        raise InvalidInputError(f"a vote is between two classes, the forest has {len(known)}: {known}")
    if levels and sorted(values) != [1.0, 2.0]:
        raise ValueError("class.values are not the numbers of the levels")
    return np.array(known)


def _covariate_levels(content: dict[str, Any], columns: list[str]) -> dict[str, list[str]]:
    """Return for each factor that was put in an order its levels."""
    found = content.get("covariate.levels") or {}
    if not isinstance(found, dict) or not set(found) <= set(columns):
        raise ValueError("covariate.levels are not those of the columns")
    return {column: [_text(level) for level in levels] for column, levels in found.items() if levels}


def _tree(content: dict[str, Any], number: int, kind: str, values: Floats, yes: int, shift: Floats) -> Tree:
    left, right = (_whole(ids) for ids in content["child.nodeIDs"][number])
    split = _floats(content["split.values"][number])
    feature = _whole(content["split.varIDs"][number])
    if not len(left) == len(right) == len(split) == len(feature):
        raise ValueError("the parts of a tree differ in length")
    is_leaf = (left == 0) & (right == 0)
    left, right = np.where(is_leaf, -1, left), np.where(is_leaf, -1, right)
    check_links(left, right)
    if ((feature < 0) | (feature >= len(shift)))[~is_leaf].any():
        raise ValueError("a split is by a column that is none")
    score = np.zeros(len(left))
    if kind == VOTES:
        if not np.isin(split[is_leaf], values).all():
            raise ValueError("a leaf is for a class that is none")
        score[is_leaf] = np.where(split[is_leaf] == values[yes], 0.5, -0.5)
    else:
        listed = content["terminal.class.counts"][number]
        shares = np.array([_floats(listed[leaf]) for leaf in np.flatnonzero(is_leaf)]).reshape(-1, 2)
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise ValueError("a leaf's shares are not those of two classes")
        score[is_leaf] = (shares[:, yes] - shares[:, 1 - yes]) / 2
    feature = np.where(is_leaf, -1, feature)
    return Tree(
        left=left,
        right=right,
        feature=feature,
        threshold=np.where(is_leaf, 0.0, split - shift[feature]),
        missing_left=np.zeros(len(left), np.bool_),
        category_start=np.full(len(left), -1),
        weight=np.ones(len(left)),
        score=score,
    )


def _floats(texts: Any) -> Floats:
    """Return the numbers of a list of texts; of what are numbers to jsonlite it cuts the last digits."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("numbers must be texts of 17 digits, as the lines that export a forest write them")
    return np.array([float(text) for text in texts], np.float64)


def _whole(texts: Any) -> npt.NDArray[np.int64]:
    numbers = _floats(texts)
    if not (np.abs(numbers) < 2**31).all() or (numbers % 1 != 0).any():
        raise ValueError("the number of a node or column is not whole")
    return numbers.astype(np.int64)


def _single(value: Any) -> Any:
    """Return a value that R may have written as a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _text(value: Any) -> str:
    value = _single(value)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
