"""The recommendation in words: the headline, and the reasons for it. Both are about what the call makes."""

from __future__ import annotations

import math
from typing import Any

from foregone.planning.recommendation import one_in
from foregone.report.phrases import percent, points, row_limit, times
from foregone.report.result import Report
from foregone.strategy.thresholds import majority

__all__ = ["headline", "reasons"]

NOTHING_CERTIFIED = "No limit can be certified"


def headline(report: Report) -> tuple[str, str]:
    """Return the recommendation in two short phrases: the limit, and how much it asks."""
    if _why_uncertified(report) is not None:
        return NOTHING_CERTIFIED, f"{_only_where_certain(report)}."
    return _allow(report), f"{_asked(report)} on average, {_compared(report)} on this machine."


def reasons(report: Report) -> tuple[str, ...]:
    """Return the recommendation of the headline as a full sentence, then what speaks for and against it.

    All of it is about one recommendation. Figures of other limits are those of the slider.
    """
    paragraphs = [
        _recommended(report),
        _rows_right(report),
        _rows_changed(report),
        _why_no_stricter(report),
        _hardest_row(report),
        _hardest_class(report),
        _same_limit_on_disagreement(report),
        _threshold_and_accuracy(report),
    ]
    return tuple(filter(None, paragraphs))


def _why_uncertified(report: Report) -> str | None:
    return report.trade_off.why_curtailed or report.recommended.reason


def _only_where_certain(report: Report) -> str:
    asked = f"Early stopping asks {_asked(report)} on average"
    return f"{asked}, because it stops only once the answer is certain"


def _asked(report: Report) -> str:
    return f"{report.expected_votes:.1f} of {report.model.n_voters:,} {report.model.voters}"


def _allow(report: Report) -> str:
    point = report.recommended
    each = " in each class" if point.each_class else ""
    if report.trade_off.loss == "accuracy":
        return f"Allow an accuracy loss of {points(point.limit)}{each}"
    return f"Allow {percent(point.limit)} disagreement{each}"


def _compared(report: Report) -> str:
    """Say how much faster it is than the model's ``predict`` or, where that is not at hand, everyone."""
    speed = report.speed
    ratio = speed.ratio("batch", speed.slow_way)
    other = "the model's predict" if speed.slow_way == "own" else f"asking all {report.model.voters}"
    if 0.95 < ratio < 1.05:
        return f"about as fast as {other}"
    if ratio < 1:
        return f"but {times(1 / ratio)}x slower than {other}"
    return f"{times(ratio)}x faster than {other}"


def _recommended(report: Report) -> str:
    why, point, full = _why_uncertified(report), report.recommended, report.trade_off.texts.full
    if why is not None:
        cause = why.partition("certified: ")[2] or why  # what comes before it is said here already
        return (
            f"{NOTHING_CERTIFIED} on these rows. {_only_where_certain(report)}. "
            f"{cause[0].upper()}{cause[1:].rstrip('.')}."
        )
    of_each = " of each class" if point.each_class else ""
    allowed = f"at most {one_in(point.limit)} answers{of_each} may differ from {full}"
    if report.trade_off.loss == "accuracy":
        allowed = f"the accuracy{of_each} may be at most {points(point.limit)} below that of {full}"
    elif report.trade_off.texts.holds_for_every_row:
        chance = percent(point.limit)
        allowed = f"the answer for each row differs from {full} with a probability of at most {chance}"
    if report.expected_votes == 0:
        return f"{_allow(report)}: {allowed}. No {report.model.voters} are asked: the answer never changes."
    fewer = times(report.model.n_voters / report.expected_votes)
    return (
        f"{_allow(report)}: {allowed}. Early stopping asks {_asked(report)} on average, {fewer}x fewer than "
        "all."
    )


def _rows_right(report: Report) -> str:
    """Say what early stopping costs in accuracy, in numbers of rows."""
    if not report.errors:
        return ""
    n_rows = report.errors["full"].n_rows
    full, early = (n_rows - report.errors[way].n_differing for way in ("full", "stopped"))
    lost = full - early
    change = "no difference"
    if lost:
        change = f"{abs(lost):,} {'fewer' if lost > 0 else 'more'} ({points(abs(lost) / n_rows)})"
    said = (
        f"Of {n_rows:,} labelled calibration rows, {report.trade_off.texts.full} is right on {full:,} and "
        f"the early answer on {early:,}: {change}."
    )
    promise = report.trade_off.promise
    if promise.loss != "accuracy" or promise.about != "orders" or lost <= n_rows * report.recommended.limit:
        return said
    over = f"on average over random orders of the {report.model.voters}"
    return f"{said} This is above the limit, which holds {over}."


def _rows_changed(report: Report) -> str:
    drawn, traded = report.in_order_drawn, report.trade_off
    if drawn.n_differing == 0:
        return f"No calibration row changes answer (0 of {drawn.n_rows:,})."
    change = "changes" if drawn.n_differing == 1 else "change"
    said = (
        f"Of {drawn.n_rows:,} calibration rows, {drawn.n_differing:,} {change} answer "
        f"({percent(drawn.share)})"
    )
    if traded.loss == "accuracy" and drawn.share > report.recommended.limit:
        said += ". The limit is on the accuracy, not on this share"
    return f"{said}."


