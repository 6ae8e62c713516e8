"""What is to come in a poll, against every order of every full vote, one by one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pytest

from foregone import Ballot, VoteDistribution, evaluate, rules, solve, solve_plurality
from foregone.errors import InvalidInputError
from foregone.outlook import plurality_outlook, yes_no_outlook
from foregone.plurality import CompositionDistribution
from foregone.plurality import rules as plurality_rules

VOTES = VoteDistribution.from_counts([5, 1, 2, 1, 3, 4])
SOLUTION = solve("minimean", VOTES, 0.05)
COMPOSITIONS = CompositionDistribution.from_counts([[5, 0, 0], [4, 1, 0], [3, 1, 1], [2, 2, 1], [3, 2, 0]])


def yes_no_orders() -> list[tuple[float, tuple[bool, ...]]]:
    """Every order of every full vote, and its probability."""
    found = []
    for n, probability in enumerate(VOTES.probabilities):
        orders = [order for order in itertools.product([False, True], repeat=5) if sum(order) == n]
        found += [(probability / len(orders), order) for order in orders]
    return found


def orders_of_answers() -> list[tuple[float, tuple[str, ...]]]:
    found = []
    for parts, probability in zip(COMPOSITIONS.compositions, COMPOSITIONS.probabilities, strict=True):
        for names in itertools.permutations("abc"):  # what the answers are called plays no part
            letters = "".join(name * int(count) for name, count in zip(names, parts, strict=False))
            orders = sorted(set(itertools.permutations(letters)))
            found += [(probability / len(orders) / 6, order) for order in orders]
    return found


def follow(strategy, orders, seen: Sequence[Hashable], win) -> tuple[float, float, float]:
    """Return mean votes to come, risk now and mean risk at the stop, after these votes."""
    rest = [(chance, order) for chance, order in orders if order[: len(seen)] == tuple(seen)]
    total = sum(chance for chance, _ in rest)
    answers = {answer for _, order in rest for answer in order} if isinstance(seen[0], str) else {True, False}
    best = max(sum(chance for chance, order in rest if win(order, answer)) for answer in answers)
    votes = risk = 0.0
    for chance, order in rest:
        going = chance / total
        for asked in range(len(seen) + 1, len(order) + 1):
            votes += going
            counts = Counter(order[:asked])
            if isinstance(seen[0], str):
                stop, answer = strategy.stop_probability(list(counts.values())), counts.most_common(1)[0][0]
            else:
                stop, answer = (
                    strategy.stop_probability(asked, counts[True]),
                    strategy.answer(asked, counts[True]),
                )
            risk += going * stop * (not win(order, answer))
            going *= 1 - stop
    return votes, 1 - best / total, risk


@pytest.mark.parametrize("strategy", [SOLUTION.strategy, rules.curtailment(5), rules.lead(5, 2)])
def test_votes_to_come_and_their_value_are_those_of_all_orders(strategy):
    outlook = yes_no_outlook(strategy, VOTES)
    for seen in ([True], [True, False], [False, False], [True, False, True], [False, True, True, False]):
        votes, now, later = follow(
            strategy, yes_no_orders(), seen, lambda order, answer: (2 * sum(order) > 5) == answer
        )
        state = len(seen), sum(seen)
        assert outlook.votes[state] == pytest.approx(votes)
        assert outlook.value[state] == pytest.approx((now - later) / votes)


def test_many_answers_have_the_outlook_of_all_orders():
    strategy = plurality_rules.lead(5, 2, n_classes=3)
    outlook = plurality_outlook(strategy, COMPOSITIONS)

    def win(order, answer):
        return order.count(answer) == max(Counter(order).values())

    for seen in ("a", "ab", "aab", "aabb"):
        votes, now, later = follow(strategy, orders_of_answers(), seen, win)
        state = strategy.lattice.number_of(list(Counter(seen).values()))
        assert outlook.votes[state] == pytest.approx(votes)
        assert outlook.value[state] == pytest.approx((now - later) / votes)


def test_before_the_first_vote_it_is_what_the_evaluation_says():
    mean = evaluate(SOLUTION).mean(VOTES)
    ballot = Ballot(SOLUTION)
    assert ballot.expected_votes() == pytest.approx(mean.expected_votes)
    no = VOTES.probabilities[:3].sum()
    assert ballot.value_of_a_vote() == pytest.approx(
        (min(no, 1 - no) - mean.disagreement) / mean.expected_votes
    )


def test_two_answers_have_the_same_outlook_in_either_kind():
    pairs = CompositionDistribution.from_counts([[5, 0]] * 6 + [[4, 1]] * 3 + [[3, 2]] * 2)
    even = VoteDistribution.from_counts([3, 1.5, 1, 1, 1.5, 3])
    many, two = plurality_rules.lead(5, 2, n_classes=2), rules.lead(5, 2)
    found, expected = plurality_outlook(many, pairs), yes_no_outlook(two, even)
    for yes, no in ((1, 0), (2, 1), (2, 2), (1, 1)):
        state = many.lattice.number_of([yes, no])
        assert found.votes[state] == pytest.approx(expected.votes[yes + no, yes])
        assert found.value[state] == pytest.approx(expected.value[yes + no, yes])


def test_a_poll_cut_short_answers_what_is_more_likely_and_says_so():
    ballot = Ballot(SOLUTION, seed=0)
    verdict = ballot.cut_short()
    no = VOTES.probabilities[:3].sum()
    assert (verdict.answer, verdict.asked, verdict.cut_short) == (bool(no < 0.5), 0, True)
    assert verdict.risk == pytest.approx(min(no, 1 - no))
    assert ballot.cut_short() is verdict
    assert "cut_short=True" in repr(verdict)
    with pytest.raises(InvalidInputError, match="has ended"):
        ballot.cast(True)
    done = Ballot(rules.curtailment(3))
    assert done.cast_many([True, True]) == done.cut_short()
    assert not done.cut_short().cut_short
    nothing = Ballot(solve_plurality(COMPOSITIONS, 0.1, n_voters=5)).cut_short()
    assert (nothing.answer, nothing.risk, nothing.cut_short) == (None, 1.0, True)


def test_what_the_distribution_rules_out_is_worth_nothing_and_takes_a_vote():
    certain = VoteDistribution.from_counts([1, 0, 0, 0])
    outlook = yes_no_outlook(rules.curtailment(3), certain)
    assert (outlook.votes[1, 1], outlook.value[1, 1]) == (1, 0)
    assert np.isfinite(outlook.value).all()


def test_without_a_distribution_or_with_too_many_voters_there_is_an_error_that_says_what_to_do():
    for ask in (Ballot(rules.lead(9, 3)).expected_votes, Ballot(rules.lead(9, 3)).value_of_a_vote):
        with pytest.raises(InvalidInputError, match="pass a solution"):
            ask()
    many = Ballot(rules.curtailment(2_001), votes=VoteDistribution.from_counts(np.ones(2_002)))
    with pytest.raises(InvalidInputError, match="up to 2,000 voters"):
        many.value_of_a_vote()
