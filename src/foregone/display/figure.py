"""What all displays share: figures and axes, and what they take from a fitted classifier.

Nothing here is known to pyplot or changes a global style.
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

MANY_CLASSES = "with more than two classes, use SavingsDisplay.from_estimator, which shows the votes asked"


class Display:
    """What every display has once it is drawn.

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
    """Return an empty figure of so many inches; it changes nothing global and is freed like any object."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Drawing a picture") from None
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def take_axes(
    ax: Axes | Sequence[Axes] | None, n_panels: int, width: float, height: float
) -> tuple[Axes, ...]:
    """Return the axes to draw into: those given, or as many as there are panels in a new figure.

    One axes instead of several means the first panel alone.
    """
    if ax is None:
        return tuple(new_figure(width, height).subplots(1, n_panels, squeeze=False)[0])
    given: tuple[Any, ...] = (ax,) if hasattr(ax, "plot") else tuple(ax)
    if not 1 <= len(given) <= n_panels or not all(hasattr(one, "plot") for one in given):
        raise InvalidInputError(f"ax must be one axes, or a sequence of at most {n_panels}, got {ax!r}")
    return given


def tidy(ax: Axes) -> None:
    """Leave away what carries no information, and guide the eye along the values."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def count_drawn(ax: Axes, gid: str) -> int:
    """Return how many displays of this kind were drawn into the axes before."""
    return sum(artist.get_gid() == gid for artist in ax.get_children())


def legend_above(ax: Axes, columns: int) -> None:
    """Put the legend above the axes, where it covers nothing."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, handlelength=3, borderaxespad=0
    )


def fitted(estimator: Any, attribute: str) -> Any:
    """Return a fitted attribute. Raises InvalidInputError if the estimator has none."""
    if not hasattr(estimator, attribute):
        strategy = getattr(estimator, "strategy_", None)
        if attribute == "votes_" and isinstance(strategy, ScoreStrategy):
            if strategy.adds_by_class:
                raise InvalidInputError(
                    "This classifier follows the lead of one of many classes, so there are no yes votes to "
                    "draw: use EnvelopeDisplay or SavingsDisplay"
                )
            raise InvalidInputError(
                "This classifier adds up scores, so there are no yes votes to draw: use EnvelopeDisplay or "
                'SavingsDisplay, or fit it with voting="hard"'
            )
        raise InvalidInputError(
            f"{type(estimator).__name__} has no {attribute}: give a fitted EarlyStoppingClassifier, such as "
            "foregone.early_stop returns"
        )
    return getattr(estimator, attribute)


def vote_strategy(strategy: Any, display: str) -> StoppingStrategy:
    """Return the strategy. Raises InvalidInputError unless it counts votes between two answers."""
    if isinstance(strategy, StoppingStrategy):
        return strategy
    if isinstance(strategy, ScoreStrategy):
        hint = "a ScoreStrategy adds up scores; draw it with EnvelopeDisplay or SavingsDisplay"
    elif isinstance(strategy, PluralityStrategy):
        hint = f"a PluralityStrategy is for many answers; {MANY_CLASSES}"
    else:
        hint = f"not {type(strategy).__name__}; of a Solution, give its .strategy"
    raise InvalidInputError(f"{display} needs a StoppingStrategy, which counts votes: {hint}")
