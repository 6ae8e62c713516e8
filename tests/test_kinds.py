"""Every kind of strategy, alone, in a solution or in a classifier, is evaluated and certified."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from foregone import (
    ScoreStrategy,
    VoteDistribution,
    certify,
    evaluate,
    rules,
    solve,
    solve_plurality,
    solve_scores,
)
from foregone.certifying import Promise
from foregone.errors import InvalidInputError
from foregone.kinds import distribution_of, kind_of, promise_in_words, solution_of, strategy_of
from foregone.plurality import CompositionDistribution, certify_plurality, lattice_of
from foregone.plurality import rules as plurality_rules
from foregone.scores import ScoreCertificate, ScoreRows
from foregone.solving import solve as solve_votes

TWO = solve("minimean", VoteDistribution.from_counts([9, 3, 1, 1, 2, 9]), 0.05)
MANY = solve_plurality([[5], [4, 1], [3, 1, 1]], 0.05, n_voters=5, confidence=None)
SCORES = ScoreStrategy.ask_all(5)


def classifier(**attributes: Any) -> SimpleNamespace:
    """What a fitted classifier has, as far as kinds look at it."""
    return SimpleNamespace(criterion="minimean", max_disagreement=0.02, confidence=0.9, **attributes)


@pytest.mark.parametrize("solution", [TWO, MANY], ids=["two", "many"])
def test_a_solution_is_evaluated_as_its_strategy_and_only_once(solution: Any) -> None:
    alone = evaluate(solution.strategy)
    assert evaluate(solution) is solution.evaluation
    assert evaluate(classifier(solution_=solution, strategy_=solution.strategy)) is solution.evaluation
    assert alone.worst() == solution.evaluation.worst()
    assert evaluate(classifier(strategy_=solution.strategy)).worst() == alone.worst()
    assert alone.mean(distribution_of(solution)).expected_votes == pytest.approx(solution.expected_votes)


def test_a_strategy_alone_is_averaged_over_flat_votes() -> None:
    assert distribution_of(TWO.strategy) == VoteDistribution.flat(5)
    assert distribution_of(MANY.strategy) == CompositionDistribution.flat(lattice_of(5))
    with pytest.raises(InvalidInputError, match=r"depend on the scores of the rows. Call strategy.run"):
        distribution_of(SCORES)


def test_a_strategy_is_found_wherever_it_is() -> None:
    for solution in (TWO, MANY):
        for thing in (solution, solution.strategy, classifier(strategy_=solution.strategy)):
            assert strategy_of(thing) is solution.strategy
        assert solution_of(solution.strategy) is None
    assert strategy_of(classifier(strategy_=SCORES)) is SCORES


@pytest.mark.parametrize(
    ("strategy", "limit"),
    [
        (rules.lead(11, k=3), 0.12),
        (rules.curtailment(11), 0),
        (rules.lead(11, k=3), {"yes": 0.12, "no": 0.12}),
        (plurality_rules.lead(5, 2), 0.4),
        (plurality_rules.curtailment(5), 0),
    ],
)
def test_the_limit_of_a_strategy_that_was_not_solved_for_it_is_proven(strategy: Any, limit: Any) -> None:
    certificate = certify(strategy, max_disagreement=limit)
    assert certificate.holds
    assert not certificate.optimality_is_claimed
    worst = evaluate(strategy).worst()
    highest = certificate.disagreement
    pairs = list(highest.values()) if isinstance(highest, dict) else [highest]
    assert max(pair[1] for pair in pairs) == pytest.approx(worst.disagreement)
    assert certificate.expected_votes[1] == pytest.approx(worst.expected_votes)
    assert str(certificate).endswith("votes in the worst case; not claimed optimal")


@pytest.mark.parametrize("strategy", [rules.lead(11, k=3), plurality_rules.lead(5, 2)])
def test_a_limit_that_a_strategy_does_not_keep_is_not_proven(strategy: Any) -> None:
    worst = evaluate(strategy).worst().disagreement
    assert not certify(strategy, max_disagreement=worst * 0.99).holds
    assert certify(strategy, max_disagreement=min(worst * 1.01, 1)).holds


@pytest.mark.parametrize("solution", [TWO, MANY], ids=["two", "many"])
def test_a_solution_may_be_held_to_another_limit(solution: Any) -> None:
    assert certify(solution).optimality_is_claimed
    looser = certify(solution, max_disagreement=0.5)
    assert looser.holds
    assert looser.max_disagreement == 0.5
    assert not looser.optimality_is_claimed
    assert looser.lower_bound <= certify(solution).lower_bound
    assert not certify(solution, max_disagreement=0.01).holds


def test_certify_proves_solutions_for_many_answers_as_certify_plurality_does() -> None:
    assert certify(MANY) == certify_plurality(MANY)
    assert certify(classifier(solution_=MANY, strategy_=MANY.strategy)) == certify_plurality(MANY)
    with pytest.raises(InvalidInputError, match="max_disagreement must be a number"):
        certify(MANY, max_disagreement={"yes": 0.1, "no": 0.1})


def test_what_is_promised_is_said_in_words() -> None:
    certificate = ScoreCertificate(0.002, 0.95, 5000, 5000, 3, 12.5)
    certified = ScoreStrategy.from_thresholds([-9, -2, 0], [9, 2, 0], certificate=certificate)
    limited = "The disagreement with the full vote is at most "
    orders = "over random orders of the voters."
    by_class = solve("minimax", 5, {"yes": 0.1, "no": 0.2})
    for thing, words in [
        (TWO, f"{limited}0.05, on average over the 25 inputs observed and {orders}"),
        (
            by_class,
            f"{limited}0.1 for inputs voted 'yes' and 0.2 for inputs voted 'no', for every input, on average "
            + orders,
        ),
        (solve("minimean", 5, 0.1), f"{limited}0.1, on average over the inputs assumed and {orders}"),
        (TWO.strategy, "Nothing is promised."),
        (SCORES, "Nothing is promised."),
        (certified, "With 95 % confidence, this classifier disagrees with its full vote on at most 0.002 of "
            "new rows, if they are like the 5,000 it was certified on."),
        (classifier(promise_=Promise.certain(0.1)), str(Promise.certain(0.1))),
    ]:  # fmt: skip
        assert promise_in_words(thing) == words


PAST = CompositionDistribution.from_counts([[5]] * 60 + [[4, 1]] * 30 + [[3, 1, 1]] * 10, n_classes=3)


def test_solve_takes_votes_between_two_answers() -> None:
    votes = VoteDistribution.from_counts([9, 3, 1, 1, 2, 9])
    for given in (votes, 5):
        found, expected = (one("minimixed", given, 0.1, looks=2) for one in (solve, solve_votes))
        assert (found.strategy, found.looks) == (expected.strategy, expected.looks)


@pytest.mark.parametrize("criterion", ["minimean", "minimixed", "minimax"])
def test_solve_takes_votes_among_many_answers(criterion: Any) -> None:
    for confidence in (None, 0.9):
        options = {"confidence": confidence, "criterion": criterion}
        expected = solve_plurality(PAST, 0.2, n_voters=5, n_classes=3, **options)
        found = solve(criterion, PAST, 0.2, confidence=confidence)
        assert found.strategy == expected.strategy
        assert (found.n_classes, found.confidence) == (3, expected.confidence)


def test_how_many_answers_there_can_be_is_known_of_compositions() -> None:
    assert CompositionDistribution.from_counts([[5], [4, 1]]).n_classes is None
    assert CompositionDistribution.from_answers([list("aab")], n_classes=4).n_classes == 4
    assert CompositionDistribution.flat(lattice_of(5)).n_classes is None
    assert CompositionDistribution.flat(lattice_of(5, 3)).n_classes == 3
    assert PAST.smoothed(3).n_classes == 3


def test_solve_takes_scores() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(generator.normal(size=(3000, 1)), 1, size=(3000, 20))
    rows = ScoreRows(scores, start=0.1, order="optimized", random_state=3)
    found = solve("minimean", rows, 0.02, confidence=0.9, looks=5)
    options = {"start": 0.1, "order": "optimized", "random_state": 3}
    expected = solve_scores(scores, 0.02, confidence=0.9, looks=5, **options)
    assert found == expected
    assert found.certificate is not None
    assert (rows.n_voters, kind_of(found)) == (20, "scores")


@pytest.mark.parametrize(
    "options", [{"looks": 2}, {"answer": "likeliest"}, {"method": "linear_program"}], ids=str
)
def test_what_has_no_meaning_for_many_answers_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="many answers take a single limit, and no"):
        solve("minimean", PAST, 0.1, **options)
    with pytest.raises(InvalidInputError, match="many answers take a single limit, and no"):
        solve("minimean", PAST, {"yes": 0.1, "no": 0.1})


@pytest.mark.parametrize(
    ("criterion", "options"),
    [
        ("minimax", {"confidence": 0.9}),
        ("minimean", {}),
        ("minimean", {"confidence": 0.9, "answer": "likeliest"}),
        ("minimean", {"confidence": 0.9, "method": "linear_program"}),
    ],
)
def test_what_has_no_meaning_for_scores_is_refused(criterion: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"a limit on scores bounds the mean over rows: use"):
        solve(criterion, ScoreRows([[1.0, 2.0]]), 0.1, **options)
    with pytest.raises(InvalidInputError, match="must be one of"):
        solve("best", ScoreRows([[1.0, 2.0]]), 0.1, confidence=0.9)  # type: ignore[call-overload]  # on purpose


def test_the_kind_is_told_of_whatever_has_a_strategy() -> None:
    assert [kind_of(thing) for thing in (TWO, MANY, SCORES)] == ["votes", "answers", "scores"]
    assert kind_of(classifier(strategy_=MANY.strategy)) == "answers"
