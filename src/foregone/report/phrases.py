"""How the page says numbers, and what it says about them."""

from __future__ import annotations

import inspect
from typing import Any

from foregone.checks import check_looks
from foregone.classifier import early_stop
from foregone.planning import SolvedLimit
from foregone.planning.recommendation import one_in, short_looks
from foregone.report.result import Report

__all__ = [
    "WAYS",
    "call",
    "figure",
    "full_against_own",
    "guaranteed",
    "headline",
    "not_covered",
    "percent",
    "points",
    "row_limit",
    "said",
    "seconds",
    "times",
]

NO_BREAK = "\N{NO-BREAK SPACE}"
UNKNOWN = "-"
WAYS = {"stopped": "Stopped early", "full": "Asking everyone", "own": "The model's own predict"}


def percent(share: float) -> str:
    """Return a share in percent, with three digits; tiny ones only as such.

    Examples
    --------
    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.001, 0.0712345, 0, 1e-9)]
    ['0.1 %', '7.12 %', '0 %', 'below 0.0001 %']
    """
    if 0 < share < 1e-6:
        return f"below 0.0001{NO_BREAK}%"
    return f"{100 * share:.3g}{NO_BREAK}%"


def points(loss: float) -> str:
    """Return how much accuracy is lost, in percentage points; less than nothing is a gain.

    Examples
    --------
    >>> [points(loss).replace(NO_BREAK, " ") for loss in (0.001, 0.01, -0.000123, 0, 1e-9)]
    ['0.1 points', '1 point', '−0.0123 points', '0 points', 'about 0 points']
    """
    if 0 < abs(loss) < 1e-6:
        return f"about 0{NO_BREAK}points"
    number = f"{100 * loss:.3g}".replace("-", "\N{MINUS SIGN}")
    return f"{number}{NO_BREAK}{'point' if number == '1' else 'points'}"


def row_limit(report: Report, limit: float) -> str:
    """Return a limit as it is shown, with its unit."""
    return points(limit) if report.trade_off.loss == "accuracy" else percent(limit)


def figure(value: float | None, text: str = "") -> tuple[float | None, str]:
    """Return a number with every digit and as it is shown: ``text``, or in percent; "-" if it is not known.

    Examples
    --------
    >>> figure(7.04, "7.0"), figure(None)
    ((7.04, '7.0'), (None, '-'))
    """
    if value is None:
        return None, UNKNOWN
    return value, text or percent(value)


