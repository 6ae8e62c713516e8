from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foregone import Solution, StoppingStrategy, VoteDistribution, load, solve, solve_scores
from foregone.plurality import PluralitySolution
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


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    file = tmp_path / "counts.csv"
    file.write_text("800,120,40,20,10,10,20,10,30,40,60")
    return file


VOTES = VoteDistribution.from_counts([800, 120, 40, 20, 10, 10, 20, 10, 30, 40, 60])


def test_it_takes_budgets_confidence_looks_and_answers(run: Run, counts: Path, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    options = ("--confidence", "0.9", "--looks", "2,5", "--answer", "likeliest", "--json", "-o", file)
    outcome = run("solve", "--votes", counts, "--max-disagreement", "yes=0.1,no=0.02", *options)
    limits = {"yes": 0.1, "no": 0.02}
    expected = solve("minimean", VOTES, limits, confidence=0.9, looks=[2, 5], answer="likeliest")
    written, content = Solution.load(file), json.loads(outcome.out)
    assert written.strategy == expected.strategy
    assert written.max_disagreement == content["max_disagreement"] == limits
    assert content["disagreement"] == expected.disagreement
    assert (content["confidence"], content["looks"], content["answer"]) == (0.9, [2, 5, 10], "likeliest")
    assert set(content["mean_by_class"]) == set(content["worst_by_class"]) == {"yes", "no"}


@pytest.mark.parametrize("command", ["solve", "show", "certify"])
def test_every_limit_is_named_in_the_text(command: str, run: Run, counts: Path, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    options = (
        "--votes",
        counts,
        "--max-disagreement",
        "yes=0.1,no=0.02",
        "--confidence",
        "0.9",
        "--looks",
        "2",
    )
    solved = run("solve", *options, "-o", file)
    out = solved.out if command == "solve" else run(command, file).out
    if command == "certify":
        assert out.count("PROVEN  at 0.9 confidence, largest mean disagreement") == 2
        return
    assert "disagreement at most 0.1 (yes) and 0.02 (no)" in out
    assert "90 % confidence" in out
    assert "every 2 votes" in out
    assert "when the full vote is yes" in out
    lines = out.replace(str(file), "strategy.json").replace(str(counts), "counts.csv").splitlines()
    assert max(map(len, lines)) <= 80


def test_a_confidence_without_observed_votes_is_refused(run: Run) -> None:
    outcome = run("solve", "--voters", "11", "--max-disagreement", "0.1", "--confidence", "0.95")
    assert outcome.code == 2
    assert "observed inputs" in outcome.err


@pytest.mark.parametrize(
    "limits", ["", "much", "yes=0.1", "yes=0.1,no=2", "yes=0.1,maybe=0.1", "yes=0.1,no", "yes=0.1,yes=0.2"]
)
def test_limits_that_are_none_are_refused(limits: str, run: Run) -> None:
    outcome = run("solve", "--voters", "11", "--max-disagreement", limits)
    assert outcome.code == 2
    assert "yes=1e-3,no=1e-2" in outcome.err


def test_many_answers_are_solved_written_and_proven(run: Run, tmp_path: Path) -> None:
    votes, file = tmp_path / "votes.csv", tmp_path / "many.json"
    rows = [f"q{item},{draw},{draw * item % 3 if draw > 4 else 0}" for item in range(9) for draw in range(7)]
    votes.write_text("item,draw,answer\n" + "\n".join(rows))
    given = ["--voters", "7", "--n-answers", "3", "--votes", votes, "--max-disagreement", "0.2"]
    outcome = run("solve", *given, "--confidence", "0.9", "-o", file)
    assert outcome.code == 0, outcome.err
    solution = PluralitySolution.load(file)
    assert (solution.confidence, solution.distribution.n_observations) == (0.9, 9)
    assert f"expected votes   {solution.expected_votes:<12.6g}" in outcome.out
    assert "worst-case mean at 90 % confidence" in outcome.out
    assert "certified on     7            items, not used for learning" in outcome.out
    assert "lower bound" not in outcome.out
    assert json.loads(run("solve", *given, "--confidence", "0.9", "--json").out)["n_certified_on"] == 7
    content = json.loads(run("solve", *given, "--json").out)
    assert (content["confidence"], content["n_certified_on"]) == (None, None)
    assert content["expected_votes"] <= solution.expected_votes
    refused = run("solve", *given, "--looks", "2")
    assert "many answers take a single limit, and no looks" in refused.err


@pytest.fixture
def score_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    file = tmp_path / "scores.npy"
    np.save(file, rng.normal(rng.normal(size=(2000, 1)), 1, size=(2000, 20)))
    return file


def test_scores_of_a_file_are_solved_and_saved(run: Run, tmp_path: Path, score_file: Path) -> None:
    output = tmp_path / "strategy.json"
    given = ("solve", "--scores", score_file, "--max-disagreement", "0.05", "--confidence", "0.95")
    outcome = run(*given, "-o", output)
    assert outcome.code == 0, outcome.err
    assert "20 voters, scores on 2,000 rows" in outcome.out
    assert "With 95 % confidence, this classifier disagrees" in outcome.out
    expected = solve_scores(np.load(score_file), 0.05, order="given", random_state=0)
    assert load(output) == expected
    told = json.loads(run(*given, "--json").out)
    assert told["expected_votes"] == expected.certificate.mean_asked


def test_scores_that_cannot_be_certified_say_why(run: Run, score_file: Path) -> None:
    outcome = run("solve", "--scores", score_file, "--max-disagreement", "1e-5", "--confidence", "0.95")
    assert outcome.code == 0
    assert "Nothing is promised" in outcome.out
    assert "Every voter will be asked: the certification half has 1,000 rows" in outcome.out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "--scores needs a confidence"),
        (("--confidence", "0.95", "--criterion", "minimax"), "bounds the mean over rows"),
        (("--confidence", "0.95", "--voters", "20"), "--scores cannot be combined"),
        (("--confidence", "0.95", "--n-answers", "3"), "20 columns, which is not a multiple of 3 classes"),
        (("--confidence", "0.95", "--n-answers", "any"), "--n-answers any is not valid with --scores"),
        (("--confidence", "0.95", "--n-answers", "1"), "--n-answers 1 is not valid with --scores"),
        (("--confidence", "0.95", "--votes", "votes.csv"), "--scores cannot be combined"),
    ],
)
def test_what_has_no_meaning_for_scores_is_refused(
    run: Run, score_file: Path, options: tuple[str, ...], reason: str
) -> None:
    outcome = run("solve", "--scores", score_file, "--max-disagreement", "0.05", *options)
    assert outcome.code == 2
    assert reason in " ".join(outcome.err.split())


