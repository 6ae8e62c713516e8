"""Trial: rows with a limit on the disagreement, and how thresholds fare on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray
from foregone.scores.families import Thresholds
from foregone.scores.paths import follow
from foregone.scores.score_certificate import ScoreCertificate
from foregone.strategy.limits import Limits, as_given

__all__ = ["Outcome", "Trial"]


@dataclass(frozen=True)
class Outcome:
    """What happened: voters asked in all, and wrong answers by what would be right."""

    asked: int
    wrong_yes: int
    wrong_no: int

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
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
    final_yes: npt.NDArray[np.bool_]

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.running.shape[1])

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

    def outcome(self, thresholds: Thresholds) -> Outcome:
        """Return how thresholds fare."""
        answers, asked = follow(self.running, *thresholds)
        wrong = answers != self.final_yes
        return Outcome(int(asked.sum()), int(wrong[self.final_yes].sum()), int(wrong[~self.final_yes].sum()))

    def judge(self, outcomes: Iterable[Outcome], n_learned: int) -> ScoreCertificate:
        """Return what the outcomes on parts, which together are all the rows, say."""
        total = sum(outcomes, Outcome(0, 0, 0))
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
