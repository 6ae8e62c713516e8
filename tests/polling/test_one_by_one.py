"""poll: voters asked one by one."""

from __future__ import annotations

import itertools

import pytest

from foregone import Ballot, evaluate, poll, rules, solve
from foregone.errors import InvalidInputError, PollError

SOLUTION = solve("minimixed", 21, 0.01)


def voter(vote, calls=None, failures=0):
    """Return a voter that notes its calls and fails so often first."""
    state = {"failures": failures}

    def ask():
        if calls is not None:
            calls.append(vote)
        if state["failures"]:
            state["failures"] -= 1
            raise ConnectionError("no line")
        return vote

    return ask


def test_an_iterator_of_votes_is_taken_in_its_order_and_no_further_than_needed():
    votes = iter([True, False] + [True] * 30)
    verdict = poll(votes, SOLUTION, seed=0)
    assert verdict == poll([True, False] + [True] * 19, SOLUTION, seed=0)
    assert verdict.yes == verdict.asked - 1
    assert len(list(votes)) == 32 - verdict.asked


def test_callables_are_asked_no_further_than_needed():
    calls = []
    verdict = poll([voter(True, calls) for _ in range(21)], SOLUTION, seed=0)
    assert len(calls) == verdict.asked < 10


def test_a_list_of_callables_is_asked_in_a_random_order_so_that_the_limit_holds():
    # 8 of 21 say yes, and stand first: in that order the answer would be yes every time.
    voters = [lambda: True] * 8 + [lambda: False] * 13
    assert poll((vote() for vote in voters), SOLUTION).answer
    wrong = sum(poll(voters, SOLUTION, seed=seed).answer for seed in range(600))
    expected = 600 * evaluate(SOLUTION.strategy).disagreement[8]
    assert abs(wrong - expected) < 4 * expected**0.5 + 1


def test_the_same_seed_gives_the_same_poll():
    voters = [voter(vote) for vote in [True] * 11 + [False] * 10]
    asked = [poll(voters, SOLUTION, seed=seed).asked for seed in range(20)]
    assert asked == [poll(voters, SOLUTION, seed=seed).asked for seed in range(20)]
    assert len(set(asked)) > 3


def test_a_voter_that_fails_is_asked_again_and_counted_once():
    calls = []
    voters = [voter(True, calls, failures=2) for _ in range(21)]
    verdict = poll(voters, SOLUTION, seed=0)
    assert (len(calls), verdict.yes) == (3 * verdict.asked, verdict.asked)


def test_a_voter_that_keeps_failing_is_replaced_by_the_next():
    voters = itertools.chain([voter(False, failures=9), voter(False, failures=9)], itertools.repeat(True))
    assert poll(voters, SOLUTION, seed=0) == poll(itertools.repeat(True), SOLUTION, seed=0)


def test_too_many_failures_end_in_an_error_that_has_the_votes():
    voters = itertools.chain([True, voter(0, failures=99), False], itertools.repeat(voter(0, failures=99)))
    with pytest.raises(PollError, match=r"2 votes: 4 voters failed.*ConnectionError: no line") as caught:
        poll(voters, SOLUTION, retries=0, max_failures=3)
    assert caught.value.votes == {0: True, 2: False}
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_too_few_votes_end_in_an_error_that_has_them():
    with pytest.raises(PollError, match="after 2 votes: no voter is left to ask") as caught:
        poll([True, False], SOLUTION)
    assert caught.value.votes == {0: True, 1: False}


def test_a_committee_of_which_one_never_answers_is_asked_without_it():
    voters = [voter(True) for _ in range(4)] + [voter(True, failures=99)]
    assert poll(voters, rules.curtailment(5), retries=0).answer
    with pytest.raises(PollError, match=r"no voter is left to ask \(3 failed\)"):
        poll([voter(True)] * 2 + [voter(True, failures=99)] * 3, rules.curtailment(5), retries=0)


def test_what_is_no_failure_is_passed_on():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        poll([interrupt] * 21, SOLUTION)


def test_a_strategy_for_another_number_of_voters_is_refused():
    for number in (20, 22):
        with pytest.raises(InvalidInputError, match=f"solve for {number}"):
            poll([voter(True)] * number, SOLUTION)
    with pytest.raises(InvalidInputError, match="for 21 voters, got 22"):
        poll([True] * 22, SOLUTION)


def test_answers_that_are_no_votes_and_bad_settings_are_refused():
    with pytest.raises(InvalidInputError, match=r"the poll, voter 1: expected True or False.*got 'maybe'"):
        poll([True, "maybe"], SOLUTION)
    with pytest.raises(InvalidInputError, match="retries must be"):
        poll([True], SOLUTION, retries=-1)
    with pytest.raises(InvalidInputError, match="max_failures must be"):
        poll([True], SOLUTION, max_failures=1.5)


def test_nobody_is_asked_if_the_answer_is_known():
    strategy = solve("minimean", 3, 1.0)
    assert Ballot(strategy).verdict is not None
    assert poll([voter(True, calls := [])] * 3, strategy).asked == len(calls) == 0