@pytest.fixture
def class_scores() -> np.ndarray:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=(2000, 1))
    return rng.normal((truth == [0, 1, 2])[:, None], 1, size=(2000, 12, 3))


@pytest.mark.parametrize("kind", ["npy", "flat npy", "csv", "parquet"])
def test_scores_of_many_classes_are_read_from_every_format(
    kind: str, run: Run, tmp_path: Path, class_scores: np.ndarray
) -> None:
    file, output = tmp_path / f"scores.{kind.split()[-1]}", tmp_path / "strategy.json"
    names = [f"voter {voter} class {number}" for voter in range(12) for number in range(3)]
    table = pd.DataFrame(class_scores.reshape(2000, -1), columns=names)
    if kind == "csv":
        table.to_csv(file, index=False)
    elif kind == "parquet":
        table.to_parquet(file)
    else:
        np.save(file, class_scores if kind == "npy" else table.to_numpy())
    answers = [] if kind == "npy" else ["--n-answers", "3"]
    limit = ["--max-disagreement", "0.05", "--confidence", "0.95"]
    outcome = run("solve", "--scores", file, *answers, *limit, "-o", output)
    assert outcome.code == 0, outcome.err
    assert "12 voters, 3 classes, scores on 2,000 rows" in outcome.out
    assert "stops at a lead of" in outcome.out
    expected = solve_scores(class_scores, 0.05, order="given", random_state=0)
    assert expected.certificate is not None
    assert load(output) == expected


def test_classes_with_voters_of_their_own_are_dropped(
    run: Run, tmp_path: Path, class_scores: np.ndarray
) -> None:
    file, output = tmp_path / "scores.npy", tmp_path / "strategy.json"
    np.save(file, class_scores)
    given = ["--scores", file, "--drop-classes", "--confidence", "0.95"]
    outcome = run("solve", *given, "--max-disagreement", "0.05", "-o", output)
    assert outcome.code == 0, outcome.err
    assert "36 voters, 3 classes" in outcome.out
    assert load(output) == solve_scores(class_scores, 0.05, order="given", random_state=0, drops_classes=True)
    planned = run("plan", *given)
    assert planned.code == 0, planned.err
    assert "foregone solve --drop-classes --scores" in planned.out
    np.save(file, class_scores[:, :, 0])
    assert "needs scores of more than two classes" in run("plan", *given).err


def test_what_has_no_meaning_for_scores_of_many_classes_is_refused(
    run: Run, tmp_path: Path, class_scores: np.ndarray
) -> None:
    file = tmp_path / "scores.npy"
    np.save(file, class_scores)
    given = ["solve", "--scores", file, "--confidence", "0.95", "--max-disagreement"]
    for options, reason in (
        (["yes=0.1,no=0.1"], "need two classes"),
        (["0.05", "--n-answers", "4"], "scores for 3 classes, but --n-answers is 4"),
    ):
        outcome = run(*given, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert reason in " ".join(outcome.err.split())
    np.save(file, class_scores[..., None])
    assert "its array has the shape (2000, 12, 3, 1)" in run(*given, "0.05").err


def test_a_confidence_without_observed_votes_is_refused_for_many_answers_too(run: Run) -> None:
    given = ("solve", "--voters", "9", "--max-disagreement", "0.05", "--confidence", "0.95")
    for answers in ((), ("--n-answers", "3")):
        outcome = run(*given, *answers)
        assert outcome.code == 2
        assert "observed" in outcome.err
