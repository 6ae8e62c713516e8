"""EnvelopeDisplay: one or several strategies drawn with matplotlib, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from foregone.display.figure import new_figure
from foregone.display.shape import EnvelopeShape, envelope_shape
from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.votes import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EnvelopeDisplay"]

# Told apart by every kind of colour vision, and by dash and lightness when printed in black and white.
_LINES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (5, 1.5))),
    ("#009E73", (0, (1, 1))),
    ("#7B3294", (0, (6, 1.5, 1, 1.5))),
    ("#555555", (0, (3, 1, 1, 1, 1, 1))),
)
_GID = "foregone-envelope"


class EnvelopeDisplay:
    """Envelope of a stopping strategy: where it goes on, where it stops and with which answer.

    Votes asked from left to right, yes votes minus no votes from bottom to top. Between the two lines it
    goes on asking; on the upper line it stops and answers yes, on the lower one no. A strategy that looks
    only now and then has points instead of lines: it stops there and beyond. A diamond marks a state where
    chance decides. Make one with `from_strategy`; draw several into the same axes to compare them.

    Parameters
    ----------
    shape : EnvelopeShape
        What to draw, as `envelope_shape` computes it.
    name : str, optional
        Name in the legend.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes drawn into.

    Examples
    --------
    >>> from foregone.display import EnvelopeDisplay
    >>> from foregone.rules import curtailment, lead
    >>> display = EnvelopeDisplay.from_strategy(curtailment(11), name="curtailment")
    >>> both = EnvelopeDisplay.from_strategy(lead(11, k=3), ax=display.ax_, name="lead of 3")
    >>> both.figure_ is display.figure_
    True
    """

    figure_: Figure
    ax_: Axes

    def __init__(self, shape: EnvelopeShape, *, name: str | None = None) -> None:
        self.shape = shape
        self.name = name

    @classmethod
    def from_strategy(
        cls,
        strategy: StoppingStrategy,
        ax: Axes | None = None,
        name: str | None = None,
        **line_options: Any,
    ) -> EnvelopeDisplay:
        """Compute the envelope of a strategy and draw it.

        Parameters
        ----------
        strategy : StoppingStrategy
            What to draw.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        name : str, optional
            Name in the legend.
        **line_options
            Passed on to the lines (``color``, ``linestyle``, ``linewidth``, ...).
        """
        return cls(envelope_shape(strategy), name=name).plot(ax, **line_options)

    @classmethod
    def from_strategies(
        cls, strategies: Mapping[str, StoppingStrategy], ax: Axes | None = None
    ) -> list[EnvelopeDisplay]:
        """Draw several strategies, by name, into the same axes.

        Examples
        --------
        >>> from foregone import solve
        >>> criteria = ("minimax", "minimixed", "minimean")
        >>> strategies = {name: solve(name, 11, 0.1).strategy for name in criteria}
        >>> [display.name for display in EnvelopeDisplay.from_strategies(strategies)]
        ['minimax', 'minimixed', 'minimean']
        """
        if not strategies:
            raise InvalidInputError("strategies is empty: give at least one to draw")
        displays: list[EnvelopeDisplay] = []
        for name, strategy in strategies.items():
            displays.append(cls.from_strategy(strategy, displays[0].ax_ if displays else ax, name))
        return displays

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_options: Any
    ) -> EnvelopeDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        name : str, optional
            Name in the legend, instead of the display's own.
        **line_options
            Passed on to the lines.
        """
        ax = new_figure(8, 4.6).add_subplot() if ax is None else ax
        drawn_before = sum(line.get_gid() == _GID for line in ax.lines)
        colour, dashes = _LINES[drawn_before % len(_LINES)]
        style = {"color": colour, "linestyle": dashes, "linewidth": 2.0, **line_options}
        label = name if name is not None else self.name
        (asked_yes, lead_yes), (asked_no, lead_no) = self.shape.edge("yes"), self.shape.edge("no")
        outline = np.append(asked_yes, asked_no[::-1]), np.append(lead_yes, lead_no[::-1])
        ax.fill(*outline, color=style["color"], alpha=0.08, linewidth=0)
        ax.plot(*_line(self.shape, "yes"), label=label, gid=_GID, **style)
        ax.plot(*_line(self.shape, "no"), **style)
        looks = [run[0] for answer in ("yes", "no") for run in self.shape.runs(answer) if len(run) == 1]
        if looks:
            ax.scatter(
                [asked for asked, _ in looks],
                [lead for _, lead in looks],
                marker="o", s=20, color=style["color"], linewidth=0, zorder=3,
            )  # fmt: skip
        chance = self.shape.randomised
        if chance:
            ax.scatter(
                [asked for asked, _, _ in chance],
                [lead for _, lead, _ in chance],
                marker="D", s=30, facecolor="white", edgecolor=style["color"], linewidth=1.3, zorder=3,
            )  # fmt: skip
        if drawn_before == 0:
            _furnish(ax, self.shape)
        largest = max(self.shape.largest_lead, 1) * 1.28
        ax.set_ylim(min(-largest, ax.get_ylim()[0]), max(largest, ax.get_ylim()[1]))
        if label is not None:
            ax.legend(
                loc="lower left", bbox_to_anchor=(0, 1), ncols=len(_LINES), frameon=False, handlelength=3
            )
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]  # a subfigure will do as well
        return self


def _line(shape: EnvelopeShape, answer: str) -> FloatArray:
    """Return the stops of one side as (asked, lead), with a gap of NaN wherever a line would claim more."""
    gap = np.full((1, 2), np.nan)
    pieces = [part for run in shape.runs(answer) for part in (gap, run)][1:]
    return np.concatenate(pieces).T if pieces else np.empty((2, 0))


def _furnish(ax: Axes, shape: EnvelopeShape) -> None:
    """Draw what belongs to the axes rather than to one strategy."""
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set_xlim(0, shape.n_voters * 1.01)
    ax.set_ylim(-1, 1)
    ax.set_xlabel("votes asked")
    ax.set_ylabel("yes votes minus no votes")
    ax.spines[["top", "right"]].set_visible(False)
    words: dict[str, Any] = {"color": "0.25", "ha": "right", "transform": ax.transAxes, "fontsize": "large"}
    ax.text(0.985, 0.955, "stop: the answer is yes", va="top", **words)
    ax.text(0.985, 0.045, "stop: the answer is no", va="bottom", **words)
    ax.annotate(
        "go on asking", (shape.last_asked * 0.35, 0), (0, 3), textcoords="offset points",
        ha="center", va="bottom", color="0.25", fontsize="large",
    )  # fmt: skip
