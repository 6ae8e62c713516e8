from __future__ import annotations

import io

import numpy as np
import pytest

from foregone import ScoreStrategy, StoppingStrategy, rules, solve
from foregone.display import EnvelopeDisplay, envelope_shape
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")


def legend(display: EnvelopeDisplay) -> list[str]:
    found = display.ax_.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_drawing_gives_a_figure_that_can_be_saved() -> None:
    display = EnvelopeDisplay.from_strategy(rules.curtailment(21), name="curtailment")
    buffer = io.BytesIO()
    display.figure_.savefig(buffer)
    assert buffer.getvalue().startswith(b"\x89PNG")
    assert legend(display) == ["curtailment"]
    assert display.ax_.get_xlabel() == "votes asked"


def test_computing_and_drawing_are_apart() -> None:
    display = EnvelopeDisplay(envelope_shape(rules.curtailment(21)))
    assert not hasattr(display, "figure_")
    assert display.plot() is display
    assert legend(display) == []


def test_the_lines_run_through_the_stops() -> None:
    shape = envelope_shape(rules.e_process(51, 0.01))
    ax = EnvelopeDisplay(shape).plot().ax_
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert shape.stop_yes.tolist() in drawn
    assert shape.stop_no.tolist() in drawn


def test_looks_are_points_with_nothing_between_them() -> None:
    strategy = StoppingStrategy.from_rows(
        51, lambda asked: np.abs(2 * np.arange(asked + 1) - asked) >= (7 if asked % 10 == 5 else 52)
    )
    shape = envelope_shape(strategy)
    ax = EnvelopeDisplay(shape).plot().ax_
    (line,) = (line for line in ax.lines if line.get_gid())
    x, y = line.get_xydata().T
    assert np.isnan(x[1:8:2]).all()
    np.testing.assert_array_equal(np.stack([x, y], axis=1)[~np.isnan(x)], shape.stop_yes)
    points = ax.collections[-1].get_offsets().tolist()
    assert points == [*shape.stop_yes.tolist(), *shape.stop_no.tolist()]


def test_several_strategies_share_axes_in_different_colours_and_dashes() -> None:
    criteria = ("minimax", "minimixed", "minimean")
    displays = EnvelopeDisplay.from_strategies({name: solve(name, 21, 0.01).strategy for name in criteria})
    assert len({id(display.ax_) for display in displays}) == 1
    assert legend(displays[-1]) == list(criteria)
    lines = [line for line in displays[0].ax_.lines if line.get_label() in criteria]
    assert len({line.get_color() for line in lines}) == 3
    assert len({str(line._dash_pattern) for line in lines}) == 3


def test_it_draws_into_given_axes_with_given_options() -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    display = EnvelopeDisplay.from_strategy(
        rules.lead(9, k=3), ax=ax, name="lead", color="black", linewidth=3
    )
    assert display.ax_ is ax
    assert any(line.get_color() == "black" and line.get_linewidth() == 3 for line in ax.lines)


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="at least one"):
        EnvelopeDisplay.from_strategies({})


def test_heights_can_be_yes_votes_and_one_line_can_be_drawn_alone() -> None:
    shape = envelope_shape(rules.e_process(51, 0.01))
    ax = EnvelopeDisplay(shape).plot(height="yes", answers=("no",), fill=False).ax_
    (line,) = (line for line in ax.lines if line.get_gid())
    asked, lead = shape.stop_no.T
    assert line.get_xydata().tolist() == np.stack([asked, (asked + lead) / 2], axis=1).tolist()
    assert ax.get_ylabel() == "yes votes"
    assert not ax.patches


def test_chance_is_marked_where_the_strategy_is_randomised() -> None:
    strategy = solve("minimixed", 21, 0.01).strategy
    ax = EnvelopeDisplay.from_strategy(strategy).ax_
    marked = {tuple(place) for place in ax.collections[-1].get_offsets().tolist()}
    assert marked == {(asked, 2 * yes - asked) for asked, yes, _ in strategy.randomised}


