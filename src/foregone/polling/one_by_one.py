"""poll: ask one voter after the other until the strategy knows enough."""

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
    """Ask voters one by one, or a few at a time, and return the verdict as soon as there is one.

    Parameters
    ----------
    voters : list or tuple of callables, or iterable of votes or callables
        A list or tuple of callables is the ensemble, as many as the strategy is for: they are asked in a
        random order, each by calling it without arguments. Anything else is taken in the order in which it
        comes, and no further than needed; that order must then be random already, as that of independent
        samples is. A callable that raises an ``Exception`` is asked again up to ``retries`` times, then
        the next one is asked instead. With ``ask_batch`` it is the number of voters, at least as many as the
        strategy is for, who are asked in a random order; or None for no end of them, numbered as they are
        asked.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
    ask_batch : callable, optional
        ``ask_batch(voters)`` takes a list of numbers of voters and returns a list of their votes, in that
        order: several votes by one request. Where a vote is None or an exception, or the list is shorter,
        these voters are asked again; an ``Exception`` that it raises is a failure of them all.
    speculate : int or "expected"
        How many voters ``ask_batch`` is asked for at once although their votes may turn out not to be needed;
        as in `poll_async`.
    retries, max_failures : int
        How often a voter is asked again, and how many may fail for good before the poll is given up.
    seed : int, optional
        For the order and for the states where the strategy leaves the stop to chance; by default drawn anew.

    Raises
    ------
    PollError
        If too many voters fail, or there are too few of them; its ``votes`` has what was answered.
    InvalidInputError
        If something is not a vote, or there are more or fewer voters than the strategy is for.

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
        raise InvalidInputError("speculate is for ask_batch: other voters are asked one by one")
    check_several(voters, "voters")
    assert isinstance(voters, Iterable)
    known = voters if isinstance(voters, list | tuple) else None
    if known is not None and len(known) > ballot.n_voters:
        raise InvalidInputError(
            f"{len(known)} voters are more than the {ballot.n_voters} that the strategy is for: "
            f"solve for {len(known)}"
        )
    if known and all(map(callable, known)):
        if len(known) < ballot.n_voters:
            raise InvalidInputError(
                f"the strategy is for {ballot.n_voters} voters, not for {len(known)}: solve for {len(known)}"
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
    """Ask for votes in batches; those that are missing are asked for again, then their voters fail."""
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
