"""The recommendation of a plan in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from foregone.checks import check_looks

if TYPE_CHECKING:
    from foregone.planning.plan_rows import Plan, PlanRow

__all__ = [
    "allowed_by_class",
    "losing",
    "losing_class",
    "number_of_voters",
    "one_in",
    "python_call",
    "recommend",
    "short_looks",
]

LOSES_BEYOND = 10  # times the limit


def allowed_by_class(limit: float) -> float:
    """Return how large the disagreement of one class may be before it loses under a limit for all rows."""
    return min(LOSES_BEYOND * limit, 0.5)


def losing_class(label: Any, share: float, limit: float) -> str:
    """Say how often rows of a class are answered otherwise.

    Examples
    --------
    >>> losing_class("ill", 0.078, 1e-3)
    "7.8 % of the inputs with a full vote of 'ill' are answered otherwise, 78 times the limit"
    """
    times = f", {share / limit:,.0f} times the limit" if limit > 0 else ""
    return f"{100 * share:.3g} % of the inputs with a full vote of {label!r} are answered otherwise{times}"


def losing(said: list[str], votes: float, votes_by_class: float | None) -> str:
    """Say that classes lose, and what to do; None if no limit for each class can be certified."""
    advice = (
        "These rows cannot certify a limit for each class: give more of them, or take a tighter limit."
        if votes_by_class is None
        else "Give each class the limit for itself; that takes "
        f"{votes_by_class:.1f} votes instead of {votes:.1f}."
    )
    return f"But a class loses: {'; '.join(said)}. {advice}"


def number_of_voters(number: int) -> str:
    """Return "1 voter" or "101 voters"."""
    return f"{number} voter{'' if number == 1 else 's'}"


def one_in(limit: float) -> str:
    """Return a rate as people say it.

    Examples
    --------
    >>> one_in(1e-3), one_in(3e-4), one_in(0.03), one_in(0), one_in(1)
    ('1 in 1,000', '3 in 10,000', '3 in 100', 'none', 'all')
    """
    if limit in (0, 1):
        return "all" if limit else "none"
    scale = 10 ** -math.floor(math.log10(limit) + 1e-9)
    return f"{limit * scale:.3g} in {scale:,}"


def short_looks(looks: tuple[int, ...] | None, n_voters: int) -> int | tuple[int, ...] | None:
    """Return looks as one would give them: a number where they are regular.

    Examples
    --------
    >>> short_looks((0, 4, 8, 10), 10), short_looks((4, 8, 10), 10)
    (4, (4, 8, 10))
    """
    if looks is not None and len(looks) > 1:
        step = looks[1] - looks[0]
        if check_looks(step, n_voters) == looks:
            return step
    return looks


def python_call(plan: Plan) -> str:
    """Return the call that does what the plan recommends, in Python."""
    options: dict[str, Any] = {}
    # The classifier has a confidence unless told otherwise, solve has none.
    if plan.confidence is not None or (plan.labels is not None and plan.criterion == "minimean"):
        options["confidence"] = plan.confidence
    if plan.looks is not None:
        options["looks"] = short_looks(plan.looks, plan.n_voters)
    if plan.answer != "majority":
        options["answer"] = plan.answer
    said = "".join(f", {name}={value!r}" for name, value in options.items())
    limit = plan.max_disagreement
    if plan.labels is None:
        return f"solve({plan.criterion!r}, votes, {limit!r}{said})"
    return f"EarlyStoppingClassifier(..., criterion={plan.criterion!r}, max_disagreement={limit!r}{said})"


def recommend(plan: Plan) -> list[str]:
    """Return the recommendation, one paragraph a string."""
    paragraphs = [_first(plan), _why_no_tighter(plan), _worst(plan.chosen), _losing(plan), *plan.notes]
    return [*filter(None, paragraphs)]


def _first(plan: Plan) -> str:
    row = plan.chosen
    whom = "on average" if plan.criterion == "minimean" else "for every single input"
    sure = "" if plan.confidence is None else f", with {100 * plan.confidence:g} % confidence"
    allowed = f"{one_in(row.limit)} may be answered otherwise than by the full vote, {whom}{sure}"
    return f"Take a limit of {row.limit:g}: {allowed}. {_cost(row, plan.n_voters)}"


def _cost(row: PlanRow, n_voters: int) -> str:
    if row.expected_votes == 0:
        return "Then nobody is asked at all: the answer is the same every time."
    return (
        f"It takes {row.expected_votes:.1f} votes of {n_voters} on average, "
        f"{row.speed_up:.1f} times fewer than all."
    )


def _why_no_tighter(plan: Plan) -> str:
    price = plan.chosen.price
    if plan.reason == "end":
        if price is None or price > plan.worth / 2 or plan.chosen.limit == 0:
            return ""
        return (
            f"It is the tightest limit tried, and a disagreement avoided still costs only {price:.2g} full "
            f"votes, of the {plan.worth:g} that it is taken to be worth: try tighter ones."
        )
    if plan.reason == "observations":
        k = plan.votes.n_observations or 1
        return (
            f"No tighter, because {k:,} observed inputs cannot tell a mean disagreement below "
            f"{1 / k:.2g} from none; to go further, observe more."
        )
    tighter = plan.rows[plan.rows.index(plan.chosen) + 1]
    more, price = tighter.expected_votes - plan.chosen.expected_votes, tighter.price
    if price is None or math.isinf(price):
        return f"No tighter, because {tighter.limit:g} takes {more:.1f} votes more and avoids nothing."
    return (
        f"No tighter, because {tighter.limit:g} takes {more:.1f} votes more: for each disagreement avoided, "
        f"{price:,.0f} full votes (all voters asked about one input), and it is taken to be worth "
        f"{plan.worth:g}."
    )


def _worst(row: PlanRow) -> str:
    """Say what an average hides; a limit for every input hides nothing."""
    if row.worst_disagreement <= row.limit * (1 + 1e-9):
        return ""
    return (
        "The worst input, usually one with a close vote, is answered otherwise with a probability of "
        f"{row.worst_disagreement:.2g}."
    )


def _losing(plan: Plan) -> str:
    budgets, row = plan.class_budgets, plan.chosen
    if budgets is None:
        return ""
    names = dict(zip(("no", "yes"), plan.labels or ("no", "yes"), strict=True))
    said = []
    for side in row.losing_classes():
        risk = row.by_class[side]
        if risk is None:
            said.append(
                f"no observed input has a full vote of {names[side]!r}, and the worst that would is answered "
                f"otherwise with a probability of {row.worst_by_class[side]:.2g}"
            )
        else:
            said.append(losing_class(names[side], risk, row.limit))
    return losing(said, row.expected_votes, budgets.expected_votes)
