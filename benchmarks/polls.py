"""Poll an unreliable server about thousands of questions, check every verdict, and count the calls.

    python -m benchmarks.polls
    python -m benchmarks.polls --questions 500
    python -m benchmarks.polls --write-docs

The server is on loopback, in a process of its own; it is asked over HTTP as ``examples/llm_judge.py`` does,
vote by vote and in batches (``n=``). One request in twenty fails: status 429 or 500, a connection that is
dropped, nonsense; in batches, one choice in twenty is missing or nonsense, too. Exit status 1 if a target is
missed. Votes, failures and chance have fixed seeds.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any

from tests.polling.simulated import VOTES, Simulated, might_be
from tests.polling.troubled import troubled_server

from benchmarks.budgets import budget_table
from benchmarks.killed_polls import killed_polls, killed_table
from benchmarks.markdown import put_into, table
from benchmarks.plain_client import PlainClient
from benchmarks.speculation import batch_table, speculation_table
from foregone import Verdict, evaluate, poll_many, solve
from foregone.polling import Costs, Prices

DOCS = Path(__file__).parent.parent / "docs" / "measurements" / "polling.md"
LIMIT, FAILURE_RATE, RETRIES, SEED = 0.01, 0.05, 2, 1
SOLUTION = solve("minimean", VOTES, LIMIT)
PRICES = Prices(prompt_token=0.15e-6, completion_token=0.60e-6)
WAYS: dict[str, dict[str, Any]] = {
    "ask": {},
    "ask_batch": {"in_batches": True},
    'ask_batch, speculate="expected"': {"in_batches": True, "speculate": "expected"},
}


@dataclass
class Measured:
    """What came of one run."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    voted: dict[int, int] = field(default_factory=dict)  # question -> who has voted, as bits
    given_up: set[tuple[int, int]] = field(default_factory=set)  # question and voter
    spent: Costs = field(default_factory=Costs)
    saved: Costs = field(default_factory=Costs)
    billed: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    most_tasks: int = 0
    tasks_left: int = 0
    memory: list[float] = field(default_factory=list)  # MB, ten times on the way

    @property
    def in_vain(self) -> int:
        """How many votes came that were not counted."""
        came = sum(bits.bit_count() for bits in self.voted.values())
        return came - sum(verdict.asked for verdict in self.verdicts.values())


