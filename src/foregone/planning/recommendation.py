"""The recommendation of a plan, in words."""

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
CONFIDENCE = 0.95  # default of classifiers
UNPROTECTED = "This limit does not protect every class"


def allowed_by_class(limit: float) -> float:
    """Return the disagreement from which a class counts as unprotected by a limit for all rows."""
    return min(LOSES_BEYOND * limit, 0.5)


def losing_class(label: Any, share: float, limit: float) -> str:
    """Describe how often the answer changes for rows of a class.

    Examples
    --------
    >>> losing_class("ill", 0.078, 1e-3)
    "7.8 % of the inputs with a full vote of 'ill' change answer, 78 times the limit"
    """
    times = f", {share / limit:,.0f} times the limit" if limit > 0 else ""
    return f"{100 * share:.3g} % of the inputs with a full vote of {label!r} change answer{times}"


def losing_accuracy(label: Any, loss: float, limit: float) -> str:
    """Describe how much accuracy the rows of a true class lose.

    Examples
    --------
    >>> losing_accuracy("ill", 0.018, 1e-3)
    "the accuracy on inputs that are truly 'ill' falls by 1.8 points, 18 times the limit"
    """
    times = f", {loss / limit:,.0f} times the limit" if limit > 0 else ""
    return f"the accuracy on inputs that are truly {label!r} falls by {_points(loss)}{times}"


def _points(share: float) -> str:
    """Return a difference in accuracy in percentage points: 0.001 is 0.1 points."""
    points = f"{100 * share:.3g}"
    return f"{points} point{'' if points == '1' else 's'}"


def number_of_voters(number: int) -> str:
    """Return "1 voter" or "101 voters"."""
    return f"{number} voter{'' if number == 1 else 's'}"


def one_in(limit: float) -> str:
    """Return a rate in words.

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
    """Return looks in their shortest form: a number if they are regular.

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
    """Return Python code for the recommendation: a classifier if the plan has labels, otherwise a solver."""
    options: dict[str, Any] = {}
    in_accuracy, of_classifier = plan.loss == "accuracy", plan.labels is not None
    # Classifiers have a default confidence, solvers do not; none if the values of disagreements are estimated
    # from votes.
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
    """Return the recommendation as a list of paragraphs."""
    paragraphs = [_first(plan), _why_no_tighter(plan), _worst(plan), _losing(plan), _covered(plan)]
    return [*filter(None, paragraphs), *plan.notes]


def _first(plan: Plan) -> str:
    row = plan.chosen
    if row.reason is not None:
        return (
            f"Early stopping is unlikely to be certified: {row.reason}. Stopping only when the answer is "
            f"certain asks {row.expected_votes:.1f} of {number_of_voters(plan.n_voters)} on average."
        )
    promise = plan.promise
    on_average = " on these inputs, on average over random orders of the voters"
    on, allowed = "", f"{_answers(row.limit)} may differ from {plan.full}."
    if plan.full_accuracy is not None and not row.in_disagreement:
        on = " on the loss of accuracy"
        allowed = (
            f"the accuracy of {plan.full}, {100 * plan.full_accuracy:.1f} %, falls by at most "
            f"{_points(row.limit)}{'' if promise is None else on_average}."
        )
    elif promise is not None:
        allowed += f" {promise}"
    asks = "It will ask about" if plan.is_estimated else "It asks"
    cost = (
        f"{asks} {row.expected_votes:.1f} of {plan.n_voters} {_unit(plan)} on average, "
        f"{row.speed_up:.1f} times fewer than all{_in_disagreement(plan)}."
        if row.expected_votes > 0
        else "No voter is asked: the answer is always the same."
    )
    return f"Use a limit of {row.limit:g}{on}: {allowed} {cost}"


def _answers(limit: float) -> str:
    """Return how many answers a limit allows to differ: "up to 1 in 1,000 answers"."""
    if limit in (0, 1):
        return "all answers" if limit else "no answer"
    return f"up to {one_in(limit)} answers"


