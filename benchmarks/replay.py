"""Replay recorded votes of language models: calls against disagreement, for our strategies and other rules.

    python -m benchmarks.replay
    python -m benchmarks.replay --splits 5
    python -m benchmarks.replay --write-docs

The votes are llm_votes/gpqa_yesno.parquet in FOREGONE_DATA or ../shared/data; without them it says so and
ends. All splits have a fixed seed, so a second run gives the same figures. Exit status 1 if a rule asks fewer
calls than ours at equal disagreement, or a confidence is not kept.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.markdown import put_into, table
from foregone import VoteDistribution, solve
from foregone.display import ReplayDisplay
from foregone.replaying import Replay, ReplayRow, YesNoItems, choose_methods, read_votes, replay

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "measurements" / "replay.md"
PICTURE = ROOT / "docs" / "images" / "replay.png"
VOTES = Path("llm_votes") / "gpqa_yesno.parquet"
N_VOTERS = 39
LIMITS = (0.01, 0.005, 0.001)
METHODS = (
    "minimean,minimean-confident,minimean-fitted,minimixed,minimax,adaptive-consistency:0.95,"
    "adaptive-consistency:0.99,esc:5,esc:8,lead:3,lead:5,quorum:3,quorum:5,quorum:8,learned-prior,cite,"
    "e-process,curtailment"
)
CURVE_LIMITS = (0.0, *10.0 ** np.arange(-9, -0.25, 1 / 16))  # so close that mixing two costs next to nothing
OURS = "minimean, 95 %"  # what is set beside the rules
FEW_VOTES = (2, 3, 5, 10, 20, 39)
FEW_VOTES_LIMIT = 0.01


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    folder = data_folder()
    file = folder / VOTES if folder else None
    if file is None or not file.exists():
        print(f"No votes to replay: there is no {VOTES} in FOREGONE_DATA or ../shared/data.")
        return 0
    items = YesNoItems.of(read_votes(file), N_VOTERS)
    methods = choose_methods(METHODS.split(","), LIMITS)
    made = replay(items, methods, splits=options.splits, curve_limits=CURVE_LIMITS)
    missed = _missed(made)
    text = "\n\n".join(
        [
            _facts(made, options.splits),
            "### What each method asks, and how often it disagrees\n\n" + _figures(made),
            "### At equal disagreement\n\n" + _equal(made),
            "### Calibrated from fewer votes an item\n\n" + _few_votes(items, options.splits),
        ]
    )
    print("\n" + text + "\n")
    if options.write_docs:
        put_into(DOCS, text + "\n")
        figure = ReplayDisplay.from_replay(made).figure_
        figure.savefig(PICTURE, metadata={"Software": None})
        print(f"wrote {PICTURE.parent.name}/{PICTURE.name}")
    for what in missed:
        print(f"MISSED: {what}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--splits", type=int, default=100, help="random splits of the items")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/replay.md"
    )
    return parser


def _facts(made: Replay, splits: int) -> str:
    return (
        f"- date: {datetime.date.today().isoformat()}\n"
        f"- command: `make bench-replay` ({made.n_items} items; {made.n_calibration} to calibrate with and "
        f"{made.n_items - made.n_calibration} to measure on in each of {splits} random splits)\n"
        f"- a full vote: {N_VOTERS} calls, {made.full_tokens:,.0f} tokens on average"
    )


def _name(row: ReplayRow) -> str:
    return row.label if row.limit is None else f"{row.label}, limit {row.limit:g}"


def _figures(made: Replay) -> str:
    return table(
        ["method", "calls", "tokens", "disagreement", "splits above the limit", "worst disagreement"],
        [
            [
                _name(row),
                f"{row.calls:.2f}",
                f"{row.tokens:,.0f}",
                f"{row.disagreement:.2g}",
                "-" if row.above_limit is None else f"{100 * row.above_limit:.0f} %",
                f"{row.worst_disagreement:.2g}",
            ]
            for row in made.rows
        ],
    )


def _equal(made: Replay) -> str:
    labels = [curve.label for curve in made.curves]
    rows = [row for row in made.rows if row.label not in labels]
    return table(
        ["method", "disagreement", "calls", *(f"calls of {label}" for label in labels), "saved"],
        [
            [
                _name(row),
                f"{row.disagreement:.2g}",
                f"{row.calls:.2f}",
                *("-" if (ours := row.ours_at_equal[label]) is None else f"{ours:.2f}" for label in labels),
                _saved(row),
            ]
            for row in rows
        ],
    )


def _saved(row: ReplayRow) -> str:
    ours = row.ours_at_equal[OURS]
    return "-" if ours is None else f"{100 * (1 - ours / row.calls):.1f} %"


def _few_votes(items: YesNoItems, splits: int) -> str:
    """Fit a beta-binomial to the first few votes of each calibration item, and measure as before."""
    generator, rows = np.random.default_rng(0), []
    orders = [generator.permutation(items.n_items) for _ in range(splits)]
    half = items.n_items // 2
    votes = read_votes(data_folder() / VOTES)
    said_yes = np.array(votes.labels) == items.yes_label
    for k in FEW_VOTES:
        yes = np.array([said_yes[answers[:k]].sum() for answers in votes.answers])
        found = []
        for order in orders:
            fitted = VoteDistribution.fit_beta(yes[order[:half]], k, N_VOTERS)
            strategy = solve("minimean", fitted, FEW_VOTES_LIMIT).strategy
            found.append(items.play(strategy).on(order[half:]))
        calls, disagreement = np.array([(one.calls, one.disagreement) for one in found]).T
        above = np.mean(disagreement > FEW_VOTES_LIMIT)
        rows.append([f"{k}", f"{calls.mean():.2f}", f"{disagreement.mean():.2g}", f"{100 * above:.0f} %"])
    return table(["past votes an item", "calls", "disagreement", "splits above the limit"], rows)


def _missed(made: Replay) -> list[str]:
    missed = []
    for row in made.rows:
        if row.is_ours:
            if row.label == OURS and row.above_limit is not None and row.above_limit > 0.05:
                missed.append(f"{_name(row)}: above the limit in {100 * row.above_limit:.0f} % of the splits")
            continue
        ours = row.ours_at_equal[OURS]
        if ours is None or (ours >= row.calls and row.disagreement > 0):
            missed.append(f"{_name(row)} asks {row.calls:.3f}, ours {ours} at the same disagreement")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
