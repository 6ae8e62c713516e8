"""RiskDisplay: plot of disagreement and votes asked, for every outcome of the full vote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from foregone.checks import IntArray
from foregone.display.figure import Display, count_drawn, fitted, legend_above, take_axes, tidy, vote_strategy
from foregone.display.styles import LINES
from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.strategy.thresholds import majority

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHARES", "RiskDisplay", "majorities", "spread", "votes_to_turn"]

_GID = "foregone-risk"
_BY = {"yes": "voters that say yes", "margin": "margin of the full vote (majority minus minority)"}
_TO_TURN = "votes that would have to change to change the full vote"
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # positions between the closest majority and all voters
_LOWEST = 1e-12  # smaller values are left out on a logarithmic scale


class RiskDisplay(Display):
    """Plot of a strategy's risk and costs, by how close the full vote is.

    One panel shows the disagreement, the other the expected votes. Both are exact for every outcome of the
    full vote, given by the number of yes votes or by the margin of the majority. With margins, the larger of
    the two values with the same margin is shown; with a quota other than a majority, the margin is the number
    of votes that would have to change to change the full vote. Values are means over random orders of the
    voters; for a certified classifier in its own order, see its ``promise_``. The plot shows that close votes
    have nearly all of the risk, which a mean over rows hides. Create a display with `from_strategy` or
    `from_estimator`; draw several into the same axes to compare them.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation to draw, from `foregone.evaluate`.
    name : str, optional
        Name in the legend.
    max_disagreement : float, optional
        A limit to draw next to the disagreement.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes of the disagreement.
    axes_ : tuple of matplotlib.axes.Axes
        All axes drawn into: disagreement, and expected votes unless only one was given.

    Examples
    --------
    >>> from foregone import solve
    >>> from foregone.display import RiskDisplay
    >>> display = RiskDisplay.from_strategy(solve("minimean", 101, 1e-3).strategy, name="minimean")
    >>> round(display.evaluation.worst().disagreement, 4)
    0.0185
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['disagreement', 'expected votes']
    """

    axes_: tuple[Axes, ...]

    def __init__(
        self, evaluation: Evaluation, *, name: str | None = None, max_disagreement: float | None = None
    ) -> None:
        self.evaluation = evaluation
        self.name = name
        self.max_disagreement = max_disagreement

    @classmethod
    def from_strategy(
        cls,
        strategy: StoppingStrategy,
        ax: Axes | Sequence[Axes] | None = None,
        name: str | None = None,
        *,
        max_disagreement: float | None = None,
        **options: Any,
    ) -> RiskDisplay:
        """Evaluate a strategy and draw it.

        Parameters
        ----------
        strategy : StoppingStrategy
            The strategy to draw.
        ax : matplotlib.axes.Axes, or a sequence of two, optional
            Axes for the disagreement, and for the votes; a new figure with both by default.
        name : str, optional
            Name in the legend.
        max_disagreement : float, optional
            A limit to draw next to the disagreement.
        **options
            Passed on to `plot`.
        """
        evaluation = evaluate(vote_strategy(strategy, cls.__name__))
        return cls(evaluation, name=name, max_disagreement=max_disagreement).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        ax: Axes | Sequence[Axes] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> RiskDisplay:
        """Draw the strategy of a fitted classifier, and its limit if it holds for every single row."""
        strategy = vote_strategy(fitted(estimator, "strategy_"), cls.__name__)
        promise = fitted(estimator, "promise_")
        if promise.loss == "disagreement of every row" and not isinstance(promise.limit, dict):
            options.setdefault("max_disagreement", promise.limit)
        return cls.from_strategy(strategy, ax, name, **options)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        name: str | None = None,
        by: Literal["yes", "margin"] = "yes",
        log: bool = False,
        **line_options: Any,
    ) -> RiskDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of two, optional
            Axes for the disagreement, and for the votes; a new figure (not one of pyplot's) by default.
        name : str, optional
            Name in the legend, instead of the display's name.
        by : {"yes", "margin"}, default="yes"
            The x axis: the number of yes votes, or the margin of the majority.
        log : bool, default=False
            Whether to use a logarithmic scale for the disagreement, without values below 1e-12.
        **line_options
            Passed on to the lines.
        """
        if by not in _BY:
            raise InvalidInputError(f'by must be "yes" or "margin", got {by!r}')
        axes = take_axes(ax, 2, 10.5, 4)
        place = count_drawn(axes[0], _GID)
        style = LINES[place % len(LINES)].line(**line_options)
        label = name if name is not None else self.name
        panels = (
            (self.evaluation.disagreement, "disagreement"),
            (self.evaluation.expected_votes, "expected votes"),
        )
        strategy = self.evaluation.strategy
        n_voters, quota = strategy.n_voters, strategy.quota
        has_majority = quota == majority(n_voters)
        for one, (values, title) in zip(axes, panels, strict=False):
            x, height = _by_margin(values, quota) if by == "margin" else (np.arange(n_voters + 1), values)
            last = n_voters if by == "yes" else int(x[-1])
            if title == "disagreement" and log:
                x, height = x[height >= _LOWEST], height[height >= _LOWEST]
            one.plot(x, height, label=label, gid=_GID, **style)
            if place == 0:
                tidy(one)
                one.set_xlabel(_BY[by] if has_majority or by == "yes" else _TO_TURN)
                one.set_ylabel(title)
                one.set_xlim(0, last)
                if not has_majority and by == "yes":
                    _mark_quota(one, quota)
        self._mark(axes, place, log)
        if label is not None:
            legend_above(axes[0], len(LINES))
        self.axes_ = axes
        return self._drawn_into(axes[0])

    def _mark(self, axes: tuple[Axes, ...], place: int, log: bool) -> None:
        """Set the scales and draw the limit."""
        if self.max_disagreement:
            axes[0].axhline(self.max_disagreement, color="0.45", linestyle=(0, (1, 2)), linewidth=1.2)
            axes[0].annotate(
                f"limit {self.max_disagreement:g}", (1, self.max_disagreement), (-3, 3),
                xycoords=axes[0].get_yaxis_transform(), textcoords="offset points", ha="right", va="bottom",
                color="0.35", fontsize="small", bbox={"facecolor": (1, 1, 1, 0.7), "linewidth": 0, "pad": 0},
            )  # fmt: skip
        if log:
            axes[0].set_yscale("log")
        else:
            highest = max(axes[0].dataLim.y1, 2 * (self.max_disagreement or 0), 1e-9)
            axes[0].set_ylim(0, max(1.05 * highest, axes[0].get_ylim()[1] if place else 0))
        if len(axes) > 1:
            axes[1].set_ylim(0, max(self.evaluation.strategy.n_voters * 1.03, axes[1].get_ylim()[1]))


