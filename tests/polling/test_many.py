"""poll_many: many questions through one budget of calls."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import io
import signal
import sys
import threading

import pytest

from foregone import Verdict, evaluate, poll, poll_many, rules, solve
from foregone.errors import InvalidInputError, PollManyError
from tests.polling.loop import run, wait
from tests.polling.simulated import N_VOTERS, VOTES, Simulated, might_be

SOLUTION = solve("minimean", VOTES, 0.01)


class Ask:
    """Simulated voters that keep count of the calls at once."""

    def __init__(self, simulated: Simulated) -> None:
        self.simulated, self.calls, self.running, self.most, self.most_tasks = simulated, [], 0, 0, 0

    async def __call__(self, question, voter):
        self.calls.append((question, voter))
        self.running += 1
        self.most = max(self.most, self.running)
        self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()))
        try:
            await wait(self.simulated.turns(question, voter))
            if self.simulated.next_call_fails(question, voter):
                raise ConnectionError("hung up")
            return self.simulated.vote(question, voter)
        finally:
            self.running -= 1


async def collect(polls):
    return [pair async for pair in polls]


def test_every_answer_is_the_strategys_and_no_call_is_made_in_vain():
    ask = Ask(Simulated(seed=1, failure_rate=0.05))
    found = run(collect(poll_many(range(600), ask, SOLUTION, concurrency=16, seed=0)))
    assert sorted(key for key, _ in found) == list(range(600))
    assert [key for key, _ in found] != sorted(key for key, _ in found)  # as they come
    for key, verdict in found:
        might_be(SOLUTION.strategy, ask.simulated.willing(key, retries=2), verdict)
    assert ask.most == 16
    assert ask.most_tasks <= 17
    assert ask.running == 0
    assert len(ask.calls) == sum(ask.simulated.calls(key, verdict.asked, retries=2) for key, verdict in found)
    expected = 600 * evaluate(SOLUTION.strategy).mean(VOTES).expected_votes / 0.95
    assert len(ask.calls) == pytest.approx(expected, rel=0.1)


def test_each_verdict_is_that_of_a_poll_one_by_one_and_chance_differs_between_questions():
    async def ask(question, voter):
        return voter % 2 == 0

    strategy = rules.curtailment(5)
    verdicts = poll_many({"a": 1, "b": 2}, ask, strategy).run()
    expected = poll(iter([True, False] * 9), strategy)
    assert verdicts == {"a": expected, "b": expected}
    coin = solve("minimean", 3, 0.2)
    asked = {
        verdict.asked for verdict in poll_many(range(200), lambda _, __: True, coin, seed=0).run().values()
    }
    assert len(asked) > 1
    again = [poll_many(range(50), lambda _, __: True, coin, seed=7, concurrency=k).run() for k in (1, 9)]
    assert again[0] == again[1]


def test_a_committee_is_asked_in_another_random_order_for_each_question():
    firsts = {}

    async def ask(question, voter):
        firsts.setdefault(question, voter)
        return True

    poll_many(range(300), ask, rules.curtailment(5), voters=5, concurrency=1, seed=0).run()
    assert {voter: list(firsts.values()).count(voter) > 30 for voter in range(5)} == dict.fromkeys(
        range(5), True
    )


def test_a_question_that_cannot_be_answered_does_not_keep_the_others_from_it():
    async def ask(question, voter):
        if question == "forbidden":
            raise PermissionError("no such question")
        return True

    found = []

    async def main():
        async for key, verdict in poll_many(["fine", "forbidden", "good"], ask, rules.curtailment(5)):
            found.append((key, verdict))

    with pytest.raises(
        PollManyError, match=r"1 of 3 questions have no verdict, all others have one.*no such"
    ) as caught:
        run(main())
    assert sorted(key for key, _ in found) == [0, 2]
    assert list(caught.value.failed) == [1]
    assert isinstance(caught.value.failed[1].__cause__, PermissionError)


def test_when_nothing_works_it_gives_up_soon():
    calls = []

    async def ask(question, voter):
        calls.append(question)
        raise ConnectionError("down")

    with pytest.raises(PollManyError, match="3 of 1000 questions have no verdict, so polling stopped"):
        poll_many(range(1000), ask, SOLUTION, concurrency=4, retries=0, max_failures=1, max_failed=2).run()
    assert len(calls) < 20


def test_leaving_the_loop_early_cancels_what_is_in_flight():
    ask = Ask(Simulated(seed=1))

    async def main():
        async with contextlib.aclosing(aiter(poll_many(range(100), ask, SOLUTION, concurrency=8))) as polls:
            async for _ in polls:
                break
        assert ask.running == 0

    run(main())
    assert len(ask.calls) < 200


def test_errors_in_the_callers_loop_and_cancellations_leave_nothing_behind():
    ask = Ask(Simulated(seed=1))

    async def main():
        async with contextlib.aclosing(aiter(poll_many(range(100), ask, SOLUTION, concurrency=8))) as polls:
            async for _ in polls:
                raise KeyError

    with pytest.raises(KeyError):
        run(main())

    async def cancelled():
        task = asyncio.create_task(collect(poll_many(range(100), ask, SOLUTION)))
        await wait(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ask.running == 0

    run(cancelled())


@pytest.mark.slow
def test_what_is_kept_does_not_grow_with_the_questions_done():
    ask = Ask(Simulated(seed=1, failure_rate=0.05))
    kept = []

    async def main():
        done = 0
        async for _ in poll_many(range(450), ask, SOLUTION, concurrency=8):
            done += 1
            if done % 150 == 0:
                ask.calls.clear()
                gc.collect()
                kept.append(
                    sum(
                        type(thing).__name__ in ("Question", "VoterQueue", "Ballot", "Task")
                        for thing in gc.get_objects()
                    )
                )

    run(main())
    assert max(kept) <= 3 * 8 + 8 + 10


def test_plain_functions_can_be_asked_and_the_bar_stays_off_where_there_is_no_terminal(capfd):
    verdicts = poll_many(["apple", "fig"], lambda text, _: len(text) > 4, SOLUTION, progress=True).run()
    assert [verdicts[key].answer for key in (0, 1)] == [True, False]
    assert "\r" not in capfd.readouterr().err


def test_on_a_terminal_the_bar_counts_the_questions_on_stderr(capfd, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    poll_many(range(7), lambda *_: True, SOLUTION, progress=True).run()
    assert "polling" in terminal.getvalue()
    assert "7/7" in terminal.getvalue()
    assert capfd.readouterr().out == ""


def test_no_questions_are_no_verdicts_and_known_answers_need_no_voters():
    assert poll_many([], Ask(Simulated(1)), SOLUTION).run() == {}
    known = solve("minimean", 3, 1.0)
    assert poll_many(range(3), None, known, seed=0).run() == dict.fromkeys(
        range(3), Verdict(False, 0, 0, 0.5)
    )


def test_an_answer_that_is_no_vote_names_question_and_voter():
    with pytest.raises(InvalidInputError, match=r"question 'q', voter 0: expected True or False.*got 'PASS'"):
        poll_many({"q": 1}, lambda _, __: "PASS", SOLUTION).run()


def test_bad_arguments_are_refused_at_once():
    for settings in (
        {"concurrency": 0},
        {"max_failed": -1},
        {"voters": N_VOTERS - 1},
        {"seed": -1},
        {"timeout": -1},
    ):
        with pytest.raises(InvalidInputError, match=next(iter(settings))):
            poll_many([1], print, SOLUTION, **settings)
    for single in ("question", 5):
        with pytest.raises(InvalidInputError, match=f"questions must be a list .*got {single!r}"):
            poll_many(single, print, SOLUTION)
    with pytest.raises(InvalidInputError, match="ask must be a function, got 'ask'"):
        poll_many([1], "ask", SOLUTION)
    with pytest.raises(InvalidInputError, match="strategy must be"):
        poll_many([1], print, None)


# Inside a running event loop, as in a notebook -------------------------------------------------


def in_a_notebook(work):
    """Call a function from a running event loop that leaves signals alone, as a notebook's does."""

    async def cell():
        return work()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(cell())
    finally:
        loop.close()


