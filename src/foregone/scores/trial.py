"""Trial: rows with a limit on the disagreement, how thresholds fare on them, and which to choose by that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.scores.families import SHAPES, WEIGHED_SHAPES, Learned, Shape, Thresholds
from foregone.scores.paths import follow
from foregone.scores.score_certificate import ScoreCertificate
from foregone.strategy.limits import Limits, as_given

__all__ = ["Choice", "Trial", "TrialOutcome", "choose"]

FOLDS = 3
HALVINGS = 7


@dataclass(frozen=True)
class TrialOutcome:
    """What happened: voters asked in all, and wrong answers by what would be right."""

    asked: int
    wrong_yes: int
    wrong_no: int

    def __add__(self, other: TrialOutcome) -> TrialOutcome:
        return TrialOutcome(
            self.asked + other.asked, self.wrong_yes + other.wrong_yes, self.wrong_no + other.wrong_no
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows to try thresholds on.

    Attributes
    ----------
    running : ndarray of shape (n_rows, n_voters)
        Running scores.
    limits : Limits
        On the disagreement with the full sum.
    confidence : float
        With which it shall hold.
    final_yes : ndarray of bool, shape (n_rows,)
        Which rows are to be answered with yes.
    """

    running: FloatArray
    limits: Limits
    confidence: float
    final_yes: BoolArray

    @cached_property
    def n_rows(self) -> dict[str, int]:
        """How many rows each side has."""
        yes = int(self.final_yes.sum())
        return {"all": len(self.running), "yes": yes, "no": len(self.running) - yes}

    @property
    def limit(self) -> float:
        """The limit on the disagreement of all rows that the limits of the sides come to."""
        return sum(limit * self.n_rows[side] for side, limit in self.limits) / max(self.n_rows["all"], 1)

    def part(self, rows: IntArray) -> Trial:
        """Return the trial of some of the rows."""
        running = np.asfortranarray(self.running[rows])
        return Trial(running, self.limits, self.confidence, self.final_yes[rows])

    def outcome(self, thresholds: Thresholds) -> TrialOutcome:
        """Return how thresholds fare."""
        answers, asked = follow(self.running, *thresholds)
        wrong = answers != self.final_yes
        return TrialOutcome(
            int(asked.sum()), int(wrong[self.final_yes].sum()), int(wrong[~self.final_yes].sum())
        )

    def judge(self, outcomes: Iterable[TrialOutcome], n_learned: int) -> ScoreCertificate:
        """Return what the outcomes on parts, which together are all the rows, say."""
        total = sum(outcomes, TrialOutcome(0, 0, 0))
        n_wrong = {"all": total.wrong_yes + total.wrong_no, "yes": total.wrong_yes, "no": total.wrong_no}
        return ScoreCertificate(
            self.limits.given,
            self.confidence,
            n_learned,
            as_given({side: self.n_rows[side] for side, _ in self.limits}),
            as_given({side: n_wrong[side] for side, _ in self.limits}),
            total.asked / max(len(self.running), 1),
            {side: (n_wrong[side], self.n_rows[side]) for side in ("yes", "no")},
        )


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
