"""plan(): what each limit on the disagreement, or on the loss of accuracy, costs, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from foregone.checks import check_share
from foregone.errors import InvalidInputError
from foregone.planning.plan_rows import Plan, PlanRow, Reason
from foregone.planning.plan_terms import Planned
from foregone.planning.planned_kinds import Votes, planned
from foregone.planning.solved_limit import ClassFigures, SolvedLimit
from foregone.solving import Answer
from foregone.strategy.limits import Criterion, Limits

__all__ = [
    "ACCURACY_LIMITS",
    "LIMITS",
    "WORTH",
    "ClassFigures",
    "Plan",
    "PlanRow",
    "Planned",
    "SolvedLimit",
    "make_plan",
    "plan",
    "planned",
]

LIMITS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
ACCURACY_LIMITS = (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
WORTH = 25.0


def plan(
    votes_or_n_voters: Votes,
    limits: Iterable[float] | None = None,
    *,
    criterion: Criterion = "minimean",
    confidence: float | None = 0.95,
    looks: int | Iterable[int] | None = None,
    answer: Answer = "majority",
    worth: float = WORTH,
    labels: Sequence[Any] | None = None,
    quota: int | None = None,
) -> Plan:
    """Lay out what each limit on the disagreement, or on the loss of accuracy, costs, and recommend one.

    Where the true answers are known (`foregone.LabelledVotes`, or `foregone.scores.ScoreRows` with labels)
    the limits are on the loss of accuracy: at the same limit it takes fewer votes, because disagreements lie
    at close votes, where everyone together is nearly as often wrong.

    The rule: begin with the loosest limit and tighten as long as each disagreement, or error, that is avoided
    (on average under minimean, else on the worst input) costs at most ``worth`` full votes; under minimean,
    not below 1 / ``votes.n_observations``, because so many inputs cannot tell a smaller mean from none; where
    figures are estimates, not below what the inputs can certify. If a class then loses, with a mean
    disagreement more than ten times the limit (or more than a half) or never seen at all, each class is given
    the limit for itself, where that can be had. The inputs decide on that switch, too, so it doubles the
    risk: limits for each class that were switched to at a confidence of 0.95 hold with 0.90.

    Votes: figures are means over random orders of the voters. Between two answers the confidence is for all
    limits together. A classifier, which runs in one order, is certified when it is fitted with the limit that
    was chosen.

    Parameters
    ----------
    votes_or_n_voters : VoteDistribution, LabelledVotes, int, CompositionDistribution, ClassVotes or ScoreRows
        How the votes are distributed, with the true answers or without; a number of voters means a flat
        distribution of votes between two answers. Votes among many are a
        `foregone.plurality.CompositionDistribution`, of which any leader of the full vote is right, or, for
        figures by class, `foregone.plurality.ClassVotes`, of which the first is; scores are
        `foregone.scores.ScoreRows`.
    limits : iterable of float, optional
        Limits to try, from 0 to 1; by default 0.1, 0.03, 0.01 and so on to 0.00001; on the loss of accuracy
        0.02, 0.01, 0.005 and so on to 0.0001.
    criterion, looks, answer, quota
        As in `foregone.solve`. Votes among many have no ``looks`` or ``quota`` and answer the leader; scores
        take minimean and the default answer. A limit on accuracy is a mean: under the other criteria limits
        are on the disagreement, labels or not.
    confidence : float or None, default=0.95
        As in `foregone.solve`. Where it has no meaning, because the votes were not observed or because the
        criterion bounds every single input, it is dropped, and ``notes`` says so. Scores need one.
    worth : float, default=25
        What it is worth to avoid one disagreement, or one error, in full votes: one is all voters asked about
        one input. The default is a convention, which for many ensembles leads to limits near 1e-3.
    labels : sequence, optional
        Names of the classes in what is recommended, the ``classes_`` of a classifier; of two, for "no" and
        "yes". With labels, of several leaders only the first is right, as in a classifier.

    Returns
    -------
    Plan
        One row for each limit, and the recommendation.

    Examples
    --------
    >>> from foregone import VoteDistribution, plan
    >>> votes = VoteDistribution.from_counts([900, 600, 100, 50, 40, 60, 150, 400, 700])
    >>> trade_off = plan(votes, [0.1, 0.01, 0.001])
    >>> trade_off
    <Plan for 8 voters, minimean at 0.95 confidence: 3 limits from 0.1 to 0.001, recommended 0.001>
    >>> [round(row.expected_votes, 2) for row in trade_off.rows]
    [0.98, 2.76, 3.97]

    With the true answers:

    >>> from foregone import LabelledVotes
    >>> labelled = LabelledVotes.from_counts(
    ...     [890, 540, 60, 28, 19, 20, 40, 70, 20], [10, 60, 40, 22, 21, 40, 110, 330, 680]
    ... )
    >>> trade_off = plan(labelled, [0.01, 0.001], confidence=None)
    >>> trade_off.max_accuracy_loss, round(trade_off.full_accuracy, 3)
    (0.001, 0.899)
    >>> [round(row.expected_votes, 2) for row in trade_off.rows]
    [1.97, 2.86]

    Many classes:

    >>> from foregone.plurality import ClassVotes
    >>> votes = ClassVotes([[9, 0, 0]] * 150 + [[1, 8, 0]] * 40 + [[1, 3, 5]] * 10)
    >>> trade_off = plan(votes, [0.1, 0.01], labels=["ant", "bee", "cow"])
    >>> {label: round(risk, 3) for label, risk in trade_off.chosen.by_class.items()}
    {'ant': 0.0, 'bee': 0.0, 'cow': 0.08}
    """
    found = planned(
        votes_or_n_voters,
        criterion=criterion,
        confidence=confidence,
        looks=looks,
        answer=answer,
        labels=labels,
        quota=quota,
    )
    usual = ACCURACY_LIMITS if found.loss == "accuracy" else LIMITS
    return make_plan(found, found.solve, _check_limits(limits, usual), worth=worth, labels=labels)


def make_plan(
    planned: Planned,
    solve: Callable[[Limits], SolvedLimit],
    limits: Sequence[float] = LIMITS,
    *,
    worth: float = WORTH,
    labels: Sequence[Any] | None = None,
) -> Plan:
    """Make a plan of limits that ``solve`` solves, or knows from before; the loosest limit comes first."""
    worth = _check_worth(worth)
    rows: list[PlanRow] = []
    for tried in limits:
        solved = solve(Limits.of(tried))
        rows.append(PlanRow.of(solved, planned, rows[-1] if rows else None))
    seen = planned.n_observations if planned.bounds_the_mean else None
    chosen, reason = _choose(rows, worth, 1 / seen if seen else 0.0)
    budgets = None
    if planned.has_class_limits and chosen.losing_classes():
        each = PlanRow.of(solve(Limits.for_each(chosen.limit)), planned)
        budgets = each if each.reason is None else None
    in_disagreement = None
    if planned.solve_disagreement is not None and chosen.reason is None:
        in_disagreement = planned.solve_disagreement(Limits.of(chosen.limit)).expected_votes
    return Plan(
        rows=tuple(rows),
        full_accuracy=solved.full_accuracy,
        votes_in_disagreement=in_disagreement,
        chosen=chosen,
        class_budgets=budgets,
        reason=reason,
        worth=worth,
        labels=None if labels is None else tuple(labels),
        **planned.terms(),
    )


def _choose(rows: list[PlanRow], worth: float, floor: float) -> tuple[PlanRow, Reason]:
    """Return the row that the rule leads to, and why it goes no further."""
    for chosen, tighter in pairwise(rows):
        if tighter.limit < floor:
            return chosen, "observations"
        if tighter.reason is not None:
            return chosen, "uncertified"
        if tighter.price is not None and tighter.price > worth:
            return chosen, "price"
    return rows[-1], "end"


def _check_limits(limits: Any, usual: Sequence[float]) -> list[float]:
    """Return the limits, the loosest first, each once; the usual ones for None."""
    if limits is None:
        return [*usual]
    if isinstance(limits, str | bytes | dict) or not isinstance(limits, Iterable):
        raise InvalidInputError(
            f"limits must be a list of numbers from 0 to 1, such as [1e-2, 1e-3], got {limits!r}"
        )
    found = sorted({check_share(limit, "each of limits") for limit in limits}, reverse=True)
    if not found:
        raise InvalidInputError("limits is empty: give at least one to try, or None for the usual ones")
    return found


def _check_worth(worth: Any) -> float:
    """Return what one disagreement avoided is worth, in full votes."""
    try:
        if isinstance(worth, bool | str) or not (math.isfinite(worth) and worth > 0):
            raise TypeError
    except TypeError:
        raise InvalidInputError(f"worth must be a number above 0, of full votes, got {worth!r}") from None
    return float(worth)
