"""Trial: rows with limits on their losses; testing thresholds on them, and choosing thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from foregone.certifying import Judged, Parts, RowLabels, RowLosses
from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.scores.families import (
    LEAD_SHAPES,
    SHAPES,
    WEIGHED_SHAPES,
    Fit,
    Learned,
    LearnedByClass,
    Shape,
    Thresholds,
    fit_scores,
)
from foregone.scores.paths import Answers, ClassPaths, Paths

__all__ = ["Choice", "Fits", "Trial", "TrialOutcome", "choose"]

FOLDS = 3
HALVINGS = 7

Fits = dict[tuple[int | None, bytes], Fit]


class TrialOutcome(NamedTuple):
    """Results of thresholds on rows.

    Attributes
    ----------
    wrong : ndarray of bool
        Which rows got another answer than they should.
    asked : ndarray of int
        Number of voters asked about each row.
    answers : ndarray of bool or int
        The answer to each row.
    losses : ndarray of bool or float
        The loss of each row in the limited quantity, see `RowLosses.of`; for disagreement, ``wrong``.
    """

    wrong: BoolArray
    asked: IntArray
    answers: Answers
    losses: BoolArray | FloatArray


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows to test thresholds on.

    Attributes
    ----------
    paths : Paths
        Running scores, or leads.
    final : ndarray of bool or int, shape (n_rows,)
        The answers that rows should get: whether yes, or the number of a class.
    labels : RowLabels
        Groups and clusters of the rows.
    parts : Parts
        The limits on the losses, and the rows that each applies to.
    certain : Thresholds
        Where the answer is certain before all voters were asked.
    losses : RowLosses
        What other answers lose.
    times : float
        How often each row counts when they are judged.
    fits : dict
        Fits of these paths without one of the folds (None: of all rows), by fold and steps. Limits and losses
        do not matter, so trials with the same rows in the same order share them.
    """

    paths: Paths
    final: Answers
    labels: RowLabels
    parts: Parts
    certain: Thresholds
    losses: RowLosses
    times: float = 1.0
    fits: Fits = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.paths)

    @property
    def limit(self) -> float:
        """The limit on the loss of all rows that follows from the limits of the parts."""
        return sum(part.limit * len(part.rows) for part in self.parts) / max(self.n_rows, 1)

    def learn(self, steps: IntArray, without: int | None = None) -> Learned:
        """Learn from all rows, or from those outside of one fold."""
        rows = np.arange(self.n_rows) if without is None else np.flatnonzero(self.folds != without)
        some, key = self.paths.take(rows), (without, steps.tobytes())
        if key not in self.fits:
            self.fits[key] = fit_scores(some, steps)
        drops = isinstance(some, ClassPaths) and some.drops_classes
        return (LearnedByClass if drops else Learned)(
            some, self.fits[key], steps, self.limit, self.certain, may_gain=self.losses.truth is not None
        )

    def outcome(self, thresholds: Thresholds) -> TrialOutcome:
        """Return the results of thresholds on all rows."""
        return self.answered(*self.paths.follow(*thresholds))

    def answered(self, answers: Answers, asked: IntArray) -> TrialOutcome:
        """Return the results on all rows, given the answers and the numbers of voters asked."""
        return TrialOutcome(answers != self.final, asked, answers, self.losses.of(answers, self.final))

    def judge(self, losses: BoolArray | FloatArray, confidence: float) -> tuple[Judged, ...]:
        """Return the bound on the loss of each part, given the losses of all rows."""
        return self.parts.judge(losses, confidence, times=self.times)

    @cached_property
    def folds(self) -> IntArray:
        """Return the fold of each row; clusters stay together."""
        clusters = self.labels.clusters
        numbers = np.arange(self.n_rows) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        return np.asarray(numbers % FOLDS, np.int64)


@dataclass(frozen=True, eq=False)
class Choice:
    """A shape, the boldness that is probably certifiable, and its results on the rows it was tested on.

    ``outcome`` is None if not even the most careful thresholds would have been certified.
    """

    shape: Shape
    boldness: float
    outcome: TrialOutcome | None = None

    @property
    def mean_asked(self) -> float:
        """Mean number of voters asked, over the rows it was tested on."""
        return np.inf if self.outcome is None else float(self.outcome.asked.mean())


def choose(learn: Trial, steps: IntArray, confidence: float) -> Choice:
    """Return the shape that asks fewest voters at the largest certifiable boldness, and that boldness.

    Thresholds are learned on all folds but one and tested on that one. All folds together count as many rows
    as certification will have, so the same bounds estimate which boldness can be certified. It is found by
    bisection, as if losses only grew with boldness: the guarantee does not depend on that.
    """
    folds = [np.flatnonzero(learn.folds == fold) for fold in range(FOLDS)]
    tries = [(learn.learn(steps, fold), learn.paths.take(rows)) for fold, rows in enumerate(folds)]

    def crossed(shape: Shape, boldness: float) -> TrialOutcome:
        answers, asked = np.empty_like(learn.final), np.empty(learn.n_rows, np.int64)
        for rows, (learned, paths) in zip(folds, tries, strict=True):
            answers[rows], asked[rows] = paths.follow(*learned.thresholds(shape, boldness))
        return learn.answered(answers, asked)

    best = Choice(Shape("chance"), 0.0)
    has_sides = learn.losses.kind == "cost" or any(part.side != "all" for part in learn.parts)
    others = LEAD_SHAPES if isinstance(learn.paths, ClassPaths) else WEIGHED_SHAPES if has_sides else ()
    # If close calls are free, a margin gains little over chances, and a ladder of margins is steep.
    shapes = SHAPES if learn.losses.truth is None else SHAPES[1:]
    for shape in shapes + others:
        certain, too_bold = 0.0, 1.0
        for _ in range(HALVINGS):
            boldness = (certain + too_bold) / 2
            outcome = crossed(shape, boldness)
            if not all(part.is_kept for part in learn.judge(outcome.losses, confidence)):
                too_bold = boldness
                continue
            certain = boldness
            if outcome.asked.mean() < best.mean_asked:
                best = Choice(shape, boldness, outcome)
    return best
