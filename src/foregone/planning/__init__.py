"""plan(): what each limit on the disagreement costs, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from foregone.checks import check_share
from foregone.errors import InvalidInputError
from foregone.planning.plan_rows import Plan, PlanRow, Reason
from foregone.solving import Answer, Criterion, MaxDisagreement, Problem, solve
from foregone.votes import VoteDistribution

__all__ = ["LIMITS", "WORTH", "Plan", "PlanRow", "check_tried_limits", "check_worth", "plan"]

LIMITS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
WORTH = 25.0


def plan(
    votes_or_n_voters: VoteDistribution | int,
    limits: Iterable[float] | None = None,
    *,
    criterion: Criterion = "minimean",
    confidence: float | None = 0.95,
    looks: int | Iterable[int] | None = None,
    answer: Answer = "majority",
    worth: float = WORTH,
    labels: tuple[Any, Any] | None = None,
) -> Plan:
    """Lay out what each limit on the disagreement costs, and recommend one.

    The rule: begin with the loosest limit and tighten as long as each disagreement that is avoided (on
    average under minimean, else on the worst input) costs at most ``worth`` full votes; under minimean, not
    below 1 / ``votes.n_observations``, because so many inputs cannot tell a smaller mean from none. If a
    class then loses, with a mean disagreement more than ten times the limit (or more than a half) or never
    seen at all, each class is given the limit for itself.

    Parameters
    ----------
    votes_or_n_voters : VoteDistribution or int
        How the votes are distributed; a number of voters means a flat distribution.
    limits : iterable of float, optional
        Limits to try, from 0 to 1; by default 0.1, 0.03, 0.01 and so on to 0.00001.
    criterion, looks, answer
        As in `foregone.solve`.
    confidence : float or None, default=0.95
        As in `foregone.solve`. Where it has no meaning, because the votes were not observed or because the
        criterion bounds every single input, it is dropped, and ``notes`` says so.
    worth : float, default=25
        What it is worth to avoid one disagreement, in full votes: one is all voters asked about one input.
        The default is a convention, which for many ensembles leads to limits near 1e-3.
    labels : tuple of two, optional
        Names for "no" and "yes" in what is recommended: the ``classes_`` of a classifier.

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
    [0.99, 2.78, 3.98]
    """
    problem = Problem.check(criterion, votes_or_n_voters, 0.0, None, looks, answer)
    tried = check_tried_limits(LIMITS if limits is None else limits)
    votes, looks = problem.votes, problem.looks
    used = None
    if confidence is not None and problem.bounds_the_mean and votes.n_observations is not None:
        used = Problem.check(criterion, votes, 0.0, confidence).confidence
    elif confidence is not None:
        Problem.check("minimixed", 1, 0.0, confidence)  # it is not used, but it should be one

    def row(limit: MaxDisagreement, looser: PlanRow | None = None) -> PlanRow:
        solution = solve(criterion, votes, limit, confidence=used, looks=looks, answer=answer)
        return PlanRow.of(solution, looser)

    rows: list[PlanRow] = []
    for limit in tried:
        rows.append(row(limit, rows[-1] if rows else None))
    floor = 1 / votes.n_observations if problem.bounds_the_mean and votes.n_observations else 0.0
    chosen, reason = _choose(rows, check_worth(worth), floor)
    budgets = None
    if chosen.losing_classes():
        limit = chosen.limit
        budgets = row({"yes": limit, "no": limit})
    return Plan(
        rows=tuple(rows),
        chosen=chosen,
        class_budgets=budgets,
        reason=reason,
        votes=votes,
        criterion=criterion,
        confidence=used,
        looks=looks,
        answer=answer,
        worth=float(worth),
        notes=_notes(problem, confidence, used),
        labels=labels,
    )


def _choose(rows: list[PlanRow], worth: float, floor: float) -> tuple[PlanRow, Reason]:
    """Return the row that the rule leads to, and why it goes no further."""
    for chosen, tighter in pairwise(rows):
        if tighter.limit < floor:
            return chosen, "observations"
        if tighter.price is not None and tighter.price > worth:
            return chosen, "price"
    return rows[-1], "end"


def check_tried_limits(limits: Any) -> list[float]:
    """Return the limits, the loosest first, each once; or say what is wrong with them."""
    if isinstance(limits, str | bytes | dict) or not isinstance(limits, Iterable):
        raise InvalidInputError(
            f"limits must be a list of numbers from 0 to 1, such as [1e-2, 1e-3], not {limits!r}"
        )
    found = sorted({check_share(limit, "each of limits") for limit in limits}, reverse=True)
    if not found:
        raise InvalidInputError("limits is empty: give at least one to try, or None for the usual ones")
    return found


def check_worth(worth: Any) -> float:
    """Return what one disagreement avoided is worth, in full votes, or say what is wrong with it."""
    try:
        if isinstance(worth, bool | str) or not (math.isfinite(worth) and worth > 0):
            raise TypeError
    except TypeError:
        raise InvalidInputError(f"worth must be a number above 0, of full votes, not {worth!r}") from None
    return float(worth)


def _notes(problem: Problem, given: float | None, used: float | None) -> tuple[str, ...]:
    if given is None or used is not None:
        return ()
    if problem.bounds_the_mean:
        return (
            f"No confidence of {given:g} can be had: these votes were assumed, fitted or weighted, not "
            "counted from observed inputs, so the figures hold for them and for no others. Give observed "
            "votes.",
        )
    return (f"No confidence is needed: {problem.criterion} keeps the limit for every single input.",)
