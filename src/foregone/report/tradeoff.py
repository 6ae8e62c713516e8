"""The stops of the slider: for each limit on the disagreement, what the library says it costs and risks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from foregone.classifier.limits import risk_by_label
from foregone.evaluation import Evaluation, evaluate
from foregone.planning import PlanRow
from foregone.solving import MaxDisagreement, Solution, solve
from foregone.votes import VoteDistribution

__all__ = ["LIMITS", "Stop", "find_stops"]

# From the strictest to the loosest, six a decade; those that plan() tries are among them.
LIMITS = (*(float(f"{digits}e{power}") for power in range(-5, -1) for digits in (1, 1.5, 2, 3, 5, 7)), 0.1)


@dataclass(frozen=True, eq=False)
class Stop:
    """The optimal strategy within one limit, and what it costs and risks.

    Attributes
    ----------
    limit : float
        The limit.
    each_class : bool
        Whether it is kept for each class by itself, or over all rows.
    solution : Solution
        What was solved.
    evaluation : Evaluation
        Votes and disagreement for every number of yes votes.
    row : PlanRow
        The figures of `foregone.plan`.
    at_most_by_class : dict
        How large the disagreement of each label may be: ``disagreement_by_class_`` of a classifier.
    """

    limit: float
    each_class: bool
    solution: Solution
    evaluation: Evaluation
    row: PlanRow
    at_most_by_class: dict[Any, float]

    @property
    def at_most(self) -> float:
        """The guaranteed disagreement; the larger one if each class has its own."""
        guaranteed = self.row.guaranteed
        return max(guaranteed.values()) if isinstance(guaranteed, dict) else guaranteed

    def record(self) -> dict[str, Any]:
        """Return its figures as plain values."""
        votes = self.evaluation.by_class(self.solution.votes)
        return {
            "limit": self.limit,
            "each_class": self.each_class,
            **self.row.record(),
            **{
                f"expected_votes_{side}": None
                if math.isnan(figures.expected_votes)
                else figures.expected_votes
                for side, figures in votes.items()
            },
            "at_most_by_class": [
                {"label": str(label), "disagreement": risk} for label, risk in self.at_most_by_class.items()
            ],
            "disagreement_by_yes_votes": self.evaluation.disagreement.tolist(),
            "expected_votes_by_yes_votes": self.evaluation.expected_votes.tolist(),
            "gap": self.solution.gap,
        }


def find_stops(
    votes: VoteDistribution,
    classes: npt.NDArray[Any],
    settings: dict[str, Any],
    advance: Callable[[], None] = lambda: None,
) -> tuple[Stop, ...]:
    """Solve for every limit, over all rows and, where that is something else, for each class by itself.

    Parameters
    ----------
    votes : VoteDistribution
        Of the calibration rows.
    classes : ndarray of shape (2,)
        The labels for no and yes.
    settings : dict
        ``criterion``, ``confidence``, ``looks`` and ``answer``, as `foregone.solve` takes them.
    advance : callable, optional
        Called after each.

    Examples
    --------
    >>> import numpy as np
    >>> votes = VoteDistribution.from_counts([90, 5, 3, 2, 4, 30])
    >>> stops = find_stops(votes, np.array(["ham", "spam"]), {"criterion": "minimixed"})
    >>> stops[0].limit, stops[-1].limit, len(stops)
    (1e-05, 0.1, 25)
    """
    stops = []
    for each_class in (False, True) if settings["criterion"] == "minimean" else (False,):
        for limit in LIMITS:
            allowed: MaxDisagreement = {"yes": limit, "no": limit} if each_class else limit
            options = {name: value for name, value in settings.items() if name != "criterion"}
            solution = solve(settings["criterion"], votes, allowed, **options)
            evaluation = evaluate(solution.strategy)
            stops.append(
                Stop(
                    limit=limit,
                    each_class=each_class,
                    solution=solution,
                    evaluation=evaluation,
                    row=PlanRow.of(solution),
                    at_most_by_class=risk_by_label(solution, evaluation, classes),
                )
            )
            advance()
    return tuple(stops)
