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
    "headline",
    "not_covered",
    "percent",
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
    """Return the call that does what the page shows, with ``model`` and the calibration rows ``X``.

    Settings are stated where they are not the defaults of `foregone.early_stop`; ``voting`` always, because
    its default depends on the leaves of the trees, and ``random_state`` for the same numbers.
    """
    model, usual = report.model, inspect.signature(early_stop).parameters
    settings = {**model.settings, "order": model.order}
    stated = {name: value for name, value in settings.items() if value != usual[name].default}
    if "looks" in stated:
        stated["looks"] = short_looks(check_looks(stated["looks"], model.n_voters), model.n_voters)
    options: dict[str, Any] = {"voting": model.voting, **stated, "random_state": model.random_state}
    said = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"early_stop(model, X, {report.plan.max_disagreement!r}{said})"


def headline(report: Report) -> tuple[str, str]:
    """Return the recommendation in one sentence, in two parts."""
    point, speed, model = report.recommended, report.speed, report.model
    if point.reason is not None:
        return "Nothing can be certified", said(report, point)
    each = " in each class" if point.each_class else ""
    ratio = speed.ratio("batch", speed.slow_way)
    whom = "the model's predict" if speed.slow_way == "own" else "asking everyone"
    compared = f"{times(ratio)}x faster" if ratio >= 1 else f"but {times(1 / ratio)}x slower"
    return (
        f"Allow {percent(point.limit)} disagreement{each}",
        f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} on average, {compared} than "
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
    whom = "for every single row" if traded.texts.holds_for_every_row else "on average"
    return (
        f"{point.expected_votes:.1f} of {model.n_voters:,} {model.voters} are asked on average. At most "
        f"{one_in(point.limit)} rows differ from {traded.texts.full}, {whom}{each}{sure}."
    )


def not_covered(report: Report) -> list[tuple[str, str]]:
    """Return what the guarantee is not about: a name and a sentence each."""
    voters, drawn, texts = report.model.voters, report.in_order_drawn, report.trade_off.texts
    about_these_rows = [
        ("Drift", "Rows in use that are distributed differently from the calibration rows."),
        (
            "Dependence",
            "Calibration rows that come in groups, such as several of one patient: there are fewer "
            "independent ones than it seems, and the confidence is lower than stated.",
        ),
        (
            "Training rows",
            f"The {voters} agree more on rows that they were fitted on. If such rows are among the "
            "calibration rows, this report is too optimistic.",
        ),
    ]
    random_order = (
        "One shared order",
        f"All rows use one random order of the {voters}, so errors are correlated, and the share in that "
        "order may be above the mean over orders, which is what is bounded. In the order drawn here "
        f"{drawn.n_differing:,} of {drawn.n_rows:,} calibration rows differ at the recommended limit "
        f"({percent(drawn.share)}; expected {percent(report.recommended.disagreement)}). "
        'order="per_row" draws an order for each row.',
    )
    points = [] if texts.holds_for_every_row else about_these_rows
    points += [random_order] if texts.in_random_order else []
    points += [] if texts.ties is None else [("Ties", texts.ties)]
    truth = f"The guarantee is about matching {texts.full}, which may itself be wrong."
    return [*points, ("Truth", truth)]


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
        measured = (
            f"The model's own predict differs from {texts.full} on {found.n_differing:,} of "
            f"{found.n_rows:,} rows ({percent(found.share)}, {found.share / report.recommended.limit:.2g} "
            f"times the recommended limit). {texts.own_differs}"
        )
    return f"{texts.own_meaning} {measured}"
