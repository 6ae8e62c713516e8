"""The scores of calibration rows: asked for in blocks, added up, refused where they are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from foregone.classifier.transformed import Transformed
from foregone.classifier.voters import ScoreVoters
from foregone.errors import SolverError
from foregone.forest import ScoredForest
from foregone.forest.schedule import random_order
from foregone.scores import ScoreStrategy

__all__ = ["check_known", "first_order", "full_answers", "scores_of", "stopped_answers"]

Scores = npt.NDArray[np.float64]
Ensemble = ScoredForest | ScoreVoters | Transformed
Answers = npt.NDArray[np.bool_]

BLOCK_SCORES = 2**22  # scores that are dealt with at once: 32 MB


def first_order(ensemble: Ensemble, seed: int) -> npt.NDArray[np.int64]:
    """Return the order in which voters are asked: a boosted model's own, else one drawn at random."""
    n_voters = ensemble.n_voters
    return np.arange(n_voters) if ensemble.in_order else random_order(n_voters, seed)


def scores_of(ensemble: Ensemble, rows: Any) -> Scores:
    """Return every voter's score on every row. The matrix takes 8 bytes a score, and little beside it."""
    scores = np.empty((rows.shape[0], ensemble.n_voters))
    for block in _blocks(scores):
        scores[block] = ensemble.scores(_safe_indexing(rows, block))
    return scores


def _blocks(scores: Scores) -> list[slice]:
    n_rows, n_voters = scores.shape
    size = max(1, BLOCK_SCORES // n_voters)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def check_known(scores: Scores) -> None:
    """Raise if a voter gives a row no score, because nothing can be learned from such rows."""
    for block in _blocks(scores):
        if not np.isfinite(scores[block]).all():
            row, voter = np.argwhere(~np.isfinite(scores[block]))[0]
            raise SolverError(
                f"voter {voter} has a score of {scores[block][row, voter]} for calibration row "
                f"{block.start + row}: leave such rows out, or repair the voter"
            )


def full_answers(scores: Scores, strategy: ScoreStrategy) -> Answers:
    """Return what the sums of all scores say, added up as the strategy does; a sum that is NaN says no."""
    total = np.full(len(scores), strategy.start)
    for voter in strategy.order:
        total += scores[:, voter]
    return np.asarray(total > 0)


def stopped_answers(scores: Scores, strategy: ScoreStrategy) -> Answers:
    """Return what the strategy answers."""
    return np.concatenate([strategy.run(scores[block])[0] for block in _blocks(scores)])
