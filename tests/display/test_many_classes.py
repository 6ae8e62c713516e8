"""Displays of yes votes, given a classifier of many classes or of scores: the right picture, or a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone import VoteDistribution, early_stop, solve
from foregone.display import (
    EnvelopeDisplay,
    MonitorDisplay,
    ReplayDisplay,
    RiskDisplay,
    SavingsDisplay,
    StateGraphDisplay,
    TradeoffDisplay,
    VoteDistributionDisplay,
)
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution

pytest.importorskip("matplotlib")


def rows(n_classes: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, 400)
    return random.normal(size=(400, 3)) + y[:, None], y


@pytest.fixture(scope="module")
def many() -> Any:
    forest = RandomForestClassifier(9, random_state=0).fit(*rows(3, 0))
    return early_stop(forest, rows(3, 1)[0], 0.05, voting="hard", confidence=None)


@pytest.fixture(scope="module")
def scores() -> Any:
    forest = RandomForestClassifier(9, max_depth=3, random_state=0).fit(*rows(2, 0))
    return early_stop(forest, rows(2, 1)[0], 0.2, voting="soft")


@pytest.fixture(scope="module")
def many_scores() -> Any:
    forest = RandomForestClassifier(9, max_depth=3, random_state=0).fit(*rows(3, 0))
    return early_stop(forest, rows(3, 1)[0], 0.2, voting="soft", random_state=0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda it: VoteDistributionDisplay.from_estimator(it),
        lambda it: VoteDistributionDisplay.from_estimator(it, *rows(3, 2)),
        lambda it: VoteDistributionDisplay.from_votes(it.votes_),
        lambda it: EnvelopeDisplay.from_estimator(it),
        lambda it: RiskDisplay.from_estimator(it),
        lambda it: StateGraphDisplay.from_estimator(it),
        lambda it: SavingsDisplay.from_strategy(it.strategy_),
    ],
)
def test_many_classes_have_no_yes_votes_to_draw(many: Any, draw: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidInputError, match=r"use SavingsDisplay\.from_estimator"):
        draw(many)


def test_a_plan_of_many_classes_is_drawn_without_the_rules_for_two(many: Any) -> None:
    made = TradeoffDisplay.from_estimator(many, [0.2, 0.1], X=rows(3, 2)[0])
    assert [text.get_text() for text in made.axes_[1].get_legend().get_texts()][-1] == "the limit"
    of_calibration = TradeoffDisplay.from_estimator(many, [0.2, 0.1])  # whose votes are kept by class
    assert len(of_calibration.axes_[1].lines) == len(made.axes_[1].lines)
    with pytest.raises(InvalidInputError, match="leave out baselines"):
        TradeoffDisplay.from_estimator(many, [0.2], baselines=True)
    with pytest.raises(InvalidInputError, match="use solve_plurality"):
        TradeoffDisplay.from_votes(many.votes_)


def test_savings_of_many_classes_are_those_of_its_rows(many: Any) -> None:
    X, _ = rows(3, 3)
    asked = many.predict_with_votes(X)[1]
    assert SavingsDisplay.from_estimator(many, X).mean == pytest.approx(asked.mean())


@pytest.mark.parametrize("counts", [[[3, 1, 1], [5, 0, 0]], [[4, 1], [5, 0]], [[5, 0, 0]] * 4 + [[2, 2, 1]]])
def test_compositions_are_never_drawn_as_yes_votes(counts: list[list[int]]) -> None:
    votes = CompositionDistribution.from_counts(counts)
    strategy = solve("minimean", 5, 0.1).strategy
    for draw in (
        lambda: VoteDistributionDisplay.from_votes(votes),
        lambda: SavingsDisplay.from_strategy(strategy, votes),
        lambda: StateGraphDisplay.from_strategy(strategy, votes),
        lambda: TradeoffDisplay.from_votes(votes),
    ):
        with pytest.raises(InvalidInputError):
            draw()


@pytest.mark.parametrize(
    "draw",
    [
        VoteDistributionDisplay.from_estimator,
        lambda it: VoteDistributionDisplay.from_estimator(it, *rows(2, 2)),
        RiskDisplay.from_estimator,
        StateGraphDisplay.from_estimator,
    ],
)
def test_scores_have_no_yes_votes_to_draw(scores: Any, draw: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidInputError, match="EnvelopeDisplay or SavingsDisplay"):
        draw(scores)


def test_scores_have_thresholds_and_savings_to_draw(scores: Any) -> None:
    assert EnvelopeDisplay.from_estimator(scores).shape.n_voters == 9
    assert SavingsDisplay.from_estimator(scores, rows(2, 3)[0]).n_voters == 9


@pytest.mark.parametrize(
    "draw",
    [
        VoteDistributionDisplay.from_estimator,
        lambda it: VoteDistributionDisplay.from_estimator(it, *rows(3, 2)),
        RiskDisplay.from_estimator,
        StateGraphDisplay.from_estimator,
    ],
)
def test_scores_of_many_classes_have_no_yes_votes_to_draw(
    many_scores: Any, draw: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidInputError, match="EnvelopeDisplay or SavingsDisplay"):
        draw(many_scores)


def test_scores_of_many_classes_have_thresholds_savings_and_a_plan_to_draw(many_scores: Any) -> None:
    assert EnvelopeDisplay.from_estimator(many_scores).shape.of_leads
    X = rows(3, 3)[0]
    asked = many_scores.predict_with_votes(X)[1]
    assert SavingsDisplay.from_estimator(many_scores, X).mean == pytest.approx(asked.mean())
    assert len(TradeoffDisplay.from_estimator(many_scores, [0.3, 0.2], X=X).axes_) == 2


@pytest.mark.parametrize("thing", [None, "x", [], 5, VoteDistribution.flat(3)])
@pytest.mark.parametrize(
    "draw",
    [
        VoteDistributionDisplay,
        VoteDistributionDisplay.from_estimator,
        EnvelopeDisplay.from_strategies,
        RiskDisplay.from_strategy,
        StateGraphDisplay.from_strategy,
        SavingsDisplay.from_strategy,
        TradeoffDisplay.from_plan,
        ReplayDisplay.from_replay,
        MonitorDisplay.from_monitor,
    ],
)
def test_what_is_no_subject_of_a_display_is_refused(draw: Callable[[Any], object], thing: Any) -> None:
    with pytest.raises(InvalidInputError):
        draw(thing)
