from __future__ import annotations

import csv
import json
import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from foregone import Solution, VoteDistribution, plan
from foregone.cli.options import recorded_items
from foregone.plurality import PluralitySolution
from foregone.scores import ScoreRows
from tests.cli.conftest import Run

COUNTS = [4000, 300, 100, 60, 40, *[15] * 6, *[4] * 7, 5, 6, 8, 9]  # 21 voters, yes is rare
VOTES = VoteDistribution.from_counts(COUNTS)


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    file = tmp_path / "counts.csv"
    file.write_text("\n".join(map(str, COUNTS)))
    return file


def test_the_text_fits_80_columns_and_ends_in_the_recommendation(run: Run, counts: Path, monkeypatch) -> None:
    monkeypatch.chdir(counts.parent)
    outcome = run("plan", "--votes", "counts.csv")
    assert outcome.code == 0
    # On Windows, whose shells do not agree on how to continue a line, the command is one.
    lines = [line for line in outcome.out.splitlines() if os.name == "posix" or "foregone" not in line]
    assert max(map(len, lines)) <= 80
    assert outcome.out.startswith("21 voters, minimean, 95 % confidence\n")
    words = " ".join(outcome.out.split("Recommendation")[1].split())
    for paragraph in plan(VOTES).advise():
        assert paragraph in words
    assert run("plan", "--votes", "counts.csv").out == outcome.out


