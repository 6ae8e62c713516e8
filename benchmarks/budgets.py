"""Compare ways to spend a budget of votes: by the value of the next vote, evenly, or question by question."""

from __future__ import annotations

import math
from itertools import islice

from tests.polling.simulated import Simulated

from benchmarks.markdown import table
from foregone import Ballot, Solution, poll_many

__all__ = ["budget_table"]

N_QUESTIONS, SEED = 2000, 3
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)


def budget_table(solution: Solution) -> str:
    """Return how many answers differ from the full vote for some budgets, by how they are spent."""
    simulated = Simulated(SEED)
    votes = [list(islice(simulated.willing(key, 0), solution.n_voters)) for key in range(N_QUESTIONS)]
    full = [2 * sum(said) > solution.n_voters for said in votes]
    needed = sum(_ballot(solution, key, said).asked for key, said in enumerate(votes))
    rows = []

    async def ask(key: int, voter: int) -> bool:
        return votes[key][voter]

    for share in SHARES:
        budget = math.ceil(share * needed)
        polls = poll_many(range(N_QUESTIONS), ask, solution, budget=budget, seed=SEED)
        verdicts = polls.run()
        assert polls.spent.votes <= budget
        wrong = sum(verdicts[key].answer != answer for key, answer in enumerate(full))
        others = [
            sum(ballot.cut_short().answer != answer for ballot, answer in zip(ballots, full, strict=True))
            for ballots in (_evenly(solution, votes, budget), _in_order(solution, votes, budget))
        ]
        promise = polls.promise
        assert promise.expected_disagreement is not None
        rows.append(
            [
                f"{100 * share:.0f} %",
                f"{polls.spent.votes:,}",
                f"{promise.n_cut_short:,}",
                f"{100 * wrong / N_QUESTIONS:.2f} %",
                f"{100 * promise.expected_disagreement:.2f} %",
                *(f"{100 * other / N_QUESTIONS:.2f} %" for other in others),
            ]
        )
    head = ("budget", "votes", "cut short", "differ", "expected to", "if spent evenly", "if in order")
    return (
        f"{table(head, rows)}\n\n{N_QUESTIONS:,} questions; a budget of 100 % is what the strategy needs for "
        "all of them. Shares of answers that differ from the full vote."
    )


def _ballot(solution: Solution, key: int, votes: list[bool]) -> Ballot:
    ballot = Ballot(solution, key)
    ballot.cast_many(votes)
    return ballot


def _evenly(solution: Solution, votes: list[list[bool]], budget: int) -> list[Ballot]:
    """Return the ballots when every open question gets one more vote in turn."""
    ballots = [Ballot(solution, key) for key in range(len(votes))]
    while budget and any(ballot.verdict is None for ballot in ballots):
        for ballot, said in zip(ballots, votes, strict=True):
            if ballot.verdict is None and budget:
                ballot.cast(said[ballot.asked])
                budget -= 1
    return ballots


def _in_order(solution: Solution, votes: list[list[bool]], budget: int) -> list[Ballot]:
    """Return the ballots when one question after the other is asked to its end."""
    ballots = [Ballot(solution, key) for key in range(len(votes))]
    for ballot, said in zip(ballots, votes, strict=True):
        while ballot.verdict is None and budget:
            ballot.cast(said[ballot.asked])
            budget -= 1
    return ballots
