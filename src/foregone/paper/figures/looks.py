"""What stands for what in every figure: colours, dashes and markers of the approaches, words for rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from foregone.paper.results import Approach

__all__ = ["BLUE", "ORANGE", "Look", "look_of", "rate_label"]

# From the palette of Okabe and Ito, told apart by every kind of colour vision.
BLUE, GREEN, VERMILLION, ORANGE, BLACK = "#0072B2", "#009E73", "#D55E00", "#E69F00", "#333333"


@dataclass(frozen=True)
class Look:
    """How one approach is drawn: its criterion gives colour and marker, its votes give dashes and filling.

    Attributes
    ----------
    colour, marker : str
        Of the criterion; each differs from every other's, so that either alone is enough.
    dashes : Any
        Solid when solved for calibrated votes or needing none, dashed for flat votes.
    filled : bool
        Whether the marker is; hollow for flat votes.
    """

    colour: str
    marker: str
    dashes: Any
    filled: bool

    @property
    def line(self) -> dict[str, Any]:
        """Options of a line with markers."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
        }


_CRITERIA = {
    "minimax": (BLUE, "s"),
    "minimean": (GREEN, "o"),
    "minimixed": (VERMILLION, "^"),
    None: (BLACK, "X"),
}
_FLAT, _RULE = (0, (4, 1.5)), (0, (1, 1))


def look_of(approach: Approach) -> Look:
    """Return how ``approach`` is drawn.

    Examples
    --------
    >>> from foregone.paper.results import APPROACHES
    >>> len({look_of(approach) for approach in APPROACHES}) == len(APPROACHES)
    True
    """
    colour, marker = _CRITERIA[approach.criterion]
    if approach.criterion is None:
        return Look(colour, marker, _RULE, filled=True)
    solid = approach.calibrated or approach.criterion == "minimax"  # minimax asks for no votes
    return Look(colour, marker, "-" if solid else _FLAT, filled=solid)


def rate_label(rate: float) -> str:
    """Return a rate as text for a figure: a power of ten, or the number.

    Examples
    --------
    >>> rate_label(0.0), rate_label(1e-3), rate_label(0.02)
    ('0', '$10^{-3}$', '0.02')
    """
    if rate == 0:
        return "0"
    exponent = round(math.log10(rate), 6)
    return f"$10^{{{exponent:g}}}$" if (2 * exponent).is_integer() else f"{rate:g}"
