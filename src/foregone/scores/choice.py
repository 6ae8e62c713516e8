"""Which shape of thresholds to use, and how bold: decided by cross-validation within the learning half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.checks import IntArray
from foregone.scores.families import SHAPES, WEIGHED_SHAPES, Learned, Shape
from foregone.scores.trial import Trial

__all__ = ["Choice", "choose"]

FOLDS = 3
HALVINGS = 7


@dataclass(frozen=True)
class Choice:
    """A shape, how bold it may probably be, and the voters it then asks on average."""

    shape: Shape
    boldness: float
    mean_asked: float


def choose(learn: Trial, steps: IntArray) -> Choice:
    """Return the shape that asks fewest voters where it would just be certified, and that boldness.

    Thresholds are learned on all folds but one and tried on that one. The folds together are as many rows as
    there will be to certify on, so the same bound shows how bold one may hope to be. The boldness is found by
    halving, as if disagreement only grew with it: nothing that is promised depends on that.
    """
    fold_of = np.arange(len(learn.running)) % FOLDS
    folds = [
        (
            Learned(learn.part(np.flatnonzero(fold_of != fold)).running, steps, learn.limit),
            learn.part(np.flatnonzero(fold_of == fold)),
        )
        for fold in range(FOLDS)
    ]
    best = Choice(Shape("chance"), 0.0, np.inf)
    for shape in SHAPES + WEIGHED_SHAPES if learn.limits.by_answer else SHAPES:
        certain, too_bold = 0.0, 1.0
        for _ in range(HALVINGS):
            boldness = (certain + too_bold) / 2
            judged = learn.judge(
                [tried.outcome(learned.thresholds(shape, boldness)) for learned, tried in folds], 0
            )
            if not judged.is_kept:
                too_bold = boldness
                continue
            certain = boldness
            if judged.mean_asked < best.mean_asked:
                best = Choice(shape, boldness, judged.mean_asked)
    return best
