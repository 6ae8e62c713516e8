"""What all displays have in common."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from foregone import ScoreStrategy, display, early_stop, evaluate, rules, solve
from foregone.display import (
    EnvelopeDisplay,
    MonitorDisplay,
    RiskDisplay,
    SavingsDisplay,
    StateGraphDisplay,
    TradeoffDisplay,
    VoteDistributionDisplay,
)
from foregone.errors import InvalidInputError, MissingExtraError
from tests.classifier import models
from tests.display.test_monitor import alarmed

matplotlib = pytest.importorskip("matplotlib")

STRATEGY = rules.lead(5, k=2)
VOTES = solve("minimean", 5, 0.1).votes
MONITOR = alarmed()
MAKERS: dict[str, Callable[..., Any]] = {
    "envelope": lambda ax=None: EnvelopeDisplay.from_strategy(STRATEGY, ax=ax, name="lead"),
    "monitor": lambda ax=None: MonitorDisplay.from_monitor(MONITOR, ax=ax),
    "risk": lambda ax=None: RiskDisplay.from_strategy(STRATEGY, ax=ax, name="lead", max_disagreement=0.1),
    "savings": lambda ax=None: SavingsDisplay.from_strategy(STRATEGY, ax=ax),
    "state graph": lambda ax=None: StateGraphDisplay.from_strategy(STRATEGY, ax=ax),
    "tradeoff": lambda ax=None: TradeoffDisplay.from_votes(5, [0.1, 0.01], ax=ax, criteria=["minimean"]),
    "votes": lambda ax=None: VoteDistributionDisplay.from_votes(VOTES, ax=ax),
}


@pytest.fixture(scope="module")
def classifier():
    return early_stop(models.forest(9), models.fresh()[:1000], max_disagreement=0.01, random_state=0)


@pytest.mark.parametrize("name", MAKERS)
def test_it_draws_into_the_axes_it_is_given_and_nowhere_else(name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    untouched = len(left.get_children())
    drawn = MAKERS[name](ax=right)
    assert drawn.ax_ is right
    assert drawn.figure_ is figure
    assert len(right.get_children()) > untouched == len(left.get_children())
    assert figure.axes == [left, right]


@pytest.mark.parametrize("name", MAKERS)
def test_drawn_again_it_makes_a_new_figure_and_returns_itself(name: str) -> None:
    display = MAKERS[name]()
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    assert display.ax_.figure is display.figure_
    buffer = io.BytesIO()
    display.figure_.savefig(buffer)
    assert buffer.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", MAKERS)
def test_no_global_style_is_changed(name: str) -> None:
    before = dict(dict.items(matplotlib.rcParams))
    MAKERS[name]().figure_.draw_without_rendering()
    assert dict(dict.items(matplotlib.rcParams)) == before


@pytest.mark.parametrize("name", MAKERS)
def test_no_text_is_cut_off_or_printed_over_another(name: str) -> None:
    figure = MAKERS[name]().figure_
    figure.draw_without_rendering()
    page = figure.bbox.padded(1)
    for ax in figure.axes:
        ticks = [
            tick.label1
            for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim()))
            for tick in axis.get_major_ticks()
            if limits[0] <= tick.get_loc() <= limits[1]
        ]
        texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, *ticks]
        boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
        for place, box in enumerate(boxes):
            assert page.x0 <= box.x0
            assert box.x1 <= page.x1
            assert page.y0 <= box.y0
            assert box.y1 <= page.y1
            assert not any(box.overlaps(other) for other in boxes[:place])


@pytest.mark.slow
def test_importing_needs_no_matplotlib_and_drawing_no_pyplot() -> None:
    script = """
import sys
import foregone.display as display
from foregone import rules
assert "matplotlib" not in sys.modules
strategy = rules.lead(5, k=2)
for kind in (display.EnvelopeDisplay, display.RiskDisplay, display.SavingsDisplay, display.StateGraphDisplay):
    kind.from_strategy(strategy).figure_.draw_without_rendering()
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", MAKERS)
def test_without_matplotlib_it_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[plot\]"):
        MAKERS[name]()


