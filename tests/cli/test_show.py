from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foregone import StoppingStrategy, rules, solve
from tests.cli.conftest import Run

PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


@pytest.mark.parametrize("n_voters", [1, 2, 101, 1001])
def test_the_picture_fits_80_columns_and_names_the_regions(n_voters: int, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solve("minimean", n_voters, 1e-3).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
    for words in ("stop: the answer is YES", "stop: the answer is NO", "go on asking", "votes asked"):
        assert words in outcome.out
    assert "\x1b" not in outcome.out


def test_states_where_chance_decides_are_marked_and_listed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solution = solve("minimixed", 101, 1e-3)
    solution.save(file)
    outcome = run("show", file)
    assert outcome.out.count("◆ Chance decides after") == len(solution.strategy.randomised)
    asked, yes, probability = solution.strategy.randomised[0]
    assert (
        f"after {asked} votes at {yes} : {asked - yes}: stops with probability {probability:.4g}"
        in outcome.out
    )


def test_a_strategy_that_asks_nobody_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solve("minimean", 5, 1.0).save(file)
    assert "asks nobody: it answers no" in run("show", file).out
    StoppingStrategy.from_rows(5, lambda asked: np.ones(asked + 1), yes_from=[0, 1, 2, 2, 3, 3]).save(file)
    assert "asks nobody: it answers yes" in run("show", file).out


def test_looks_and_answers_of_its_own_are_told(run: Run, tmp_path: Path) -> None:
    file, every_vote = tmp_path / "strategy.json", solve("minimixed", 101, 1e-3).strategy
    every_vote.save(file)
    out = run("show", file).out
    assert "looks only now and then" not in out
    assert "not always answer the majority" not in out
    StoppingStrategy.from_rows(
        101,
        lambda asked: every_vote.stop_probabilities(asked) if asked % 25 == 0 else np.zeros(asked + 1),
        yes_from=[*np.arange(101) * 3 // 4, 51],
    ).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert "it can stop after 25, 50, 75, 100, 101 votes" in outcome.out
    assert "does not always answer the majority" in outcome.out


def test_a_strategy_without_a_solution_can_be_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    rules.lead(21, k=3).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert outcome.out.startswith("Strategy for 21 voters")


def test_the_png_is_a_whole_png_and_nothing_else_is_left(
    run: Run, strategy_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    outcome = run("show", strategy_file, "--png", picture)
    assert outcome.code == 0
    content = picture.read_bytes()
    assert content.startswith(PNG_START)
    assert content.endswith(PNG_END)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["picture.png", "strategy.json"]
