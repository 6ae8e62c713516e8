"""ReplayDisplay: calls against disagreement on recorded votes, drawn with matplotlib."""

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
_LEAST = 1e-6  # rarer disagreement is left out: nobody's limit is that small


class ReplayDisplay(Display):
    """What each method asks, against how often it disagrees with the full vote.

    Lines are ours as the limit varies; markers are the methods that were replayed, ours in the colour of
    their line, rules in black. Further down and further left is better. Make one with `from_replay`.

    Parameters
    ----------
    replay : Replay
        What to draw. What never disagrees has no place on a logarithmic axis and is left out.

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
        """Draw it, into given axes or a new figure."""
        if not isinstance(replay, Replay):
            raise InvalidInputError(f"replay must be a Replay, as foregone replay makes it, got {replay!r}")
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
            raise InvalidInputError("nothing that was replayed ever disagrees, so there is nothing to draw")
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
        ax.set_ylim(0, most * 1.15)  # a line may lead far above all that was replayed
        ax.set_xlabel("disagreement with the full vote, measured on other items than calibrated with")
        ax.set_ylabel("calls per item")
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
        tidy(ax)
        ax.grid(axis="x", color="0.9", linewidth=0.8)


def _is_ours(rows: list[ReplayRow], label: str) -> bool:
    return any(row.is_ours for row in rows if row.label == label)
