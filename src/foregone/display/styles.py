"""Styles of all plots: colours, dashes, markers and hatches, and labels for rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BLACK",
    "BLUE",
    "CRITERIA",
    "LINES",
    "ORANGE",
    "OTHERS",
    "SIDES",
    "VERMILLION",
    "Style",
    "line_styles",
    "rate_label",
]

# From the palette of Okabe and Ito, which is safe for colour blindness.
BLUE, GREEN, VERMILLION, ORANGE, BLACK = "#0072B2", "#009E73", "#D55E00", "#E69F00", "#333333"
_PURPLE, _SKY, _GREY = "#7B3294", "#4C9BD0", "#777777"


@dataclass(frozen=True)
class Style:
    """Style of a series in a plot; within a family, each of the four attributes is distinct.

    Attributes
    ----------
    colour, marker : str
        As matplotlib takes them.
    dashes : Any
        Line style.
    hatch : str or None
        Fill pattern of areas.
    """

    colour: str
    dashes: Any
    marker: str
    hatch: str | None = None

    def line(self, **options: Any) -> dict[str, Any]:
        """Return the options of a line in this style, updated with the given ones."""
        return {"color": self.colour, "linestyle": self.dashes, "linewidth": 2.0, **options}


# Styles of series in the same axes, in order.
LINES = (
    Style(BLUE, "-", "o", None),
    Style(VERMILLION, (0, (5, 1.5)), "s", "////"),
    Style(GREEN, (0, (1, 1)), "^", "...."),
    Style(_PURPLE, (0, (6, 1.5, 1, 1.5)), "D", "\\\\\\\\"),
    Style("#555555", (0, (3, 1, 1, 1, 1, 1)), "v", "xxxx"),
)
CRITERIA = {
    "minimax": Style(BLUE, (0, (6, 1.2)), "s"),
    "minimean": Style(GREEN, "-", "o"),
    "minimixed": Style(VERMILLION, (0, (4, 1, 1, 1)), "^"),
}
# Styles of rules that the criteria are compared with.
OTHERS = (
    Style(BLACK, (0, (1, 1)), "X"),
    Style(_PURPLE, (0, (1, 1.6)), "D"),
    Style(ORANGE, (0, (1, 2.2)), "P"),
    Style(_SKY, (0, (2, 2)), "v"),
    Style(_GREY, (0, (3, 3)), "*"),
)
SIDES = {"no": Style(VERMILLION, (0, (5, 1.5)), "v", "////"), "yes": Style(BLUE, "-", "^", None)}


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return line options by name: criteria always have the same style, other names one by position.

    Examples
    --------
    >>> styles = line_styles(["Schwing", "minimax", "IBEP"])
    >>> styles["minimax"] == line_styles(["minimax"])["minimax"]
    True
    >>> len({style["marker"] for style in styles.values()})
    3
    """
    others = [name for name in names if name not in CRITERIA]
    styles = {name: CRITERIA.get(name) or OTHERS[others.index(name) % len(OTHERS)] for name in names}
    return {
        name: {
            "color": style.colour,
            "linestyle": style.dashes,
            "marker": style.marker,
            "linewidth": 1.8 if name in CRITERIA else 1.2,
        }
        for name, style in styles.items()
    }


def rate_label(rate: float) -> str:
    """Return a rate as a label in a plot: a power of ten, or the number.

    Examples
    --------
    >>> rate_label(0.0), rate_label(1e-3), rate_label(0.02)
    ('0', '$10^{-3}$', '0.02')
    """
    if rate == 0:
        return "0"
    exponent = round(math.log10(rate), 6)
    return f"$10^{{{exponent:g}}}$" if (2 * exponent).is_integer() else f"{rate:g}"
