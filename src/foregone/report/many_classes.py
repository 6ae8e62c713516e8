"""The trade-off of votes among many classes: one strategy found for each limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from foregone.planning import LIMITS as PLANNED
from foregone.planning import Plan, PlanRow, check_worth
from foregone.planning import _choose as choose_row  # the rule of plan(), which has no name of its own yet
from foregone.planning.plan_rows import _price as votes_for_each_avoided
from foregone.planning.recommendation import allowed_by_class
from foregone.plurality import CompositionDistribution, evaluate_plurality
from foregone.plurality.rules import curtailment
from foregone.plurality.ties import bound_with_ties, disagreement_with_ties, solve_with_ties
from foregone.report.facts import Labels, Subject
from foregone.report.points import ClassFigures, Point, Texts, TradeOff, solve_points
from foregone.report.two_classes import OWN_DIFFERS, OWN_HEADING, promise_of_votes

__all__ = ["trade_off_of_answers"]

ONE_LIMIT = (
    "Limits for each class are for two classes: with more, strategies do not tell the classes apart, and the "
    "limit is a mean over all rows."
)


def trade_off_of_answers(
    subject: Subject, own: Labels | None, worth: float, advance: Callable[[], None]
) -> TradeOff:
    """Ask everyone about every row and solve for every limit; parameters as in `trade_off_of_votes`.

    What the full vote says decides which rows are of a class; the figures of a class are exact means over
    its rows.
    """
    counts, n_voters, n_classes = subject.votes(), subject.n_voters, len(subject.labels)
    distribution = CompositionDistribution.from_counts(counts)
    full = counts.argmax(axis=1)
    of_class = [
        CompositionDistribution.from_counts(counts[full == place]) if (full == place).any() else None
        for place in range(n_classes)
    ]
    criterion = subject.settings["criterion"]
    every_row = criterion != "minimean"
    confidence = None if every_row else subject.settings["confidence"]

    def point(limit: float, each_class: bool) -> Point:
        strategy, solution = solve_with_ties(
            counts, limit, n_voters=n_voters, criterion=criterion, confidence=confidence
        )
        evaluation, differs = evaluate_plurality(strategy), disagreement_with_ties(strategy)

        def figures(rows: CompositionDistribution) -> ClassFigures:
            disagreement = float(rows.weights_on(strategy.lattice) @ differs)
            return ClassFigures(evaluation.mean(rows).expected_votes, disagreement)

        mean = figures(distribution)
        return Point(
            limit=limit,
            each_class=each_class,
            strategy=strategy,
            expected_votes=mean.expected_votes or 0.0,
            disagreement=mean.disagreement or 0.0,
            at_most=bound_with_ties(strategy, solution),
            by_class=tuple(ClassFigures() if rows is None else figures(rows) for rows in of_class),
            worst=evaluation.worst().disagreement,
            gap=solution.gap,
        )

    points = solve_points(point, (False,), advance)
    made = _plan(points, subject, distribution, confidence, worth)
    gap = max(point.gap or 0.0 for point in points)
    return TradeOff(
        points=points,
        plan=made,
        advice=(*made.advise(), *_hit_hardest(made, points, subject)),
        confidence=confidence,
        full=full,
        right=full[:, None] == np.arange(n_classes),
        texts=Texts(
            full="the full vote",
            mean="expected",
            computed="Every number below was computed exactly, for the strategy found within that limit.",
            promise=(
                promise_of_votes(subject, every_row, confidence),
                "With more than two classes the strategies are near the optimum, not at it: the proven lower "
                f"bounds leave room for at most {100 * gap:.2g} % fewer votes.",
            ),
            own_heading=OWN_HEADING,
            own_meaning=f"Each of the {subject.voters} has one vote, and the class with most votes wins.",
            own_differs=OWN_DIFFERS,
            no_class_limits=ONE_LIMIT,
            no_margins=f"With {n_classes} classes a full vote is more than a number of yes votes, so "
            "disagreement is not shown by margin.",
            holds_for_every_row=every_row,
            ties="Where several classes have the most votes, the full vote is the first of them. The bound "
            "counts what such ties add on average over these rows.",
        ),
        exact_votes=evaluate_plurality(curtailment(n_voters, n_classes)).mean(distribution).expected_votes,
    )


def _plan(
    points: tuple[Point, ...],
    subject: Subject,
    distribution: CompositionDistribution,
    confidence: float | None,
    worth: float,
) -> Plan:
    """Return the limit that the rule of `foregone.plan` leads to, among the limits that it tries."""
    rows: list[PlanRow] = []
    for point in sorted(
        (point for point in points if point.limit in PLANNED), key=lambda point: -point.limit
    ):
        row = PlanRow(
            max_disagreement=point.limit,
            expected_votes=point.expected_votes,
            speed_up=subject.n_voters / point.expected_votes,
            guaranteed=point.at_most,
            disagreement=point.disagreement,
            worst_disagreement=point.worst or 0.0,
            by_class={},
            worst_by_class={},
        )
        price = votes_for_each_avoided(rows[-1], row) / subject.n_voters if rows else None
        rows.append(replace(row, price=price))
    criterion = subject.settings["criterion"]
    seen = distribution.n_observations if criterion == "minimean" else None
    chosen, reason = choose_row(rows, check_worth(worth), 1 / seen if seen else 0.0)
    votes: Any = distribution  # a plan asks it for no more than the numbers of voters and of observations
    return Plan(tuple(rows), chosen, None, reason, votes, criterion, confidence, worth=float(worth))


def _hit_hardest(made: Plan, points: tuple[Point, ...], subject: Subject) -> list[str]:
    """Say which class the limit is spent on, if one is far above it."""
    chosen = next(point for point in points if point.limit == made.chosen.limit)
    risks = [figures.disagreement or 0.0 for figures in chosen.by_class]
    hardest = int(np.argmax(risks))
    if risks[hardest] <= allowed_by_class(chosen.limit):
        return []
    return [
        f"Class {subject.labels[hardest]} is hit hardest: {100 * risks[hardest]:.3g} % of its rows differ "
        f"from the full vote, {risks[hardest] / chosen.limit:,.0f} times the limit. If that is too much, "
        "take a tighter limit."
    ]
