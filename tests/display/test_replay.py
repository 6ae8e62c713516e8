from __future__ import annotations

import pytest

from foregone.errors import InvalidInputError
from foregone.replaying import Curve, Replay, ReplayRow

pytest.importorskip("matplotlib")
from foregone.display import ReplayDisplay


def row(label: str, calls: float, disagreement: float, *, is_ours: bool = False) -> ReplayRow:
    return ReplayRow(label, label, None, is_ours, calls, disagreement, None, None, calls, 0.5, {})


def made(*rows: ReplayRow) -> Replay:
    curve = Curve("ours", (0.0, 0.01, 0.1), (9.0, 6.0, 2.0), (0.0, 0.011, 0.09))
    return Replay(rows, (curve,), 10, 5, 1, 0, None)


def test_ours_is_a_line_and_every_method_a_mark_where_it_was_measured():
    display = ReplayDisplay.from_replay(
        made(row("ours", 6.0, 0.011, is_ours=True), row("lead of 3", 4.0, 0.05), row("lead of 3", 3.0, 0.07))
    )
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert lines["ours, as the limit varies"].get_xydata().tolist() == [[0.011, 6.0], [0.09, 2.0]]
    assert lines["lead of 3"].get_xydata().tolist() == [[0.05, 4.0], [0.07, 3.0]]
    assert [0.011, 6.0] in [xy for line in display.ax_.lines for xy in line.get_xydata().tolist()]
    assert display.ax_.get_xscale() == "log"
    assert display.figure_ is display.ax_.figure


def test_it_draws_into_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert ReplayDisplay.from_replay(made(row("lead of 3", 4.0, 0.05)), ax=ax).ax_ is ax


def test_without_any_disagreement_there_is_nothing_to_draw():
    with pytest.raises(InvalidInputError, match="nothing to plot"):
        ReplayDisplay.from_replay(made(row("curtailment", 7.0, 0.0)))
