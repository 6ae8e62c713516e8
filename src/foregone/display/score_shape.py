"""score_shape(strategy): the thresholds of a ScoreStrategy, in the form in which envelopes are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foregone.checks import FloatArray
from foregone.scores import ScoreStrategy

__all__ = ["ScoreShape", "score_shape"]


@dataclass(frozen=True, eq=False)
class ScoreShape:
    """What there is to draw of thresholds on a running score.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    stop_yes, stop_no : ndarray of float, shape (k, 2)
        Rows (asked, score): from which score on it stops with yes, and down from which with no; only steps
        at which it can stop so.
    """

    n_voters: int
    stop_yes: FloatArray = field(repr=False)
    stop_no: FloatArray = field(repr=False)
    randomised: tuple[tuple[int, float, float], ...] = ()  # chance decides nothing

    @property
    def last_asked(self) -> int:
        """The largest number of votes it can ask."""
        return self.n_voters

    @property
    def largest_lead(self) -> float:
        """The threshold that is furthest from 0."""
        return float(np.abs(np.concatenate([self.stop_yes, self.stop_no])[:, 1]).max())

    def runs(self, answer: str) -> list[FloatArray]:
        """Return the stops of one side in the runs that make a line: those of neighbouring steps.

        Parameters
        ----------
        answer : {"yes", "no"}
            The upper or the lower side.
        """
        stops = self.stop_yes if answer == "yes" else self.stop_no
        return np.split(stops, np.flatnonzero(np.diff(stops[:, 0]) > 1) + 1)

    def edge(self, answer: str) -> tuple[FloatArray, FloatArray]:
        """Return the stops of one side as (asked, score)."""
        asked, score = (self.stop_yes if answer == "yes" else self.stop_no).T
        return asked, score


def score_shape(strategy: ScoreStrategy) -> ScoreShape:
    """Return the finite thresholds.

    Examples
    --------
    >>> from foregone import ScoreStrategy
    >>> shape = score_shape(ScoreStrategy.from_thresholds([-9, -2, 0], [float("inf"), 2, 0]))
    >>> shape.stop_yes.tolist(), shape.stop_no.tolist()
    ([[1.0, 2.0], [2.0, 0.0]], [[0.0, -9.0], [1.0, -2.0], [2.0, 0.0]])
    """
    steps = np.arange(strategy.n_voters + 1.0)
    yes, no = (
        np.stack([steps[finite], values[finite]], axis=1)
        for values in (strategy.upper, strategy.lower)
        for finite in [np.isfinite(values)]
    )
    return ScoreShape(strategy.n_voters, yes, no)
