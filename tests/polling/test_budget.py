"""A budget over all questions: never exceeded, spent where it decides most, and honest about the rest."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from foregone import Ballot, Verdict, poll_many, rules, solve, solve_plurality
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution
from foregone.polling import BudgetPromise, Prices, Reply
from foregone.polling.voter_queue import derive_seed
from tests.polling.loop import run, wait
from tests.polling.simulated import VOTES, Simulated

SOLUTION = solve("minimean", VOTES, 0.01)
N = 150


def asking(simulated=None, *, in_batches=False, calls=None):
    simulated = simulated or Simulated(5)

    async def ask(question, voter):
        if calls is not None:
            calls.append((question, voter))
        await wait(simulated.turns(question, voter))
        return simulated.vote(question, voter)

    async def ask_batch(question, voters):
        return [await ask(question, voter) for voter in voters]

    return {"ask": None if in_batches else ask, "ask_batch": ask_batch if in_batches else None}


async def collect(polls):
    return dict([pair async for pair in polls])


def without_budget():
    return poll_many(range(N), strategy=SOLUTION, seed=0, **asking()).run()


@pytest.mark.parametrize("in_batches", [False, True])
@pytest.mark.parametrize("budget", [0, 1, 100, 600, 10**6])
def test_votes_never_exceed_the_budget_and_every_question_has_a_verdict(budget, in_batches):
    calls = []
    polls = poll_many(
        range(N), strategy=SOLUTION, budget=budget, seed=0, concurrency=8,
        **asking(calls=calls, in_batches=in_batches),
    )  # fmt: skip
    verdicts, whole = run(collect(polls)), without_budget()
    needed = sum(verdict.asked for verdict in whole.values())
    assert len(calls) == polls.spent.votes == min(budget, needed)
    assert verdicts.keys() == whole.keys()
    for key, verdict in verdicts.items():
        if not verdict.cut_short:
            assert verdict == whole[key]
        else:
            ballot = Ballot(SOLUTION, derive_seed(0, "stop", key))
            ballot.cast_many([Simulated(5).vote(key, voter) for voter in range(verdict.asked)])
            assert verdict == ballot.cut_short()
    assert polls.promise.n_cut_short == sum(verdict.cut_short for verdict in verdicts.values())
    assert (polls.promise.n_cut_short == 0) == (budget >= needed)


def test_it_is_spent_on_the_questions_whose_votes_are_worth_most():
    state = {key: Ballot(SOLUTION) for key in range(3)}
    asked, best = [], []

    async def ask_batch(question, voters):
        worth = {key: ballot.value_of_a_vote() for key, ballot in state.items()}
        asked.append(question)
        best.append(worth[question] == max(worth.values()))
        votes = [{0: True, 1: voter % 2 == 0, 2: False}[question] for voter in voters]
        state[question].cast_many(votes)
        return votes

    poll_many(range(3), None, SOLUTION, ask_batch=ask_batch, budget=25, concurrency=1, seed=1).run()
    assert all(best)
    assert asked.count(1) > asked.count(0)  # which everybody agrees on


def test_it_answers_better_than_an_even_split_of_the_same_votes():
    budget, full = 500, {}
    simulated = Simulated(5)
    for key in range(N):
        votes = [simulated.vote(key, voter) for voter in range(21)]
        full[key] = 2 * sum(votes) > 21
    polls = poll_many(range(N), strategy=SOLUTION, budget=budget, seed=0, **asking())
    verdicts = polls.run()
    even = [Ballot(SOLUTION, key) for key in range(N)]
    left = budget
    while left:
        for key, ballot in enumerate(even):
            if ballot.verdict is None and left:
                ballot.cast(simulated.vote(key, ballot.asked))
                left -= 1
    risk = sum(ballot.cut_short().risk for ballot in even) / N
    assert polls.promise.expected_disagreement < 0.95 * risk
    assert sum(verdicts[key].answer != full[key] for key in full) / N < 0.2


def test_the_promise_adds_the_limit_and_the_risks_of_what_was_cut_short():
    polls = poll_many(range(N), strategy=SOLUTION, budget=500, seed=0, **asking())
    verdicts = polls.run().values()
    promise = polls.promise
    cut = [verdict.risk for verdict in verdicts if verdict.cut_short]
    assert promise.bound == pytest.approx(0.01 + sum(cut) / N)
    assert promise.expected_disagreement == pytest.approx(sum(verdict.risk for verdict in verdicts) / N)
    assert (promise.n_questions, promise.n_cut_short, promise.limit) == (N, len(cut), 0.01)
    assert f"cut {len(cut)} short" in str(promise)
    assert promise.to_dict()["bound"] == promise.bound
    assert "cut none short" in str(BudgetPromise(5, 0, 0.01, 0.0, 0.01))
    assert "is unknown" in str(BudgetPromise(5, 1, None, None, None))
    nobody = poll_many(range(N), strategy=SOLUTION, budget=0, seed=0, **asking())
    nobody.run()
    assert nobody.promise.bound == pytest.approx(nobody.promise.expected_disagreement)
    assert "strategy's limit" not in str(nobody.promise)
    bare = poll_many([1], lambda *_: True, rules.lead(9, 3))
    bare.run()
    assert (bare.promise.limit, bare.promise.expected_disagreement, bare.promise.bound) == (None, None, None)


def test_risks_of_verdicts_cut_short_are_as_often_right_as_they_say():
    n, simulated = 1500, Simulated(8)

    async def ask(question, voter):
        return simulated.vote(question, voter)

    polls = poll_many(range(n), ask, SOLUTION, budget=4 * n, seed=0)
    verdicts = polls.run()
    wrong = variance = 0.0
    for key, verdict in verdicts.items():
        yes = sum(simulated.vote(key, voter) for voter in range(21))
        wrong += verdict.answer != (2 * yes > 21)
        variance += verdict.risk * (1 - verdict.risk)
    assert abs(wrong - n * polls.promise.expected_disagreement) < 4 * variance**0.5


def test_earlier_runs_count_and_a_larger_budget_goes_on(tmp_path):
    path, calls = tmp_path / "votes.jsonl", []
    for budget in (200, 200, 500, 10**6):
        polls = poll_many(
            range(N), strategy=SOLUTION, budget=budget, journal=path, seed=0, **asking(calls=calls)
        )
        verdicts = polls.run()
        assert len(verdicts) == N
        assert polls.spent.votes == len(calls) <= budget
        assert len(set(calls)) == len(calls)
    assert verdicts == without_budget()
    nobody = poll_many(range(N), None, SOLUTION, budget=0, journal=path, seed=0)
    assert nobody.run() == verdicts


def test_money_is_spent_up_to_the_budget_and_hardly_beyond():
    prices, running = Prices(request=1.0, prompt_token=0.01, completion_token=0.02), []

    async def ask_batch(question, voters):
        running.append(len(voters))
        await wait(3)
        return Reply([Simulated(5).vote(question, voter) for voter in voters], 100, 5 * len(voters))

    polls = poll_many(
        range(N), None, SOLUTION, ask_batch=ask_batch, prices=prices, budget=150.0, concurrency=8, seed=0
    )
    run(collect(polls))
    assert 150 - 2.4 < polls.spent.money <= 150 + 1e-9  # all requests cost what was expected
    assert polls.promise.n_cut_short > 0


def test_many_answers_take_a_budget_and_a_question_without_votes_has_no_answer():
    votes = CompositionDistribution.from_counts([[7, 0, 0], [5, 2, 0], [4, 2, 1], [3, 3, 1]])
    solution = solve_plurality(votes, 0.05, n_voters=7)

    async def ask(question, voter):
        return "ab"[(question + voter) % 5 == 0]

    polls = poll_many(range(10), ask, solution, budget=30, seed=0)
    verdicts = polls.run()
    assert polls.spent.votes == 30
    assert {verdict.answer for verdict in verdicts.values()} <= {"a", "b"}
    nothing = poll_many([1], ask, solution, budget=0).run()
    assert nothing == {0: Verdict(None, 0, 0, 1.0, cut_short=True)}


def test_a_budget_leaves_nothing_behind_when_the_loop_is_left():
    async def main():
        polls = poll_many(range(N), strategy=SOLUTION, budget=300, concurrency=8, **asking())
        async with contextlib.aclosing(aiter(polls)) as verdicts:
            async for _ in verdicts:
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())


def test_a_budget_that_cannot_be_is_refused():
    for budget in (-1, float("nan"), "much", float("inf")):
        with pytest.raises(InvalidInputError, match="budget must be"):
            poll_many([1], print, SOLUTION, budget=budget)
    with pytest.raises(InvalidInputError, match="pass a solution"):
        poll_many([1], print, rules.lead(9, 3), budget=5)
