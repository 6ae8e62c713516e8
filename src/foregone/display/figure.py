"""Helpers for all displays: figures and axes, and attributes of fitted classifiers.

Nothing here uses pyplot or changes global styles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from foregone.errors import InvalidInputError, MissingExtraError
from foregone.plurality import PluralityStrategy
from foregone.scores import ScoreStrategy
from foregone.strategy import StoppingStrategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MANY_CLASSES",
    "Display",
    "count_drawn",
    "fitted",
    "legend_above",
    "new_figure",
    "take_axes",
    "tidy",
    "vote_strategy",
]

MANY_CLASSES = "for more than two classes, use SavingsDisplay.from_estimator, which shows the votes asked"


class Display:
    """Base class of displays, with the attributes of a drawn one.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes drawn into; the first of several.
    """

    figure_: Figure
    ax_: Axes

    def _drawn_into(self, ax: Axes) -> Self:
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]  # a subfigure will do as well
        return self


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, with sizes in inches; it has no global state and is freed like any object."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Plotting") from None
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def take_axes(
    ax: Axes | Sequence[Axes] | None, n_panels: int, width: float, height: float
) -> tuple[Axes, ...]:
    """Return the axes to draw into: the given ones, or one per panel in a new figure.

    A single axes means only the first panel.
    """
    if ax is None:
        return tuple(new_figure(width, height).subplots(1, n_panels, squeeze=False)[0])
    given: tuple[Any, ...] = (ax,) if hasattr(ax, "plot") else tuple(ax)
    if not 1 <= len(given) <= n_panels or not all(hasattr(one, "plot") for one in given):
        raise InvalidInputError(f"ax must be an Axes, or a sequence of at most {n_panels} Axes, got {ax!r}")
    return given


def tidy(ax: Axes) -> None:
    """Remove unnecessary spines, and add horizontal grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def count_drawn(ax: Axes, gid: str) -> int:
    """Return how many displays of this kind were drawn into the axes before."""
    return sum(artist.get_gid() == gid for artist in ax.get_children())


def legend_above(ax: Axes, columns: int) -> None:
    """Put the legend above the axes, where it hides nothing."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, handlelength=3, borderaxespad=0
    )


def fitted(estimator: Any, attribute: str) -> Any:
    """Return a fitted attribute. Raises InvalidInputError if it is missing."""
    if not hasattr(estimator, attribute):
        strategy = getattr(estimator, "strategy_", None)
        if attribute == "votes_" and isinstance(strategy, ScoreStrategy):
            if strategy.adds_by_class:
                raise InvalidInputError(
                    "This classifier stops by the lead of a class, so it has no yes votes to plot. "
                    "Use EnvelopeDisplay or SavingsDisplay"
                )
            raise InvalidInputError(
                "This classifier sums scores, so it has no yes votes to plot: use EnvelopeDisplay or "
                'SavingsDisplay, or fit it with voting="hard"'
            )
        raise InvalidInputError(
            f"expected a fitted EarlyStoppingClassifier, got {type(estimator).__name__} without {attribute}: "
            "create one with foregone.early_stop"
        )
    return getattr(estimator, attribute)


def vote_strategy(strategy: Any, display: str) -> StoppingStrategy:
    """Return the strategy. Raises InvalidInputError unless it counts votes between two answers."""
    if isinstance(strategy, StoppingStrategy):
        return strategy
    if isinstance(strategy, ScoreStrategy):
        hint = "plot it with EnvelopeDisplay or SavingsDisplay"
    elif isinstance(strategy, PluralityStrategy):
        hint = MANY_CLASSES
    else:
        hint = "for a Solution, pass its .strategy"
    raise InvalidInputError(f"{display} needs a StoppingStrategy, got {type(strategy).__name__}: {hint}")
