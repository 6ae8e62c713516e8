"""Importing forests of R's ranger, from a JSON file that a few lines of R write.

R objects cannot be read without R. The file is the ``forest`` element of a ranger object as written by
jsonlite, with every number as a text of 17 digits, as many as a float64 needs. The R code that writes it is
in docs/forests_from_elsewhere.md.

ranger's own rule: a classification forest counts votes, like `PackedForest` and `PluralityForest`, and breaks
ties at random (here a tie goes to the first class; an odd number of trees of two classes has no ties). A
forest grown with ``probability = TRUE`` averages the class shares of the leaves, like `ScoredForest`. A
probability forest can be imported either way; its trees vote for the first of the largest shares. For a
classification forest both give the same answers: with more than two classes, a leaf adds 1 to the sum of its
class. A value goes left if it is at most the split value, as float64. Missing values are rejected, as in
ranger 0.14, the version used in tests.
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
from foregone.forest.importers.found import MOST_CLASSES, Found, Tree, check_links
from foregone.forest.importers.votes_as_scores import votes_as_scores
from foregone.forest.link import Link

__all__ = ["import_model"]

VOTES, SHARES = "Classification", "Probability estimation"
Floats = npt.NDArray[np.float64]


def import_model(path: PathLike) -> Found:
    """Read a forest from an exported JSON file.

    Rows hold the columns in the order of ``independent.variable.names``. Factors are given as integer codes,
    or as their levels if ``respect.unordered.factors = "order"`` has ordered those. The classes are the
    levels in their order, or the numbers, ascending. For two classes, yes is the second, and a leaf's score
    is half of p(yes) - p(no). For more, the scores of a probability forest are the shares, added as in
    ranger.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, or not an exported ranger forest.
    InvalidInputError
        If the forest has one class, is not for classification, or splits unordered factors into sets of
        levels.
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
        raise FileFormatError(f"{path}: damaged, or not an exported ranger forest{missing}") from None


def _read(path: PathLike) -> dict[str, Any]:
    text = read_bytes(path)
    try:
        content = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path}: not an exported ranger forest (it is not valid JSON)") from None
    if not isinstance(content, dict) or "treetype" not in content:
        raise FileFormatError(f"{path}: not an exported ranger forest (treetype is missing)")
    return content


def _import(content: dict[str, Any]) -> Found:
    kind = _text(content["treetype"])
    if kind not in (VOTES, SHARES):
        raise InvalidInputError(f"expected a forest for classification, got one for {kind.lower()}")
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
    levels = _covariate_levels(content, columns)
    # ranger numbers ordered levels from 1.
    shift = np.array([1.0 if column in levels else 0.0 for column in columns])
    n_trees = int(_floats([_single(content["num.trees"])])[0])
    if n_trees < 1 or len(content["child.nodeIDs"]) != n_trees:
        raise ValueError("the number of trees differs from num.trees")
    trees = [_tree(content, number, kind, values, shift) for number in range(n_trees)]
    n_classes = len(labels)
    only_votes = n_classes > 2 and kind == VOTES
    places = [place for place, column in enumerate(columns) if column in levels]
    lists = tuple(category_list(levels[columns[place]]) for place in places)
    return Found(
        (lambda: votes_as_scores(trees, n_classes)) if only_votes else (lambda: iter(trees)),
        n_features=len(columns),
        classes=labels,
        start=0.0 if n_classes == 2 else np.zeros(n_classes),
        key_bits=64,
        takes_missing=False,
        takes_infinite=True,
        category_values=CategoryValues(tuple(places), lists) if places else None,
        trees_vote=True,
        link=Link("mean", 1 / len(trees)),
    )


