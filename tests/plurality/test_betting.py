"""Betting on items: the ladder that is learned on some, and what the others certify."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import certify, solve_plurality
from foregone.certifying.bounds import CAPITAL, STAKES
from foregone.errors import InvalidInputError
from foregone.plurality import (
    PluralitySolution,
    PluralityStrategy,
    certify_plurality,
    evaluate_plurality,
    lattice_of,
    rules,
)
from foregone.plurality.bet import Bet
from foregone.plurality.bet_exact import bounded_by_bets
from foregone.plurality.betting import climb_by_bets, divide_items, ladder
from foregone.plurality.lattice_exact import cost_and_risk
from foregone.plurality.ties import (
    bound_with_ties,
    disagreement_with_ties,
    ladder_with_ties,
    settle_ties,
    solve_with_ties,
)
from tests.plurality import slow
from tests.plurality.strategies import plurality_strategies

GOLDEN = Path(__file__).parent.parent / "golden" / "plurality-solution-v2.json"
PAST = [[9, 0, 0]] * 150 + [[8, 1, 0]] * 40 + [[5, 3, 1]] * 10


# The ladder ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_voters", "n_classes"), [(9, 3), (10, 4), (12, 12)])
def test_the_ladder_starts_at_what_is_never_wrong_and_gets_bolder(n_voters: int, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    learning = rng.multinomial(n_voters, rng.dirichlet(np.full(n_classes, 0.3), 50))
    careful, *bolder = ladder_with_ties(learning, 0.02, n_voters)
    assert careful == settle_ties(rules.curtailment(n_voters, n_classes))
    assert (disagreement_with_ties(careful) == 0).all()
    wrong = [disagreement_with_ties(rung).mean() for rung in bolder]
    assert wrong == sorted(wrong)
    assert 0 < wrong[0] < 0.2 * wrong[-1]
    assert all(settle_ties(rung) == rung for rung in bolder)


def test_of_a_limit_of_zero_only_what_is_never_wrong_is_left() -> None:
    assert len(list(ladder_with_ties(np.array([[5, 2, 0], [3, 3, 1]]), 0.0, 7))) == 1


# The confidence ------------------------------------------------------------------------------


def samples(n_items: int, truth: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Every number of items with each full vote, and its probability."""
    for places in combinations_with_replacement(range(len(truth)), n_items):
        counts = np.bincount(places, minlength=len(truth))
        ways = math.factorial(n_items) / math.prod(map(math.factorial, counts.tolist()))
        yield counts, ways * float(np.prod(truth**counts))


def chance_of_a_broken_promise(
    truth: np.ndarray, learning: list[int], n_items: int, limit: float, confidence: float
) -> float:
    lattice, broken = lattice_of(4, 3), 0.0
    rungs = list(ladder(lattice, np.array(learning), limit))
    for counts, chance in samples(n_items, truth):
        strategy = climb_by_bets(rungs, Bet(counts), limit, confidence)
        if truth @ evaluate_plurality(strategy).disagreement > limit * (1 + 1e-12):
            broken += chance
    return broken


# Full votes are 2 1 1, 2 2, 3 1 and 4, in this order.
@pytest.mark.slow
@pytest.mark.parametrize("learning", [[0, 0, 0, 2], [0, 0, 1, 1]])
@pytest.mark.parametrize("truth", [[0.2, 0, 0, 0.8], [0.1, 0, 0.6, 0.3], [0.3, 0.1, 0.3, 0.3]])
def test_limits_are_broken_no_more_often_than_said_over_all_samples(
    truth: list[float], learning: list[int]
) -> None:
    for limit, confidence in ((0.09, 0.7), (0.15, 0.9), (0.05, 0.3)):
        broken = chance_of_a_broken_promise(np.array(truth), learning, 5, limit, confidence)
        assert broken <= 1 - confidence


def test_without_a_confidence_to_speak_of_the_same_climb_breaks_limits_often() -> None:
    assert chance_of_a_broken_promise(np.array([0.2, 0, 0, 0.8]), [0, 0, 0, 2], 5, 0.09, 0.05) > 0.3


