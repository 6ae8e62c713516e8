"""Figure 2: the envelopes of the three criteria for flat votes, one line per allowed disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foregone import solve
from foregone.display import EnvelopeDisplay, envelope_shape
from paper.figures.by_limit import rate_label
from paper.figures.canvas import PALE, QUIET, furnish, save, sheet
from paper.results import RATES, Criterion, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_PANELS: tuple[tuple[Criterion, str], ...] = (
    ("minimax", "(a) Minimax"),
    ("minimean", "(b) Minimean"),
    ("minimixed", "(c) Minimixed"),
)
# From nearly black to light, so that grey shows the order too; and neighbours differ in their dashes.
_SHADES = ("#1a1a1a", "#46327e", "#2f5597", "#1f7a8c", "#2a9d6f", "#8fb339", "#e0a100")
_DASHES = ("-", (0, (6, 1.2)), (0, (2.5, 1)), "-", (0, (6, 1.2)), (0, (2.5, 1)), "-")


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw how many yes votes stop it, and below by how many they lead: the same lines, further apart."""
    n_voters = results.settings.n_voters
    with sheet(5.8) as figure:
        axes = figure.subplots(2, len(_PANELS), sharex=True, sharey="row")
        for column, (criterion, title) in enumerate(_PANELS):
            above, below = axes[0, column], axes[1, column]
            _furnish(above, below, n_voters)
            above.set_title(title)
            for place in range(len(RATES)):
                shape = envelope_shape(solve(criterion, n_voters, RATES[place]).strategy)
                _draw_line(above, below, EnvelopeDisplay(shape), place)
        axes[0, 0].set_ylabel("yes votes that stop it")
        axes[1, 0].set_ylabel("lead that stops it\n(yes votes minus no votes)")
        _explain(axes[0, 0], n_voters)
        figure.legend(
            *axes[0, 0].get_legend_handles_labels(),
            title="allowed disagreement (a diamond: there chance decides whether to stop)",
            loc="outside lower center", ncols=len(RATES), handlelength=2.6,
        )  # fmt: skip
        return save(figure, folder, "fig2")


def _draw_line(above: Axes, below: Axes, display: EnvelopeDisplay, place: int) -> None:
    """Draw the stops that answer yes; until the line begins, no number of yes votes is enough."""
    style: dict[str, Any] = {
        "name": rate_label(RATES[place]),
        "color": _SHADES[place],
        "linestyle": _DASHES[place],
        "linewidth": 1.4,
        "zorder": 3 - place / 10,
    }
    display.plot(above, height="yes", answers=("yes",), fill=False, furnish=False, **style)
    display.plot(below, height="lead", answers=("yes",), fill=False, furnish=False, **style)


def _furnish(above: Axes, below: Axes, n_voters: int) -> None:
    furnish(above)
    furnish(below, x="votes asked")
    ends = np.array([0, n_voters])
    for ax in (above, below):
        ax.fill_between(ends, ends, n_voters, color="#f1f1f1", linewidth=0, zorder=0)
    above.plot(ends, ends / 2, color=PALE, linewidth=0.8, zorder=1)
    above.set_xlim(0, n_voters)
    above.set_ylim(0, 0.62 * n_voters)
    below.set_ylim(0, 0.55 * n_voters)


def _explain(ax: Axes, n_voters: int) -> None:
    """Say in the first panel what the grey corner and the grey line are."""
    ax.text(
        0.03 * n_voters, 0.6 * n_voters, "more yes votes\nthan votes", color=QUIET, fontsize=7.5, va="top",
    )  # fmt: skip
    ax.text(
        0.72 * n_voters, 0.335 * n_voters, "half of the votes", color=QUIET, fontsize=7.5, va="top",
        ha="center", rotation=26.57, rotation_mode="anchor", transform_rotates_text=True,
    )  # fmt: skip
