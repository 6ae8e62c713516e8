"""Bounds against exact coverage, by going through every outcome."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from foregone.certifying.bounds import betting_bound, clopper_pearson_bound, log_capital, rows_needed


def tail(n_wrong: int, n_rows: int, probability: Fraction) -> Fraction:
    """The chance of n_wrong or fewer, in exact arithmetic."""
    return sum(
        (
            math.comb(n_rows, wrong) * probability**wrong * (1 - probability) ** (n_rows - wrong)
            for wrong in range(n_wrong + 1)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 40])
def test_the_bound_of_counts_is_where_so_few_become_a_surprise(n_rows: int, confidence: float) -> None:
    for n_wrong in range(n_rows):
        bound = Fraction(clopper_pearson_bound(n_wrong, n_rows, confidence))
        assert tail(n_wrong, n_rows, bound) <= 1 - Fraction(confidence)
        assert tail(n_wrong, n_rows, bound * Fraction(999_999, 1_000_000)) > 1 - Fraction(confidence)


def test_nothing_is_known_without_rows_or_where_all_are_wrong() -> None:
    assert clopper_pearson_bound(0, 0, 0.95) == clopper_pearson_bound(9, 9, 0.95) == 1.0
    assert betting_bound(np.empty(0), 0.95) == betting_bound(np.ones(9), 0.95) == 1.0


@pytest.mark.parametrize("n_wrong", [0, 1, 5, 1000])
def test_the_bound_of_counts_holds_for_very_many_rows(n_wrong: int) -> None:
    n_rows = 10**15
    mean = n_rows * clopper_pearson_bound(n_wrong, n_rows, 0.95)
    # So many rows are Poisson to all digits that matter.
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(n_wrong + 1)]
    assert math.fsum(map(math.exp, logs)) == pytest.approx(0.05, rel=1e-6)


def test_rows_needed_are_just_enough() -> None:
    for limit in (0.3, 0.01, 1e-3, 1e-5):
        needed = rows_needed(limit, 0.95)
        assert clopper_pearson_bound(0, needed, 0.95) <= limit * (1 + 1e-9)
        assert clopper_pearson_bound(0, needed - 1, 0.95) > limit


@pytest.mark.parametrize("confidence", [0.6, 0.9])
@pytest.mark.parametrize(
    ("values", "chances"),
    [
        ((0.0, 1.0), (0.7, 0.3)),
        ((0.0, 0.5, 1.0), (0.6, 0.3, 0.1)),
        ((0.0, 0.25), (0.2, 0.8)),
        ((0.0, 0.1, 1.0), (0.9, 0.05, 0.05)),
    ],
)
def test_a_bet_misses_the_mean_no_more_often_than_said(
    values: tuple[float, ...], chances: tuple[float, ...], confidence: float
) -> None:
    mean = float(np.dot(values, chances))
    for n_rows in (1, 3, 7):
        missed = 0.0
        for outcome in itertools.combinations_with_replacement(range(len(values)), n_rows):
            counts = np.bincount(outcome, minlength=len(values))
            ways = math.factorial(n_rows) / math.prod(math.factorial(count) for count in counts)
            if betting_bound(np.repeat(values, counts), confidence) < mean:
                missed += ways * math.prod(
                    chance**count for chance, count in zip(chances, counts, strict=True)
                )
        assert missed <= 1 - confidence


def test_a_bet_is_not_much_wider_than_counting() -> None:
    for n_wrong, n_rows in ((0, 3_000), (3, 5_000), (50, 5_000)):
        losses = np.repeat([0.0, 1.0], [n_rows - n_wrong, n_wrong])
        assert betting_bound(losses, 0.95) < 1.6 * clopper_pearson_bound(n_wrong, n_rows, 0.95)


def test_a_bet_gains_from_small_losses() -> None:
    assert betting_bound(np.full(1_000, 0.02), 0.95) < 0.027 < clopper_pearson_bound(20, 1_000, 0.95)


# Losses that may be gains --------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.6, 0.9])
@pytest.mark.parametrize(
    ("values", "chances"),
    [
        ((-1.0, 0.0, 1.0), (0.1, 0.7, 0.2)),
        ((-1.0, 0.0, 1.0), (0.05, 0.05, 0.9)),
        ((-1.0, 1.0), (0.5, 0.5)),
        ((-0.1, 1.0), (0.9, 0.1)),  # many small gains, and rarely a large loss
        ((-1.0, 0.3), (0.2, 0.8)),
        ((-0.01, 0.5), (0.7, 0.3)),
    ],
)
def test_a_bet_on_losses_that_may_be_gains_misses_the_mean_no_more_often_than_said(
    values: tuple[float, ...], chances: tuple[float, ...], confidence: float
) -> None:
    mean = float(np.dot(values, chances))
    for n_rows in (1, 3, 7, 12):
        missed = 0.0
        for outcome in itertools.combinations_with_replacement(range(len(values)), n_rows):
            counts = np.bincount(outcome, minlength=len(values))
            ways = math.factorial(n_rows) / math.prod(math.factorial(count) for count in counts)
            if betting_bound(np.repeat(values, counts), confidence, may_gain=True) < mean:
                missed += ways * math.prod(
                    chance**count for chance, count in zip(chances, counts, strict=True)
                )
        assert missed <= 1 - confidence + 1e-12


@pytest.mark.parametrize("skew", [0.02, 0.3, 1.0])
def test_bounds_of_many_losses_that_may_be_gains_hold_as_often_as_said(skew: float) -> None:
    random = np.random.default_rng(int(100 * skew))
    # Rare losses of 1 beside frequent small gains, and a mean just above zero.
    chances = np.array([0.01 * skew, 0.4, 0.59 - 0.01 * skew])
    values = np.array([1.0, -0.02 * skew, 0.02 * skew])
    mean = float(chances @ values)
    missed = sum(
        betting_bound(random.choice(values, 400, p=chances / chances.sum()), 0.8, may_gain=True) < mean
        for _ in range(150)
    )
    assert missed <= 0.2 * 150


@pytest.mark.parametrize("may_gain", [False, True])
def test_the_capital_is_that_of_plain_code_and_rises_with_the_mean_that_is_bet_against(
    may_gain: bool,
) -> None:
    random = np.random.default_rng(4)
    losses = random.uniform(-1 if may_gain else 0, 1, 40)
    n_stakes = 18 if may_gain else 10
    weights = [1.0 if may_gain else 1 / (1 + k) ** 2 for k in range(n_stakes)]
    before = -math.inf
    for mean in (0.01, 0.1, 0.3, 0.6, 0.9):
        capital = 0.0
        for k in range(n_stakes):
            stake, grown = 0.98 * 2 ** (-k / 2) / (1 - mean), 1.0
            for loss in losses:
                grown *= 1 + stake * (mean - loss)
                assert grown > 0  # a bet that cannot ruin
            capital += weights[k] / sum(weights) * grown
        found = log_capital(losses, mean, may_gain=may_gain)
        assert found == pytest.approx(math.log(capital), rel=1e-9)
        assert found > before
        before = found


def test_a_bound_never_falls_when_a_loss_rises_and_is_never_negative() -> None:
    random = np.random.default_rng(5)
    losses = random.uniform(-1, 0.5, 300)
    bounds = [betting_bound(np.minimum(losses + rise, 1), 0.9, may_gain=True) for rise in (0, 0.1, 0.3, 0.5)]
    assert bounds == sorted(bounds)
    assert betting_bound(np.full(500, -1.0), 0.95, may_gain=True) >= 0


def test_losses_averaged_over_orders_are_bounded_far_better_than_outcomes_in_one_order() -> None:
    random = np.random.default_rng(6)
    # On close votes, a twentieth of all rows, the answer differs in a fifth of all orders; the full vote is
    # right on little more than half of them.
    side = np.where(random.random(20_000) < 0.55, 1.0, -1.0)
    mean_over_orders = np.where(random.random(20_000) < 0.05, 0.2, 0.0)
    one_order = random.random(20_000) < mean_over_orders
    averaged = betting_bound(side * mean_over_orders, 0.95, may_gain=True)
    observed = betting_bound(side * one_order, 0.95, may_gain=True)
    assert averaged - (side * mean_over_orders).mean() < 0.6 * (observed - (side * one_order).mean())
