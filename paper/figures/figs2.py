"""Figure S2: figure 3 for the benchmark sets of Grinsztajn et al."""

from __future__ import annotations

from pathlib import Path

from paper.figures.performance import draw_pages
from paper.results import Results

__all__ = ["draw"]


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw expected votes, disagreement and error of every approach, four datasets a page."""
    return draw_pages(results, results.group("benchmark"), folder, "figS2")
