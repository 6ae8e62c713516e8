"""What poll_async gains in time and pays in calls when it asks ahead, on a clock that does not wait."""

from __future__ import annotations

import asyncio
import random
import selectors
from typing import Any

from tests.polling.simulated import Simulated

from benchmarks.markdown import table
from foregone import Solution, poll_async

N_QUESTIONS, SEED = 1000, 2


class _Impatient(selectors.DefaultSelector):  # type: ignore[misc,valid-type]  # its class depends on the system
    """A selector that never waits, but moves the clock on by as much."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready, and let the time pass that it would have waited."""
        self.now += timeout or 0.0
        return super().select(0)


def timed(poll: Any) -> tuple[Any, float]:
    """Return the result of a poll, and how long it takes on a clock of its own."""
    selector = _Impatient()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]  # that is how a loop is given a clock
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(poll), selector.now


def speculation_table(solution: Solution) -> str:
    """Return a table of calls and time, with and without asking ahead."""
    rows = []
    for concurrency in (1, 2, 4, 8, 16):
        row = [str(concurrency)]
        for speculate in (False, True):
            calls, asked, spent = _measure(solution, concurrency, speculate)
            row += [f"{calls:.2f}", f"{calls - asked:.2f}", f"{spent:.2f}"]
        rows.append(row)
    head = ("concurrency", "calls", "in vain", "time", "calls, asking ahead", "in vain", "time")
    return (
        f"{table(head, rows)}\n\nMeans over {N_QUESTIONS:,} polls. A call takes a random time, exponentially "
        "distributed; its mean is the unit of time."
    )


def _measure(solution: Solution, concurrency: int, speculate: bool) -> tuple[float, float, float]:
    simulated, chance = Simulated(SEED), random.Random(SEED)
    calls = asked = spent = 0.0
    for question in range(N_QUESTIONS):

        async def ask(voter: int, question: int = question) -> bool:
            nonlocal calls
            calls += 1
            await asyncio.sleep(chance.expovariate(1))
            return simulated.vote(question, voter)

        verdict, took = timed(
            poll_async(ask, solution, concurrency=concurrency, speculate=speculate, seed=question)
        )
        asked += verdict.asked
        spent += took
    return calls / N_QUESTIONS, asked / N_QUESTIONS, spent / N_QUESTIONS
