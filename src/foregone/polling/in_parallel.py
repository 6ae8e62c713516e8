"""poll_async: ask several voters at once, and decide as if they had been asked one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from foregone.ballot import Ballot, Followed, Verdict
from foregone.checks import check_timeout, check_whole
from foregone.errors import InvalidInputError
from foregone.polling.asking import Asker, Failure, TaskPool
from foregone.polling.costs import Costs
from foregone.polling.voter_queue import VoterQueue, check_ahead, check_voters, derive_seed, voter_order

__all__ = ["poll_async"]


async def poll_async(
    ask: Callable[[int], Any] | None,
    strategy: Followed,
    *,
    ask_batch: Callable[[list[int]], Any] | None = None,
    concurrency: int = 4,
    timeout: float | None = None,
    retries: int = 2,
    voters: int | None = None,
    max_failures: int = 10,
    speculate: bool | int | Literal["expected"] | None = None,
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
        that the voter failed. None with ``ask_batch``.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
    ask_batch : callable, optional
        ``ask_batch(voters)`` takes a list of voters and returns a list of their votes, in that order, or a
        coroutine that does: several votes by one request. Where a vote is None or an exception, or the list
        is shorter, these voters are asked again; an ``Exception`` that it raises is a failure of them all.
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
    speculate : bool, int or "expected", optional
        How many voters are asked at once although their votes may turn out not to be needed. With 0 or False,
        only as many are asked at once as must answer before any stop is possible: slower, and no vote in
        vain. A number lets so many wait for their votes at once, "expected" as many as are needed on average
        (which needs a solution). By default ``concurrency`` (as True), and 0 with ``ask_batch``.
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

    Several votes from one request; a list of seeds here, ``n=len(voters)`` of a language model elsewhere:

    >>> async def ask_batch(voters):
    ...     print(voters)
    ...     return [voter != 3 for voter in voters]
    >>> asyncio.run(poll_async(None, solve("minimixed", 21, 0.01), ask_batch=ask_batch, seed=0)) == verdict
    [0, 1, 2, 3, 4]
    [5, 6, 7]
    True
    """
    concurrency, retries = check_whole(concurrency, "concurrency"), check_whole(retries, "retries", 0)
    max_failures, timeout = check_whole(max_failures, "max_failures", 0), check_timeout(timeout)
    asker = Asker(ask, ask_batch, timeout, retries)
    if ask is None and ask_batch is None:
        raise InvalidInputError("pass ask, or ask_batch to get several votes from one request")
    ballot = Ballot(strategy, derive_seed(seed, "stop"))
    voters = check_voters(voters, ballot.n_voters)
    order = voter_order(voters, derive_seed(seed, "order"))
    if speculate is None:
        speculate = not asker.in_batches
    if isinstance(speculate, bool):
        speculate = concurrency if speculate else 0
    queue = VoterQueue(ballot, order, max_failures, check_ahead(speculate, ballot))

    def checked(votes: dict[int, Any], cost: Costs) -> dict[int, Any]:
        return {voter: queue.check(voter, vote) for voter, vote in votes.items()}

    async with TaskPool[None](concurrency) as pool:
        while queue.verdict is None:
            most = ballot.n_voters if asker.in_batches and pool.free else pool.free
            for request in asker.requests(queue.take(most)):
                pool.start(None, asker.votes((), request, checked))
            for voter, answer in (await pool.next())[1].items():
                if isinstance(answer, Failure):
                    queue.failed(voter, answer.error)
                else:
                    queue.answered(voter, answer)
    return queue.verdict
