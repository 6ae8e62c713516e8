from __future__ import annotations

import json
from pathlib import Path

import pytest

from foregone import Solution, StoppingStrategy, VoteDistribution, solve
from tests.cli.conftest import Run


@pytest.mark.parametrize("criterion", ["minimax", "minimean", "minimixed"])
def test_what_it_writes_is_the_solution_with_its_evidence(criterion: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    outcome = run(
        "solve", "--voters", "11", "--max-disagreement", "0.01", "--criterion", criterion, "-o", file
    )
    assert outcome.code == 0
    expected = solve(criterion, 11, 0.01)  # type: ignore[arg-type]  # a plain str here
    written = Solution.load(file)
    assert written.strategy == expected.strategy
    assert written.criterion == criterion
    assert written.expected_votes == expected.expected_votes
    assert f"{expected.expected_votes:.6g}" in outcome.out
    assert str(file) in outcome.out


def test_json_has_every_digit_and_the_strategy(run: Run) -> None:
    outcome = run("solve", "--voters", "21", "--max-disagreement", "1e-3", "--json")
    content = json.loads(outcome.out)
    expected = solve("minimean", 21, 1e-3)
    assert content["expected_votes"] == expected.expected_votes
    assert content["lower_bound"] == expected.lower_bound
    assert content["disagreement"] == expected.disagreement
    parts = content["strategy"]
    rebuilt = StoppingStrategy.from_thresholds(
        parts["lower"], parts["upper"], map(tuple, parts["exceptions"])
    )
    assert rebuilt == expected.strategy


def test_votes_come_from_a_file_and_bring_the_number_of_voters(run: Run, tmp_path: Path) -> None:
    counts = [5.0, 0, 0, 0, 1, 4]
    file = tmp_path / "counts.csv"
    file.write_text("n,count\n" + "".join(f"{n},{count:g}\n" for n, count in enumerate(counts)))
    outcome = run("solve", "--votes", file, "--max-disagreement", "0.1", "--json")
    expected = solve("minimean", VoteDistribution.from_counts(counts), 0.1)
    content = json.loads(outcome.out)
    assert (content["n_voters"], content["n_observations"]) == (5, 10)
    assert content["expected_votes"] == expected.expected_votes


@pytest.mark.parametrize("n_voters", ["1", "2", "10"])
@pytest.mark.parametrize("rate", ["0", "0.3", "1"])
def test_every_size_and_rate_gives_text_that_fits_80_columns(n_voters: str, rate: str, run: Run) -> None:
    outcome = run("solve", "--voters", n_voters, "--max-disagreement", rate)
    assert outcome.code == 0
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
