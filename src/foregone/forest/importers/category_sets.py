"""CategorySets: the sets of categories of a whole forest, laid out as the kernels read them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["CategorySets"]


class CategorySets:
    """Collects sets of whole numbers of at least 0; each is its length in words, then as many words of bits.

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
        self._words += [np.array([len(bits)], np.uint32), bits]
        start = self._end
        self._end += 1 + len(bits)
        return start

    def words(self) -> npt.NDArray[np.uint32]:
        """Return all sets, one after another."""
        return np.concatenate(self._words)
