"""Leaves with a score for every class, deduplicated: each distinct leaf is stored once, in a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.forest.importers.found import Found, Tree

__all__ = ["share_leaves", "vote_leaves"]

LeafTable = npt.NDArray[Any]  # of float32 or float64


def share_leaves(found: Found) -> tuple[Found, LeafTable]:
    """Return trees whose leaves hold numbers, and the table of the scores that these refer to.

    If every leaf adds 1 to the sum of one class, its number is that class, and the table holds what each
    class is given, shape (n_classes,). Otherwise it is a line of the table, of shape (n_lines, n_classes).
    The table is float32 if that represents all scores exactly, else float64.
    """
    lines: dict[bytes, int] = {}
    numbers = []
    for tree in found.trees():
        different, which = _different(tree.score[tree.left < 0])
        own = np.array([lines.setdefault(line.tobytes(), len(lines)) for line in different], np.int64)
        numbers.append(own[which])
    table: LeafTable = np.frombuffer(b"".join(lines), np.float64).reshape(len(lines), -1)
    if ((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all():
        of_line = table.argmax(axis=1)
        numbers = [of_line[own] for own in numbers]
        table = np.ones(table.shape[1])
    short = table.astype(np.float32)
    return _numbered(found, numbers), short if np.array_equal(short, table) else table.copy()


def vote_leaves(found: Found) -> tuple[Found, LeafTable]:
    """Return trees that add 1 to the sum of the class they vote for, and the table that encodes it."""
    votes = [_vote(tree)[tree.left < 0] for tree in found.trees()]
    return _numbered(found, votes), np.ones(len(found.classes), np.float32)


def _vote(tree: Tree) -> npt.NDArray[np.int64]:
    assert tree.vote is not None  # with many classes, trees that vote hold the class
    return tree.vote


def _numbered(found: Found, numbers: list[npt.NDArray[np.int64]]) -> Found:
    def trees() -> Iterator[Tree]:
        for tree, own in zip(found.trees(), numbers, strict=True):
            score = np.zeros(len(tree.left), np.int64)
            score[tree.left < 0] = own
            yield tree._replace(score=score)  # type: ignore[arg-type]  # numbers instead of scores

    return found._replace(trees=trees, trees_a_round=1)


def _different(scores: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the distinct rows of a matrix, and for each row which of them it is."""
    lines = np.ascontiguousarray(scores, np.float64)
    bits = lines.view(np.dtype((np.void, lines.shape[1] * 8))).ravel()
    _, first, which = np.unique(bits, return_index=True, return_inverse=True)
    return lines[first], which
