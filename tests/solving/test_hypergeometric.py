"""The hypergeometric weights against integers."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from foregone._kernels.hypergeometric import mixed_weight


def exact(N: int, n: int, i: int, j: int) -> float:
    return float(Fraction(comb(n, j) * comb(N - n, i - j), comb(N, i)))


@njit
def weight_of(weights, i, j):
    places = np.nonzero(weights)[0]
    return mixed_weight(weights, places[0], places[-1], i, j)


def weight_of_one(N: int, n: int, i: int, j: int) -> float:
    return weight_of(np.eye(1, N + 1, n)[0], i, j)


@given(st.data())
def test_a_weight_is_the_share_of_orders(data):
    N = data.draw(st.integers(1, 400))
    n, i = data.draw(st.integers(0, N)), data.draw(st.integers(0, N))
    j = data.draw(st.integers(0, i))
    expected = exact(N, n, i, j) if i - j <= N - n else 0.0
    assert weight_of_one(N, n, i, j) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("N", "n", "i", "j"), [(10_001, 5_000, 3_000, 1_600), (30_001, 15_000, 9_000, 4_300)]
)
def test_it_keeps_its_digits_for_many_voters(N, n, i, j):
    assert weight_of_one(N, n, i, j) == pytest.approx(exact(N, n, i, j), rel=1e-13)


@given(st.data())
def test_a_mixed_weight_is_the_sum_over_n(data):
    N = data.draw(st.integers(1, 60))
    i = data.draw(st.integers(0, N))
    j = data.draw(st.integers(0, i))
    weight = st.one_of(st.just(0.0), st.floats(1e-9, 1))
    weights = np.array(data.draw(st.lists(weight, min_size=N + 1, max_size=N + 1).filter(any)))
    expected = sum(weights[n] * exact(N, n, i, j) for n in range(j, N - i + j + 1))
    assert weight_of(weights, i, j) == pytest.approx(expected, rel=1e-12)
