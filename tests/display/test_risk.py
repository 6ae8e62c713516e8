from __future__ import annotations

import numpy as np
import pytest

from foregone import evaluate, rules, solve
from foregone.display import RiskDisplay
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")

STRATEGY = solve("minimean", 21, 0.01).strategy


def drawn(ax) -> np.ndarray:
    (line,) = (line for line in ax.lines if line.get_gid())
    return line.get_xydata()


def test_by_yes_votes_it_draws_what_evaluate_says() -> None:
    risk, votes = RiskDisplay.from_strategy(STRATEGY).axes_
    evaluation = evaluate(STRATEGY)
    for ax, values in ((risk, evaluation.disagreement), (votes, evaluation.expected_votes)):
        assert drawn(ax)[:, 0].tolist() == list(range(22))
        assert drawn(ax)[:, 1].tolist() == values.tolist()


@pytest.mark.parametrize("n_voters", [1, 2, 20, 21])
def test_by_margin_it_draws_the_larger_of_both_sides(n_voters: int) -> None:
    strategy = rules.lead(n_voters, k=2)
    evaluation = evaluate(strategy)
    risk, votes = RiskDisplay.from_strategy(strategy, by="margin").axes_
    for ax, values in ((risk, evaluation.disagreement), (votes, evaluation.expected_votes)):
        largest: dict[int, float] = {}
        for n_yes in range(n_voters + 1):
            margin = abs(n_yes - (n_voters - n_yes))
            largest[margin] = max(largest.get(margin, 0.0), values[n_yes])
        assert drawn(ax).tolist() == [[margin, largest[margin]] for margin in sorted(largest)]


def test_on_a_logarithmic_scale_what_is_next_to_nothing_is_left_out() -> None:
    ax = RiskDisplay.from_strategy(STRATEGY, log=True).ax_
    assert ax.get_yscale() == "log"
    assert drawn(ax)[:, 1].min() >= 1e-12
    assert len(drawn(RiskDisplay.from_strategy(rules.curtailment(5), log=True).ax_)) == 0


def test_every_strategy_in_the_same_axes_can_be_seen_whole() -> None:
    first = RiskDisplay.from_strategy(solve("minimixed", 21, 0.01).strategy, name="careful")
    second = RiskDisplay.from_strategy(rules.lead(21, k=2), ax=first.axes_, name="bold")
    assert first.ax_ is second.ax_
    assert first.ax_.get_ylim()[1] > second.evaluation.worst().disagreement
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == ["careful", "bold"]
    lines = [line for line in first.ax_.lines if line.get_gid()]
    assert len({line.get_color() for line in lines}) == len({str(line._dash_pattern) for line in lines}) == 2


def test_the_limit_is_drawn_where_it_is() -> None:
    ax = RiskDisplay.from_strategy(STRATEGY, max_disagreement=0.01).ax_
    assert [0.01, 0.01] in [list(line.get_ydata()) for line in ax.lines]
    assert "limit 0.01" in [text.get_text() for text in ax.texts]


def test_an_unknown_order_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="margin"):
        RiskDisplay.from_strategy(STRATEGY, by="size")
