"""Measure asking ahead: poll_async in time and calls, ask_batch in requests, tokens and rounds.

On a clock that does not wait, or without one.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from dataclasses import replace
from typing import Any

from tests.polling.simulated import Simulated

from benchmarks.markdown import table
from foregone import Solution, poll_async, poll_many
from foregone.polling import Prices, Reply

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


def batch_table(solution: Solution, prices: Prices) -> str:
    """Return a table of requests, tokens, rounds and money for several numbers of votes asked at once."""
    simulated, rows = Simulated(SEED), []

    async def ask_batch(question: int, voters: list[int]) -> Reply:
        votes = [simulated.vote(question, voter) for voter in voters]
        return Reply(votes, *simulated.tokens(question, tuple(voters)))

    policies: list[Any] = [0, 6, 8, 12, "expected", solution.n_voters]
    for speculate in policies:
        polls = poll_many(
            range(N_QUESTIONS),
            None,
            solution,
            ask_batch=ask_batch,
            speculate=speculate,
            prices=prices,
            seed=SEED,
        )
        asked = sum(verdict.asked for verdict in polls.run().values())
        spent = polls.spent
        long = replace(spent, completion_tokens=100 * spent.completion_tokens).priced(prices)
        counts = (spent.requests, spent.votes, spent.votes - asked)
        tokens = (spent.prompt_tokens, spent.completion_tokens)
        means = [f"{number / N_QUESTIONS:.2f}" for number in (*counts, *tokens)]
        moneys = [f"{1e6 * (costs.money or 0) / N_QUESTIONS:,.0f}" for costs in (spent, long)]
        rows.append([repr(speculate), *means, *moneys])
    head = ("speculate", "requests", "votes", "in vain", "prompt tokens", "completion tokens", "money")
    return (
        f"{table((*head, 'money, long votes'), rows)}\n\nMeans over {N_QUESTIONS:,} questions without "
        "failures, where each request is a round. Money in millionths, at the prices above; long votes have "
        "100 times as many tokens, as those of models that reason do."
    )
