"""poll_async: several voters at once, decided in the order asked, and nothing left behind."""

from __future__ import annotations

import asyncio
import functools
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import Ballot, evaluate, poll, poll_async, rules, solve
from foregone.errors import InvalidInputError, PollError
from tests.polling.loop import run, wait
from tests.strategies import answering_strategies

SOLUTION = solve("minimixed", 21, 0.01)


class Voters:
    """Voters with given votes and slowness, who keep a record of what becomes of their calls."""

    def __init__(self, votes, turns=None, failures=None):
        self.votes, self.turns, self.failures = votes, turns or {}, dict(failures or {})
        self.asked, self.answered, self.cancelled, self.running, self.most = [], [], [], 0, 0

    async def __call__(self, voter):
        self.asked.append(voter)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await wait(self.turns.get(voter, 1) if isinstance(self.turns, dict) else self.turns(voter))
            if self.failures.get(voter, 0):
                self.failures[voter] -= 1
                raise ConnectionError(f"voter {voter} hung up")
            self.answered.append(voter)
            return self.votes[voter]
        except asyncio.CancelledError:
            self.cancelled.append(voter)
            raise
        finally:
            self.running -= 1


@settings(max_examples=60)
@given(st.data(), st.integers(1, 6), st.booleans(), st.integers(0, 1000))
def test_the_verdict_is_that_of_asking_one_by_one_whoever_is_slow_or_fails(
    data, concurrency, speculate, seed
):
    strategy = data.draw(answering_strategies(6) | st.sampled_from([rules.curtailment(7), rules.lead(9, 3)]))
    votes = data.draw(st.lists(st.booleans(), min_size=20, max_size=20))
    turns = dict(enumerate(data.draw(st.lists(st.integers(0, 6), min_size=20, max_size=20))))
    failures = dict(enumerate(data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 9]), min_size=6, max_size=6))))
    voters = Voters(votes, turns, failures)
    verdict = run(
        poll_async(voters, strategy, concurrency=concurrency, retries=1, speculate=speculate, seed=seed)
    )
    willing = [vote for voter, vote in enumerate(votes) if failures.get(voter, 0) < 9]
    assert verdict == poll(iter(willing), strategy, seed=seed)
    assert voters.most <= concurrency
    assert voters.running == 0
    in_vain = sum(failures.get(voter, 0) < 9 for voter in set(voters.asked)) - verdict.asked
    assert 0 <= in_vain <= (concurrency - 1 if speculate else 0)


def test_calls_in_flight_when_the_verdict_falls_are_cancelled_and_waited_for():
    voters = Voters([True] * 40, turns=lambda voter: 1 + 3 * voter)
    verdict = run(poll_async(voters, SOLUTION, concurrency=8, seed=0))
    assert voters.cancelled
    assert sorted(voters.answered + voters.cancelled) == sorted(voters.asked)
    assert verdict.asked <= len(voters.asked) <= verdict.asked + 7
    assert voters.most == 8


def test_without_speculation_nobody_is_asked_in_vain_and_as_many_at_once_as_must_come():
    voters = Voters([True] * 40)
    verdict = run(poll_async(voters, SOLUTION, concurrency=30, speculate=False, seed=0))
    assert len(voters.asked) == verdict.asked
    assert voters.cancelled == []
    assert voters.most == Ballot(SOLUTION).needed_at_least() == 5


def test_no_more_are_asked_than_can_be_of_use():
    voters = Voters([True] * 40)
    verdict = run(poll_async(voters, rules.curtailment(5), concurrency=30))
    assert (len(voters.asked), verdict.asked) == (5, 3)


def test_one_at_a_time_asks_exactly_those_that_are_needed():
    voters = Voters([True, False] * 20)
    verdict = run(poll_async(voters, SOLUTION, concurrency=1, seed=0))
    assert voters.asked == voters.answered == list(range(verdict.asked))
    assert voters.most == 1


# In the order of arrival, quick voters would have more weight than slow ones -----------------


async def poll_in_order_of_arrival(ask, strategy, seed, concurrency):
    """Do what is so tempting: count votes as they arrive."""
    ballot, order = (
        Ballot(strategy, seed),
        iter(np.random.default_rng(seed).permutation(strategy.n_voters).tolist()),
    )
    running = {asyncio.create_task(ask(next(order))) for _ in range(concurrency)}
    while ballot.verdict is None:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if ballot.verdict is None:
                ballot.cast(task.result())
            if (voter := next(order, None)) is not None:
                running.add(asyncio.create_task(ask(voter)))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return ballot.verdict


