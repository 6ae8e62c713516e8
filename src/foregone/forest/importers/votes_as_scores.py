"""Votes added up as scores: one for the class that a leaf votes for, nothing for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from foregone._system.file_reading import MEMORY
from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Tree

__all__ = ["votes_as_scores"]


def votes_as_scores(trees: Iterable[Tree], n_classes: int) -> Iterator[Tree]:
    """Give trees of more than two classes, which vote, these scores: the sums are the numbers of votes.

    The scores of one tree at a time are held in memory, as they take 8 bytes for each node and class.

    Raises
    ------
    InvalidInputError
        If those of a tree take more than `foregone._system.file_reading.MEMORY`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foregone.forest.importers.sklearn import import_model
    >>> found = import_model(DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True)))
    >>> next(votes_as_scores(found.trees(), 3)).score
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    for tree in trees:
        if tree.vote is None:
            raise InvalidInputError("the trees of this model do not vote")
        n_nodes = len(tree.vote)
        needed = 8 * n_nodes * n_classes
        if needed > MEMORY:
            raise InvalidInputError(
                f"a tree of {n_nodes:,} nodes and {n_classes:,} classes is too large: its scores would take "
                f"{needed / 1e6:,.0f} MB of memory, and at most {MEMORY / 1e6:,.0f} MB are allowed"
            )
        score = np.zeros((n_nodes, n_classes))
        score[np.arange(n_nodes), tree.vote] = 1.0
        yield tree._replace(score=score)
