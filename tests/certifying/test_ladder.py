"""The climb keeps its confidence: every sample of small settings is gone through."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from foregone.certifying import Parts, RowLabels, climb
from foregone.errors import InvalidInputError
from foregone.strategy.limits import Limits


def chance_of_a_broken_promise(
    values: list[tuple[tuple[int, ...], float]], n_rows: int, limit: float, confidence: float
) -> float:
    """Go through all samples. A value is which rungs are wrong on a row, and its probability."""
    n_rungs = len(values[0][0])
    truth = [sum(chance for wrong, chance in values if wrong[rung]) for rung in range(n_rungs)]
    parts = Parts.of(Limits.of(limit), np.zeros(n_rows, np.bool_))
    broken = 0.0
    for sample in itertools.product(values, repeat=n_rows):
        wrong = np.array([row for row, _ in sample], np.bool_)
        found = climb(range(n_rungs), partial(np.take, wrong, axis=1), parts, confidence)
        if found.rung is not None and truth[found.rung] > limit:
            broken += float(np.prod([chance for _, chance in sample]))
    return broken


@pytest.mark.parametrize(
    "values",
    [
        # Nested, each rung wrong where the one before it was, and more.
        [((0, 0, 0), 0.5), ((0, 0, 1), 0.2), ((0, 1, 1), 0.2), ((1, 1, 1), 0.1)],
        # The first bad rung is followed by good ones: no order is assumed.
        [((0, 0, 0), 0.55), ((0, 1, 0), 0.45)],
        # Bad from the start.
        [((0, 0, 0), 0.6), ((1, 0, 1), 0.4)],
        # Independent of one another.
        [((0, 0, 0), 0.45), ((0, 1, 0), 0.25), ((0, 0, 1), 0.3)],
    ],
)
@pytest.mark.parametrize(("limit", "confidence"), [(0.3, 0.8), (0.25, 0.6), (0.38, 0.9)])
def test_limits_are_broken_no_more_often_than_said(
    values: list[tuple[tuple[int, ...], float]], limit: float, confidence: float
) -> None:
    for n_rows in (3, 6):
        assert chance_of_a_broken_promise(values, n_rows, limit, confidence) <= 1 - confidence + 1e-12


def test_the_first_failure_ends_the_climb() -> None:
    parts = Parts.of(Limits.of(0.05), np.zeros(1_000, np.bool_))
    tried: list[int] = []

    def wrong(rung: int) -> np.ndarray:
        tried.append(rung)
        return np.arange(1_000) < {0: 10, 1: 200, 2: 0}[rung]

    found = climb([0, 1, 2], wrong, parts, 0.95)
    assert (found.rung, tried) == (0, [0, 1])
    assert found.judged[0].mean_loss == 0.01
    assert found.failed[0].mean_loss == 0.2


def test_losses_that_cannot_be_large_are_bet_on_within_their_range_and_may_need_no_rows() -> None:
    nobody = Parts.of(Limits.of(0.05), np.zeros(0, np.bool_))
    found = climb([0.01, 0.05, 0.06], lambda most: np.zeros(0), nobody, 0.95, most=lambda most: most)
    assert found.rung == 0.05
    assert [part.bound for part in (*found.judged, *found.failed)] == [0.05, 0.06]
    losses = np.where(np.arange(200) < 10, 0.1, 0.0)
    parts = Parts.of(Limits.of(0.1), np.zeros(200, np.bool_))
    narrow, wide = (parts.judge(losses, 0.95, most)[0].bound for most in (0.1, 1.0))
    assert 0.005 < narrow < wide < 0.1
    assert narrow == pytest.approx(0.1 * parts.judge(10 * losses, 0.95)[0].bound)
    assert parts.judge(np.zeros(200), 0.95, 0.0)[0].bound == 0


def test_all_parts_have_to_keep_their_limits() -> None:
    full = np.arange(4_000) < 1_000
    parts = Parts.of(Limits.of({"yes": 0.01, "no": 1.0}), full)
    assert climb([0], lambda _: ~full, parts, 0.95).rung == 0
    assert climb([0], lambda _: full, parts, 0.95).rung is None


def test_a_group_with_too_few_rows_certifies_nothing() -> None:
    groups = np.where(np.arange(4_000) < 100, "few", "many")
    parts = Parts.of(Limits.of(0.01), np.zeros(4_000, np.bool_), RowLabels.of(groups, None, 4_000))
    part = parts.too_few(0.95)
    assert part is not None
    assert str(part) == "rows of group 'few'"
    assert climb([0], lambda _: np.zeros(4_000, np.bool_), parts, 0.95).rung is None
    assert (
        Parts.of(Limits.of(0.05), np.zeros(4_000, np.bool_), RowLabels.of(groups, None, 4_000)).too_few(0.95)
        is None
    )


def test_the_rows_of_a_cluster_count_as_one_observation() -> None:
    full = np.zeros(6, np.bool_)
    (part,) = Parts.of(Limits.of(0.1), full, RowLabels.of(None, ["a", "b", "a", "a", "c", "b"], 6))
    wrong = np.array([True, False, True, False, False, True])
    judged = part.judge(wrong, 0.95)
    assert judged.mean_loss == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert judged.n_observations == 3


def test_copies_of_rows_add_nothing() -> None:
    """A hundred copies of each patient's row certify what one does, however many rows there are."""
    wrong, patients = np.zeros(30, np.bool_), np.arange(30)
    once = Parts.of(Limits.of(0.01), wrong, RowLabels.of(None, patients, 30))
    labels = RowLabels.of(None, np.repeat(patients, 100), 3_000)
    copied = Parts.of(Limits.of(0.01), np.repeat(wrong, 100), labels)
    (first,), (second,) = once.judge(wrong, 0.95), copied.judge(np.repeat(wrong, 100), 0.95)
    assert first == second
    assert not first.is_kept


def test_groups_and_answers_make_a_part_each() -> None:
    full = np.array([True, False] * 4)
    labels = RowLabels.of([1, 1, 1, 1, 2, 2, 2, 2], None, 8)
    parts = Parts.of(Limits.of({"yes": 0.1, "no": 0.2}), full, labels)
    assert [(part.side, part.group, part.limit, part.rows.tolist()) for part in parts] == [
        ("yes", 1, 0.1, [0, 2]),
        ("no", 1, 0.2, [1, 3]),
        ("yes", 2, 0.1, [4, 6]),
        ("no", 2, 0.2, [5, 7]),
    ]


@pytest.mark.parametrize("groups", [[1, 2], [1.0, np.nan, 2.0], [None, "a", "b"], "abc"])
def test_labels_that_do_not_fit_the_rows_are_refused(groups: object) -> None:
    with pytest.raises(InvalidInputError, match="groups"):
        RowLabels.of(groups, None, 3)


def test_a_group_without_rows_to_certify_with_is_not_forgotten() -> None:
    labels = RowLabels.of(["a"] * 500 + ["b"], None, 501).take(np.arange(500))
    parts = Parts.of(Limits.of(0.05), np.zeros(500, np.bool_), labels)
    assert climb([0], lambda _: np.zeros(500, np.bool_), parts, 0.95).rung is None


def test_clusters_are_not_divided() -> None:
    clusters = np.random.default_rng(0).integers(40, size=300)
    learning, certifying = RowLabels.of(None, clusters, 300).split(300, 0.3, np.random.default_rng(1))
    assert not set(clusters[learning]) & set(clusters[certifying])
    assert sorted([*learning, *certifying]) == list(range(300))
    assert len(set(clusters[learning])) == 12
