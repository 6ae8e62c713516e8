"""What figures 3 and S2 share: a row per dataset, a column per metric, a line per approach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.figures.by_limit import draw_by_limit, furnish_limits, rate_label
from paper.figures.canvas import PALE, furnish, save, sheet
from paper.figures.looks import look_of
from paper.results import APPROACHES, RATES, DatasetFacts, Measure, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_pages"]

ROWS = 4  # datasets on a page, as in the paper
_GUIDE: dict[str, Any] = {"color": PALE, "linewidth": 4, "zorder": 1, "solid_capstyle": "butt"}
_THIN: dict[str, Any] = {"linewidth": 1.1, "markersize": 4, "markeredgewidth": 0.9}
_TITLES = ("expected votes", "disagreement", "wrong answers")


def draw_pages(results: Results, datasets: Sequence[DatasetFacts], folder: Path, name: str) -> list[Path]:
    """Draw ``name_1``, ``name_2``, ... with up to four datasets each; nothing if there are none.

    Further pages that an earlier run with more datasets left are removed.
    """
    files: list[Path] = []
    for first in range(0, len(datasets), ROWS):
        facts = datasets[first : first + ROWS]
        with sheet(0.95 + 1.75 * len(facts)) as figure:
            axes = figure.subplots(len(facts), len(_TITLES), sharex=True, squeeze=False)
            for row, one in zip(axes, facts, strict=True):
                _draw_row(row, results, one)
            for ax, title in zip(axes[0], _TITLES, strict=True):
                ax.set_title(title)
            for ax in axes[-1]:
                ax.set_xlabel("allowed disagreement")
            handles, labels = axes[0, -1].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=4, handlelength=3)
            files += save(figure, folder, f"{name}_{first // ROWS + 1}")
    page = len(files) // 2 + 1
    while (folder / f"{name}_{page}.png").exists():
        for kind in ("png", "svg"):
            (folder / f"{name}_{page}.{kind}").unlink(missing_ok=True)
        page += 1
    return files


def _draw_row(axes: Sequence[Axes], results: Results, facts: DatasetFacts) -> None:
    votes, disagreement, error = axes
    n_voters = results.settings.n_voters
    measures = {
        approach: [results.measure(facts.name, approach.name, rate) for rate in RATES]
        for approach in APPROACHES
    }
    for approach, found in measures.items():
        style = {"label": approach.label, **look_of(approach).line, **_THIN}
        draw_by_limit(votes, RATES, [n_voters * measure.expected_runtime for measure in found], **style)
        draw_by_limit(disagreement, RATES, [measure.disagreement for measure in found], **style)
        draw_by_limit(error, RATES, [measure.error for measure in found], **style)
    for ax in axes:
        furnish(ax)
        furnish_limits(ax, RATES)
    votes.set_ylim(0, n_voters)
    votes.set_ylabel(facts.paper_name, fontsize=10, labelpad=8)
    _draw_limit(disagreement)
    _draw_base(error, measures[APPROACHES[0]][0])


def _draw_limit(ax: Axes) -> None:
    """Draw the line that a strategy must not cross, on a scale that has a zero and then decades."""
    ax.set_yscale("symlog", linthresh=RATES[1], linscale=0.7)
    ax.set_ylim(-RATES[1] / 5, 0.6)
    ax.set_yticks([0, 1e-6, 1e-4, 1e-2], [rate_label(rate) for rate in (0, 1e-6, 1e-4, 1e-2)])
    ax.minorticks_off()
    ax.plot(RATES[1:], RATES[1:], **_GUIDE)


def _draw_base(ax: Axes, measure: Measure) -> None:
    ax.axhline(measure.base_error, label="limit; error of the full vote", **_GUIDE)
    ax.margins(y=0.15)
