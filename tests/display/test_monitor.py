from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from foregone import early_stop
from foregone.certifying import Promise
from foregone.display import MonitorDisplay
from foregone.monitoring import Monitor, MonitorWarning, Stops
from tests.classifier import models

pytest.importorskip("matplotlib")

PROMISE = Promise("classifier", "disagreement", 0.01, 0.95, 0.008, 2000)
N_VOTERS = 21


def asked(n_rows: int, rate: float = 0.4) -> Any:
    return np.minimum(np.random.default_rng(n_rows).geometric(rate, n_rows), N_VOTERS)


def made(n_classes: int = 2) -> Monitor:
    """Return a monitor that has seen nothing."""
    answers = np.arange(1000) % n_classes
    reference = Stops.count(asked(1000), answers, n_voters=N_VOTERS, n_classes=n_classes)
    return Monitor(PROMISE, reference=reference, classes=[f"class {k}" for k in range(n_classes)])


def tell(monitor: Monitor, n_rows: int, rate: float = 0.4) -> Monitor:
    labels = [monitor.classes[k % len(monitor.classes)] for k in range(n_rows)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        monitor.update(asked(n_rows, rate), labels=labels)
        assert monitor.state.n_rows >= n_rows  # which has the evidence looked at
    return monitor


def alarmed() -> Monitor:
    """Return a monitor that has given an alarm of either kind."""
    monitor = tell(tell(made(), 1000), 300, rate=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        monitor.audited(["class 0"] * 50, ["class 1"] * 50)
    assert {alarm.kind for alarm in monitor.alarms} == {"spread", "disagreement"}
    return tell(monitor, 500)


def words(display: MonitorDisplay) -> list[str]:
    return [text.get_text() for ax in display.axes_ for text in ax.texts]


def lines(display: MonitorDisplay, panel: int) -> dict[str, Any]:
    drawn = display.axes_[panel].lines
    return {line.get_label().split(":")[0]: line.get_xydata() for line in drawn}


def test_evidence_is_drawn_from_the_start_over_the_rows_seen_until_now() -> None:
    monitor = tell(tell(made(), 400), 300)
    display = MonitorDisplay.from_monitor(monitor)
    drawn, (first, second) = lines(display, 0), monitor.state.history
    expected = [[0, 1.0], [400, first.spread], [700, second.spread]]
    np.testing.assert_allclose(drawn["spread (votes and answers)"][:3], expected)
    assert "disagreement of audited rows" not in drawn  # nothing was audited
    assert display.ax_.get_yscale() == "log"
    assert words(display) == ["alarm at 400"]


def test_an_alarm_is_marked_where_it_was_given_and_ends_its_line() -> None:
    monitor = alarmed()
    display = MonitorDisplay.from_monitor(monitor)
    assert words(display) == [
        "alarm at 400",
        "votes are closer, after 1,300 rows",
        "alarm at 200",
        "too many answers differ, after 1,300 rows",
    ]
    marks = [
        line.get_xydata()[0].tolist() for line in display.ax_.lines if line.get_marker() not in (None, "None")
    ]
    assert marks == [[1300, 400], [1300, 200]]
    for curve in display.evidence:
        assert curve.times[-1] == 1300
        assert curve.values[-1] >= curve.threshold > max(curve.values[:-1])
    assert display.ax_.get_xlim()[1] > 1800  # all rows, not only until the alarm


def test_both_kinds_share_a_line_where_they_need_the_same_evidence() -> None:
    promise = Promise("classifier", "accuracy", 0.01, 0.95, 0.008, 2000)
    reference = Stops.count(asked(1000), np.arange(1000) % 2, N_VOTERS, 2, n_differing=3)
    monitor = Monitor(promise, reference=reference).update([1], labels=[True]).audited([True], [True])
    assert words(MonitorDisplay.from_monitor(monitor)) == ["alarm at 400"]


def test_votes_are_shares_of_rows_that_stopped_by_then() -> None:
    monitor = tell(made(), 800, rate=0.38)
    display = MonitorDisplay.from_monitor(monitor, all_rows=True)
    drawn, seen = lines(display, 1), asked(800, 0.38)
    assert list(drawn)[:3] == ["calibration rows", "recent rows", "all rows"]
    for name, rows in (("calibration rows", asked(1000)), ("recent rows", seen), ("all rows", seen)):
        heights = [np.mean(rows <= place) for place in range(N_VOTERS + 1)]
        np.testing.assert_allclose(drawn[name][: N_VOTERS + 1, 1], heights)
    legend = [text.get_text() for text in display.axes_[1].get_legend().get_texts()]
    assert legend[1] == f"recent rows: {seen.mean():.1f} on average"


@pytest.mark.parametrize(("n_classes", "n_bars"), [(2, 2), (8, 8), (9, 8), (40, 8)])
def test_many_classes_stay_readable(n_classes: int, n_bars: int) -> None:
    monitor = tell(made(n_classes), 800)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        monitor.update([1] * 100, labels=[monitor.classes[-1]] * 100)
        assert monitor.state.n_rows == 900  # which has the evidence looked at
    display = MonitorDisplay.from_monitor(monitor)
    ax = display.axes_[2]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(ax.patches) == len(names) == n_bars
    assert f"class {n_classes - 1}" in names  # it has become the most frequent
    assert (names[-1] == f"{n_classes - 7} others") == (n_classes > 8)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(1)


@pytest.mark.parametrize(
    ("monitor", "said"),
    [
        (made(), "no rows yet"),
        (Monitor(PROMISE), "no rows yet"),
        (Monitor(PROMISE).audited([True], [True]), "there are no calibration rows"),
    ],
    ids=["before any row", "nothing at all", "no reference"],
)
def test_what_is_not_known_is_said_and_the_rest_is_drawn(monitor: Monitor, said: str) -> None:
    display = MonitorDisplay.from_monitor(monitor)
    display.figure_.draw_without_rendering()
    assert any(said in text for text in words(display))
    assert (monitor.reference is None) == any("not watched" in text for text in words(display))


def test_without_numbers_of_rows_evidence_is_drawn_by_looks() -> None:
    monitor = Monitor(PROMISE)
    for _ in range(3):
        monitor.audited([True] * 20, [True] * 20)
    display = MonitorDisplay.from_monitor(monitor)
    assert display.evidence[0].times == (0, 1, 2, 3)
    assert display.ax_.get_xlabel() == "audits (60 audited rows)"


def test_labels_are_shown_as_they_are() -> None:
    reference = Stops.count([1, 2], [0, 1], N_VOTERS, 2)
    monitor = Monitor(PROMISE, reference=reference, classes=["$\\frac$", "\x1b" + "a" * 40])
    display = MonitorDisplay.from_monitor(monitor)
    display.figure_.draw_without_rendering()  # would fail on a formula
    names = [label.get_text() for label in display.axes_[2].get_yticklabels()]
    assert names == [r"\$\frac\$", "\\x1b" + "a" * 11 + "…"]


def test_it_draws_as_many_panels_as_it_is_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 3)
    display = MonitorDisplay.from_monitor(alarmed(), ax=axes[:2])
    assert display.axes_ == tuple(axes[:2])
    assert not axes[2].has_data()
    assert len(MonitorDisplay.from_monitor(alarmed(), ax=list(axes)).axes_) == 3


def test_the_monitor_of_a_classifier_is_drawn_with_what_it_predicted() -> None:
    rows = models.fresh()
    monitor = early_stop(models.forest(9), rows[:1000], max_disagreement=0.01, random_state=0).monitor(
        audit=0.5
    )
    monitor.predict(rows[1000:])
    display = MonitorDisplay.from_monitor(monitor)
    assert [curve.kind for curve in display.evidence] == ["spread", "disagreement"]
    assert display.spreads[1].mean_asked == pytest.approx(monitor.to_dict()["recent_mean_votes_asked"])
