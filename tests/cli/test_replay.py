from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fuzzing.formats.inspect_zip import log_members, log_samples, zip_of

from foregone import rules
from foregone.replaying import YesNoItems, choose_methods, read_votes, replay
from tests.cli.conftest import Run
from tests.systems import posix


@pytest.fixture
def votes_file(tmp_path: Path) -> Path:
    generator = np.random.default_rng(7)
    lines = ["item,draw,answer,tokens"]
    for item in range(30):
        inclination = generator.beta(0.4, 0.8)
        for draw in range(6):
            answer = "Yes" if generator.random() < inclination else "No"
            lines.append(f"q{item},{draw},{answer},{generator.integers(50, 400)}")
    file = tmp_path / "votes.csv"
    file.write_text("\n".join(lines))
    return file


def test_methods_stand_side_by_side_on_80_columns(run: Run, votes_file: Path) -> None:
    outcome = run("replay", votes_file, "--voters", "5", "--splits", "2", "--max-disagreement", "0.05,0.1")
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    table = [line for line in lines if str(votes_file) not in line]  # the name of the file may be long
    assert max(len(line) for line in table) <= 80
    assert "30 items of 6 votes (yes: Yes; no: No)" in outcome.out
    assert "Calibrated on 15 items, measured on the other 15: means over 2 random splits" in outcome.out
    assert sum(line.startswith("minimean, 95 %") for line in lines) == 2
    items = YesNoItems.of(read_votes(votes_file), 5)
    (row,) = replay(items, choose_methods(["esc:5"]), splits=2).rows
    cells = next(line for line in lines if line.startswith("ESC, window 5")).split()[3:]
    assert cells == [
        "-", f"{row.calls:.2f}", f"{row.tokens:,.0f}", f"{row.disagreement:.3g}", "-",
        f"{row.worst_disagreement:.3g}",
    ]  # fmt: skip
    equal = outcome.out.split("At equal disagreement")[1]
    assert [name in equal for name in ("lead of 3", "minimax 0.05", "e-process 0.1")] == [True] * 3


def test_json_has_every_digit_and_says_what_was_counted(run: Run, votes_file: Path) -> None:
    outcome = run(
        "replay", votes_file, "--voters", "5", "--rules", "minimean-confident,lead:2", "--splits", "3",
        "--seed", "4", "--confidence", "0.9", "--calibrate-share", "0.4", "--json",
    )  # fmt: skip
    content = json.loads(outcome.out)
    items = YesNoItems.of(read_votes(votes_file), 5)
    methods = choose_methods(["minimean-confident", "lead:2"], [0.01], 0.9)
    made = replay(items, methods, splits=3, seed=4, calibrate_share=0.4)
    assert content["rows"] == json.loads(json.dumps(made.record()["rows"]))
    assert (content["n_voters"], content["yes"], content["no"], content["n_calibration"]) == (
        5,
        "Yes",
        ["No"],
        12,
    )


def test_what_was_left_out_is_said(run: Run, votes_file: Path) -> None:
    votes_file.write_text(votes_file.read_text() + "\nshort,0,Yes,5\nshort,1,,5")
    refused = run("replay", votes_file, "--voters", "5")
    assert refused.code == 2
    assert "1 of 31 items have fewer than 5 votes, such as 'short' with 1" in refused.err
    outcome = run("replay", votes_file, "--voters", "5", "--rules", "lead", "--skip-short")
    assert outcome.code == 0
    assert "Left out: 1 votes without an answer" in outcome.out
    assert "Left out: 1 items with fewer votes" in outcome.out


