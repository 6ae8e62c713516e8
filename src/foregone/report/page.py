"""page(): a report as one HTML page. Nothing is computed here, and nothing is fetched by it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from foregone.certifying import LossKind
from foregone.report.markup import Html, data_block, definitions, raw, table, tag
from foregone.report.phrases import (
    WAYS,
    full_against_own,
    guaranteed,
    not_covered,
    percent,
    points,
    seconds,
    times,
)
from foregone.report.result import Report
from foregone.report.slider import MOST_CLASSES, settings, tradeoff_section
from foregone.report.watch_section import how_to_watch
from foregone.strategy.thresholds import majority

__all__ = ["page"]


def page(report: Report) -> str:
    """Return the page.

    Whatever comes from outside, such as labels, is escaped; and the browser is told to run no script but
    ours and to load nothing at all, so that a mistake there would do no harm.
    """
    style, script = _own("page.css"), _own("page.js")
    allow, cost = report.headline
    policy = (
        f"default-src 'none'; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Stopping early: {report.names['model']}"),
        tag("link", rel="icon", href="data:,"),
        raw("style", style),
    )
    body = tag(
        "body",
        tag(
            "header",
            tag(
                "p",
                tag("b", "foregone"),
                f" on {report.names['model']}: {report.model.n_voters:,} {report.model.voters}, "
                f"{report.model.n_rows:,} calibration rows",
                class_="eyebrow",
            ),
            tag("h1", allow),
            tag("p", cost, class_="lede"),
        ),
        tag(
            "main",
            _recommendation(report),
            tradeoff_section(report),
            _speed(report),
            _own_predict(report),
            _guarantee(report),
            _section("Watch it in use", *how_to_watch(report)),
            _about(report),
        ),
        data_block("settings", settings(report)),
        raw("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _own(name: str) -> str:
    return files("foregone.report").joinpath(name).read_text(encoding="utf-8")


def _fingerprint(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _recommendation(report: Report) -> Html:
    """Return why this limit, what an average hides, the call that does it, and what that promises."""
    given = (
        "model is the last step of the pipeline, X the calibration rows as the other steps transform them"
        if report.model.is_prepared
        else "model is the fitted model, X the calibration rows"
    )
    if report.trade_off.loss == "accuracy":
        given += ", y their true labels. Without labels (--target), limits are on the disagreement"
    code = f"from foregone import early_stop\n\nclassifier = {report.call}"
    return _section(
        "Why this limit",
        tag("ul", *(tag("li", words) for words in report.trade_off.advice), class_="reasons"),
        tag("pre", tag("code", code), aria_label="The call that does it", tabindex="0"),
        tag("p", f"{given}.", class_="note"),
        tag("p", str(report.trade_off.promise)),
    )


def _speed(report: Report) -> Html:
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
    if speed.gpu is not None:
        faster = times(speed.batch["stopped"] / speed.gpu)
        rows.append(["stopped early, on the GPU", f"{1 / speed.gpu:,.0f}", f"{faster} by the GPU", "", ""])
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
            row_attributes=[{"class_": "best" if row[0] == WAYS["stopped"] else None} for row in rows],
        ),
        tag(
            "p",
            report.machine,
            ". A short measurement: other work on the machine distorts it.",
            class_="note",
        ),
    )


def _own_predict(report: Report) -> Html:
    """Return how everyone together compares with the model's predict, and with the truth if it is known."""
    errors = None
    if report.errors:
        n_rows = next(iter(report.errors.values())).n_rows
        labels = report.model.labels if len(report.model.labels) <= MOST_CLASSES else ()
        errors = table(
            f"Wrong answers, on {n_rows:,} labelled rows",
            ["", "rows", "share", *(f"of those truly {label}" for label in labels)],
            [
                [
                    WAYS[way],
                    f"{found.n_differing:,}",
                    percent(found.share),
                    *(
                        percent(of_class.share) if of_class.n_rows else "none seen"
                        for of_class in report.errors_by_class[way][: len(labels)]
                    ),
                ]
                for way, found in report.errors.items()
            ],
            narrow=True,
        )
    return _section(report.trade_off.texts.own_heading, tag("p", full_against_own(report)), errors)


def _guarantee(report: Report) -> Html:
    """Return the promise and what it is not about."""
    return _section(
        "What is guaranteed",
        *(tag("p", words) for words in guaranteed(report)),
        tag("h3", "What is not guaranteed"),
        definitions(not_covered(report)),
    )


def _about(report: Report) -> Html:
    """Return what it was made from, with what, and when."""
    model, confidence = report.model, report.trade_off.confidence
    in_accuracy, threshold = report.trade_off.loss == "accuracy", _threshold(report)
    sure = "" if confidence is None else f", {100 * confidence:g} % confidence"
    *others, last = map(str, model.labels)
    facts = {
        "Model": f"{report.names['model']}: {model.name}, {model.n_voters:,} {model.voters}, "
        f"voting={model.voting!r}",
        "Rounds": f"{model.n_steps:,}, of one tree for each class" if model.drops_classes else None,
        "Classes": f"{', '.join(others)} and {last}{'' if threshold else '; of a tie, the first'}",
        "Threshold": threshold,
        "Calibration rows": f"{model.n_rows:,}, from {report.names['data']}",
        "Criterion": f"{model.settings['criterion']}{sure}, limits on the {report.trade_off.texts.limited}",
        "Worth": f"avoiding {'an error' if in_accuracy else 'a disagreement'} is assumed to be worth "
        f"{report.worth:g} full votes",
        "Saved limit": None if model.saved_limit is None else _limit(model.saved_limit, model.saved_loss),
        "Made": report.made.strftime("%Y-%m-%d %H:%M %Z"),
        "With": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        "Notes": " ".join(report.notes) or None,
    }
    shown = ((name, words) for name, words in facts.items() if words)
    return _section("What this report is about", definitions(shown))


def _threshold(report: Report) -> str | None:
    """Say from where on the answer is the second class, unless that is a majority."""
    model = report.model
    parts = [] if model.threshold is None else [f"{model.threshold:g} of the probability, or of the votes"]
    if model.quota not in (None, majority(model.n_voters)):
        parts += [f"{model.quota:,} of {model.n_voters:,} {model.voters}"]
    return f"{model.labels[1]} from {', that is '.join(parts)}" if parts else None


def _limit(limit: Any, loss: LossKind) -> str:
    if loss == "cost":
        return f"{limit:g} on the rise of the mean cost"
    shown = points if loss == "accuracy" else percent
    what = "the loss of accuracy" if loss == "accuracy" else "the disagreement"
    if isinstance(limit, Mapping):
        limits = ", ".join(f"{shown(value)} for {label}" for label, value in limit.items())
        return f"{limits}, on {what}"
    return f"{shown(limit)} on {what}"


def _section(heading: str, *parts: Html | None) -> Html:
    name = "-".join(re.findall("[a-z]+", heading.lower()))
    return tag("section", tag("h2", heading, id=name), *parts, aria_labelledby=name)
