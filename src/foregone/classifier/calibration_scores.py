"""The scores of calibration rows: asked for in blocks, refused where they are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from foregone.checks import FloatArray
from foregone.classifier.transformed import Transformed
from foregone.classifier.voters import ScoreVoters
from foregone.errors import SolverError
from foregone.forest import ScoredForest
from foregone.forest.schedule import random_order
from foregone.scores.paths import blocks

__all__ = ["check_known", "first_order", "known_bounds", "scores_of"]

Scores = FloatArray
Ensemble = ScoredForest | ScoreVoters | Transformed


def first_order(ensemble: Ensemble, seed: int) -> npt.NDArray[np.int64]:
    """Return the order in which voters are asked: a boosted model's own, else one drawn at random."""
    n_voters = ensemble.n_voters
    return np.arange(n_voters) if ensemble.in_order else random_order(n_voters, seed)


def scores_of(ensemble: Ensemble, rows: Any) -> Scores:
    """Return every voter's score on every row. The matrix takes 8 bytes a score, and little beside it."""
    scores = np.empty((rows.shape[0], ensemble.n_voters))
    for block in blocks(scores.shape):
        scores[block] = ensemble.scores(_safe_indexing(rows, block))
    return scores


def check_known(scores: Scores) -> None:
    """Raise if a voter gives a row no score, because nothing can be learned from such rows."""
    for block in blocks(scores.shape):
        if not np.isfinite(scores[block]).all():
            row, voter = np.argwhere(~np.isfinite(scores[block]))[0]
            raise SolverError(
                f"voter {voter} has a score of {scores[block][row, voter]} for calibration row "
                f"{block.start + row}: leave such rows out, or repair the voter"
            )


def known_bounds(ensemble: Ensemble, scores: Scores) -> FloatArray | None:
    """Return the smallest and the largest score of each voter; None if the rows show that they are wrong."""
    bounds: FloatArray = ensemble.score_bounds
    low, high = bounds
    within = all(
        bool(((low <= scores[block]) & (scores[block] <= high)).all()) for block in blocks(scores.shape)
    )
    return bounds if within else None
