"""poll: ask one voter after the other until the strategy knows enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from foregone.ballot import Ballot, Followed, Verdict, check_several
from foregone.checks import check_whole
from foregone.errors import InvalidInputError
from foregone.polling.voter_queue import VoterQueue, derive_seed, voter_order

__all__ = ["poll"]


def poll(
    voters: Iterable[Any],
    strategy: Followed,
    *,
    retries: int = 2,
    max_failures: int = 10,
    seed: int | None = None,
) -> Verdict:
    """Ask voters one by one and return the verdict as soon as there is one.

    Parameters
    ----------
    voters : list or tuple of callables, or iterable of votes or callables
        A list or tuple of callables is the ensemble, as many as the strategy is for: they are asked in a
        random order, each by calling it without arguments. Anything else is taken in the order in which it
        comes, and no further than needed; that order must then be random already, as that of independent
        samples is. A callable that raises an ``Exception`` is asked again up to ``retries`` times, then
        the next one is asked instead.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
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
    """
    retries, max_failures = check_whole(retries, "retries", 0), check_whole(max_failures, "max_failures", 0)
    check_several(voters, "voters")
    ballot = Ballot(strategy, derive_seed(seed, "stop"))
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
        order: Iterator[int] = voter_order(len(known), derive_seed(seed, "order"))
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


def _ask(voter: Callable[[], Any], retries: int) -> tuple[Any, Exception | None]:
    failure = None
    for _ in range(retries + 1):
        try:
            return voter(), None
        except Exception as error:
            failure = error
    return None, failure