def test_a_strategy_that_never_loses_more_than_the_limit_needs_no_items() -> None:
    lattice = lattice_of(7, 3)
    nobody = Bet(np.zeros(lattice.n_compositions, np.int64))
    learning = np.ones(lattice.n_compositions, np.int64)
    strategy = climb_by_bets(ladder(lattice, learning, 0.3), nobody, 0.3, 0.95)
    evaluation = evaluate_plurality(strategy)
    assert 0.2 < evaluation.disagreement.max() <= 0.3
    assert nobody.bound(evaluation, 0.95) == evaluation.disagreement.max()
    assert climb_by_bets(ladder(lattice, learning, 0.01), nobody, 0.01, 0.95) != strategy


def test_two_answers_keep_nested_bounds_and_more_make_bets_whatever_the_items() -> None:
    for rows in ([[9, 0]] * 40, [[5, 4]] * 40, [[9, 0]] * 40 + [[6, 3]]):
        assert solve_plurality(rows, 0.05, n_voters=9, n_classes=2).bet is None
        for n_classes in (3, None):
            solution = solve_plurality(rows, 0.05, n_voters=9, n_classes=n_classes)
            assert solution.bet is not None
            assert solution.bet.n_items == len(rows) - 8
            assert solution.disagreement <= 0.05
            assert (solution.lower_bound, solution.confidence) == (1, 0.95)


# Dividing the items --------------------------------------------------------------------------


def test_which_items_are_learned_from_is_drawn_and_does_not_depend_on_the_order_of_rows() -> None:
    first = solve_plurality(PAST, 0.05, n_voters=9)
    again = solve_plurality(PAST[::-1], 0.05, n_voters=9, random_state=0)
    other = solve_plurality(PAST, 0.05, n_voters=9, random_state=1)
    assert first.bet is not None
    assert again.bet is not None
    assert other.bet is not None
    assert first.strategy == again.strategy
    assert np.array_equal(first.bet.counts, again.bet.counts)
    assert not np.array_equal(first.bet.counts, other.bet.counts)
    for wrong in (-1, 0.5, None, "x"):
        with pytest.raises(InvalidInputError, match="random_state must be an integer of at least 0"):
            solve_plurality(PAST, 0.05, n_voters=9, random_state=wrong)  # type: ignore[arg-type]  # on purpose


def test_every_item_is_as_likely_as_any_other_to_be_learned_from() -> None:
    counts = np.array([30, 0, 10, 60])
    drawn = np.array([divide_items(counts, seed)[0] for seed in range(400)])
    assert (drawn.sum(axis=1) == 20).all()
    assert (drawn <= counts).all()
    # Means of hypergeometric counts, whose standard deviations are at most 2 in a single draw.
    assert drawn.mean(axis=0) == pytest.approx(0.2 * counts, abs=5 * 2 / 20)


# The bound -----------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=30)
@given(plurality_strategies(), st.lists(st.integers(0, 6), min_size=7, max_size=7), st.booleans())
def test_the_bound_is_where_the_capital_reaches_its_goal(
    strategy: PluralityStrategy, times: list[int], first_leader_only: bool
) -> None:
    counts = np.resize(times, strategy.lattice.n_compositions)
    bet, evaluation = Bet(counts, first_leader_only), evaluate_plurality(strategy)
    losses = bet.losses(evaluation)
    bound, most = bet.bound(evaluation, 0.8), float(losses.max())

    def capital(mean: float) -> float:
        total = 0.0
        for stake, share in zip(STAKES, CAPITAL, strict=True):
            for loss, n in zip(losses, counts, strict=True):
                share *= (1 + stake * (mean - loss) / (most - mean)) ** n
            total += share
        return total

    assert 0 <= bound <= most
    if bound < most:
        assert capital(bound) >= 5 * (1 - 1e-9)
        assert counts @ losses <= bound * counts.sum() * (1 + 1e-12)
    if most > 1e-9 and counts.any():
        barely = bound * (1 - 1e-6)
        assert barely <= counts @ losses / counts.sum() or capital(barely) < 5
    low, high = bounded_by_bets(
        cost_and_risk(strategy, "rational", first_leader_only=first_leader_only)[1],
        counts.tolist(),
        Fraction(8, 10),
    )
    assert float(low) <= bound * (1 + 1e-8)
    assert bound == pytest.approx(float(high), rel=1e-8, abs=1e-14)


