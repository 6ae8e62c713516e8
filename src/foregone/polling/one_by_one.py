"""poll: ask one voter after the other until the strategy stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

from foregone.ballot import Ballot, Followed, Verdict, check_several
from foregone.checks import MOST_VOTERS, check_whole
from foregone.errors import InvalidInputError
from foregone.polling.asking import read_reply
from foregone.polling.voter_queue import VoterQueue, check_ahead, check_voters, derive_seed, voter_order

__all__ = ["poll"]


def poll(
    voters: Iterable[Any] | int | None,
    strategy: Followed,
    *,
    ask_batch: Callable[[list[int]], Any] | None = None,
    speculate: int | Literal["expected"] = 0,
    retries: int = 2,
    max_failures: int = 10,
    seed: int | None = None,
) -> Verdict:
    """Ask voters one by one, or a few at a time, and return the verdict as soon as it is reached.

    Parameters
    ----------
    voters : list or tuple of callables, or iterable of votes or callables
        A list or tuple of callables is the ensemble: as many as the strategy is for, called without arguments
        and in a random order. Any other iterable is consumed in its own order, and only as far as needed;
        that order must already be random, such as that of independent samples. A callable that raises an
        ``Exception`` is called again up to ``retries`` times, then the next one replaces it. With
        ``ask_batch``, pass the number of voters, at least as many as the strategy is for, who are asked in a
        random order; or None for an unlimited number, numbered as they are asked.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer. Plurality strategies take any hashable answers as votes, score
        strategies take weighted votes.
    ask_batch : callable, optional
        ``ask_batch(voters)`` takes a list of voter numbers and returns a list of their votes, in that order:
        several votes per request. Voters whose vote is None, an exception, or missing at the end of the list
        are asked again. An ``Exception`` that it raises fails all voters of the request.
    speculate : int or "expected"
        How many votes to request from ``ask_batch`` ahead although they may not be needed; as in
        `poll_async`.
    retries, max_failures : int
        How often a voter is asked again, and how many may fail after that before the poll raises
        `PollError`.
    seed : int, optional
        For the order, and for randomised stops; random by default.

    Raises
    ------
    PollError
        If too many voters fail, or there are too few of them; its ``votes`` holds the votes so far.
    InvalidInputError
        If something is not a vote, or the number of voters is not what the strategy is for.

    Examples
    --------
    >>> import itertools
    >>> from foregone import poll, solve
    >>> verdict = poll(itertools.repeat(True), solve("minimixed", 21, 0.01), seed=0)
    >>> verdict.answer, verdict.asked
    (True, 6)
    >>> poll(None, solve("minimixed", 21, 0.01), ask_batch=lambda voters: [True] * len(voters), seed=0).asked
    6
    """
    retries, max_failures = check_whole(retries, "retries", 0), check_whole(max_failures, "max_failures", 0)
    ballot = Ballot(strategy, derive_seed(seed, "stop"))
    ahead = check_ahead(speculate, ballot)
    if ask_batch is not None:
        order = voter_order(check_voters(voters, ballot.n_voters), derive_seed(seed, "order"))
        return _run_batches(ask_batch, VoterQueue(ballot, order, max_failures, ahead), retries)
    if ahead:
        raise InvalidInputError(
            "speculate needs ask_batch, because other voters are asked one by one: pass ask_batch, or leave "
            "out speculate"
        )
    check_several(voters, "voters")
    assert isinstance(voters, Iterable)
    known = voters if isinstance(voters, list | tuple) else None
    if known is not None and len(known) > ballot.n_voters:
        raise InvalidInputError(
            f"the strategy is for {ballot.n_voters} voters, got {len(known)}: solve for {len(known)}"
        )
    if known and all(map(callable, known)):
        if len(known) < ballot.n_voters:
            raise InvalidInputError(
                f"the strategy is for {ballot.n_voters} voters, got {len(known)}: solve for {len(known)}"
            )
        order = voter_order(len(known), derive_seed(seed, "order"))
        asked: Iterator[tuple[int, Any]] = ((voter, known[voter]) for voter in order)
    else:
        asked = enumerate(voters)
    return _run(asked, ballot, retries, max_failures)


def _run(voters: Iterator[tuple[int, Any]], ballot: Ballot, retries: int, max_failures: int) -> Verdict:
    voter: Any = None

    def numbers() -> Iterator[int]:
        nonlocal voter
        for number, voter in voters:  # noqa: B007  # the queue takes the number, the loop below the voter
            yield number

    queue = VoterQueue(ballot, numbers(), max_failures)
    while queue.verdict is None:
        for number in queue.take(1):
            answer, error = _ask(voter, retries) if callable(voter) else (voter, None)
            if error is None:
                queue.answered(number, queue.check(number, answer))
            else:
                queue.failed(number, error)
    return queue.verdict


def _run_batches(ask_batch: Callable[[list[int]], Any], queue: VoterQueue, retries: int) -> Verdict:
    """Request votes in batches; voters whose votes are still missing after the retries fail."""
    while queue.verdict is None:
        missing, failure = queue.take(MOST_VOTERS), None
        for _ in range(retries + 1):
            answer, failure = _ask(partial(ask_batch, list(missing)), 0)
            if failure is not None:
                continue
            votes, _, failure = read_reply(answer, missing, in_batch=True)
            for voter, vote in votes.items():
                queue.answered(voter, queue.check(voter, vote))
            missing = [voter for voter in missing if voter not in votes]
            if not missing:
                break
        for voter in missing:
            assert failure is not None
            queue.failed(voter, failure)
    return queue.verdict


def _ask(voter: Callable[[], Any], retries: int) -> tuple[Any, Exception | None]:
    failure = None
    for _ in range(retries + 1):
        try:
            return voter(), None
        except Exception as error:
            failure = error
    return None, failure
