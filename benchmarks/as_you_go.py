"""Measure learning while polling, on recorded votes of language models: calls, and whether the limit is kept.

    python -m benchmarks.as_you_go
    python -m benchmarks.as_you_go --shuffles 10 --write-docs

Recorded votes take the place of a server. Every shuffle of the questions, and of the votes on each, is polled
by three plans: careful (a strategy that keeps the limit for every question), as you go (`Course`), and
calibrated first (the first questions are put to everyone, then one certified strategy is followed). The exit
status is 1 if a limit is not kept beyond noise.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.markdown import put_into, table
from foregone import Ballot, VoteDistribution, solve, solve_plurality
from foregone.errors import SolverError
from foregone.plurality import CompositionDistribution
from foregone.polling.as_you_go import Course

__all__ = ["main"]

DOCS = Path(__file__).parent.parent / "docs" / "measurements" / "as_you_go.md"
N_VOTERS = {"gpqa_yesno": 39, "gsm8k": 20, "gpqa_choice": 20}
LIMITS = (0.05, 0.02, 0.01)
CALIBRATED_ON = 128  # questions, where something is calibrated first

Items = list[list[Any]]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.as_you_go",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--shuffles", type=int, default=100, help="random orders of the questions")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table to docs/measurements/as_you_go.md"
    )
    options = parser.parse_args(arguments)
    folder = data_folder()
    found = [] if folder is None else sorted((folder / "llm_votes").glob("*.parquet"))
    if not found:
        print("No recorded votes: there is no folder llm_votes in FOREGONE_DATA or ../shared/data.")
        return 0
    rows, missed = [], []
    for file in found:
        items, is_yes_no = _items(file)
        for limit in LIMITS:
            figures = _measure(items, limit, options.shuffles, yes_no=is_yes_no)
            rows.append(_row(file.stem, items, limit, figures))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
            if figures["above"][1]:
                missed.append(f"{file.stem}, {limit:g}: above the limit beyond noise")
    head = ["votes", "questions", "limit", "careful", "calibrated first", "as you go", "all of them"]
    head += ["disagreement", "above the limit"]
    measured = f"Measured on {datetime.date.today()} by `make bench-as-you-go`, {options.shuffles} shuffles."
    text = f"{table(head, rows)}\n\n{measured}\n"
    print(text)
    if options.write_docs:
        put_into(DOCS, text)
    for what in missed:
        print(f"MISSED: {what}")
    return 1 if missed else 0


def _items(file: Path) -> tuple[Items, bool]:
    """Return the votes on each question, as many as there are voters, and whether they are yes and no."""
    import pandas as pd

    votes = pd.read_parquet(file)
    n_voters = N_VOTERS[file.stem]
    items = [list(answers) for _, answers in votes.groupby("item", sort=False)["answer"]]
    is_yes_no = set(votes["answer"].dropna().str.lower()) <= {"yes", "no"}
    if is_yes_no:
        items = [[str(answer).lower() == "yes" for answer in answers] for answers in items]
    return [answers for answers in items if len(answers) >= n_voters], is_yes_no


def _measure(items: Items, limit: float, n_shuffles: int, *, yes_no: bool) -> dict[str, Any]:
    n_voters = N_VOTERS["gpqa_yesno" if yes_no else "gsm8k"]
    if yes_no:
        careful: Any = solve("minimixed", n_voters, limit)
    else:
        careful = solve_plurality(None, limit, n_voters=n_voters, criterion="minimixed")
    calls: dict[str, list[int]] = collections.defaultdict(list)
    wrong = []
    for shuffle in range(n_shuffles):
        rng = np.random.default_rng([22, shuffle])
        drawn = [[items[k][j] for j in rng.permutation(len(items[k]))[:n_voters]]
                 for k in rng.permutation(len(items))]  # fmt: skip
        calls["careful"].append(_poll(drawn, lambda _: careful)[0])
        course = Course(careful, len(drawn), seed=shuffle)
        total, n_wrong = _poll(drawn, course.strategy_for, course)
        calls["as you go"].append(total)
        wrong.append(n_wrong / len(drawn))
        calls["calibrated first"].append(_calibrated_first(drawn, limit, n_voters, yes_no=yes_no))
    noise = 2 * math.sqrt(limit * (1 - limit) / len(items))
    above = sum(share > limit for share in wrong), sum(share > limit + noise for share in wrong)
    return {**{name: float(np.mean(found)) for name, found in calls.items()},
            "everyone": n_voters * len(items), "wrong": float(np.mean(wrong)), "above": above}  # fmt: skip


def _poll(drawn: Items, strategy_for: Callable[[int], Any], course: Course | None = None) -> tuple[int, int]:
    """Return how many calls questions take, and how many answers are not those of everyone."""
    total = n_wrong = 0
    for place, votes in enumerate(drawn):
        if course is not None and course.is_due:
            course.check()
        ballot = Ballot(strategy_for(place), seed=place)
        verdict = ballot.verdict or ballot.cast_many(votes)
        assert verdict is not None  # everyone has voted
        total += verdict.asked
        counts = collections.Counter(votes)
        most = max(counts.values())
        is_tie_of_two = isinstance(votes[0], bool) and 2 * most == len(votes)
        n_wrong += verdict.answer is not False if is_tie_of_two else counts[verdict.answer] < most
        if course is not None:
            course.note(place, votes[: verdict.asked])
    return total, n_wrong


def _calibrated_first(drawn: Items, limit: float, n_voters: int, *, yes_no: bool) -> int:
    """Return the calls if some questions are put to everyone first; without a certificate, all are."""
    first = drawn[:CALIBRATED_ON]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if yes_no:
                votes = VoteDistribution.from_yes_counts([sum(said) for said in first], n_voters)
                strategy: Any = solve("minimean", votes, limit, confidence=0.95)
            else:
                strategy = solve_plurality(
                    CompositionDistribution.from_answers(first), limit, n_voters=n_voters
                )
    except SolverError:
        return n_voters * len(drawn)
    return n_voters * len(first) + _poll(drawn[CALIBRATED_ON:], lambda _: strategy)[0]


def _row(name: str, items: Items, limit: float, figures: dict[str, Any]) -> list[str]:
    plans = [f"{figures[plan]:,.0f}" for plan in ("careful", "calibrated first", "as you go", "everyone")]
    above = f"{figures['above'][0]} ({figures['above'][1]})"
    return [name, f"{len(items):,}", f"{limit:g}", *plans, f"{figures['wrong']:.4f}", above]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
