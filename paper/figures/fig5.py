"""Figure 5: how the votes of a forest are spread, by true class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from foregone.display import VoteDistributionDisplay
from paper.figures.canvas import furnish, save, sheet
from paper.results import Piece, Results

__all__ = ["draw", "vote_shares"]

FloatArray = npt.NDArray[np.float64]


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw for each UCI set how many trees said yes, over the test rows of every repeat."""
    datasets = results.group("uci")
    if not datasets:
        return []
    lines = -(-len(datasets) // 2)
    with sheet(0.8 + 1.55 * lines) as figure:
        axes = figure.subplots(lines, 2, sharex=True, squeeze=False)
        for ax, facts in zip(axes.flat, datasets, strict=False):
            furnish(ax, title=facts.paper_name)
            no, yes = vote_shares(results.pieces[facts.name])
            VoteDistributionDisplay({"true class no": no, "true class yes": yes}).plot(ax, furnish=False)
        for ax in axes.flat[len(datasets) :]:
            ax.set_axis_off()
        for ax in axes[-1]:
            ax.set_xlabel("trees that say yes")
        figure.legend(
            *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2,
            title="share of the test rows of each class, on a square-root scale",
        )  # fmt: skip
        return save(figure, folder, "fig5")


def vote_shares(pieces: tuple[Piece, ...]) -> FloatArray:
    """Return, for each true class, the share of its test rows by number of yes votes, averaged over repeats.

    Returns
    -------
    ndarray of shape (2, n_voters + 1)
        Each row sums to one (or is zero, for a class without rows); every repeat weighs the same.
    """
    shares = []
    for piece in pieces:
        rows = piece.test_counts.sum(axis=1, keepdims=True)
        shares.append(piece.test_counts / np.maximum(rows, 1))
    mean: FloatArray = np.mean(shares, axis=0)
    return mean