def test_a_classifier_is_drawn_as_its_strategy_and_its_votes_are(classifier) -> None:
    risk = RiskDisplay.from_estimator(classifier)
    assert risk.evaluation.disagreement.tolist() == evaluate(classifier.strategy_).disagreement.tolist()
    assert risk.max_disagreement is None  # which is for the mean, not for any of what is drawn
    of_each = early_stop(models.forest(9), models.fresh()[:1000], max_disagreement=0.01, criterion="minimax")
    assert RiskDisplay.from_estimator(of_each).max_disagreement == 0.01
    envelope = EnvelopeDisplay.from_estimator(classifier)
    expected = EnvelopeDisplay.from_strategy(classifier.strategy_)
    assert envelope.shape.stop_yes.tolist() == expected.shape.stop_yes.tolist()
    votes = VoteDistributionDisplay.from_estimator(classifier)
    assert sum(votes.shares.values()).tolist() == classifier.votes_.probabilities.tolist()
    graph = StateGraphDisplay.from_estimator(classifier)
    mean = sum(asked * p * graph.flow.stops[asked, yes] for (asked, yes), p in graph.flow.states.items())
    assert mean == pytest.approx(evaluate(classifier.strategy_).mean(classifier.votes_).expected_votes)
    curtailing = RiskDisplay.from_estimator(early_stop(models.forest(9), max_disagreement=0.01))
    assert (curtailing.evaluation.disagreement == 0).all()


def test_the_tradeoff_of_a_classifier_is_that_of_its_plan(classifier) -> None:
    display = TradeoffDisplay.from_estimator(classifier, [0.1, 0.01])
    rows = classifier.plan([0.1, 0.01]).rows
    assert display.curves[0].expected_votes == tuple(row.expected_votes for row in rows)
    assert display.plan.labels == (0, 1)


def test_savings_on_rows_are_counted_from_predict_with_votes(classifier) -> None:
    rows = models.fresh()[1000:]
    _, asked, _ = classifier.predict_with_votes(rows)
    display = SavingsDisplay.from_estimator(classifier, rows)
    assert display.shares.tolist() == [np.mean(asked == number) for number in range(10)]
    assert display.mean == pytest.approx(asked.mean())


def test_savings_need_no_more_than_predict_with_votes() -> None:
    class Asker:
        def predict_with_votes(self, X):
            return None, np.array([1, 3]), None

    assert SavingsDisplay.from_estimator(Asker(), None, n_voters=4).speed_up == 2
    with pytest.raises(InvalidInputError, match="strategy_"):
        SavingsDisplay.from_estimator(Asker(), None)


def test_votes_on_rows_are_counted_by_true_class(classifier) -> None:
    X, y = models.rows()
    yes = models.votes_of_members(models.forest(9), X[1500:]).sum(axis=1)
    assert classifier.full_votes(X[1500:]).tolist() == yes.tolist()
    display = VoteDistributionDisplay.from_estimator(classifier, X[1500:], y[1500:])
    for label in (0, 1):
        of_it = yes[y[1500:] == label]
        expected = [np.mean(of_it == number) for number in range(10)]
        np.testing.assert_allclose(display.shares[f"true class {label}"], expected)
    with pytest.raises(InvalidInputError, match="X and y must be given together"):
        VoteDistributionDisplay.from_estimator(classifier, X)


@pytest.mark.parametrize("kind", [EnvelopeDisplay, RiskDisplay, StateGraphDisplay, TradeoffDisplay])
def test_what_is_no_fitted_classifier_of_ours_is_an_error(kind: type) -> None:
    with pytest.raises(InvalidInputError, match="expected a fitted EarlyStoppingClassifier"):
        kind.from_estimator(models.forest(9))


@pytest.mark.parametrize("kind", [RiskDisplay, SavingsDisplay, StateGraphDisplay])
def test_scores_are_no_votes(kind: type) -> None:
    with pytest.raises(InvalidInputError, match="needs a StoppingStrategy, got ScoreStrategy: plot it with"):
        kind.from_strategy(ScoreStrategy.ask_all(5))


def test_the_public_names_are_these_and_documented() -> None:
    displays = [name for name in display.__all__ if name.endswith("Display")]
    assert displays == [
        "EnvelopeDisplay",
        "MonitorDisplay",
        "ReplayDisplay",
        "RiskDisplay",
        "SavingsDisplay",
        "StateGraphDisplay",
        "TradeoffDisplay",
        "VoteDistributionDisplay",
    ]
    for name in display.__all__:
        assert getattr(display, name).__doc__, name
    # Recorded votes have no estimator behind them, and a monitor is not part of one.
    for name in set(displays) - {"MonitorDisplay", "ReplayDisplay"}:
        methods = [method for method in vars(getattr(display, name)) if method.startswith("from_")]
        assert "from_estimator" in methods
        assert all(getattr(display, name).__dict__[method].__doc__ for method in [*methods, "plot"])
