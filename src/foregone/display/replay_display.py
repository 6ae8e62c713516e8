"""ReplayDisplay: plot of calls against disagreement on recorded votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foregone.display.figure import Display, take_axes, tidy
from foregone.display.styles import LINES
from foregone.errors import InvalidInputError
from foregone.replaying import Replay, ReplayRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ReplayDisplay"]

_MARKERS = "osD^vPX*<>ph"
_LEAST = 1e-6  # smaller disagreement is left out: limits are never that small


class ReplayDisplay(Display):
    """Plot of the votes asked by each method, against its disagreement with the full vote.

    Lines show our methods as the limit varies. Markers show the replayed methods: ours in the colour of their
    line, other rules in black. Lower and further left is better. Create a display with `from_replay`.

    Parameters
    ----------
    replay : Replay
        The replay to draw. Methods that never disagree are left out, because the x axis is logarithmic.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes drawn into.
    """

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    @classmethod
    def from_replay(cls, replay: Replay, ax: Axes | None = None) -> ReplayDisplay:
        """Draw a replay, into given axes or a new figure."""
        if not isinstance(replay, Replay):
            raise InvalidInputError(f"replay must be a Replay, as returned by replay(), got {replay!r}")
        return cls(replay).plot(ax)

    def plot(self, ax: Axes | None = None) -> ReplayDisplay:
        """Draw it and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        """
        shown = [row for row in self.replay.rows if row.disagreement >= _LEAST]
        if not shown:
            raise InvalidInputError(
                "no replayed method ever disagrees, so there is nothing to plot: replay a larger limit"
            )
        (ax,) = take_axes(ax, 1, 10, 5.2)
        styles = {curve.label: style for curve, style in zip(self.replay.curves, LINES * 9, strict=False)}
        for curve in self.replay.curves:
            points = [
                (risk, calls)
                for risk, calls in zip(curve.disagreement, curve.calls, strict=True)
                if risk >= _LEAST
            ]
            if points:
                label = f"{curve.label}, as the limit varies"
                ax.plot(*zip(*points, strict=True), **styles[curve.label].line(linewidth=1.8, label=label))
        others = [row for row in shown if row.label not in styles]
        for row in shown:
            if row.label in styles:
                ax.plot(row.disagreement, row.calls, "o", color=styles[row.label].colour)
        for label, marker in zip(dict.fromkeys(row.label for row in others), _MARKERS * 9, strict=False):
            points = [(row.disagreement, row.calls) for row in others if row.label == label]
            face = "white" if _is_ours(others, label) else "#222222"
            ax.plot(
                *zip(*points, strict=True), marker, color="#222222", markerfacecolor=face, label=label,
                linestyle="none", markersize=7,
            )  # fmt: skip
        self._furnish(ax, most=max(row.calls for row in shown))
        return self._drawn_into(ax)

    def _furnish(self, ax: Axes, most: float) -> None:
        ax.set_xscale("log")
        ax.set_ylim(0, most * 1.15)  # lines may extend far above all replayed methods
        ax.set_xlabel("disagreement with the full vote, on items not used for calibration")
        ax.set_ylabel("calls per item")
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
        tidy(ax)
        ax.grid(axis="x", color="0.9", linewidth=0.8)


def _is_ours(rows: list[ReplayRow], label: str) -> bool:
    return any(row.is_ours for row in rows if row.label == label)
