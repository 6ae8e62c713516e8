"""The interactive part of the page: the slider, what it changes, and the same as tables."""

from __future__ import annotations

import math
from typing import Any

from foregone.display.margins import majorities
from foregone.planning.words import one_in
from foregone.report.markup import Html, tag
from foregone.report.plots import draw_margins, draw_tradeoff, look, shows_exact
from foregone.report.result import Report
from foregone.report.tables import table
from foregone.report.tradeoff import LIMITS, Stop
from foregone.report.words import percent, said, times

__all__ = ["settings", "tradeoff_section"]

Live = dict[str, tuple[float | None, str]]


def settings(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return for each position of the slider all that it shows: what the page's script puts in place."""
    shown: dict[str, list[dict[str, Any]]] = {"all": [], "each": []}
    for stop in report.stops:
        shown["each" if stop.each_class else "all"].append(
            {
                "spoken": f"{percent(stop.limit)}, {one_in(stop.limit)}",
                "said": said(report, stop),
                "live": live(report, stop),
                "look": look(report, stop),
            }
        )
    return shown


def live(report: Report, stop: Stop) -> Live:
    """Return the numbers that change with the slider: each with every digit, and as it is shown."""
    row, evaluation, n_voters = stop.row, stop.evaluation, report.subject.n_voters
    figures: Live = {
        "limit": (stop.limit, percent(stop.limit)),
        "one-in": (stop.limit, one_in(stop.limit)),
        "votes": (row.expected_votes, f"{row.expected_votes:.1f}"),
        "fewer": _number(row.speed_up, "-" if math.isinf(row.speed_up) else f"{times(row.speed_up)} times"),
        "mean": (row.disagreement, percent(row.disagreement)),
        "at-most": (stop.at_most, percent(stop.at_most)),
        "worst": (row.worst_disagreement, percent(row.worst_disagreement)),
    }
    by_class = evaluation.by_class(stop.solution.votes)
    at_most = list(stop.at_most_by_class.values())  # of no, then of yes
    for side, promised in (("no", at_most[0]), ("yes", at_most[1])):
        votes, risk = by_class[side]  # type: ignore[index]  # a plain str to mypy
        worst = row.worst_by_class[side]
        figures |= {
            f"{side}-votes": _number(votes, "none seen" if math.isnan(votes) else f"{votes:.1f}"),
            f"{side}-mean": _number(risk, "none seen" if math.isnan(risk) else percent(risk)),
            f"{side}-at-most": (promised, percent(promised)),
            f"{side}-worst": (worst, percent(worst)),
        }
    for size in majorities(n_voters):
        for side, n_yes in (("no", n_voters - size), ("yes", size)):
            risk = float(evaluation.disagreement[n_yes])
            figures[f"{side}-{size}"] = (risk, percent(risk))
    return figures


def tradeoff_section(report: Report) -> Html:
    """Return the section with the slider."""
    now = live(report, report.recommended)
    made, voters = report.plan, report.subject.voters
    sure = (
        "guaranteed" if made.confidence is None else f"at most, with {100 * made.confidence:g} % confidence"
    )
    bounded = "mean" if made.criterion == "minimean" else "worst row"
    figures = [
        ("votes", f"of {report.subject.n_voters:,}", f"{voters} asked on average"),
        ("fewer", "", f"fewer {voters} than all"),
        ("mean", "", "of rows like these answered otherwise, expected"),
        ("at-most", "", f"{sure} ({bounded})"),
    ]
    return tag(
        "section",
        tag("h2", "What each limit costs and risks", id="tradeoff-heading"),
        tag(
            "p",
            "How often may the early answer differ from that of the full vote? Move the slider; every number "
            "below was computed exactly, for the optimal way of stopping within that limit.",
        ),
        _control(report, now),
        tag("output", said(report, report.recommended), id="said", for_="limit", name="said"),
        tag(
            "dl",
            *(
                tag(
                    "div",
                    tag("dt", words),
                    tag("dd", _data(now, name), tag("small", f" {unit}") if unit else None),
                )
                for name, unit, words in figures
            ),
            class_="figures",
        ),
        tag("h3", "Cost and close calls"),
        tag(
            "div",
            tag("figure", draw_tradeoff(report), tag("figcaption", _tradeoff_caption(report)), id="tradeoff"),
            tag(
                "figure",
                draw_margins(report),
                tag(
                    "figcaption",
                    "Close votes are where the early answer may differ: the worst row is answered otherwise "
                    "with a probability of ",
                    _data(now, "worst"),
                    ". The broken line is the limit; the bars below are the calibration rows, their height "
                    "as the square root of their number.",
                ),
            ),
            class_="plots",
        ),
        tag("h3", "By class"),
        _class_table(report, now),
        tag("details", tag("summary", "Disagreement by margin, as a table"), _margin_table(report, now)),
        tag("details", tag("summary", "Every limit, as a table"), _limit_table(report), class_="fine"),
        aria_labelledby="tradeoff-heading",
    )


def _control(report: Report, now: Live) -> Html:
    recommended = report.recommended
    has_classes = any(stop.each_class for stop in report.stops)
    return tag(
        "div",
        tag(
            "label",
            tag("span", "Allowed disagreement"),
            tag("span", _data(now, "limit"), " ", tag("small", _data(now, "one-in"))),
            for_="limit",
        ),
        tag(
            "input",
            type="range",
            id="limit",
            min=0,
            max=len(LIMITS) - 1,
            step=1,
            value=LIMITS.index(recommended.limit),
            aria_valuetext=f"{percent(recommended.limit)}, {one_in(recommended.limit)}",
            autocomplete="off",
        ),
        tag("div", tag("span", "stricter"), tag("span", f"fewer {report.subject.voters}"), class_="ends"),
        tag(
            "div",
            tag(
                "label",
                tag(
                    "input",
                    type="checkbox",
                    id="each-class",
                    checked=True if recommended.each_class else None,
                    autocomplete="off",
                ),
                tag("span", "Keep the limit for each class by itself"),
            )
            if has_classes
            else None,
            tag("button", "Back to the recommendation", type="button", id="back", disabled=True),
            class_="choices",
        ),
        class_="control",
    )


def _tradeoff_caption(report: Report) -> str:
    broken = (
        " The broken line keeps the limit for each class by itself."
        if any(stop.each_class for stop in report.stops)
        else ""
    )
    dotted = " (the dotted line)" if shows_exact(report) else ""
    return (
        f"Stricter limits ask more {report.subject.voters}. Never to differ, by stopping only when the rest "
        f"cannot change the outcome, takes {report.exact_votes:.1f} of them{dotted}.{broken}"
    )


def _class_table(report: Report, now: Live) -> Html:
    first_yes = report.subject.n_voters // 2 + 1
    probabilities = report.plan.votes.probabilities
    shares = {"no": float(probabilities[:first_yes].sum()), "yes": float(probabilities[first_yes:].sum())}
    promised = "at most" if report.plan.criterion == "minimean" else "worst row"
    return table(
        f"{report.subject.voters.capitalize()} asked and disagreement, by what the full vote says",
        [
            "the full vote says",
            f"{report.subject.voters} asked",
            "otherwise, expected",
            f"otherwise, {promised}",
            "otherwise, closest vote",
        ],
        [
            [
                tag("span", str(label), tag("small", f"{percent(shares[side])} of the rows")),
                _data(now, f"{side}-votes"),
                _data(now, f"{side}-mean"),
                _data(now, f"{side}-at-most"),
                _data(now, f"{side}-worst"),
            ]
            for side, label in zip(("no", "yes"), report.subject.labels, strict=True)
        ],
    )


def _margin_table(report: Report, now: Live) -> Html:
    n_voters = report.subject.n_voters
    no, yes = report.subject.labels
    return table(
        "Disagreement by how many of all voters make the majority",
        ["the majority is", f"when it is {no}", f"when it is {yes}"],
        [
            [
                f"{size:,} of {n_voters:,}",
                _data(now, f"no-{size}"),
                _data(now, f"yes-{size}") if 2 * size > n_voters else "",
            ]
            for size in majorities(n_voters)
        ],
    )


def _limit_table(report: Report) -> Html:
    no, yes = report.subject.labels
    rows, attributes = [], []
    for stop in report.stops:
        row = stop.row
        by_class = [
            "none seen" if (risk := row.by_class[side]) is None else percent(risk) for side in ("no", "yes")
        ]
        rows.append(
            [
                percent(stop.limit) + (" each" if stop.each_class else ""),
                f"{row.expected_votes:.2f}",
                percent(row.disagreement),
                percent(stop.at_most),
                percent(row.worst_disagreement),
                *by_class,
            ]
        )
        place = LIMITS.index(stop.limit)
        attributes.append(
            {
                "data_row": f"{'each' if stop.each_class else 'all'}-{place}",
                "class_": "current" if stop is report.recommended else None,
            }
        )
    return table(
        "Votes asked on average and disagreement, for every limit",
        ["allowed", "votes", "expected", "at most", "closest vote", f"when {no}", f"when {yes}"],
        rows,
        row_attributes=attributes,
    )


def _data(now: Live, name: str) -> Html:
    """Return a number that changes with the slider, with every digit for machines."""
    value, text = now[name]
    return tag("data", text, value="" if value is None else repr(float(value)), data_live=name)


def _number(value: float, text: str) -> tuple[float | None, str]:
    return (value if math.isfinite(value) else None), text
