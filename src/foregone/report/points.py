"""The trade-off that a page is drawn from: the same record whatever is added up, votes, answers or scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.planning import Plan
from foregone.planning.scores import ScorePlan
from foregone.strategy.evaluation import Evaluation
from foregone.votes import VoteDistribution

__all__ = ["LIMITS", "ClassFigures", "Point", "Texts", "TradeOff", "solve_points"]

# From the strictest to the loosest, six a decade; those that plan() tries are among them.
LIMITS = (*(float(f"{digits}e{power}") for power in range(-5, -1) for digits in (1, 1.5, 2, 3, 5, 7)), 0.1)


@dataclass(frozen=True)
class ClassFigures:
    """The rows that everyone together gives to one class; None for what is not known.

    Attributes
    ----------
    expected_votes : float or None
        Voters asked on average.
    disagreement : float or None
        Share of these rows whose answer differs.
    at_most : float or None
        Upper bound on that share.
    worst : float or None
        Probability to differ for the hardest row of the class.
    """

    expected_votes: float | None = None
    disagreement: float | None = None
    at_most: float | None = None
    worst: float | None = None


@dataclass(frozen=True, eq=False)
class Point:
    """One position of the slider: the strategy for a limit, and what it costs and risks.

    Attributes
    ----------
    limit : float
        The limit.
    each_class : bool
        Whether every class has this limit, or all rows together.
    strategy : StoppingStrategy, PluralityStrategy or ScoreStrategy
        When to stop.
    expected_votes : float
        Voters asked on average.
    disagreement : float
        Share of rows whose answer differs from that of everyone, as ``Texts.mean`` says: expected over random
        orders, or measured on the rows that certify it.
    at_most : float
        What is guaranteed: at most the limit. With a limit for each class, the larger of the bounds.
    by_class : tuple of ClassFigures
        In the order of the labels.
    worst : float or None
        Probability to differ for the hardest row; None where it is not known.
    by_yes : Evaluation or None
        Votes and disagreement for every number of yes votes; only for votes between two classes.
    gap : float or None
        How far ``expected_votes`` may be above the optimum, as a share; None where no optimum is known.
    reason : str or None
        Why everyone is asked, if no early stop could be certified.
    """

    limit: float
    each_class: bool
    strategy: Any
    expected_votes: float
    disagreement: float
    at_most: float
    by_class: tuple[ClassFigures, ...]
    worst: float | None = None
    by_yes: Evaluation | None = None
    gap: float | None = None
    reason: str | None = None

    def record(self, labels: Iterable[Any]) -> dict[str, Any]:
        """Return its figures as plain values."""
        return {
            "limit": self.limit,
            "each_class": self.each_class,
            "expected_votes": self.expected_votes,
            "disagreement": self.disagreement,
            "at_most": self.at_most,
            "worst": self.worst,
            "by_class": [
                {"label": label, **vars(figures)}
                for label, figures in zip(labels, self.by_class, strict=True)
            ],
            "disagreement_by_yes_votes": None if self.by_yes is None else self.by_yes.disagreement.tolist(),
            "expected_votes_by_yes_votes": None
            if self.by_yes is None
            else self.by_yes.expected_votes.tolist(),
            "gap": self.gap,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Texts:
    """What has to be said in other words for votes, answers and scores.

    Attributes
    ----------
    full : str
        What an early answer is compared with.
    mean : {"expected", "measured"}
        What the disagreement of a point is.
    computed : str
        Where the numbers of the slider come from.
    promise : tuple of str
        What is guaranteed, one paragraph each.
    own_heading, own_meaning, own_differs : str
        Of the section on the model's own ``predict``: heading, first sentence, and what it means if it
        differs.
    no_class_limits : str or None
        Why there is no limit for each class.
    no_margins : str or None
        Why nothing is shown by the number of yes votes.
    no_exact : str or None
        Why it is not known what it takes never to differ.
    holds_for_every_row : bool
        Whether the promise is about every row there can be, not a mean over rows.
    in_random_order : bool
        Whether the promise is a mean over random orders of the voters.
    ties : str or None
        What counts as agreement when everyone together leaves a tie.
    """

    full: str
    mean: Literal["expected", "measured"]
    computed: str
    promise: tuple[str, ...]
    own_heading: str
    own_meaning: str
    own_differs: str
    no_class_limits: str | None = None
    no_margins: str | None = None
    no_exact: str | None = None
    holds_for_every_row: bool = False
    in_random_order: bool = True
    ties: str | None = None


@dataclass(frozen=True, eq=False)
class TradeOff:
    """What every limit costs and risks, and the one that is recommended.

    Attributes
    ----------
    points : tuple of Point
        For every limit of the slider: first over all rows, then, where that is possible, for each class.
    plan : Plan or ScorePlan
        The recommendation.
    advice : tuple of str
        The recommendation in words, one paragraph each.
    confidence : float or None
        With which the limit holds; None where it has no meaning.
    full : ndarray of int, shape (n_rows,)
        Number of the class that everyone together gives each row.
    right : ndarray of bool, shape (n_rows, n_classes)
        Which answers count as agreement.
    texts : Texts
        What has to be said of this kind.
    exact_votes : float or None
        Voters asked on average if the answer may never differ; None where it is not known.
    votes : VoteDistribution or None
        How many voters say yes; only for votes between two classes.
    """

    points: tuple[Point, ...]
    plan: Plan | ScorePlan
    advice: tuple[str, ...]
    confidence: float | None
    full: npt.NDArray[np.intp]
    right: npt.NDArray[np.bool_]
    texts: Texts
    exact_votes: float | None = None
    votes: VoteDistribution | None = None

    @property
    def recommended(self) -> Point:
        """The recommended point."""
        each_class = isinstance(self.plan.max_disagreement, dict)
        wanted = self.plan.chosen.limit, each_class
        return next(point for point in self.points if (point.limit, point.each_class) == wanted)

    @property
    def has_class_limits(self) -> bool:
        """Whether the limit can be kept for each class."""
        return any(point.each_class for point in self.points)

    @property
    def shares(self) -> list[float]:
        """Share of the rows that everyone together gives to each class."""
        n_rows, n_classes = self.right.shape
        return (np.bincount(self.full, minlength=n_classes) / n_rows).tolist()  # type: ignore[no-any-return]  # a list of floats

    def differing(self, answers: npt.NDArray[Any]) -> int:
        """Return how many rows are answered in a way that does not agree, given class numbers."""
        return int(np.count_nonzero(~self.right[np.arange(len(answers)), answers.astype(np.intp)]))


def solve_points(
    solve: Callable[[float, bool], Point],
    each_class: tuple[bool, ...],
    advance: Callable[[], None] = lambda: None,
) -> tuple[Point, ...]:
    """Solve for every limit of the slider: over all rows, for each class, or both."""
    points = []
    for each in each_class:
        for limit in LIMITS:
            points.append(solve(limit, each))
            advance()
    return tuple(points)
