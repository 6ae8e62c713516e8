"""ClassVotes: the full votes of rows, among ordered classes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from foregone.checks import IntArray, as_numbers
from foregone.plurality.compositions import CompositionDistribution

__all__ = ["ClassVotes"]


class ClassVotes:
    """The number of votes for each class, by row: the input of `foregone.plan` for many classes.

    Unlike a `CompositionDistribution`, it records the class that the full vote of each row is for: the one
    with the most votes (the first of several).

    Parameters
    ----------
    counts : array-like of int, shape (n_rows, n_classes)
        Votes for each class; every row must have the same sum, the number of voters.

    Examples
    --------
    >>> from foregone.plurality import ClassVotes
    >>> votes = ClassVotes([[5, 0, 0], [1, 4, 0], [2, 2, 1], [0, 5, 0]])
    >>> votes.n_voters, votes.n_classes, votes.full.tolist()
    (5, 3, [0, 1, 0, 1])
    >>> votes.of_class[1].compositions.tolist(), votes.of_class[2]
    ([[4, 1], [5, 0]], None)
    """

    def __init__(self, counts: npt.ArrayLike) -> None:
        matrix = as_numbers(counts, "counts")
        n_classes = matrix.shape[1] if matrix.ndim == 2 else None
        # This checks the counts.
        self.distribution: CompositionDistribution = CompositionDistribution.from_counts(
            matrix, n_classes=n_classes
        )
        self.counts: IntArray = matrix.astype(np.int64)
        self.counts.setflags(write=False)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.distribution.n_voters

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @cached_property
    def full(self) -> npt.NDArray[np.intp]:
        """The class that the full vote of each row is for, by number."""
        return np.asarray(self.counts.argmax(axis=1))

    @cached_property
    def of_class(self) -> tuple[CompositionDistribution | None, ...]:
        """The distribution of the full votes for each class; None for a class without full votes."""
        rows = (self.counts[self.full == place] for place in range(self.n_classes))
        return tuple(CompositionDistribution.from_counts(part) if len(part) else None for part in rows)

    def __repr__(self) -> str:
        return f"<ClassVotes of {self.n_voters} voters, {self.n_classes} classes, {len(self.counts):,} rows>"