def test_a_log_of_inspect_is_replayed_by_scores_or_answers(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "task.eval"
    file.write_bytes(zip_of(log_members(log_samples(6))))
    options = ("--voters", "5", "--rules", "lead:2", "--splits", "2", "--json", "--scorer")
    by_score = json.loads(run("replay", file, *options, "match", "--yes", "C").out)
    assert (by_score["yes"], by_score["no"], by_score["rows"][0]["tokens"] > 10) == ("C", ["I"], True)
    by_answer = run("replay", file, "--voters", "4", *options[2:], "match", "--count", "answer", "--yes", "4")
    assert json.loads(by_answer.out)["votes_without_an_answer"] == 6
    refused = run("replay", file, *options, "match", "--count", "value")
    assert refused.code == 2
    assert "--count must be one of answer, score, got 'value'" in refused.err


def test_other_answers_need_to_be_told_which_is_yes(run: Run, votes_file: Path) -> None:
    votes_file.write_text(votes_file.read_text().replace("Yes", "pass").replace("No", "fail"))
    refused = run("replay", votes_file, "--voters", "5")
    assert refused.code == 2
    assert "expected yes or no votes, found 'fail'" in refused.err
    assert "--yes" in refused.err
    outcome = run("replay", votes_file, "--voters", "5", "--rules", "lead", "--yes", "pass")
    assert "(yes: pass; no: fail)" in outcome.out


def test_a_picture_is_drawn_when_asked_for(run: Run, votes_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = run("replay", votes_file, "--voters", "5", "--splits", "1", "--png", tmp_path / "calls.png")
    assert outcome.code == 0
    assert (tmp_path / "calls.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--voters", "7"], "30 of 30 items have fewer than 7 votes"),
        (["--voters", "0"], "n_voters must be an integer of at least 1"),
        (["--voters", "5", "--rules", "nonsense"], "no rule 'nonsense'"),
        (["--voters", "5", "--max-disagreement", "2"], "expected numbers from 0 to 1"),
        (["--voters", "5", "--splits", "0"], "splits must be an integer of at least 1"),
        (["--voters", "5", "--confidence", "1"], "confidence must be strictly between 0 and 1"),
        (["--voters", "5", "--png", "no/such/folder.png"], "does not exist; create it first"),
        ([], "--voters"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: list[str], message: str, run: Run, votes_file: Path
) -> None:
    outcome = run("replay", votes_file, *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_many_answers_are_replayed_as_they_are(run: Run, votes_file: Path) -> None:
    text = votes_file.read_text().replace(",Yes,", ",7,").replace(",3,No,", ",3,8,").replace(",No,", ",9,")
    votes_file.write_text(text)
    outcome = run("replay", votes_file, "--voters", "5", "--splits", "1", "--max-disagreement", "0.1")
    assert outcome.code == 0, outcome.err
    assert "30 items of 6 votes (up to 3 different answers per item)" in outcome.out
    lines = outcome.out.splitlines()
    assert any(line.startswith("minimean, smoothed") for line in lines)
    assert any(line.startswith("Adaptive-Consistency (Dirichlet) 0.95") for line in lines)
    as_json = run("replay", votes_file, "--voters", "5", "--rules", "lead", "--n-answers", "3", "--json")
    content = json.loads(as_json.out)
    assert (content["n_classes"], content["most_different_answers"]) == (3, 3)


def test_two_answers_can_be_taken_for_many(run: Run, votes_file: Path) -> None:
    outcome = run("replay", votes_file, "--voters", "5", "--rules", "dirichlet", "--n-answers", "any")
    assert "up to 2 different answers per item" in outcome.out
    refused = run("replay", votes_file, "--voters", "5", "--n-answers", "some")
    assert refused.code == 2
    assert "--n-answers must be an integer or 'any', got 'some'" in refused.err
    refused = run("replay", votes_file, "--voters", "5", "--n-answers", "2", "--yes", "Yes")
    assert "--yes is for two answers, --n-answers for many" in refused.err


@posix
def test_nothing_in_a_file_or_its_name_is_obeyed_by_the_terminal(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "v\x1b[2J\u202e.csv"
    rows = [
        f"q{item},{draw},{answer}"
        for item in range(9)
        for draw, answer in enumerate(["a\x1b[31m\x9b", "b\b"])
    ]
    file.write_text("\n".join(["item,draw,answer", *rows]), encoding="utf-8")
    arguments = (
        "replay",
        file,
        "--voters",
        "2",
        "--splits",
        "1",
        "--rules",
        "lead:2",
        "--yes",
        "a\x1b[31m\x9b",
    )
    outcome = run(*arguments)
    assert outcome.code == 0, outcome.err
    assert r"v\x1b[2J\u202e.csv: 9 items of 2 votes (yes: a\x1b[31m\x9b; no: b\x08)" in outcome.out
    assert not set("\x1b\x9b\b\u202e") & set(outcome.out)
    exact = json.loads(run(*arguments, "--json").out)
    assert (exact["yes"], exact["no"]) == ("a\x1b[31m\x9b", ["b\b"])
    file.write_text("\x1b]0;title\x07,b\n")
    outcome = run("replay", file, "--voters", "2")
    assert outcome.code == 2
    assert r"\x1b]0;title\x07" in outcome.err
    assert not set("\x1b\x07\u202e") & set(outcome.err)


def test_a_parquet_file_of_very_many_votes_asks_first(run: Run, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs the extra 'replay'")
    from pyarrow import parquet

    file, n = tmp_path / "votes.parquet", 400_000
    answer = pa.DictionaryArray.from_arrays(np.zeros(n, np.int8), ["yes"])
    parquet.write_table(pa.table({"item": answer, "draw": np.zeros(n, np.int8), "answer": answer}), file)
    outcome = run("replay", file, "--voters", "2")
    assert outcome.code == 2
    assert "raise max_memory to 320e6" in outcome.err
    assert "occurs twice" in run("replay", file, "--voters", "2", "--max-memory", "320e6").err


def test_a_strategy_of_ones_own_is_replayed_from_its_file(run: Run, votes_file: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    rules.lead(5, 2).save(mine)
    content = json.loads(
        run("replay", votes_file, "--voters", "5", "--rules", f"lead:2,{mine}", "--json").out
    )
    named, own = content["rows"]
    assert (named.pop("label"), own.pop("label")) == ("lead of 2", str(mine))
    assert (named.pop("method"), own.pop("method")) == ("lead", str(mine))
    assert named == own
