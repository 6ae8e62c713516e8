"""The interactive part of the page: the slider, what it changes, and the same as tables."""

from __future__ import annotations

from typing import Any

from foregone.display.risk import majorities
from foregone.planning import SolvedLimit
from foregone.planning.recommendation import one_in
from foregone.report.markup import Html, table, tag
from foregone.report.phrases import figure, percent, said, times
from foregone.report.plots import draw_margins, draw_risk, draw_tradeoff, look, shows_exact
from foregone.report.result import Report
from foregone.report.trade_off import LIMITS

__all__ = ["settings", "tradeoff_section"]

Live = dict[str, tuple[float | None, str]]
MOST_CLASSES = 5  # columns of the table of all limits


def settings(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return for each position of the slider all that it shows: what the page's script puts in place."""
    shown: dict[str, list[dict[str, Any]]] = {"all": [], "each": []}
    for point in report.points:
        shown["each" if point.each_class else "all"].append(
            {
                "spoken": f"{percent(point.limit)}, {one_in(point.limit)}",
                "said": said(report, point),
                "live": live(report, point),
                "look": look(report, point),
            }
        )
    return shown


def live(report: Report, point: SolvedLimit) -> Live:
    """Return the numbers that change with the slider: each with every digit, and as it is shown."""
    n_voters, votes = report.model.n_voters, point.expected_votes
    fewer = n_voters / votes if votes > 0 else None
    figures: Live = {
        "limit": figure(point.limit),
        "one-in": figure(point.limit, one_in(point.limit)),
        "votes": figure(votes, f"{votes:.1f}"),
        "fewer": figure(fewer, f"{times(fewer or 0)} times"),
        "mean": figure(point.disagreement),
        "at-most": figure(point.at_most),
        "worst": figure(point.worst),
    }
    for place, of_class in enumerate(point.by_class):
        asked = of_class.expected_votes
        figures |= {
            f"class-{place}-votes": figure(asked, f"{asked:.1f}" if asked is not None else ""),
            f"class-{place}-mean": figure(of_class.disagreement),
            f"class-{place}-at-most": figure(of_class.at_most),
            f"class-{place}-worst": figure(of_class.worst),
        }
        if report.trade_off.shares[place] == 0:
            figures |= {f"class-{place}-{name}": (None, "none seen") for name in ("votes", "mean")}
    if point.by_yes is not None:
        for size in majorities(n_voters):
            for side, n_yes in (("no", n_voters - size), ("yes", size)):
                figures[f"{side}-{size}"] = figure(float(point.by_yes.disagreement[n_yes]))
    return figures


def tradeoff_section(report: Report) -> Html:
    """Return the section with the slider."""
    now, traded, voters = live(report, report.recommended), report.trade_off, report.model.voters
    bounded = "for the worst row" if traded.texts.holds_for_every_row else "on average"
    sure = "" if traded.confidence is None else f", with {100 * traded.confidence:g} % confidence"
    maximum = "guaranteed maximum" if traded.texts.mean == "expected" else "maximum, once certified"
    figures = [
        ("votes", f"of {report.model.n_voters:,}", f"{voters} asked on average"),
        ("fewer", "", f"fewer {voters} than all"),
        ("mean", "", f"of rows differ from {traded.texts.full}, {traded.texts.mean}"),
        ("at-most", "", f"{maximum}, {bounded}{sure}"),
    ]
    return tag(
        "section",
        tag("h2", "What each limit costs and risks", id="tradeoff-heading"),
        tag(
            "p",
            f"How often may the early answer differ from {traded.texts.full}? Move the slider. "
            f"{traded.texts.computed}",
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
        tag("h3", "Cost and risk"),
        tag(
            "div",
            tag("figure", draw_tradeoff(report), tag("figcaption", _tradeoff_caption(report)), id="tradeoff"),
            _margins(report, now) if traded.votes is not None else _risk(report, now),
            class_="plots",
        ),
        tag("h3", "By class"),
        tag("p", traded.texts.no_class_limits, class_="note") if traded.texts.no_class_limits else None,
        _class_table(report, now),
        tag("details", tag("summary", "Disagreement by margin, as a table"), _margin_table(report, now))
        if traded.votes is not None
        else None,
        tag("details", tag("summary", "Every limit, as a table"), _limit_table(report), class_="fine"),
        aria_labelledby="tradeoff-heading",
    )


def _control(report: Report, now: Live) -> Html:
    recommended = report.recommended
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
        tag("div", tag("span", "stricter"), tag("span", f"fewer {report.model.voters}"), class_="ends"),
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
                tag("span", "Set a separate limit for each class"),
            )
            if report.trade_off.has_class_limits
            else None,
            tag("button", "Back to the recommendation", type="button", id="back", disabled=True),
            class_="choices",
        ),
        class_="control",
    )


