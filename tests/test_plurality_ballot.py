"""Ballots and polls with any answers: what they decide, what they say beforehand, and what they refuse."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import Ballot, VoteDistribution, poll, poll_async, poll_many, solve_plurality
from foregone.errors import FileFormatError, InvalidInputError
from foregone.plurality import CompositionDistribution, PluralityStrategy, lattice_of, rules
from tests.plurality.strategies import plurality_strategies

ANSWERS = st.lists(st.sampled_from("abcde"), min_size=5, max_size=5)
PAST = [[9, 0, 0]] * 150 + [[8, 1, 0]] * 40 + [[5, 3, 1]] * 10
SOLUTION = solve_plurality(PAST, 0.05, n_voters=9)


def counts_of(answers):
    return list(Counter(answers).values())


def restricted(strategy, answers):
    """Answers of which only so many are different as the strategy is for."""
    known = list(dict.fromkeys(answers))[: strategy.lattice.n_classes]
    return [answer if answer in known else known[0] for answer in answers][: strategy.n_voters]


@given(plurality_strategies(), ANSWERS, st.integers(0, 2**64 - 1))
def test_it_stops_where_the_strategy_may_stop_and_answers_the_first_of_the_leaders(strategy, answers, seed):
    answers = restricted(strategy, answers)
    ballot = Ballot(strategy, seed)
    for answer in answers:
        if ballot.verdict is not None:
            break
        assert strategy.stop_probability(counts_of(answers[: ballot.asked])) < 1
        assert ballot.cast(answer) is ballot.verdict
    verdict = ballot.verdict
    seen = answers[: verdict.asked]
    assert strategy.stop_probability(counts_of(seen)) > 0
    most = max(counts_of(seen))
    assert verdict.answer == next(answer for answer in seen if seen.count(answer) == most)
    assert verdict.yes == most


@given(plurality_strategies(), ANSWERS, st.integers(0, 4), st.integers(0, 6))
def test_what_it_says_about_votes_to_come_is_what_trying_all_of_them_shows(strategy, answers, asked, k):
    answers = restricted(strategy, answers)
    ballot = Ballot(strategy, 0)
    for answer in answers[:asked]:
        if ballot.verdict is None:
            ballot.cast(answer)
    if ballot.verdict is not None:
        assert (ballot.needed_at_least(), ballot.useful(k), ballot.can_stop_within(0)) == (0, 0, True)
        return
    asked = ballot.asked
    n_classes, left = strategy.lattice.n_classes, strategy.n_voters - asked
    stops, useful = set(), set()
    for future in itertools.product("abcde", repeat=left):
        if len({*answers[:asked], *future}) > n_classes:
            continue
        for ahead in range(1, left + 1):
            useful.add(ahead)
            chance = strategy.stop_probability(counts_of([*answers[:asked], *future[:ahead]]))
            if chance > 0:
                stops.add(ahead)
            if chance == 1:
                break
    assert ballot.needed_at_least() == min(stops)
    assert ballot.useful(k) == min(k, max(useful))
    assert ballot.can_stop_within(k) == (min(stops) <= k)


def exact_risk(past, n_voters, seen):
    """The chance, given the answers seen, that the leader does not lead in the end: every order counted."""
    most = max(counts_of(seen))
    leader = next(answer for answer in seen if seen.count(answer) == most)
    total = wrong = Fraction(0)
    for counts, weight in past:
        votes = [number for number, count in enumerate(counts) for _ in range(count)]
        orders = list(itertools.permutations(votes))
        for order in orders:
            names: dict[int, str] = {}  # answers are told apart only by when they first came up
            told = [names.setdefault(vote, "abcde"[len(names)]) for vote in order]
            if told[: len(seen)] == seen:
                total += Fraction(weight, len(orders))
                final = Counter(told)
                wrong += Fraction(weight, len(orders)) * (final[leader] < max(final.values()))
    return None if total == 0 else wrong / total


@pytest.mark.parametrize("seen", [["a", "a"], ["a", "b", "b"], ["a", "b"], ["a", "b", "a", "c"], ["a"]])
def test_the_risk_is_that_of_every_order_of_every_past_vote(seen):
    past = [([5, 0, 0], 3), ([3, 2, 0], 2), ([3, 1, 1], 2), ([2, 2, 1], 4)]
    votes = CompositionDistribution.from_counts([counts for counts, weight in past for _ in range(weight)])
    lattice = lattice_of(5, 3)
    stop = np.zeros(lattice.n_states)
    stop[lattice.number_of(counts_of(seen))], stop[lattice.level[-2] :] = 1, 1
    verdict = Ballot(PluralityStrategy.from_probabilities(lattice, stop), 0, votes=votes).cast_many(seen)
    assert verdict.asked == len(seen)
    assert verdict.risk == pytest.approx(float(exact_risk(past, 5, seen)), abs=1e-12)


def test_where_the_rest_cannot_change_the_answer_there_is_no_risk_and_elsewhere_it_may_be_unknown():
    assert Ballot(rules.lead(5, 3), 0).cast_many(["x"] * 3).risk == 0
    assert Ballot(rules.lead(5, 2), 0).cast_many(["x"] * 2).risk is None
    never = CompositionDistribution.from_counts([[1, 1, 1, 1, 1]])
    assert Ballot(rules.lead(5, 2), 0, votes=never).cast_many(["x"] * 2).risk is None
    assert SOLUTION.strategy is not None
    assert 0 < Ballot(SOLUTION, 0).cast_many(["x"] * 9).risk < 0.05


def test_numbers_texts_tuples_and_numpys_own_are_answers():
    ballot = Ballot(rules.lead(9, 3), 0)
    verdict = ballot.cast_many([("a", 1), np.int64(7), 7, "7", np.str_("x"), 7, 7])
    assert verdict.answer == 7
    assert type(verdict.answer) is int


@pytest.mark.parametrize(
    ("vote", "complaint"),
    [
        (None, "expected an answer"),
        (float("nan"), "expected an answer"),
        (["a"], "must be hashable"),
        ({}, "must be hashable"),
    ],
)
def test_what_cannot_be_an_answer_is_refused_and_nothing_is_counted(vote, complaint):
    ballot = Ballot(SOLUTION)
    with pytest.raises(InvalidInputError, match=complaint):
        ballot.cast(vote)
    with pytest.raises(InvalidInputError, match=complaint):
        ballot.cast_many(["a", vote])
    assert ballot.asked == 0


def test_more_different_answers_than_the_strategy_is_for_are_refused():
    strategy = solve_plurality(None, 0.05, n_voters=9, n_classes=2, confidence=None).strategy
    ballot = Ballot(strategy, 0)
    with pytest.raises(InvalidInputError, match="at most 2 different"):
        ballot.cast_many(["a", "b", "c"])
    assert ballot.asked == 0
    ballot.cast_many(["a", "b"])
    with pytest.raises(InvalidInputError, match="at most 2 different answers, and 'c' is one more"):
        ballot.cast("c")
    assert ballot.asked == 2


def test_votes_of_another_kind_or_size_and_a_ballot_that_is_over_are_refused():
    with pytest.raises(InvalidInputError, match="CompositionDistribution"):
        Ballot(SOLUTION, votes=VoteDistribution.flat(9))
    with pytest.raises(InvalidInputError, match="as many voters as the strategy, got 3 and 9"):
        Ballot(SOLUTION, votes=CompositionDistribution.from_counts([[2, 1]]))
    with pytest.raises(InvalidInputError, match=r"strategy must be .*got \[\]"):
        Ballot([])
    ballot = Ballot(rules.lead(5, 2), 0)
    ballot.cast_many([1, 1])
    with pytest.raises(InvalidInputError, match="has ended with 1 after 2 votes"):
        ballot.cast(1)


# Polls ---------------------------------------------------------------------------------------


def test_polls_take_any_answers_and_decide_alike():
    answers = ["b", "a", "a", "c", "a", "a", "b", "a", "a"]
    expected = Ballot(rules.lead(9, 3), 0).cast_many(answers)
    assert expected.answer == "a"
    assert poll(iter(answers), rules.lead(9, 3), seed=0) == expected

    async def ask(voter):
        await asyncio.sleep(random.Random(voter).random() / 500)
        return answers[voter]

    for speculate in (True, False):
        polled = poll_async(ask, rules.lead(9, 3), concurrency=8, speculate=speculate, seed=0)
        assert asyncio.run(polled) == expected


def words(question, voter):
    return random.Random(f"{question}/{voter}").choice(["yes", "no", question, question, question])


def test_many_questions_go_on_from_a_journal_without_asking_again(tmp_path):
    questions = [f"question {k}" for k in range(20)]
    calls: list[tuple[str, int]] = []

    def ask(question, voter):
        calls.append((question, voter))
        return words(question, voter)

    first = poll_many(questions, ask, SOLUTION, seed=1, journal=tmp_path / "journal").run()
    asked = len(calls)
    again = poll_many(questions, ask, SOLUTION, seed=1, journal=tmp_path / "journal").run()
    assert again == first
    assert len(calls) == asked == sum(verdict.asked for verdict in first.values())
    for k, verdict in first.items():
        said = [words(questions[k], voter) for voter in range(verdict.asked)]
        assert verdict.yes == max(counts_of(said)) == said.count(verdict.answer)
    other = poll_many(questions, ask, rules.lead(9, 3), seed=1, journal=tmp_path / "journal").run()
    assert len(calls) == sum(max(first[k].asked, other[k].asked) for k in first)


@pytest.mark.parametrize("answer", ["ü\n\ud800", 3, 2.5, True, 10**40])
def test_what_a_journal_can_hold_comes_back_the_same(answer, tmp_path):
    def ask(question, voter):
        return answer

    first = poll_many(["q"], ask, SOLUTION, seed=0, journal=tmp_path / "journal").run()

    def never(question, voter):
        raise AssertionError

    again = poll_many(["q"], never, SOLUTION, seed=0, journal=tmp_path / "journal").run()
    assert again == first
    assert type(again[0].answer) is type(answer)


@pytest.mark.parametrize("answer", [("a", 1), float("inf"), frozenset()])
def test_what_a_journal_cannot_hold_is_refused(answer, tmp_path):
    with pytest.raises(InvalidInputError, match="with a journal, answers must be strings"):
        poll_many(["q"], lambda *_: answer, SOLUTION, seed=0, journal=tmp_path / "journal").run()
    assert poll_many(["q"], lambda *_: answer, SOLUTION, seed=0).run()[0].answer == answer


@pytest.mark.parametrize("vote", ["null", "[1]", "NaN"])
def test_a_journal_with_what_is_no_answer_is_refused(vote, tmp_path):
    path, old = tmp_path / "journal", Path(__file__).parent / "golden" / "journal-v1.jsonl"  # no checksums
    path.write_text(old.read_text().replace('"vote": true', f'"vote": {vote}'))
    with pytest.raises(FileFormatError, match='line 2: field "vote" cannot be counted by this strategy'):
        poll_many({"a": "Is 7 a prime?", 7: ["ja?", 1.5]}, None, SOLUTION, journal=path).run()


def test_one_text_is_not_counted_letter_by_letter():
    with pytest.raises(InvalidInputError, match="votes must be a list or another iterable, got '42'"):
        Ballot(SOLUTION).cast_many("42")
    with pytest.raises(InvalidInputError, match="voters must be a list or another iterable, got '42'"):
        poll("42", SOLUTION)
