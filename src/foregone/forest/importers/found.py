"""`Found`, the result of an importer, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import CATEGORY, NO_RULES, ZERO_IS_MISSING
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.forest.category_values import CategoryValues
from foregone.forest.link import Link
from foregone.forest.rows import RowFormat

__all__ = ["MOST_CLASSES", "CategorySets", "Found", "LeafKind", "Tree", "check_links"]

MOST_CLASSES = (1 << 16) - 1  # whose numbers, and the number of votes for them, have 16 bits


class LeafKind(Enum):
    """What the leaves of a forest hold.

    Attributes
    ----------
    VOTE
        Yes or no, stored in the parent of the leaf.
    CLASS
        The number of a class, as a payload.
    SCORE
        A number added to a sum, as a payload.
    SCORES
        Numbers added to the sums of all classes; the payload is the number of their line in a table.
    """

    VOTE = "vote"
    CLASS = "class"
    SCORE = "score"
    SCORES = "scores"

    @property
    def is_payload(self) -> bool:
        """Whether leaves have their own place in the array, which holds their payload."""
        return self is not LeafKind.VOTE

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a leaf's value."""
        return {
            LeafKind.VOTE: np.dtype(np.bool_),
            LeafKind.CLASS: np.dtype(np.uint16),
            LeafKind.SCORE: np.dtype(np.float64),
            LeafKind.SCORES: np.dtype(np.uint32),
        }[self]

    def to_words(self, said: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """Return payloads as words of 64 bits."""
        return said.view(np.uint64) if self is LeafKind.SCORE else said.astype(np.uint64)

    def from_words(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        """Return the values of payloads, given as words of 64 bits."""
        return words.view(np.float64) if self is LeafKind.SCORE else words.astype(self.dtype)


class Tree(NamedTuple):
    """One tree, as arrays with one entry per node; node 0 is the root.

    Attributes
    ----------
    left, right : ndarray of int
        Children; -1 in leaves.
    feature : ndarray of int
        Which column a split compares; ignored in leaves.
    threshold : ndarray of float
        A numeric split sends a row left if its value is at most this.
    missing_left : ndarray of bool
        Whether a split sends a missing value left; only meaningful if the ensemble takes missing values.
    category_start : ndarray of int
        -1 in numeric splits and leaves. Otherwise the split sends a set of categories left, and this is
        where the set begins in `Found.categories`.
    weight : ndarray of float
        Expected number of rows that pass; ones if unknown. Only speed depends on it.
    score : ndarray of float
        What a leaf adds, in the source's own arithmetic, learning rate included; arbitrary in other nodes.
        For two classes: to the sum for yes, shape (n_nodes,). For more: to the sums of all classes, shape
        (n_nodes, n_classes); or, if each class has separate trees, to the sum of its class, (n_nodes,).
    vote : ndarray of int, or None
        The number of the class that a leaf votes for. None if the tree does not vote, or if its vote is yes
        exactly where its score is above 0.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    category_start: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]
    vote: npt.NDArray[np.int64] | None = None

    def leaves(self, kind: LeafKind) -> npt.NDArray[Any]:
        """Return each node's value as a leaf of this kind, which the tree must have."""
        if kind in (LeafKind.SCORE, LeafKind.SCORES):
            return self.score
        if self.vote is not None:
            return self.vote == 1 if kind is LeafKind.VOTE else self.vote
        return self.score > 0

    def with_a_split(self) -> Tree:
        """Return the tree; a single leaf becomes a split with two identical leaves, as packing needs one."""
        if self.left[0] >= 0:
            return self
        three = Tree(*(None if part is None else np.repeat(part[:1], 3, axis=0) for part in self))  # type: ignore[arg-type]  # repeat keeps the types
        return three._replace(
            left=np.array([1, -1, -1]),
            right=np.array([2, -1, -1]),
            feature=np.zeros(3, np.int64),
            category_start=np.full(3, -1),
        )


class Found(NamedTuple):
    """An imported ensemble of trees.

    For two classes, its scores add up to one sum, and the answer is yes if it is above 0. For more, there is
    one sum per class, and the answer is the class with the largest (the first of several). Sums are computed
    in float64, tree by tree in the source's order; importers document where their source differs.

    Attributes
    ----------
    trees : callable
        Each call iterates over the trees from the start, in the source's order.
    n_features : int
        Number of columns in each row.
    classes : ndarray
        The labels; for two classes, those of no and yes.
    start : float or ndarray of float, shape (n_classes,)
        The score before the first tree, for more than two classes one per class; 0 for forests.
    key_bits : {32, 64}
        32 if the source rounds values to float32 before it compares them, 64 if it compares float64.
    array_bits : {32, 64}
        The same for arrays of other types than float32 and float64, such as integers.
    takes_missing : bool
        Whether rows may hold NaN.
    takes_infinite : bool
        Whether rows may hold infinities.
    categories : ndarray of uint32
        Sets of categories, one after another: a length L, then L words of bits. A value x, truncated to an
        integer k, is in a set if ``0 <= k < 32 * L`` and bit ``k % 32`` of word ``k // 32`` is set. Values
        not in a split's set go right; NaN follows ``missing_left``.
    zero_is_missing : ndarray of bool, shape (n_features,), or None
        The columns in which values of magnitude at most 1e-35 count as missing (None: no column).
    category_values : CategoryValues or None
        Lists of categories; values are replaced by their positions before anything else is done.
    trees_vote : bool
        Whether each tree has a vote, so that votes can be counted instead of adding up scores.
    link : Link or None
        How the sum is turned into the source's probability of yes. None if the source has none.
    in_order : bool
        Whether trees are best asked in the source's order, as in boosted models, where each tree corrects
        those before it. Otherwise any order is as good.
    trees_a_round : int
        How many trees are asked together: 1, or ``n_classes`` if each of more than two classes has separate
        trees. Then trees are listed round by round, one per class, in the order of the classes.
    """

    trees: Callable[[], Iterator[Tree]]
    n_features: int
    classes: npt.NDArray[Any]
    start: float | npt.NDArray[np.float64]
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
    trees_a_round: int = 1

    def check_leaves(self, kind: LeafKind) -> None:
        """Raise InvalidInputError unless the trees have leaves of this kind."""
        if kind in (LeafKind.VOTE, LeafKind.CLASS) and not self.trees_vote:
            raise InvalidInputError(
                "the trees of this model do not vote, because their scores are added up: use ScoredForest"
            )
        if kind is LeafKind.VOTE and len(self.classes) != 2:
            raise InvalidInputError(
                f"expected a model of two classes, got {len(self.classes)}: {self.classes!r}. "
                "Use PluralityForest for more"
            )

    def row_format(self, owner: str) -> RowFormat:
        """Return the format of the rows that the ensemble accepts; error messages mention ``owner``.

        Raises
        ------
        InvalidInputError
            If a column is split both by thresholds and by categories.
        """
        return RowFormat(
            owner,
            self.n_features,
            self.takes_missing,
            self.takes_infinite,
            self.key_bits,
            self._column_rules(),
            self.category_values,
            self.array_bits,
        )

    def _column_rules(self) -> IntArray:
        """Return how to read the values of each column; empty if no column has a rule."""
        rules = np.zeros(self.n_features, np.int64)
        if self.zero_is_missing is not None:
            rules[self.zero_is_missing] = ZERO_IS_MISSING
        if len(self.categories):
            by_category, by_threshold = np.zeros((2, self.n_features), np.bool_)
            for tree in self.trees():
                by_category[tree.feature[tree.category_start >= 0]] = True
                by_threshold[tree.feature[(tree.category_start < 0) & (tree.left >= 0)]] = True
            both = np.flatnonzero(by_category & by_threshold)
            if len(both):
                raise InvalidInputError(
                    f"column {both[0]} is split both by categories and by thresholds, which is not "
                    "supported: train with the column either categorical or numeric"
                )
            rules[by_category] |= CATEGORY
        return rules if rules.any() else NO_RULES


class CategorySets:
    """Collects sets of non-negative integers, in the format of `Found.categories`.

    Examples
    --------
    >>> sets = CategorySets()
    >>> sets.add([0, 2]), sets.add([33])
    (0, 2)
    >>> sets.words()
    array([1, 5, 2, 0, 2], dtype=uint32)
    """

    def __init__(self) -> None:
        self._words: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        self._end = 0

    def add(self, members: Iterable[int]) -> int:
        """Add a set and return where it begins."""
        numbers = np.array(list(members), np.int64)
        bits = np.zeros(int(numbers.max(initial=0)) // 32 + 1, np.uint32)
        np.bitwise_or.at(bits, numbers // 32, np.uint32(1) << (numbers % 32).astype(np.uint32))
        return self.add_bits(bits)

    def add_bits(self, bits: npt.NDArray[np.uint32]) -> int:
        """Add a set, given as words of bits, and return where it begins."""
        self._words += [np.array([len(bits)], np.uint32), bits]
        start = self._end
        self._end += 1 + len(bits)
        return start

    def words(self) -> npt.NDArray[np.uint32]:
        """Return all sets, one after another."""
        return np.concatenate(self._words)


def check_links(left: IntArray, right: IntArray) -> None:
    """Raise ValueError unless nodes form a tree with its root at 0. Leaves have -1 on both sides.

    Examples
    --------
    >>> check_links(np.array([1, -1, -1]), np.array([2, -1, -1]))
    >>> check_links(np.array([1, 0, -1]), np.array([2, 2, -1]))
    Traceback (most recent call last):
    ValueError: the nodes do not form a tree
    """
    is_split = left >= 0
    children = np.sort(np.concatenate([left[is_split], right[is_split]]))
    # Every node but the root is the child of one other. So nodes that cannot be reached from the root form
    # cycles, which no walk from the root enters.
    if (
        len(left) < 1
        or not np.array_equal(children, np.arange(1, len(left)))
        or (left[~is_split] != -1).any()
        or ((right >= 0) != is_split).any()
    ):
        raise ValueError("the nodes do not form a tree")
