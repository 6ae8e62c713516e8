"""TradeoffDisplay: plot of the costs and risks of each limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foregone.display.figure import fitted, take_axes, tidy
from foregone.display.styles import LINES, SIDES, line_styles, rate_label
from foregone.display.tradeoff_curves import TradeoffCurve, baseline_curves, plan_curve
from foregone.errors import InvalidInputError
from foregone.planning import Plan, plan
from foregone.solving import Criterion, Problem
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TradeoffDisplay"]

_WORST: dict[str, Any] = {"linestyle": (0, (2, 1.5)), "linewidth": 1.3, "markerfacecolor": "white"}
# A logarithmic axis has no zero, so a limit of 0 is drawn separately, this many decades to the left.
_APART = 1.4
_MARGIN = 0.35
_SMALL: dict[str, Any] = {"textcoords": "offset points", "color": "0.3", "fontsize": "small"}


class TradeoffDisplay:
    """Plot of the costs and risks of each limit.

    One panel shows the expected votes, by allowed disagreement or loss of accuracy. The other shows the
    disagreement: for a single plan by class, mean and (if known) worst; for several curves the mean of each.
    For a plan with limits on accuracy it shows the loss of accuracy, for all inputs and for each true class
    (gains are drawn as 0), and the disagreement. A limit of 0 is drawn separately on the left. The
    recommended limit of a plan is marked. Create a display with `from_plan`, `from_estimator` or
    `from_votes`.

    Parameters
    ----------
    curves : sequence of TradeoffCurve
        The curves to draw.
    n_voters : int
        Number of voters.
    plan : Plan, optional
        The plan of the first curve; its recommendation is marked.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes of the votes.
    axes_ : tuple of matplotlib.axes.Axes
        All axes drawn into: votes, and disagreement unless only one was given.

    Examples
    --------
    >>> from foregone import plan
    >>> from foregone.display import TradeoffDisplay
    >>> display = TradeoffDisplay.from_plan(plan(11, [0.1, 0.01, 0.001], confidence=None))
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['expected votes', 'disagreement']
    >>> display = TradeoffDisplay.from_votes(11, [0.1, 0.01], criteria=["minimean"])
    >>> [curve.name for curve in display.curves]
    ['minimean', 'Schwing', 'IBEP', 'e-process', 'curtailment']
    """

    figure_: Figure
    ax_: Axes
    axes_: tuple[Axes, ...]

    def __init__(self, curves: Sequence[TradeoffCurve], n_voters: int, *, plan: Plan | None = None) -> None:
        self.curves: tuple[TradeoffCurve, ...] = tuple(curves)
        self.n_voters = n_voters
        self.plan = plan
        if not any(limit > 0 for curve in self.curves for limit in curve.limits):
            raise InvalidInputError("there is no limit above 0 to plot: give at least one")

    @classmethod
    def from_plan(
        cls, plan: Plan, ax: Axes | Sequence[Axes] | None = None, *, baselines: bool = False, **options: Any
    ) -> TradeoffDisplay:
        """Draw a plan.

        Parameters
        ----------
        plan : Plan
            The plan to draw.
        ax : matplotlib.axes.Axes, or a sequence of two, optional
            Axes for the votes, and for the disagreement; a new figure with both by default.
        baselines : bool, default=False
            Whether to also draw the baseline rules; only for votes between two answers.
        **options
            Passed on to `plot`.
        """
        if not isinstance(plan, Plan):
            raise InvalidInputError(f"plan must be a Plan, as returned by foregone.plan, got {plan!r}")
        others = _usual_rules(plan) if baselines else []
        return cls([plan_curve(plan), *others], plan.n_voters, plan=plan).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        limits: Iterable[float] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        baselines: bool = False,
        **options: Any,
    ) -> TradeoffDisplay:
        """Draw the plan of a fitted classifier, for its calibration rows or for ``X``; see `from_plan`.

        With the true labels ``y`` of ``X`` the limits are on the loss of accuracy.
        """
        return cls.from_plan(fitted(estimator, "plan")(limits, X=X, y=y), ax, baselines=baselines, **options)

    @classmethod
    def from_votes(
        cls,
        votes_or_n_voters: VoteDistribution | int,
        limits: Iterable[float] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        criteria: Iterable[Criterion] = ("minimean", "minimixed", "minimax"),
        confidence: float | None = None,
        baselines: bool = True,
        **options: Any,
    ) -> TradeoffDisplay:
        """Draw the optimum of several criteria, and baseline rules, for given votes.

        Parameters
        ----------
        votes_or_n_voters : VoteDistribution or int
            Distribution of the votes; a number of voters means a flat distribution.
        limits : iterable of float, optional
            Limits to try; by default 0.1, 0.03, 0.01 and so on to 0.00001.
        ax, baselines, **options
            As in `from_plan`.
        criteria : iterable of str
            Which criteria to draw.
        confidence : float, optional
            As in `foregone.plan`.
        """
        tried = None if limits is None else list(limits)
        votes = Problem.check("minimean", votes_or_n_voters, 0.0).votes
        plans = [plan(votes, tried, criterion=one, confidence=confidence) for one in criteria]
        if not plans:
            raise InvalidInputError("criteria is empty: give at least one")
        others = _usual_rules(plans[0]) if baselines else []
        return cls([*map(plan_curve, plans), *others], plans[0].n_voters).plot(ax, **options)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        styles: Mapping[str, Mapping[str, Any]] | None = None,
        furnish: bool = True,
    ) -> TradeoffDisplay:
        """Draw it and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of two, optional
            Axes for the votes, and for the disagreement; a new figure (not one of pyplot's) by default.
        styles : mapping, optional
            Name of a curve -> options of its line, instead of the default.
        furnish : bool, default=True
            Whether to set titles, labels and legends; use False if the calling code does this.
        """
        axes = take_axes(ax, 2, 11, 4.8)
        chosen = {**line_styles([curve.name for curve in self.curves]), **(styles or {})}
        limits = sorted({limit for curve in self.curves for limit in curve.limits})
        for curve in self.curves:
            values = (curve.expected_votes, curve.disagreement)
            for one, heights in zip(axes, values, strict=False):
                if one is axes[0] or not self._has_classes:
                    points = zip(curve.limits, heights, strict=True)
                    _draw_by_limit(one, points, limits, label=curve.name, **chosen[curve.name])
        if len(axes) > 1 and self._has_classes:
            self._draw_classes(axes[1], limits)
        if furnish:
            self._furnish(axes, limits)
        self.axes_, self.ax_ = axes, axes[0]
        self.figure_ = axes[0].figure  # type: ignore[assignment]  # a subfigure will do as well
        return self

    @property
    def _has_classes(self) -> bool:
        """Whether there is only one curve, with known disagreement by class."""
        return self.plan is not None and len(self.curves) == 1 and bool(self.plan.rows[0].by_class)

    def _draw_classes(self, ax: Axes, limits: Sequence[float]) -> None:
        assert self.plan is not None
        if self._in_accuracy:
            self._draw_accuracy(ax, limits)
            return
        classes = self.plan.rows[0].by_class
        names = dict(zip(classes, self.plan.labels or classes, strict=True))
        for place, key in enumerate(classes):
            side = SIDES.get(key) or LINES[place % len(LINES)]
            mean = [(row.limit, row.by_class[key]) for row in self.plan.rows]
            worst = [(row.limit, row.worst_by_class.get(key)) for row in self.plan.rows]
            style = {"color": side.colour, "marker": side.marker}
            for points, kind, how in ((mean, "mean", {"linewidth": 1.8}), (worst, "worst", _WORST)):
                known = [(limit, risk) for limit, risk in points if risk is not None]
                if known:
                    _draw_by_limit(ax, known, limits, label=f"{names[key]}, {kind}", **style, **how)

    def _draw_accuracy(self, ax: Axes, limits: Sequence[float]) -> None:
        assert self.plan is not None
        rows, classes = self.plan.rows, self.plan.rows[0].accuracy_loss_by_class
        whole: dict[str, Sequence[float | None]] = {
            "all inputs": [row.accuracy_loss for row in rows],
            "disagreement (not limited)": [row.disagreement for row in rows],
        }
        lines: dict[str, dict[str, Any]] = {
            "all inputs": {"color": "#222222", "marker": "o", "linewidth": 2.2},
            "disagreement (not limited)": {"color": "0.55", "marker": "x", **_WORST},
        }
        names = dict(zip(classes, self.plan.labels or classes, strict=True))
        for place, key in enumerate(classes):
            side = SIDES.get(key) or LINES[place % len(LINES)]
            whole[f"truly {names[key]}"] = [row.accuracy_loss_by_class[key] for row in rows]
            lines[f"truly {names[key]}"] = {"color": side.colour, "marker": side.marker, "linewidth": 1.5}
        for name, values in whole.items():
            points = [
                (row.limit, max(value, 0.0))
                for row, value in zip(rows, values, strict=True)
                if value is not None
            ]
            if points:
                _draw_by_limit(ax, points, limits, label=name, **lines[name])

    @property
    def _in_accuracy(self) -> bool:
        return self.plan is not None and self.plan.loss == "accuracy"

    def _furnish(self, axes: tuple[Axes, ...], limits: Sequence[float]) -> None:
        positive = [limit for limit in limits if limit > 0]
        is_estimate = self.plan is not None and self.plan.is_estimated
        what = "loss of accuracy" if self._in_accuracy else "disagreement"
        whole = f"{'estimated, ' if is_estimate else ''}of {self.n_voters:,}"
        axes[0].set_title(f"Votes asked, {whole}", loc="left", fontsize="medium")
        axes[0].set_ylabel("expected votes")
        axes[0].set_ylim(0, max(axes[0].dataLim.y1 * 1.18, 1e-9))
        if len(axes) > 1:
            whose = "by class of the full vote" if self._has_classes else "mean"
            whose = "by true class" if self._in_accuracy else whose
            axes[1].set_title(f"{what[0].upper()}{what[1:]}, {whose}", loc="left", fontsize="medium")
            axes[1].set_ylabel(what)
            axes[1].set_yscale("symlog", linthresh=positive[0] / 10, linscale=0.5)
            axes[1].set_ylim(bottom=0)
            axes[1].plot(positive, positive, color="0.7", linewidth=4, zorder=1, label="the limit")
        for ax in axes:
            tidy(ax)
            ax.set_xlabel(f"allowed {what}")
            _furnish_limits(ax, limits)
        if self.plan is not None:
            self._mark_plan(axes, self.plan)
        if len(axes) > 1 or len(self.curves) > 1:
            axes[-1].legend(frameon=False, fontsize="small", loc="best")

    def _mark_plan(self, axes: tuple[Axes, ...], plan: Plan) -> None:
        """Mark the recommended limit, and write the speed-up next to each point."""
        votes, chosen = axes[0], plan.chosen
        if len(self.curves) == 1:
            votes.set_title(f"{votes.get_title('left')} (and speed-up)", loc="left", fontsize="medium")
            for row in plan.rows:
                speed = f"{row.speed_up:.2g} x" if row.speed_up < 10 else f"{row.speed_up:,.0f} x"
                label = speed if row.expected_votes else "no votes"
                if row.limit > 0:
                    votes.annotate(label, (row.limit, row.expected_votes), (5, 5), ha="left", **_SMALL)
        if chosen.limit == 0:
            return
        for ax in axes:
            ax.axvline(chosen.limit, color="0.45", linestyle=(0, (1, 2)), linewidth=1.2, zorder=0)
        votes.annotate(
            "recommended", (chosen.limit, 0.995), (-4, 0), xycoords=votes.get_xaxis_transform(),
            rotation=90, ha="right", va="top", bbox={"facecolor": "white", "linewidth": 0, "pad": 1},
            **_SMALL,
        )  # fmt: skip
        if plan.class_budgets is not None:
            each = plan.class_budgets.expected_votes
            votes.plot(
                [chosen.limit], [each], marker="D", color="#222222", markerfacecolor="white",
                linestyle="none", label="separate limits by class",
            )  # fmt: skip
            votes.set_ylim(0, max(votes.get_ylim()[1], each * 1.18))
            votes.legend(*_last_of(votes), frameon=False, loc="lower left")


def _usual_rules(plan: Plan) -> list[TradeoffCurve]:
    if plan.loss == "accuracy":
        raise InvalidInputError(
            "baselines have limits on the disagreement, but this plan has limits on the loss of accuracy: "
            "leave out baselines"
        )
    if not isinstance(plan.votes, VoteDistribution):
        raise InvalidInputError("baselines are only for votes between two answers: leave out baselines")
    return baseline_curves(plan.votes, [row.limit for row in plan.rows], plan.quota)


def _last_of(ax: Axes) -> tuple[list[Any], list[str]]:
    handles, labels = ax.get_legend_handles_labels()
    return handles[-1:], labels[-1:]


def _place_of(limit: float, limits: Sequence[float]) -> float:
    """Return the position of a limit on the axis of all ``limits``: its value, unless it is 0."""
    if limit > 0:
        return limit
    return min((one for one in limits if one > 0), default=1.0) / 10**_APART


def _draw_by_limit(
    ax: Axes, values: Iterable[tuple[float, float]], limits: Sequence[float], **style: Any
) -> None:
    """Draw values by limit, into axes of all ``limits``: a line, and a separate point for a limit of 0."""
    points = sorted(values)
    above = [point for point in points if point[0] > 0]
    ax.plot([limit for limit, _ in above], [value for _, value in above], **style)
    for _, value in points[: len(points) - len(above)]:
        ax.plot(_place_of(0, limits), value, **{**style, "label": None})


def _furnish_limits(ax: Axes, limits: Sequence[float]) -> None:
    """Set up the x axis for limits: logarithmic, with ticks at powers of ten, and at 0 if it is a limit."""
    places = [_place_of(limit, limits) for limit in limits]
    positive = sorted(limit for limit in limits if limit > 0)
    first, last = (math.log10(limit) for limit in (positive[0], positive[-1]))
    ticks = [10.0**power for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]
    if len(ticks) < 2:
        ticks = positive
    if min(limits) == 0:
        ticks = [0.0, *ticks]
    ax.set_xscale("log")
    ax.set_xlim(min(places) / 10**_MARGIN, max(places) * 10**_MARGIN)
    ax.set_xticks([_place_of(tick, limits) for tick in ticks], [rate_label(tick) for tick in ticks])
    ax.minorticks_off()
