"""Drawing values by limit: a logarithmic axis has no zero, so a limit of 0 stands apart on the left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_by_limit", "furnish_limits", "rate_label"]

_APART = 1.4  # decades
_MARGIN = 0.35


def draw_by_limit(ax: Axes, limits: Sequence[float], values: Sequence[float], **style: Any) -> None:
    """Draw ``values`` at increasing ``limits``, with a line through all but the one at 0."""
    zeros = [(_place_of(0, limits), value) for limit, value in zip(limits, values, strict=True) if limit == 0]
    ax.plot(limits[len(zeros) :], values[len(zeros) :], **style)
    if zeros:
        ax.plot(*zip(*zeros, strict=True), **{**style, "label": None})


def furnish_limits(ax: Axes, limits: Sequence[float]) -> None:
    """Make the horizontal axis one of limits: logarithmic, with ticks at 0 and at powers of ten."""
    places = [_place_of(limit, limits) for limit in limits]
    ax.set_xscale("log")
    ax.set_xlim(min(places) / 10**_MARGIN, max(places) * 10**_MARGIN)
    ax.set_xticks(places, [rate_label(limit) for limit in limits])
    ax.minorticks_off()


def _place_of(limit: float, limits: Sequence[float]) -> float:
    """Return where a limit stands on the axis of all ``limits``: at itself, unless it is 0."""
    return limit if limit > 0 else min(one for one in limits if one > 0) / 10**_APART


def rate_label(rate: float) -> str:
    """Return a rate as text for a figure: 0, or a power of ten.

    Examples
    --------
    >>> rate_label(0.0), rate_label(1e-3)
    ('0', '$10^{-3}$')
    """
    return f"$10^{{{round(math.log10(rate), 6):g}}}$" if rate else "0"
