"""The hypergeometric weights against whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone._kernels.hypergeometric import hypergeometric, mixed_weight, support


def exact(N: int, n: int, i: int, j: int) -> float:
    return float(Fraction(comb(n, j) * comb(N - n, i - j), comb(N, i)))


@given(st.data())
def test_a_weight_is_the_share_of_orders(data):
    N = data.draw(st.integers(1, 400))
    n, i = data.draw(st.integers(0, N)), data.draw(st.integers(0, N))
    j = data.draw(st.integers(0, i))
    expected = exact(N, n, i, j) if i - j <= N - n else 0.0
    assert hypergeometric(N, n, i, j) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("N", "n", "i", "j"), [(10_001, 5_000, 3_000, 1_600), (30_001, 15_000, 9_000, 4_300)]
)
def test_it_keeps_its_digits_for_many_voters(N, n, i, j):
    assert hypergeometric(N, n, i, j) == pytest.approx(exact(N, n, i, j), rel=1e-13)


@given(st.data())
def test_a_mixed_weight_is_the_sum_over_n(data):
    N = data.draw(st.integers(1, 60))
    i = data.draw(st.integers(0, N))
    j = data.draw(st.integers(0, i))
    weight = st.one_of(st.just(0.0), st.floats(1e-9, 1))
    weights = np.array(data.draw(st.lists(weight, min_size=N + 1, max_size=N + 1).filter(any)))
    expected = sum(weights[n] * exact(N, n, i, j) for n in range(j, N - i + j + 1))
    first, last = support(weights)
    assert mixed_weight(weights, first, last, i, j) == pytest.approx(expected, rel=1e-12)
