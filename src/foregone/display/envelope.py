"""EnvelopeDisplay: plot of one or several stopping strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from foregone.checks import FloatArray, is_a
from foregone.display.figure import Display, count_drawn, fitted, legend_above, take_axes, vote_strategy
from foregone.display.shape import EnvelopeShape, ScoreShape, envelope_shape, score_shape
from foregone.display.styles import LINES
from foregone.errors import InvalidInputError
from foregone.scores import ScoreStrategy
from foregone.strategy import StoppingStrategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EnvelopeDisplay"]

AnyShape = EnvelopeShape | ScoreShape
_GID = "foregone-envelope"
_HEIGHTS = {
    "score": "running score",
    "class lead": "lead of the first class over the second",
    "distance": "distance of a class behind the leader",
}
LEADER = "stop: answer the leading class"


class EnvelopeDisplay(Display):
    """Plot of a stopping strategy: where it continues, and where it stops with which answer.

    The x axis is the number of votes asked, the y axis yes votes minus no votes (for a `ScoreStrategy` the
    running score; with a quota other than a majority, the yes votes above the quota's share of the votes
    asked). Between the two lines the strategy continues. On the upper line it stops and answers yes, on the
    lower one no.

    A `ScoreStrategy` for more than two classes has one line, for the lead of the first class over the second:
    on it and above, the answer is the leading class. If each class has its own voters, there is a line for
    each: a class that trails the leader by this distance is dropped, and the strategy stops when one class is
    left. A strategy with few looks has points instead of lines: it stops there and beyond. A diamond marks a
    randomised state. Create a display with `from_strategy` or `from_estimator`; draw several into the same
    axes to compare them.

    Parameters
    ----------
    shape : EnvelopeShape or ScoreShape
        The shape to draw, from `envelope_shape` or, for scores, `score_shape`.
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

    def __init__(self, shape: AnyShape, *, name: str | None = None) -> None:
        self.shape = shape
        self.name = name

    @classmethod
    def from_strategy(
        cls,
        strategy: StoppingStrategy | ScoreStrategy,
        ax: Axes | None = None,
        name: str | None = None,
        **options: Any,
    ) -> EnvelopeDisplay:
        """Compute the envelope of a strategy and draw it.

        Parameters
        ----------
        strategy : StoppingStrategy or ScoreStrategy
            The strategy to draw.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        name : str, optional
            Name in the legend.
        **options
            Passed on to `plot`.
        """
        shape: AnyShape
        if isinstance(strategy, ScoreStrategy):
            shape = score_shape(strategy)
        else:
            shape = envelope_shape(vote_strategy(strategy, cls.__name__))
        return cls(shape, name=name).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, ax: Axes | None = None, name: str | None = None, **options: Any
    ) -> EnvelopeDisplay:
        """Draw the strategy of a fitted classifier; the rest as in `from_strategy`."""
        return cls.from_strategy(fitted(estimator, "strategy_"), ax, name, **options)

    @classmethod
    def from_strategies(
        cls, strategies: Mapping[str, StoppingStrategy | ScoreStrategy], ax: Axes | None = None
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
        if not (is_a(strategies, Mapping) and strategies):
            raise InvalidInputError(
                f"strategies must be a mapping from names to at least one strategy, got {strategies!r}"
            )
        displays: list[EnvelopeDisplay] = []
        for name, strategy in strategies.items():
            displays.append(cls.from_strategy(strategy, displays[0].ax_ if displays else ax, name))
            if displays[-1].shape.share != displays[0].shape.share:
                raise InvalidInputError(
                    f"strategies in the same axes must have the same quota, but {name!r} and "
                    f"{displays[0].name!r} differ: use separate axes"
                )
        return displays

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        height: Literal["lead", "yes"] = "lead",
        answers: tuple[str, ...] = ("yes", "no"),
        fill: bool = True,
        furnish: bool = True,
        **line_options: Any,
    ) -> EnvelopeDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        name : str, optional
            Name in the legend, instead of the display's name.
        height : {"lead", "yes"}, default="lead"
            The y axis: "lead" for yes votes minus no votes (or yes votes above the quota's share), "yes" for
            yes votes. Scores always have running scores, or leads.
        answers : tuple of {"yes", "no"}
            Which of the two lines to draw; leads of many classes have only one.
        fill : bool, default=True
            Whether to shade the region where the strategy continues.
        furnish : bool, default=True
            Whether to set labels, limits, annotations and legend; use False if the calling code does this.
        **line_options
            Passed on to the lines (``color``, ``linestyle``, ``linewidth``, ...).
        """
        self._check(height, answers)
        if self._is_of_leads:
            answers = ("yes",)
        (ax,) = take_axes(ax, 1, 8, 4.6)
        drawn_before = count_drawn(ax, _GID)
        label = name if name is not None else self.name
        style = LINES[drawn_before % len(LINES)].line(**line_options)
        if fill:
            (asked_yes, lead_yes), (asked_no, lead_no) = self.shape.edge("yes"), self.shape.edge("no")
            outline = np.append(asked_yes, asked_no[::-1]), np.append(lead_yes, lead_no[::-1])
            ax.fill(*self._place(height, *outline), color=style["color"], alpha=0.08, linewidth=0)
        runs = {answer: self.shape.runs(answer) for answer in answers}
        for answer in answers:
            named: dict[str, Any] = {"label": label, "gid": _GID} if answer == answers[0] else {}
            ax.plot(*self._place(height, *_line(runs[answer])), **named, **style)
        looks = [run[0] for answer in answers for run in runs[answer] if len(run) == 1]
        chance = [state[:2] for state in self.shape.randomised if self._side(*state[:2]) in answers]
        over = style.get("zorder", 2) + 1
        if looks:
            x, y = self._place(height, *np.array(looks).T)
            ax.scatter(x, y, marker="o", s=20, color=style["color"], linewidth=0, zorder=over)
        if chance:
            x, y = self._place(height, *np.array(chance).T)
            size = (2.8 * style["linewidth"]) ** 2
            edge: dict[str, Any] = {"edgecolor": style["color"], "linewidth": 0.7 * style["linewidth"]}
            ax.scatter(x, y, marker="D", s=size, facecolor="white", zorder=over, **edge)
        if furnish:
            self._furnish(ax, height, is_first=drawn_before == 0, has_label=label is not None)
        return self._drawn_into(ax)

    def _place(self, height: str, asked: Any, lead: Any) -> tuple[Any, Any]:
        """Return the coordinates of states, given votes asked and lead."""
        return asked, (asked + lead) / 2 if height == "yes" else self.shape.heights(asked, lead)

    def _side(self, asked: float, lead: float) -> str:
        return "yes" if self.shape.heights(asked, lead) > 0 else "no"

    @property
    def _is_of_leads(self) -> bool:
        return isinstance(self.shape, ScoreShape) and self.shape.of_leads

    @property
    def _has_rounds(self) -> bool:
        return isinstance(self.shape, ScoreShape) and bool(self.shape.trailing)

    def _check(self, height: str, answers: tuple[str, ...]) -> None:
        if height not in ("lead", "yes") or (height == "yes" and isinstance(self.shape, ScoreShape)):
            raise InvalidInputError(f'height must be "lead" or, except for scores, "yes", got {height!r}')
        if not answers or not {*answers} <= {"yes", "no"}:
            raise InvalidInputError(f'answers must be ("yes",), ("no",) or ("yes", "no"), got {answers!r}')

    def _furnish(self, ax: Axes, height: str, *, is_first: bool, has_label: bool) -> None:
        """Draw the parts that all strategies in the axes share; extend the limits for this one."""
        shape = self.shape
        upwards = height == "lead" or isinstance(shape, ScoreShape)
        least = 1e-9 if isinstance(shape, ScoreShape) else 1.0
        low, high = shape.span
        room = 0.14 * (high - low)
        low, high = min(low - room, -least), max(high + room, least)
        if not upwards:
            low, high = 0.0, (shape.share + 0.12) * shape.n_voters + 1
        if self._is_of_leads:
            low = 0.0
        if is_first:
            middle = [0, 0] if upwards else [0, shape.share * shape.n_voters]
            ax.plot([0, shape.n_voters], middle, color="0.75", linewidth=0.8, zorder=0)
            ax.set_xlim(0, shape.n_voters * 1.01)
            ax.set_ylim(low, high)
            rounds = "rounds asked (one voter per class)"
            ax.set_xlabel(rounds if self._has_rounds else "votes asked")
            of_scores = "distance" if self._has_rounds else "class lead" if self._is_of_leads else "score"
            if isinstance(shape, ScoreShape):
                ax.set_ylabel(_HEIGHTS[of_scores])
            else:
                ax.set_ylabel("yes votes" if height == "yes" else shape.height_label)
            ax.spines[["top", "right"]].set_visible(False)
            if upwards:
                leads = "dropped: no more voters of this class are asked" if self._has_rounds else LEADER
                _write_words(ax, shape, leads if self._is_of_leads else None)
        ax.set_ylim(min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1]))
        if has_label:
            legend_above(ax, len(LINES))


def _line(runs: list[Any]) -> FloatArray:
    """Return the stops of one side as (asked, lead), with NaN where the line is interrupted."""
    gap = np.full((1, 2), np.nan)
    pieces = [part for run in runs for part in (gap, run)][1:]
    return np.concatenate(pieces).T if pieces else np.empty((2, 0))


def _write_words(ax: Axes, shape: AnyShape, of_leads: str | None) -> None:
    words: dict[str, Any] = {"color": "0.25", "ha": "right", "transform": ax.transAxes, "fontsize": "large"}
    if of_leads is not None:
        ax.text(0.985, 0.955, of_leads, va="top", **words)
    else:
        ax.text(0.985, 0.955, "stop: the answer is yes", va="top", **words)
        ax.text(0.985, 0.045, "stop: the answer is no", va="bottom", **words)
    ax.annotate(
        "continue", (shape.last_asked * 0.35, 0), (0, 3), textcoords="offset points",
        ha="center", va="bottom", color="0.25", fontsize="large",
    )  # fmt: skip
