"""poll_many: thousands of questions through one budget of calls."""

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
    """Poll voters about many questions, up to ``concurrency`` calls at once for all of them together.

    By default no vote is asked for that its question may turn out not to need: calls at once come from having
    many questions, and within a question only from votes that must come before any stop is possible. Each
    question has the verdict that asking its voters one by one would have given.

    Parameters
    ----------
    questions : mapping or iterable
        Id -> question; the ids of an iterable are 0, 1, 2, ... With a journal, ids have to be texts or whole
        numbers, and questions made of texts, numbers, lists and dicts.
    ask : callable
        ``ask(question, voter)`` returns a vote, or a coroutine that does, as in `poll_async`. It may return
        a `Reply` that also says how many tokens the vote took. None with ``ask_batch``, or if all votes are
        in the journal.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
    ask_batch : callable, optional
        ``ask_batch(question, voters)`` takes a list of voters and returns a list of their votes, in that
        order, a `Reply` with such a list, or a coroutine that returns one: several votes by one request, as
        in `poll_async`. Votes that are missing are asked for again; those that came are not.
    speculate : int or "expected"
        How many votes are asked for at once although they may turn out not to be needed. It saves rounds, and
        with ``ask_batch`` requests, and costs votes; as in `poll_async`.
    prices : Prices, optional
        What a request and tokens cost, for the money in ``spent`` and ``saved`` of the result.
    budget : float, optional
        The most votes over all questions; with ``prices``, the most money. It is spent on the question whose
        next vote lowers the risk most, which needs a solution. When it is spent, questions without a verdict
        get that of their votes so far, with its ``risk`` and marked as ``cut_short``. What earlier runs with
        the same journal have spent counts. A budget of votes is never exceeded. One of money may be, by what
        the requests under way cost above average.
    calibrate : "as_you_go", optional
        Learn how votes are spread while polling, where there are no past votes. ``strategy`` is then one that
        keeps its limit for every question, such as ``solve("minimixed", n_voters, limit)``. Questions are
        begun in a random order. The first are put to all voters, and from their full votes a strategy is
        certified that asks fewer; others go on being put to all voters now and then, to become bolder.
        It takes some 500 questions to begin with that. ``course`` of the result says what was done.
    confidence : float, default=0.95
        With which, if it learns, all strategies together keep the limit on average over questions.
    concurrency : int
        Most calls at once.
    timeout, retries, voters, max_failures
        As in `poll_async`, for each question by itself.
    max_failed : int
        How many questions may end without a verdict before no more are asked. Up to so many the others are
        finished first.
    seed : int, optional
        For the order of voters and for stops left to chance, different for each question; by default drawn
        anew, or that of the journal's first run.
    journal : path, optional
        Where every vote is written as soon as it is there. Run again with the same journal, and what is in it
        is not asked again, however the last run ended: also with more or fewer questions, another strategy or
        another seed. A question whose content has changed and another number of voters are refused. Answers
        have to be texts, numbers or booleans.
    progress : bool
        Whether to show a progress bar on stderr, if that is a terminal.

    Returns
    -------
    Polls
        Iterate over it with ``async for question_id, verdict in ...``, in the order in which they are
        decided, or call ``run()`` for a dict of all. Either ends in a `PollManyError` if
        some questions got no verdict; its ``failed`` says which and why. Meanwhile and afterwards, its
        ``spent``, ``saved`` and ``promise`` say what it cost and what can be said about the verdicts.

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
        ballot.value_of_a_vote()  # or the reason why it cannot be told
    if calibrate is not None:
        if check_choice(calibrate, "calibrate", ("as_you_go",)) and budget is not None:
            raise InvalidInputError(
                'a budget is spent by risks that past votes tell, and calibrate="as_you_go" begins without '
                "any: give one of the two"
            )
        Course(strategy, 0, confidence=confidence)  # which checks them
    by_id = dict(questions) if isinstance(questions, Mapping) else dict(enumerate(questions))
    return Polls(
        by_id, Asker(ask, ask_batch, timeout, retries), strategy, check_ahead(speculate, ballot), prices,
        math.inf if budget is None else float(budget), concurrency, voters, max_failures, max_failed,
        None if seed is None else check_seed(seed), journal, progress,
        None if calibrate is None else confidence,
    )  # fmt: skip


class _Request(NamedTuple):
    """A request under way: about which question, in which of its rounds, and what was put aside for it."""

    question: Question
    in_round: int
    reserved: float


@dataclass(eq=False, repr=False)
class Polls:
    """Polls to be run, as `poll_many` makes them; every iteration over it runs them from the start.

    Attributes
    ----------
    spent : Costs
        What was spent so far, in earlier runs with the same journal too: requests, votes, tokens, rounds and,
        with prices, money. Up to date at any time during a run and after it.
    saved : Costs
        What was saved on the questions with a verdict, against full votes on them asked at once. The tokens
        of a full vote are estimated from the mean of a request and of a vote so far.
    promise : BudgetPromise
        What can be said about the verdicts so far, those that a budget has cut short included.
    course : Course or None
        What was learned while polling, and which strategies were followed: ``course.phases``.
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
        """What was spent so far."""
        return self._account.spent

    @property
    def saved(self) -> Costs:
        """What was saved so far, estimated."""
        return self._account.saved

    @property
    def promise(self) -> BudgetPromise:
        """What can be said about the verdicts so far."""
        plain = isinstance(self.strategy, SolvedStrategy) and getattr(self.strategy, "values", None) is None
        limit = Limits.of(self.strategy.max_disagreement).loosest if plain else None  # type: ignore[union-attr]  # solved
        return self._account.promise(limit)

    def run(self) -> dict[Any, Verdict]:
        """Run them all and return id -> verdict.

        In a notebook, too: where an event loop is running already, they run on another one in a thread, and
        this call waits for it. In a program with an event loop of its own use ``async for``, which lets other
        tasks go on meanwhile.
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
                    verdict = question.queue.cut_short()  # stays as it is where the strategy has ended it
                    account.finish(question.cost, verdict)
                    advance(words=f"polling: {account.spent}")
                    yield question.key, verdict
        if failed:
            raise _error(failed, len(self.questions), self.max_failed)

    async def _closed(self, journal: Journal | None) -> AsyncGenerator[Question]:
        """Ask, and yield every question when it is closed; at last those for which no budget is left."""
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
                        turns.put_first(question)  # it may not have got all that it wants
                elif pool.busy:
                    (question, in_round, reserved), answers = await pool.next()
                    purse.give_back(reserved)
                    if not question.is_open:
                        continue  # it failed for other voters, or did not need these
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
        """Yield the questions one by one, each ready to be asked, with what was recorded about it.

        None where the next one has to wait for votes on others.
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
        """Ask some voters by one request and record what comes of it, at once, whoever waits for it."""

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
    stopped = "no more were asked" if len(failed) > max_failed else "all others have one"
    first = next(iter(failed.values()))
    return PollManyError(
        f"{len(failed)} of {n_questions} questions have no verdict, {stopped}. The first: {first}", failed
    )


def _nothing(*, words: str) -> None:
    """Stand for the step of a bar that is not wanted."""
