"""new_figure(): a figure that pyplot knows nothing about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foregone.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure"]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches; it changes nothing global and is freed like any object."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Drawing a picture") from None
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