def _labels(content: dict[str, Any], values: Floats) -> npt.NDArray[Any]:
    """Return the labels of the classes numbered ``values``, in ascending order of the numbers."""
    levels = content.get("levels")
    known = [_text(level) for level in levels] if levels else np.sort(values).tolist()
    if not 2 <= len(known) <= MOST_CLASSES:
        raise InvalidInputError(f"expected 2 to {MOST_CLASSES:,} classes; the forest has {len(known):,}")
    if levels and np.sort(values).tolist() != list(range(1, len(known) + 1)):
        raise ValueError("class.values do not match the levels")
    if len(set(known)) != len(known) or not np.isfinite(values).all():
        raise ValueError("classes are not unique")
    return np.array(known)


def _covariate_levels(content: dict[str, Any], columns: list[str]) -> dict[str, list[str]]:
    """Return the levels of each factor that ranger ordered."""
    found = content.get("covariate.levels") or {}
    if not isinstance(found, dict) or not set(found) <= set(columns):
        raise ValueError("covariate.levels do not match the columns")
    return {column: [_text(level) for level in levels] for column, levels in found.items() if levels}


def _tree(content: dict[str, Any], number: int, kind: str, values: Floats, shift: Floats) -> Tree:
    left, right = (_whole(ids) for ids in content["child.nodeIDs"][number])
    split = _floats(content["split.values"][number])
    feature = _whole(content["split.varIDs"][number])
    if not len(left) == len(right) == len(split) == len(feature):
        raise ValueError("the parts of a tree differ in length")
    is_leaf = (left == 0) & (right == 0)
    left, right = np.where(is_leaf, -1, left), np.where(is_leaf, -1, right)
    check_links(left, right)
    if ((feature < 0) | (feature >= len(shift)))[~is_leaf].any():
        raise ValueError("a split uses an unknown column")
    score, vote = _leaves(content, number, kind, values, is_leaf, split)
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
        vote=vote,
    )


def _leaves(
    content: dict[str, Any],
    number: int,
    kind: str,
    values: Floats,
    is_leaf: npt.NDArray[np.bool_],
    split: Floats,
) -> tuple[Floats, npt.NDArray[np.int64] | None]:
    """Return the scores of a tree's nodes as leaves, and for more than two classes their votes.

    For trees of many classes that only vote, `votes_as_scores` adds the scores.
    """
    n_classes = len(values)
    # Classes are listed in the order of their first occurrence in the training rows.
    rising = np.argsort(values)
    shares = np.zeros((len(is_leaf), n_classes if n_classes == 2 or kind == SHARES else 0))
    vote = np.zeros(len(is_leaf), np.int64)
    if kind == VOTES:
        vote[is_leaf] = np.minimum(np.searchsorted(values[rising], split[is_leaf]), n_classes - 1)
        if (values[rising][vote] != split)[is_leaf].any():
            raise ValueError("a leaf is for an unknown class")
        if n_classes == 2:
            shares[is_leaf] = np.eye(2)[vote[is_leaf]]
    else:
        listed = content["terminal.class.counts"][number]
        given = np.array([_floats(listed[leaf]) for leaf in np.flatnonzero(is_leaf)])
        if given.shape != (is_leaf.sum(), n_classes) or not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError(f"a leaf's shares do not match the {n_classes} classes")
        shares[is_leaf] = given[:, rising]
        vote = shares.argmax(axis=1)
    return ((shares[:, 1] - shares[:, 0]) / 2, None) if n_classes == 2 else (shares, vote)


def _floats(texts: Any) -> Floats:
    """Return the numbers in a list of texts; jsonlite would drop the last digits of actual numbers."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("numbers must be texts of 17 digits, as in the documented R code")
    return np.array([float(text) for text in texts], np.float64)


def _whole(texts: Any) -> npt.NDArray[np.int64]:
    numbers = _floats(texts)
    if not (np.abs(numbers) < 2**31).all() or (numbers % 1 != 0).any():
        raise ValueError("the number of a node or column is not an integer")
    return numbers.astype(np.int64)


def _single(value: Any) -> Any:
    """Return a value that R may have written as a list of length one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _text(value: Any) -> str:
    value = _single(value)
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value
