"""Limits on accuracy and costs at the command line, and values of disagreements."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from foregone import LabelledVotes, ScoreStrategy, Solution, load, plan, solve
from foregone.scores import ScoreRows
from tests.cli.conftest import Run

N = 11
NO = [900, 300, 120, 60, 40, 30, 20, 15, 10, 8, 6, 5]
YES = [5, 6, 8, 12, 20, 24, 30, 50, 90, 150, 300, 700]
LABELLED = LabelledVotes.from_counts(NO, YES)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    file = tmp_path / "labelled.csv"
    file.write_text(
        "n,no,yes\n" + "\n".join(f"{n},{no},{yes}" for n, (no, yes) in enumerate(zip(NO, YES, strict=True)))
    )
    return file


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(4000, 1))
    np.save(tmp_path / "scores.npy", rng.normal(mean, 1, size=(4000, 20)))
    truth = mean[:, 0] + rng.normal(scale=0.5, size=4000) > 0
    np.save(tmp_path / "labels.npy", truth.astype(np.int64))
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(str(int(one)) for one in truth))
    return tmp_path / "scores.npy"


def test_a_limit_on_accuracy_is_solved_and_told(run: Run, labelled: Path, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    given = ("solve", "--votes", labelled, "--max-accuracy-loss", "0.01")
    outcome = run(*given, "-o", file)
    assert outcome.code == 0, outcome.err
    expected = solve("minimean", LABELLED.votes, 0.01, values=LABELLED.values())
    found = Solution.load(file)
    assert found.strategy == expected.strategy
    assert found.values == expected.values
    assert "loss at most 0.01" in outcome.out
    words = " ".join(outcome.out.split())
    lost = LABELLED.losses(expected.evaluation.disagreement)
    assert f"On these inputs the accuracy falls by {lost['all']:.3g}" in words
    assert f"The accuracy of the full vote is {100 * LABELLED.accuracy():.4g} %." in words
    told = json.loads(run(*given, "--json").out)
    assert told["accuracy_loss"] == pytest.approx(lost["all"])
    assert told["accuracy_loss_by_class"] == pytest.approx({side: lost[side] for side in ("no", "yes")})
    assert told["full_accuracy"] == LABELLED.accuracy()
    assert told["values"] == LABELLED.values().tolist()
    assert "loss at most 0.01" in run("show", file).out
    assert "PROVEN  mean loss" in run("certify", file).out


def test_each_true_class_can_have_a_limit_on_its_accuracy(run: Run, labelled: Path, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    outcome = run("solve", "--votes", labelled, "--max-accuracy-loss", "yes=0.005,no=0.02", "-o", file)
    assert outcome.code == 0, outcome.err
    lost = LABELLED.losses(Solution.load(file).evaluation.disagreement)
    assert lost["yes"] <= 0.005
    assert lost["no"] <= 0.02


def test_a_limit_on_costs_is_in_their_unit(run: Run, labelled: Path) -> None:
    given = ("solve", "--votes", labelled, "--max-accuracy-loss", "0.05", "--costs", "0,1;10,0")
    told = json.loads(run(*given, "--json").out)
    assert told["max_disagreement"] == pytest.approx(0.005)
    assert told["cost_rise"] <= 0.05 + 0.01  # values are isotonic, costs are not
    assert "the mean cost" in run(*given).out


def test_a_quota_goes_with_a_limit_on_accuracy(run: Run, labelled: Path) -> None:
    told = json.loads(
        run("solve", "--votes", labelled, "--max-accuracy-loss", "0.01", "--quota", "3", "--json").out
    )
    assert told["quota"] == 3
    assert told["full_accuracy"] == LABELLED.accuracy(quota=3)
    assert told["values"] == LABELLED.values(quota=3).tolist()


def test_values_of_a_file_are_solved_for(run: Run, tmp_path: Path) -> None:
    values, file = tmp_path / "values.csv", tmp_path / "strategy.json"
    values.write_text("\n".join(str(abs(n - 5.5) / 5.5) for n in range(12)))
    outcome = run("solve", "--voters", "11", "--max-disagreement", "0.01", "--values", values, "-o", file)
    assert outcome.code == 0, outcome.err
    expected = solve("minimean", 11, 0.01, values=np.abs(np.arange(12) - 5.5) / 5.5)
    assert Solution.load(file).strategy == expected.strategy
    words = " ".join(outcome.out.split())
    assert "The loss, the disagreement with the full vote times its value, is at most 0.01" in words


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ((), "--max-disagreement RATE or, with true labels, --max-accuracy-loss RATE"),
        (("--max-disagreement", "0.1", "--max-accuracy-loss", "0.1"), "not both"),
        (("--max-disagreement", "0.1", "--costs", "0,1;10,0"), "--costs needs --max-accuracy-loss"),
        (("--max-disagreement", "0.1", "--labels", "labels.csv"), "give --max-accuracy-loss"),
        (("--max-accuracy-loss", "0.1", "--labels", "labels.csv"), "three columns"),
        (("--max-accuracy-loss", "0.1", "--values", "values.csv"), "omit --values"),
        (("--max-accuracy-loss", "0.1", "--confidence", "0.95"), "--confidence is not available"),
        (("--max-accuracy-loss", "2"), "from 0 to 1"),
        (("--max-accuracy-loss", "-1", "--costs", "0,1;10,0"), "expected a number of at least 0"),
        (("--max-accuracy-loss", "0.1", "--costs", "0,1;10"), "0,1;10,0"),
        (("--max-accuracy-loss", "0.1", "--costs", "0,1;x,0"), "0,1;10,0"),
        (("--max-accuracy-loss", "0.1", "--costs", "0,0;0,0"), "costs must differ between answers"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    options: tuple[str, ...], hint: str, run: Run, labelled: Path
) -> None:
    outcome = run("solve", "--votes", labelled, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert hint in outcome.err


def test_counts_without_the_truth_have_no_accuracy(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("5\n1\n2\n9\n")
    outcome = run("solve", "--votes", file, "--max-accuracy-loss", "0.1")
    assert outcome.code == 2
    assert "three columns in --votes" in outcome.err


def test_plan_tells_both_currencies_and_a_command_that_works(
    run: Run, labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(labelled.parent)
    outcome = run("plan", "--votes", "labelled.csv", "--confidence", "none", "--csv", "plan.csv")
    assert outcome.code == 0, outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    made = plan(LABELLED, confidence=None)
    words = " ".join(outcome.out.split("Recommendation")[1].split())
    for paragraph in made.advise():
        assert paragraph in words
    assert f"The accuracy of the full vote is {100 * LABELLED.accuracy():.2f} %" in outcome.out
    for title in ("accuracy loss", "disagreement", "full votes", "truly no", "truly yes"):
        assert title in outcome.out
    command = outcome.out.split("  foregone solve ")[1].split("\n\n")[0].replace("\\\n", " ")
    assert "--max-accuracy-loss" in command
    assert run("solve", *shlex.split(command)).code == 0
    assert Solution.load("strategy.json").expected_votes == pytest.approx(made.recommended.expected_votes)
    with Path("plan.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["max_accuracy_loss"]) for row in rows] == [row.limit for row in made.rows]
    assert {"accuracy_loss", "accuracy_loss_no", "accuracy_loss_yes", "disagreement"} <= rows[0].keys()


def test_plan_in_json_says_what_is_limited(run: Run, labelled: Path) -> None:
    content = json.loads(run("plan", "--votes", labelled, "--limits", "0.05,0.01", "--json").out)
    made = plan(LABELLED, [0.05, 0.01])
    assert content["loss"] == "accuracy"
    assert content["full_accuracy"] == made.full_accuracy
    assert content["limits"] == made.records()
    assert content["votes_in_disagreement"] == made.votes_in_disagreement
    assert content["recommended"] == made.max_accuracy_loss


@pytest.mark.parametrize("labels", ["labels.npy", "labels.csv"])
def test_scores_with_labels_are_planned_and_solved_in_accuracy(
    labels: str, run: Run, scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("plan", "--scores", "scores.npy", "--labels", labels, "--limits", "0.05,0.02")
    assert outcome.code == 0, outcome.err
    rows = ScoreRows(np.load(scores), labels=np.load("labels.npy").astype(bool))
    made = plan(rows, [0.05, 0.02])
    words = " ".join(outcome.out.split("Recommendation")[1].split())
    assert made.advise()[0] in words
    command = outcome.out.split("  foregone solve ")[1].replace("\\\n", " ")
    solved = run("solve", *shlex.split(command))
    assert solved.code == 0, solved.err
    assert "the accuracy of this classifier" in " ".join(solved.out.split())
    strategy = load("strategy.json")
    assert isinstance(strategy, ScoreStrategy)
    assert strategy.certificate is not None


@pytest.mark.parametrize(
    ("content", "hint"),
    [("1\n2\n1\n", "from 0 to 1"), ("0,1\n1,0\n", "2 columns"), ("label\nyes\nno\n", "class numbers")],
)
def test_labels_that_are_none_are_refused(
    content: str, hint: str, run: Run, scores: Path, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(content)
    outcome = run("plan", "--scores", scores, "--labels", file)
    assert outcome.code == 2
    assert hint in outcome.err


def test_labels_are_of_scores(run: Run, labelled: Path) -> None:
    outcome = run("plan", "--votes", labelled, "--labels", labelled)
    assert outcome.code == 2
    assert "--labels needs --scores" in outcome.err