def test_voters_that_are_quick_to_say_yes_have_no_more_weight_than_others():
    # 8 of 21 say yes, at once; those who say no take their time. The full vote is no.
    votes = [True] * 8 + [False] * 13
    turns = [0] * 8 + [40] * 13
    n_polls, expected = 150, evaluate(SOLUTION.strategy).disagreement[8]

    async def wrong_answers(poll_once):
        verdicts = [
            await poll_once(Voters(votes, lambda voter: turns[voter]), seed) for seed in range(n_polls)
        ]
        return sum(verdict.answer for verdict in verdicts)

    ours = run(
        wrong_answers(lambda ask, seed: poll_async(ask, SOLUTION, concurrency=10, voters=21, seed=seed))
    )
    tempting = run(
        wrong_answers(lambda ask, seed: poll_in_order_of_arrival(ask, SOLUTION.strategy, seed, 10))
    )
    assert expected < 0.01
    assert ours <= n_polls * expected + 4 * (n_polls * expected) ** 0.5
    assert tempting > 0.05 * n_polls


def test_a_committee_is_asked_in_a_random_order_each_member_at_most_once():
    firsts = []
    for seed in range(120):
        voters = Voters([voter % 2 == 0 for voter in range(21)])
        run(poll_async(voters, SOLUTION, voters=21, seed=seed))
        assert len(set(voters.asked)) == len(voters.asked) <= 21
        firsts.append(voters.asked[0])
    assert len(set(firsts)) == 21
    assert abs(np.mean(firsts) - 10) < 4 * np.sqrt((21**2 - 1) / 12 / 120)


# Failures ------------------------------------------------------------------------------------


def test_a_voter_that_fails_keeps_its_place_while_it_is_asked_again():
    votes = [False, *[True] * 40]
    voters = Voters(votes, failures={0: 2})
    verdict = run(poll_async(voters, SOLUTION, seed=0))
    assert verdict == poll(iter(votes), SOLUTION, seed=0)
    assert voters.asked.count(0) == 3


def test_a_voter_that_keeps_failing_is_replaced_by_one_at_the_end_of_the_line():
    votes = [False, *[True] * 40]
    voters = Voters(votes, failures={0: 99})
    verdict = run(poll_async(voters, SOLUTION, seed=0))
    assert verdict == poll(iter(votes[1:]), SOLUTION, seed=0)


def test_too_many_failures_end_in_an_error_that_has_the_votes_in_the_order_asked():
    voters = Voters(
        [True] * 40, lambda voter: [1, 4, 1][voter] if voter < 3 else 10, dict.fromkeys(range(3, 40), 99)
    )
    with pytest.raises(PollError, match=r"3 voters failed.*hung up") as caught:
        run(poll_async(voters, SOLUTION, concurrency=2, retries=0, max_failures=2))
    assert list(caught.value.votes.items()) == [(0, True), (1, True), (2, True)]
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_committee_with_too_few_members_that_answer_ends_in_an_error():
    voters = Voters([True] * 5, failures=dict.fromkeys(range(3), 99))
    with pytest.raises(PollError, match=r"no voter is left to ask \(3 failed\)"):
        run(poll_async(voters, rules.curtailment(5), voters=5, retries=0))


def test_a_call_that_takes_too_long_has_failed():
    asked = []

    async def ask(voter):
        asked.append(voter)
        if voter == 0 and asked.count(0) < 3:
            await asyncio.Event().wait()
        return True

    verdict = run(poll_async(ask, SOLUTION, timeout=0.01, seed=0))
    assert verdict == poll(iter([True] * 40), SOLUTION, seed=0)
    assert asked.count(0) == 3

    async def hang(_):
        await asyncio.Event().wait()

    with pytest.raises(PollError, match="TimeoutError"):
        run(poll_async(hang, SOLUTION, timeout=0.001, retries=0, max_failures=2))


def test_a_voter_that_cancels_itself_has_failed():
    async def ask(voter):
        if voter == 0:
            raise asyncio.CancelledError
        return True

    assert run(poll_async(ask, SOLUTION, seed=0)) == poll(iter([True] * 40), SOLUTION, seed=0)


