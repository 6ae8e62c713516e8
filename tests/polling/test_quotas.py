"""Polls whose full vote is decided by another quota than a majority."""

from __future__ import annotations

import numpy as np
import pytest

from foregone import Ballot, StoppingStrategy, VoteDistribution, evaluate, poll, poll_async, poll_many, solve
from tests.polling.loop import run

VOTES = VoteDistribution.from_counts([300, 60, 30, 20, 15, 12, 10, 8, 8, 7, 7, 23])
SOLUTION = solve("minimean", VOTES, 0.02, quota=3)  # at least 3 of 11


async def collect(polls):
    return [pair async for pair in polls]


def said(question: int) -> list[bool]:
    """What the voters say about a question, in a random order."""
    random = np.random.default_rng(question)
    n = random.choice(12, p=VOTES.probabilities)
    return random.permutation(np.arange(11) < n).tolist()


def test_every_way_of_asking_gives_the_verdict_of_a_ballot():
    solved = SOLUTION.strategy
    firm = StoppingStrategy.from_thresholds(solved.lower, solved.upper, yes_from=solved.yes_from)
    questions = range(60)
    polls = poll_many(questions, lambda question, voter: said(question)[voter], firm)
    many = dict(run(collect(polls)))
    for question in questions:
        votes = said(question)
        verdict = Ballot(firm).cast_many(votes)
        assert verdict.answer == (verdict.yes >= firm.yes_from[verdict.asked])
        assert poll(iter(votes), firm) == verdict
        assert run(poll_async(lambda voter, votes=votes: votes[voter], firm)) == verdict
        assert many[question] == verdict


def test_polls_disagree_with_their_full_vote_as_often_as_the_evaluation_says():
    wrong = asked = 0
    for question in range(2_000):
        votes = said(question)
        verdict = poll(iter(votes), SOLUTION, seed=question)
        wrong += verdict.answer != (sum(votes) >= 3)
        asked += verdict.asked
    mean = evaluate(SOLUTION).mean(VOTES)
    assert abs(wrong - 2_000 * mean.disagreement) < 4 * (2_000 * mean.disagreement) ** 0.5
    assert asked / 2_000 == pytest.approx(mean.expected_votes, rel=0.1)


@pytest.mark.parametrize(("quota", "settling"), [(1, True), (11, False)])
def test_any_and_all_ask_until_the_first_vote_that_settles_it(quota, settling):
    strategy = solve("minimax", 11, 0, quota=quota).strategy
    for place in range(11):
        votes = [settling if voter == place else not settling for voter in range(11)]
        verdict = poll(iter(votes), strategy)
        assert (verdict.answer, verdict.asked, verdict.risk) == (settling, place + 1, 0.0)
    unanimous = poll(iter([not settling] * 11), strategy)
    assert (unanimous.answer, unanimous.asked) == (not settling, 11)
