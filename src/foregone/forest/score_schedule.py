"""ScoreSchedule: a strategy on scores, laid out for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.forest.rows import RowFormat
from foregone.forest.schedule import BaseSchedule, check_n_trees
from foregone.scores import ScoreStrategy

__all__ = ["ScoreSchedule"]

FEWEST_AHEAD = 4  # walks side by side take little longer than one, so a few set out in any case


@dataclass(frozen=True, eq=False)
class ScoreSchedule(BaseSchedule):
    """The schedule of scores, whose strategy has an order of its own: seed and order are always the same.

    Attributes
    ----------
    roots : ndarray of int, shape (n_trees,)
        Roots in the order asked.
    lower, upper : ndarray of float, shape (n_trees + 1,)
        Thresholds of each step.
    start : float
        The score before the first tree.
    ahead : int
        How many trees of a row alone set out at once: as many as it takes until any row could stop.
    """

    strategy: ScoreStrategy | None
    roots: IntArray
    lower: FloatArray
    upper: FloatArray
    start: float
    ahead: int

    @classmethod
    def make(
        cls,
        roots: IntArray,
        start: float,
        bounds: FloatArray,
        row_format: RowFormat,
        strategy: ScoreStrategy | None,
    ) -> ScoreSchedule:
        """Check the strategy against the trees and lay it out.

        Parameters
        ----------
        roots, start, row_format
            Of the forest.
        bounds : ndarray of float, shape (2, n_trees)
            The lowest and the highest score of each tree.
        strategy : ScoreStrategy or None
            Its order, thresholds and start.
        """
        n_trees = len(roots)
        check_n_trees(strategy, n_trees)
        followed = ScoreStrategy.ask_all(n_trees, start=start) if strategy is None else strategy
        if followed.start != start:
            raise InvalidInputError(
                f"the strategy starts at a score of {followed.start}, the forest at {start}: "
                f"pass start={start} when the strategy is made"
            )
        order, lower, upper = followed.order, followed.lower, followed.upper
        ahead = max(_first_possible_stop(start, bounds[:, order], lower, upper), min(FEWEST_AHEAD, n_trees))
        header = np.array([n_trees, row_format.takes, ahead], np.int64)
        asked_roots = roots[order]
        floats = np.concatenate([lower, upper, [start]]).view(np.int64)
        packed = np.concatenate([header, asked_roots, floats, row_format.rules])
        return cls(strategy, 0, "shared", packed, asked_roots, lower.copy(), upper.copy(), start, ahead)


def _first_possible_stop(start: float, bounds: FloatArray, lower: FloatArray, upper: FloatArray) -> int:
    """Return how many trees must be asked before any row could stop, about: rounding is left aside."""
    lowest, highest = start + np.concatenate([np.zeros((2, 1)), np.cumsum(bounds, axis=1)], axis=1)
    return int(np.argmax((lowest <= lower) | (highest >= upper)))