def times(ratio: float) -> str:
    """Return how many times.

    Examples
    --------
    >>> times(1.234), times(12.34), times(1234.5)
    ('1.2', '12', '1,234')
    """
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def seconds(duration: float) -> str:
    """Return a duration in a fitting unit.

    Examples
    --------
    >>> seconds(0.0123), seconds(4.56e-6), seconds(2e-7), seconds(3.0)
    ('12.3 ms', '4.56 µs', '200 ns', '3 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if duration >= size:
            return f"{duration / size:.3g} {unit}"
    return f"{duration / 1e-9:.3g} ns"


def call(report: Report) -> str:
    """Return the call that does what the page shows, given ``model``, calibration rows ``X``, labels ``y``.

    Settings are stated where they are not the defaults of `foregone.early_stop`; ``voting`` always, because
    its default depends on the leaves of the trees, and ``random_state`` for the same numbers.
    """
    model, usual = report.model, inspect.signature(early_stop).parameters
    settings = {"threshold": model.threshold, **model.settings, "order": model.order}
    stated = {name: value for name, value in settings.items() if value != usual[name].default}
    if "looks" in stated:
        stated["looks"] = short_looks(check_looks(stated["looks"], model.n_steps), model.n_steps)
    options: dict[str, Any] = {"voting": model.voting, **stated, "random_state": model.random_state}
    said = "".join(f", {name}={value!r}" for name, value in options.items())
    limit = f"{report.plan.limit!r}"
    if report.trade_off.loss == "accuracy":
        limit = f"y, max_accuracy_loss={limit}"
    return f"early_stop(model, X, {limit}{said})"


def headline(report: Report) -> tuple[str, str]:
    """Return the recommendation in one sentence, in two parts."""
    point, speed, model = report.recommended, report.speed, report.model
    if point.reason is not None:
        return "Nothing can be certified", said(report, point)
    why = report.trade_off.why_curtailed
    if why is not None:
        return "Nothing can be certified", f"{why[0].upper()}{why[1:]}"
    each = " in each class" if point.each_class else ""
    ratio = speed.ratio("batch", speed.slow_way)
    whom = "the model's predict" if speed.slow_way == "own" else "asking everyone"
    compared = f"{times(ratio)}x faster" if ratio >= 1 else f"but {times(1 / ratio)}x slower"
    allowed = f"{percent(point.limit)} disagreement"
    if report.trade_off.loss == "accuracy":
        allowed = f"a loss of {points(point.limit)} of accuracy"
    return (
        f"Allow {allowed}{each}",
        f"{report.expected_votes:.1f} of {model.n_voters:,} {model.voters} on average, {compared} than "
        f"{whom} on this machine.",
    )


def said(report: Report, point: SolvedLimit) -> str:
    """Return what one position of the slider comes to, as a sentence."""
    traded, model = report.trade_off, report.model
    if point.reason is not None:
        return (
            f"Stopping only where the answer is certain asks {point.expected_votes:.1f} of "
            f"{model.n_voters:,} {model.voters} on average: {point.reason}."
        )
    each = " in each class" if point.each_class else ""
    sure = "" if traded.confidence is None else f", with {100 * traded.confidence:g} % confidence"
    texts = traded.texts
    whom = "for every single row, " if texts.holds_for_every_row else ""
    if texts.loss == "accuracy":
        on_these = f" on these rows, {texts.averaged}" if traded.confidence is None else ", once certified"
        return (
            f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} are asked on average. The "
            f"accuracy of {texts.full}, {percent(point.full_accuracy or 0.0)}, falls by at most "
            f"{points(point.limit)}{each}{on_these}{sure.replace(',', '')}; {percent(point.disagreement)} of "
            "the rows differ from it."
        )
    return (
        f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} are asked on average. At most "
        f"{one_in(point.limit)} rows differ from {texts.full}, {whom}{texts.averaged}{each}{sure}."
    )


def guaranteed(report: Report) -> list[str]:
    """Return what is guaranteed, one paragraph a string: the promise of each classifier, then the limits."""
    traded, saved = report.trade_off, report.model.saved_promise
    promises = {"The classifier that the call above makes": traded.promise}
    if saved is not None:
        promises = {"The classifier that was given": saved, **promises}
    return [
        *(f"{whose}: {_inside(str(promise))}" for whose, promise in promises.items()),
        *traded.texts.limits,
    ]


def _inside(sentence: str) -> str:
    """Return a sentence as it goes on after a colon."""
    return sentence[0].lower() + sentence[1:]


def not_covered(report: Report) -> list[tuple[str, str]]:
    """Return what the guarantee is not about: a name and a sentence each."""
    voters, texts, promise = report.model.voters, report.trade_off.texts, report.trade_off.promise
    about_these_rows = [
        ("Drift", "Rows in use that are distributed differently from the calibration rows."),
        (
            "Dependence",
            "Calibration rows that come in clusters, such as several of one patient: there are fewer "
            "independent ones than it seems, and the confidence is lower than stated. Give the call "
            "clusters= to count each cluster once.",
        ),
        (
            "Training rows",
            f"The {voters} agree more on rows that they were fitted on. If such rows are among the "
            "calibration rows, this report is too optimistic.",
        ),
    ]
    left_out = [] if promise.loss == "disagreement of every row" else about_these_rows
    if promise.about == "orders":
        left_out += [("The order in use", _order_in_use(report))]
    if left_out and promise.is_by_rows and not report.model.adds_up:
        chosen = (
            "The limit was recommended by looking at the calibration rows, which the confidence does not "
            "cover. Run the call on other rows, or on these with a limit that was fixed beforehand."
        )
        left_out += [("The choice of the limit", chosen)]
    left_out += [] if texts.ties is None else [("Ties", texts.ties)]
    truth = f"The guarantee is about matching {texts.full}, which may itself be wrong."
    if promise.loss == "accuracy":
        truth = (
            f"The guarantee is about the difference to the accuracy of {texts.full}, not about that accuracy "
            "itself, and labels that are wrong are taken for true. Early answers may differ from "
            f"{texts.full} more often than the limit says."
        )
    return [*left_out, ("Truth", truth)]


def _order_in_use(report: Report) -> str:
    """Say how the classifier may differ from the mean over orders, and what it did here."""
    voters, drawn, order = report.model.voters, report.in_order_drawn, report.model.order
    how = {
        "shared": f"All rows are asked in one random order of the {voters}",
        "per_row": f"Each row has a random order of the {voters} of its own, and equal rows have the same",
    }.get(order, f"The values of a row decide in which of many random orders its {voters} are asked")
    here = (
        f"{drawn.n_differing:,} of {drawn.n_rows:,} calibration rows differ at the recommended limit "
        f"({percent(drawn.share)}; expected {percent(report.recommended.disagreement)})"
    )
    lost, expected = report.trade_off.accuracy_loss, report.recommended.accuracy_loss
    if lost is not None and expected is not None:
        here += f", an accuracy loss of {points(lost)} on them (expected {points(expected)})"
    share = "share" if lost is None else "loss"
    return (
        f"{how}. Rows asked in the same order have correlated errors, so the {share} in use may be above the "
        f"mean over orders, which is what is bounded. Here {here}."
    )


def full_against_own(report: Report) -> str:
    """Say how far the answer of everyone is from what the model itself predicts."""
    found, saved, texts = report.own_differences, report.model.saved_hard_soft, report.trade_off.texts
    if found is None:
        measured = (
            f"The model's own predict is not at hand, so it cannot be compared with {texts.full} here."
            if saved is None
            else "The model itself is not in the file, so it cannot be asked here. When the classifier was "
            f"calibrated, the model's predict differed from {texts.full} on {percent(saved)} of the rows."
        )
    elif found.n_differing == 0:
        measured = f"On these {found.n_rows:,} rows the model's own predict always agrees with {texts.full}."
    else:
        share = percent(found.share)
        if texts.loss == "disagreement":
            share += f", {found.share / report.recommended.limit:.2g} times the recommended limit"
        measured = (
            f"The model's own predict differs from {texts.full} on {found.n_differing:,} of "
            f"{found.n_rows:,} rows ({share}). {texts.own_differs}"
        )
    return f"{texts.own_meaning} {measured}"
