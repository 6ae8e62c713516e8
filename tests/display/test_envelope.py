from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from foregone import StoppingStrategy, rules, solve
from foregone.display import EnvelopeDisplay, envelope_shape
from foregone.errors import InvalidInputError, MissingExtraError

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


def test_pyplot_and_global_styles_are_left_alone() -> None:
    script = """
import sys
import foregone.display
assert "matplotlib" not in sys.modules
from foregone import rules
import matplotlib
before = dict(dict.items(matplotlib.rcParams))
foregone.display.EnvelopeDisplay.from_strategy(rules.curtailment(5)).figure_.canvas.draw()
assert "matplotlib.pyplot" not in sys.modules
assert dict(dict.items(matplotlib.rcParams)) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[plot\]"):
        EnvelopeDisplay.from_strategy(rules.curtailment(5))