def test_the_command_it_recommends_solves_what_it_planned(
    run: Run, counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(counts.parent)
    options = ("--votes", "counts.csv", "--confidence", "0.9", "--looks", "5", "--answer", "likeliest")
    outcome = run("plan", *options)
    command = outcome.out.split("  foregone solve ")[1].replace("\\\n", " ")
    assert run("solve", *shlex.split(command)).code == 0
    solution = Solution.load("strategy.json")
    made = plan(VOTES, confidence=0.9, looks=5, answer="likeliest")
    assert solution.max_disagreement == made.max_disagreement
    assert (solution.confidence, solution.answer) == (0.9, "likeliest")
    assert solution.expected_votes == pytest.approx(made.recommended.expected_votes)


def test_json_has_every_digit(run: Run, counts: Path) -> None:
    content = json.loads(run("plan", "--votes", counts, "--limits", "1e-2,1e-3,0.5", "--json").out)
    made = plan(VOTES, [0.5, 1e-2, 1e-3])
    assert content["limits"] == made.records()
    assert content["limits"][0]["speed_up"] is None  # nobody is asked
    assert content["recommended"] == made.max_disagreement
    assert content["recommendation"] == made.advise()
    assert (content["confidence"], content["n_observations"]) == (0.95, sum(COUNTS))


def test_csv_has_every_digit(run: Run, counts: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    assert run("plan", "--votes", counts, "--criterion", "minimixed", "--csv", file).code == 0
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    expected = plan(VOTES, criterion="minimixed").records()
    assert [
        {name: float(value) if value else None for name, value in row.items()} for row in rows
    ] == expected


def test_png_is_written_whole(run: Run, counts: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "plan.png"
    outcome = run("plan", "--votes", counts, "--limits", "1e-1,1e-2", "--png", file)
    assert str(file) in outcome.out
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_without_observed_votes_it_says_that_there_is_no_confidence(run: Run) -> None:
    outcome = run("plan", "--voters", "11", "--limits", "0.1,0.01")
    assert outcome.out.startswith("11 voters, minimean\nMeans over flat votes")
    assert "Confidence 0.95 was ignored" in outcome.out
    assert "was ignored" not in run("plan", "--voters", "1", "--confidence", "none").out


def test_one_voter_is_one_voter(run: Run) -> None:
    for command in ("plan --voters 1", "solve --voters 1 --max-disagreement 0.1", "compare --voters 1"):
        assert "1 voters" not in run(*command.split()).out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--voters", "11", "--criterion", "best"], "minimax, minimean, minimixed"),
        (["--voters", "11", "--limits", "0.1,2"], "--limits: expected numbers from 0 to 1"),
        (["--voters", "11", "--limits", ""], "--limits"),
        (["--voters", "11", "--confidence", "1"], "strictly between"),
        (["--voters", "11", "--confidence", "sure"], "--confidence"),
        (["--voters", "11", "--looks", "x"], "--looks"),
        (["--voters", "11", "--looks", "0"], "looks must be"),
        (["--voters", "11", "--answer", "x"], "answer must be one of"),
        (["--voters", "11", "--worth", "-1"], "worth must be"),
        (["--votes", "missing.csv"], "cannot read missing.csv"),
        ([], "--votes FILE"),
        (["--voters", "11", "--csv", "nowhere/plan.csv"], "create it first"),
        (["--voters", "11", "--png", "."], "it is a folder"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(
    arguments: list[str], hint: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("plan", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert hint in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Seven votes on each of 90 items, among three answers."""
    file = tmp_path / "answers.csv"
    rows = [f"q{item},{draw},{draw * item % 3 if draw > 3 else 0}" for item in range(90) for draw in range(7)]
    file.write_text("item,draw,answer\n" + "\n".join(rows))
    return file


def test_many_answers_are_planned_for_as_the_library_does(run: Run, recorded: Path) -> None:
    given = ["--voters", "7", "--n-answers", "3", "--votes", recorded, "--limits", "0.2,0.05"]
    content = json.loads(run("plan", *given, "--json").out)
    votes = recorded_items(recorded, 7, 3, None)
    made = plan(votes.observed, [0.2, 0.05])
    assert content["limits"] == made.records()
    assert (content["n_observations"], content["class_budgets"]) == (90, None)
    as_truth = json.loads(run("plan", *given, "--confidence", "none", "--json").out)
    expected = plan(votes.averaged, [0.2, 0.05], confidence=None)
    assert as_truth["limits"] == expected.records()


def test_the_command_recommended_for_many_answers_can_be_run(
    run: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recorded.parent)
    outcome = run(
        "plan", "--voters", "7", "--n-answers", "any", "--votes", "answers.csv", "--limits", "0.2,0.1"
    )
    assert outcome.out.startswith("7 voters, any answers, minimean, 95 % confidence\n")
    assert "when yes" not in outcome.out
    command = outcome.out.split("  foregone solve ")[1].replace("\\\n", " ")
    assert run("solve", *shlex.split(command)).code == 0
    solution = PluralitySolution.load("strategy.json")
    assert f"Use a limit of {solution.max_disagreement:g}" in outcome.out
    assert (solution.confidence, solution.n_classes) == (0.95, None)


def test_many_answers_without_votes_are_taken_as_flat(run: Run) -> None:
    outcome = run("plan", "--voters", "5", "--n-answers", "3", "--limits", "0.1")
    assert "Means over flat votes: every split of the votes equally likely" in outcome.out


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--n-answers", "3"], "--voters N"),
        (["--n-answers", "few", "--voters", "5"], "--n-answers must be an integer"),
        (["--n-answers", "3", "--voters", "5", "--looks", "2"], "for votes between two answers"),
        (["--n-answers", "3", "--voters", "5", "--answer", "likeliest"], "for votes between two answers"),
    ],
)
def test_what_has_no_meaning_for_many_answers_is_refused(options: list[str], hint: str, run: Run) -> None:
    outcome = run("plan", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert hint in outcome.err


def test_scores_of_a_file_are_planned(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "scores.npy"
    np.save(file, rng.normal(rng.normal(size=(2000, 1)), 1, size=(2000, 20)))
    outcome = run("plan", "--scores", file, "--limits", "0.1,0.05")
    assert outcome.code == 0, outcome.err
    assert "Estimated from part of 2,000 rows in" in outcome.out
    assert "certify the limit you choose on the other half" in " ".join(outcome.out.split())
    assert f"foregone solve --scores {file} --confidence 0.95" in outcome.out
    assert run("plan", "--scores", file, "--voters", "20").code == 2


def test_scores_of_many_classes_in_a_file_are_planned(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=(2000, 1))
    scores = rng.normal((truth == [0, 1, 2])[:, None], 1, size=(2000, 12, 3))
    file = tmp_path / "scores.npy"
    np.save(file, scores.reshape(2000, -1))
    given = ("plan", "--scores", file, "--n-answers", "3", "--limits", "0.1,0.05")
    outcome = run(*given)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("12 voters, 3 classes, minimean")
    assert f"foregone solve --scores {file} --n-answers 3 --confidence 0.95" in outcome.out
    limits = json.loads(run(*given, "--json").out)["limits"]
    expected = plan(ScoreRows(scores), [0.1, 0.05])
    assert limits == json.loads(json.dumps(expected.records()))
    assert {"disagreement_0", "disagreement_1", "disagreement_2"} <= limits[0].keys()
