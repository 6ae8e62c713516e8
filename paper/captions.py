"""What every figure and table shows: the captions for the pages that show them."""

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
        "All courses that a poll can take when one of the three voters would say yes, and when all would. "
        "Voters are asked in random order; each vote moves the poll to the right, and each yes moves it "
        "up. It stops when the remaining votes cannot change the outcome.",
    ),
    Caption(
        "fig2",
        "Figure 2: the optimal envelopes",
        "Optimal strategies if all numbers of yes votes are equally likely (flat votes), one line for each "
        "allowed disagreement. A poll stops and answers yes when it reaches the line; the mirror image "
        "below answers no. Before a line begins, no number of yes votes is enough. The lower row shows the "
        "same lines as the lead of yes over no, where they are easier to tell apart. Minimax lines nearly "
        "coincide: away from an even split the criterion hardly distinguishes strategies, so we take the "
        "one with the fewest votes on average.",
    ),
    Caption(
        "envelope_structure",
        "The shape of the envelopes",
        "The paper reports that its strategies have two thresholds per step, that chance decides in at "
        "most two states, that these are at the first step at which stopping is possible, and that "
        "strategies are symmetric. The table counts how many of our strategies over the paper's grid have "
        "each property; the CSV lists every strategy. If one of ours is not symmetric, it is mostly "
        "because chance decides on one side only, which is enough to use up the limit. With an even number "
        "of voters a tie counts as no, so no strategy is symmetric.",
    ),
    Caption(
        "fig3",
        "Figure 3: six approaches on the UCI datasets",
        "Expected votes, disagreement with the full vote, and wrong answers, by the allowed disagreement. "
        "Values are means over repeats, computed exactly from the votes on the test rows. Calibrated "
        "strategies were solved for the votes on calibration rows, flat ones as if all numbers of yes "
        "votes were equally likely. The disagreement axis is linear below one in a million. Calibrated "
        "minimean may exceed a limit that is too fine for the number of calibration rows, because it "
        "ignores numbers of yes votes that never occurred there.",
    ),
    Caption(
        "table2",
        "Table 2: the datasets",
        "Rows, features and classes before all classes but the largest are merged; the largest is yes. If "
        "a number differs from the paper's, the paper's is in brackets. The last column names the file or "
        "the server that the rows came from.",
    ),
    Caption(
        "table3",
        "Table 3: minimean with calibrated votes, one disagreement in 1,000 allowed",
        "Expected runtime is the share of the trees that are asked; base error is the error of the full "
        "vote. Means over repeats ± their standard deviation, next to the paper's values.",
    ),
    Caption(
        "fig4",
        "Figure 4: time against accuracy",
        "Expected votes and wrong answers of four approaches on every dataset; lower and further left is "
        "better. Each line is one dataset, at allowed disagreements from 1 in 1,000 (its upper end) to 1 "
        "in 10; the other three approaches are drawn behind it in grey.",
    ),
    Caption(
        "fig5",
        "Figure 5: how forests vote",
        "How many of the trees say yes, over the test rows of each true class. If nearly all trees agree, "
        "a few votes are enough; if votes are close to an even split, most trees must be asked.",
    ),
    Caption(
        "figS1",
        "Figure S1: time to solve",
        "Seconds to find a minimax strategy that may disagree once in 100, against the number of voters: "
        "the paper's quadratic program, its linear program, and foregone's solver, each by its fastest "
        "run.",
    ),
    Caption(
        "figS2",
        "Figure S2: six approaches on the benchmark datasets",
        "Like figure 3, for the balanced datasets of Grinsztajn et al.",
    ),
    Caption(
        "benchmark_summary",
        "The benchmark datasets, one disagreement in 1,000 allowed",
        "Like table 3; the paper has no such table.",
    ),
    Caption(
        "tableS1",
        "Supplementary table 1: does voting change answers?",
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