# What is no failure --------------------------------------------------------------------------


class DeliberateError(BaseException):
    pass


def test_what_is_no_ordinary_exception_ends_the_poll_at_once_and_the_others_are_cancelled():
    voters = Voters([True] * 40, turns=lambda _: 50)

    async def ask(voter):
        if voter == 2:
            await wait(3)
            raise DeliberateError
        return await voters(voter)

    with pytest.raises(DeliberateError):
        run(poll_async(ask, SOLUTION))
    assert sorted(voters.cancelled) == [0, 1, 3]


def test_a_cancellation_from_outside_cancels_all_calls():
    voters = Voters([True] * 40, turns=lambda _: 10**9)

    async def main():
        task = asyncio.create_task(poll_async(voters, SOLUTION))
        await wait(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert sorted(voters.cancelled) == [0, 1, 2, 3]


def test_a_second_cancellation_does_not_leave_calls_behind_that_take_time_to_end():
    ended = []

    async def ask(voter):
        try:
            await asyncio.Event().wait()
        finally:
            await wait(20)  # closing a connection, say
            ended.append(voter)

    async def main():
        task = asyncio.create_task(poll_async(ask, SOLUTION))
        await wait(5)
        for _ in range(3):
            task.cancel()
            await wait(3)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert sorted(ended) == [0, 1, 2, 3]


def test_ctrl_c_ends_the_poll_and_all_calls():
    cancelled = []

    async def ask(voter):
        if voter == 3:
            signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(voter)
            raise

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark, for one, puts its own there
    try:
        with pytest.raises(KeyboardInterrupt):
            run(poll_async(ask, SOLUTION))
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(cancelled) == [0, 1, 2, 3]


# Kinds of ask --------------------------------------------------------------------------------


def test_plain_functions_lambdas_and_partial_functions_can_be_asked():
    async def with_argument(vote, _voter):
        return vote

    expected = poll(iter([True] * 40), SOLUTION, seed=0)
    for ask in (
        lambda _: True,
        lambda voter: with_argument(True, voter),
        functools.partial(with_argument, True),
        Voters([True] * 40),
    ):
        assert run(poll_async(ask, SOLUTION, seed=0)) == expected


def test_plain_functions_are_called_at_once_in_threads_and_their_failures_count():
    barrier = threading.Barrier(4)
    failed = set()

    def ask(voter):
        if voter < 4 and voter not in failed:
            barrier.wait(10)  # passes only if four are called at once
            failed.add(voter)
            raise StopIteration if voter % 2 else OSError
        return True

    assert run(poll_async(ask, SOLUTION, seed=0)) == poll(iter([True] * 40), SOLUTION, seed=0)
    assert failed == {0, 1, 2, 3}


def test_the_late_answer_of_a_plain_function_is_not_counted():
    too_late, calls = threading.Event(), []

    def ask(voter):
        calls.append(voter)
        if voter == 0 and calls.count(0) == 1:
            too_late.wait(10)
            return False
        if voter == 5:
            too_late.set()
        return True

    assert run(poll_async(ask, SOLUTION, timeout=0.2, seed=0)) == poll(iter([True] * 40), SOLUTION, seed=0)


# Bad input -----------------------------------------------------------------------------------


def test_answers_that_are_no_votes_end_the_poll_with_a_clear_error():
    for answer in ("yes", None, 0.7):
        with pytest.raises(InvalidInputError, match="the poll, voter 0: expected True or False"):
            run(poll_async(Voters([answer] * 40), SOLUTION))


@pytest.mark.parametrize(
    "settings",
    [
        {"concurrency": 0},
        {"concurrency": 2.5},
        {"retries": -1},
        {"max_failures": True},
        {"timeout": 0},
        {"timeout": "1"},
        {"voters": 20},
        {"voters": 0},
        {"seed": -1},
    ],
)
def test_bad_settings_are_refused_by_name(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        run(poll_async(Voters([True] * 40), SOLUTION, **settings))


def test_nobody_is_asked_if_the_answer_is_known():
    voters = Voters([True] * 3)
    assert run(poll_async(voters, solve("minimean", 3, 1.0))).asked == 0
    assert voters.asked == []
