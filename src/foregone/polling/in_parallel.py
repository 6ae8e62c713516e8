"""poll_async: ask several voters at once, and decide as if they had been asked one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foregone.ballot import Ballot, Followed, Verdict
from foregone.checks import check_timeout, check_whole
from foregone.polling.asking import Failure, TaskPool, ask_voter
from foregone.polling.voter_queue import VoterQueue, check_voters, derive_seed, voter_order

__all__ = ["poll_async"]


async def poll_async(
    ask: Callable[[int], Any],
    strategy: Followed,
    *,
    concurrency: int = 4,
    timeout: float | None = None,
    retries: int = 2,
    voters: int | None = None,
    max_failures: int = 10,
    speculate: bool = True,
    seed: int | None = None,
) -> Verdict:
    """Ask voters, up to ``concurrency`` of them at once, and return the verdict as soon as there is one.

    Votes are counted in the order in which the voters were asked: a vote that arrives early waits for those
    asked before it. So the verdict is the one that asking one by one would have given, and voters that are
    quick with a yes have no more weight than others. When the verdict falls, calls still running are
    cancelled and waited for.

    Parameters
    ----------
    ask : callable
        ``ask(voter)`` returns the vote of the voter with that number, or a coroutine that does. A plain
        function is called in a thread of its own, several of them at once. Any ``Exception`` it raises means
        that the voter failed.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
    concurrency : int
        Most calls at once.
    timeout : float, optional
        Seconds after which one call has failed. A plain function goes on for itself; its answer is ignored.
    retries : int
        How often a voter that failed is asked again, before another one is asked instead. A voter keeps its
        place in the order while it is asked again; the other one comes after all that have been asked before.
    voters : int, optional
        How many voters there are, at least as many as the strategy is for: numbered from 0, asked in a
        random order, each for at most one vote. By default there is no end of them (samples of a language
        model), and they are numbered as they are asked.
    max_failures : int
        How many voters may fail for good before the poll is given up.
    speculate : bool
        Whether to ask voters whose votes may turn out not to be needed, up to ``concurrency - 1`` of them.
        Without it, only as many are asked at once as must answer before any stop is possible: slower, and
        no call in vain.
    seed : int, optional
        For the order and for the states where the strategy leaves the stop to chance; by default drawn anew.

    Raises
    ------
    PollError
        If too many voters fail; its ``votes`` has what was answered.
    InvalidInputError
        If an answer is not a vote.

    Examples
    --------
    >>> import asyncio
    >>> from foregone import poll_async, solve
    >>> async def ask(voter):
    ...     await asyncio.sleep(0.001)
    ...     return voter != 3
    >>> verdict = asyncio.run(poll_async(ask, solve("minimixed", 21, 0.01), seed=0))
    >>> verdict.answer, verdict.asked, verdict.yes
    (True, 8, 7)
    """
    concurrency, retries = check_whole(concurrency, "concurrency"), check_whole(retries, "retries", 0)
    max_failures, timeout = check_whole(max_failures, "max_failures", 0), check_timeout(timeout)
    ballot = Ballot(strategy, derive_seed(seed, "stop"))
    voters = check_voters(voters, ballot.n_voters)
    order = voter_order(voters, derive_seed(seed, "order"))
    queue = VoterQueue(ballot, order, max_failures, ahead=concurrency if speculate else 0)
    async with TaskPool[int](concurrency) as pool:
        while queue.verdict is None:
            for voter in queue.take(pool.free):
                pool.start(voter, ask_voter(ask, (voter,), timeout, retries))
            voter, answer = await pool.next()
            if isinstance(answer, Failure):
                queue.failed(voter, answer.error)
            else:
                queue.answered(voter, queue.check(voter, answer))
    return queue.verdict
