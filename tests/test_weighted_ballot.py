"""Ballots and polls whose votes have a weight: a running sum against the thresholds of a ScoreStrategy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from foregone import Ballot, ScoreStrategy, VoteDistribution, poll, poll_many, solve_scores
from foregone.errors import FileFormatError, InvalidInputError
from foregone.plurality import rules as plurality_rules
from foregone.polling.journal import Journal

NEVER = np.inf
TWO = ScoreStrategy.from_thresholds([-9, -NEVER, -1, -NEVER, 0], [9, NEVER, 1.5, 2, 0])
THREE = ScoreStrategy.from_thresholds(None, [9, NEVER, 0.8, NEVER, 0], start=[0, 0, 0])


def weighted_rows(n_rows: int, n_calls: int, seed: int = 0) -> np.ndarray:
    """Signed confidences of calls on questions of different difficulty."""
    rng = np.random.default_rng(seed)
    inclination = rng.beta(0.4, 0.4, (n_rows, 1))
    says_yes = rng.random((n_rows, n_calls)) < inclination
    return np.where(says_yes, 1, -1) * rng.uniform(0.1, 1, (n_rows, n_calls))


def cast_all(strategy: ScoreStrategy, votes: list) -> tuple[object, int]:
    verdict = Ballot(strategy).cast_many(votes)
    assert verdict is not None
    return verdict.answer, verdict.asked


def test_a_ballot_stops_where_the_strategy_does_on_every_row():
    rows = weighted_rows(3000, 15)
    strategy = solve_scores(rows, 0.05, order="given", random_state=0)
    assert strategy.certificate is not None
    fresh = weighted_rows(400, 15, seed=1)
    answers, asked = strategy.run(fresh)
    assert asked.mean() < 10
    assert [cast_all(strategy, row.tolist()) for row in fresh] == list(
        zip(answers.tolist(), asked.tolist(), strict=True)
    )


def test_a_pair_counts_as_its_signed_weight():
    for weights in weighted_rows(50, 4).tolist():
        pairs = [(weight > 0, abs(weight)) for weight in weights]
        assert Ballot(TWO).cast_many(pairs) == Ballot(TWO).cast_many(weights)


def test_the_verdict_has_the_sum_and_how_many_said_yes():
    verdict = Ballot(TWO).cast_many([(True, 0.9), (False, 0.25), 1.5])
    assert (verdict.answer, verdict.asked, verdict.yes, verdict.risk, verdict.score) == (
        True, 3, 2, None, pytest.approx(2.15),
    )  # fmt: skip
    assert repr(verdict) == "Verdict(answer=True, asked=3, yes=2, risk=None, score=2.15)"
    verdict = Ballot(TWO).cast_many([0.1, 0.1, -0.1, -0.2])
    assert (verdict.answer, verdict.asked, verdict.risk) == (False, 4, 0.0)


def test_the_score_before_the_first_vote_counts():
    strategy = ScoreStrategy.from_thresholds([-9, -1, 0], [9, 1, 0], start=0.75)
    assert Ballot(strategy).cast(0.25).score == 1.0
    assert Ballot(ScoreStrategy.from_thresholds([-9, 0], [0.5, 0], start=0.75)).verdict.asked == 0


def test_votes_are_needed_up_to_the_next_look():
    ballot = Ballot(TWO)
    assert (ballot.needed_at_least(), ballot.can_stop_within(1), ballot.useful(9)) == (2, False, 4)
    ballot.cast(0.1)
    assert (ballot.needed_at_least(), ballot.useful(2)) == (1, 2)
    ballot.cast_many([0.1, 0.1])
    assert (ballot.needed_at_least(), ballot.useful(9)) == (1, 1)
    assert ballot.cast(0.1) is not None
    assert (ballot.needed_at_least(), ballot.useful(9)) == (0, 0)


def test_where_the_thresholds_meet_a_stop_is_certain():
    strategy = ScoreStrategy.from_thresholds([-9, -1, 0.5, -1, 0], [9, 1, 0.5, 1, 0])
    assert Ballot(strategy).useful(9) == 2


def test_among_many_answers_the_leading_sum_wins():
    verdict = Ballot(THREE).cast_many([(2, 0.9), (0, 0.3), (2, 0.2), (1, 1.0)])
    assert (verdict.answer, verdict.asked, verdict.yes, verdict.score) == (2, 4, 2, pytest.approx(0.1))
    verdict = Ballot(THREE).cast_many([(1, 0.6), (1, 0.3)])
    assert (verdict.answer, verdict.asked, verdict.score) == (1, 2, pytest.approx(0.9))


def test_among_many_answers_a_ballot_stops_where_the_strategy_does():
    rng = np.random.default_rng(0)
    answers, weights = rng.integers(0, 3, (200, 4)), rng.uniform(0.1, 1, (200, 4))
    expected, asked = THREE.run(np.eye(3)[answers] * weights[:, :, None])
    for row, (votes, strengths) in enumerate(zip(answers.tolist(), weights.tolist(), strict=True)):
        pairs = list(zip(votes, strengths, strict=True))
        assert cast_all(THREE, pairs) == (expected[row], asked[row])


@pytest.mark.parametrize(
    "vote", [True, np.True_, "0.8", None, math.nan, math.inf, 1e101, (True, -0.5), (True, math.nan),
             (True, "1"), ("yes", 0.5), (2, 0.5), (True,), (True, 0.5, 1), (True, True)]
)  # fmt: skip
def test_what_is_no_vote_with_a_weight_is_refused_and_not_counted(vote):
    ballot = Ballot(TWO)
    with pytest.raises(InvalidInputError, match=r"expected|at least 0"):
        ballot.cast_many([0.5, vote])
    assert ballot.asked == 0


@pytest.mark.parametrize("vote", [0.5, (3, 0.5), (-1, 0.5), (True, 0.5), ("1", 0.5), (1, -0.5), (1,)])
def test_among_many_answers_a_vote_is_a_class_and_a_weight(vote):
    with pytest.raises(InvalidInputError, match=r"from 0 to 2|at least 0"):
        Ballot(THREE).cast(vote)


def test_strategies_that_a_ballot_cannot_follow_are_refused_with_another_way():
    with pytest.raises(InvalidInputError, match='order="given"'):
        Ballot(ScoreStrategy.from_thresholds([-9, -1, 0], [9, 1, 0], order=[1, 0]))
    with pytest.raises(InvalidInputError, match="without drops_classes"):
        Ballot(ScoreStrategy.ask_all(3, start=[0, 0, 0], drops_classes=True))
    with pytest.raises(InvalidInputError, match="takes no distribution of votes"):
        Ballot(TWO, votes=VoteDistribution.flat(4))


def test_poll_takes_votes_with_a_weight_as_they_come():
    verdict = poll(iter([(True, 0.9), lambda: (True, 0.8), -5.0]), TWO)
    assert (verdict.answer, verdict.asked, verdict.score) == (True, 2, pytest.approx(1.7))


def test_poll_many_keeps_votes_with_a_weight_in_its_journal(tmp_path):
    journal = tmp_path / "votes.jsonl"

    async def ask(question, voter):
        return question > 0, abs(question) / (voter + 1)

    first = poll_many([0.9, -2, 0.1], ask, TWO, journal=journal).run()
    assert {key: verdict.answer for key, verdict in sorted(first.items())} == {0: True, 1: False, 2: True}
    recorded = [json.loads(line)["vote"] for line in journal.read_text().splitlines()[1:]]
    assert sorted(recorded)[:2] == [-2.0, -1.0]
    assert poll_many([0.9, -2, 0.1], None, TWO, journal=journal).run() == first


def test_a_journal_keeps_an_answer_with_its_weight(tmp_path):
    journal = tmp_path / "votes.jsonl"

    async def ask(question, voter):
        return question, 0.5

    first = poll_many([2, 0], ask, THREE, journal=journal).run()
    assert {key: verdict.answer for key, verdict in first.items()} == {0: 2, 1: 0}
    assert json.loads(journal.read_text().splitlines()[1])["vote"] in ([2, 0.5], [0, 0.5])
    assert poll_many([2, 0], None, THREE, journal=journal).run() == first


def test_a_journal_of_votes_without_a_weight_is_not_taken_for_one_with(tmp_path):
    journal = tmp_path / "votes.jsonl"
    poll_many(["apple"], lambda question, voter: True, plurality_rules.lead(4, 2), journal=journal).run()
    with pytest.raises(FileFormatError, match="cannot be counted by this strategy: expected a number"):
        poll_many(["apple"], None, TWO, journal=journal).run()


def test_a_journal_refuses_pairs_that_would_come_back_as_lists(tmp_path):
    check = Ballot(plurality_rules.lead(4, 2)).check
    with (
        Journal(tmp_path / "votes.jsonl", {0: "apple"}, check) as journal,
        pytest.raises(InvalidInputError, match="strings, finite numbers or booleans"),
    ):
        journal.vote(0, 0, ("a", 0.5))
