"""What polls cost: requests, tokens and money, running, at the end, and over several runs."""

from __future__ import annotations

import asyncio
import json

import pytest

from foregone import poll_many, rules, solve
from foregone.errors import InvalidInputError
from foregone.polling import Costs, Prices, Reply
from foregone.polling.journal import Journal
from tests.polling.simulated import VOTES, Simulated
from tests.polling.test_journal import GOLDEN, MORE, check

SOLUTION = solve("minimean", VOTES, 0.01)
PRICES = Prices(request=0.5, prompt_token=0.01, completion_token=0.1)


class Metered:
    """Simulated voters who say how many tokens they took, and a meter that adds them up."""

    def __init__(self, failure_rate=0.0, stop_after=10**9):
        self.simulated, self.requests, self.read, self.written = Simulated(3, failure_rate), 0, 0, 0
        self.votes, self.left = 0, stop_after

    async def ask_batch(self, question, voters):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.requests += 1
        if self.simulated.next_request_fails(question, tuple(voters)):
            raise ConnectionError
        read, written = self.simulated.tokens(question, tuple(voters))
        self.read, self.written = self.read + read, self.written + written
        votes = [
            None if self.simulated.next_call_fails(question, voter) else self.simulated.vote(question, voter)
            for voter in voters
        ]
        self.votes += sum(vote is not None for vote in votes)
        return Reply(votes, read, written)

    async def ask(self, question, voter):
        reply = await self.ask_batch(question, [voter])
        return Reply(reply.votes[0], reply.prompt_tokens, reply.completion_tokens)

    def way(self, *, in_batches):
        return {"ask": None if in_batches else self.ask, "ask_batch": self.ask_batch if in_batches else None}

    def costs(self):
        return (self.requests, self.votes, self.read, self.written)


def of(costs: Costs):
    return costs.requests, costs.votes, costs.prompt_tokens, costs.completion_tokens


@pytest.mark.parametrize("in_batches", [False, True])
def test_what_is_spent_is_what_the_server_would_bill(in_batches):
    meter = Metered(failure_rate=0.2)
    polls = poll_many(
        range(60), strategy=SOLUTION, prices=PRICES, retries=9, seed=0, **meter.way(in_batches=in_batches)
    )
    polls.run()
    assert of(polls.spent) == meter.costs()
    assert polls.spent.money == pytest.approx(0.5 * meter.requests + 0.01 * meter.read + 0.1 * meter.written)
    assert json.loads(json.dumps(polls.spent.to_dict()))["requests"] == meter.requests
    assert polls.spent.requests > polls.spent.votes / 3 > 0


def test_costs_are_up_to_date_during_a_run():
    meter, seen = Metered(), []
    polls = poll_many(range(40), meter.ask, SOLUTION, concurrency=4, seed=0)
    assert polls.spent == Costs()

    async def main():
        async for _ in polls:
            assert of(polls.spent) == meter.costs()
            seen.append((polls.spent.votes, polls.saved.votes))

    asyncio.run(main())
    assert seen == sorted(seen)
    assert polls.spent.money is None


def test_savings_are_those_against_full_votes_at_mean_prices():
    async def ask(question, voter):
        return Reply(True, prompt_tokens=50, completion_tokens=4)

    async def ask_batch(question, voters):
        return Reply([True] * len(voters), 50, 4 * len(voters))

    strategy = rules.lead(21, 3)  # three votes of yes in the first round, and no more
    one = poll_many(range(10), ask, strategy, prices=PRICES)
    one.run()
    assert of(one.spent) == (30, 30, 1500, 120)
    assert one.spent.rounds == 10
    assert of(one.saved) == (180, 180, 180 * 50, 180 * 4)
    assert one.saved.money == pytest.approx(180 * (0.5 + 0.5 + 0.4))
    batch = poll_many(range(10), None, strategy, ask_batch=ask_batch, prices=PRICES)
    batch.run()
    assert of(batch.spent) == (10, 30, 500, 120)
    assert of(batch.saved) == (0, 180, 0, 720)  # a full vote would be one request, too


def test_rounds_are_how_often_votes_were_waited_for():
    async def ask(question, voter):
        return voter % 2 == 0

    polls = poll_many([0], ask, rules.curtailment(5), seed=0)
    polls.run()  # three must come, then one, then one
    assert (polls.spent.requests, polls.spent.rounds) == (5, 3)


