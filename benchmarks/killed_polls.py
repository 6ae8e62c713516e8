"""Kill polls at random moments and restart them, to check that no paid vote is requested twice.

The polls are those of `benchmarks.polls`, in batches, with a journal. Before every request the voters that it
asks are written to a file. After a kill, the votes in the journal are those that are paid for and kept: no
later run may ask for one of them.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from tests.polling.troubled import troubled_server

from benchmarks.markdown import table
from benchmarks.plain_client import PlainClient
from foregone import Solution, poll_many

__all__ = ["Killed", "killed_polls", "killed_table"]

SECONDS = (0.3, 1.2)  # of a run before it is killed
RETRIES = 20  # so many that no voter fails for good: then the verdicts are known


class Killed:
    """What came of polls that were killed: verdicts, and votes that were asked for though they were kept."""

    def __init__(self, verdicts: dict[Any, Any], n_kills: int, kept: list[int], asked_again: int) -> None:
        self.verdicts = verdicts
        self.n_kills = n_kills
        self.kept = kept  # votes in the journal after each kill
        self.asked_again = asked_again


def killed_polls(strategy: Solution, n_questions: int, n_kills: int, seed: int, rate: float) -> Killed:
    """Poll about so many questions, killed so many times, and then to the end."""
    chance, kept, asked_again, recorded = Random(seed), [], 0, set()
    questions = [{"question": str(k), "answer": "?"} for k in range(n_questions)]
    with tempfile.TemporaryDirectory() as folder, troubled_server(seed, rate) as url:
        journal, log = Path(folder) / "votes.jsonl", Path(folder) / "asked.jsonl"
        for _ in range(n_kills):
            child = multiprocessing.get_context("fork").Process(
                target=_run, args=(url, questions, strategy, seed, journal, log)
            )
            child.start()
            child.join(chance.uniform(*SECONDS))
            child.kill()
            child.join()
            asked_again += len(_asked(log) & recorded)
            recorded = _recorded(journal)
            kept.append(len(recorded))
            log.unlink(missing_ok=True)
        verdicts = _run(url, questions, strategy, seed, journal, log)
        asked_again += len(_asked(log) & recorded)
    return Killed(verdicts, n_kills, kept, asked_again)


def _run(url: str, questions: Any, strategy: Solution, seed: int, journal: Path, log: Path) -> Any:
    client = PlainClient(url)
    # One write for each request, straight to the file: it stays if the process is killed.
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def ask_batch(item: dict[str, Any], voters: list[int]) -> Any:
        os.write(file, json.dumps([int(item["question"]), voters]).encode() + b"\n")
        return await client.ask_batch(item, voters)

    async def poll() -> dict[Any, Any]:
        polls = poll_many(
            questions, None, strategy, ask_batch=ask_batch, retries=RETRIES, seed=seed, journal=journal
        )
        found = {key: verdict async for key, verdict in polls}
        await client.close()
        return found

    try:
        return asyncio.run(poll())
    finally:
        os.close(file)


def _asked(log: Path) -> set[tuple[int, int]]:
    """Return the questions and voters of all requests that were made."""
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {(question, voter) for question, voters in lines for voter in voters}


def _recorded(journal: Path) -> set[tuple[int, int]]:
    """Return the questions and voters of all votes that are kept; the last line may be cut off."""
    found = set()
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if "vote" in record:
            found.add((record["question"], record["voter"]))
    return found


def killed_table(found: Killed, n_questions: int, n_wrong: int) -> tuple[str, bool]:
    """Return what was found beside what it should be, and whether it is."""
    rows = [
        ("times killed", str(found.n_kills), ""),
        ("votes kept after the first and the last kill", f"{found.kept[0]:,} and {found.kept[-1]:,}", ""),
        ("kept votes that were asked for again", str(found.asked_again), "0"),
        ("questions with a verdict in the end", f"{len(found.verdicts):,}", f"{n_questions:,}"),
        ("verdicts not the strategy's on the votes in the order asked", str(n_wrong), "0"),
    ]
    met = not found.asked_again and not n_wrong and len(found.verdicts) == n_questions
    return table(("what", "found", "target"), rows), met
