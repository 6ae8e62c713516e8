"""ScoreRows: the scores of rows, and how they are added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray
from foregone.errors import SolverError
from foregone.scores.paths import BoolArray, check_scores, check_start
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.solve_scores import solve_scores
from foregone.strategy.limits import MaxDisagreement

__all__ = ["ScoreRows"]

BLOCK_SCORES = 2**22  # scores that are run at once: 32 MB


@dataclass(frozen=True, eq=False, repr=False)
class ScoreRows:
    """Every voter's score of every row: what `foregone.plan` takes where scores are added up.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_voters)
        Scores of single voters, on rows that they were not trained on.
    start, order, answers, random_state
        As in `foregone.solve_scores`, but that ``order`` is "given" by default: these are no running scores.

    Examples
    --------
    >>> import numpy as np
    >>> from foregone import plan
    >>> from foregone.scores import ScoreRows
    >>> rng = np.random.default_rng(0)
    >>> rows = ScoreRows(rng.normal(rng.normal(size=(8000, 1)), 1, size=(8000, 50)))
    >>> rows
    <ScoreRows of 50 voters, 8,000 rows>
    >>> plan(rows, [0.1, 0.01, 0.0001], worth=100).max_disagreement
    0.01
    """

    scores: FloatArray
    start: float = 0.0
    order: Literal["given", "random", "optimized"] | npt.ArrayLike = "given"
    answers: npt.ArrayLike | None = None
    random_state: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", check_scores(self.scores, "scores"))
        object.__setattr__(self, "start", check_start(self.start))

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.scores.shape[1])

    def solve(
        self, limits: MaxDisagreement, *, confidence: float, looks: int | Iterable[int] | None = None
    ) -> ScoreStrategy:
        """Return the strategy for a limit; if none can be certified, the one that asks everyone, and why."""
        try:
            return solve_scores(
                self.scores,
                limits,
                confidence=confidence,
                order=self.order,
                looks=looks,
                start=self.start,
                answers=self.answers,
                random_state=self.random_state,
                on_failure="raise",
            )
        except SolverError as error:
            order = None if isinstance(self.order, str) else self.order
            return ScoreStrategy.ask_all(self.n_voters, order=order, start=self.start, reason=str(error))

    def full(self, order: npt.ArrayLike) -> BoolArray:
        """Return what the sums of all scores say, added up in this order."""
        total = np.full(len(self.scores), self.start)
        for voter in np.asarray(order):
            total += self.scores[:, voter]
        return np.asarray(total > 0)

    def right(self, order: npt.ArrayLike) -> BoolArray:
        """Return what rows are to be answered with: ``answers``, or else what their full sums say."""
        return self.full(order) if self.answers is None else np.asarray(self.answers)

    def run(self, strategy: ScoreStrategy) -> tuple[BoolArray, IntArray]:
        """Return what a strategy answers each row, and how many voters that takes."""
        size = max(1, BLOCK_SCORES // self.n_voters)
        parts = [strategy.run(self.scores[at : at + size]) for at in range(0, len(self.scores), size)]
        answers, asked = zip(*parts, strict=True)
        return np.concatenate(answers), np.concatenate(asked)

    def __repr__(self) -> str:
        return f"<ScoreRows of {self.n_voters} voters, {len(self.scores):,} rows>"
