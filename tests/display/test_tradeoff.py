from __future__ import annotations

import io

import numpy as np
import pytest

from foregone import VoteDistribution, evaluate, plan, rules, solve
from foregone.display import TradeoffDisplay
from foregone.errors import InvalidInputError
from foregone.plurality import ClassVotes, CompositionDistribution
from foregone.scores import ScoreRows

pytest.importorskip("matplotlib")

RARE = VoteDistribution.from_counts([4000, 300, 100, 60, 40, *[15] * 6, *[4] * 7, 5, 6, 8, 9])


def test_it_draws_the_figures_of_the_plan() -> None:
    made = plan(RARE, [0.1, 0.01, 0.001, 0.0], labels=("healthy", "ill"))
    display = TradeoffDisplay.from_plan(made)
    drawn = [row for row in made.rows if row.limit > 0]
    votes, risk = display.axes_
    assert display.ax_ is votes
    by_limit = sorted([row.limit, row.expected_votes] for row in drawn)
    assert votes.lines[0].get_xydata().tolist() == by_limit
    lines = {line.get_label(): line.get_xydata().tolist()[::-1] for line in risk.lines}
    assert lines["ill, mean"] == [[row.limit, row.by_class["yes"]] for row in drawn]
    assert lines["ill, worst"] == [[row.limit, row.worst_by_class["yes"]] for row in drawn]
    assert lines["healthy, worst"] == [[row.limit, row.worst_by_class["no"]] for row in drawn]
    assert {ax.get_xscale() for ax in display.axes_} == {"log"}
    assert votes.get_xlabel() == risk.get_xlabel() == "allowed disagreement"


def test_lines_differ_in_more_than_colour() -> None:
    _, risk = TradeoffDisplay.from_plan(plan(RARE)).axes_
    looks = [
        (line.get_marker(), str(line._dash_pattern), line.get_markerfacecolor() == "white")
        for line in risk.lines
        if "," in str(line.get_label())
    ]
    assert len(set(looks)) == len(looks) == 4


def test_the_recommended_limit_is_marked_in_both() -> None:
    made = plan(RARE)
    for ax in TradeoffDisplay.from_plan(made).axes_:
        assert [made.chosen.limit, made.chosen.limit] in [list(line.get_xdata()) for line in ax.lines]


@pytest.mark.parametrize("counts", [[1, 1], [5, 0], [50, 0, 0, 0], [3, 1, 0, 2]])
def test_any_plan_gives_a_figure_that_can_be_saved(counts: list[int]) -> None:
    display = TradeoffDisplay.from_plan(plan(VoteDistribution.from_counts(counts), [0.5, 0.1]))
    buffer = io.BytesIO()
    display.figure_.savefig(buffer)
    assert buffer.getvalue().startswith(b"\x89PNG")


def test_it_draws_into_one_given_axes_or_two() -> None:
    from matplotlib.figure import Figure

    made = plan(5, [0.1], confidence=None)
    axes = Figure().subplots(3)
    assert TradeoffDisplay.from_plan(made, ax=axes[:2]).axes_ == tuple(axes[:2])
    assert TradeoffDisplay.from_plan(made, ax=axes[2]).axes_ == (axes[2],)
    assert axes[2].get_ylabel() == "expected votes"
    with pytest.raises(InvalidInputError, match="at most 2"):
        TradeoffDisplay.from_plan(made, ax=axes)


def test_a_limit_of_zero_stands_apart() -> None:
    made = plan(5, [0.1, 0.01, 0.0], confidence=None)
    ax = TradeoffDisplay.from_plan(made).ax_
    apart = ax.lines[1].get_xydata()
    assert apart[:, 1].tolist() == [made.rows[-1].expected_votes]
    assert apart[0, 0] < 0.001
    labels = {
        label.get_text(): place for label, place in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)
    }
    assert labels["0"] == apart[0, 0]


@pytest.mark.parametrize("votes", [RARE, 11])
def test_curves_are_what_solve_and_the_rules_come_to(votes: VoteDistribution | int) -> None:
    limits = [0.1, 0.01]
    display = TradeoffDisplay.from_votes(votes, limits, criteria=("minimean", "minimax"))
    spread = votes if isinstance(votes, VoteDistribution) else VoteDistribution.flat(votes)
    n_voters = spread.n_voters
    expected = {
        "minimean": lambda limit: solve("minimean", spread, limit).strategy,
        "minimax": lambda limit: solve("minimax", spread, limit).strategy,
        "Schwing": lambda limit: rules.schwing(n_voters, limit),
        "IBEP": lambda limit: rules.ibep(n_voters, limit),
        "e-process": lambda limit: rules.e_process(n_voters, limit),
        "curtailment": lambda limit: rules.curtailment(n_voters),
    }
    drawn = [{line.get_label(): line.get_xydata() for line in ax.lines} for ax in display.axes_]
    for name, strategy in expected.items():
        figures = [evaluate(strategy(limit)).mean(spread) for limit in sorted(limits)]
        for lines, values in zip(drawn, zip(*figures, strict=True), strict=True):
            assert lines[name][:, 0].tolist() == sorted(limits)
            np.testing.assert_allclose(lines[name][:, 1], values, rtol=1e-9, atol=1e-15)


def test_the_usual_rules_stand_beside_a_plan_when_asked_for() -> None:
    made = plan(RARE, [0.1, 0.01])
    display = TradeoffDisplay.from_plan(made, baselines=True)
    names = ["minimean", "Schwing", "IBEP", "e-process", "curtailment"]
    assert [curve.name for curve in display.curves] == names
    looks = {(line.get_marker(), line.get_color()) for line in display.axes_[1].lines[: len(names)]}
    assert len(looks) == len(names)
    assert [text.get_text() for text in display.axes_[1].get_legend().get_texts()] == [*names, "the limit"]


def test_a_plan_with_nothing_but_zero_cannot_be_drawn() -> None:
    with pytest.raises(InvalidInputError, match="above 0"):
        TradeoffDisplay.from_plan(plan(5, [0.0], confidence=None))


def test_no_criteria_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="criteria"):
        TradeoffDisplay.from_votes(5, [0.1], criteria=())


def test_plans_of_every_kind_are_drawn_by_class() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(9, [0.8, 0.15, 0.05], 500)
    scores = rng.normal(rng.normal(size=(3000, 1)), 1, size=(3000, 20))
    for votes, names in (
        (ClassVotes(counts), ["ant", "bee", "cow"]),
        (ScoreRows(scores), ["ham", "spam"]),
    ):
        made = plan(votes, [0.2, 0.05], labels=names)
        display = TradeoffDisplay.from_plan(made)
        assert ("estimated" in display.ax_.get_title("left")) == (made.kind == "scores")
        ax = display.axes_[1]
        lines = {line.get_label(): list(line.get_ydata())[::-1] for line in ax.lines}
        for key, name in zip(made.chosen.by_class, names, strict=True):
            known = [row.by_class[key] for row in made.rows if row.by_class[key] is not None]
            assert lines.get(f"{name}, mean", []) == known
        assert not any(str(label).endswith(", worst") for label in lines)
        with pytest.raises(InvalidInputError, match="leave out baselines"):
            TradeoffDisplay.from_plan(made, baselines=True)
    unordered = plan(CompositionDistribution.from_counts(counts, n_classes=3), [0.2, 0.05])
    assert TradeoffDisplay.from_plan(unordered).axes_[1].get_title("left") == "Disagreement, mean"
