"""Figure S1: time to find a minimax strategy, against the number of voters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paper.figures.canvas import INK, furnish, save, sheet
from paper.results import Results, Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_TICKS = (3, 5, 10, 20, 50, 100, 200, 500, 1000)
_METHODS = {  # name, colour, marker: not those of the approaches, which have nothing to do with it
    "quadratic_program": ("the paper's quadratic\nprogram, on SCIP", "#AA4499", "^"),
    "linear_program": ("the paper's linear\nprogram, on HiGHS", "#4C9BD0", "s"),
    "dual": ("foregone", INK, "o"),
}


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw seconds on logarithmic scales; what ran into its time limit is hollow, with an arrow up.

    Nothing is drawn without timings.
    """
    if not results.timings:
        return []
    with sheet(4.4) as figure:
        ax = figure.add_subplot()
        furnish(ax, x="voters", y="seconds to find the strategy")
        ax.set_xscale("log")
        ax.set_yscale("log")
        for method in _METHODS:
            timings = sorted((t for t in results.timings if t.method == method), key=lambda t: t.n_voters)
            if timings:
                _draw_method(ax, timings)
        sizes = [timing.n_voters for timing in results.timings]
        ax.set_xlim(min(sizes) * 0.9, max(sizes) * 2)  # room for the words at the ends
        ax.set_xticks([size for size in _TICKS if min(sizes) <= size <= max(sizes)])
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.minorticks_off()
        ax.set_ylim(top=2.5 * ax.get_ylim()[1])
        return save(figure, folder, "figS1")


def _draw_method(ax: Axes, timings: Sequence[Timing]) -> None:
    label, colour, marker = _METHODS[timings[0].method]
    done = [timing for timing in timings if timing.finished]
    points = [timing.n_voters for timing in done], [timing.seconds for timing in done]
    ax.plot(*points, color=colour, marker=marker, markersize=4)
    unfinished = [timing for timing in timings if not timing.finished]
    if unfinished:
        label += f"\n(hollow: not finished in {unfinished[0].seconds:,.0f} s)"
    for timing in unfinished:
        place = timing.n_voters, timing.seconds
        arrow = {"arrowstyle": "<-", "color": colour}
        ax.annotate("", place, (0, 20), textcoords="offset points", arrowprops=arrow)
        ax.plot(*place, marker=marker, markersize=5, color=colour, markerfacecolor="white")
    end = timings[-1].n_voters, timings[-1].seconds
    ax.annotate(label, end, (9, 0), textcoords="offset points", color=colour, va="center", linespacing=1.2)
