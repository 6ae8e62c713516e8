"""ScoreRows: the scores of single voters on rows, and how they are to be added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.errors import SolverError
from foregone.scores.paths import check_scores, check_start, full_answers
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.solve_scores import solve_scores
from foregone.strategy.limits import MaxDisagreement

__all__ = ["ScoreRows"]


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Rows that thresholds on a running score are learned from and certified with, as `plan` takes them.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters)
        What each voter adds to the sum of each row. The rows must not be those that the voters were trained
        on.
    start : float, default 0.0
        The score before the first voter.
    order : {"given", "random", "optimized"} or array-like of int
        In which order voters are asked, as in `foregone.solve_scores`.
    answers : array-like of bool, shape (n_rows,), optional
        What each row is to be answered with, where that is not what its full sum says.
    random_state : int or Generator
        Draws the halves to learn from and to certify with, and a random order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = ScoreRows(rng.normal(rng.normal(size=(800, 1)), 1, size=(800, 50)))
    >>> rows
    <ScoreRows: 800 rows, 50 voters>
    """

    scores: FloatArray = field(repr=False)
    start: float = 0.0
    order: Any = "given"
    answers: npt.ArrayLike | None = None
    random_state: int | np.random.Generator = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", check_scores(self.scores, "scores"))
        object.__setattr__(self, "start", check_start(self.start))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.scores.shape[1])

    @property
    def added_up(self) -> dict[str, Any]:
        """How they are added up, as options of `foregone.solve_scores`."""
        return {name: getattr(self, name) for name in ("order", "start", "answers", "random_state")}

    def solve(
        self, limits: MaxDisagreement, *, confidence: float, looks: int | Iterable[int] | None = None
    ) -> ScoreStrategy:
        """Return the strategy for a limit; if none can be certified, the one that asks everyone, and why."""
        try:
            return solve_scores(
                self.scores, limits, confidence=confidence, looks=looks, on_failure="raise", **self.added_up
            )
        except SolverError as error:
            order = None if isinstance(self.order, str) else self.order
            return ScoreStrategy.ask_all(self.n_voters, order=order, start=self.start, reason=str(error))

    def right(self, order: IntArray) -> BoolArray:
        """Return what rows are to be answered with: ``answers``, or else what their full sums say."""
        if self.answers is None:
            return full_answers(self.scores, order, self.start)
        return np.asarray(self.answers)

    def __repr__(self) -> str:
        return f"<ScoreRows: {self.n_rows:,} rows, {self.n_voters:,} voters>"
