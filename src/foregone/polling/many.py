"""poll_many: thousands of questions through one budget of calls."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from foregone._system.atomic_file import PathLike
from foregone._system.progress import counting
from foregone.ballot import Ballot, Followed, Verdict, check_several
from foregone.checks import check_seed, check_timeout, check_whole
from foregone.errors import InvalidInputError, PollError, PollManyError
from foregone.polling.asking import Failure, TaskPool, ask_voter, run_to_end
from foregone.polling.journal import Journal
from foregone.polling.question import Question
from foregone.polling.voter_queue import VoterQueue, check_voters, derive_seed, voter_order

__all__ = ["Polls", "poll_many"]


def poll_many(
    questions: Mapping[Any, Any] | Iterable[Any],
    ask: Callable[[Any, int], Any],
    strategy: Followed,
    *,
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

    No vote is asked for that its question may turn out not to need: calls at once come from having
    many questions, and within a question only from votes that must come before any stop is possible. Each
    question has the verdict that asking its voters one by one would have given.

    Parameters
    ----------
    questions : mapping or iterable
        Id -> question; the ids of an iterable are 0, 1, 2, ... With a journal, ids have to be texts or whole
        numbers, and questions made of texts, numbers, lists and dicts.
    ask : callable
        ``ask(question, voter)`` returns a vote, or a coroutine that does, as in `poll_async`.
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer; those of plurality take any hashable answers as votes, that of scores
        votes with a weight.
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
        some questions got no verdict; its ``failed`` says which and why.

    Examples
    --------
    >>> from foregone import poll_many, solve
    >>> async def ask(question, voter):
    ...     return len(question) > 4
    >>> verdicts = poll_many(["apple", "fig"], ask, solve("minimixed", 21, 0.01)).run()
    >>> {key: verdict.answer for key, verdict in sorted(verdicts.items())}
    {0: True, 1: False}
    """
    concurrency, retries = check_whole(concurrency, "concurrency"), check_whole(retries, "retries", 0)
    max_failures, max_failed = (
        check_whole(most, name, 0)
        for most, name in ((max_failures, "max_failures"), (max_failed, "max_failed"))
    )
    timeout, voters = check_timeout(timeout), check_voters(voters, Ballot(strategy).n_voters)
    check_several(questions, "questions")
    if ask is not None and not callable(ask):
        raise InvalidInputError(f"ask must be a function of question and voter, not {ask!r}")
    by_id = dict(questions) if isinstance(questions, Mapping) else dict(enumerate(questions))
    return Polls(
        by_id, ask, strategy, concurrency, timeout, retries, voters, max_failures, max_failed,
        None if seed is None else check_seed(seed), journal, progress,
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Polls:
    """Polls to be run, as `poll_many` makes them; every iteration over it runs them from the start."""

    questions: dict[Any, Any]
    ask: Callable[[Any, int], Any]
    strategy: Followed
    concurrency: int
    timeout: float | None
    retries: int
    voters: int | None
    max_failures: int
    max_failed: int
    seed: int | None
    journal: PathLike | None
    progress: bool

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
            async with TaskPool[tuple[Question, int]](self.concurrency) as pool:
                unopened = self._questions(journal)
                waiting: dict[Question, None] = {}  # may have voters to ask; in the order of their turn
                failed: dict[Any, PollError] = {}
                while True:
                    question = None
                    if pool.free and (question := next(iter(waiting), None) or next(unopened, None)):
                        waiting.pop(question, None)
                        for voter in question.take(pool.free):
                            pool.start((question, voter), self._vote(question, voter, journal))
                        if not pool.free and question.is_open:
                            waiting = {question: None} | waiting  # it may not have got all that it wants
                    elif pool.busy:
                        (question, voter), answer = await pool.next()
                        if not question.is_open:
                            continue  # it failed for other voters
                        question.note(voter, answer)
                        waiting[question] = None
                    else:
                        break
                    if question.is_open:
                        continue
                    waiting.pop(question, None)
                    if question.error is not None:
                        failed[question.key] = question.error
                        if len(failed) > self.max_failed:
                            break
                    elif question.queue.verdict is not None:
                        advance()
                        yield question.key, question.queue.verdict
        if failed:
            raise _error(failed, len(self.questions), self.max_failed)

    def _questions(self, journal: Journal | None) -> Iterator[Question]:
        """Yield the questions one by one, each ready to be asked, with what was recorded about it."""
        seed = journal.seed if self.seed is None and journal is not None else self.seed
        for key, content in self.questions.items():
            ballot = Ballot(self.strategy, derive_seed(seed, "stop", key))
            order = voter_order(self.voters, derive_seed(seed, "order", key))
            queue = VoterQueue(ballot, order, self.max_failures, about=f"question {key!r}")
            yield Question(key, content, queue, {} if journal is None else journal.recorded.pop(key, {}))

    async def _vote(self, question: Question, voter: int, journal: Journal | None) -> Any:
        """Ask one voter and record what comes of it, at once, whoever waits for it."""
        answer = await ask_voter(self.ask, (question.content, voter), self.timeout, self.retries)
        if isinstance(answer, Failure):
            if journal is not None:
                journal.failure(question.key, voter, answer.error)
            return answer
        vote = question.queue.check(voter, answer)
        if journal is not None:
            journal.vote(question.key, voter, vote)
        return vote

    def _open(self, path: PathLike) -> Journal:
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return Journal(path, self.questions, Ballot(self.strategy).check, self.voters, seed)


def _error(failed: dict[Any, PollError], n_questions: int, max_failed: int) -> PollManyError:
    stopped = "no more were asked" if len(failed) > max_failed else "all others have one"
    first = next(iter(failed.values()))
    return PollManyError(
        f"{len(failed)} of {n_questions} questions have no verdict, {stopped}. The first: {first}", failed
    )


def _nothing() -> None:
    """Stand for the step of a bar that is not wanted."""
