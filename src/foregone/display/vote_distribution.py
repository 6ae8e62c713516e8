"""VoteDistributionDisplay: histograms of the number of yes votes, by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, is_a
from foregone.display.figure import MANY_CLASSES, Display, fitted, legend_above, take_axes, tidy
from foregone.display.styles import BLUE, ORANGE
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution
from foregone.strategy.thresholds import check_quota
from foregone.votes import VoteDistribution, check_votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["VoteDistributionDisplay"]

_FILLS = ((ORANGE, "////"), (BLUE, None))  # of no and yes
_NO_YES_VOTES = f"Votes among more than two classes have no yes votes to plot: {MANY_CLASSES}"
_TICKS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


class VoteDistributionDisplay(Display):
    """Histograms of the number of yes votes, one for each of two classes.

    The y axis has a square-root scale, so that rare values remain visible.

    Parameters
    ----------
    shares : mapping of str to ndarray of shape (n_voters + 1,)
        Name of the class (no first) -> shares: ``shares[name][n]`` is the share of rows with exactly n yes
        votes.
    share_of : {"class", "all"}
        Whether shares are of the rows of each class, so that each class sums to one, or of all rows.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes drawn into.

    Examples
    --------
    >>> from foregone import VoteDistribution
    >>> from foregone.display import VoteDistributionDisplay
    >>> display = VoteDistributionDisplay.from_votes(VoteDistribution.from_counts([6, 1, 1, 2]))
    >>> {name: shares.tolist() for name, shares in display.shares.items()}
    {'full vote no': [0.6, 0.1, 0.0, 0.0], 'full vote yes': [0.0, 0.0, 0.1, 0.2]}
    """

    def __init__(
        self, shares: Mapping[str, FloatArray], *, share_of: Literal["class", "all"] = "class"
    ) -> None:
        if share_of not in ("class", "all"):
            raise InvalidInputError(f'share_of must be "class" or "all", got {share_of!r}')
        if not isinstance(shares, Mapping):
            raise InvalidInputError(f"shares must be a mapping from class to shares, got {shares!r}")
        self.shares: dict[str, FloatArray] = dict(shares)
        if len(self.shares) > len(_FILLS) or len({len(row) for row in self.shares.values()}) != 1:
            sizes = {name: len(row) for name, row in self.shares.items()}
            raise InvalidInputError(
                f"shares must have one or two classes, with n_voters + 1 numbers each, got sizes {sizes}"
            )
        self.share_of = share_of

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(next(iter(self.shares.values()))) - 1

    @classmethod
    def from_votes(
        cls, votes: VoteDistribution, ax: Axes | None = None, *, quota: int | None = None, **options: Any
    ) -> VoteDistributionDisplay:
        """Draw a distribution of votes, by the answer of the full vote.

        Parameters
        ----------
        votes : VoteDistribution
            Distribution of the votes.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        quota : int, optional
            Smallest number of yes votes for which the full vote is yes; by default a majority.
        **options
            Passed on to `plot`.
        """
        if is_a(votes, CompositionDistribution):
            raise InvalidInputError(_NO_YES_VOTES)
        n_voters = check_votes(votes).n_voters
        says_yes = np.arange(n_voters + 1) >= check_quota(quota, n_voters)
        parts = {"full vote no": ~says_yes, "full vote yes": says_yes}
        shares = {name: np.where(side, votes.probabilities, 0.0) for name, side in parts.items()}
        return cls(shares, share_of="all").plot(ax, **options)

    @classmethod
    def from_yes_counts(
        cls,
        yes_counts: npt.ArrayLike,
        y: npt.ArrayLike,
        n_voters: int,
        ax: Axes | None = None,
        *,
        classes: npt.ArrayLike | None = None,
        share_of: Literal["class", "all"] = "class",
        **options: Any,
    ) -> VoteDistributionDisplay:
        """Draw the numbers of yes votes on rows, by the true class of the rows.

        Parameters
        ----------
        yes_counts : array-like of int, shape (n_rows,)
            Number of yes votes of all voters.
        y : array-like of shape (n_rows,)
            True class of each row.
        n_voters : int
            Number of voters.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        classes : array-like of two labels, optional
            Labels for no and yes; by default those found in ``y``, sorted.
        share_of : {"class", "all"}, default="class"
            Whether each class sums to one, or both classes together.
        **options
            Passed on to `plot`.
        """
        counts, labels = np.asarray(yes_counts), np.asarray(y)
        VoteDistribution.from_yes_counts(counts, n_voters)  # checks them
        if labels.shape != counts.shape:
            raise InvalidInputError(
                f"y must have one label for each of {len(counts)} rows, got shape {labels.shape}"
            )
        known = np.unique(labels) if classes is None else np.asarray(classes)
        if known.shape != (2,) or not np.isin(labels, known).all():
            raise InvalidInputError(f"y must have labels of two classes, got {np.unique(labels)[:5]}")
        shares = {}
        for label in known:
            of_it = np.bincount(counts[labels == label].astype(np.int64), minlength=n_voters + 1)
            shares[f"true class {label}"] = of_it / max(
                of_it.sum() if share_of == "class" else len(counts), 1
            )
        return cls(shares, share_of=share_of).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> VoteDistributionDisplay:
        """Draw the numbers of yes votes of a fitted classifier.

        Parameters
        ----------
        estimator : EarlyStoppingClassifier
            A fitted classifier.
        X, y : array-like, optional
            Rows and their true classes; all voters are asked about them. Without them, the calibration rows
            are drawn, by the answer of the full vote.
        ax, **options
            As in `from_votes` and `from_yes_counts`.
        """
        if (X is None) != (y is None):
            raise InvalidInputError(
                "X and y must be given together: pass both, or neither for calibration rows"
            )
        if X is None:
            quota = getattr(fitted(estimator, "strategy_"), "quota", None)
            return cls.from_votes(fitted(estimator, "votes_"), ax, quota=quota, **options)
        n_voters = fitted(estimator, "votes_").n_voters
        yes = fitted(estimator, "full_votes")(X)
        if np.ndim(yes) != 1:
            raise InvalidInputError(_NO_YES_VOTES)
        return cls.from_yes_counts(yes, y, n_voters, ax, classes=estimator.classes_, **options)

    def plot(self, ax: Axes | None = None, *, furnish: bool = True) -> VoteDistributionDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        furnish : bool, default=True
            Whether to set labels and legend; use False if the calling code does this.
        """
        (ax,) = take_axes(ax, 1, 7, 4)
        edges = np.arange(self.n_voters + 2) - 0.5
        for (name, row), (colour, hatch) in zip(self.shares.items(), _FILLS, strict=False):
            ax.stairs(
                row, edges, fill=True, facecolor=f"{colour}59", edgecolor=colour, hatch=hatch, label=name
            )
        highest = max(row.max() for row in self.shares.values()) or 1.0
        ax.set_yscale("function", functions=(_root, np.square))
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(0, 1.1 * highest)
        ticks = [0.0, *(tick for tick in _TICKS if 0.015 * highest < tick < 1.1 * highest)]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        if furnish:
            tidy(ax)
            ax.set_xlabel("voters that say yes")
            whose = "of its class" if self.share_of == "class" else "of all rows"
            ax.set_ylabel(f"share {whose} (square-root scale)")
            legend_above(ax, 2)
        return self._drawn_into(ax)


def _root(share: FloatArray) -> FloatArray:
    root: FloatArray = np.sqrt(np.maximum(share, 0))  # matplotlib also passes values below 0
    return root