def disagreement_with_the_first(composition: list[int], strategy: PluralityStrategy) -> Fraction:
    """Over all orders of the votes, and all ways to give its counts to the classes."""
    wrong, n_cases = Fraction(0), 0
    for counts in permutations(composition):
        first = counts.index(max(counts))
        for order in slow.orders(list(counts)):
            n_cases += 1
            going = Fraction(1)
            for i in range(1, len(order)):
                stop = Fraction(strategy.stop_probability(slow.sorted_counts(order[:i])))
                wrong += going * stop * (slow.leaders(order[:i])[0] != first)
                going *= 1 - stop
    return wrong / n_cases


@settings(max_examples=5)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=12, max_size=12))
def test_with_ties_only_the_first_leader_is_right(chances: list[float]) -> None:
    lattice = lattice_of(4, 3)
    stop = np.resize(chances, lattice.n_states)
    stop[0], stop[lattice.level[-2] :] = 0, 1
    strategy = PluralityStrategy.from_probabilities(lattice, stop)
    expected = [disagreement_with_the_first(row, strategy) for row in lattice.compositions().tolist()]
    _, exact = cost_and_risk(strategy, "rational", first_leader_only=True)
    assert exact == [(wrong, wrong) for wrong in expected]
    _, rounded = cost_and_risk(strategy, "float", first_leader_only=True)
    assert all(low <= wrong <= high for (low, high), wrong in zip(rounded, expected, strict=True))
    assert disagreement_with_ties(strategy) == pytest.approx([float(wrong) for wrong in expected])


# What is claimed -----------------------------------------------------------------------------


def test_ties_are_part_of_what_is_certified() -> None:
    counts = np.array([[8, 0, 0]] * 120 + [[4, 4, 0]] * 40 + [[3, 3, 2]] * 40)
    strategy, solution = solve_with_ties(counts, 0.05, n_voters=8)
    assert solution.bet is not None
    assert solution.bet.first_leader_only
    assert strategy == solution.strategy == settle_ties(strategy)
    assert bound_with_ties(strategy, solution) == solution.disagreement <= 0.05
    assert solution.bet.bound(evaluate_plurality(strategy), 0.95) == solution.disagreement
    certificate = certify_plurality(solution)
    assert certificate.holds
    assert certificate.disagreement == pytest.approx((solution.disagreement,) * 2, rel=1e-8)
    any_leader = solve_plurality(counts, 0.05, n_voters=8, n_classes=3)
    assert any_leader.expected_votes < solution.expected_votes


@pytest.mark.parametrize("arithmetic", ["rational", "float"])
def test_the_certificate_proves_the_limit_and_nothing_that_was_tampered_with(
    arithmetic: Literal["rational", "float"],
) -> None:
    solution = solve_plurality(PAST, 0.05, n_voters=9, n_classes=3)
    assert solution.bet is not None
    proven = certify_plurality(solution, arithmetic=arithmetic)
    assert proven.holds
    assert (proven.n_bet_on, proven.confidence, proven.lower_bound) == (160, 0.95, 1)
    assert proven.disagreement == pytest.approx((solution.disagreement,) * 2, rel=1e-8)
    assert "PROVEN  at 0.95 confidence by betting on 160 items, largest mean disagreement" in str(proven)
    few = Bet(solution.bet.counts // 2)
    bolder = solve_plurality(PAST, 0.2, n_voters=9, n_classes=3).strategy
    for changed in (
        replace(solution, confidence=0.999),
        replace(solution, bet=few),
        replace(solution, strategy=bolder),
        replace(solution, bet=replace(solution.bet, counts=solution.bet.counts[::-1])),
        replace(solution, max_disagreement=0.01),
    ):
        certificate = certify_plurality(changed, arithmetic=arithmetic)
        assert not certificate.risk_is_proven


def test_another_limit_is_proven_only_if_it_is_larger_than_the_one_certified() -> None:
    solution = solve_plurality(PAST, 0.05, n_voters=9, n_classes=3)
    assert certify(solution, max_disagreement=0.06).holds
    with pytest.raises(InvalidInputError, match=r"limits from 0.05 up, .* Solve again for 0.0499"):
        certify(solution, max_disagreement=0.0499)


def test_a_solution_of_before_bets_keeps_its_nested_bounds_and_its_proof() -> None:
    solution = PluralitySolution.load(GOLDEN)
    assert solution.bet is None
    assert (solution.confidence, solution.n_classes) == (0.95, 3)
    assert solution.disagreement == pytest.approx(0.09882812499999999, rel=1e-12)
    assert certify_plurality(solution).lower_bound == pytest.approx(2.031257327834488, rel=1e-12)
    assert certify_plurality(solution).holds
