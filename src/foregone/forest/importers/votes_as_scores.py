"""Votes as scores: 1 for the class that a leaf votes for, 0 for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from foregone._system.file_reading import MEMORY
from foregone.errors import InvalidInputError
from foregone.forest.importers.found import Tree

__all__ = ["votes_as_scores"]


def votes_as_scores(trees: Iterable[Tree], n_classes: int) -> Iterator[Tree]:
    """Add scores to voting trees of more than two classes, so that the sums are the numbers of votes.

    Only one tree's scores are held in memory at a time: they take 8 bytes per node and class.

    Raises
    ------
    InvalidInputError
        If the scores of a tree take more than `foregone._system.file_reading.MEMORY`.

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
            raise InvalidInputError("of_votes=True needs trees that vote, and these have scores")
        n_nodes = len(tree.vote)
        needed = 8 * n_nodes * n_classes
        if needed > MEMORY:
            raise InvalidInputError(
                f"a tree of {n_nodes:,} nodes and {n_classes:,} classes is too large: its scores would take "
                f"{needed / 1e6:,.0f} MB of memory, more than the limit of {MEMORY / 1e6:,.0f} MB"
            )
        score = np.zeros((n_nodes, n_classes))
        score[np.arange(n_nodes), tree.vote] = 1.0
        yield tree._replace(score=score)
