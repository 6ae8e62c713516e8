"""ScoreSchedule: a strategy on scores, in the kernels' format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.forest.rows import RowFormat
from foregone.forest.schedule import BaseSchedule, check_n_trees, with_rules
from foregone.scores import ScoreStrategy
from foregone.scores.paths import Start

__all__ = ["ScoreSchedule"]

FEWEST_AHEAD = 4  # walks side by side take little longer than one, so a few set out in any case


@dataclass(frozen=True, eq=False)
class ScoreSchedule(BaseSchedule):
    """Schedule for scores. The order is the strategy's, so ``seed`` and ``order`` are always the same.

    Attributes
    ----------
    roots : ndarray of int, shape (n_trees,)
        Roots in the order asked, those of one step after another.
    lower, upper : ndarray of float
        Thresholds of each step; those for the classes of a step lie next to each other.
    start : float or ndarray of float
        The score before the first tree.
    """

    strategy: ScoreStrategy | None
    roots: IntArray
    lower: FloatArray
    upper: FloatArray
    start: Start

    @classmethod
    def make(
        cls,
        roots: IntArray,
        start: Start,
        bounds: FloatArray,
        table: npt.NDArray[Any] | None,
        row_format: RowFormat,
        strategy: ScoreStrategy | None,
    ) -> ScoreSchedule:
        """Check the strategy against the trees and lay it out.

        Parameters
        ----------
        roots : ndarray of int, shape (n_steps, trees_a_round)
            Of the forest's trees.
        start, table, row_format
            Of the forest.
        bounds : ndarray of float, shape (2, n_steps) or (2, n_steps, n_classes)
            The lowest and the highest score that each step adds.
        strategy : ScoreStrategy or None
            Its order, thresholds and start.
        """
        n_steps, a_round = roots.shape
        drops = a_round > 1
        check_n_trees(strategy, roots.size)
        everyone = ScoreStrategy.ask_all(n_steps, start=start, drops_classes=drops)
        followed = everyone if strategy is None else strategy
        if not np.array_equal(followed.start, start):
            raise InvalidInputError(
                f"the strategy was made with start={followed.start}, but the forest starts at {start}: "
                f"make the strategy with start={start}"
            )
        if followed.drops_classes != drops:
            raise InvalidInputError(
                f"the strategy was made with drops_classes={followed.drops_classes}, but this forest's "
                f"classes {'have separate' if drops else 'share their'} trees: use drops_classes={drops}"
            )
        order, lower, upper = followed.order, followed.lower, followed.upper
        first_stop = _first_possible_stop(start, bounds[:, order], lower, upper)
        # For a single row, this many steps are started at once: those before the first possible stop.
        ahead = max(first_stop, min(FEWEST_AHEAD, n_steps))
        header = np.array([roots.size, row_format.takes, ahead], np.int64)
        asked_roots = roots[order].ravel()
        thresholds = [lower, upper]
        if followed.adds_by_class:
            header = np.append(header, [a_round, followed.n_classes])
            thresholds = [upper.ravel()]
        floats = np.concatenate([*thresholds, np.atleast_1d(start)]).view(np.int64)
        numbers, rules = np.concatenate([header, asked_roots, floats]), row_format.kernel_rules
        packed = (numbers, table, rules) if followed.adds_by_class else with_rules(numbers, rules)
        return cls(strategy, 0, "shared", packed, asked_roots, lower.copy(), upper.ravel(), start)


def _first_possible_stop(start: Start, bounds: FloatArray, lower: FloatArray, upper: FloatArray) -> int:
    """Return about how many steps it takes before any row could stop (rounding is ignored)."""
    added = np.cumsum(bounds, axis=1)
    lowest, highest = start + np.concatenate([np.zeros_like(added[:, :1]), added], axis=1)
    if lowest.ndim == 1:
        return int(np.argmax((lowest <= lower) | (highest >= upper)))
    # The lead of a class over the least that the highest other class must have.
    by_size, is_first = np.sort(lowest, axis=1), lowest.argmax(axis=1)[:, None] == np.arange(lowest.shape[1])
    leads = highest - np.where(is_first, by_size[:, [-2]], by_size[:, [-1]])
    return int(np.argmax(leads.max(axis=1) >= (upper if upper.ndim == 1 else upper.max(axis=1))))
