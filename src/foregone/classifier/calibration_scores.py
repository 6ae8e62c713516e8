"""The scores of calibration rows: asked for in blocks, refused where they are no numbers."""

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
    """Return the order in which voters are asked: a boosted model's own, else one drawn at random."""
    n_steps = ensemble.n_steps
    return np.arange(n_steps) if ensemble.in_order else random_order(n_steps, seed)


def scores_of(ensemble: Ensemble, rows: Any) -> Scores:
    """Return every voter's score on every row, of many classes for each class.

    A score takes 8 bytes, and little beside it; what the leaves of trees say of many classes, 4 bytes.
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
    """Return room for scores of this shape, kept as those of a part of the rows are."""
    if not isinstance(part, ClassScores):
        return np.empty(shape)
    if part.lines is None:
        return ClassScores(None, np.empty(shape))
    return ClassScores(np.empty(shape[:2], part.lines.dtype), part.table)


def _numbers(scores: Scores) -> npt.NDArray[Any]:
    """Return what differs from row to row."""
    if not isinstance(scores, ClassScores):
        return scores
    return scores.table if scores.lines is None else scores.lines


def check_known(scores: Scores) -> None:
    """Raise if a voter gives a row no score, because nothing can be learned from such rows."""
    numbers = scores.table if isinstance(scores, ClassScores) else scores
    for block in blocks(numbers.shape):
        if not np.isfinite(numbers[block]).all():
            row, voter, *_ = np.argwhere(~np.isfinite(numbers[block]))[0]
            raise SolverError(
                f"voter {voter} has a score of {numbers[block][row, voter]} for calibration row "
                f"{block.start + row}: leave such rows out, or repair the voter"
            )


def known_bounds(ensemble: Ensemble, scores: Scores) -> FloatArray | None:
    """Return the smallest and the largest score of each voter; None if the rows show that they are wrong."""
    bounds: FloatArray = ensemble.score_bounds
    low, high = bounds
    if isinstance(scores, ClassScores):
        said = scores.bounds()  # NaN, where there is one, is in no bounds
        return bounds if bool(((low <= said[0]) & (said[1] <= high)).all()) else None
    parts = (scores[block] for block in blocks(scores.shape))
    within = all(bool(((low <= part) & (part <= high)).all()) for part in parts)
    return bounds if within else None
