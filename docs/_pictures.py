"""Draw the pictures of docs/how_it_works.md: ``make images``, or ``python docs/_pictures.py [FOLDER]``.

Colours are those of `foregone.display`. Where a picture is as wide as the text of a page, its words are about
as large as that text.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.stats import beta
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import StoppingStrategy, VoteDistribution, evaluate, solve
from foregone.display import EnvelopeDisplay
from foregone.display.styles import BLUE, CRITERIA, VERMILLION
from foregone.forest import PackedForest
from foregone.solving import Criterion

IMAGES = Path(__file__).parent / "images"
WIDTH, DPI, TEXT = 6.4, 150, 11
GREY, EDGE, LIGHT = "#333333", "#666666", "#c4c4c4"

# The example of the page: 21 voters, and how many inputs had 0, 1, ..., 21 yes votes.
N_VOTERS, LIMIT = 21, 1e-3
HALF = [1500, 550, 250, 150, 100, 80, 60, 50, 45, 40, 40]
VOTES = VoteDistribution.from_counts([*HALF, *HALF[::-1]])
# One vote a character, in the order asked; and where words stand in the first picture, and in the second.
POLLS = (
    ("clear", "111011111111111110111", BLUE, (9.4, 9.5), (8.2, 8.5)),
    ("close", "110110001000101101011", GREY, (20.8, 3.6), (21.3, 8.2)),
    ("clear", "000000010000000100010", VERMILLION, (9.4, -10.5), (5.2, -7.2)),
)
Points = np.ndarray[Any, np.dtype[np.int64]]


def how_polls_run(figure: Figure) -> None:
    """Draw three polls in which everyone is asked."""
    ax = figure.subplots()
    for name, votes, colour, place, _ in POLLS:
        ax.plot(*path(votes), color=colour, linewidth=2.2, marker="o", markersize=3.5)
        write(ax, f"{name}: {votes.count('1')} of {N_VOTERS} say yes", place, colour)
    furnish(ax)


def where_it_stops(figure: Figure) -> None:
    """Draw the same polls up to where an optimal strategy stops, in its envelope."""
    ax = figure.subplots()
    strategy = solve("minimean", VOTES, LIMIT).strategy
    EnvelopeDisplay.from_strategy(strategy, ax=ax, furnish=False, color=EDGE)
    for _, votes, colour, _, place in POLLS:
        asked, lead = path(votes)
        stop = first_stop(strategy, votes)
        ax.plot(asked[stop:], lead[stop:], color=colour, linewidth=1.4, linestyle=(0, (1, 2)))
        ax.plot(asked[: stop + 1], lead[: stop + 1], color=colour, linewidth=2.2, marker="o", markersize=3.5)
        ax.plot(stop, lead[stop], color=colour, marker="o", markersize=9)
        write(ax, f"stops after {stop}: {'yes' if lead[stop] > 0 else 'no'}", place, colour)
    write(ax, "inside: keep asking", (15.6, -4.4), GREY)
    write(ax, "above: stop, answer yes", (8.2, 15), GREY)
    write(ax, "below: stop, answer no", (8.2, -14), GREY)
    furnish(ax)


def path(votes: str) -> tuple[Points, Points]:
    """Return how many were asked, and yes minus no votes after each."""
    steps = np.array([1 if vote == "1" else -1 for vote in votes])
    return np.arange(len(votes) + 1), np.concatenate([[0], steps.cumsum()])


def first_stop(strategy: StoppingStrategy, votes: str) -> int:
    """Return after how many votes the strategy surely stops."""
    return next(
        asked
        for asked in range(len(votes) + 1)
        if strategy.stop_probability(asked=asked, yes=votes[:asked].count("1")) == 1
    )


def write(ax: Axes, words: str, end: tuple[float, float], colour: str) -> None:
    """Write words that end at this point."""
    ax.text(*end, words, ha="right", va="center", color=colour, fontsize=TEXT)


def furnish(ax: Axes) -> None:
    """Say what goes to the right and up."""
    plain(ax)
    ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set(xlim=(0, N_VOTERS + 0.4), ylim=(-17, 18), xlabel="voters asked", ylabel="yes votes minus no votes")
    ax.set_xticks([0, 5, 10, 15, 21])


# What a limit is spent on -------------------------------------------------------------------------


def what_close_votes_cost(figure: Figure) -> None:
    """Draw how many inputs are how close, what they cost and what they risk, under two limits."""
    axes = figure.subplots(3, 1, sharex=True, height_ratios=(2, 3, 3))
    yes = np.arange(N_VOTERS + 1)
    titles = "Share of all inputs, %", "Voters asked, on average", "Answers that differ from the full vote, %"
    for ax, title in zip(axes, titles, strict=True):
        plain(ax)
        ax.set_title(title, loc="left", fontsize=TEXT, color=GREY)
        ax.grid(axis="y", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
    axes[0].bar(yes, 100 * VOTES.probabilities, color=LIGHT)
    limits: tuple[tuple[Criterion, str], ...] = (
        ("minimean", "limit on the average"),
        ("minimixed", "limit for every input"),
    )
    for criterion, name in limits:
        found, style = evaluate(solve(criterion, VOTES, LIMIT).strategy), CRITERIA[criterion]
        for ax, values in ((axes[1], found.expected_votes), (axes[2], 100 * found.disagreement)):
            ax.plot(
                yes, values, marker=style.marker, color=style.colour, label=name, markersize=5, linewidth=1.6
            )
    axes[1].set_ylim(0, 22)
    axes[1].legend(fontsize=TEXT, frameon=False, loc="lower center", borderaxespad=0)
    axes[2].set_xlabel(f"voters that would say yes, of {N_VOTERS}")
    axes[2].set_xticks([0, 5, 10, 11, 16, 21])


# Where the promise comes from -----------------------------------------------------------------------


def where_the_promise_comes_from(figure: Figure) -> None:
    """Draw what each part of the rows is for, and strategies that are tried on those that certify."""
    rows, ladder = figure.subplots(2, 1, height_ratios=(2, 5))
    for start, n_rows, colour, words in (
        (0, 2.3, LIGHT, "2,000 rows\ntrain the\nforest"),
        (2.3, 2.3, "#f2b98c", "2,000 learn\nwhen to\nstop"),
        (4.6, 7.4, "#8dc1e3", "8,000 certify it:\nhow often does the answer\ndiffer from the full vote?"),
        (12, 2.4, "white", "new rows\nare like\nthese"),
    ):
        rows.barh(0, n_rows, left=start, height=1, color=colour, edgecolor=GREY, linewidth=0.8)
        rows.text(start + n_rows / 2, 0, words, ha="center", va="center", fontsize=TEXT - 1.5, color="black")
    rows.set(xlim=(0, 14.4), ylim=(-0.5, 0.5))
    rows.axis("off")

    plain(ladder)
    ladder.set_title(
        "Dot: observed on the 8,000 rows. Bar: upper bound, 95 % confidence.",
        loc="left",
        fontsize=TEXT,
        color=GREY,
    )
    tried = list(try_strategies())
    first_above = next(number for number, (*_, bound) in enumerate(tried) if bound > LIMIT)
    for number, (_, share, bound) in enumerate(tried):
        colour = LIGHT if number > first_above else VERMILLION if number == first_above else BLUE
        filled = colour if number == first_above - 1 else "white"
        ladder.vlines(number, 1000 * share, 1000 * bound, color=colour, linewidth=2.5)
        ladder.plot(number, 1000 * bound, marker="_", color=colour, markersize=14, markeredgewidth=2.5)
        ladder.plot(number, 1000 * share, marker="o", color=colour, markerfacecolor=filled, markersize=8)
    ladder.axhline(1000 * LIMIT, color=GREY, linestyle=(0, (4, 2)), linewidth=1.2)
    ladder.text(-0.4, 1000 * LIMIT + 0.06, "limit: 1 in 1,000", fontsize=TEXT, color=GREY, va="bottom")
    for number, words in (
        (first_above - 1, "used"),
        (first_above, "too bold"),
        (first_above + 1, "not tried"),
    ):
        place = (number, 1000 * tried[number][2] + 0.12)
        ladder.annotate(words, place, ha="center", va="bottom", fontsize=TEXT, color=GREY)
    ladder.set_xticks(range(len(tried)), [f"{asked:.1f}" for asked, *_ in tried])
    ladder.set(xlim=(-0.5, len(tried) - 0.5), ylim=(-0.15, 3.8), ylabel="differ, per 1,000 rows")
    ladder.set_xlabel("strategies from careful to bold, by trees asked of 101")


def try_strategies() -> Iterator[tuple[float, float, float]]:
    """Yield, from careful to bold: trees asked, the share of rows that differ, and its upper bound."""
    X, y = make_classification(16_000, class_sep=1.5, random_state=0)
    forest = RandomForestClassifier(101, random_state=0).fit(X[:2000], y[:2000])
    packed = PackedForest.from_sklearn(forest)
    learning, testing = X[2000:4000], X[4000:12_000]
    votes = VoteDistribution.from_yes_counts(packed.votes(learning), packed.n_trees)
    full = packed.votes(testing) > packed.n_trees // 2
    for boldness in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4):
        strategy = solve("minimean", votes, boldness * LIMIT).strategy
        answers, asked, _ = packed.run(testing, strategy, seed=2)
        n_wrong = int(np.count_nonzero(answers != full))
        bound = beta.ppf(0.95, n_wrong + 1, len(full) - n_wrong)  # Clopper and Pearson's
        yield float(asked.mean()), n_wrong / len(full), float(bound)


def plain(ax: Axes) -> None:
    """Set the size of the text, and leave out lines that say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=TEXT - 1)
    ax.xaxis.label.set_fontsize(TEXT)
    ax.yaxis.label.set_fontsize(TEXT)


def write_file(figure: Figure, file: Path) -> None:
    """Write a picture in few colours, which makes a small file."""
    drawn = io.BytesIO()
    figure.savefig(drawn)
    Image.open(drawn).convert("RGB").quantize(128).save(file, optimize=True)


def main() -> None:
    """Draw all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    for name, height, draw in (
        ("polls", 3.2, how_polls_run),
        ("polls_stopped", 3.4, where_it_stops),
        ("close_votes", 6.0, what_close_votes_cost),
        ("promise", 4.6, where_the_promise_comes_from),
    ):
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        draw(figure)
        write_file(figure, folder / f"{name}.png")


if __name__ == "__main__":
    main()
