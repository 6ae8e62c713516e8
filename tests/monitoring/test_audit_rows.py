"""Audited rows: a share of all, the same ones for the same values, whatever they come in."""

from __future__ import annotations

import struct

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from foregone.forest.tables import Columns
from foregone.monitoring.audit_rows import SEED, AuditRows

pl = pytest.importorskip("polars")

CHOSEN = [200, 231, 266, 354, 387, 499, 518, 523, 819, 891]


def rows(n_rows=20_000, n_features=6):
    return np.random.default_rng(3).normal(size=(n_rows, n_features)).astype(np.float32)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.9])
def test_about_the_share_asked_for_is_chosen(share):
    n_rows = 200_000
    found = len(AuditRows(share).choose(rows(n_rows)))
    assert abs(found - share * n_rows) < 5 * np.sqrt(share * (1 - share) * n_rows)


def test_none_and_all_can_be_chosen():
    assert len(AuditRows(0.0).choose(rows(50))) == 0
    assert AuditRows(1.0).choose(rows(50)).tolist() == list(range(50))


def test_a_larger_share_contains_a_smaller_one():
    X = rows()
    small, large = (set(AuditRows(share).choose(X).tolist()) for share in (0.01, 0.1))
    assert small < large


def mixed(z):
    """SplitMix64's last step, in integers of any size."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def slow_hash(row):
    golden, total = 0x9E3779B97F4A7C15, 0
    for feature, value in enumerate(row):
        bits = mixed((mixed((mixed(SEED + golden) + (feature + 1) * golden) % 2**64) + golden) % 2**64)
        total += (bits | 1) * struct.unpack("<I", struct.pack("<f", value))[0]
    return mixed(total % 2**64)


def test_the_rows_chosen_are_those_with_a_small_hash():
    X = rows(3000)
    expected = [k for k, row in enumerate(X.tolist()) if slow_hash(row) <= 0.02 * 2**64]
    assert AuditRows(0.02).choose(X).tolist() == expected


def test_the_rows_chosen_are_these_on_every_machine():
    counting = np.arange(4000.0).reshape(-1, 4)
    assert AuditRows(0.01).choose(counting).tolist() == CHOSEN


def test_a_row_alone_is_chosen_as_in_a_batch():
    X, audited = rows(3000), AuditRows(0.05)
    chosen = audited.choose(X).tolist()
    for part in (X, X.astype(np.float64)):
        assert [k for k in range(len(X)) if len(audited.choose(part[k : k + 1]))] == chosen


@pytest.mark.parametrize(
    "given",
    [
        lambda X: X.astype(np.float64),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[:, ::-1][:, ::-1],
        lambda X: X.astype(object),
        pd.DataFrame,
        lambda X: pd.DataFrame(X.astype(np.float64)),
        lambda X: pl.DataFrame(X),
        csr_array,
        lambda X: Columns(tuple(X.T)),
    ],
)
def test_the_same_values_are_chosen_whatever_they_come_in(given):
    X = rows(5000)
    assert AuditRows(0.01).choose(given(X)).tolist() == AuditRows(0.01).choose(X).tolist()


def test_zeros_are_equal_and_so_are_missing_values():
    X = rows(5000)
    X[:, 1] = 0.0
    X[:, 2] = np.nan
    other = X.copy()
    other[:, 1] = -0.0
    other[:, 2] = -np.nan
    assert AuditRows(0.02).choose(other).tolist() == AuditRows(0.02).choose(X).tolist()


def test_every_column_matters():
    X = rows(20_000)
    chosen = set(AuditRows(0.01).choose(X).tolist())
    for column in range(X.shape[1]):
        other = X.copy()
        other[:, column] += 1
        shared = len(chosen & set(AuditRows(0.01).choose(other).tolist()))
        assert shared < 15  # of 200; 2 are expected


def test_whole_numbers_are_spread_evenly():
    """Few different values, as counts and codes have them: the multiplier alone would not mix these."""
    grid = np.array(np.meshgrid(*[np.arange(8)] * 5)).reshape(5, -1).T.astype(np.float32)
    found = len(AuditRows(0.01).choose(grid))
    assert abs(found - 0.01 * len(grid)) < 5 * np.sqrt(0.01 * len(grid))


def test_rows_of_texts_are_chosen_too():
    table = pd.DataFrame({"a": [f"text {k}" for k in range(5000)], "b": np.arange(5000)})
    found = AuditRows(0.1).choose(table)
    assert 400 < len(found) < 600
    again = AuditRows(0.1).choose(Columns((table["a"], table["b"])))
    assert again.tolist() == found.tolist()
