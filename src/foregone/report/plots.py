"""The two pictures of the page as SVG, and how they look at each stop of the slider."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foregone.report.markup import Html, tag
from foregone.report.result import Report
from foregone.report.tradeoff import LIMITS, Stop
from foregone.report.words import percent

__all__ = ["draw_margins", "draw_tradeoff", "look", "shows_exact"]

# Where things are, in the units of the view box. Phones show them nearly one to one.
WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP = 58, 406, 32
BOTTOM = 256  # of the trade-off
RISK_BOTTOM, ROWS_TOP, ROWS_BOTTOM = 206, 216, 256  # of the margins, with the rows below them
SMALLEST = 1e-6  # of the risks drawn
MOST_POINTS = 160


def look(report: Report, stop: Stop) -> dict[str, dict[str, str]]:
    """Return what changes in the pictures at a stop: attributes of elements, by id."""
    x, y = _x(stop.limit), _y(stop.row.expected_votes, _most_votes(report))
    points = _risk_points(stop)
    line = " ".join(f"{'L' if place else 'M'}{px:.1f} {py:.1f}" for place, (px, py) in enumerate(points))
    limit = f"{_risk_y(stop.limit):.1f}"
    return {
        "now-line": {"x1": f"{x:.1f}", "x2": f"{x:.1f}"},
        "now-dot": {"cx": f"{x:.1f}", "cy": f"{y:.1f}"},
        "risk-line": {"d": line},
        "risk-area": {"d": f"{line} L{points[-1][0]:.1f} {RISK_BOTTOM} L{points[0][0]:.1f} {RISK_BOTTOM} Z"},
        "limit-line": {"y1": limit, "y2": limit},
    }


def draw_tradeoff(report: Report) -> Html:
    """Draw expected votes against the allowed disagreement."""
    most, chosen = _most_votes(report), report.recommended
    now = look(report, chosen)
    parts: list[Html] = []
    for value in _ticks(most):
        y = _y(value, most)
        parts += [_rule(y), _text(LEFT - 8, y + 4, f"{value:g}", "end")]
    for power in range(-5, 0):
        x = _x(10.0**power)
        parts += [
            tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=BOTTOM, y2=BOTTOM + 5, class_="axis"),
            _text(x, BOTTOM + 19, percent(float(f"1e{power}")), "middle"),
        ]
    if shows_exact(report):
        y = _y(report.exact_votes, most)
        parts += [
            tag("line", x1=LEFT, x2=RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="reference"),
            _text(RIGHT, y - 6, "never to differ", "end"),
        ]
    parts += [
        tag("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM, class_="axis"),
        tag("line", id="now-line", y1=TOP, y2=BOTTOM, class_="now", **now["now-line"]),
    ]
    for each_class in (True, False):
        stops = [stop for stop in report.stops if stop.each_class == each_class]
        if stops:
            points = [(_x(stop.limit), _y(stop.row.expected_votes, most)) for stop in stops]
            d = " ".join(f"{'L' if place else 'M'}{px:.1f} {py:.1f}" for place, (px, py) in enumerate(points))
            parts.append(tag("path", d=d, class_="curve each" if each_class else "curve"))
    ring = {name: now["now-dot"][name] for name in ("cx", "cy")}
    near_right = float(ring["cx"]) > (LEFT + RIGHT) / 2
    parts += [
        tag("circle", r=9, class_="ring", **ring),
        _text(
            float(ring["cx"]) + (-14 if near_right else 14),
            float(ring["cy"]) - 10 if float(ring["cy"]) > TOP + 30 else float(ring["cy"]) + 22,
            "recommended",
            "end" if near_right else "start",
        ),
        tag("circle", id="now-dot", r=5, class_="dot", **ring),
        _text((LEFT + RIGHT) / 2, HEIGHT - 6, "allowed disagreement", "middle", "name"),
        _text(2, 12, f"{report.subject.voters} asked on average", "start", "name"),
    ]
    for place, limit in enumerate(LIMITS):
        before = _x(LIMITS[place - 1]) if place else LEFT
        after = _x(LIMITS[place + 1]) if place + 1 < len(LIMITS) else RIGHT
        start, end = (before + _x(limit)) / 2, (_x(limit) + after) / 2
        size = {"x": f"{start:.1f}", "width": f"{end - start:.1f}", "y": TOP, "height": BOTTOM - TOP}
        parts.append(tag("rect", class_="hit", data_stop=place, **size))
    return _picture("tradeoff-title", "Votes asked on average, against the allowed disagreement", parts)


def draw_margins(report: Report) -> Html:
    """Draw the disagreement by how many of all voters say yes, and how many rows are there."""
    now, n_voters = look(report, report.recommended), report.subject.n_voters
    no, yes = (_short(label) for label in report.subject.labels)
    parts: list[Html] = []
    for power in range(-6, 1, 2):
        y = _risk_y(10.0**power)
        parts += [_rule(y), _text(LEFT - 8, y + 4, percent(float(f"1e{power}")), "end")]
    parts += [
        tag("path", id="risk-area", class_="area", **now["risk-area"]),
        tag("path", id="risk-line", class_="curve", **now["risk-line"]),
        tag("line", id="limit-line", x1=LEFT, x2=RIGHT, class_="now", **now["limit-line"]),
        tag("line", x1=LEFT, x2=RIGHT, y1=RISK_BOTTOM, y2=RISK_BOTTOM, class_="axis"),
    ]
    shares = _binned(report.plan.votes.probabilities, np.sum)
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
        _text((LEFT + RIGHT) / 2, ROWS_BOTTOM + 17, f"{n_voters / 2:g}", "middle"),
        _text(RIGHT, ROWS_BOTTOM + 17, f"{n_voters}", "end"),
        _text(LEFT, HEIGHT - 6, f"← all say {no}", "start", "name"),
        _text(RIGHT, HEIGHT - 6, f"all say {yes} →", "end", "name"),
        _text(2, 12, "disagreement, by votes for " + yes, "start", "name"),
    ]
    title = "Disagreement by how many voters say yes, with the number of calibration rows below"
    return _picture("margins-title", title, parts)


def _picture(name: str, title: str, parts: list[Html]) -> Html:
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", tag("title", title, id=name), *parts, viewBox=box, role="img", aria_labelledby=name)


def _rule(y: float) -> Html:
    return tag("line", x1=LEFT, x2=RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="rule")


def _text(x: float, y: float, words: str, anchor: str, kind: str | None = None) -> Html:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def _short(label: Any) -> str:
    words = str(label)
    return words if len(words) <= 14 else f"{words[:13]}…"


def _x(limit: float) -> float:
    first, last = math.log10(LIMITS[0]), math.log10(LIMITS[-1])
    return LEFT + (RIGHT - LEFT) * (math.log10(limit) - first) / (last - first)


def _y(votes: float, most: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * votes / most


def _most_votes(report: Report) -> float:
    """Return the top of the axis of votes: a round number above all that is drawn."""
    highest = 1.05 * max(_most_asked(report), report.exact_votes if shows_exact(report) else 0.0, 1.0)
    step = _step(highest)
    return math.ceil(highest / step) * step


def _most_asked(report: Report) -> float:
    return max(stop.row.expected_votes for stop in report.stops)


def shows_exact(report: Report) -> bool:
    """Whether the price of never differing is near enough to be drawn without crushing the rest."""
    return report.exact_votes < 2 * _most_asked(report)


def _ticks(most: float) -> list[float]:
    step = _step(most)
    return [step * place for place in range(int(most / step + 1e-9) + 1)]


def _step(highest: float) -> float:
    """Return a round step that divides an axis into about five."""
    rough = highest / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)


def _risk_y(risk: float) -> float:
    depth = math.log10(max(risk, SMALLEST)) / math.log10(SMALLEST)
    return TOP + (RISK_BOTTOM - TOP) * depth


def _risk_points(stop: Stop) -> list[tuple[float, float]]:
    risks = _binned(stop.evaluation.disagreement, np.max)
    width = (RIGHT - LEFT) / len(risks)
    return [(LEFT + (place + 0.5) * width, _risk_y(risk)) for place, risk in enumerate(risks.tolist())]


def _binned(values: Any, join: Any) -> Any:
    """Return the values, those of neighbours joined where there are more than can be drawn."""
    if len(values) <= MOST_POINTS:
        return values
    return np.array([join(part) for part in np.array_split(values, MOST_POINTS)])