def _in_disagreement(plan: Plan) -> str:
    if plan.votes_in_disagreement is None:
        return ""
    would = f"; the same limit on the disagreement would ask {plan.votes_in_disagreement:.1f}"
    better = plan.votes_in_disagreement < plan.chosen.expected_votes
    return f"{would} and is the stricter promise, so use that instead" if better else would


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
            f"This is the tightest limit tried, at only {price:.2g} full votes per {_avoidable(plan)} "
            f"avoided, well below the {plan.worth:g} assumed acceptable (worth): try tighter limits."
        )
    if plan.reason == "observations":
        k = plan.n_observations or 1
        return (
            f"A tighter limit needs more inputs: {k:,} observed inputs cannot distinguish a mean "
            f"{_mean_of(plan)} below {1 / k:.2g} from 0."
        )
    tighter = plan.rows[plan.rows.index(plan.chosen) + 1]
    if plan.reason == "uncertified":
        return f"A limit of {tighter.limit:g} is unlikely to be certified: {tighter.reason}."
    more, price = tighter.expected_votes - plan.chosen.expected_votes, tighter.price
    adds = f"Going to {tighter.limit:g} adds {more:.1f} {_unit(plan)} per input"
    if price is None or math.isinf(price):
        return f"{adds} and avoids nothing."
    return (
        f"{adds}: {price:,.0f} full votes per {_avoidable(plan)} avoided, above the {plan.worth:g} assumed "
        "acceptable (worth)."
    )


def _avoidable(plan: Plan) -> str:
    """Return what a tighter limit avoids."""
    return "error" if plan.loss == "accuracy" else "disagreement"


def _mean_of(plan: Plan) -> str:
    return "loss" if plan.loss == "accuracy" else "disagreement"


def _worst(plan: Plan) -> str:
    """Describe what an average hides; nothing for a limit on every single input."""
    row = plan.chosen
    if not row.in_disagreement:
        if row.reason is not None or row.disagreement <= row.limit:
            return ""
        return (
            f"{100 * row.disagreement:.2g} % of all answers then differ from {plan.full}, mostly where it is "
            "wrong about as often as right, or more often."
        )
    if row.worst_disagreement is None or row.worst_disagreement <= row.limit * (1 + 1e-9):
        return ""
    return (
        "On the worst input, usually one with a close vote, the answer differs with probability "
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
        return f"{UNPROTECTED}: {'; '.join(said)}. {_protect(plan, row, budgets)}"
    said = [
        f"no observed input has a full vote of {names[key]!r}, and on the worst such input the answer "
        f"differs with probability {row.worst_by_class[key]:.2g}"
        if risk is None
        else losing_class(names[key], risk, row.limit)
        for key, risk in losing.items()
    ]
    return f"{UNPROTECTED}: {'; '.join(said)}. {_protect(plan, row, budgets)}"


def _protect(plan: Plan, row: PlanRow, budgets: PlanRow | None) -> str:
    """Return how to protect the classes."""
    if budgets is not None:
        return (
            "Set a separate limit for each class: that asks "
            f"{budgets.expected_votes:.1f} votes instead of {row.expected_votes:.1f}{_after_switching(plan)}."
        )
    if plan.kind == "answers" or len(row.by_class) > 2:
        return "If that is too much, use a tighter limit."
    return "There are too few rows to certify a limit for each class: give more rows, or use a tighter limit."


def _after_switching(plan: Plan) -> str:
    """Return the confidence after switching to limits by class, which depends on the same inputs."""
    if plan.confidence is None or plan.is_estimated:
        return ""
    left = max(0.0, 100 * (2 * plan.confidence - 1))
    return f", with {left:.4g} % confidence, because the same inputs decided on the switch"


def _covered(plan: Plan) -> str:
    """State whether the confidence covers choosing a limit, and how a classifier is certified."""
    if plan.confidence is None or plan.kind == "scores" or plan.loss == "accuracy":
        return ""
    said = []
    if plan.kind == "votes":
        said += ["The confidence covers all limits of this plan together."]
    if plan.labels is not None and 0 < plan.chosen.limit < 1:
        needed = 2 * rows_needed(plan.chosen.limit, plan.confidence)
        of_each = " of each class" if plan.class_budgets is not None else ""
        said += [
            "To certify the classifier in the order that it uses, fit it with the chosen limit on about "
            f"{float(f'{needed:.2g}'):,.0f} rows{of_each}, preferably not these."
        ]
    return " ".join(said)