def test_run_works_where_an_event_loop_is_running():
    expected = poll_many(range(50), Ask(Simulated(seed=1)), SOLUTION, seed=0).run()
    ask = Ask(Simulated(seed=1))
    assert in_a_notebook(poll_many(range(50), ask, SOLUTION, seed=0).run) == expected
    assert ask.running == 0


def test_there_it_sees_the_callers_context_variables_and_raises_what_goes_wrong():
    variable = contextvars.ContextVar("variable")

    def work():
        variable.set("set in the cell")
        seen = []
        poll_many([1], lambda *_: seen.append(variable.get()) or True, SOLUTION).run()
        assert set(seen) == {"set in the cell"}
        poll_many([1], lambda *_: "PASS", SOLUTION).run()

    with pytest.raises(InvalidInputError, match="'PASS'"):
        in_a_notebook(work)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no such signals here")
def test_interrupting_it_there_cancels_what_is_in_flight():
    ended = []

    async def ask(question, voter):
        try:
            if (question, voter) == (0, 0):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            ended.append((question, voter))

    # Whoever runs the tests in the background may have had interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_a_notebook(poll_many(range(3), ask, rules.curtailment(5), concurrency=9).run)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(ended) == [(question, voter) for question in range(3) for voter in range(3)]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("foregone-polls")]


def test_the_repr_of_polls_fits_a_line():
    polls = poll_many(range(1000), print, SOLUTION)
    assert repr(polls) == f"<Polls: 1000 questions to {N_VOTERS} voters>"
    polls = poll_many(range(2), print, SOLUTION, journal="votes.jsonl")
    assert repr(polls) == f"<Polls: 2 questions to {N_VOTERS} voters, journal votes.jsonl>"