async def run(
    url: str, n_questions: int, concurrency: int, *, in_batches: bool = False, speculate: Any = 0
) -> Measured:
    """Poll about so many questions."""
    measured = Measured()
    client = PlainClient(url)
    before = json.loads((await client.post({}))[2])
    questions = [{"question": str(k), "answer": "?"} for k in range(n_questions)]
    polls = poll_many(
        questions, None if in_batches else client.ask, SOLUTION,
        ask_batch=client.ask_batch if in_batches else None, speculate=speculate, prices=PRICES,
        concurrency=concurrency, retries=RETRIES, seed=SEED, progress=True,
    )  # fmt: skip
    began = time.perf_counter()
    async for key, verdict in polls:
        measured.verdicts[key] = verdict
        measured.most_tasks = max(measured.most_tasks, len(asyncio.all_tasks()))
        if len(measured.verdicts) % max(1, n_questions // 10) == 0:
            measured.memory.append(memory())
    measured.seconds = time.perf_counter() - began
    measured.tasks_left = len(asyncio.all_tasks()) - 1  # without this one
    measured.spent, measured.saved = polls.spent, polls.saved
    measured.voted = client.voted
    measured.given_up = {who for who, times in client.without_vote.items() if times > RETRIES}
    billed = json.loads((await client.post({}))[2])
    measured.billed = {name: number - before[name] for name, number in billed.items()}
    await client.close()
    return measured


def memory() -> float:
    """Return the resident memory of this process in MB; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * 4096 / 2**20


def votes_in_order(key: int, measured: Measured | None) -> Iterator[bool]:
    """Yield the votes of those who answered, in the order asked; then of those who were not asked.

    Raises
    ------
    AssertionError
        If somebody was passed over who had not failed for good.
    """
    simulated, bits = Simulated(SEED), 0 if measured is None else measured.voted.get(key, 0)
    for voter in range(bits.bit_length()):
        if bits >> voter & 1:
            yield simulated.vote(key, voter)
        else:
            assert measured is not None
            assert (key, voter) in measured.given_up
    for voter in count(bits.bit_length()):
        if measured is None or (key, voter) not in measured.given_up:
            yield simulated.vote(key, voter)


def wrong_verdicts(verdicts: dict[int, Verdict], measured: Measured | None = None) -> int:
    """Return how many verdicts are not the strategy's on the same votes in the order asked."""
    wrong = 0
    for key, verdict in verdicts.items():
        try:
            might_be(SOLUTION.strategy, votes_in_order(key, measured), verdict)
        except AssertionError:
            wrong += 1
    return wrong


Row = tuple[str, str, str, bool]


def report(measured: Measured, n_questions: int, concurrency: int, *, way: str) -> list[Row]:
    """Return what was found beside what it should be, and whether it is."""
    verdicts = measured.verdicts
    wrong, (otherwise, mean, deviation) = wrong_verdicts(verdicts, measured), other_answers(measured)
    early, late = measured.memory[1], measured.memory[-1]
    spent = {name: getattr(measured.spent, name) for name in measured.billed}
    rows = [
        ("questions with a verdict", f"{len(verdicts):,}", f"{n_questions:,}", len(verdicts) == n_questions),
        ("verdicts not the strategy's on the votes in the order asked", str(wrong), "0", not wrong),
        (
            "tokens",
            f"{spent['prompt_tokens'] + spent['completion_tokens']:,}",
            "requests and tokens as the server billed them",
            spent == measured.billed,
        ),
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
    in_vain, may_be_in_vain = measured.in_vain, "speculate" in WAYS[way]
    target = "0, or more when speculating"
    rows.append(("votes that were not needed", f"{in_vain:,}", target, may_be_in_vain or not in_vain))
    if way == "ask":
        expected = n_questions * evaluate(SOLUTION.strategy).mean(VOTES).expected_votes / (1 - FAILURE_RATE)
        off = measured.spent.requests / expected - 1
        target = f"{expected:,.0f} +- 2 % ({100 * off:+.2f} %) by ask"
        rows.append(("requests", f"{measured.spent.requests:,}", target, abs(off) <= 0.02))
    else:
        rows.append(("requests", f"{measured.spent.requests:,}", "", measured.spent.requests > 0))
    return rows


def side_by_side(reports: dict[str, list[Row]]) -> str:
    """Return one table of what was found by every way of asking."""
    lines = []
    for rows in zip(*reports.values(), strict=True):
        met = "yes" if all(row[3] for row in rows) else "NO"
        lines.append((rows[0][0], *(row[1] for row in rows), rows[0][2], met))
    return table(("what", *reports, "target", "met"), lines)


def other_answers(measured: Measured) -> tuple[int, float, float]:
    """Return how many answers are not those of the full vote.

    And how many there should be, exactly, given how many voters say yes to each question: mean and
    standard deviation. The limit is that mean, averaged over questions yet to be drawn.
    """
    disagreement = evaluate(SOLUTION.strategy).disagreement
    others, mean, variance = 0, 0.0, 0.0
    for key, verdict in measured.verdicts.items():
        yes = sum(islice(votes_in_order(key, measured), VOTES.n_voters))
        others += verdict.answer != (2 * yes > VOTES.n_voters)
        mean += disagreement[yes]
        variance += disagreement[yes] * (1 - disagreement[yes])
    return others, mean, variance**0.5


def cost_table(runs: dict[str, Measured]) -> str:
    """Return what each way of asking costs, beside full votes."""
    rows = []
    for way, measured in runs.items():
        rows.append([way, *_costs(measured.spent), f"{measured.in_vain:,}", f"{measured.seconds:.0f} s"])
    for way, name in (("ask", "every voter, one request each"), ("ask_batch", "every voter, one request")):
        rows.append([name + " (estimated)", *_costs(_full(runs[way])), "0", ""])
    head = (
        "way",
        "requests",
        "votes",
        "prompt tokens",
        "completion tokens",
        "rounds",
        "money",
        "in vain",
        "time",
    )
    return table(head, rows)


def _full(measured: Measured) -> Costs:
    """Return what full votes on all questions would cost: what was spent and what was saved."""
    return (measured.spent + measured.saved).priced(PRICES)


def _costs(costs: Costs) -> list[str]:
    whole = (costs.requests, costs.votes, costs.prompt_tokens, costs.completion_tokens, costs.rounds)
    return [*(f"{number:,}" for number in whole), f"{costs.money:.3f}"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument(
        "--kills", type=int, default=50, help="number of times that polls are killed and restarted"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/polling.md"
    )
    options = parser.parse_args(arguments)
    runs = {}
    for way, settings in WAYS.items():
        with troubled_server(SEED, FAILURE_RATE) as url:
            runs[way] = asyncio.run(run(url, options.questions, options.concurrency, **settings))
    reports = {
        way: report(measured, options.questions, options.concurrency, way=way)
        for way, measured in runs.items()
    }
    met = all(row[3] for rows in reports.values() for row in rows)
    killed = killed_polls(SOLUTION, options.questions, options.kills, SEED, FAILURE_RATE)
    of_killed, kept = killed_table(killed, options.questions, wrong_verdicts(killed.verdicts))
    met &= kept
    facts = [
        f"- date: {datetime.date.today().isoformat()}",
        f"- command: `make bench-polls`: {options.questions:,} questions, {options.concurrency} requests "
        f"at once, {100 * FAILURE_RATE:g} % of them failing; in batches, {100 * FAILURE_RATE:g} % of the "
        f"votes missing, too; {sum(one.seconds for one in runs.values()):.0f} s on a shared machine",
        f"- strategy: minimean, {VOTES.n_voters} voters, max_disagreement {LIMIT:g}, "
        "solved for the distribution that the votes are drawn from",
        f"- prices: {1e6 * PRICES.prompt_token:.2f} for a million tokens read, "
        f"{1e6 * PRICES.completion_token:.2f} for a million written; a prompt has 100 to 199, a vote 2 to 5",
        f"- versions: Python {platform.python_version()}, foregone {version('foregone')}",
    ]
    parts = [
        "\n".join(facts),
        side_by_side(reports),
        "### Killed and begun again\n\n" + of_killed,
        "### What a request for several votes saves\n\n" + cost_table(runs),
        "### What more votes in a request cost and save\n\n" + batch_table(SOLUTION, PRICES),
        "### What a budget buys\n\n" + budget_table(SOLUTION),
        "### What asking ahead costs\n\n" + speculation_table(SOLUTION),
    ]
    page = "\n\n".join(parts) + "\n"
    print(page)
    if options.write_docs:
        put_into(DOCS, page)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
