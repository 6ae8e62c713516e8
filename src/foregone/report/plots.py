"""The two plots of the page as SVG, and the parts of them that change with the slider."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foregone.checks import FloatArray
from foregone.planning import SolvedLimit
from foregone.report.markup import Html, tag
from foregone.report.phrases import percent, row_limit
from foregone.report.result import Report
from foregone.strategy.thresholds import majority

__all__ = ["draw_margins", "draw_risk", "draw_tradeoff", "look", "shows_exact"]

# Positions in the units of the view box, which phones show nearly one to one.
WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP = 58, 406, 32
BOTTOM = 256  # of the trade-off
RISK_BOTTOM, ROWS_TOP, ROWS_BOTTOM = 206, 216, 256  # of the margins, with the rows below them
SMALLEST = 1e-6  # of the risks drawn
MOST_POINTS = 160


def look(report: Report, point: SolvedLimit) -> dict[str, dict[str, str]]:
    """Return what changes in the plots at a position of the slider: attributes of elements, by id."""
    x, y = _x(report, point.limit), _y(point.expected_votes, _most_votes(report))
    now = {
        "now-line": {"x1": f"{x:.1f}", "x2": f"{x:.1f}"},
        "now-dot": {"cx": f"{x:.1f}", "cy": f"{y:.1f}"},
    }
    if point.by_yes is None:
        risk = f"{_risk_y(_lost(report, point), BOTTOM):.1f}"
        return {**now, "risk-now": now["now-line"], "risk-dot": {"cx": f"{x:.1f}", "cy": risk}}
    places = _risk_points(point.by_yes.disagreement)
    line, limit = _line(places), f"{_risk_y(point.limit):.1f}"
    now |= {
        "risk-line": {"d": line},
        "risk-area": {"d": f"{line} L{places[-1][0]:.1f} {RISK_BOTTOM} L{places[0][0]:.1f} {RISK_BOTTOM} Z"},
    }
    return now if report.trade_off.loss == "accuracy" else {**now, "limit-line": {"y1": limit, "y2": limit}}


def _lost(report: Report, point: SolvedLimit) -> float:
    """Return the disagreement or, with limits on accuracy, the accuracy loss."""
    return (point.accuracy_loss or 0.0) if report.trade_off.loss == "accuracy" else point.disagreement


def draw_tradeoff(report: Report) -> Html:
    """Draw expected votes against the limit."""
    most, chosen = _most_votes(report), report.recommended
    now = look(report, chosen)
    parts: list[Html] = []
    for value in _ticks(most):
        y = _y(value, most)
        parts += [_rule(y), _text(LEFT - 8, y + 4, f"{value:g}", "end")]
    exact = report.trade_off.exact_votes
    if exact is not None and shows_exact(report):
        y = _y(exact, most)
        parts += [
            tag("line", x1=LEFT, x2=RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="reference"),
            _text(RIGHT, y - 6, "never differ", "end"),
        ]
    parts += [
        *_limit_axis(report),
        tag("line", id="now-line", y1=TOP, y2=BOTTOM, class_="now", **now["now-line"]),
        *_curves(report, lambda point: _y(point.expected_votes, most)),
    ]
    ring = {name: now["now-dot"][name] for name in ("cx", "cy")}
    near_right = float(ring["cx"]) > LEFT + 0.76 * (RIGHT - LEFT)
    parts += [
        tag("circle", r=9, class_="ring", **ring),
        _text(
            float(ring["cx"]) + (-14 if near_right else 14),
            float(ring["cy"]) - 10 if float(ring["cy"]) > TOP + 30 else float(ring["cy"]) + 22,
            "recommended",
            "end" if near_right else "start",
        ),
        tag("circle", id="now-dot", r=5, class_="dot", **ring),
        _text(2, 12, f"{report.model.voters} asked on average", "start", "name"),
    ]
    places = [_x(report, limit) for limit in report.trade_off.limits]
    for place, (before, x, after) in enumerate(
        zip([LEFT, *places], places, [*places[1:], RIGHT], strict=False)
    ):
        start, end = (before + x) / 2, (x + after) / 2
        size = {"x": f"{start:.1f}", "width": f"{end - start:.1f}", "y": TOP, "height": BOTTOM - TOP}
        parts.append(tag("rect", class_="hit", data_point=place, **size))
    allowed = report.trade_off.texts.limited
    return _picture("tradeoff-title", f"Voters asked on average, against the allowed {allowed}", parts)


def draw_risk(report: Report) -> Html:
    """Draw the disagreement, or the accuracy loss and the disagreement, against the limit."""
    now, traded = look(report, report.recommended), report.trade_off
    mean, limits, in_accuracy = traded.texts.mean, traded.limits, traded.loss == "accuracy"
    allowed = _line([(_x(report, limit), _risk_y(limit, BOTTOM)) for limit in (limits[0], limits[-1])])
    differ: list[Html] = []
    if in_accuracy:
        one_limit = [point for point in report.points if not point.each_class]
        places = [(_x(report, point.limit), _risk_y(point.disagreement, BOTTOM)) for point in one_limit]
        differ = [
            tag("path", d=_line(places), class_="curve thin"),
            _text(places[-1][0], places[-1][1] - 10, "answers that differ", "end"),
        ]
    parts = [
        *_risk_axis(BOTTOM),
        *_limit_axis(report),
        tag("line", id="risk-now", y1=TOP, y2=BOTTOM, class_="now", **now["risk-now"]),
        tag("path", d=allowed, class_="curve limit"),
        *differ,
        *_curves(report, lambda point: _risk_y(_lost(report, point), BOTTOM)),
        tag("circle", id="risk-dot", r=5, class_="dot", **now["risk-dot"]),
        _text(2, 12, f"{'accuracy loss' if in_accuracy else 'answers that differ'}, {mean}", "start", "name"),
    ]
    what = "Accuracy loss and disagreement" if in_accuracy else "Disagreement"
    return _picture("risk-title", f"{what}, {mean}, against the allowed {traded.texts.limited}", parts)


def draw_margins(report: Report) -> Html:
    """Draw the disagreement by number of yes votes, with the number of rows below."""
    assert report.trade_off.votes is not None
    now, n_voters = look(report, report.recommended), report.model.n_voters
    no, yes = (_short(label) for label in report.model.labels)
    parts: list[Html | None] = [
        *_risk_axis(RISK_BOTTOM),
        tag("path", id="risk-area", class_="area", **now["risk-area"]),
        tag("path", id="risk-line", class_="curve", **now["risk-line"]),
        tag("line", id="limit-line", x1=LEFT, x2=RIGHT, class_="now", **now["limit-line"])
        if "limit-line" in now
        else None,
        tag("line", x1=LEFT, x2=RIGHT, y1=RISK_BOTTOM, y2=RISK_BOTTOM, class_="axis"),
    ]
    shares = _binned(report.trade_off.votes.probabilities, np.sum)
    width = (RIGHT - LEFT) / len(shares)
    for place, share in enumerate(shares):
        height = (ROWS_BOTTOM - ROWS_TOP) * math.sqrt(share / shares.max())
        if share > 0:
            parts.append(
                tag(
                    "rect",
                    x=f"{LEFT + place * width + 0.15 * width:.2f}",
                    width=f"{0.7 * width:.2f}",
                    y=f"{ROWS_BOTTOM - max(height, 0.8):.1f}",
                    height=f"{max(height, 0.8):.1f}",
                    class_="rows",
                )
            )
    parts += [
        tag("line", x1=LEFT, x2=RIGHT, y1=ROWS_BOTTOM, y2=ROWS_BOTTOM, class_="axis"),
        _text(LEFT - 8, ROWS_BOTTOM - 12, "rows", "end"),
        _text(LEFT, ROWS_BOTTOM + 17, "0", "start"),
        *_dividing_line(report),
        _text(RIGHT, ROWS_BOTTOM + 17, f"{n_voters}", "end"),
        _text(LEFT, HEIGHT - 6, f"← all vote {no}", "start", "name"),
        _text(RIGHT, HEIGHT - 6, f"all vote {yes} →", "end", "name"),
        _text(2, 12, "disagreement, by votes for " + yes, "start", "name"),
    ]
    title = "Disagreement by number of yes votes, with the number of calibration rows below"
    return _picture("margins-title", title, parts)


def _dividing_line(report: Report) -> list[Html]:
    """Mark where the full vote turns from no to yes; for a majority only the middle of the axis is named."""
    n_voters, quota = report.model.n_voters, report.model.quota or 0
    if quota == majority(n_voters):
        return [_text((LEFT + RIGHT) / 2, ROWS_BOTTOM + 17, f"{n_voters / 2:g}", "middle")]
    x = LEFT + (RIGHT - LEFT) * quota / (n_voters + 1)
    inside = min(max(x, LEFT + 24), RIGHT - 36)
    return [
        tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP, y2=ROWS_BOTTOM, class_="reference"),
        _text(inside, ROWS_BOTTOM + 17, f"{quota:,}", "middle"),
    ]


def _risk_axis(bottom: float) -> list[Html]:
    parts = []
    for power in range(-6, 1, 2):
        y = _risk_y(10.0**power, bottom)
        parts += [_rule(y), _text(LEFT - 8, y + 4, percent(float(f"1e{power}")), "end")]
    return parts


def _limit_axis(report: Report) -> list[Html]:
    parts = [tag("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM, class_="axis")]
    for limit in (float(f"1e{power}") for power in range(-5, 0)):
        if limit in report.trade_off.limits:
            x = _x(report, limit)
            parts += [
                tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=BOTTOM, y2=BOTTOM + 5, class_="axis"),
                _text(x, BOTTOM + 19, row_limit(report, limit), "middle"),
            ]
    name = f"allowed {report.trade_off.texts.limited}"
    return [*parts, _text((LEFT + RIGHT) / 2, HEIGHT - 6, name, "middle", "name")]


def _curves(report: Report, y: Callable[[SolvedLimit], float]) -> list[Html]:
    """Return a figure as a curve over all limits, and one over the limits for each class."""
    parts = []
    for each_class in (True, False):
        places = [
            (_x(report, point.limit), y(point)) for point in report.points if point.each_class == each_class
        ]
        if places:
            parts.append(tag("path", d=_line(places), class_="curve each" if each_class else "curve"))
    return parts


def _line(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if at else 'M'}{x:.1f} {y:.1f}" for at, (x, y) in enumerate(places))


def _picture(name: str, title: str, parts: Sequence[Html | None]) -> Html:
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", tag("title", title, id=name), *parts, viewBox=box, role="img", aria_labelledby=name)


def _rule(y: float) -> Html:
    return tag("line", x1=LEFT, x2=RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="rule")


def _text(x: float, y: float, words: str, anchor: str, kind: str | None = None) -> Html:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def _short(label: Any) -> str:
    words = str(label)
    return words if len(words) <= 14 else f"{words[:13]}…"


def _x(report: Report, limit: float) -> float:
    limits = report.trade_off.limits
    first, last = math.log10(limits[0]), math.log10(limits[-1])
    return LEFT + (RIGHT - LEFT) * (math.log10(limit) - first) / (last - first)


def _y(votes: float, most: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * votes / most


def _most_votes(report: Report) -> float:
    """Return the top of the vote axis: a round number above everything drawn."""
    exact = report.trade_off.exact_votes or 0.0
    drawn = max(_most_asked(report), exact if shows_exact(report) else 0.0)
    highest = max(min(1.05 * drawn, report.model.n_voters), 1.0)
    step = _step(highest)
    return math.ceil(highest / step) * step


def _most_asked(report: Report) -> float:
    return max(point.expected_votes for point in report.points)


def shows_exact(report: Report) -> bool:
    """Whether the cost of never differing fits on the plot without squeezing the rest."""
    exact = report.trade_off.exact_votes
    return exact is not None and exact < 2 * _most_asked(report)


def _ticks(most: float) -> list[float]:
    step = _step(most)
    return [step * place for place in range(int(most / step + 1e-9) + 1)]


def _step(highest: float) -> float:
    """Return a round step that divides an axis into about five."""
    rough = highest / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)


def _risk_y(risk: float, bottom: float = RISK_BOTTOM) -> float:
    depth = math.log10(max(risk, SMALLEST)) / math.log10(SMALLEST)
    return TOP + (bottom - TOP) * depth


def _risk_points(by_yes: FloatArray) -> list[tuple[float, float]]:
    risks = _binned(by_yes, np.max)
    width = (RIGHT - LEFT) / len(risks)
    return [(LEFT + (place + 0.5) * width, _risk_y(risk)) for place, risk in enumerate(risks.tolist())]


def _binned(values: Any, join: Any) -> Any:
    """Return the values, with neighbours merged if there are more than can be drawn."""
    if len(values) <= MOST_POINTS:
        return values
    return np.array([join(part) for part in np.array_split(values, MOST_POINTS)])
