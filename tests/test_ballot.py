"""Ballot: what it decides, what it says beforehand, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import Ballot, StoppingStrategy, Verdict, VoteDistribution, evaluate, rules, solve
from foregone.errors import InvalidInputError
from tests.strategies import answering_strategies, vote_distributions

N = 5
VOTES = st.lists(st.booleans(), min_size=N, max_size=N)
LINE = solve("minimixed", 21, 0.01)


def _may_go_on(strategy: StoppingStrategy, votes: list[bool]) -> bool:
    """Whether a poll can still be open after these votes."""
    return all(strategy.stop_probability(k, sum(votes[:k])) < 1 for k in range(len(votes) + 1))


@given(answering_strategies(N), VOTES, st.integers(0, 2**64 - 1))
def test_it_stops_where_the_strategy_may_stop_and_goes_on_where_it_may_go_on(strategy, votes, seed):
    ballot = Ballot(strategy, seed)
    for vote in votes:
        if ballot.verdict is not None:
            break
        assert _may_go_on(strategy, votes[: ballot.asked])
        assert ballot.cast(vote) is ballot.verdict
    verdict = ballot.verdict
    yes = sum(votes[: verdict.asked])
    assert strategy.stop_probability(verdict.asked, yes) > 0
    assert (verdict.yes, verdict.answer) == (yes, strategy.answer(verdict.asked, yes))


@given(answering_strategies(N), VOTES, st.integers(0, N), st.integers(0, N + 1))
def test_what_it_says_about_votes_to_come_is_what_trying_all_of_them_shows(strategy, votes, asked, k):
    ballot = Ballot(strategy, 0)
    for vote in votes[:asked]:
        if ballot.verdict is None:
            ballot.cast(vote)
    if ballot.verdict is not None:
        assert (ballot.needed_at_least(), ballot.useful(k), ballot.can_stop_within(0)) == (0, 0, True)
        return
    futures = list(product([False, True], repeat=N - asked))
    so_far = votes[:asked]
    stops, useful = set(), set()
    for future in futures:
        for ahead in range(1, N - asked + 1):
            if ahead == 1 or all(
                strategy.stop_probability(asked + j, sum(so_far) + sum(future[:j])) < 1
                for j in range(1, ahead)
            ):
                useful.add(ahead)
                if strategy.stop_probability(asked + ahead, sum(so_far) + sum(future[:ahead])) > 0:
                    stops.add(ahead)
    assert ballot.needed_at_least() == min(stops)
    assert ballot.useful(k) == min(k, max(useful))
    assert ballot.can_stop_within(k) == any(ahead <= k for ahead in stops)


@given(answering_strategies(N), vote_distributions(N), VOTES)
def test_the_risk_is_what_counting_all_arrangements_of_votes_shows(strategy, distribution, votes):
    ballot = Ballot(strategy, 0, votes=distribution)
    verdict = ballot.verdict or ballot.cast_many(votes)
    total = otherwise = Fraction(0)
    for arrangement in product([False, True], repeat=N):
        if list(arrangement[: verdict.asked]) == votes[: verdict.asked]:
            n = sum(arrangement)
            weight = Fraction(distribution.probabilities[n]) / comb(N, n)
            total += weight
            otherwise += weight * ((n >= strategy.quota) != verdict.answer)
    if total == 0:
        assert verdict.risk in (None, 0.0)
    else:
        assert verdict.risk == pytest.approx(float(otherwise / total), rel=1e-9, abs=0)


def test_the_mean_risk_is_the_mean_disagreement():
    votes = VoteDistribution.from_counts(1.0 / (1 + np.arange(10)))
    strategy = solve("minimean", votes, 0.02).strategy
    mean = 0.0
    for arrangement in product([False, True], repeat=9):
        chance, ballot, yes = votes.probabilities[sum(arrangement)] / comb(9, sum(arrangement)), 1.0, 0
        for asked in range(10):
            stop = strategy.stop_probability(asked, yes)
            if stop > 0:
                mean += chance * ballot * stop * _risk_at(strategy, votes, arrangement[:asked])
            ballot *= 1 - stop
            yes += asked < 9 and arrangement[asked]
    assert mean == pytest.approx(evaluate(strategy).mean(votes).disagreement, rel=1e-9)


def _risk_at(strategy: StoppingStrategy, votes: VoteDistribution, seen: tuple[bool, ...]) -> float:
    """Return the risk of a stop after these votes, whatever chance decides on the way."""
    always_here = StoppingStrategy.from_rows(
        strategy.n_voters, lambda asked: np.full(asked + 1, asked == len(seen)), yes_from=strategy.yes_from
    )
    ballot = Ballot(always_here, votes=votes)
    verdict = ballot.verdict or ballot.cast_many(seen)
    assert verdict.asked == len(seen)
    return verdict.risk


def test_without_a_distribution_there_is_a_risk_only_where_it_is_none():
    assert Ballot(rules.curtailment(5)).cast_many([1, 1, 1]).risk == 0.0
    assert Ballot(LINE.strategy, 0).cast_many([True] * 9).risk is None
    assert 0 < Ballot(LINE, 0).cast_many([True] * 9).risk < 0.01


def test_votes_that_the_distribution_rules_out_have_no_risk_to_tell():
    never_yes = VoteDistribution.from_counts([1] + [0] * 21)
    assert Ballot(LINE.strategy, 0, votes=never_yes).cast_many([True] * 9).risk is None


def test_risks_of_many_voters_neither_overflow_nor_vanish():
    solution = solve("minimean", 2001, 1e-3)
    ballot = Ballot(solution, 0)
    verdict = ballot.cast_many(np.resize([True, True, False], 2001))
    assert 0 < verdict.risk < 0.5


def test_chance_stops_as_often_as_the_strategy_says_and_the_same_seed_does_the_same():
    strategy = StoppingStrategy.from_table([[0, 1, 1], [0.25, 0.25, 1], [1, 1, 1]])
    stopped = [Ballot(strategy, seed).cast(True) is not None for seed in range(4000)]
    assert abs(np.mean(stopped) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert stopped == [Ballot(strategy, seed).cast(True) is not None for seed in range(4000)]
    assert len({Ballot(strategy).cast(True) is None for _ in range(200)}) == 2


def test_a_strategy_may_know_the_answer_before_the_first_vote():
    solution = solve("minimean", VoteDistribution.from_counts([100, 1, 0, 0, 0, 0]), 0.1)
    ballot = Ballot(solution, 0)
    assert (ballot.verdict.answer, ballot.verdict.asked, ballot.needed_at_least()) == (False, 0, 0)
    with pytest.raises(InvalidInputError, match="ended with False after 0 votes"):
        ballot.cast(True)


@pytest.mark.parametrize("vote", ["yes", "True", None, 2, -1, 0.0, 1.0, float("nan"), [True], np.array([1])])
def test_what_is_not_yes_or_no_is_refused_and_nothing_is_counted(vote):
    ballot = Ballot(LINE)
    for cast in (lambda: ballot.cast(vote), lambda: ballot.cast_many([True, vote])):
        with pytest.raises(InvalidInputError, match="expected True or False"):
            cast()
    assert ballot.asked == 0


@pytest.mark.parametrize("vote", [True, 1, np.True_, np.int64(1), np.uint8(1)])
def test_ones_and_numpy_booleans_are_votes(vote):
    ballot = Ballot(LINE)
    ballot.cast(vote)
    assert ballot.asked == 1


def test_votes_after_the_verdict_are_refused():
    ballot = Ballot(LINE)
    verdict = ballot.cast_many([False] * 20)
    assert verdict.asked < 20
    for cast in (lambda: ballot.cast(True), lambda: ballot.cast_many([True])):
        with pytest.raises(InvalidInputError, match="make a new Ballot"):
            cast()
    assert ballot.cast_many([]) is verdict
    assert ballot.verdict is verdict


def test_more_votes_than_voters_are_refused():
    ballot = Ballot(rules.curtailment(4))
    with pytest.raises(InvalidInputError, match="at most 4 votes, because 4 of 4 voters are left, got 5"):
        ballot.cast_many([True] * 5)
    ballot.cast_many([True, False, True, False])
    with pytest.raises(InvalidInputError, match="all 4 voters have voted"):
        ballot.cast(True)


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidInputError, match="strategy must be a Solution"):
        Ballot("strategy.json")
    with pytest.raises(InvalidInputError, match="as many voters as the strategy, got 5 and 21"):
        Ballot(LINE, votes=VoteDistribution.flat(5))
    with pytest.raises(InvalidInputError, match=r"votes must be a VoteDistribution .*, got list"):
        Ballot(LINE, votes=[0.5, 0.5])
    for single in (True, "yes"):
        with pytest.raises(InvalidInputError, match=f"votes must be a list .*got {single!r}"):
            Ballot(LINE).cast_many(single)
    for seed in (-1, 2**64, 0.5, "1", True):
        with pytest.raises(InvalidInputError, match="seed"):
            Ballot(LINE, seed)
    for k in (-1, 0.5, "1"):
        with pytest.raises(InvalidInputError, match="k must"):
            Ballot(LINE).can_stop_within(k)


def test_reprs_fit_a_line_and_say_how_it_stands():
    ballot = Ballot(rules.lead(21, 4), votes=VoteDistribution.flat(21))
    assert repr(ballot) == "<Ballot: 0 of 21 voters asked, no verdict yet>"
    verdict = ballot.cast_many([True, True, True, True])
    assert repr(ballot) == "<Ballot: 4 of 21 voters asked, answer True>"
    assert repr(verdict) == f"Verdict(answer=True, asked=4, yes=4, risk={verdict.risk:.4g})"
    assert repr(Verdict(False, 3, 0, None)) == "Verdict(answer=False, asked=3, yes=0, risk=None)"
    assert len(repr(Verdict("long " * 1000, 3, 3, 1 / 3))) < 110


# Quotas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("quota", [0, 1, 3, 7, 9])
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_with_a_quota_the_risk_is_bayes_chance_of_another_full_vote(quota, limit):
    votes = VoteDistribution.from_counts(1.0 / (1 + np.arange(10)))
    solution = solve("minimean", votes, limit, quota=quota)
    random = np.random.default_rng(quota)
    for cast in random.random((30, 9)) < 0.4:
        ballot = Ballot(solution, 0)
        verdict = ballot.verdict or ballot.cast_many(cast)
        # The chance to see these counts in a random order, given that n of 9 say yes: hypergeometric.
        asked, yes = verdict.asked, verdict.yes
        seen = [
            p * comb(n, yes) * comb(9 - n, asked - yes) / comb(9, asked) if yes <= n <= 9 - asked + yes else 0
            for n, p in enumerate(votes.probabilities)
        ]
        other = sum(weight for n, weight in enumerate(seen) if (n >= quota) != verdict.answer)
        assert verdict.risk == pytest.approx(other / sum(seen), rel=1e-9, abs=1e-15)


def test_any_and_all_are_decided_by_the_first_vote_that_settles_it():
    any_of, all_of = (Ballot(solve("minimixed", 9, 0, quota=quota)) for quota in (1, 9))
    first_yes = any_of.cast_many([False, False, True, False])
    assert (first_yes.answer, first_yes.asked, first_yes.risk) == (True, 3, 0.0)
    first_no = all_of.cast_many([True, True, False, True])
    assert (first_no.answer, first_no.asked, first_no.risk) == (False, 3, 0.0)
    assert Ballot(rules.curtailment(9, quota=1)).cast_many([False] * 9).answer is False
    assert Ballot(rules.curtailment(9, quota=9)).cast_many([True] * 9).answer is True
