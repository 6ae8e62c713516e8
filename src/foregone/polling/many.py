"""poll_many: poll about thousands of questions, with one limit on simultaneous calls."""

from __future__ import annotations

import asyncio
import math
import os
import random
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from foregone._system.atomic_file import PathLike
from foregone._system.progress import counting
from foregone.ballot import Ballot, Followed, Verdict, check_several
from foregone.checks import as_float, check_choice, check_seed, check_timeout, check_whole
from foregone.errors import InvalidInputError, PollError, PollManyError
from foregone.polling.as_you_go import Course
from foregone.polling.asking import Asker, Failure, TaskPool, run_to_end
from foregone.polling.budget_promise import BudgetPromise
from foregone.polling.costs import Account, Costs, Prices
from foregone.polling.journal import Journal
from foregone.polling.question import Question
from foregone.polling.turns import Purse, Turns, TurnsByValue
from foregone.polling.voter_queue import (
    Ahead,
    VoterQueue,
    check_ahead,
    check_voters,
    derive_seed,
    voter_order,
)
from foregone.strategy import SolvedStrategy
from foregone.strategy.limits import Limits

__all__ = ["Polls", "poll_many"]


def poll_many(
    questions: Mapping[Any, Any] | Iterable[Any],
    ask: Callable[[Any, int], Any] | None,
    strategy: Followed,
    *,
    ask_batch: Callable[[Any, list[int]], Any] | None = None,
    speculate: int | Literal["expected"] = 0,
    prices: Prices | None = None,
    budget: float | None = None,
    calibrate: Literal["as_you_go"] | None = None,
    confidence: float = 0.95,
    concurrency: int = 64,
    timeout: float | None = None,
    retries: int = 2,
    voters: int | None = None,
    max_failures: int = 10,
    max_failed: int = 10,
    seed: int | None = None,
    journal: PathLike | None = None,
    progress: bool = False,
) -> Polls:
    """Poll voters about many questions, with at most ``concurrency`` calls at once over all questions.

    By default no vote is wasted: simultaneous calls come from different questions, or are votes on one
    question that must all arrive before any stop is possible. Each question gets the same verdict as when
    asking its voters one by one.

    Parameters
    ----------
    questions : mapping or iterable
        Id -> question; the ids of an iterable are 0, 1, 2, ... With a journal, ids must be strings or
        integers, and questions must consist of strings, numbers, lists and dicts.
    ask : callable
        ``ask(question, voter)`` returns a vote, or a coroutine, as in `poll_async`. It may return a `Reply`
        that also holds the tokens used. None with ``ask_batch``, or if all votes are in the journal.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer. Plurality strategies take any hashable answers as votes, score
        strategies take weighted votes.
    ask_batch : callable, optional
        ``ask_batch(question, voters)`` takes a list of voters and returns a list of their votes, in that
        order, a `Reply` with such a list, or a coroutine that returns one: several votes per request, as in
        `poll_async`. Only missing votes are requested again.
    speculate : int or "expected"
        How many votes to request ahead although they may not be needed. It saves rounds (and, with
        ``ask_batch``, requests), but costs votes; as in `poll_async`.
    prices : Prices, optional
        Prices of requests and tokens, for the money in ``spent`` and ``saved`` of the result.
    budget : float, optional
        Maximum number of votes over all questions or, with ``prices``, maximum amount of money. It is spent
        on the question whose next vote lowers the risk most, which needs a solution. Once it is spent,
        questions without a verdict get the verdict of their votes so far, with its ``risk`` and marked as
        ``cut_short``. Earlier runs with the same journal count. A budget of votes is never exceeded. A
        budget of money may be exceeded by what running requests cost above average.
    calibrate : "as_you_go", optional
        Learn the distribution of votes while polling, if there are no past votes. Pass a ``strategy`` that
        keeps its limit for every question, such as ``solve("minimixed", n_voters, limit)``. Questions are
        started in a random order. The first ones get a full vote, from which a strategy that asks fewer
        voters is certified; some later ones also get a full vote, to certify a bolder strategy. Needs about
        500 questions before it starts to save votes. ``course`` of the result records what was done.
    confidence : float, default=0.95
        With ``calibrate``, the confidence that all strategies together keep the limit on average over
        questions.
    concurrency : int
        Maximum number of simultaneous calls.
    timeout, retries, voters, max_failures
        As in `poll_async`, for each question.
    max_failed : int
        How many questions may end without a verdict before polling stops. Up to this number, all other
        questions are finished first.
    seed : int, optional
        For the order of voters and for randomised stops, different for each question. By default random, or
        the seed of the journal's first run.
    journal : path, optional
        File in which every vote is written as soon as it arrives. A run with the same journal does not
        request recorded votes again, however the last run ended, even with more or fewer questions, another
        strategy or another seed. Raises InvalidInputError if the content of a question or the number of
        voters has changed. Answers must be strings, numbers or booleans.
    progress : bool
        Whether to show a progress bar on stderr, if that is a terminal.

    Returns
    -------
    Polls
        Iterate over it with ``async for question_id, verdict in ...``, in the order in which questions are
        decided, or call ``run()`` for a dict of all. Both raise a `PollManyError` at the end if some
        questions got no verdict; its ``failed`` holds the reason for each. During and after the run,
        ``spent``, ``saved`` and ``promise`` report the costs and how far verdicts may be from full votes.

    Examples
    --------
    >>> from foregone import poll_many, solve
    >>> async def ask(question, voter):
    ...     return len(question) > 4
    >>> verdicts = poll_many(["apple", "fig"], ask, solve("minimixed", 21, 0.01)).run()
    >>> {key: verdict.answer for key, verdict in sorted(verdicts.items())}
    {0: True, 1: False}

    Several votes from each request, and what they cost:

    >>> from foregone.polling import Prices, Reply
    >>> async def ask_batch(question, voters):
    ...     votes = [len(question) > 4 for _ in voters]
    ...     return Reply(votes, prompt_tokens=80, completion_tokens=3 * len(voters))
    >>> polls = poll_many(
    ...     ["apple", "fig"], None, solve("minimixed", 21, 0.01), ask_batch=ask_batch, seed=0,
    ...     prices=Prices(prompt_token=0.15e-6, completion_token=0.60e-6),
    ... )
    >>> verdicts = polls.run()
    >>> print(polls.spent)
    4 requests, 12 votes, 356 tokens, 6.96e-05 in money
    """
    concurrency, retries = check_whole(concurrency, "concurrency"), check_whole(retries, "retries", 0)
    max_failures, max_failed = (
        check_whole(most, name, 0)
        for most, name in ((max_failures, "max_failures"), (max_failed, "max_failed"))
    )
    ballot = Ballot(strategy)
    timeout, voters = check_timeout(timeout), check_voters(voters, ballot.n_voters)
    check_several(questions, "questions")
    if prices is not None and not isinstance(prices, Prices):
        raise InvalidInputError(f"prices must be a foregone.polling.Prices, got {prices!r}")
    if budget is not None:
        if not 0 <= as_float(budget) < math.inf:  # also True for NaN
            raise InvalidInputError(f"budget must be a number of at least 0, got {budget!r}")
        ballot.value_of_a_vote()  # raises if it is unknown
    if calibrate is not None:
        if check_choice(calibrate, "calibrate", ("as_you_go",)) and budget is not None:
            raise InvalidInputError(
                'budget cannot be combined with calibrate="as_you_go": spending a budget needs risks known '
                "from past votes. Pass only one of the two"
            )
        Course(strategy, 0, confidence=confidence)  # checks both
    by_id = dict(questions) if isinstance(questions, Mapping) else dict(enumerate(questions))
    return Polls(
        by_id, Asker(ask, ask_batch, timeout, retries), strategy, check_ahead(speculate, ballot), prices,
        math.inf if budget is None else float(budget), concurrency, voters, max_failures, max_failed,
        None if seed is None else check_seed(seed), journal, progress,
        None if calibrate is None else confidence,
    )  # fmt: skip