def _tradeoff_caption(report: Report) -> str:
    traded, voters = report.trade_off, report.model.voters
    broken = " Dashed: a separate limit for each class." if traded.has_class_limits else ""
    if traded.exact_votes is None:
        return f"Stricter limits ask more {voters}. {traded.texts.no_exact}{broken}"
    dotted = " (dotted)" if shows_exact(report) else ""
    return (
        f"Stricter limits ask more {voters}. To stop only when the rest cannot change the outcome, and never "
        f"differ, takes {traded.exact_votes:.1f} of them{dotted}.{broken}"
    )


def _margins(report: Report, now: Live) -> Html:
    return tag(
        "figure",
        draw_margins(report),
        tag(
            "figcaption",
            "Close votes are where the early answer may differ: the worst row differs with a probability of ",
            _data(now, "worst"),
            ". Dashed: the limit. The bars are the calibration rows, as the square root of their number.",
        ),
    )


def _risk(report: Report, now: Live) -> Html:
    texts = report.trade_off.texts
    worst = (
        []
        if report.recommended.worst is None
        else [" The hardest possible row differs with a probability of ", _data(now, "worst"), "."]
    )
    return tag(
        "figure",
        draw_risk(report),
        tag(
            "figcaption",
            f"The {texts.mean} share of rows that differ from {texts.full}, below the allowed one (dashed).",
            *worst,
            f" {texts.no_margins}",
        ),
    )


def _class_table(report: Report, now: Live) -> Html:
    traded, voters = report.trade_off, report.model.voters
    columns = {
        "votes": f"{voters} asked",
        "mean": f"differ, {traded.texts.mean}",
        "at-most": f"differ, {'worst row' if traded.texts.holds_for_every_row else 'at most'}",
        "worst": "differ, closest vote",
    }
    known = [
        name
        for name in columns
        if any(now[f"class-{place}-{name}"][0] is not None for place in _places(report))
    ]
    return table(
        f"{voters.capitalize()} asked and disagreement, by the class that {traded.texts.full} gives",
        [f"{traded.texts.full} says", *(columns[name] for name in known)],
        [
            [
                tag("span", str(label), tag("small", f"{percent(share)} of the rows")),
                *(_data(now, f"class-{place}-{name}") for name in known),
            ]
            for place, (label, share) in enumerate(zip(report.model.labels, traded.shares, strict=True))
        ],
    )


def _places(report: Report) -> range:
    return range(len(report.model.labels))


def _margin_table(report: Report, now: Live) -> Html:
    n_voters = report.model.n_voters
    no, yes = report.model.labels
    return table(
        f"Disagreement by the size of the majority, of all {report.model.voters}",
        ["majority", f"for {no}", f"for {yes}"],
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
    labels = report.model.labels if len(report.model.labels) <= MOST_CLASSES else ()
    mean, has_worst = report.trade_off.texts.mean, report.recommended.worst is not None
    rows, attributes = [], []
    for point in report.points:
        now = live(report, point)
        names = ["mean", "at-most", *(["worst"] if has_worst else [])]
        names += [f"class-{place}-mean" for place in range(len(labels))]
        rows.append(
            [
                percent(point.limit) + (" each" if point.each_class else ""),
                f"{point.expected_votes:.2f}",
                *(now[name][1] for name in names),
            ]
        )
        attributes.append(
            {
                "data_row": f"{'each' if point.each_class else 'all'}-{LIMITS.index(point.limit)}",
                "class_": "current" if point is report.recommended else None,
            }
        )
    return table(
        f"{report.model.voters.capitalize()} asked on average and disagreement, for every limit",
        [
            "allowed",
            report.model.voters,
            f"differ, {mean}",
            "at most",
            *(["worst row"] if has_worst else []),
            *(f"{mean} for {label}" for label in labels),
        ],
        rows,
        row_attributes=attributes,
    )


def _data(now: Live, name: str) -> Html:
    """Return a number that changes with the slider, with every digit for machines."""
    value, text = now[name]
    return tag("data", text, value="" if value is None else repr(float(value)), data_live=name)
