"""A run of polls for a test to kill: python -m tests.polling.killed_run JOURNAL CALLS ANSWERS."""

from __future__ import annotations

import asyncio
import os
import sys

from foregone import poll_many, rules
from tests.polling.simulated import Simulated

STRATEGY = rules.lead(21, 4)
N_QUESTIONS, CONCURRENCY, SEED = 150, 6, 1


def main(journal: str, calls: str, answers: str) -> None:
    """Poll, and note every call when it begins and when it ends."""
    simulated = Simulated(2)
    began, ended = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in (calls, answers))

    async def ask(question: int, voter: int) -> bool:
        os.write(began, f"{question} {voter}\n".encode())
        await asyncio.sleep(0.0005 * simulated.turns(question, voter))
        os.write(ended, f"{question} {voter}\n".encode())
        return simulated.vote(question, voter)

    poll_many(range(N_QUESTIONS), ask, STRATEGY, journal=journal, concurrency=CONCURRENCY, seed=SEED).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