@pytest.mark.parametrize("in_batches", [False, True])
def test_a_run_that_is_stopped_again_and_again_goes_on_counting(tmp_path, in_batches):
    path = tmp_path / "votes.jsonl"
    total, polls = [0, 0, 0, 0], None
    for _ in range(100):
        meter = Metered(stop_after=15)
        polls = poll_many(
            range(30), strategy=SOLUTION, journal=path, prices=PRICES, concurrency=1, seed=4,
            **meter.way(in_batches=in_batches),
        )  # fmt: skip
        try:
            verdicts = polls.run()
            break
        except KeyboardInterrupt:
            pass
        finally:
            total = [before + now for before, now in zip(total, meter.costs(), strict=True)]
            assert of(polls.spent) == tuple(total)
    whole = Metered()
    once = poll_many(
        range(30), strategy=SOLUTION, prices=PRICES, concurrency=1, seed=4, **whole.way(in_batches=in_batches)
    )
    assert once.run() == verdicts
    assert polls.spent == once.spent
    assert polls.saved == once.saved
    again = poll_many(range(30), None, SOLUTION, journal=path, prices=PRICES)
    assert again.run() == verdicts
    assert again.spent == once.spent


def test_failed_requests_and_votes_in_vain_are_in_the_journal_too(tmp_path):
    path, meter = tmp_path / "votes.jsonl", Metered(failure_rate=0.3)
    polls = poll_many(
        range(20), None, SOLUTION, ask_batch=meter.ask_batch, speculate=8, journal=path, retries=9, seed=0
    )
    polls.run()
    again = poll_many(range(20), None, SOLUTION, journal=path)
    again.run()
    assert of(again.spent) == of(polls.spent) == meter.costs()
    assert again.spent.rounds == polls.spent.rounds


def test_the_votes_of_a_request_are_written_in_one_piece_and_the_good_ones_before_an_error(tmp_path):
    path = tmp_path / "votes.jsonl"

    async def ask_batch(question, voters):
        return Reply([True, True, "maybe"], 5, 6)

    with pytest.raises(InvalidInputError, match="voter 2"):
        poll_many([1], None, rules.lead(21, 3), ask_batch=ask_batch, journal=path).run()
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert [(line["voter"], line.get("requests", 1), line.get("prompt_tokens", 0)) for line in lines] == [
        (0, 1, 5),
        (1, 0, 0),
    ]


def test_a_journal_of_version_3_is_continued_without_costs(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_bytes((GOLDEN / "journal-v3.jsonl").read_bytes())
    with Journal(path, MORE, check) as journal:
        assert journal.recorded["a"] == {0: True, 1: False}
        assert journal.costs["a"] == Costs(2, 2, rounds=1)
        journal.request("b", {0: True, 1: True}, Costs(1, 2, 50, 4), in_round=2)
        journal.request("b", {}, Costs(1))
    added = path.read_text().splitlines()[4:]
    assert [sorted(json.loads(line)) for line in added] == [
        ["checksum", "content", "question", "vote", "voter"],
        ["checksum", "question", "vote", "voter"],
    ]
    with Journal(path, MORE, check) as journal:
        assert journal.recorded["b"] == {0: True, 1: True}


def test_a_reply_without_a_vote_is_asked_again_and_paid_for():
    calls = []

    async def ask(question, voter):
        calls.append(voter)
        return Reply(None if len(calls) == 1 else True, 10, 1)

    polls = poll_many([1], ask, rules.lead(9, 3), concurrency=1)
    polls.run()
    assert calls == [0, 0, 1, 2]
    assert of(polls.spent) == (4, 3, 40, 4)


def test_bad_prices_and_token_counts_are_refused():
    for prices in ({"request": -1}, {"prompt_token": float("nan")}, {"completion_token": "1"}):
        with pytest.raises(InvalidInputError, match=f"price of a {next(iter(prices))} must be"):
            Prices(**prices)
    with pytest.raises(InvalidInputError, match="prompt_tokens must be"):
        Reply(True, prompt_tokens=-1)
    with pytest.raises(InvalidInputError, match="prices must be"):
        poll_many([1], print, SOLUTION, prices=0.5)
