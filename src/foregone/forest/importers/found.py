"""What an importer of scores has to deliver: trees whose leaves carry what they add to a running score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.forest.category_values import CategoryValues
from foregone.forest.link import Link

__all__ = ["ImportedScores", "ScoredTree"]


class ScoredTree(NamedTuple):
    """One tree, an entry for each of its nodes; node 0 is the root.

    Attributes
    ----------
    left, right : ndarray of int
        Children; -1 in leaves.
    feature : ndarray of int
        Which column a split looks at; -1 in leaves.
    threshold : ndarray of float
        A numeric split sends a row left when its value is at most this.
    missing_left : ndarray of bool
        Whether a split sends a missing value left; only meaningful if the ensemble takes missing values.
    category_start : ndarray of int
        -1 in numeric splits and leaves. Else the split sends the categories of a set to the left, and
        this is where the set begins in `ImportedScores.categories`.
    weight : ndarray of float
        How many rows are expected to pass; ones if unknown. Only speed depends on it.
    score : ndarray of float
        What a leaf adds, in the source's own arithmetic, learning rate included; 0 elsewhere.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    category_start: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]


class ImportedScores(NamedTuple):
    """An ensemble that adds up scores and says yes when the sum is above 0.

    Sums are made in float64, tree by tree in the source's order; an importer whose source adds in another
    way says so.

    Attributes
    ----------
    trees : callable
        Each call goes through the trees from the first on, in the source's own order.
    n_features : int
        Number of columns of the rows.
    classes : ndarray of shape (2,)
        Labels of no and yes.
    start : float
        The score before the first tree; 0 for forests.
    key_bits : {32, 64}
        32 if the source rounds values to float32 before it compares them, 64 if it compares float64.
    array_bits : {32, 64}
        The same for arrays of other types than float32 and float64, such as integers.
    takes_missing : bool
        Whether rows may hold NaN.
    takes_infinite : bool
        Whether rows may hold infinities.
    categories : ndarray of uint32
        Sets of categories, one after another: a length L, then L words of bits. A value x, cut to a whole
        number k, is in a set if ``0 <= k < 32 * L`` and bit ``k % 32`` of word ``k // 32`` is set. What is
        not in a split's set goes right; NaN follows ``missing_left``.
    zero_is_missing : ndarray of bool, shape (n_features,), or None
        The columns in which values of at most 1e-35 in size count as missing (None: in no column).
    category_values : CategoryValues or None
        Lists of categories, which are replaced by their positions before anything else is done.
    trees_vote : bool
        Whether a tree alone would say yes exactly where its score is above 0: then its votes can be counted
        instead, as a `PackedForest` does.
    link : Link or None
        How the sum becomes the source's own probability of yes. None if the source tells none.
    in_order : bool
        Whether trees are best asked in the source's order: those of boosted models add to what the trees
        before them left to do. Otherwise any order is as good.
    """

    trees: Callable[[], Iterator[ScoredTree]]
    n_features: int
    classes: npt.NDArray[Any]
    start: float
    key_bits: Literal[32, 64]
    takes_missing: bool
    takes_infinite: bool = False
    categories: npt.NDArray[np.uint32] = np.empty(0, np.uint32)
    zero_is_missing: npt.NDArray[np.bool_] | None = None
    category_values: CategoryValues | None = None
    trees_vote: bool = False
    link: Link | None = None
    in_order: bool = False
    array_bits: Literal[32, 64] = 64
