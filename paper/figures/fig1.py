"""Figure 1: what can happen with three voters, when one and when all three of them would say yes."""

from __future__ import annotations

from pathlib import Path

from foregone.display import StateGraphDisplay
from foregone.rules import curtailment
from paper.figures.canvas import QUIET, save, sheet
from paper.results import Results

__all__ = ["draw"]

_KEY = "in a circle: how likely it is to get there (the darker, the likelier) · double ring: it stops there"
_PANELS = ((1, "(a) one of three would say yes"), (3, "(b) all three would say yes"))


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw the state graphs of the strategy that stops once the vote is decided."""
    del results  # nothing measured goes into it
    with sheet(4.6) as figure:
        figure.set_layout_engine(None)  # it gives circles, which need one scale on both axes, too little room
        axes = figure.subplots(1, len(_PANELS), sharey=True)
        figure.subplots_adjust(left=0.07, right=0.99, top=0.93, bottom=0.16, wspace=0.08)
        for ax, (n_yes, title) in zip(axes, _PANELS, strict=True):
            StateGraphDisplay.from_strategy(curtailment(3), votes=n_yes, ax=ax)
            ax.set_title(title)
        axes[1].set_ylabel("")
        figure.text(0.5, 0.005, _KEY, ha="center", va="bottom", color=QUIET, fontsize=8.5)
        return save(figure, folder, "fig1")
