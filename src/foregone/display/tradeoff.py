"""TradeoffDisplay: what each limit costs and risks, drawn with matplotlib in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from foregone.display.figure import new_figure
from foregone.errors import InvalidInputError
from foregone.planning import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TradeoffDisplay"]

# Told apart by every kind of colour vision, and by marker and dash when printed in black and white.
_SIDES = {"yes": ("#D55E00", "^"), "no": ("#0072B2", "v")}
_ALL = "#222222"
_WORST: dict[str, Any] = {"linestyle": (0, (2, 1.5)), "linewidth": 1.3, "markerfacecolor": "white"}


class TradeoffDisplay:
    """The trade-off of a plan: on the left what each limit costs, on the right what it risks.

    Left: expected votes against the allowed disagreement, the speed-up beside each point. Right:
    the disagreement of inputs whose full vote is yes and of those whose full vote is no, mean and worst, and
    the limit itself. The recommended limit is marked in both. Make one with `from_plan`.

    Parameters
    ----------
    plan : Plan
        What to draw. Limits of 0 have no place on a logarithmic axis and are left out.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : tuple of two matplotlib.axes.Axes
        Axes drawn into: votes, risk.

    Examples
    --------
    >>> from foregone import plan
    >>> from foregone.display import TradeoffDisplay
    >>> display = TradeoffDisplay.from_plan(plan(11, [0.1, 0.01, 0.001], confidence=None))
    >>> [ax.get_ylabel() for ax in display.ax_]
    ['expected votes', 'disagreement']
    """

    figure_: Figure
    ax_: tuple[Axes, Axes]

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def from_plan(cls, plan: Plan, ax: Sequence[Axes] | None = None) -> TradeoffDisplay:
        """Draw a plan, into two given axes or a new figure."""
        return cls(plan).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> TradeoffDisplay:
        """Draw it and return the display itself.

        Parameters
        ----------
        ax : sequence of two matplotlib.axes.Axes, optional
            Axes for the votes and for the risk; a new figure (not one of pyplot's) by default.
        """
        if not any(row.limit > 0 for row in self.plan.rows):
            raise InvalidInputError("the plan has no limit above 0 that could be drawn: plan for more")
        if ax is None:
            first, second = new_figure(11, 4.8).subplots(1, 2)
        elif len(ax) == 2:
            first, second = ax
        else:
            raise InvalidInputError(f"ax must be two axes, for the votes and for the risk, not {len(ax)}")
        self._draw_votes(first)
        self._draw_risk(second)
        for one in (first, second):
            self._furnish(one)
        self.ax_ = (first, second)
        self.figure_ = first.figure
        return self

    def _draw_votes(self, ax: Axes) -> None:
        rows, n_voters = [row for row in self.plan.rows if row.limit > 0], self.plan.n_voters
        limits, votes = [row.limit for row in rows], [row.expected_votes for row in rows]
        ax.plot(limits, votes, color=_ALL, marker="o", linewidth=1.8)
        ax.set_ylim(0, max(votes) * 1.18 or 1)
        for row in rows:
            speed = f"{row.speed_up:.2g} x" if row.speed_up < 10 else f"{row.speed_up:,.0f} x"
            label = speed if row.expected_votes else "nobody"
            ax.annotate(
                label, (row.limit, row.expected_votes), (5, 5), textcoords="offset points",
                ha="left", color="0.3", fontsize="small",
            )  # fmt: skip
        ax.set_ylabel("expected votes")
        ax.set_title(f"What it costs, of {n_voters:,} votes (and speed-up)", loc="left", fontsize="medium")
        ax.margins(x=0.1)
        chosen = self.plan.chosen
        if chosen.limit > 0:
            ax.annotate(
                "recommended", (chosen.limit, 0.995), (-4, 0), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", rotation=90, ha="right", va="top", color="0.35", fontsize="small",
            )  # fmt: skip
        budgets = self.plan.class_budgets
        if budgets is not None and chosen.limit > 0:
            ax.plot(
                [chosen.limit], [budgets.expected_votes], marker="D", color=_ALL, markerfacecolor="white",
                linestyle="none", label="the limit for each class",
            )  # fmt: skip
            ax.set_ylim(0, max(*votes, budgets.expected_votes) * 1.18)
            ax.legend(frameon=False, loc="lower left")

    def _draw_risk(self, ax: Axes) -> None:
        rows = [row for row in self.plan.rows if row.limit > 0]
        names = dict(zip(("no", "yes"), self.plan.labels or ("no", "yes"), strict=True))
        limits = [row.limit for row in rows]
        ax.plot(limits, limits, color="0.6", linewidth=1, label="the limit")
        for side, (colour, marker) in _SIDES.items():
            mean = [(row.limit, risk) for row in rows if (risk := row.by_class[side])]
            worst = [(row.limit, row.worst_by_class[side]) for row in rows if row.worst_by_class[side]]
            for points, kind, style in ((mean, "mean", {"linewidth": 1.8}), (worst, "worst", _WORST)):
                if points:
                    label = f"{names[side]}, {kind}"
                    ax.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label, **style)
        ax.set_yscale("log")
        ax.set_ylabel("disagreement")
        ax.set_title("What it risks, by what the full vote says", loc="left", fontsize="medium")
        ax.legend(frameon=False, fontsize="small", loc="best")

    def _furnish(self, ax: Axes) -> None:
        ax.set_xscale("log")
        ax.set_xlabel("allowed disagreement")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        if self.plan.chosen.limit > 0:
            ax.axvline(self.plan.chosen.limit, color="0.45", linestyle=(0, (1, 2)), linewidth=1.2, zorder=0)
