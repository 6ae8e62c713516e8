"""page(): write a report as one HTML page. It computes nothing, and the page loads nothing."""

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
    full_against_own,
    guaranteed,
    not_covered,
    percent,
    points,
    seconds,
    times,
    way,
)
from foregone.report.result import Report
from foregone.report.slider import MOST_CLASSES, settings, tradeoff_section
from foregone.report.watch_section import how_to_watch
from foregone.strategy.thresholds import majority

__all__ = ["page"]


def page(report: Report) -> str:
    """Return the HTML of a report.

    Labels, names and all other text from outside are escaped. In addition, the page's policy tells the
    browser to run no script but ours and to load nothing.
    """
    style, script = _own("page.css"), _own("page.js")
    limit, cost = report.headline
    policy = (
        f"default-src 'none'; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Early stopping of {report.names['model']}"),
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
            tag("h1", limit),
            tag("p", cost, class_="lede"),
        ),
        tag(
            "main",
            _recommendation(report),
            tradeoff_section(report),
            _speed(report),
            _own_predict(report),
            _guarantee(report),
            _section("Monitor it in production", *how_to_watch(report)),
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
    """Return the reasons for the recommended limit, the call that makes the classifier, and its promise."""
    rows = "the calibration rows" + (" that have a label" if report.model.n_left_out else "")
    given = f"model is the fitted model, X holds {rows}"
    if report.model.is_prepared:
        given = f"model is the last step of the pipeline, X holds {rows}, transformed by the other steps"
    without: tuple[Html | str, ...] = ()
    if report.trade_off.loss == "accuracy":
        given += ", y their true labels"
        without = (" Without ", tag("code", "--target"), ", limits are on the disagreement.")
    code = f"from foregone import early_stop\n\nclassifier = {report.call}"
    return _section(
        "Recommendation",
        tag("ul", *(tag("li", words) for words in report.reasons), class_="reasons"),
        tag("p", "This call makes the recommended classifier:"),
        tag("pre", tag("code", code), aria_label="The call that makes the classifier", tabindex="0"),
        tag("p", f"{given}.", *without, class_="note"),
        tag("p", str(report.trade_off.promise)),
    )


def _speed(report: Report) -> Html:
    """Return the speed measured on this machine."""
    speed, model = report.speed, report.model
    rows = [
        [
            _capital(way(report, name)),
            f"{1 / speed.batch[name]:,.0f}",
            "" if name == "stopped" else f"{times(speed.ratio('batch', name))}x",
            seconds(speed.single[name]),
            "" if name == "stopped" else f"{times(speed.ratio('single', name))}x",
        ]
        for name in speed.batch
    ]
    if speed.gpu is not None:
        faster = times(speed.batch["stopped"] / speed.gpu)
        rows.append(["Early stopping, on the GPU", f"{1 / speed.gpu:,.0f}", f"{faster}x by the GPU", "", ""])
    return _section(
        "Speed on this machine",
        tag(
            "p",
            f"On all {model.n_rows:,} calibration rows the recommended classifier asks "
            f"{report.asked_in_order_drawn:.1f} of {model.n_voters:,} {model.voters} on average. The table "
            f"shows medians on one thread, for a batch of {speed.n_rows:,} rows and for single rows.",
        ),
        table(
            "Speed on one thread",
            [
                "",
                "rows per second, in a batch",
                "speed-up by early stopping",
                "time per single row",
                "speed-up by early stopping",
            ],
            rows,
            row_attributes=[{"class_": None if place else "best"} for place in range(len(rows))],
            cards=True,
        ),
        tag(
            "p",
            report.machine,
            ". This is a short measurement: other work on the machine distorts it.",
            class_="note",
        ),
    )


def _own_predict(report: Report) -> Html:
    """Return how the full vote compares with the model's predict; with labels, how often each is wrong."""
    errors = None
    if report.errors:
        n_rows = next(iter(report.errors.values())).n_rows
        labels = report.model.labels if len(report.model.labels) <= MOST_CLASSES else ()
        errors = table(
            f"Wrong answers, on {n_rows:,} labelled rows",
            ["", "wrong", "of all rows", *(f"of class {label}" for label in labels)],
            [
                [
                    _capital(way(report, name)),
                    f"{found.n_differing:,}",
                    percent(found.share),
                    *(
                        percent(of_class.share) if of_class.n_rows else "none seen"
                        for of_class in report.errors_by_class[name][: len(labels)]
                    ),
                ]
                for name, found in report.errors.items()
            ],
            narrow=True,
            cards=True,
        )
    return _section(report.trade_off.texts.own_heading, tag("p", full_against_own(report)), errors)


def _guarantee(report: Report) -> Html:
    """Return the guarantees, and what they do not cover."""
    return _section(
        "What is guaranteed",
        *(tag("p", words) for words in guaranteed(report)),
        tag("h3", "What is not guaranteed"),
        definitions(not_covered(report)),
    )


def _about(report: Report) -> Html:
    """Return the model, rows, settings and versions behind the report, and when it was made."""
    model, confidence = report.model, report.trade_off.confidence
    in_accuracy, threshold = report.trade_off.loss == "accuracy", _threshold(report)
    sure = "" if confidence is None else f", {100 * confidence:g} % confidence"
    *others, last = map(str, model.labels)
    facts = {
        "Model": f"{report.names['model']}: {model.name}, {model.n_voters:,} {model.voters}, "
        f"voting={model.voting!r}",
        "Rounds": f"{model.n_steps:,}, each with one tree per class" if model.drops_classes else None,
        "Classes": f"{', '.join(others)} and {last}{'' if threshold else '; a tie goes to the first'}",
        "Threshold": threshold,
        "Calibration rows": f"{model.n_rows:,}, from {report.names['data']}",
        "Criterion": f"{model.settings['criterion']}{sure}, limits on the {report.trade_off.texts.limited}",
        "Acceptable cost": f"{report.worth:g} full votes per "
        f"{'error' if in_accuracy else 'disagreement'} avoided (--worth)",
        "Saved limit": None if model.saved_limit is None else _limit(model.saved_limit, model.saved_loss),
        "Made": report.made.strftime("%Y-%m-%d %H:%M %Z"),
        "With": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        "Notes": " ".join(report.notes) or None,
    }
    shown = ((name, words) for name, words in facts.items() if words)
    return _section("About this report", definitions(shown))


def _threshold(report: Report) -> str | None:
    """Return the condition for the second class; None for a majority."""
    model = report.model
    counted, conditions = model.quota not in (None, majority(model.n_voters)), []
    if model.threshold is not None:
        share = "probability" if model.quota is None else "share of the votes"
        conditions.append(f"its {share} is at least {model.threshold:g}")
    if counted:
        conditions.append(f"at least {model.quota:,} of {model.n_voters:,} {model.voters} vote for it")
    return f"{model.labels[1]} if {', that is, '.join(conditions)}" if conditions else None


def _limit(limit: Any, loss: LossKind) -> str:
    if loss == "cost":
        return f"{limit:g} on the increase of the mean cost"
    shown = points if loss == "accuracy" else percent
    what = "the accuracy loss" if loss == "accuracy" else "the disagreement"
    if isinstance(limit, Mapping):
        limits = ", ".join(f"{shown(value)} for {label}" for label, value in limit.items())
        return f"{limits}, on {what}"
    return f"{shown(limit)} on {what}"


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _section(heading: str, *parts: Html | None) -> Html:
    name = "-".join(re.findall("[a-z]+", heading.lower()))
    return tag("section", tag("h2", heading, id=name), *parts, aria_labelledby=name)
