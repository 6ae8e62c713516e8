"""Drawing values by limit: a logarithmic axis has no zero, so a limit of 0 stands apart on the left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from foregone.display.styles import rate_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_by_limit", "furnish_limits", "place_of"]

_APART = 1.4  # decades
_MARGIN = 0.35


def place_of(limit: float, limits: Sequence[float]) -> float:
    """Return where a limit stands on the axis of all ``limits``: at itself, unless it is 0.

    Examples
    --------
    >>> place_of(0.01, [0, 0.001, 0.01]), round(place_of(0, [0, 0.001, 0.01]), 7)
    (0.01, 3.98e-05)
    """
    if limit > 0:
        return limit
    return min((one for one in limits if one > 0), default=1.0) / 10**_APART


def draw_by_limit(
    ax: Axes, given: Sequence[float], values: Sequence[float], limits: Sequence[float], **style: Any
) -> None:
    """Draw ``values`` at the ``given`` limits, a line through all but that at 0.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw into.
    given, values : sequences of float
        Limits and what to draw there.
    limits : sequence of float
        All limits of the axes.
    **style
        Options of the line.
    """
    points = sorted(zip(given, values, strict=True))
    ax.plot(
        [limit for limit, _ in points if limit > 0], [value for limit, value in points if limit > 0], **style
    )
    at_zero = [(place_of(0, limits), value) for limit, value in points if limit == 0]
    if at_zero:
        ax.plot(*zip(*at_zero, strict=True), **{**style, "label": None})


def furnish_limits(ax: Axes, limits: Sequence[float]) -> None:
    """Make the horizontal axis one of limits: logarithmic, ticks at powers of ten, and at 0 if it is one."""
    places = [place_of(limit, limits) for limit in limits]
    positive = sorted(limit for limit in limits if limit > 0)
    first, last = (math.log10(limit) for limit in (positive[0], positive[-1]))
    ticks = [10.0**power for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]
    if len(ticks) < 2:
        ticks = positive
    if min(limits) == 0:
        ticks = [0.0, *ticks]
    ax.set_xscale("log")
    ax.set_xlim(min(places) / 10**_MARGIN, max(places) * 10**_MARGIN)
    ax.set_xticks([place_of(tick, limits) for tick in ticks], [rate_label(tick) for tick in ticks])
    ax.minorticks_off()
