"""The recommendation of a plan in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from foregone.certifying import rows_needed
from foregone.checks import check_looks

if TYPE_CHECKING:
    from foregone.planning.plan_rows import Plan, PlanRow

__all__ = [
    "allowed_by_class",
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
    """Return the call that does what the plan recommends: of a classifier, which has labels, or a solver."""
    options: dict[str, Any] = {}
    # The classifier has a confidence unless told otherwise, solvers are asked for one.
    if plan.confidence is not None or (plan.labels is not None and plan.bounds_the_mean):
        options["confidence"] = plan.confidence
    if plan.looks is not None:
        options["looks"] = short_looks(plan.looks, plan.n_steps)
    if plan.answer != "majority":
        options["answer"] = plan.answer
    said, limit = "".join(f", {name}={value!r}" for name, value in options.items()), plan.max_disagreement
    if plan.labels is None:
        return plan.solver_call.format(limit=limit, options=said)
    return f"EarlyStoppingClassifier(..., criterion={plan.criterion!r}, max_disagreement={limit!r}{said})"


def recommend(plan: Plan) -> list[str]:
    """Return the recommendation, one paragraph a string."""
    paragraphs = [_first(plan), _why_no_tighter(plan), _worst(plan.chosen), _losing(plan), _covered(plan)]
    return [*filter(None, paragraphs), *plan.notes]


def _first(plan: Plan) -> str:
    row = plan.chosen
    if row.reason is not None:
        return (
            f"No early stop is likely to be certified: {row.reason}. Stopping only where the answer is "
            f"certain takes {row.expected_votes:.1f} of {number_of_voters(plan.n_voters)} on average."
        )
    promise = plan.promise
    allowed = f"{one_in(row.limit)} may differ from {plan.full}."
    if promise is not None:
        allowed += f" {promise}"
    takes = "It will take about" if plan.is_estimated else "It takes"
    cost = (
        f"{takes} {row.expected_votes:.1f} {_unit(plan)} of {plan.n_voters} on average, "
        f"{row.speed_up:.1f} times fewer than all."
        if row.expected_votes > 0
        else "Then nobody is asked at all: the answer is the same every time."
    )
    return f"Take a limit of {row.limit:g}: {allowed} {cost}"


def _unit(plan: Plan) -> str:
    return "voters" if plan.kind == "scores" else "votes"


def _why_no_tighter(plan: Plan) -> str:
    price = plan.chosen.price
    if plan.chosen.reason is not None:
        return ""
    if plan.reason == "end":
        if price is None or price > plan.worth / 2 or plan.chosen.limit == 0:
            return ""
        return (
            f"It is the tightest limit tried, and a disagreement avoided still costs only {price:.2g} full "
            f"votes, of the {plan.worth:g} that it is taken to be worth: try tighter ones."
        )
    if plan.reason == "observations":
        k = plan.n_observations or 1
        return (
            f"No tighter, because {k:,} observed inputs cannot tell a mean disagreement below "
            f"{1 / k:.2g} from none; to go further, observe more."
        )
    tighter = plan.rows[plan.rows.index(plan.chosen) + 1]
    if plan.reason == "uncertified":
        return f"No tighter: for {tighter.limit:g}, {tighter.reason}."
    more, price = tighter.expected_votes - plan.chosen.expected_votes, tighter.price
    takes = f"No tighter, because {tighter.limit:g} takes {more:.1f} {_unit(plan)} more"
    if price is None or math.isinf(price):
        return f"{takes} and avoids nothing."
    return (
        f"{takes}: for each disagreement avoided, {price:,.0f} full votes (all voters asked about one "
        f"input), and it is taken to be worth {plan.worth:g}."
    )


def _worst(row: PlanRow) -> str:
    """Say what an average hides; a limit for every input hides nothing."""
    if row.worst_disagreement is None or row.worst_disagreement <= row.limit * (1 + 1e-9):
        return ""
    return (
        "The worst input, usually one with a close vote, is answered otherwise with a probability of "
        f"{row.worst_disagreement:.2g}."
    )


def _losing(plan: Plan) -> str:
    row, budgets = plan.chosen, plan.class_budgets
    losing = row.losing_classes()
    if not losing:
        return ""
    names = dict(zip(row.by_class, plan.labels or row.by_class, strict=True))
    said = [
        f"no observed input has a full vote of {names[key]!r}, and the worst that would is answered "
        f"otherwise with a probability of {row.worst_by_class[key]:.2g}"
        if risk is None
        else losing_class(names[key], risk, row.limit)
        for key, risk in losing.items()
    ]
    if budgets is not None:
        advice = (
            "Give each class the limit for itself; that takes "
            f"{budgets.expected_votes:.1f} votes instead of {row.expected_votes:.1f}{_after_switching(plan)}."
        )
    elif plan.kind == "answers" or len(row.by_class) > 2:
        advice = "If that is too much, take a tighter limit."
    else:
        advice = (
            "So many rows cannot certify a limit for each class: give more of them, or take a tighter limit."
        )
    return f"But a class loses: {'; '.join(said)}. {advice}"


def _after_switching(plan: Plan) -> str:
    """Say what confidence is left, because the inputs that limits are solved for decided on them, too."""
    if plan.confidence is None or plan.kind == "scores":
        return ""
    left = max(0.0, 100 * (2 * plan.confidence - 1))
    return f", and holds with {left:.4g} % confidence, because the same inputs decided on it"


def _covered(plan: Plan) -> str:
    """Say that the confidence covers choosing a limit, where it does, and how a classifier is certified."""
    if plan.confidence is None or plan.kind == "scores":
        return ""
    said = []
    if plan.kind == "votes":
        said += ["The confidence is for all limits here together."]
    if plan.labels is not None and 0 < plan.chosen.limit < 1:
        needed = 2 * rows_needed(plan.chosen.limit, plan.confidence)
        of_each = " of each class" if plan.class_budgets is not None else ""
        said += [
            "Fitting the classifier with the limit you choose certifies it in the order it uses, given about "
            f"{float(f'{needed:.2g}'):,.0f} rows{of_each}, best other than these."
        ]
    return " ".join(said)
