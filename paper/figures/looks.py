"""What stands for what in every figure: colours, dashes and markers of the approaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paper.results import Approach, Criterion

__all__ = ["Look", "look_of"]


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


# From the palette of Okabe and Ito, told apart by every kind of colour vision: those of foregone.display.
_CRITERIA: dict[Criterion, tuple[str, str]] = {
    "minimax": ("#0072B2", "s"),
    "minimean": ("#009E73", "o"),
    "minimixed": ("#D55E00", "^"),
}
_RULE = Look("#333333", "X", (0, (1, 1)), filled=True)
_FLAT = (0, (4, 1.5))


def look_of(approach: Approach) -> Look:
    """Return how ``approach`` is drawn.

    Examples
    --------
    >>> from paper.results import APPROACHES
    >>> len({look_of(approach) for approach in APPROACHES}) == len(APPROACHES)
    True
    """
    if approach.criterion is None:
        return _RULE
    colour, marker = _CRITERIA[approach.criterion]
    solid = approach.calibrated or approach.criterion == "minimax"  # minimax asks for no votes
    return Look(colour, marker, "-" if solid else _FLAT, filled=solid)
