"""What the page says about watching: where the promise ends, the call, and how soon a change would show."""

from __future__ import annotations

from collections.abc import Iterator

from foregone.report.markup import Html, table, tag
from foregone.report.phrases import percent
from foregone.report.result import AUDITS, Report

__all__ = ["how_to_watch", "roughly"]

CODE = "monitor = classifier.monitor(audit=0.01)\nlabels = monitor.predict(X)"
CLOSEST = "as close as the closest tenth of the calibration rows"


def roughly(rows: int | float | None) -> str:
    """Return a number of rows with two digits, in words where it is large; "never" for None.

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
    holds = "The promise ends where rows in use are no longer like the calibration rows."
    if traded.promise.loss == "disagreement of every row":
        holds = "The promise is about any row, but rows that are unlike the calibration rows may cost more."
    yield tag(
        "p",
        f"{holds} A monitor answers as the classifier does and watches two things, without labels: after how "
        f"many {voters} rows stop, and how often early answers differ from {traded.texts.full} on a small "
        f"share of rows, about which it asks all {voters}.",
    )
    yield tag("pre", tag("code", CODE), aria_label="The call that watches", tabindex="0")
    yield tag(
        "p",
        "X are the rows in use. An alarm says what has moved and what to do. While nothing changes and the "
        f"limit is kept, the probability of ever giving one is at most {percent(found.false_alarm)}.",
        class_="note",
    )
    yield tag("h3", "How soon would a change show?")
    yield tag("div", tag("div", *_disagreement(report)), tag("div", *_closer(report)), class_="two")
    yield tag(
        "p",
        "Estimates, for a change from the first row on: about half of all alarms come sooner.",
        class_="note",
    )


def _disagreement(report: Report) -> Iterator[Html]:
    """Return when audits would show that more answers differ."""
    model, found, texts = report.model, report.foresight, report.trade_off.texts
    if found.why_no_disagreement is not None:
        yield tag("p", f"Audits show nothing here: {found.why_no_disagreement}.")
        return
    if not any(found.limits.values()):
        yield tag(
            "p",
            f"Early answers always agree with {texts.full}: the first audited row that differs is an alarm.",
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
        [*rows, [_named(f"{model.voters} added", "to each row"), *added]],
    )
    if report.trade_off.promise.loss == "accuracy":
        yield tag(
            "p",
            f"Without labels, audits hold the disagreement to {percent(limit or 0.0)}, the most that the "
            "calibration rows leave plausible. Give labels to monitor.audited(early, full, truth) to hold "
            "the loss of accuracy to its limit.",
            class_="note",
        )


def _closer(report: Report) -> Iterator[Html]:
    """Return when the spread of votes would show that they are closer."""
    found, stops = report.foresight, report.trade_off.stops
    if found.why_no_closer is not None or stops is None:
        yield tag("p", f"The spread of votes is not watched: {found.why_no_closer}.")
        return
    yield table(
        "Rows until the alarm, if votes become closer",
        [f"share of rows that become {CLOSEST}", "with any audit"],
        [[percent(share), roughly(rows)] for share, rows in found.closer.items()],
    )
    if None in found.closer.values():
        yield tag(
            "p",
            f"Never: {stops.n_rows:,} calibration rows cannot tell that change from chance. More may.",
            class_="note",
        )


def _named(name: str, more: str | None) -> Html:
    """Return the name of a row with what is said below it."""
    return tag("span", name, None if more is None else tag("small", more))
