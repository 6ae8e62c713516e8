"""The scores of calibration rows: computed in blocks, and checked to be numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.classifier.transformed import Transformed
from foregone.classifier.voters import ScoreVoters
from foregone.errors import SolverError
from foregone.forest import ScoredForest
from foregone.forest.schedule import random_order
from foregone.monitoring.audit_rows import take_rows
from foregone.scores import ClassScores
from foregone.scores.paths import Scores, blocks

__all__ = ["check_known", "first_order", "known_bounds", "scores_of"]

Ensemble = ScoredForest | ScoreVoters | Transformed


def first_order(ensemble: Ensemble, seed: int) -> npt.NDArray[np.int64]:
    """Return the order in which voters are asked: a boosted model's own order, otherwise a random one."""
    n_steps = ensemble.n_steps
    return np.arange(n_steps) if ensemble.in_order else random_order(n_steps, seed)


def scores_of(ensemble: Ensemble, rows: Any) -> Scores:
    """Return every voter's score on every row; with many classes, for each class.

    A score takes 8 bytes with little overhead, and 4 bytes for leaves of trees with many classes.
    """
    shape = (rows.shape[0], ensemble.n_steps, *np.shape(ensemble.start))
    scores: Scores | None = None
    for block in blocks(shape):
        part = ensemble.compact_scores(take_rows(rows, block))
        if scores is None:
            scores = _room_for(part, shape)
        _numbers(scores)[block] = _numbers(part)
    assert scores is not None  # there is a row
    return scores


def _room_for(part: Scores, shape: tuple[int, ...]) -> Scores:
    """Return an empty array for scores of this shape, of the same type as those of some rows."""
    if not isinstance(part, ClassScores):
        return np.empty(shape)
    if part.lines is None:
        return ClassScores(None, np.empty(shape))
    return ClassScores(np.empty(shape[:2], part.lines.dtype), part.table)


def _numbers(scores: Scores) -> npt.NDArray[Any]:
    """Return the part of the scores that differs between rows."""
    if not isinstance(scores, ClassScores):
        return scores
    return scores.table if scores.lines is None else scores.lines


def check_known(scores: Scores) -> None:
    """Raise SolverError if a score is NaN, because nothing can be learned from such rows."""
    numbers = scores.table if isinstance(scores, ClassScores) else scores
    for block in blocks(numbers.shape):
        if not np.isfinite(numbers[block]).all():
            row, voter, *_ = np.argwhere(~np.isfinite(numbers[block]))[0]
            raise SolverError(
                f"scores must be numbers, got {numbers[block][row, voter]} from voter {voter} for "
                f"calibration row {block.start + row}: leave out such rows, or repair the voter"
            )


def known_bounds(ensemble: Ensemble, scores: Scores) -> FloatArray | None:
    """Return the smallest and the largest score of each voter; None if scores on the rows exceed them."""
    bounds: FloatArray = ensemble.score_bounds
    low, high = bounds
    if isinstance(scores, ClassScores):
        said = scores.bounds()  # NaN is never within bounds
        return bounds if bool(((low <= said[0]) & (said[1] <= high)).all()) else None
    parts = (scores[block] for block in blocks(scores.shape))
    within = all(bool(((low <= part) & (part <= high)).all()) for part in parts)
    return bounds if within else None
