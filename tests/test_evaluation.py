"""evaluate: cost and risk of a strategy, against every order of the votes and against running it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, VoteDistribution, evaluate
from foregone.errors import InvalidInputError
from tests.strategies import (
    answering_strategies,
    answers,
    looking_strategies,
    stopping_strategies,
    vote_distributions,
)

EPS = np.finfo(float).eps


def by_enumeration(strategy: StoppingStrategy, n_yes: int) -> tuple[Fraction, Fraction, list[Fraction]]:
    """Return cost, disagreement and the distribution of the votes asked, by trying every order."""
    table, n_voters = strategy.table(), strategy.n_voters
    cost, wrong, asked_exactly = Fraction(0), Fraction(0), [Fraction(0)] * (n_voters + 1)
    for places in combinations(range(n_voters), n_yes):
        still_asking, yes = Fraction(1), 0
        for asked in range(n_voters + 1):
            stopping = still_asking * Fraction(table[asked, yes])
            cost += asked * stopping
            asked_exactly[asked] += stopping
            if (yes >= strategy.yes_from[asked]) != (n_yes >= strategy.quota):
                wrong += stopping
            still_asking -= stopping
            yes += asked in places
    orders = comb(n_voters, n_yes)
    return cost / orders, wrong / orders, [share / orders for share in asked_exactly]


def by_walking(table: np.ndarray, yes_from: list[int], n_yes: int) -> tuple[Fraction, Fraction]:
    """Return cost and disagreement, by walking from vote to vote with the chances of the next one."""
    n_voters = len(table) - 1
    cost, wrong, here = Fraction(0), Fraction(0), {0: Fraction(1)}  # here[yes]: chance to ask on from there
    for asked in range(n_voters + 1):
        following: dict[int, Fraction] = {}
        for yes, chance in here.items():
            stopping = chance * Fraction(table[asked, yes])
            cost += asked * stopping
            wrong += stopping * ((yes >= yes_from[asked]) != (n_yes >= yes_from[-1]))
            if asked < n_voters and stopping < chance:
                next_yes = Fraction(n_yes - yes, n_voters - asked)
                for more, share in ((1, next_yes), (0, 1 - next_yes)):
                    going_on = (chance - stopping) * share
                    following[yes + more] = following.get(yes + more, 0) + going_on
        here = following
    return cost, wrong


def close(value: float, exact: Fraction) -> bool:
    return abs(value - float(exact)) <= 100 * EPS * float(exact)


def cautious(n_voters: int) -> StoppingStrategy:
    """Go on until everyone was asked."""
    return StoppingStrategy.from_rows(n_voters, lambda asked: np.zeros(asked + 1))


@pytest.mark.slow
@given(st.integers(1, 6).flatmap(answering_strategies))
def test_cost_and_risk_are_those_of_every_order_of_the_votes_to_full_relative_accuracy(strategy):
    evaluation = evaluate(strategy)
    for n_yes in range(strategy.n_voters + 1):
        cost, wrong, _ = by_enumeration(strategy, n_yes)
        assert close(evaluation.expected_votes[n_yes], cost)
        assert close(evaluation.disagreement[n_yes], wrong)


@given(st.integers(1, 6).flatmap(looking_strategies))
def test_between_looks_nothing_stops_and_the_figures_are_those_of_every_order(looks_and_strategy):
    looks, strategy = looks_and_strategy
    evaluation = evaluate(strategy)
    for n_yes in range(strategy.n_voters + 1):
        cost, wrong, _ = by_enumeration(strategy, n_yes)
        assert close(evaluation.expected_votes[n_yes], cost)
        assert close(evaluation.disagreement[n_yes], wrong)
    asked = evaluation.votes_asked(VoteDistribution.flat(strategy.n_voters))
    assert all(asked[step] <= 1e-15 for step in range(strategy.n_voters + 1) if step not in looks)


@given(st.integers(8, 16), st.data())
def test_bands_that_open_and_close_at_once_are_followed(n_voters, data):
    table = np.zeros((n_voters + 1, n_voters + 1))
    table[-1] = 1
    for asked in data.draw(st.sets(st.integers(2, n_voters - 1), min_size=1, max_size=3)):
        first, last = sorted(data.draw(st.tuples(st.integers(0, asked), st.integers(0, asked))))
        table[asked, :first] = table[asked, last + 1 :] = 1
    yes_from = data.draw(answers(n_voters))
    evaluation = evaluate(StoppingStrategy.from_table(table, yes_from=yes_from))
    for n_yes in range(n_voters + 1):
        cost, wrong = by_walking(table, yes_from, n_yes)
        assert close(evaluation.expected_votes[n_yes], cost)
        assert close(evaluation.disagreement[n_yes], wrong)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(answering_strategies(n), vote_distributions(n))))
def test_figures_under_a_distribution_are_the_weighted_ones_of_every_order(given_both):
    strategy, votes = given_both
    parts = [by_enumeration(strategy, n_yes) for n_yes in range(strategy.n_voters + 1)]
    weights = [Fraction(weight) for weight in votes.probabilities]
    evaluation = evaluate(strategy)
    mean = evaluation.mean(votes)
    assert close(mean.expected_votes, sum(w * cost for w, (cost, _, _) in zip(weights, parts, strict=True)))
    assert close(mean.disagreement, sum(w * wrong for w, (_, wrong, _) in zip(weights, parts, strict=True)))
    asked = evaluation.votes_asked(votes)
    for count, probability in enumerate(asked):
        exact = sum(w * shares[count] for w, (_, _, shares) in zip(weights, parts, strict=True))
        assert probability == pytest.approx(float(exact), abs=1e-13)


@given(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), vote_distributions(n))),
    st.integers(0, 2**32 - 1),
)
def test_the_distribution_of_votes_asked_sums_to_one_and_has_the_expected_mean(given_both, seed):
    n_voters, votes = given_both
    table = np.random.default_rng(seed).random((n_voters + 1, n_voters + 1)) ** 4
    table[-1] = 1
    evaluation = evaluate(StoppingStrategy.from_table(table))
    asked = evaluation.votes_asked(votes)
    assert (asked >= 0).all()
    assert asked.sum() == pytest.approx(1, abs=1e-12)
    assert asked @ np.arange(n_voters + 1) == pytest.approx(evaluation.mean(votes).expected_votes, rel=1e-11)


@given(st.integers(1, 12).flatmap(stopping_strategies))
def test_disagreement_of_majority_answers_never_rises_away_from_the_middle(strategy):
    disagreement, middle = evaluate(strategy).disagreement, strategy.n_voters // 2
    slack = 1e-13
    assert (np.diff(disagreement[: middle + 1]) >= -slack).all()
    assert (np.diff(disagreement[middle + 1 :]) <= slack).all()


@pytest.mark.parametrize("n_voters", [11, 12])
def test_running_a_strategy_agrees_with_its_evaluation(n_voters):
    rng = np.random.default_rng(20260601 + n_voters)
    lead = np.abs(2 * np.arange(n_voters + 1) - np.arange(n_voters + 1)[:, None])
    table = np.where(lead >= 4, 1.0, np.where(lead == 3, 0.6, np.where(lead == 2, 0.1, 0.0)))
    table[-1] = 1
    strategy = StoppingStrategy.from_table(table)
    votes = VoteDistribution.from_counts(np.arange(1, n_voters + 2))
    runs = 20_000
    counts, wrong = np.zeros(runs), np.zeros(runs)
    for run, n_yes in enumerate(rng.choice(n_voters + 1, size=runs, p=votes.probabilities)):
        order = rng.permutation(n_voters) < n_yes
        asked = yes = 0
        while rng.random() >= strategy.stop_probability(asked, yes):
            yes += order[asked]
            asked += 1
        counts[run] = asked
        wrong[run] = (2 * yes > asked) != (2 * n_yes > n_voters)
    evaluation = evaluate(strategy)
    mean = evaluation.mean(votes)
    assert 0.01 < mean.disagreement < 0.5
    assert abs(counts.mean() - mean.expected_votes) <= 5 * counts.std() / runs**0.5
    assert abs(wrong.mean() - mean.disagreement) <= 5 * wrong.std() / runs**0.5
    probabilities = evaluation.votes_asked(votes)
    shares = np.bincount(counts.astype(int), minlength=n_voters + 1) / runs
    assert (np.abs(shares - probabilities) <= 5 * np.sqrt(probabilities / runs) + 1e-12).all()


@pytest.mark.parametrize("n_voters", [1, 2, 7, 100])
def test_asking_nobody_answers_no_at_no_cost(n_voters):
    evaluation = evaluate(StoppingStrategy.from_rows(n_voters, lambda asked: np.ones(asked + 1)))
    assert (evaluation.expected_votes == 0).all()
    full_vote_is_yes = 2 * np.arange(n_voters + 1) > n_voters
    np.testing.assert_allclose(evaluation.disagreement, full_vote_is_yes, rtol=1e-13, atol=0)


@pytest.mark.parametrize("n_voters", [1, 2, 7, 100])
def test_asking_everyone_never_disagrees(n_voters):
    evaluation = evaluate(cautious(n_voters))
    np.testing.assert_allclose(evaluation.expected_votes, n_voters, rtol=1e-13)
    assert (evaluation.disagreement == 0).all()


@given(st.integers(1, 12).flatmap(answering_strategies))
def test_rounding_puts_no_figure_out_of_its_range(strategy):
    evaluation = evaluate(strategy)
    assert (evaluation.expected_votes >= 0).all()
    assert (evaluation.expected_votes <= strategy.n_voters).all()
    assert (evaluation.disagreement >= 0).all()
    assert (evaluation.disagreement <= 1).all()


def test_a_tiny_disagreement_keeps_its_digits():
    n_voters, asked = 120, 50  # stops only when the first 50 are all yes: 1 in C(120, 50) given 50 yes votes
    strategy = StoppingStrategy.from_rows(
        n_voters, lambda step: (np.arange(step + 1) == step) & (step == asked)
    )
    chance = Fraction(1, comb(n_voters, asked))
    assert float(chance) < 1e-33
    assert evaluate(strategy).disagreement[asked] == pytest.approx(float(chance), rel=1e-13, abs=0)


def test_the_worst_figures_are_the_largest_over_the_yes_votes():
    evaluation = evaluate(StoppingStrategy.from_rows(3, lambda asked: np.full(asked + 1, asked / 3)))
    worst = evaluation.worst()
    assert worst.expected_votes == max(evaluation.expected_votes)
    assert worst.disagreement == max(evaluation.disagreement)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(answering_strategies(n), vote_distributions(n))))
def test_figures_of_a_class_are_those_given_what_the_full_vote_says(given_both):
    strategy, votes = given_both
    n_voters, evaluation = strategy.n_voters, evaluate(strategy)
    mean, worst = evaluation.by_class(votes), evaluation.worst_by_class()
    assert list(mean) == list(worst) == ["yes", "no"]
    for answer in ("yes", "no"):
        side = [n for n in range(n_voters + 1) if (n >= strategy.quota) == (answer == "yes")]
        parts = [by_enumeration(strategy, n_yes)[:2] for n_yes in side]
        weights = [Fraction(votes.probabilities[n]) for n in side]
        for place in range(2):
            figures = [part[place] for part in parts]
            assert close(worst[answer][place], max(figures, default=Fraction(0)))
            if sum(weights) == 0:
                assert np.isnan(mean[answer][place])
            else:
                exact = sum(w * figure for w, figure in zip(weights, figures, strict=True)) / sum(weights)
                assert close(mean[answer][place], exact)


def test_the_classes_make_up_the_whole():
    strategy = StoppingStrategy.from_rows(
        6, lambda asked: np.full(asked + 1, 0.2), yes_from=[1, 1, 1, 1, 2, 2, 4]
    )
    votes = VoteDistribution.from_counts([5, 3, 1, 1, 2, 0, 4])
    evaluation = evaluate(strategy)
    share = {"no": 10 / 16, "yes": 6 / 16}
    for place in range(2):
        mean = sum(share[answer] * figures[place] for answer, figures in evaluation.by_class(votes).items())
        assert mean == pytest.approx(evaluation.mean(votes)[place], rel=1e-13)
        worst = max(figures[place] for figures in evaluation.worst_by_class().values())
        assert worst == evaluation.worst()[place]


def test_votes_of_another_number_of_voters_are_refused():
    evaluation, votes = evaluate(cautious(3)), VoteDistribution.flat(4)
    for ask in (evaluation.mean, evaluation.by_class, evaluation.votes_asked):
        with pytest.raises(InvalidInputError, match="as many voters as the strategy, got 4 and 3"):
            ask(votes)


def test_its_arrays_cannot_be_changed():
    evaluation = evaluate(cautious(3))
    for array in (evaluation.expected_votes, evaluation.disagreement):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_an_evaluation_is_shown_in_a_line():
    shown = repr(evaluate(StoppingStrategy.from_table([[0, 1, 1], [0.25, 1, 1], [1, 1, 1]])))
    assert shown == (
        "<Evaluation of <StoppingStrategy for 2 voters, 1 randomised state>: at most 1.75 expected votes and "
        "disagreement 0.5>"
    )
