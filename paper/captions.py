"""What every figure and table shows, in our words, for the pages that show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["CAPTIONS", "Caption", "files_of"]


class Caption(NamedTuple):
    """Title and explanation of one item.

    Attributes
    ----------
    file : str
        Name of its files without the ending; pages of a figure have ``_1``, ``_2``, ... after it.
    title : str
        Its name in the paper and what it is about.
    text : str
        What is to be seen, for somebody who has not read the paper.
    """

    file: str
    title: str
    text: str


CAPTIONS = (
    Caption(
        "fig1",
        "Figure 1: a poll of three voters",
        "What can happen when one of the three would say yes, and when all would. Voters are asked in random "
        "order; the poll moves right with every vote and up with every yes. It stops when the rest cannot "
        "change the outcome.",
    ),
    Caption(
        "fig2",
        "Figure 2: the optimal envelopes",
        "Optimal strategies for flat votes, one line for each allowed disagreement. A poll stops and answers "
        "yes when it reaches the line; the mirror image below answers no. Before a line begins, no number of "
        "yes votes is enough. The lower row shows the same lines as the lead of yes over no, where they come "
        "apart. Minimax lines nearly coincide: away from an even split its criterion hardly tells "
        "strategies apart, and we take the one with the fewest votes on average.",
    ),
    Caption(
        "envelope_structure",
        "The shape of the envelopes",
        "The paper reports that its strategies have two thresholds a step, at most two states where chance "
        "decides, those only at the first step at which stopping is possible, and that they are symmetric. "
        "How many of ours over its grid are so; the CSV has every strategy. Where ours is not symmetric, "
        "it is mostly because chance decides on one side only, which is enough to use up the limit. With an "
        "even number of voters a tie counts as no, and nothing can be symmetric.",
    ),
    Caption(
        "fig3",
        "Figure 3: six approaches on the UCI sets",
        "Expected votes, disagreement with the full vote and wrong answers, by the allowed disagreement. "
        "Means over repeats, computed exactly from the votes on the test rows. Calibrated strategies were "
        "solved for the votes on calibration rows, flat ones for all numbers of yes votes alike. The "
        "disagreement axis is linear below one in a million. Calibrated minimean may cross a limit that is "
        "finer than its calibration rows: numbers of yes votes that never occurred there count for nothing.",
    ),
    Caption(
        "table2",
        "Table 2: the datasets",
        "Rows, features and classes before all classes but the largest are merged; the largest is yes. Where "
        "a number differs from the paper's, the paper's stands in brackets. The last column is the file, or "
        "the server, that the rows came from.",
    ),
    Caption(
        "table3",
        "Table 3: minimean with calibrated votes, one disagreement in 1,000 allowed",
        "Expected runtime is the share of the trees that are asked; base error is that of the full vote. "
        "Means over repeats ± their standard deviation, beside what the paper prints.",
    ),
    Caption(
        "fig4",
        "Figure 4: time against accuracy",
        "Expected votes and wrong answers of four approaches on every dataset; lower and further left is "
        "better. Each line is one dataset, at allowed disagreements from 1 in 1,000 (its upper end) to "
        "1 in 10; the other three approaches stand behind it in grey.",
    ),
    Caption(
        "fig5",
        "Figure 5: how forests vote",
        "How many of the trees say yes, over the test rows of each true class. Where nearly all trees agree, "
        "a few of them are enough; where the votes pile up in the middle, most must be asked.",
    ),
    Caption(
        "figS1",
        "Figure S1: time to solve",
        "Seconds to find a minimax strategy that may disagree once in 100, against the number of voters: the "
        "paper's quadratic program, its linear program, and foregone's solver, each the fastest of its runs.",
    ),
    Caption(
        "figS2",
        "Figure S2: six approaches on the benchmark sets",
        "As figure 3, for the balanced sets of Grinsztajn et al.",
    ),
    Caption(
        "benchmark_summary",
        "The benchmark sets, one disagreement in 1,000 allowed",
        "As table 3; the paper prints no such table.",
    ),
    Caption(
        "tableS1",
        "Supplementary table 1: do votes lose anything?",
        "Tree certainty is the share of single trees' probabilities that are exactly 0 or 1. Invariance to "
        "rounding is the share of test rows where the majority of votes gives the same answer as "
        "scikit-learn's mean of probabilities.",
    ),
)


def files_of(caption: Caption, folder: Path, kind: str) -> Iterator[Path]:
    """Yield the files of one kind that an item has in ``folder``: itself, or its pages in order."""
    whole = folder / f"{caption.file}.{kind}"
    if whole.is_file():
        yield whole
    page = 1
    while (file := folder / f"{caption.file}_{page}.{kind}").is_file():
        yield file
        page += 1
