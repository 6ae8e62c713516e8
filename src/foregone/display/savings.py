"""SavingsDisplay: histogram of the votes asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.display.figure import Display, count_drawn, fitted, take_axes, tidy, vote_strategy
from foregone.display.styles import LINES
from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import evaluate
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SavingsDisplay"]

_GID = "foregone-savings"
_MOST_BARS = 40


class SavingsDisplay(Display):
    """Histogram of the votes asked, with their mean and the number of voters.

    Create one from rows with `from_estimator`, from numbers of votes with `from_asked`, or exactly, without
    rows, with `from_strategy`.

    Parameters
    ----------
    shares : ndarray of float, shape (n_voters + 1,)
        ``shares[i]``: share of the rows for which exactly i votes are asked; they sum to one.
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
    >>> from foregone import VoteDistribution, solve
    >>> from foregone.display import SavingsDisplay
    >>> solution = solve("minimean", 101, 1e-3)
    >>> display = SavingsDisplay.from_strategy(solution.strategy, solution.votes)
    >>> round(display.mean, 3), round(display.speed_up, 1)
    (34.494, 2.9)
    """

    def __init__(self, shares: FloatArray, *, name: str | None = None) -> None:
        self.shares = shares
        self.name = name

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.shares) - 1

    @property
    def mean(self) -> float:
        """Mean number of votes asked."""
        return float(self.shares @ np.arange(len(self.shares)))

    @property
    def speed_up(self) -> float:
        """Number of voters divided by the mean number of votes asked."""
        return self.n_voters / self.mean if self.mean > 0 else float("inf")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        ax: Axes | None = None,
        name: str | None = None,
        *,
        n_voters: int | None = None,
        **options: Any,
    ) -> SavingsDisplay:
        """Predict rows with a fitted classifier, and draw the votes asked per row.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier whose ``predict_with_votes(X)`` returns labels, votes asked and more.
        X : array-like of shape (n_samples, n_features)
            The rows.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        name : str, optional
            Name in the legend.
        n_voters : int, optional
            Number of voters, if the classifier has no ``strategy_``.
        **options
            Passed on to `plot`.
        """
        asked = fitted(estimator, "predict_with_votes")(X)[1]
        if n_voters is None:
            n_voters = fitted(estimator, "strategy_").n_voters
        return cls.from_asked(asked, n_voters, ax, name, **options)

    @classmethod
    def from_asked(
        cls,
        asked: npt.ArrayLike,
        n_voters: int,
        ax: Axes | None = None,
        name: str | None = None,
        **options: Any,
    ) -> SavingsDisplay:
        """Draw given numbers of votes asked, one per row.

        Examples
        --------
        >>> SavingsDisplay.from_asked([1, 1, 3, 5], n_voters=5).mean
        2.5
        """
        seen = VoteDistribution.from_yes_counts(asked, n_voters)  # the same counting and checks
        return cls(seen.probabilities, name=name).plot(ax, **options)

    @classmethod
    def from_strategy(
        cls,
        strategy: StoppingStrategy,
        votes: VoteDistribution | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **options: Any,
    ) -> SavingsDisplay:
        """Compute the exact distribution of the votes that a strategy asks, and draw it.

        Parameters
        ----------
        strategy : StoppingStrategy
            The strategy.
        votes : VoteDistribution, optional
            Distribution of the votes; flat by default.
        ax, name, **options
            As in `from_estimator`.
        """
        strategy = vote_strategy(strategy, f"{cls.__name__}.from_strategy")
        if votes is None:
            votes = VoteDistribution.flat(strategy.n_voters)
        shares = evaluate(strategy).votes_asked(votes)
        return cls(shares / shares.sum(), name=name).plot(ax, **options)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, bin_width: int | None = None, **options: Any
    ) -> SavingsDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        name : str, optional
            Name in the legend, instead of the display's name.
        bin_width : int, optional
            Width of a bar in votes; by default the smallest with at most 40 bars.
        **options
            Passed on to the bars (``color``, ``hatch``, ...).
        """
        (ax,) = take_axes(ax, 1, 6.4, 4)
        place = count_drawn(ax, _GID)
        own = LINES[place % len(LINES)]
        edges, heights = self._bars(bin_width)
        label = name if name is not None else self.name
        colour = options.pop("color", own.colour)
        style: dict[str, Any] = {
            "facecolor": (colour, 0.35),
            "edgecolor": colour,
            "linestyle": own.dashes,
            "hatch": own.hatch,
            **options,
        }
        said = f"mean {self.mean:.1f} of {self.n_voters:,}"
        ax.stairs(
            heights, edges, fill=True, gid=_GID, linewidth=1.2,
            label=said if label is None else f"{label}: {said}", **style,
        )  # fmt: skip
        ax.axvline(self.mean, color=colour, linestyle=own.dashes, linewidth=2)
        if place == 0:
            tidy(ax)
            ax.set_xlim(min(edges[0], 0), edges[-1])
            ax.set_xlabel("votes asked")
            ax.set_ylabel("share of rows")
        ax.legend(frameon=False, loc="best")
        ax.set_ylim(0, max(heights.max() * 1.08, ax.get_ylim()[1] if place else 0))
        return self._drawn_into(ax)

    def _bars(self, bin_width: int | None) -> tuple[FloatArray, FloatArray]:
        """Return edges and heights of the bars, from 0 votes if they occur, otherwise from 1."""
        if bin_width is not None and (isinstance(bin_width, bool) or bin_width < 1):
            raise InvalidInputError(f"bin_width must be an integer of at least 1, got {bin_width!r}")
        first = 0 if self.shares[0] > 1e-12 else 1
        numbers = len(self.shares) - first
        width = bin_width or -(-numbers // _MOST_BARS)
        starts = np.arange(first, len(self.shares), width)
        heights: FloatArray = np.add.reduceat(self.shares, starts)
        return np.append(starts, starts[-1] + width) - 0.5, heights