def _mark_quota(ax: Axes, quota: int) -> None:
    ax.axvline(quota - 0.5, color="0.75", linewidth=0.8, zorder=0)
    ax.annotate(
        f"yes from {quota}", (quota - 0.5, 1), (3, -3), xycoords=ax.get_xaxis_transform(),
        textcoords="offset points", ha="left", va="top", color="0.35", fontsize="small",
    )  # fmt: skip


def _by_margin(values: Any, quota: int) -> tuple[Any, Any]:
    """Return every margin of a full vote once, with the larger of its two values."""
    n_voters = len(values) - 1
    if quota != majority(n_voters):
        distances = votes_to_turn(n_voters, quota)
        largest = np.zeros(distances.max() + 1)
        np.maximum.at(largest, distances, values)
        return np.arange(1, len(largest)), largest[1:]
    margins = np.arange(n_voters % 2, n_voters + 1, 2)
    return margins, np.maximum(values[(n_voters + margins) // 2], values[(n_voters - margins) // 2])


def majorities(n_voters: int, shares: Iterable[float] = SHARES, also: Iterable[int] = ()) -> list[int]:
    """Return distinct sizes of a majority, from the closest (half, for a tie) to all voters.

    Examples
    --------
    >>> majorities(101)
    [51, 52, 54, 56, 61, 76, 101]
    """
    return spread(n_voters - n_voters // 2, n_voters, shares, also)


def spread(first: int, last: int, shares: Iterable[float] = SHARES, also: Iterable[int] = ()) -> list[int]:
    """Return distinct integers at these relative positions between the first and the last."""
    return sorted({*(first + int(np.ceil(share * (last - first))) for share in shares), *also})


def votes_to_turn(n_voters: int, quota: int) -> IntArray:
    """Return how many votes would have to change to change the full vote, for each number of yes votes.

    Examples
    --------
    >>> votes_to_turn(5, 2)
    array([2, 1, 1, 2, 3, 4])
    """
    n_yes = np.arange(n_voters + 1)
    return np.where(n_yes >= quota, n_yes - quota + 1, quota - n_yes)
