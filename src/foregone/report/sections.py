"""The parts of the page that stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foregone.report.markup import Html, definitions, table, tag
from foregone.report.phrases import WAYS, full_against_own, not_covered, percent, seconds, times
from foregone.report.result import Report

__all__ = ["about", "guarantee_section", "own_section", "recommendation", "speed_section"]


def recommendation(report: Report) -> Html:
    """Return why this limit, what an average hides, and the call that does it."""
    given = (
        "model is the last step of the pipeline, X the calibration rows as the other steps transform them."
        if report.model.is_prepared
        else "model is the fitted model, X the calibration rows."
    )
    code = f"from foregone import early_stop\n\nclassifier = {report.call}"
    return _section(
        "Why this limit",
        tag("ul", *(tag("li", words) for words in report.trade_off.advice), class_="reasons"),
        tag("pre", tag("code", code), aria_label="The call that does it", tabindex="0"),
        tag("p", given, class_="note"),
    )


def speed_section(report: Report) -> Html:
    """Return what was measured on this machine."""
    speed, model = report.speed, report.model
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
            f"At the recommended limit {report.asked_in_order_drawn:.1f} of {model.n_voters:,} "
            f"{model.voters} were asked on average about a calibration row. Medians on one thread, for a "
            f"batch of {speed.n_rows:,} rows and for single rows; all ways take turns.",
        ),
        table(
            "Speed on one thread",
            [
                "",
                "rows per second, in a batch",
                "speed-up by stopping",
                "single row",
                "speed-up by stopping",
            ],
            rows,
            row_attributes=[{"class_": "best" if way == "stopped" else None} for way in speed.batch],
        ),
        tag(
            "p",
            report.machine,
            ". A short measurement: other work on the machine distorts it.",
            class_="note",
        ),
    )


def own_section(report: Report) -> Html:
    """Return how everyone together compares with the model's predict, and with the truth if it is known."""
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
    return _section(report.trade_off.texts.own_heading, tag("p", full_against_own(report)), errors)


def guarantee_section(report: Report) -> Html:
    """Return the promise and what it is not about."""
    return _section(
        "What is guaranteed",
        *(tag("p", words) for words in report.trade_off.texts.promise),
        tag("h3", "What is not guaranteed"),
        definitions(not_covered(report)),
    )


def about(report: Report) -> Html:
    """Return what it was made from, with what, and when."""
    model, confidence = report.model, report.trade_off.confidence
    sure = "" if confidence is None else f", {100 * confidence:g} % confidence"
    *others, last = map(str, model.labels)
    facts = {
        "Model": f"{report.names['model']}: {model.name}, {model.n_voters:,} {model.voters}, "
        f"voting={model.voting!r}",
        "Classes": f"{', '.join(others)} and {last}; of a tie, the first",
        "Calibration rows": f"{model.n_rows:,}, from {report.names['data']}",
        "Criterion": f"{model.settings['criterion']}{sure}",
        "Worth": f"avoiding a disagreement is assumed to be worth {report.worth:g} full votes",
        "Saved limit": None if model.saved_limit is None else _limit(model.saved_limit),
        "Made": report.made.strftime("%Y-%m-%d %H:%M %Z"),
        "With": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        "Notes": " ".join(report.notes) or None,
    }
    shown = ((name, words) for name, words in facts.items() if words)
    return _section("What this report is about", definitions(shown))


def _limit(limit: Any) -> str:
    if isinstance(limit, Mapping):
        return ", ".join(f"{percent(value)} for {label}" for label, value in limit.items())
    return percent(limit)


def _section(heading: str, *parts: Html | None) -> Html:
    name = "-".join(re.findall("[a-z]+", heading.lower()))
    return tag("section", tag("h2", heading, id=name), *parts, aria_labelledby=name)
