"""Several votes from one request: the same verdicts, fewer requests, nothing lost, nothing left behind."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import Ballot, poll, poll_async, poll_many, rules, solve
from foregone.errors import InvalidInputError, PollError, PollManyError
from foregone.polling import Reply
from tests.polling.loop import run, wait
from tests.polling.simulated import VOTES, Simulated, might_be
from tests.strategies import answering_strategies

SOLUTION = solve("minimean", VOTES, 0.01)


class Batches:
    """Voters who are asked together; by a script, a request fails, or some of its votes are missing."""

    def __init__(self, votes, script=()):
        self.votes, self.script, self.requests, self.running = votes, list(script), [], 0

    def __call__(self, voters):
        self.requests.append(voters)
        what = self.script.pop(0) if self.script else "all"
        votes = [self.votes[voter] for voter in voters]
        if what == "raise":
            raise ConnectionError("hung up")
        if what == "short":
            return votes[: len(votes) // 2]
        if what == "holes":
            return [None if place % 2 else vote for place, vote in enumerate(votes)]
        if what == "errors":
            return [ValueError("nonsense") if place % 3 == 0 else vote for place, vote in enumerate(votes)]
        return Reply(votes, 10, 2)

    async def later(self, voters):
        self.running += 1
        try:
            await wait(len(voters))
            return self(voters)
        finally:
            self.running -= 1


TROUBLES = st.lists(st.sampled_from(["all", "raise", "short", "holes", "errors"]), max_size=6)


@settings(max_examples=60)
@given(st.data(), st.integers(0, 6), TROUBLES, st.integers(0, 1000))
def test_the_verdict_is_that_of_asking_one_by_one_whatever_is_missing_at_first(data, ahead, script, seed):
    strategy = data.draw(answering_strategies(6) | st.sampled_from([rules.curtailment(7), rules.lead(9, 3)]))
    votes = data.draw(st.lists(st.booleans(), min_size=40, max_size=40))
    expected = poll(iter(votes), strategy, seed=seed)
    batches = [Batches(votes, script) for _ in range(2)]
    settings = {"retries": 7, "speculate": ahead, "seed": seed}
    assert poll(None, strategy, ask_batch=batches[0], **settings) == expected
    assert run(poll_async(None, strategy, ask_batch=batches[1].later, **settings)) == expected
    assert batches[0].requests == batches[1].requests
    asked = {voter for request in batches[0].requests for voter in request}
    assert expected.asked <= len(asked) <= expected.asked + max(ahead - 1, 0)


def test_a_request_asks_for_as_many_as_must_come_and_none_in_vain():
    batches = Batches([True] * 30)
    verdict = poll(None, SOLUTION, ask_batch=batches, seed=0)
    ballot = Ballot(SOLUTION)
    assert batches.requests[0] == list(range(ballot.needed_at_least()))
    assert sum(map(len, batches.requests)) == verdict.asked
    assert len(batches.requests) < verdict.asked


def test_speculation_asks_more_at_once_and_never_what_cannot_be_counted():
    everyone = Batches([True] * 30)
    verdict = poll(None, SOLUTION, ask_batch=everyone, speculate=21, seed=0)
    assert verdict == poll(None, SOLUTION, ask_batch=Batches([True] * 30), seed=0)
    assert everyone.requests == [list(range(Ballot(SOLUTION).useful(21)))]
    expected = Batches([True] * 30)
    assert poll(None, SOLUTION, ask_batch=expected, speculate="expected", seed=0) == verdict
    assert len(expected.requests[0]) == round(Ballot(SOLUTION).expected_votes())


def test_what_came_is_not_asked_for_again():
    batches = Batches([True] * 30, ["holes", "raise", "short"])
    poll(None, rules.curtailment(9), ask_batch=batches, retries=3)
    assert batches.requests == [[0, 1, 2, 3, 4], [1, 3], [1, 3], [3]]
    with pytest.raises(PollError, match="the reply has only 0 of 5 votes"):
        poll(None, rules.curtailment(9), ask_batch=lambda voters: [], max_failures=3)


def test_voters_that_never_vote_are_replaced_by_others_at_the_end():
    def ask_batch(voters):
        return [None if voter in (1, 2) else voter < 4 for voter in voters]

    verdict = poll(None, rules.curtailment(5), ask_batch=ask_batch)
    assert verdict == poll(iter([True, True, False, False, False]), rules.curtailment(5))
    with pytest.raises(PollError, match="2 voters failed") as caught:
        poll(None, rules.curtailment(5), ask_batch=ask_batch, max_failures=1)
    assert caught.value.votes == {0: True}


def test_a_committee_is_asked_in_a_random_order_each_for_one_vote():
    batches = Batches([voter < 11 for voter in range(21)])
    poll(21, solve("minimixed", 21, 0.01), ask_batch=batches, seed=3)
    asked = [voter for request in batches.requests for voter in request]
    assert asked != sorted(asked)
    assert len(set(asked)) == len(asked)


async def collect(polls):
    return dict([pair async for pair in polls])


def test_many_questions_get_the_strategys_verdicts_from_fewer_requests():
    simulated, requests, running = Simulated(1, failure_rate=0.1), [], 0

    async def ask_batch(question, voters):
        nonlocal running
        running += 1
        requests.append((question, tuple(voters)))
        try:
            await wait(max(simulated.turns(question, voter) for voter in voters))
            if simulated.next_request_fails(question, tuple(voters)):
                raise ConnectionError
            return [
                None if simulated.next_call_fails(question, voter) else simulated.vote(question, voter)
                for voter in voters
            ]
        finally:
            running -= 1

    polls = poll_many(range(300), None, SOLUTION, ask_batch=ask_batch, concurrency=8, retries=9, seed=0)
    verdicts = run(collect(polls))
    assert running == 0
    votes = Simulated(1)
    for key, verdict in verdicts.items():
        might_be(SOLUTION.strategy, (votes.vote(key, voter) for voter in range(99)), verdict)
    assert polls.spent.votes == sum(verdict.asked for verdict in verdicts.values())
    assert polls.spent.requests == len(requests) < 0.6 * polls.spent.votes
    assert (
        verdicts == poll_many(range(300), lambda key, voter: votes.vote(key, voter), SOLUTION, seed=0).run()
    )


def test_speculation_in_many_polls_saves_rounds_and_costs_votes():
    spent = {}
    for speculate in (0, 8, "expected"):
        votes = Simulated(1)

        async def ask_batch(question, voters, votes=votes):
            return [votes.vote(question, voter) for voter in voters]

        polls = poll_many(range(100), None, SOLUTION, ask_batch=ask_batch, speculate=speculate, seed=0)
        verdicts = polls.run()
        spent[speculate] = polls.spent
        assert polls.spent.votes - sum(verdict.asked for verdict in verdicts.values()) >= 0
    assert spent[8].requests < spent["expected"].requests < spent[0].requests
    assert spent[8].votes > spent["expected"].votes > spent[0].votes
    assert spent[0].rounds == spent[0].requests


def test_a_question_that_gets_no_votes_does_not_keep_the_others_from_theirs():
    async def ask_batch(question, voters):
        return [None] * len(voters) if question == 1 else [True] * len(voters)

    with pytest.raises(PollManyError, match=r"1 of 3 .*the reply has only 0 of"):
        poll_many(range(3), None, SOLUTION, ask_batch=ask_batch).run()


def test_a_slow_request_runs_into_the_time_limit_and_plain_functions_can_be_asked():
    calls = []

    async def ask_batch(voters):
        calls.append(voters)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return [True] * len(voters)

    verdict = run(poll_async(None, SOLUTION, ask_batch=ask_batch, timeout=0.01, seed=0))
    assert calls[0] == calls[1]
    assert verdict == run(poll_async(None, SOLUTION, ask_batch=lambda voters: [True] * len(voters), seed=0))


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (lambda voters: True, "must be a list or another iterable"),
        (lambda voters: "yes", "must be a list or another iterable"),
        (lambda voters: dict.fromkeys(voters, True), "got a mapping"),
        (lambda voters: [True] * (len(voters) + 1), "one vote for each"),
        (lambda voters: ["maybe"] * len(voters), "voter 0: expected True or False"),
        (lambda voters: Reply(True), "must be a list or another iterable"),
    ],
)
def test_what_is_no_list_of_votes_is_an_error_that_says_so(reply, problem):
    for ask in (
        lambda: poll(None, SOLUTION, ask_batch=reply),
        lambda: run(poll_async(None, SOLUTION, ask_batch=reply)),
        lambda: poll_many([1], None, SOLUTION, ask_batch=lambda _, voters: reply(voters)).run(),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            ask()


def test_exactly_one_way_to_ask_is_taken():
    with pytest.raises(InvalidInputError, match="pass only one"):
        poll_many([1], print, SOLUTION, ask_batch=print)
    with pytest.raises(InvalidInputError, match="pass only one"):
        run(poll_async(print, SOLUTION, ask_batch=print))
    with pytest.raises(InvalidInputError, match="pass ask, or ask_batch"):
        run(poll_async(None, SOLUTION))
    with pytest.raises(InvalidInputError, match="ask_batch must be a function"):
        poll_many([1], None, SOLUTION, ask_batch=5)
    with pytest.raises(InvalidInputError, match="speculate needs ask_batch"):
        poll([True], SOLUTION, speculate=3)
    for speculate in (-1, "much", 1.5):
        with pytest.raises(InvalidInputError, match="speculate must be"):
            poll_many([1], print, SOLUTION, speculate=speculate)
    with pytest.raises(InvalidInputError, match="pass a solution"):
        poll_many([1], print, rules.lead(9, 3), speculate="expected")
