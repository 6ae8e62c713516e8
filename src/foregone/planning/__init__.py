"""plan(): the costs of each limit on disagreement, or on the loss of accuracy, and a recommended limit."""

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
    """Compute the costs of each limit on disagreement, or on the loss of accuracy, and recommend one.

    If the true answers are known (`foregone.LabelledVotes`, or `foregone.scores.ScoreRows` with labels), the
    limits are on the loss of accuracy. The same limit then needs fewer votes, because disagreements occur at
    close votes, where the full vote is wrong almost as often.

    How the limit is chosen: start with the loosest limit and tighten as long as each disagreement (or error)
    avoided costs at most ``worth`` full votes. Disagreements are counted on average under minimean, otherwise
    on the worst input. Under minimean, the limit is never below 1 / ``votes.n_observations``, because that
    many inputs cannot distinguish a smaller mean from 0. If figures are estimates, it is never below what the
    inputs can certify. If the chosen limit does not protect a class (mean disagreement above ten times the
    limit or above one half, or a class that was never seen), each class gets a separate limit where possible.
    Switching to limits by class depends on the same inputs and doubles the risk: at a confidence of 0.95 such
    limits hold with 0.90.

    For votes, figures are means over random orders of the voters. Between two answers, the confidence covers
    all limits together. A classifier runs in one order, and is certified when you fit it with the chosen
    limit.

    Parameters
    ----------
    votes_or_n_voters : VoteDistribution, LabelledVotes, int, CompositionDistribution, ClassVotes or ScoreRows
        The votes, with or without the true answers. A number of voters means a flat distribution of votes
        between two answers. For many answers pass a `foregone.plurality.CompositionDistribution` (if the
        full vote is tied, any leader counts as right) or, for figures by class, a
        `foregone.plurality.ClassVotes` (only the first leader counts as right). For scores pass
        `foregone.scores.ScoreRows`.
    limits : iterable of float, optional
        Limits to try, from 0 to 1; by default 0.1, 0.03, 0.01 and so on to 0.00001, or 0.02, 0.01, 0.005 and
        so on to 0.0001 on the loss of accuracy.
    criterion, looks, answer, quota
        As in `foregone.solve`. Many answers support no ``looks`` or ``quota`` and only the default
        ``answer``; scores support only minimean and the default ``answer``. Limits on accuracy are means:
        with other criteria the limits are on the disagreement, even with labels.
    confidence : float or None, default=0.95
        As in `foregone.solve`. Ignored, with a note in ``notes``, if the votes were not observed or the
        criterion bounds every single input. Required for scores.
    worth : float, default=25
        Acceptable cost of avoiding one disagreement, or one error, in full votes (all voters asked about one
        input). The default is a convention; for many ensembles it leads to limits near 1e-3.
    labels : sequence, optional
        Names of the classes in the recommendation, such as ``classes_`` of a classifier; two labels stand for
        "no" and "yes". With labels, only the first leader of a tied full vote counts as right, as in a
        classifier.

    Returns
    -------
    Plan
        One row per limit, and the recommendation.

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
    """Make a plan from limits in decreasing order, each solved (or looked up) by ``solve``."""
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
    """Return the chosen row, and the reason for not choosing a tighter limit."""
    for chosen, tighter in pairwise(rows):
        if tighter.limit < floor:
            return chosen, "observations"
        if tighter.reason is not None:
            return chosen, "uncertified"
        if tighter.price is not None and tighter.price > worth:
            return chosen, "price"
    return rows[-1], "end"


def _check_limits(limits: Any, usual: Sequence[float]) -> list[float]:
    """Return the distinct limits, the loosest first; the default ones for None."""
    if limits is None:
        return [*usual]
    if isinstance(limits, str | bytes | dict) or not isinstance(limits, Iterable):
        raise InvalidInputError(
            f"limits must be a list of numbers from 0 to 1, such as [1e-2, 1e-3], got {limits!r}"
        )
    found = sorted({check_share(limit, "each of limits") for limit in limits}, reverse=True)
    if not found:
        raise InvalidInputError("limits is empty: give at least one limit, or None for the default ones")
    return found


def _check_worth(worth: Any) -> float:
    """Return ``worth`` as a float. Raises InvalidInputError unless it is a number above 0."""
    try:
        if isinstance(worth, bool | str) or not (math.isfinite(worth) and worth > 0):
            raise TypeError
    except TypeError:
        raise InvalidInputError(f"worth must be a number of full votes above 0, got {worth!r}") from None
    return float(worth)
