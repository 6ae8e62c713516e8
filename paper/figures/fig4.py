"""Figure 4: time against accuracy, for four approaches on every dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.figures.canvas import PALE, QUIET, furnish, save, sheet
from paper.figures.looks import look_of
from paper.results import APPROACHES, SCATTER_RATES, Approach, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_SHOWN = tuple(
    approach for approach in APPROACHES if approach.calibrated or approach.criterion in ("minimax", None)
)


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw a panel per approach: its own points in colour, before everybody's in grey.

    A thin line joins what one approach does on one dataset, from 1e-3 (top) to 1e-1 allowed disagreement.
    Nothing is drawn without datasets.
    """
    if not results.datasets:
        return []
    with sheet(6.6) as figure:
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for ax, approach in zip(axes.flat, _SHOWN, strict=True):
            furnish(ax, title=approach.label)
            for other in _SHOWN:
                if other is not approach:
                    _draw_points(ax, results, other, {"color": PALE, "zorder": 1, "linewidth": 0})
            look = look_of(approach)
            _draw_points(ax, results, approach, {"color": look.colour, "zorder": 2, "linewidth": 0.8})
        _name_hardest(axes[0, 0], results)
        axes[0, 0].set_xlim(left=0)
        axes[0, 0].locator_params(axis="x", nbins=5)
        axes[0, 0].set_ylim(0, results.settings.n_voters)
        for ax in axes[1]:
            ax.set_xlabel("wrong answers")
        for ax in axes[:, 0]:
            ax.set_ylabel("expected votes")
        return save(figure, folder, "fig4")


def _draw_points(ax: Axes, results: Results, approach: Approach, style: dict[str, Any]) -> None:
    for facts in results.datasets:
        measures = [results.measure(facts.name, approach.name, rate) for rate in SCATTER_RATES]
        ax.plot(
            [measure.error for measure in measures],
            [results.settings.n_voters * measure.expected_runtime for measure in measures],
            marker=look_of(approach).marker, markersize=3.6, markeredgewidth=0, clip_on=False, **style,
        )  # fmt: skip


def _name_hardest(ax: Axes, results: Results) -> None:
    """Write the names of the two datasets that save least, where their lines begin."""
    n_voters = results.settings.n_voters
    starts = [(results.measure(facts.name, "minimax", SCATTER_RATES[0]), facts) for facts in results.datasets]
    for measure, facts in sorted(starts, key=lambda start: -start[0].expected_runtime)[:2]:
        ax.annotate(
            facts.paper_name, (measure.error, n_voters * measure.expected_runtime), (0, 5),
            textcoords="offset points", ha="center", va="bottom", color=QUIET, fontsize=8,
        )  # fmt: skip
