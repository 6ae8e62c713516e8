"""Many answers: real votes of language models, ours beside other rules, and whether the limit holds.

    python -m benchmarks.plurality
    python -m benchmarks.plurality --splits 2 --guarantee-splits 10
    python -m benchmarks.plurality --guarantee-only --guarantee-voters 20
    python -m benchmarks.plurality --write-docs

The votes are llm_votes/gsm8k.parquet and gpqa_choice.parquet in FOREGONE_DATA or ../shared/data; without them
only the times are measured. All splits have a fixed seed, so a second run gives the same figures but for the
times. Exit status 1 if a rule asks fewer calls than ours at equal disagreement (by 0.1 %), a confidence is
not kept, nested bounds ask no more than bets, or preparing and solving take more than they may.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.markdown import put_into, table
from foregone import solve_plurality
from foregone.plurality import (
    CompositionDistribution,
    Lattice,
    PluralityStrategy,
    evaluate_plurality,
    rules,
)
from foregone.plurality.compositions import pessimistic
from foregone.plurality.plurality_evaluation import votes_and_disagreement
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.possible import NestedSets
from foregone.plurality.worst_case import solve_sampled
from foregone.replaying import (
    Curve,
    Method,
    PluralityItems,
    RecordedVotes,
    Replay,
    ReplayRow,
    choose_methods,
    read_votes,
    replay,
)

DOCS = Path(__file__).parent.parent / "docs" / "measurements" / "plurality.md"
SETS = ("gsm8k", "gpqa_choice")
N_VOTERS = 40
LIMITS = (0.01, 0.005)
METHODS = (
    "minimean,minimean-smoothed,minimean-confident,adaptive-consistency:0.9,adaptive-consistency:0.95,"
    "adaptive-consistency:0.99,dirichlet:0.9,dirichlet:0.95,dirichlet:0.99,esc:3,esc:5,esc:8,lead:2,lead:3,"
    "lead:5,quorum:3,quorum:5,quorum:8,learned-prior,cite,curtailment"
)
GUARANTEED = (0.05, 0.02, 0.01)
GUARANTEE_HEAD = [
    "votes", "limit", "holds in splits", "mean disagreement", "largest", "calls", "calls with nested bounds",
    "saved", "Adaptive-Consistency's calls at equal disagreement",
]  # fmt: skip
PRICES = tuple(np.geomspace(1, 1e9, 150))
THRESHOLDS = (*np.arange(0.5, 0.9, 0.05), *(1 - np.geomspace(0.1, 1e-5, 33)), 1.0)
MOST_SECONDS_TO_PREPARE, MOST_SECONDS_TO_SOLVE, MOST_GB = 5.0, 1.0, 1.0


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    timed, missed = ("", []) if options.guarantee_only else _times()
    parts = [
        f"- date: {datetime.date.today().isoformat()}\n- command: `make bench-plurality` ({options.splits} "
        f"random splits in halves for the tables, {options.guarantee_splits} for the guarantee)\n"
        f"- a full vote: {N_VOTERS} votes unless said otherwise, any number of answers",
        "### Time and memory\n\n" + timed,
    ]
    if options.guarantee_only:
        parts = []
    folder = data_folder()
    for name in SETS:
        file = folder / "llm_votes" / f"{name}.parquet" if folder else None
        if file is None or not file.exists():
            print(f"No votes: there is no llm_votes/{name}.parquet in FOREGONE_DATA or ../shared/data.")
            continue
        votes = read_votes(file)
        if not options.guarantee_only:
            items = PluralityItems.of(votes, N_VOTERS)
            made = replay(items, _methods(), splits=options.splits)
            equal, dearer = _equal(items, options.splits)
            print(f"{name}: replayed", flush=True)
            missed += [f"{name}: {what}" for what in dearer]
            parts += [
                f"### {name}: {made.n_items:,} items, up to {items.n_answers} different answers per item\n\n"
                + _figures(made),
                f"{name}, at equal disagreement:\n\n" + equal,
            ]
        rows: list[list[str]] = []
        for n_voters in options.guarantee_voters:
            found, broken = _guarantee(votes, n_voters, options.guarantee_splits)
            rows += found
            missed += [f"{name}: {what}" for what in broken]
        guarantee = table(GUARANTEE_HEAD, rows)
        parts.append(f"{name}, the limit on the other half, with 95 % confidence:\n\n" + guarantee)
    text = "\n\n".join(parts)
    print("\n" + text + "\n")
    if options.write_docs and not options.guarantee_only:
        put_into(DOCS, text + "\n")
    for what in missed:
        print(f"MISSED: {what}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plurality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--splits", type=int, default=10, help="random splits for the tables")
    parser.add_argument("--guarantee-splits", type=int, default=30, help="random splits for the guarantee")
    parser.add_argument(
        "--guarantee-voters",
        type=int,
        nargs="+",
        default=[20, 40],
        help="votes in a full vote, for the guarantee",
    )
    parser.add_argument("--guarantee-only", action="store_true", help="measure and print the guarantee alone")
    parser.add_argument(
        "--write-docs", action="store_true", help="put the tables into docs/measurements/plurality.md"
    )
    return parser


def _methods() -> list[Method]:
    # Tuned to the rules below, split by split and more finely.
    return [
        dataclasses.replace(method, is_tunable=False)
        for method in choose_methods(METHODS.split(","), LIMITS, many_answers=True)
    ]


def _times() -> tuple[str, list[str]]:
    """Time preparing and solving, best of three, once everything is compiled."""
    generator = np.random.default_rng(0)
    past = [generator.multinomial(N_VOTERS, generator.dirichlet(np.full(8, 0.15))) for _ in range(500)]
    Lattice.make(5, 5)
    for confidence in (None, 0.95):
        solve_plurality(past, LIMITS[0], n_voters=N_VOTERS, confidence=confidence)
    seconds = {
        "prepare": _best(lambda: Lattice.make(N_VOTERS, N_VOTERS)),
        "solve": _best(lambda: solve_plurality(past, LIMITS[0], n_voters=N_VOTERS, confidence=None)),
        "solve with confidence": _best(lambda: solve_plurality(past, LIMITS[0], n_voters=N_VOTERS)),
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    missed = [
        f"{what} takes {took:.2f} s"
        for what, took in seconds.items()
        if took > (MOST_SECONDS_TO_PREPARE if what == "prepare" else MOST_SECONDS_TO_SOLVE)
    ]
    if memory > MOST_GB:
        missed.append(f"{memory:.2f} GB of memory")
    rows = [[what, f"{took:.2f} s"] for what, took in seconds.items()]
    return table(
        [f"{N_VOTERS} voters, any answers", ""], [*rows, ["memory of the process", f"{memory:.2f} GB"]]
    ), missed


def _best(run: Callable[[], object]) -> float:
    took = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took)


def _name(row: ReplayRow | Method) -> str:
    return row.label if row.limit is None else f"{row.label}, limit {row.limit:g}"


def _figures(made: Replay) -> str:
    return table(
        ["method", "calls", "tokens", "disagreement", "splits above the limit"],
        [
            [
                _name(row),
                f"{row.calls:.2f}",
                "-" if row.tokens is None else f"{row.tokens:,.0f}",
                f"{row.disagreement:.2g}",
                "-" if row.above_limit is None else f"{100 * row.above_limit:.0f} %",
            ]
            for row in made.rows
        ],
    )


def _equal(items: PluralityItems, splits: int) -> tuple[str, list[str]]:
    """Set rules beside ours: in each split its limit is tuned until both disagree equally often.

    Ours is minimean on smoothed items. A price leads to the optimum for just the limit that it meets; between
    two prices both are mixed.
    """
    methods = {_name(method): method for method in _methods() if not method.is_ours}
    everything = items.calibrate(np.arange(items.n_items))
    theirs = {
        label: items.play(method.strategy(everything))
        for label, method in methods.items()
        if not method.is_calibrated
    }
    decided = evaluate_plurality(rules.curtailment(N_VOTERS))
    generator, half, lattice = np.random.default_rng(0), items.n_items // 2, items.lattice
    found: dict[str, list[tuple[float, float, float]]] = {label: [] for label in methods}
    for _ in range(splits):
        order = generator.permutation(items.n_items)
        others, weights = order[half:], items.weights(order[half:])
        guess = items.votes("expected", order[:half]).weights_on(lattice)
        reach, wrong = lattice.pull_back(guess), lattice.pull_back_wrong(guess)
        points = [(float(weights @ decided.expected_votes), 0.0)]
        for price in PRICES:
            stops, _ = lattice.best_stops(reach, price * wrong)
            votes, disagreement = votes_and_disagreement(lattice, stops.astype(float))
            points.append((float(weights @ votes), float(weights @ disagreement)))
        curve = Curve("", (np.inf, *PRICES), *zip(*points, strict=True))
        past = items.calibrate(order[:half])
        for label, method in methods.items():
            played = theirs.get(label) or items.play(method.strategy(past))
            one = played.on(others)
            ours = curve.calls_at(one.disagreement)
            assert ours is not None  # asking until it is decided is never wrong
            found[label].append((one.disagreement, one.calls, ours))
    rows, missed = [], []
    for label, of_rule in found.items():
        disagreement, calls, ours = np.mean(of_rule, axis=0)
        saved = f"{100 * (1 - ours / calls):.1f} %"
        rows.append([label, f"{disagreement:.2g}", f"{calls:.2f}", f"{ours:.2f}", saved])
        if (
            ours > calls * 1.001
        ):  # where a rule is the optimum itself, mixing two prices may not quite meet it
            missed.append(f"{label} asks {calls:.3f}, ours {ours:.3f} at the same disagreement")
    return table(["method", "disagreement", "calls", "calls of ours", "saved"], rows), missed


def _guarantee(votes: RecordedVotes, n_voters: int, splits: int) -> tuple[list[list[str]], list[str]]:
    """Solve with confidence on one half and measure on the other; return rows of a table.

    Beside it: nested bounds, which are used between two answers, and Adaptive-Consistency as careful.
    """
    items = PluralityItems.of(votes, n_voters)
    theirs = [items.play(rules.adaptive_consistency(n_voters, float(sure))) for sure in THRESHOLDS]
    generator, half = np.random.default_rng(0), items.n_items // 2
    found: dict[float, list[list[float]]] = {limit: [] for limit in GUARANTEED}
    for _ in range(splits):
        order = generator.permutation(items.n_items)
        past, others = items.votes("observed", order[:half]), order[half:]
        measured = [played.on(others) for played in theirs]
        curve = Curve(
            "",
            THRESHOLDS,
            tuple(one.calls for one in measured),
            tuple(one.disagreement for one in measured),
        )
        for limit, of_limit in found.items():
            ours = items.play(solve_plurality(past, limit, n_voters=n_voters).strategy).on(others)
            nested = items.play(_by_nested_bounds(past, items.lattice, limit)).on(others)
            as_careful = curve.calls_at(ours.disagreement)
            assert as_careful is not None  # the last threshold is never wrong
            of_limit.append([ours.calls, ours.disagreement, nested.calls, as_careful])
    rows, missed = [], []
    for limit, of_limit in found.items():
        calls, disagreement, nested_calls, careful = np.array(of_limit).T
        kept = int((disagreement <= limit).sum())
        rows.append(
            [
                str(n_voters),
                f"{limit:g}",
                f"{kept} of {splits}",
                f"{disagreement.mean():.2g}",
                f"{disagreement.max():.2g}",
                f"{calls.mean():.2f}",
                f"{nested_calls.mean():.2f}",
                f"{100 * (1 - calls.mean() / nested_calls.mean()):.1f} %",
                f"{careful.mean():.2f}",
            ]
        )
        if kept < 0.95 * splits:
            missed.append(f"the limit {limit:g} of {n_voters} votes holds in {kept} of {splits} splits")
        if calls.mean() >= nested_calls.mean():
            missed.append(f"at limit {limit:g} of {n_voters} votes, nested bounds ask no more")
    return rows, missed


def _by_nested_bounds(past: CompositionDistribution, lattice: Lattice, limit: float) -> PluralityStrategy:
    """Return the strategy that keeps the limit under all distributions that nested bounds leave."""
    problem = PluralityProblem.of(lattice, "minimean", past, limit, 0.95)
    assert isinstance(problem.possible, NestedSets)
    first = problem.possible.spread(pessimistic(lattice, past.weights_on(lattice)))
    return solve_sampled(problem, first)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
