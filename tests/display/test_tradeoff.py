from __future__ import annotations

import io
import subprocess
import sys

import pytest

from foregone import VoteDistribution, plan
from foregone.display import TradeoffDisplay
from foregone.errors import InvalidInputError, MissingExtraError

pytest.importorskip("matplotlib")

RARE = VoteDistribution.from_counts([4000, 300, 100, 60, 40, *[15] * 6, *[4] * 7, 5, 6, 8, 9])


def test_it_draws_the_figures_of_the_plan() -> None:
    made = plan(RARE, [0.1, 0.01, 0.001, 0.0], labels=("healthy", "ill"))
    display = TradeoffDisplay.from_plan(made)
    drawn = [row for row in made.rows if row.limit > 0]
    votes, risk = display.ax_
    assert votes.lines[0].get_xydata().tolist() == [[row.limit, row.expected_votes] for row in drawn]
    lines = {line.get_label(): line.get_xydata().tolist() for line in risk.lines}
    assert lines["ill, mean"] == [[row.limit, row.by_class["yes"]] for row in drawn]
    assert lines["ill, worst"] == [[row.limit, row.worst_by_class["yes"]] for row in drawn]
    of_no = [[row.limit, row.worst_by_class["no"]] for row in drawn if row.worst_by_class["no"] > 0]
    assert lines["healthy, worst"] == of_no
    assert {ax.get_xscale() for ax in display.ax_} == {"log"}
    assert votes.get_xlabel() == risk.get_xlabel() == "allowed disagreement"


def test_lines_differ_in_more_than_colour() -> None:
    _, risk = TradeoffDisplay.from_plan(plan(RARE)).ax_
    looks = [
        (line.get_marker(), str(line._dash_pattern), str(line.get_markerfacecolor()))
        for line in risk.lines
        if "," in str(line.get_label())
    ]
    assert len(set(looks)) == len(looks) == 4


def test_the_recommended_limit_is_marked_in_both() -> None:
    made = plan(RARE)
    for ax in TradeoffDisplay.from_plan(made).ax_:
        assert [made.chosen.limit, made.chosen.limit] in [list(line.get_xdata()) for line in ax.lines]


@pytest.mark.parametrize("counts", [[1, 1], [5, 0], [50, 0, 0, 0], [3, 1, 0, 2]])
def test_any_plan_gives_a_figure_that_can_be_saved(counts: list[int]) -> None:
    display = TradeoffDisplay(plan(VoteDistribution.from_counts(counts), [0.5, 0.1]))
    assert not hasattr(display, "figure_")
    assert display.plot() is display
    buffer = io.BytesIO()
    display.figure_.savefig(buffer)
    assert buffer.getvalue().startswith(b"\x89PNG")


def test_it_draws_into_two_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(2)
    display = TradeoffDisplay.from_plan(plan(5, [0.1], confidence=None), ax=axes)
    assert display.ax_ == tuple(axes)
    with pytest.raises(InvalidInputError, match="two axes"):
        TradeoffDisplay.from_plan(plan(5, [0.1], confidence=None), ax=[axes[0]])


def test_a_plan_with_nothing_but_zero_cannot_be_drawn() -> None:
    with pytest.raises(InvalidInputError, match="above 0"):
        TradeoffDisplay.from_plan(plan(5, [0.0], confidence=None))


def test_pyplot_and_global_styles_are_left_alone() -> None:
    script = """
import sys
import foregone.display
from foregone import plan
made = plan(5, [0.1, 0.01], confidence=None)
assert "matplotlib" not in sys.modules
import matplotlib
before = dict(dict.items(matplotlib.rcParams))
foregone.display.TradeoffDisplay.from_plan(made).figure_.canvas.draw()
assert "matplotlib.pyplot" not in sys.modules
assert dict(dict.items(matplotlib.rcParams)) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[plot\]"):
        TradeoffDisplay.from_plan(plan(5, [0.1], confidence=None))
