"""The trade-off of votes between two classes: every limit solved exactly, as `foregone.plan` does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from foregone import rules
from foregone.classifier.two_or_many import risk_by_label
from foregone.planning import plan
from foregone.report.facts import Labels, Subject
from foregone.report.points import ClassFigures, Point, Texts, TradeOff, solve_points
from foregone.solving import MaxDisagreement, Solution, solve
from foregone.strategy.evaluation import evaluate
from foregone.votes import VoteDistribution

__all__ = ["OWN_DIFFERS", "OWN_HEADING", "promise_of_votes", "trade_off_of_votes"]

SIDES: tuple[Literal["no", "yes"], ...] = ("no", "yes")
OWN_HEADING = "Counting votes, or averaging probabilities"
OWN_DIFFERS = (
    "This comes from counting votes where the model averages probabilities, not from early stopping."
)


def trade_off_of_votes(
    subject: Subject, own: Labels | None, worth: float, advance: Callable[[], None]
) -> TradeOff:
    """Ask everyone about every row and solve for every limit.

    Parameters
    ----------
    subject : Subject
        Voters, rows and settings.
    own : ndarray or None
        The model's own predictions; not needed here.
    worth : float
        As in `foregone.plan`.
    advance : callable
        Called after each limit.
    """
    yes, n_voters = subject.votes(), subject.n_voters
    votes = VoteDistribution.from_yes_counts(yes, n_voters)
    full = (2 * yes > n_voters).astype(np.intp)
    no_label, yes_label = subject.labels
    made = plan(votes, labels=(no_label, yes_label), worth=worth, **subject.settings)
    options = {**subject.settings, "confidence": made.confidence}  # None where it has no meaning
    every_row = made.criterion != "minimean"

    def point(limit: float, each_class: bool) -> Point:
        allowed: MaxDisagreement = {"yes": limit, "no": limit} if each_class else limit
        return _point(solve(votes_or_n_voters=votes, max_disagreement=allowed, **options), limit, subject)

    points = solve_points(point, (False,) if every_row else (False, True), advance)
    gap = max(point.gap or 0.0 for point in points)
    optimal = (
        "Provably optimal: no way of stopping within the limit, in random order, asks fewer votes. Every "
        f"setting here is within {gap:.1e} of its proven lower bound."
    )
    return TradeOff(
        points=points,
        plan=made,
        advice=tuple(made.advise()),
        confidence=made.confidence,
        full=full,
        right=full[:, None] == np.arange(2),
        texts=Texts(
            full="the full vote",
            mean="expected",
            computed="Every number below was computed exactly, for the optimal strategy within that limit.",
            promise=(promise_of_votes(subject, every_row, made.confidence), optimal),
            own_heading=OWN_HEADING,
            own_meaning=f"Each of the {subject.voters} has one vote, and the majority wins.",
            own_differs=OWN_DIFFERS,
            no_class_limits="The limit holds for every single row, so also for each class."
            if every_row
            else None,
            holds_for_every_row=every_row,
        ),
        exact_votes=evaluate(rules.curtailment(n_voters)).mean(votes).expected_votes,
        votes=votes,
    )


def _point(solution: Solution, limit: float, subject: Subject) -> Point:
    evaluation, votes = evaluate(solution.strategy), solution.votes
    mean, by_class, worst = evaluation.mean(votes), evaluation.by_class(votes), evaluation.worst_by_class()
    guaranteed = solution.disagreement
    at_most = risk_by_label(solution, evaluation, subject.ensemble.classes).values()  # of no, then of yes
    return Point(
        limit=limit,
        each_class=isinstance(solution.max_disagreement, dict),
        strategy=solution.strategy,
        expected_votes=mean.expected_votes,
        disagreement=mean.disagreement,
        at_most=max(guaranteed.values()) if isinstance(guaranteed, dict) else guaranteed,
        by_class=tuple(
            ClassFigures(
                _known(by_class[side].expected_votes),
                _known(by_class[side].disagreement),
                promised,
                worst[side].disagreement,
            )
            for side, promised in zip(SIDES, at_most, strict=True)
        ),
        worst=evaluation.worst().disagreement,
        by_yes=evaluation,
        gap=solution.gap,
    )


def _known(figure: float) -> float | None:
    """Return a mean over the rows of a class; None if there are none."""
    return None if math.isnan(figure) else figure


def promise_of_votes(subject: Subject, every_row: bool, confidence: float | None) -> str:
    """Return in plain words what is guaranteed where votes are counted."""
    voters = subject.voters
    if every_row:
        return (
            "For every single row, whatever its votes, the early answer differs from the full vote with at "
            f"most the allowed probability, over random orders of the {voters}. This holds for any row, so "
            "it needs no confidence."
        )
    if confidence is None:
        return (
            "The calibration rows are treated as the true distribution: if votes are distributed exactly as "
            "on them, the early answer differs from the full vote on at most the allowed share of rows, on "
            f"average over random orders of the {voters}. On new rows the limit is exceeded in about half of "
            "all calibrations. Set a confidence to avoid that."
        )
    return (
        f"With {100 * confidence:g} % confidence over the draw of the {subject.n_rows:,} calibration rows, "
        "the early answer differs from the full vote on at most the allowed share of rows like them, on "
        f"average over random orders of the {voters}. With fewer calibration rows the guarantee still "
        f"holds, but more {voters} are asked. The limit is a mean: close votes, or one class, may take most "
        "of it. The figures above show how much."
    )
