"""Figure 3: six approaches on the eight UCI sets, by the disagreement they are allowed."""

from __future__ import annotations

from pathlib import Path

from paper.figures.performance import draw_pages
from paper.results import Results

__all__ = ["draw"]


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw expected votes, disagreement and error of every approach, four datasets a page."""
    return draw_pages(results, results.group("uci"), folder, "fig3")
