from __future__ import annotations

import json
from pathlib import Path

import pytest

from foregone import Solution, VoteDistribution, evaluate, rules
from tests.cli.conftest import Run


def test_json_has_the_figures_for_every_n_with_every_digit(run: Run, strategy_file: Path) -> None:
    content = json.loads(run("evaluate", strategy_file, "--json").out)
    expected = evaluate(Solution.load(strategy_file).strategy)
    assert content["expected_votes"] == expected.expected_votes.tolist()
    assert content["disagreement"] == expected.disagreement.tolist()
    assert content["mean"] == expected.mean(VoteDistribution.flat(11))._asdict()
    assert content["worst"] == expected.worst()._asdict()
    assert sum(content["votes_asked"]) == pytest.approx(1)


def test_the_mean_is_over_the_votes_it_was_solved_for_unless_others_are_given(
    run: Run, strategy_file: Path, tmp_path: Path
) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("1" + ",0" * 11)
    content = json.loads(run("evaluate", strategy_file, "--votes", counts, "--json").out)
    assert content["mean"]["expected_votes"] == content["expected_votes"][0]


def test_the_text_says_mean_and_worst(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "curtailment.json"
    rules.curtailment(101).save(file)
    out = run("evaluate", file).out
    assert "70.20" in out
    assert "100.04" in out
    assert "never more than 101" in " ".join(out.split())
