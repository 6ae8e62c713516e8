"""MonitorDisplay: plot of what a monitor has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from foregone.display.figure import Display, legend_above, new_figure, take_axes, tidy
from foregone.display.monitor_curves import (
    EvidenceCurve,
    VoteSpread,
    evidence_curves,
    join_rare_classes,
    spreads_of,
)
from foregone.display.styles import BLACK, LINES, Style
from foregone.errors import InvalidInputError
from foregone.monitoring import Alarm, Monitor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MonitorDisplay"]

KINDS: dict[str, tuple[str, Style]] = {
    "spread": ("spread (votes and answers)", LINES[0]),
    "disagreement": ("disagreement of audited rows", LINES[1]),
}
ALARMS = {
    "closer": "votes are closer",
    "clearer": "votes are clearer",
    "class": "a class is more frequent",
    "disagreement": "too many answers differ",
    "accuracy": "too much accuracy is lost",
    "cost": "costs rise too much",
}
ROWS = {
    "calibration rows": Style(BLACK, (0, (5, 1.5)), "|"),
    "recent rows": LINES[0],
    "all rows": LINES[2],
}
_QUIET: dict[str, Any] = {"color": "0.3", "fontsize": "small"}
_NOTE: dict[str, Any] = {"ha": "center", "va": "center", "color": "0.3"}
LEAST = 1e-3  # smaller evidence is drawn at this value


class MonitorDisplay(Display):
    """Plot of a monitor: evidence of a change, and what has changed.

    The first panel shows the evidence of each kind over the rows seen, and the threshold of an alarm. An
    alarm is marked, and ends its line. The second panel shows the cumulative share of rows that stopped by
    number of votes, for calibration rows and recent rows: the larger the distance between the curves, the
    larger the change; votes are closer where the curve of recent rows is lower. The third panel shows the
    share of rows answered with each class; beyond eight classes, the rarest are joined. Create a display with
    `from_monitor`.

    Parameters
    ----------
    evidence : sequence of EvidenceCurve
        The evidence to draw.
    spreads : sequence of VoteSpread
        The votes and answers to draw.
    classes : sequence
        The labels, in the order of their numbers.
    n_rows, n_audited : int
        Rows seen, and rows with a full vote.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes of the evidence.
    axes_ : tuple of matplotlib.axes.Axes
        All axes drawn into: evidence, votes and answers, or as many of them as were given.

    Examples
    --------
    >>> from foregone.certifying import Promise
    >>> from foregone.display import MonitorDisplay
    >>> from foregone.monitoring import Monitor, Stops
    >>> promise = Promise("classifier", "disagreement", 0.001, 0.95, 0.0008, 16_000)
    >>> stops = Stops.count([3] * 900 + [9] * 100, [0] * 1000, n_voters=11, n_classes=2)
    >>> monitor = Monitor(promise, reference=stops).update([3, 3, 9], labels=[False, False, True])
    >>> display = MonitorDisplay.from_monitor(monitor)
    >>> [spread.name for spread in display.spreads], [ax.get_ylabel() for ax in display.axes_[:2]]
    (['calibration rows', 'recent rows'], ['evidence of a change', 'share of rows stopped'])
    """

    axes_: tuple[Axes, ...]

    def __init__(
        self,
        evidence: Sequence[EvidenceCurve],
        spreads: Sequence[VoteSpread],
        classes: Sequence[Any],
        *,
        n_rows: int,
        n_audited: int,
    ) -> None:
        self.evidence: tuple[EvidenceCurve, ...] = tuple(evidence)
        self.spreads: tuple[VoteSpread, ...] = tuple(spreads)
        self.classes: tuple[Any, ...] = tuple(classes)
        self.n_rows = n_rows
        self.n_audited = n_audited

    @classmethod
    def from_monitor(
        cls, monitor: Monitor, ax: Axes | Sequence[Axes] | None = None, *, all_rows: bool = False
    ) -> MonitorDisplay:
        """Draw what a monitor has seen so far.

        Parameters
        ----------
        monitor : Monitor
            The monitor to draw.
        ax : matplotlib.axes.Axes, or a sequence of up to three, optional
            Axes for the evidence, the votes and the answers; a new figure with all three by default.
        all_rows : bool, default=False
            Whether to also draw the votes of all rows since the start.
        """
        if not isinstance(monitor, Monitor):
            raise InvalidInputError(
                f"monitor must be a Monitor, such as from classifier.monitor(), got {monitor!r}"
            )
        display = cls(
            evidence_curves(monitor),
            spreads_of(monitor, all_rows=all_rows),
            monitor.classes,
            n_rows=monitor.state.n_rows,
            n_audited=monitor.state.n_audited,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> MonitorDisplay:
        """Draw it and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of up to three, optional
            Axes for the evidence, the votes and the answers; a new figure (not one of pyplot's) by default.
        """
        if ax is None:
            ax = self._new_axes()
        axes = take_axes(ax, 3, 9, 6.8)
        for draw, one in zip((self._draw_evidence, self._draw_votes, self._draw_answers), axes, strict=False):
            draw(one)
        self.axes_ = axes
        return self._drawn_into(axes[0])

    def _new_axes(self) -> list[Axes]:
        figure = new_figure(9, 6.8 if self.spreads else 4.6)
        figure.set_layout_engine("constrained", wspace=0.05)
        ratios: dict[str, Any] = {"width_ratios": [1.7, 1]} if self.spreads else {"height_ratios": [5, 1]}
        return list(figure.subplot_mosaic("EE;VA" if self.spreads else "E;V", **ratios).values())

    # Evidence --------------------------------------------------------------------------------

    def _draw_evidence(self, ax: Axes) -> None:
        levels = sorted({curve.threshold for curve in self.evidence})
        alarms = [curve.alarm for curve in self.evidence if curve.alarm is not None]
        latest = max(self.n_rows, *(curve.times[-1] for curve in self.evidence))
        ax.set_yscale("log")
        ax.set_ylim(0.02, levels[-1] * (2e3 if alarms else 12))
        ax.set_xlim(0, max(latest, 1) * 1.01)
        for curve in self.evidence:
            name, style = KINDS[curve.kind]
            values = np.maximum(curve.values, LEAST)
            ax.plot(curve.times, values, label=name, drawstyle="steps-post", **style.line())
            self._draw_threshold(ax, curve.threshold, BLACK if len(levels) == 1 else style.colour, levels)
            if curve.alarm is not None:
                self._mark(ax, curve.alarm, curve.times[-1], 0.8 if curve.kind == "spread" else 0.7)
        tidy(ax)
        ax.locator_params(axis="x", integer=True)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.minorticks_off()
        audited = f"{self.n_audited:,} audited"
        ax.set_xlabel(
            f"rows ({self.n_rows:,} seen, {audited})" if self._has_rows else f"audits ({audited} rows)"
        )
        ax.set_ylabel("evidence of a change")
        legend_above(ax, 2)
        if latest == 0:
            ax.text(0.5, 0.4, "no rows yet", transform=ax.transAxes, **_NOTE)
            ax.set_xticks([])

    @property
    def _has_rows(self) -> bool:
        """Whether the x axis counts rows; False if rows were only audited."""
        return self.n_rows > 0 or self.n_audited == 0

    def _draw_threshold(self, ax: Axes, level: float, colour: str, levels: Sequence[float]) -> None:
        """Draw the threshold of an alarm, once if it is the same for both kinds."""
        if any(line.get_gid() == f"{level}" for line in ax.lines):
            return
        ax.axhline(level, color=colour, linestyle=(0, (1, 2)), linewidth=1.2, zorder=1, gid=f"{level}")
        is_highest = level == levels[-1]
        ax.annotate(
            f"alarm at {level:,.0f}", (0.008, level), (0, 2 if is_highest else -2), color=colour,
            xycoords=ax.get_yaxis_transform(), textcoords="offset points", fontsize="small",
            va="bottom" if is_highest else "top",
        )  # fmt: skip

    def _mark(self, ax: Axes, alarm: Alarm, time: float, height: float) -> None:
        """Mark an alarm, with a short description at a separate height."""
        style, is_late = KINDS[alarm.kind][1], time > 0.55 * ax.get_xlim()[1]
        after = f", after {alarm.time:,} rows" if self._has_rows else ""
        mark: dict[str, Any] = {"color": style.colour, "markeredgecolor": "white", "markersize": 8}
        ax.plot(time, alarm.threshold, style.marker, **mark)
        ax.annotate(
            f"{ALARMS.get(alarm.what, alarm.what)}{after}", (time, height), (-6 if is_late else 6, 0),
            xycoords=ax.get_xaxis_transform(), textcoords="offset points", ha="right" if is_late else "left",
            va="top", color=style.colour, fontsize="small",
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1},
        )  # fmt: skip

    # Votes and answers -----------------------------------------------------------------------

    def _draw_votes(self, ax: Axes) -> None:
        if not self.spreads:
            ax.text(
                0.5, 0.5, "Spread is not watched:\nthere are no calibration rows.",
                transform=ax.transAxes, **_NOTE,
            )  # fmt: skip
            ax.set_axis_off()
            return
        n_voters = len(self.spreads[0].stopped) - 1
        places = np.arange(n_voters + 2)
        for spread in self.spreads:
            heights = np.append(spread.stopped, 1.0)
            label = f"{spread.name}: {spread.mean_asked:.1f} on average"
            style = ROWS[spread.name].line(linewidth=1.8)
            ax.plot(places, heights, drawstyle="steps-post", label=label, **style)
        if len(self.spreads) > 1:
            then, now = (np.append(spread.stopped, 1.0) for spread in self.spreads[:2])
            ax.fill_between(places, then, now, step="post", color=LINES[0].colour, alpha=0.1, linewidth=0)
        ax.set_xscale("function", functions=(_log_of_more, np.expm1))
        ax.set_xlim(0, n_voters)
        ticks = _votes_ticks(n_voters)
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.set_ylim(0, 1.02)
        ax.yaxis.set_major_formatter(_percent)
        tidy(ax)
        ax.set_xlabel("votes asked (logarithmic scale)")
        ax.set_ylabel("share of rows stopped")
        legend_above(ax, 1)

    def _draw_answers(self, ax: Axes) -> None:
        spreads = [spread for spread in self.spreads if spread.name != "all rows"]
        if not spreads:
            ax.set_axis_off()
            return
        names, shares = join_rare_classes(self.classes, spreads)
        places, height = np.arange(len(names)), min(0.6, 0.14 * len(names))
        for spread, widths in zip(spreads, shares, strict=True):
            style = ROWS[spread.name]
            if spread.name == "recent rows":
                ax.barh(places, widths, height, color=(style.colour, 0.35), edgecolor=style.colour)
            else:
                low, high = places - 0.7 * height, places + 0.7 * height
                ax.vlines(widths, low, high, color=style.colour, linewidth=2.2, zorder=3)
        ax.set_yticks(places, names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(0, min(1.12 * max(widths.max() for widths in shares), 1.05))
        ax.xaxis.set_major_formatter(_percent)
        ax.locator_params(axis="x", nbins=4)
        tidy(ax)
        ax.grid(visible=False, axis="y")
        ax.grid(axis="x", color="0.9", linewidth=0.8)
        ax.set_xlabel("share of rows with each answer")
        bars = "bars: recent rows\n" if len(spreads) > 1 else ""
        ax.set_title(f"{bars}marks: calibration rows", loc="left", **_QUIET)


def _percent(share: float, _: float) -> str:
    return f"{100 * share:.3g} %"


def _log_of_more(votes: Any) -> Any:
    """Return log(1 + votes), so that 0 is finite; matplotlib also passes values below 0."""
    return np.log1p(np.maximum(votes, -0.5))


def _votes_ticks(n_voters: int) -> list[int]:
    """Return round numbers of votes and the number of voters, without ticks that would overlap."""
    steps = [0, *(digit * 10**power for power in range(7) for digit in (1, 2, 5))]
    return [*(step for step in steps if 1.45 * (step + 1) <= n_voters + 1), n_voters]
