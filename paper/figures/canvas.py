"""A sheet to draw a figure on: one look for all, the same bytes every time, no global style touched."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foregone._system.atomic_file import write_atomically
from foregone.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["INK", "PALE", "QUIET", "WIDTH", "furnish", "save", "sheet"]

WIDTH = 8.0  # inches, of every figure: their letters are of one size when they stand below each other
INK, QUIET, PALE = "#222222", "#5f5f5f", "#c8c8c8"  # text, lesser text, lines that only guide the eye

_LOOK: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 180,
    "svg.fonttype": "path",
    "svg.hashsalt": "foregone",  # else the names inside an SVG would be new every time
    "text.color": INK,
    "xtick.color": QUIET,
    "xtick.labelsize": 8,
    "ytick.color": QUIET,
    "ytick.labelsize": 8,
}


@contextmanager
def sheet(height: float, width: float = WIDTH) -> Iterator[Figure]:
    """Give an empty figure, and matplotlib's own style with our look until it is saved.

    It is drawn by Agg and unknown to pyplot, whatever backend and style the user has chosen.

    Parameters
    ----------
    height, width : float
        Size in inches.

    Examples
    --------
    >>> with sheet(2.0) as figure:
    ...     axes = figure.add_subplot()
    >>> figure.get_size_inches().tolist()
    [8.0, 2.0]
    """
    try:
        from matplotlib import style
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "paper", "Drawing a figure") from None
    with style.context(["default", _LOOK]):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.svg``, each whole or not at all; call it while the sheet is open.

    Returns
    -------
    list of Path
        The two files. The same figure gives the same bytes with the same matplotlib.
    """
    contents = {"png": _png(figure), "svg": _svg(figure)}
    for kind, content in contents.items():
        write_atomically(folder / f"{name}.{kind}", [content])
    return [folder / f"{name}.{kind}" for kind in contents]


def _png(figure: Figure) -> bytes:
    """Return the picture in 256 colours: a third of the size, and no eye sees the difference."""
    from PIL import Image

    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        packed, "png", optimize=True
    )
    return packed.getvalue()


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def furnish(ax: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Label the axes and put a faint grid behind the data."""
    ax.grid(True)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title)