def test_thresholds_on_scores_are_drawn_over_the_step() -> None:
    inf = np.inf
    strategy = ScoreStrategy.from_thresholds([-inf, -2, -1, -inf, -0.5, 0], [inf, inf, 3, inf, 2, 0])
    display = EnvelopeDisplay.from_strategy(strategy, name="scores")
    upper, lower = (line for line in display.ax_.lines if len(line.get_xdata()) > 2)
    drawn = {tuple(point) for point in upper.get_xydata().tolist() if not np.isnan(point[0])}
    assert drawn == {(2, 3), (4, 2), (5, 0)}
    drawn = {tuple(point) for point in lower.get_xydata().tolist() if not np.isnan(point[0])}
    assert drawn == {(1, -2), (2, -1), (4, -0.5), (5, 0)}
    assert np.isnan(upper.get_xdata()).sum() == 1  # between 2 and 4 it does not look
    assert display.ax_.collections[-1].get_offsets().tolist() == [[2, 3]]  # a look by itself
    assert display.ax_.get_ylabel() == "running score"


def test_scores_that_ask_everyone_can_be_drawn() -> None:
    display = EnvelopeDisplay.from_strategy(ScoreStrategy.ask_all(5))
    assert display.ax_.collections[-1].get_offsets().tolist() == [[5, 0], [5, 0]]


@pytest.mark.parametrize(
    "options", [{"height": "up"}, {"answers": ()}, {"answers": ("maybe",)}, {"ax": "none"}, {"ax": []}]
)
def test_bad_options_are_errors(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        EnvelopeDisplay.from_strategy(rules.curtailment(5), **options)


def test_the_lead_of_many_classes_has_one_line() -> None:
    inf = float("inf")
    strategy = ScoreStrategy.from_thresholds(None, [inf, 2, 3, inf, 0.5, 0], start=[0, 0, 0])
    display = EnvelopeDisplay.from_strategy(strategy, name="three classes")
    line = next(line for line in display.ax_.lines if line.get_label() == "three classes")
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, np.nan, 4, 5])
    np.testing.assert_array_equal(line.get_ydata(), [2, 3, np.nan, 0.5, 0])
    assert display.ax_.get_ylim()[0] == 0
    assert display.ax_.get_ylim()[1] > 3
    assert display.ax_.get_ylabel() == "lead of the first class over the second"
    words = [text.get_text() for text in display.ax_.texts]
    assert "stop: answer the leading class" in words
    assert not any("yes" in word for word in words)
    (region,) = (patch.get_path().vertices for patch in display.ax_.patches)
    assert region[:, 1].min() == 0
    n_lines = len(display.ax_.lines)
    again = EnvelopeDisplay.from_strategy(strategy, display.ax_, answers=("no",))
    assert len(again.ax_.lines) == n_lines + 1
    assert EnvelopeDisplay.from_strategy(ScoreStrategy.ask_all(5, start=[0, 0, 0])).figure_ is not None
    assert display.ax_.get_xlabel() == "votes asked"


def test_where_each_class_has_voters_of_its_own_rounds_are_drawn() -> None:
    inf = float("inf")
    upper = [[inf] * 3, [2, 3, inf], [1, 2, 4], [0, 0, 0]]
    strategy = ScoreStrategy.from_thresholds(None, upper, start=[0, 0, 0], drops_classes=True)
    display = EnvelopeDisplay.from_strategy(strategy, name="rounds")
    line = next(line for line in display.ax_.lines if line.get_label() == "rounds")
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, np.nan, 1, 2, 3, np.nan, 2, 3])
    np.testing.assert_array_equal(line.get_ydata(), [2, 1, 0, np.nan, 3, 2, 0, np.nan, 4, 0])
    assert display.ax_.get_ylim()[1] > 4
    assert display.ax_.get_ylabel() == "distance of a class behind the leader"
    words = [text.get_text() for text in display.ax_.texts]
    assert "dropped: no more voters of this class are asked" in words
    assert display.ax_.get_xlabel() == "rounds asked (one voter per class)"


def test_scores_have_no_yes_votes() -> None:
    with pytest.raises(InvalidInputError, match="scores"):
        EnvelopeDisplay.from_strategy(ScoreStrategy.ask_all(5), height="yes")


def test_a_solution_instead_of_its_strategy_is_pointed_out() -> None:
    with pytest.raises(InvalidInputError, match=r"\.strategy"):
        EnvelopeDisplay.from_strategy(solve("minimean", 5, 0.1))
