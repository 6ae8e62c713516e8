"""The parts of the page that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foregone.planning.words import python_call
from foregone.report.markup import Html, tag
from foregone.report.result import Report
from foregone.report.tables import table
from foregone.report.words import WAYS, guarantee, hard_against_soft, not_covered, percent, seconds, times

__all__ = ["about", "guarantee_section", "hard_soft_section", "recommendation", "speed_section"]


def recommendation(report: Report) -> Html:
    """Return why this limit, what an average hides, and the call that does it."""
    return _section(
        "Why this limit",
        tag("ul", *(tag("li", words) for words in report.plan.advise()), class_="reasons"),
        tag("pre", tag("code", python_call(report.plan)), aria_label="The call that does it", tabindex="0"),
    )


def speed_section(report: Report) -> Html:
    """Return what was measured on this machine."""
    speed, subject = report.speed, report.subject
    rows = [
        [
            WAYS[way],
            f"{1 / speed.batch[way]:,.0f}",
            "" if way == "stopped" else times(speed.ratio("batch", way)),
            seconds(speed.single[way]),
            "" if way == "stopped" else times(speed.ratio("single", way)),
        ]
        for way in speed.batch
    ]
    return _section(
        "How fast it is on this machine",
        tag(
            "p",
            f"Stopped at the recommended limit, {report.asked_in_order_drawn:.1f} of {subject.n_voters:,} "
            f"{subject.voters} were asked about a calibration row. One thread each, medians of rounds in "
            f"which all took turns; a batch of {speed.n_rows:,} rows, and rows one at a time.",
        ),
        table(
            "Speed on one thread",
            [
                "",
                "rows a second, in a batch",
                "stopped: times as fast",
                "one row alone",
                "stopped: times as fast",
            ],
            rows,
            row_attributes=[{"class_": "best" if way == "stopped" else None} for way in speed.batch],
        ),
        tag(
            "p",
            report.machine,
            ". A short measurement: other work on the machine shows in it.",
            class_="note",
        ),
    )


def hard_soft_section(report: Report) -> Html:
    """Return how votes compare with averaged probabilities, and with the truth if that is known."""
    errors = None
    if report.errors:
        n_rows = next(iter(report.errors.values())).n_rows
        errors = table(
            f"Wrong answers, on {n_rows:,} labelled rows",
            ["", "rows", "share"],
            [
                [WAYS[way], f"{found.n_differing:,}", percent(found.share)]
                for way, found in report.errors.items()
            ],
            narrow=True,
        )
    return _section("Counting votes, or averaging probabilities", tag("p", hard_against_soft(report)), errors)


def guarantee_section(report: Report) -> Html:
    """Return the promise and what it is not about."""
    return _section(
        "What is guaranteed",
        *(tag("p", words) for words in guarantee(report)),
        tag("h3", "What that does not cover"),
        tag(
            "dl",
            *(part for name, words in not_covered(report) for part in (tag("dt", name), tag("dd", words))),
            class_="limits",
        ),
    )


def about(report: Report) -> Html:
    """Return what it was made from, with what, and when."""
    subject, made = report.subject, report.plan
    sure = "" if made.confidence is None else f", {100 * made.confidence:g} % confidence"
    facts = {
        "Model": f"{report.names['model']}: {subject.name}, {subject.n_voters:,} {subject.voters}",
        "Answers": f"{subject.labels[0]} and {subject.labels[1]}; a tie is {subject.labels[0]}",
        "Calibration rows": f"{subject.n_rows:,}, from {report.names['data']}",
        "Criterion": f"{made.criterion}{sure}",
        "Worth": f"a disagreement avoided is taken to be worth {made.worth:g} full votes",
        "Saved limit": None if subject.saved_limit is None else _limit(subject.saved_limit),
        "Made": report.made.strftime("%Y-%m-%d %H:%M %Z"),
        "With": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        "Notes": " ".join(report.notes) or None,
    }
    shown = [(name, words) for name, words in facts.items() if words]
    return _section(
        "What this report is about",
        tag(
            "dl",
            *(part for name, words in shown for part in (tag("dt", name), tag("dd", words))),
            class_="limits",
        ),
    )


def _limit(limit: Any) -> str:
    if isinstance(limit, Mapping):
        return ", ".join(f"{percent(value)} for {label}" for label, value in limit.items())
    return percent(limit)


def _section(heading: str, *parts: Html | None) -> Html:
    name = heading.lower().replace(" ", "-").replace(",", "")
    return tag("section", tag("h2", heading, id=name), *parts, aria_labelledby=name)