def _why_no_stricter(report: Report) -> str:
    plan, voters = report.plan, report.model.voters
    price, worth = plan.chosen.price, f"the {plan.worth:g} assumed acceptable (--worth)"
    error = "error" if plan.loss == "accuracy" else "disagreement"
    if _why_uncertified(report) is not None:
        return ""
    chosen = row_limit(report, plan.chosen.limit)
    everyone = f"all {report.model.n_voters:,} {voters} asked about one row"
    full_votes = f"full votes ({everyone}) per {error} avoided"
    if plan.reason == "end":
        if price is None or price > plan.worth / 2:
            return ""
        return (
            f"{chosen} is the strictest limit tried. It costs only {price:.2g} {full_votes}, far below "
            f"{worth}: a stricter limit may be worth its price."
        )
    if plan.reason == "observations":
        n_rows = plan.n_observations or report.model.n_rows
        mean = "loss" if plan.loss == "accuracy" else "disagreement"
        smallest = row_limit(report, 1 / n_rows)
        return (
            f"A stricter limit needs more rows: {n_rows:,} calibration rows cannot tell a mean {mean} below "
            f"{smallest} from zero."
        )
    tighter = plan.rows[plan.rows.index(plan.chosen) + 1]
    stricter = row_limit(report, tighter.limit)
    if plan.reason == "uncertified":
        return f"A limit of {stricter} cannot be certified on these rows: {tighter.reason}."
    for_all = " as one limit for all rows" if report.recommended.each_class else ""
    added = (
        f"Going from {chosen} to {stricter}{for_all} would ask "
        f"{tighter.expected_votes - plan.chosen.expected_votes:.1f} more {voters} per row"
    )
    if tighter.price is None or math.isinf(tighter.price):
        return f"{added} and avoid no {error}."
    price_text = f"{tighter.price:.3g}" if tighter.price < 1000 else f"{tighter.price:,.0f}"
    return f"{added}: {price_text} {full_votes}, above {worth}."


def _hardest_row(report: Report) -> str:
    """Say what an average hides; a limit for every row hides nothing."""
    worst, limit = report.recommended.worst, report.recommended.limit
    if report.trade_off.loss == "accuracy" or _why_uncertified(report) is not None:
        return ""
    if worst is None or worst <= limit * (1 + 1e-9):
        return ""
    return (
        f"Close votes take most of the disagreement: over random orders of the {report.model.voters}, the "
        f"hardest possible row changes answer with a probability of {percent(worst)}."
    )


def _hardest_class(report: Report) -> str:
    """Say which classes one limit for all rows does not protect, and whether each has its own limit."""
    plan, voters = report.plan, report.model.voters
    losing = {} if _why_uncertified(report) is not None else plan.chosen.losing_classes()
    if not losing:
        return ""
    hit = _hit_hardest(report, losing)
    if plan.class_budgets is not None:
        return (
            f"Each class has its own limit. One limit for all rows would ask about "
            f"{plan.chosen.expected_votes:.1f} {voters}, but not protect every class. {hit}"
            f"{_confidence_left(report)}"
        )
    if len(report.model.labels) > 2:
        return f"{hit} If that is too much, choose a stricter limit."
    return (
        f"{hit} These rows are too few to certify a limit for each class: give more, or choose a stricter "
        "limit."
    )


def _hit_hardest(report: Report, losing: dict[Any, float | None]) -> str:
    """Say how hard one limit for all rows hits the classes that it does not protect."""
    row = report.plan.chosen
    names = dict(zip(row.by_class, report.model.labels, strict=True))
    said = []
    measured = sorted(((loss, key) for key, loss in losing.items() if loss is not None), reverse=True)
    for place, (loss, key) in enumerate(measured):
        effect = f"{percent(loss)} of its rows change answer"
        if report.trade_off.loss == "accuracy":
            effect = f"accuracy on its rows falls by {points(loss)}"
        how = "hit hardest" if place == 0 else "hit, too"
        said.append(f"class {names[key]} is {how}: {effect}, {loss / row.limit:,.0f} times the limit")
    said += [
        f"no calibration row is of class {names[key]}, and the hardest possible one changes answer with a "
        f"probability of {percent(row.worst_by_class[key])}"
        for key, loss in losing.items()
        if loss is None
    ]
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _confidence_left(report: Report) -> str:
    """Say which confidence is left after the calibration rows also decided on separate limits."""
    plan, promise = report.plan, report.trade_off.promise
    if promise.confidence is None or plan.is_estimated or promise.is_by_rows:
        return ""
    left = max(0.0, 100 * (2 * promise.confidence - 1))
    return (
        f" The same rows decided on separate limits, so the promise below holds with {left:.4g} % instead of "
        f"{100 * promise.confidence:g} % confidence."
    )


def _same_limit_on_disagreement(report: Report) -> str:
    plan = report.plan
    if plan.votes_in_disagreement is None or _why_uncertified(report) is not None:
        return ""
    asked, voters = plan.votes_in_disagreement, report.model.voters
    said = f"The same limit on the disagreement is stricter and would ask about {asked:.1f} {voters}"
    if asked < plan.chosen.expected_votes:
        return f"{said}, which is fewer here: run the report without --target to get it."
    return f"{said}."


def _threshold_and_accuracy(report: Report) -> str:
    model = report.model
    if report.trade_off.loss != "accuracy" or report.recommended.each_class:
        return ""
    if model.quota in (None, majority(model.n_voters)):
        return ""
    return (
        "A threshold other than a majority usually means that one kind of error is worse than the other, but "
        "accuracy counts both alike: consider a limit for each class (max_accuracy_loss={...}) or costs=."
    )
