"""The section on monitoring: when the guarantee ends, the call, and how soon a change is detected."""

from __future__ import annotations

from collections.abc import Iterator

from foregone.report.markup import Html, table, tag
from foregone.report.phrases import percent
from foregone.report.result import AUDITS, Report

__all__ = ["how_to_watch", "roughly"]

CODE = "monitor = classifier.monitor(audit=0.01)\nlabels = monitor.predict(X)"
CLOSEST = "as close as the closest tenth of the calibration rows"


def roughly(rows: int | float | None) -> str:
    """Return a number of rows with two digits, large ones as "19 million"; "never" for None.

    Examples
    --------
    >>> roughly(26), roughly(1796), roughly(18_886_000), roughly(3e9), roughly(None)
    ('26', '1,800', '19 million', '3 billion', 'never')
    """
    if rows is None:
        return "never"
    number = float(f"{rows:.2g}")
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:,g} {unit}"
    return f"{number:,.0f}"


def how_to_watch(report: Report) -> Iterator[Html]:
    """Return the parts of the section."""
    voters, found, traded = report.model.voters, report.foresight, report.trade_off
    holds = "The guarantee ends when the rows in production no longer resemble the calibration rows."
    if traded.promise.loss == "disagreement of every row":
        holds = (
            f"The guarantee holds for any row, but rows unlike the calibration rows may ask more {voters}."
        )
    yield tag(
        "p",
        f"{holds} A monitor predicts as the classifier does and checks two things without labels: after how "
        f"many {voters} rows stop, and how often early answers differ from {traded.texts.full}. For the "
        f"second, it audits a small share of rows: it asks all {voters} about them.",
    )
    yield tag("pre", tag("code", CODE), aria_label="The call that makes a monitor", tabindex="0")
    yield tag(
        "p",
        "X holds the rows in production. An alarm names what has changed and what to do. While nothing "
        "changes and the limit is kept, the probability of any alarm at all is at most "
        f"{percent(found.false_alarm)}.",
        class_="note",
    )
    yield tag("h3", "Rows until a change is detected")
    yield tag("div", tag("div", *_disagreement(report)), tag("div", *_closer(report)), class_="two")
    yield tag(
        "p",
        "Estimates for a change from the first row on; about half of all alarms come earlier.",
        class_="note",
    )


def _disagreement(report: Report) -> Iterator[Html]:
    """Return how many rows it takes audits to detect that more answers differ."""
    model, found, texts = report.model, report.foresight, report.trade_off.texts
    if found.why_no_disagreement is not None:
        yield tag("p", f"Audits detect nothing here: {found.why_no_disagreement}.")
        return
    if not any(found.limits.values()):
        yield tag(
            "p",
            f"Early answers always agree with {texts.full}: the first audited row that differs raises an "
            "alarm.",
        )
        return
    limit = found.limits.get(None)
    rows = [
        [
            _named(f"{times:g} times the limit", None if limit is None else percent(min(times * limit, 1.0))),
            *(roughly(None if audited is None else audited / audit) for audit in AUDITS),
        ]
        for times, audited in found.disagreement.items()
    ]
    added = [f"{audit * model.n_voters:.2g}" for audit in AUDITS]
    yield table(
        "Rows until the alarm, if more answers differ",
        ["disagreement", *(f"{percent(audit)} audited" for audit in AUDITS)],
        [*rows, [_named("cost of auditing", f"{model.voters} per row"), *added]],
    )
    if report.trade_off.promise.loss == "accuracy":
        yield tag(
            "p",
            f"Without labels, audits compare the disagreement with {percent(limit or 0.0)}, its upper bound "
            "by the calibration rows. To monitor the accuracy loss, pass labels to "
            "monitor.audited(early, full, truth).",
            class_="note",
        )


def _closer(report: Report) -> Iterator[Html]:
    """Return how many rows it takes to detect that votes become closer."""
    found, stops = report.foresight, report.trade_off.stops
    if found.why_no_closer is not None or stops is None:
        yield tag("p", f"The spread of votes is not monitored: {found.why_no_closer}.")
        return
    yield table(
        "Rows until the alarm, if votes become closer",
        [f"share of rows that become {CLOSEST}", "with any share audited"],
        [[percent(share), roughly(rows)] for share, rows in found.closer.items()],
    )
    if None in found.closer.values():
        yield tag(
            "p",
            f"Never: {stops.n_rows:,} calibration rows are too few to tell that change from chance.",
            class_="note",
        )


def _named(name: str, more: str | None) -> Html:
    """Return the name of a row with a small note below it."""
    return tag("span", name, None if more is None else tag("small", more))
