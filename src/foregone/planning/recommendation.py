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
CONFIDENCE = 0.95  # of a classifier unless told otherwise


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


def losing_accuracy(label: Any, loss: float, limit: float) -> str:
    """Say how much accuracy the rows of a true class lose.

    Examples
    --------
    >>> losing_accuracy("ill", 0.018, 1e-3)
    "the accuracy on inputs that are truly 'ill' falls by 1.8 points, 18 times the limit"
    """
    times = f", {loss / limit:,.0f} times the limit" if limit > 0 else ""
    return f"the accuracy on inputs that are truly {label!r} falls by {_points(loss)}{times}"


def _points(share: float) -> str:
    """Return a share of accuracy as people say it: 0.001 is 0.1 points."""
    points = f"{100 * share:.3g}"
    return f"{points} point{'' if points == '1' else 's'}"


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
    in_accuracy, of_classifier = plan.loss == "accuracy", plan.labels is not None
    # The classifier has a confidence unless told otherwise, solvers are asked for one; not where the values
    # of disagreements are estimated from votes.
    if of_classifier and in_accuracy:
        options |= {} if plan.confidence == CONFIDENCE else {"confidence": plan.confidence}
    elif plan.confidence is not None and not (in_accuracy and plan.kind == "votes"):
        options["confidence"] = plan.confidence
    elif of_classifier and plan.bounds_the_mean:
        options["confidence"] = None
    if plan.looks is not None:
        options["looks"] = short_looks(plan.looks, plan.n_steps)
    if plan.answer != "majority":
        options["answer"] = plan.answer
    said, limit = "".join(f", {name}={value!r}" for name, value in options.items()), plan.limit
    if of_classifier:
        said += "" if plan.quota is None else f", threshold={plan.quota}/{plan.n_voters}"
        what = f"criterion={plan.criterion!r}, max_disagreement"
        return f"EarlyStoppingClassifier(..., {'max_accuracy_loss' if in_accuracy else what}={limit!r}{said})"
    quota = "" if plan.quota is None else f"quota={plan.quota}"
    said += f", {quota}" if quota else ""
    if in_accuracy and plan.kind == "votes" and isinstance(limit, dict):
        asked = f"{limit!r}, {quota}" if quota else f"{limit!r}"
        return (
            f"limits, values = labelled.by_class({asked}); "
            f"solve('minimean', labelled.votes, limits, values=values{said})"
        )
    return plan.solver_call.format(limit=limit, options=said, quota=quota)


def recommend(plan: Plan) -> list[str]:
    """Return the recommendation, one paragraph a string."""
    paragraphs = [_first(plan), _why_no_tighter(plan), _worst(plan), _losing(plan), _covered(plan)]
    return [*filter(None, paragraphs), *plan.notes]


def _first(plan: Plan) -> str:
    row = plan.chosen
    if row.reason is not None:
        return (
            f"No early stop is likely to be certified: {row.reason}. Stopping only where the answer is "
            f"certain takes {row.expected_votes:.1f} of {number_of_voters(plan.n_voters)} on average."
        )
    promise = plan.promise
    on_average = " on these inputs, on average over random orders of the voters"
    on, allowed = "", f"{one_in(row.limit)} may differ from {plan.full}."
    if plan.full_accuracy is not None and not row.in_disagreement:
        on = " on the loss of accuracy"
        allowed = (
            f"the accuracy of {plan.full}, {100 * plan.full_accuracy:.1f} %, falls by at most "
            f"{_points(row.limit)}{'' if promise is None else on_average}."
        )
    elif promise is not None:
        allowed += f" {promise}"
    takes = "It will take about" if plan.is_estimated else "It takes"
    cost = (
        f"{takes} {row.expected_votes:.1f} {_unit(plan)} of {plan.n_voters} on average, "
        f"{row.speed_up:.1f} times fewer than all{_in_disagreement(plan)}."
        if row.expected_votes > 0
        else "Then nobody is asked at all: the answer is the same every time."
    )
    return f"Take a limit of {row.limit:g}{on}: {allowed} {cost}"


def _in_disagreement(plan: Plan) -> str:
    if plan.votes_in_disagreement is None:
        return ""
    would = f"; the same limit on the disagreement would take {plan.votes_in_disagreement:.1f}"
    better = plan.votes_in_disagreement < plan.chosen.expected_votes
    return f"{would} and is the stricter promise: better take that" if better else would


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
            f"It is the tightest limit tried, and {_avoidable(plan, 'a')} avoided still costs only "
            f"{price:.2g} full votes, of the {plan.worth:g} that it is taken to be worth: try tighter ones."
        )
    if plan.reason == "observations":
        k = plan.n_observations or 1
        return (
            f"No tighter, because {k:,} observed inputs cannot tell a mean {_mean_of(plan)} below "
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
        f"{takes}: for each {_avoidable(plan)} avoided, {price:,.0f} full votes (all voters asked about one "
        f"input), and it is taken to be worth {plan.worth:g}."
    )


def _avoidable(plan: Plan, article: str = "") -> str:
    """Return what a tighter limit avoids."""
    what = "error" if plan.loss == "accuracy" else "disagreement"
    return what if not article else f"an {what}" if plan.loss == "accuracy" else f"a {what}"


def _mean_of(plan: Plan) -> str:
    return "loss" if plan.loss == "accuracy" else "disagreement"


def _worst(plan: Plan) -> str:
    """Say what an average hides; a limit for every input hides nothing."""
    row = plan.chosen
    if not row.in_disagreement:
        if row.reason is not None or row.disagreement <= row.limit:
            return ""
        return (
            f"Of all answers, {100 * row.disagreement:.2g} % then differ from {plan.full}, most of them "
            "where it is wrong nearly as often as right, or more often."
        )
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
    if not row.in_disagreement:
        said = [losing_accuracy(names[key], loss or 0.0, row.limit) for key, loss in losing.items()]
        return f"But a class loses: {'; '.join(said)}. {_protect(plan, row, budgets)}"
    said = [
        f"no observed input has a full vote of {names[key]!r}, and the worst that would is answered "
        f"otherwise with a probability of {row.worst_by_class[key]:.2g}"
        if risk is None
        else losing_class(names[key], risk, row.limit)
        for key, risk in losing.items()
    ]
    return f"But a class loses: {'; '.join(said)}. {_protect(plan, row, budgets)}"


def _protect(plan: Plan, row: PlanRow, budgets: PlanRow | None) -> str:
    """Say what a class that loses can be given."""
    if budgets is not None:
        return (
            "Give each class the limit for itself; that takes "
            f"{budgets.expected_votes:.1f} votes instead of {row.expected_votes:.1f}{_after_switching(plan)}."
        )
    if plan.kind == "answers" or len(row.by_class) > 2:
        return "If that is too much, take a tighter limit."
    return "So many rows cannot certify a limit for each class: give more of them, or take a tighter limit."


def _after_switching(plan: Plan) -> str:
    """Say what confidence is left, because the inputs that limits are solved for decided on them, too."""
    if plan.confidence is None or plan.is_estimated:
        return ""
    left = max(0.0, 100 * (2 * plan.confidence - 1))
    return f", and holds with {left:.4g} % confidence, because the same inputs decided on it"


def _covered(plan: Plan) -> str:
    """Say that the confidence covers choosing a limit, where it does, and how a classifier is certified."""
    if plan.confidence is None or plan.kind == "scores" or plan.loss == "accuracy":
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
