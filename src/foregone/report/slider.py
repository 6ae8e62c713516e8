"""The interactive part of the page: the slider, the figures it changes, and the same figures as tables."""

from __future__ import annotations

from typing import Any

from foregone.display.risk import majorities, spread
from foregone.planning import SolvedLimit
from foregone.planning.recommendation import one_in
from foregone.report.markup import Html, table, tag
from foregone.report.phrases import figure, percent, points, row_limit, said, times
from foregone.report.plots import draw_margins, draw_risk, draw_tradeoff, look, shows_exact
from foregone.report.result import Report
from foregone.strategy.thresholds import majority

__all__ = ["settings", "tradeoff_section"]

Live = dict[str, tuple[float | None, str]]
BELOW_0 = "(below 0: a gain)"
MOST_CLASSES = 5  # columns of the table of all limits


def settings(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return all that the page shows at each position of the slider; its script puts it in place."""
    shown: dict[str, list[dict[str, Any]]] = {"all": [], "each": []}
    for point in report.points:
        shown["each" if point.each_class else "all"].append(
            {
                "spoken": _spoken(report, point),
                "said": said(report, point),
                "live": live(report, point),
                "look": look(report, point),
            }
        )
    return shown


def live(report: Report, point: SolvedLimit) -> Live:
    """Return the numbers that change with the slider, each with all digits and as text."""
    n_voters, votes = report.model.n_voters, point.expected_votes
    fewer = n_voters / votes if votes > 0 else None
    figures: Live = {
        "limit": figure(point.limit, row_limit(report, point.limit)),
        "one-in": figure(point.limit, one_in(point.limit)),
        "votes": figure(votes, f"{votes:.1f}"),
        "fewer": figure(fewer, f"{times(fewer or 0)}x"),
        "mean": figure(point.disagreement),
        "at-most": figure(point.at_most),
        "worst": figure(point.worst),
        "loss": _points(point.accuracy_loss),
    }
    for place, lost in enumerate(point.accuracy_loss_by_class):
        figures[f"class-{place}-loss"] = (None, "none seen") if lost is None else _points(lost)
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
        for place, *sides in _close_votes(report):
            for side, n_yes in zip(("no", "yes"), sides, strict=True):
                if n_yes is not None:
                    figures[f"{side}-{place}"] = figure(float(point.by_yes.disagreement[n_yes]))
    return figures


def _points(loss: float | None) -> tuple[float | None, str]:
    return figure(loss, "" if loss is None else points(loss))


def _spoken(report: Report, point: SolvedLimit) -> str:
    if report.trade_off.loss == "accuracy":
        return points(point.limit)
    return f"{percent(point.limit)}, {one_in(point.limit)}"


def _close_votes(report: Report) -> list[tuple[int, int | None, int | None]]:
    """Return a few margins, the closest first, each with the yes votes of a "no" and of a "yes".

    A margin is the size of the majority or, with another quota, how many votes must change to turn the
    full vote.
    """
    n_voters, quota = report.model.n_voters, report.model.quota
    assert quota is not None
    if quota == majority(n_voters):
        return [
            (size, n_voters - size, size if 2 * size > n_voters else None) for size in majorities(n_voters)
        ]
    return [
        (
            turn,
            quota - turn if turn <= quota else None,
            quota + turn - 1 if quota + turn <= n_voters + 1 else None,
        )
        for turn in spread(1, max(quota, n_voters - quota + 1))
    ]


def tradeoff_section(report: Report) -> Html:
    """Return the section with the slider."""
    now, traded, voters = live(report, report.recommended), report.trade_off, report.model.voters
    bounded = "for every row, " if traded.texts.holds_for_every_row else ""
    sure = "" if traded.confidence is None else f", with {100 * traded.confidence:g} % confidence"
    maximum = "guaranteed maximum" if traded.texts.mean == "expected" else "maximum, once certified"
    differ = ("mean", "", f"of answers differ from {traded.texts.full}, {traded.texts.mean}")
    limited = ("at-most", "", f"{maximum}, {bounded}{traded.texts.averaged}{sure}")
    if traded.loss == "accuracy":
        right = percent(1 - report.errors["full"].share)
        limited = ("loss", "", f"accuracy loss, {traded.texts.mean}; {traded.texts.full} is right on {right}")
    figures = [
        ("votes", f"of {report.model.n_voters:,}", f"{voters} asked on average"),
        ("fewer", "", f"fewer {voters} than all"),
        *((limited, differ) if traded.loss == "accuracy" else (differ, limited)),
    ]
    question = f"Move the slider to choose how often the early answer may differ from {traded.texts.full}."
    if traded.loss == "accuracy":
        question = (
            f"Move the slider to choose how far the accuracy may fall below that of {traded.texts.full}."
        )
    return tag(
        "section",
        tag("h2", "Cost and risk of each limit", id="tradeoff-heading"),
        tag("p", f"{question} {traded.texts.computed} {_recommended_asks(report)}"),
        tag("p", traded.texts.no_accuracy, class_="note") if traded.texts.no_accuracy else None,
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
        tag("h3", f"{voters.capitalize()} asked and {traded.texts.limited}"),
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


def _recommended_asks(report: Report) -> str:
    """Say what the recommended classifier asks, which may be more or fewer than the slider shows."""
    traded = report.trade_off
    asked = f"asks {report.expected_votes:.1f} {report.model.voters} on average"
    if traded.promise.confidence == 1:
        return f"The recommended classifier stops only once the answer is certain and {asked}."
    if traded.promise.is_by_rows:
        n_rows = f"{traded.promise.n_rows:,} other rows"
        return f"The recommended classifier was then certified on {n_rows} and {asked}."
    return f"The recommended classifier {asked}."


def _control(report: Report, now: Live) -> Html:
    recommended, limits = report.recommended, report.trade_off.limits
    in_accuracy = report.trade_off.loss == "accuracy"
    return tag(
        "div",
        tag(
            "label",
            tag("span", f"Allowed {report.trade_off.texts.limited}"),
            tag(
                "span",
                _data(now, "limit"),
                *(() if in_accuracy else (" ", tag("small", _data(now, "one-in")))),
            ),
            for_="limit",
        ),
        tag(
            "input",
            type="range",
            id="limit",
            min=0,
            max=len(limits) - 1,
            step=1,
            value=limits.index(recommended.limit),
            aria_valuetext=_spoken(report, recommended),
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
        f"Stricter limits ask more {voters}. To never differ, that is, to stop only once the rest cannot "
        f"change the answer, takes {traded.exact_votes:.1f} {voters}{dotted}.{broken}"
    )


def _margins(report: Report, now: Live) -> Html:
    line = "Dashed: the limit."
    if report.trade_off.loss == "accuracy":
        line = "On close votes the full vote is often wrong, too, so little accuracy is lost."
    return tag(
        "figure",
        draw_margins(report),
        tag(
            "figcaption",
            "Early answers differ mainly on close votes: the hardest row differs with a probability of ",
            _data(now, "worst"),
            f". {line} Bars: the number of calibration rows, on a square-root scale.",
        ),
    )


def _risk(report: Report, now: Live) -> Html:
    texts = report.trade_off.texts
    worst = (
        []
        if report.recommended.worst is None
        else [" The hardest possible row differs with a probability of ", _data(now, "worst"), "."]
    )
    shown = f"The {texts.mean} share of answers that differ from {texts.full}. Dashed: the limit."
    if texts.loss == "accuracy":
        shown = (
            f"The {texts.mean} accuracy loss (thick; zero and gains at the bottom) and the share of answers "
            f"that differ from {texts.full} (thin). Dashed: the limit on the loss. More answers may differ, "
            f"because {texts.full} is often wrong on those rows, too."
        )
    return tag(
        "figure",
        draw_risk(report),
        tag(
            "figcaption",
            shown,
            *worst,
            f" {texts.no_margins}",
        ),
    )


def _class_table(report: Report, now: Live) -> Html:
    traded, voters = report.trade_off, report.model.voters
    columns = {
        "votes": f"{voters} asked",
        "mean": f"differ, {traded.texts.mean}",
        "at-most": f"differ, {'any row' if traded.texts.holds_for_every_row else 'at most'}",
        "worst": "differ, hardest row",
        "loss": f"accuracy loss, {traded.texts.mean}",
    }
    known = [
        name
        for name in columns
        if any(now.get(f"class-{place}-{name}", (None,))[0] is not None for place in _places(report))
    ]
    caption = f"{voters.capitalize()} asked and disagreement, by the answer of {traded.texts.full}"
    first = f"answer of {traded.texts.full}"
    if "loss" in known:
        caption += f"; accuracy loss, by true class {BELOW_0}"
        first = "class"
    if traded.loss == "accuracy":  # about disagreement, which is not limited
        known = [name for name in known if name not in ("at-most", "worst")]
    return table(
        caption,
        [first, *(columns[name] for name in known)],
        [
            [
                tag("span", str(label), tag("small", _shares(report, place))),
                *(_data(now, f"class-{place}-{name}") for name in known),
            ]
            for place, label in enumerate(report.model.labels)
        ],
        cards=True,
    )


def _shares(report: Report, place: int) -> str:
    """Return the share of rows in a class: by the full vote or sum and, with such limits, in truth."""
    shown, truth = f"{percent(report.trade_off.shares[place])} of the rows", report.model.known_truth
    if truth is None or report.recommended.accuracy_loss is None:
        return shown
    return f"{shown}, in truth {percent(float((truth == place).mean()))}"


def _places(report: Report) -> range:
    return range(len(report.model.labels))


def _margin_table(report: Report, now: Live) -> Html:
    n_voters = report.model.n_voters
    no, yes = report.model.labels
    by, first = f"size of the majority of all {report.model.voters}", "majority"
    if report.model.quota != majority(n_voters):
        by, first = "number of votes to change to turn the full vote", "votes to change"
    return table(
        f"Disagreement by {by}",
        [first, f"for {no}", f"for {yes}"],
        [
            [
                f"{place:,} of {n_voters:,}",
                *(_data(now, name) if name in now else "" for name in (f"no-{place}", f"yes-{place}")),
            ]
            for place, *_ in _close_votes(report)
        ],
    )


def _limit_table(report: Report) -> Html:
    labels = report.model.labels if len(report.model.labels) <= MOST_CLASSES else ()
    traded, limits = report.trade_off, report.trade_off.limits
    mean, has_loss = traded.texts.mean, report.recommended.accuracy_loss is not None
    # Name in `live`: heading. The limit is the first column, so it is not repeated.
    columns = {"loss": f"accuracy loss, {mean}"} if has_loss else {}
    columns["mean"] = f"differ, {mean}"
    if traded.loss == "accuracy":
        columns |= {f"class-{place}-loss": f"loss, class {label}" for place, label in enumerate(labels)}
    else:
        columns["at-most"] = "at most"
        if report.recommended.worst is not None:
            columns["worst"] = "hardest row"
        columns |= {f"class-{place}-mean": f"{mean} for {label}" for place, label in enumerate(labels)}
    rows, attributes = [], []
    for point in report.points:
        now = live(report, point)
        rows.append(
            [
                row_limit(report, point.limit) + (" each" if point.each_class else ""),
                f"{point.expected_votes:.2f}",
                *(now[name][1] for name in columns),
            ]
        )
        attributes.append(
            {
                "data_row": f"{'each' if point.each_class else 'all'}-{limits.index(point.limit)}",
                "class_": "current" if point is report.recommended else None,
            }
        )
    lost = f" and accuracy loss {BELOW_0}" if has_loss else ""
    return table(
        f"{report.model.voters.capitalize()} asked on average, disagreement{lost}, for every limit on the "
        f"{traded.texts.limited}",
        ["limit", report.model.voters, *columns.values()],
        rows,
        row_attributes=attributes,
    )


def _data(now: Live, name: str) -> Html:
    """Return a number that changes with the slider, with all digits in its value."""
    value, text = now[name]
    return tag("data", text, value="" if value is None else repr(float(value)), data_live=name)
