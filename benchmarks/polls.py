"""Poll a troubled server about thousands of questions, check every verdict, and count what it costs.

    python -m benchmarks.polls
    python -m benchmarks.polls --questions 500
    python -m benchmarks.polls --write-docs

The server is on loopback, in a process of its own; it is asked over HTTP as ``examples/llm_judge.py`` does,
and one call in twenty fails: status 429 or 500, a connection that is dropped, nonsense. Exit status 1 if a
target is missed. Votes, failures and chance have fixed seeds, so a second run makes the same calls.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import platform
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from tests.polling.simulated import VOTES, Simulated, might_be
from tests.polling.troubled import troubled_server

from benchmarks.markdown import put_into, table
from benchmarks.plain_client import PlainClient
from benchmarks.speculation import speculation_table
from foregone import Verdict, evaluate, poll_many, solve

DOCS = Path(__file__).parent.parent / "docs" / "polling.md"
LIMIT, FAILURE_RATE, RETRIES, SEED = 0.01, 0.05, 2, 1
SOLUTION = solve("minimean", VOTES, LIMIT)


@dataclass
class Measured:
    """What came of one run."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    calls: int = 0
    seconds: float = 0.0
    most_tasks: int = 0
    tasks_left: int = 0
    memory: list[float] = field(default_factory=list)  # MB, ten times on the way


async def run(url: str, n_questions: int, concurrency: int) -> Measured:
    """Poll about so many questions."""
    measured = Measured()
    client = PlainClient(url)
    questions = [{"question": str(k), "answer": "?"} for k in range(n_questions)]
    polls = poll_many(
        questions, client.ask, SOLUTION, concurrency=concurrency, retries=RETRIES, seed=SEED, progress=True
    )
    began = time.perf_counter()
    async for key, verdict in polls:
        measured.verdicts[key] = verdict
        measured.most_tasks = max(measured.most_tasks, len(asyncio.all_tasks()))
        if len(measured.verdicts) % max(1, n_questions // 10) == 0:
            measured.memory.append(memory())
    measured.seconds = time.perf_counter() - began
    measured.tasks_left = len(asyncio.all_tasks()) - 1  # without this one
    measured.calls = json.loads((await client.post({}))[2])
    await client.close()
    return measured


def memory() -> float:
    """Return the resident memory of this process in MB; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * 4096 / 2**20


def wrong_verdicts(verdicts: dict[int, Verdict]) -> int:
    """Return how many verdicts are not the strategy's on the same votes in the order asked."""
    simulated, wrong = Simulated(SEED, FAILURE_RATE), 0
    for key, verdict in verdicts.items():
        try:
            might_be(SOLUTION.strategy, simulated.willing(key, RETRIES), verdict)
        except AssertionError:
            wrong += 1
    return wrong


def report(measured: Measured, n_questions: int, concurrency: int) -> tuple[str, bool]:
    """Return the table of what was found beside what it should be, and whether all of it is."""
    simulated, verdicts = Simulated(SEED, FAILURE_RATE), measured.verdicts
    expected = n_questions * evaluate(SOLUTION.strategy).mean(VOTES).expected_votes / (1 - FAILURE_RATE)
    off = measured.calls / expected - 1
    in_vain = measured.calls - sum(simulated.calls(key, v.asked, RETRIES) for key, v in verdicts.items())
    wrong, (otherwise, mean, deviation) = wrong_verdicts(verdicts), other_answers(verdicts)
    early, late = measured.memory[1], measured.memory[-1]
    rows = [
        ("questions with a verdict", f"{len(verdicts):,}", f"{n_questions:,}", len(verdicts) == n_questions),
        ("verdicts not the strategy's on the votes in the order asked", str(wrong), "0", not wrong),
        ("calls", f"{measured.calls:,}", f"{expected:,.0f} +- 2 % ({100 * off:+.2f} %)", abs(off) <= 0.02),
        ("calls for votes that were not needed", str(in_vain), "0", not in_vain),
        (
            "answers other than the full vote's",
            f"{100 * otherwise / n_questions:.2f} %",
            f"{100 * mean / n_questions:.2f} +- {100 * deviation / n_questions:.2f} %",
            abs(otherwise - mean) <= 4 * deviation,
        ),
        (
            "most tasks at once",
            str(measured.most_tasks),
            f"at most {concurrency + 1}",
            measured.most_tasks <= concurrency + 1,
        ),
        ("tasks left at the end", str(measured.tasks_left), "0", not measured.tasks_left),
        (
            "memory after a fifth of the questions, and at the end",
            f"{early:.0f} and {late:.0f} MB",
            "at most 16 MB more",
            late - early <= 16,
        ),
    ]
    text = table(
        ("what", "measured", "target", "met"), [(*row[:3], "yes" if row[3] else "NO") for row in rows]
    )
    return text, all(row[3] for row in rows)


def other_answers(verdicts: dict[int, Verdict]) -> tuple[int, float, float]:
    """Return how many answers are not those of the full vote.

    And how many there should be, exactly, given how many voters say yes to each question: mean and
    standard deviation. The limit is that mean, averaged over questions yet to be drawn.
    """
    simulated, disagreement = Simulated(SEED, FAILURE_RATE), evaluate(SOLUTION.strategy).disagreement
    others, mean, variance = 0, 0.0, 0.0
    for key, verdict in verdicts.items():
        yes = sum(islice(simulated.willing(key, RETRIES), VOTES.n_voters))
        others += verdict.answer != (2 * yes > VOTES.n_voters)
        mean += disagreement[yes]
        variance += disagreement[yes] * (1 - disagreement[yes])
    return others, mean, variance**0.5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/polling.md")
    options = parser.parse_args(arguments)
    with troubled_server(SEED, FAILURE_RATE) as url:
        measured = asyncio.run(run(url, options.questions, options.concurrency))
    text, met = report(measured, options.questions, options.concurrency)
    facts = [
        f"- date: {datetime.date.today().isoformat()}",
        f"- command: `make bench-polls`: {options.questions:,} questions, {options.concurrency} calls "
        f"at once, {100 * FAILURE_RATE:g} % of them failing; {measured.seconds:.0f} s on a shared machine",
        f"- strategy: minimean, {VOTES.n_voters} voters, max_disagreement {LIMIT:g}, "
        "solved for the distribution that the votes are drawn from",
        f"- versions: Python {platform.python_version()}, foregone {version('foregone')}",
    ]
    parts = ["\n".join(facts), text, "### What asking ahead costs\n\n" + speculation_table(SOLUTION)]
    page = "\n\n".join(parts) + "\n"
    print(page)
    if options.write_docs:
        put_into(DOCS, page)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