class _Request(NamedTuple):
    """A running request: its question, the round, and the part of the budget reserved for it."""

    question: Question
    in_round: int
    reserved: float


@dataclass(eq=False, repr=False)
class Polls:
    """Polls to run, as returned by `poll_many`; every iteration runs them from the start.

    Attributes
    ----------
    spent : Costs
        Costs so far, including earlier runs with the same journal: requests, votes, tokens, rounds and, with
        prices, money. Up to date at any time during and after a run.
    saved : Costs
        Costs saved on questions with a verdict, compared with full votes in one round. The tokens of a full
        vote are estimated from the means per request and per vote so far.
    promise : BudgetPromise
        How far the verdicts so far may be from full votes, including verdicts that a budget cut short.
    course : Course or None
        With ``calibrate``, the strategies used: ``course.phases``.
    """

    questions: dict[Any, Any]
    asker: Asker
    strategy: Followed
    ahead: Ahead
    prices: Prices | None
    budget: float
    concurrency: int
    voters: int | None
    max_failures: int
    max_failed: int
    seed: int | None
    journal: PathLike | None
    progress: bool
    learns_at: float | None = None  # the confidence, if strategies are learned while polling
    course: Course | None = field(default=None, init=False)
    _account: Account = field(init=False)

    def __post_init__(self) -> None:
        self._account = self._new_account()

    @property
    def spent(self) -> Costs:
        """Costs so far."""
        return self._account.spent

    @property
    def saved(self) -> Costs:
        """Estimated costs saved so far."""
        return self._account.saved

    @property
    def promise(self) -> BudgetPromise:
        """How far the verdicts so far may be from full votes."""
        plain = isinstance(self.strategy, SolvedStrategy) and getattr(self.strategy, "values", None) is None
        limit = Limits.of(self.strategy.max_disagreement).loosest if plain else None  # type: ignore[union-attr]  # solved
        return self._account.promise(limit)

    def run(self) -> dict[Any, Verdict]:
        """Run all polls and return id -> verdict.

        Also works in a notebook: if an event loop is already running, the polls run on another one in a
        thread, and this call waits for them. In an async program use ``async for``, so that other tasks can
        run meanwhile.
        """
        return run_to_end(self._collect())

    def __repr__(self) -> str:
        journal = "" if self.journal is None else f", journal {os.fspath(self.journal)}"
        n_voters = Ballot(self.strategy).n_voters
        return f"<Polls: {len(self.questions)} questions to {n_voters} voters{journal}>"

    async def _collect(self) -> dict[Any, Verdict]:
        return {key: verdict async for key, verdict in self}

    async def __aiter__(self) -> AsyncIterator[tuple[Any, Verdict]]:
        with (
            nullcontext() if self.journal is None else self._open(self.journal) as journal,
            counting("polling", len(self.questions)) if self.progress else nullcontext(_nothing) as advance,
        ):
            account = self._account = self._new_account(journal)
            failed: dict[Any, PollError] = {}
            async with aclosing(self._closed(journal)) as closed:
                async for question in closed:
                    if question.error is not None:
                        failed[question.key] = question.error
                        if len(failed) > self.max_failed:
                            break
                        continue
                    verdict = question.queue.cut_short()  # unchanged if the strategy ended the question
                    account.finish(question.cost, verdict)
                    advance(words=f"polling: {account.spent}")
                    yield question.key, verdict
        if failed:
            raise _error(failed, len(self.questions), self.max_failed)

    async def _closed(self, journal: Journal | None) -> AsyncGenerator[Question]:
        """Ask, and yield every question once it is closed; finally those that the budget cut short."""
        turns, n_voters = self._turns(journal), self.strategy.n_voters
        purse = Purse(
            self.budget,
            self._account,
            in_batches=self.asker.in_batches,
            in_money=self.prices is not None,
        )
        async with TaskPool[_Request](self.concurrency) as pool:
            while True:
                if self.course is not None and self.course.is_due:
                    await asyncio.to_thread(self.course.check)
                most = purse.affords(n_voters if self.asker.in_batches and pool.free else pool.free)
                if most and (question := turns.next()) is not None:
                    voters, in_round = question.take(most), question.rounds_done + 1
                    for several in self.asker.requests(voters):
                        request = _Request(question, in_round, purse.reserve(len(several)))
                        pool.start(request, self._votes(question, several, in_round, journal))
                    if len(voters) == most and question.is_open:
                        turns.put_first(question)  # it may need more votes
                elif pool.busy:
                    (question, in_round, reserved), answers = await pool.next()
                    purse.give_back(reserved)
                    if not question.is_open:
                        continue  # other voters failed, or these votes were not needed
                    question.note(answers, in_round)
                    turns.put(question)
                else:
                    break
                if not question.is_open:
                    turns.drop(question)
                    if self.course is not None:
                        self.course.note(question.place, question.queue.votes)
                    yield question
        for question in turns.rest():
            question.recall(n_voters)
            yield question

    def _turns(self, journal: Journal | None) -> Turns:
        unopened = self._unopened(journal)
        return Turns(unopened) if self.budget == math.inf else TurnsByValue(unopened, self.strategy.n_voters)

    def _unopened(self, journal: Journal | None) -> Iterator[Question | None]:
        """Yield the questions one by one, ready to be asked, with their recorded votes.

        Yields None if the next question has to wait for votes on others.
        """
        seed = journal.seed if self.seed is None and journal is not None else self.seed
        keys = list(self.questions)
        if self.learns_at is not None:
            seed = secrets.randbits(63) if seed is None else seed
            random.Random(derive_seed(seed, "questions")).shuffle(keys)
            self.course = Course(self.strategy, len(keys), confidence=self.learns_at, seed=seed)
        for place, key in enumerate(keys):
            strategy, ahead = self.strategy, self.ahead
            if self.course is not None:
                while (found := self.course.strategy_for(place)) is None:
                    yield None
                strategy, ahead = found, 0 if self.course.is_in_full(place) else ahead
            ballot = Ballot(strategy, derive_seed(seed, "stop", key))
            order = voter_order(self.voters, derive_seed(seed, "order", key))
            queue = VoterQueue(ballot, order, self.max_failures, ahead, about=f"question {key!r}")
            recorded, cost = {}, Costs()
            if journal is not None:
                recorded, cost = journal.recorded.pop(key, {}), journal.costs.pop(key, cost)
            yield Question(key, self.questions[key], queue, recorded, cost, place=place)

    async def _votes(
        self, question: Question, voters: list[int], in_round: int, journal: Journal | None
    ) -> dict[int, Any]:
        """Ask some voters in one request and record the result at once."""

        def note(votes: dict[int, Any], cost: Costs) -> dict[int, Any]:
            checked, mistakes = {}, []
            for voter, answer in votes.items():
                try:
                    vote = question.queue.check(voter, answer)
                    if journal is not None:
                        journal.check_fits(vote)
                    checked[voter] = vote
                except InvalidInputError as error:
                    mistakes.append(error)
            if journal is not None:
                journal.request(question.key, checked, cost, in_round)
            self._account.pay(question.pay(cost, in_round), finished=question.queue.verdict is not None)
            if mistakes:
                raise mistakes[0]
            return checked

        answers = await self.asker.votes((question.content,), voters, note)
        for voter, answer in answers.items():
            if isinstance(answer, Failure) and journal is not None:
                journal.failure(question.key, voter, answer.error)
        return answers

    def _new_account(self, journal: Journal | None = None) -> Account:
        recorded = Costs() if journal is None else sum(journal.costs.values(), Costs())
        return Account(
            self.prices, self.strategy.n_voters, in_batches=self.asker.in_batches, recorded=recorded
        )

    def _open(self, path: PathLike) -> Journal:
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return Journal(path, self.questions, Ballot(self.strategy).check, self.voters, seed)


def _error(failed: dict[Any, PollError], n_questions: int, max_failed: int) -> PollManyError:
    stopped = "so polling stopped (max_failed)" if len(failed) > max_failed else "all others have one"
    first = next(iter(failed.values()))
    return PollManyError(
        f"{len(failed)} of {n_questions} questions have no verdict, {stopped}. The first: {first}", failed
    )


def _nothing(*, words: str) -> None:
    """Replace the step of a progress bar that is not shown."""
