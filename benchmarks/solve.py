"""Time our solver against HiGHS on the paper's linear program; report ratios of medians.

Run it with ``make bench-solve``. Options: ``--large`` also solves 100,001 voters (about a minute),
``--quick`` leaves out HiGHS's slowest case.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from foregone import solve
from foregone.solving import CRITERIA
from foregone.solving.reference import linear_program

LIMIT = 1e-3
ROUNDS = 9
console = Console()


def seconds(work: Callable[[], Any]) -> float:
    """Return how long ``work`` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def highs_seconds(criterion: str, n_voters: int) -> float:
    """Return what HiGHS itself needs for the linear program, setting it up and repeated solves left out."""
    spent: list[float] = []
    original = linear_program.linprog

    def timed(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        result = original(*arguments, **options)
        spent.append(time.perf_counter() - start)
        return result

    linear_program.linprog = timed
    try:
        solve(criterion, n_voters, LIMIT, method="linear_program")
    finally:
        linear_program.linprog = original
    return spent[0]


def against_highs(n_voters: int, criteria: tuple[str, ...]) -> None:
    """Print ours beside HiGHS, the two taking turns."""
    table = Table(
        title=f"{n_voters} voters, max_disagreement {LIMIT:g}: ours against HiGHS on the same program"
    )
    for column in ("criterion", "ours", "HiGHS", "ratio", "our gap"):
        table.add_column(column, justify="left" if column == "criterion" else "right")
    for criterion in criteria:
        ours, highs = [], []
        for turn in range(ROUNDS):
            ours.append(seconds(partial(solve, criterion, n_voters, LIMIT)))
            if turn < (1 if criterion == "minimax" else 3):
                highs.append(highs_seconds(criterion, n_voters))
        ours_median, highs_median = statistics.median(ours), statistics.median(highs)
        gap = solve(criterion, n_voters, LIMIT).gap
        table.add_row(
            criterion,
            f"{1e3 * ours_median:.1f} ms",
            f"{1e3 * highs_median:,.0f} ms",
            f"{highs_median / ours_median:,.0f} x",
            f"{gap:.0e}",
        )
    console.print(table)


def ours_alone(n_voters: int, criteria: tuple[str, ...], rounds: int) -> None:
    """Print our own times where no other solver goes."""
    table = Table(title=f"{n_voters:,} voters, max_disagreement {LIMIT:g}: ours alone")
    for column in ("criterion", "time", "expected votes", "gap"):
        table.add_column(column, justify="left" if column == "criterion" else "right")
    for criterion in criteria:
        problem = (criterion, n_voters, LIMIT)
        spent = [seconds(partial(solve, *problem)) for _ in range(rounds)]
        solution = solve(*problem)
        table.add_row(
            criterion,
            f"{statistics.median(spent):.2f} s",
            f"{solution.expected_votes:.3f}",
            f"{solution.gap:.0e}",
        )
    console.print(table)


def _large(n_voters: int, answers: Any) -> None:
    """Solve in a process of its own, so that its peak memory can be told."""
    solve("minimean", 501, LIMIT)  # the kernels are loaded beforehand
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    solution = solve("minimean", n_voters, LIMIT)
    spent = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers.put((spent, peak / 1024, (peak - before) / 1024, solution.expected_votes, solution.gap))


def large(n_voters: int) -> None:
    """Print time and peak memory of minimean for many voters."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_large, args=(n_voters, answers))
    process.start()
    spent, peak, more, votes, gap = answers.get()
    process.join()
    console.print(
        f"{n_voters:,} voters, minimean at {LIMIT:g}: {spent:.1f} s, peak memory {peak:.0f} MB "
        f"({more:.0f} MB more than before), {votes:.2f} expected votes, gap {gap:.0e}"
    )


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also solve 100,001 voters")
    parser.add_argument("--quick", action="store_true", help="omit HiGHS on minimax")
    options = parser.parse_args()
    for criterion in CRITERIA:
        solve(criterion, 11, LIMIT)  # the kernels are loaded beforehand
    against_highs(101, ("minimean", "minimixed") if options.quick else ("minimean", "minimixed", "minimax"))
    ours_alone(1_001, CRITERIA, rounds=5)
    large(10_001)
    if options.large:
        large(100_001)


if __name__ == "__main__":
    main()
