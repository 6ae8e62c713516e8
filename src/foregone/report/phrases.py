"""How the page writes numbers, and the sentences it builds from them."""

from __future__ import annotations

import inspect
from typing import Any

from foregone.checks import check_looks
from foregone.classifier import early_stop
from foregone.planning import SolvedLimit
from foregone.planning.recommendation import one_in, short_looks
from foregone.report.result import Report

__all__ = [
    "call",
    "figure",
    "full_against_own",
    "guaranteed",
    "not_covered",
    "percent",
    "points",
    "row_limit",
    "said",
    "seconds",
    "times",
    "way",
]

NO_BREAK = "\N{NO-BREAK SPACE}"
UNKNOWN = "-"


def percent(share: float) -> str:
    """Return a share in percent with three digits; tiny shares as "below 0.0001 %".

    Examples
    --------
    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.001, 0.0712345, 0, 1e-9)]
    ['0.1 %', '7.12 %', '0 %', 'below 0.0001 %']
    """
    if 0 < share < 1e-6:
        return f"below 0.0001{NO_BREAK}%"
    return f"{100 * share:.3g}{NO_BREAK}%"


def points(loss: float) -> str:
    """Return a loss of accuracy in percentage points; a negative loss is a gain.

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
    """Return a limit with its unit: percent, or points of accuracy."""
    return points(limit) if report.trade_off.loss == "accuracy" else percent(limit)


def figure(value: float | None, text: str = "") -> tuple[float | None, str]:
    """Return a number and its text on the page: ``text`` or a percentage; "-" for None.

    Examples
    --------
    >>> figure(7.04, "7.0"), figure(None)
    ((7.04, '7.0'), (None, '-'))
    """
    if value is None:
        return None, UNKNOWN
    return value, text or percent(value)


def times(ratio: float) -> str:
    """Return a ratio as it is shown: one decimal if small, else a whole number.

    Examples
    --------
    >>> times(1.234), times(12.34), times(1234.5)
    ('1.2', '12', '1,234')
    """
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def seconds(duration: float) -> str:
    """Return a duration in s, ms, µs or ns.

    Examples
    --------
    >>> seconds(0.0123), seconds(4.56e-6), seconds(2e-7), seconds(3.0)
    ('12.3 ms', '4.56 µs', '200 ns', '3 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if duration >= size:
            return f"{duration / size:.3g} {unit}"
    return f"{duration / 1e-9:.3g} ns"


def way(report: Report, name: str) -> str:
    """Return what the page calls "stopped", "full" or "own", the three ways to get an answer."""
    voters = f"all {report.model.n_voters:,} {report.model.voters}"
    return {"stopped": "early stopping", "full": voters, "own": "the model's predict"}[name]


def call(report: Report) -> str:
    """Return the Python call that makes the recommended classifier from ``model``, ``X`` and labels ``y``.

    It states the settings that differ from the defaults of `foregone.early_stop`, and always ``voting``,
    because its default depends on the leaves of the trees, and ``random_state``, for the same numbers.
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


def said(report: Report, point: SolvedLimit) -> str:
    """Return the figures of one position of the slider as a sentence."""
    traded, model = report.trade_off, report.model
    if point.reason is not None:
        return (
            f"This limit cannot be certified on these rows: {point.reason}. Early stopping would stop only "
            f"once the answer is certain and ask {point.expected_votes:.1f} of {model.n_voters:,} "
            f"{model.voters} on average."
        )
    each = " in each class" if point.each_class else ""
    sure = "" if traded.confidence is None else f", with {100 * traded.confidence:g} % confidence"
    texts = traded.texts
    whom = "for every row, " if texts.holds_for_every_row else ""
    if texts.loss == "accuracy":
        on_these = f" on these rows, {texts.averaged}" if traded.confidence is None else ", once certified"
        return (
            f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} are asked on average. The "
            f"accuracy is at most {points(point.limit)} below that of {texts.full}{each}{on_these}"
            f"{sure.replace(',', '')}; {percent(point.disagreement)} of the answers differ from it."
        )
    return (
        f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} are asked on average. At most "
        f"{one_in(point.limit)} answers differ from {texts.full}, {whom}{texts.averaged}{each}{sure}."
    )


def guaranteed(report: Report) -> list[str]:
    """Return the guarantees, one paragraph each: the promise of each classifier, then the limits."""
    traded, saved = report.trade_off, report.model.saved_promise
    promises = {"The recommended classifier": traded.promise}
    if saved is not None:
        promises = {"The classifier in the file": saved, **promises}
    return [
        *(f"{whose}: {_inside(str(promise))}" for whose, promise in promises.items()),
        *traded.texts.limits,
    ]


def _inside(sentence: str) -> str:
    """Return a sentence with a small first letter, to follow a colon."""
    return sentence[0].lower() + sentence[1:]


def not_covered(report: Report) -> list[tuple[str, str]]:
    """Return what the guarantee does not cover: a name and an explanation each."""
    voters, texts, promise = report.model.voters, report.trade_off.texts, report.trade_off.promise
    about_these_rows = [
        ("Drift", "Rows in production whose distribution differs from that of the calibration rows."),
        (
            "Dependent rows",
            "If calibration rows are correlated, such as several rows of one patient, the confidence is "
            "lower than stated. Add clusters= to the call to count each cluster once.",
        ),
        (
            "Training rows",
            f"The {voters} agree more on rows that they were trained on. If such rows are among the "
            "calibration rows, this report is too optimistic.",
        ),
    ]
    left_out = [] if promise.loss == "disagreement of every row" else about_these_rows
    if promise.about == "orders":
        left_out += [(f"The order of the {voters}", _order_in_use(report))]
    if left_out and promise.is_by_rows and not report.model.adds_up:
        chosen = (
            "The recommended limit was chosen on the calibration rows, and the confidence does not cover "
            "that choice. Run the call on other rows, or fix the limit before you look at these."
        )
        left_out += [("The choice of the limit", chosen)]
    left_out += [] if texts.ties is None else [("Ties", texts.ties)]
    truth = f"The guarantee is about matching {texts.full}, which may itself be wrong."
    if promise.loss == "accuracy":
        truth = (
            f"The guarantee limits how far the accuracy falls below that of {texts.full}. It says nothing "
            "about that accuracy itself, and it assumes that the labels are correct. Early answers may "
            f"differ from {texts.full} more often than the limit says."
        )
    return [*left_out, ("Correctness", truth)]


def _order_in_use(report: Report) -> str:
    """Say why one order can exceed a mean over orders, and what was measured here."""
    voters, drawn, order = report.model.voters, report.in_order_drawn, report.model.order
    how = {
        "shared": f"All rows use one random order of the {voters}",
        "per_row": f"Each row uses its own random order of the {voters}; equal rows use the same one",
    }.get(order, f"The values of a row decide which of many random orders of the {voters} it uses")
    here = (
        f"{drawn.n_differing:,} of {drawn.n_rows:,} calibration rows change answer at the recommended limit "
        f"({percent(drawn.share)}; expected: {percent(report.recommended.disagreement)})"
    )
    lost, expected = report.trade_off.accuracy_loss, report.recommended.accuracy_loss
    if lost is not None and expected is not None:
        here += f". The accuracy loss on them is {points(lost)} (expected: {points(expected)})"
    what = "disagreement" if lost is None else "accuracy loss"
    return (
        f"{how}. Rows with the same order have correlated errors. The guarantee bounds the mean over orders, "
        f"so the actual {what} may exceed the limit. {here}."
    )


def full_against_own(report: Report) -> str:
    """Say how often the full vote, or sum, differs from the model's own ``predict``."""
    found, saved, texts = report.own_differences, report.model.saved_hard_soft, report.trade_off.texts
    if found is None:
        measured = (
            f"There is no predict of the model to compare with {texts.full}."
            if saved is None
            else "The file does not hold the model itself, so its predict cannot be run here. When the "
            f"classifier was calibrated, predict differed from {texts.full} on {percent(saved)} of the rows."
        )
    elif found.n_differing == 0:
        measured = f"On these {found.n_rows:,} rows the model's predict always agrees with {texts.full}."
    else:
        share = percent(found.share)
        if texts.loss == "disagreement":
            share += f", {found.share / report.recommended.limit:.2g} times the recommended limit"
        measured = (
            f"The model's predict differs from {texts.full} on {found.n_differing:,} of "
            f"{found.n_rows:,} rows ({share}). {texts.own_differs}"
        )
    return f"{texts.own_meaning} {measured}"
