"""poll_async: ask several voters at once, with the same verdict as asking one by one."""

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
    """Ask up to ``concurrency`` voters at once, and return the verdict as soon as it is reached.

    Votes are counted in the order in which the voters were asked: a vote that arrives early waits for those
    asked before it. So the verdict is the same as when asking one by one, and does not follow the fastest
    responders. Once the verdict is reached, running calls are cancelled and awaited.

    Parameters
    ----------
    ask : callable
        ``ask(voter)`` returns the vote of the voter with that number, or a coroutine. A plain function is
        called in its own thread, several at once. Any ``Exception`` it raises means that the voter failed.
        None with ``ask_batch``.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer. Plurality strategies take any hashable answers as votes, score
        strategies take weighted votes.
    ask_batch : callable, optional
        ``ask_batch(voters)`` takes a list of voters and returns a list of their votes, in that order, or a
        coroutine: several votes per request. Voters whose vote is None, an exception, or missing at the end
        of the list are asked again. An ``Exception`` that it raises fails all voters of the request.
    concurrency : int
        Maximum number of simultaneous calls.
    timeout : float, optional
        Seconds after which a call counts as failed. A plain function keeps running in its thread; its answer
        is ignored.
    retries : int
        How often a failed voter is asked again before another one replaces it. A voter keeps its position
        in the order while it is asked again; its replacement comes after all voters asked so far.
    voters : int, optional
        Number of voters, at least as many as the strategy is for. They are numbered from 0 and asked in a
        random order, each for at most one vote. By default the number is unlimited (such as samples of a
        language model), and voters are numbered as they are asked.
    max_failures : int
        How many voters may fail, after their retries, before the poll raises `PollError`.
    speculate : bool, int or "expected", optional
        How many votes to request ahead although they may not be needed. With 0 or False, only votes that
        must arrive before any stop is possible are requested together: slower, but none wasted. A number
        allows that many outstanding votes; "expected" allows as many as are needed on average (which needs
        a solution). By default ``concurrency`` (the same as True), or 0 with ``ask_batch``.
    seed : int, optional
        For the order, and for randomised stops; random by default.

    Raises
    ------
    PollError
        If too many voters fail; its ``votes`` holds the votes so far.
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
        raise InvalidInputError("ask is None: pass ask, or ask_batch to get several votes per request")
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
