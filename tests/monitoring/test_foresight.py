"""How soon an alarm would come, held against alarms that did come on simulated rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from foregone.certifying import Promise
from foregone.monitoring import Monitor, MonitorWarning, Stops
from foregone.monitoring.foresight import Foresight, _closest, foresee

PROMISE = Promise("classifier", "disagreement", 0.01, 0.95, 0.008, 2000)
N_VOTERS = 51


def stops(n_rows: int = 2000, n_classes: int = 2, **more: Any) -> Stops:
    random = np.random.default_rng(0)
    asked = np.minimum(random.geometric(0.15, n_rows) + 2, N_VOTERS)
    return Stops.count(asked, random.integers(0, n_classes, n_rows), N_VOTERS, n_classes, **more)


def watching(promise: Promise = PROMISE, reference: Stops | None = None, **more: Any) -> Monitor:
    return Monitor(promise, reference=reference, **more)


def median_rows(monitors: list[Monitor], step: int, most: int, tell: Any) -> float:
    """Return after how many rows half of the monitors have given an alarm, told of so many rows at a time."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        for monitor in monitors:
            seen = 0
            while not monitor.alarms and seen < most:
                tell(monitor, step)
                seen += step
            times.append(seen)
    return float(np.median(times))


@pytest.mark.parametrize("times", [2.0, 5.0])
def test_alarms_about_disagreement_come_within_a_factor_of_two_of_what_was_foreseen(times: float) -> None:
    random = np.random.default_rng(1)
    foreseen = foresee(watching()).disagreement[times]
    assert foreseen is not None

    def audit(monitor: Monitor, n_rows: int) -> None:
        full = random.integers(0, 2, n_rows)
        differs = random.random(n_rows) < times * 0.01
        monitor.audited((full ^ differs).astype(bool), full.astype(bool))

    found = median_rows([watching() for _ in range(25)], foreseen // 40, 5 * foreseen, audit)
    assert foreseen / 2 < found < 2 * foreseen


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_alarms_about_closer_votes_come_within_a_factor_of_two_of_what_was_foreseen(share: float) -> None:
    random, reference = np.random.default_rng(2), stops()
    foreseen = foresee(watching(reference=reference)).closer[share]
    assert foreseen is not None
    usual = np.repeat(np.arange(N_VOTERS + 1), reference.asked)
    closest = usual[-len(usual) // 10 :]

    def tell(monitor: Monitor, n_rows: int) -> None:
        asked = np.where(
            random.random(n_rows) < share, random.choice(closest, n_rows), random.choice(usual, n_rows)
        )
        monitor.update(asked, labels=random.integers(0, 2, n_rows).astype(bool))

    monitors = [watching(reference=reference) for _ in range(25)]
    found = median_rows(monitors, max(foreseen // 40, 1), 5 * foreseen, tell)
    assert foreseen / 2 < found < 2 * foreseen


def test_larger_changes_are_noticed_sooner() -> None:
    found = foresee(watching(reference=stops()))
    for rows in (found.disagreement, found.closer):
        numbers = list(rows.values())
        assert None not in numbers
        assert numbers == sorted(numbers, reverse=True)


def test_few_calibration_rows_cannot_tell_a_small_change_apart() -> None:
    few, many = (foresee(watching(reference=stops(n_rows))) for n_rows in (40, 20_000))
    assert few.closer[0.1] is None
    assert few.closer[0.5] is not None
    assert many.closer[0.1] is not None
    alike = foresee(watching(reference=Stops.count([7] * 900, [0] * 900, N_VOTERS, 2)))
    assert set(alike.closer.values()) == {None}


@pytest.mark.parametrize("latest", [30, 100, 400])
def test_of_ties_at_the_border_as_many_rows_are_taken_as_a_tenth_has(latest: int) -> None:
    asked, answers = np.array([1] * (1000 - latest) + [9] * latest), np.arange(1000) % 2
    closest = _closest(Stops.count(asked, answers, n_voters=9, n_classes=2))
    assert closest[:, 9] == pytest.approx([min(latest / 100, 1) / 2] * 2)
    assert closest[:, 1] == pytest.approx([max(1 - latest / 100, 0) / 2] * 2)


def test_what_is_not_watched_has_a_reason() -> None:
    found = foresee(watching())
    assert found.closer == {}
    assert "no calibration rows" in (found.why_no_closer or "")
    assert found.why_no_disagreement is None
    values = foresee(watching(replace(PROMISE, loss="values"), stops()))
    assert values.disagreement == {}
    assert "values" in (values.why_no_disagreement or "")
    anything = foresee(watching(replace(PROMISE, limit=1.0), stops()))
    assert "limit of 1" in (anything.why_no_disagreement or "")
    unknown = foresee(watching(replace(PROMISE, loss="accuracy"), stops()))
    assert "is unknown" in (unknown.why_no_disagreement or "")


@pytest.mark.parametrize("loss", ["accuracy", "cost"])
def test_promises_that_need_labels_are_held_to_the_calibrated_disagreement(loss: Any) -> None:
    costs = [[0, 1], [5, 0]] if loss == "cost" else None
    some = foresee(watching(replace(PROMISE, loss=loss), stops(n_differing=40), costs=costs))
    more = foresee(watching(replace(PROMISE, loss=loss), stops(n_differing=80), costs=costs))
    assert 0.02 < some.limits[None] < 0.04 < more.limits[None]
    assert (some.disagreement[2.0] or 0) > (more.disagreement[2.0] or 0) > 0


def test_limits_by_class_are_exceeded_in_each_class() -> None:
    both = foresee(watching(replace(PROMISE, limit={False: 0.01, True: 0.01}), stops()))
    assert both.limits == {0: 0.01, 1: 0.01}
    rare = foresee(watching(replace(PROMISE, limit={False: 0.01, True: 0.001}), stops()))
    one = foresee(watching(PROMISE, stops()))
    assert one.disagreement[2.0] is not None
    assert one.disagreement[2.0] < (both.disagreement[2.0] or 0) < 4 * one.disagreement[2.0]
    assert (rare.disagreement[2.0] or 0) > (both.disagreement[2.0] or 0)


def test_where_nothing_may_differ_a_single_row_is_enough() -> None:
    certain = Promise.certain(0.01)
    monitor = watching(certain)
    assert foresee(monitor) == Foresight(
        0.01, {None: 0.0}, {1.0: 1}, {}, None, "there are no calibration rows to compare rows in use with"
    )
    monitor.audited([True] * 500, [True] * 500)
    assert monitor.alarm is None
    with pytest.warns(MonitorWarning, match="the limit is 0.00%"):
        monitor.audited([True], [False])
    assert foresee(watching(replace(PROMISE, limit=0.0))).disagreement == {1.0: 1}


def test_many_classes_are_foreseen_as_two_are() -> None:
    found = foresee(watching(reference=stops(n_classes=30), classes=list(range(30))))
    assert all(rows is not None and rows > 0 for rows in (found.disagreement | found.closer).values())
