"""Quotas and thresholds: the full vote is yes from so many votes on, in every command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from foregone import Solution, rules, solve
from tests.cli.conftest import Run

LIMIT = ("--max-disagreement", "0.01")


@pytest.fixture
def quota_file(tmp_path: Path) -> Path:
    file = tmp_path / "quota.json"
    solve("minimean", 20, 0.01, quota=3).save(file)
    return file


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    said = rng.random((60, 9)) < rng.beta(0.3, 0.6, (60, 1))
    rows = [f"q{item},{draw},{'yes' if yes else 'no'}" for (item, draw), yes in np.ndenumerate(said)]
    file = tmp_path / "votes.csv"
    file.write_text("item,draw,answer\n" + "\n".join(rows))
    return file


@pytest.mark.parametrize(
    ("options", "quota"),
    [
        (("--quota", "3"), 3),
        (("--quota", "0"), 0),
        (("--quota", "20"), 20),
        (("--threshold", "2/3"), 14),
        (("--threshold", "0.2"), 4),
        (("--threshold", "0.5"), 10),  # at least half, unlike a majority
        (("--threshold", "1"), 20),
        ((), 11),
    ],
)
def test_solve_takes_a_number_of_votes_or_a_share_of_them(
    options: tuple[str, ...], quota: int, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "strategy.json"
    outcome = run("solve", "--voters", "20", *LIMIT, *options, "-o", file)
    assert outcome.code == 0, outcome.err
    found, expected = Solution.load(file), solve("minimean", 20, 0.01, quota=quota)
    assert found.quota == quota
    assert found.strategy == expected.strategy
    words = f"With a quota of {quota} yes vote"
    assert (words in outcome.out) == (quota != 11)
    assert max(map(len, outcome.out.replace(str(file), "strategy.json").splitlines())) <= 80
    assert json.loads(run("solve", "--voters", "20", *LIMIT, *options, "--json").out)["quota"] == quota


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["solve", "--voters", "20", *LIMIT, "--quota", "21"], "quota must be from 0"),
        (["solve", "--voters", "20", *LIMIT, "--quota", "2.5"], "--quota"),
        (["solve", "--voters", "20", *LIMIT, "--quota", "3", "--threshold", "0.2"], "give only one of them"),
        (["solve", "--voters", "20", *LIMIT, "--threshold", "1.2"], "expected a share from 0 to 1"),
        (["solve", "--voters", "20", *LIMIT, "--threshold", "1/0"], "expected a share from 0 to 1"),
        (["solve", "--voters", "20", *LIMIT, "--threshold", "most"], "such as 0.2 or 2/3"),
        (["solve", "--voters", "7", "--n-answers", "3", *LIMIT, "--quota", "3"], "apply to yes/no votes"),
        (["plan", "--voters", "7", "--n-answers", "3", "--threshold", "0.2"], "apply to yes/no votes"),
        (["compare", "--voters", "7", "--n-answers", "3", "--quota", "2"], "apply to yes/no votes"),
        (["compare", "--voters", "20", "--quota", "3", "--rules", "lead:3"], "lead supports only majorities"),
        (["precompute", "--voters", "5,11", *LIMIT, "--quota", "7", "-o", "grid"], "n_voters=5"),
    ],
)
def test_a_quota_that_has_no_meaning_is_refused(
    arguments: list[str], hint: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert hint in outcome.err
    assert not list(tmp_path.iterdir())


def test_scores_have_no_quota(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scores.npy"
    np.save(file, np.ones((50, 4)))
    outcome = run("solve", "--scores", file, *LIMIT, "--confidence", "0.95", "--threshold", "0.2")
    assert outcome.code == 2
    assert "a sum above 0 is yes" in outcome.err


def test_show_draws_it_around_the_share_it_stands_for(run: Run, quota_file: Path, tmp_path: Path) -> None:
    outcome = run("show", quota_file, "--png", tmp_path / "quota.png")
    assert outcome.code == 0, outcome.err
    assert "yes votes above 12.5 % of those asked" in outcome.out
    assert "With a quota of 3 yes votes" in outcome.out
    assert "votes that would turn" in outcome.out
    assert "the majority is" not in outcome.out
    assert max(len(line.replace(str(tmp_path), "")) for line in outcome.out.splitlines()) <= 80
    assert json.loads(run("show", quota_file, "--json").out)["quota"] == 3


def test_show_and_evaluate_name_the_quota_of_a_strategy_alone(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    rules.curtailment(20, quota=1).save(file)
    assert run("show", file).out.startswith("Strategy for 20 voters, a quota of 1 yes vote\n")
    assert run("evaluate", file).out.startswith("Strategy for 20 voters, a quota of 1 yes vote\n")


def test_the_table_of_distances_has_the_disagreement_on_either_side_of_the_quota(
    run: Run, quota_file: Path
) -> None:
    risk = Solution.load(quota_file).evaluation.disagreement
    lines = run("evaluate", quota_file).out.split("votes that would turn")[1].splitlines()
    table = {words[0]: words[1:] for line in lines if (words := line.split()) and words[0].isdecimal()}
    assert table["1"] == [f"{risk[2]:.3g}", f"{risk[3]:.3g}"]
    assert table["3"] == [f"{risk[0]:.3g}", f"{risk[5]:.3g}"]
    assert table["18"] == [f"{risk[20]:.3g}"]  # there are not so many votes on the other side


@pytest.mark.parametrize("quota", [0, 20])
def test_what_is_always_or_never_yes_but_once_can_be_shown(quota: int, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solve("minimax", 20, 0, quota=quota).save(file)
    for command in ("show", "evaluate", "certify"):
        outcome = run(command, file)
        assert (outcome.code, outcome.err) == (0, "")


def test_certify_proves_it(run: Run, quota_file: Path, tmp_path: Path) -> None:
    assert run("certify", quota_file).out.count("PROVEN") == 2
    alone = tmp_path / "alone.json"
    rules.curtailment(20, quota=3).save(alone)
    assert "PROVEN  worst disagreement 0 <= 0" in run("certify", alone, "--max-disagreement", "0").out


def test_plan_recommends_a_command_that_solves_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("plan", "--voters", "20", "--threshold", "0.15")
    assert outcome.out.startswith("20 voters, a quota of 3 yes votes, minimean")
    command = outcome.out.split("  foregone solve ")[1].replace("\\\n", " ")
    assert run("solve", *shlex.split(command)).code == 0
    assert Solution.load("strategy.json").quota == 3


def test_compare_has_the_rules_that_know_of_quotas(run: Run, quota_file: Path) -> None:
    outcome = run("compare", "--voters", "20", "--quota", "3", "--json")
    content = json.loads(outcome.out)
    assert content["quota"] == 3
    assert list(content["strategies"]) == ["minimean", "minimixed", "minimax", "curtailment"]
    assert content["strategies"]["curtailment"]["worst"]["disagreement"] == 0
    assert "changed votes would turn" in " ".join(
        run("compare", "--voters", "20", "--quota", "3").out.split()
    )
    own = run("compare", "--voters", "20", "--quota", "3", "--rules", f"minimixed,{quota_file}")
    assert own.code == 0, own.err
    other = run("compare", "--voters", "20", "--rules", f"minimixed,{quota_file}")
    assert other.code == 2
    assert "with the same quota" in other.err


def test_precompute_names_files_by_the_quota_of_each_number_of_voters(run: Run, tmp_path: Path) -> None:
    grid = tmp_path / "grid"
    options = ("--voters", "5,6", *LIMIT, "--criterion", "minimixed", "--jobs", "1", "-o", grid)
    assert run("precompute", *options, "--threshold", "0.2").code == 0
    assert run("precompute", *options).code == 0
    found = {file.name: Solution.load(file).quota for file in grid.iterdir()}
    assert found == {
        "minimixed-5-0.01-quota-1.json": 1,
        "minimixed-6-0.01-quota-2.json": 2,
        "minimixed-5-0.01.json": 3,
        "minimixed-6-0.01.json": 4,
    }
    assert "0 solved, 2 kept from earlier runs" in run("precompute", *options, "--threshold", "0.2").out


def test_replay_counts_votes_against_the_quota(run: Run, recorded: Path) -> None:
    given = ("replay", recorded, "--voters", "9", "--splits", "2")
    outcome = run(*given, "--quota", "2")
    assert outcome.code == 0, outcome.err
    assert "A full vote is 9 of them, quota 2;" in outcome.out
    content = json.loads(run(*given, "--quota", "2", "--json").out)
    assert content["quota"] == 2
    rows = {row["method"]: row for row in content["rows"]}
    assert set(rows) <= {
        "minimean", "minimean-confident", "minimean-fitted", "minimixed", "minimax", "curtailment",
    }  # fmt: skip
    assert rows["curtailment"]["disagreement"] == 0
    plain = {row["method"]: row for row in json.loads(run(*given, "--json").out)["rows"]}
    assert rows["curtailment"]["calls"] != plain["curtailment"]["calls"]
    refused = run(*given, "--quota", "2", "--rules", "esc:3")
    assert refused.code == 2
    assert "esc supports only majorities" in refused.err


def test_a_replay_of_many_answers_has_no_quota(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("item,draw,answer\n" + "\n".join(f"q{i % 4},{i // 4},{'abc'[i % 3]}" for i in range(20)))
    outcome = run("replay", file, "--voters", "5", "--quota", "2")
    assert outcome.code == 2
    assert "--yes ANSWER" in outcome.err
