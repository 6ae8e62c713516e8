"""Recorded votes: read from columns, CSV and Parquet; what cannot be meant is refused with the reason."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.replaying import RecordedVotes, read_votes

answer = st.one_of(st.none(), st.sampled_from(["Yes", "No", "maybe, but"]), st.integers(0, 3), st.booleans())


def as_lists(votes: RecordedVotes) -> dict[str, list[str]]:
    return {
        item: [votes.labels[code] for code in codes]
        for item, codes in zip(votes.items, votes.answers, strict=True)
    }


@given(
    st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), answer, min_size=1), st.randoms()
)
def test_each_item_keeps_its_answers_in_the_order_of_the_draws_wherever_the_rows_stand(votes, random):
    rows = list(votes.items())
    random.shuffle(rows)
    found = RecordedVotes.from_columns(
        {
            "item": [item for (item, _), _ in rows],
            "draw": [draw for (_, draw), _ in rows],
            "answer": [answer for _, answer in rows],
        }
    )
    expected = {item: [] for item, _ in votes}
    for (item, _), given_answer in sorted(votes.items(), key=lambda vote: vote[0]):
        if given_answer is not None:
            expected[item].append(str(given_answer))
    assert as_lists(found) == expected
    assert found.n_missing == sum(given_answer is None for given_answer in votes.values())
    assert sum(found.counts.values()) == len(votes) - found.n_missing
    assert list(found.counts.values()) == sorted(found.counts.values(), reverse=True)


@pytest.mark.parametrize("nothing", [None, math.nan, np.float32("nan"), "", "  "])
def test_a_vote_without_an_answer_is_left_out_and_counted(nothing):
    votes = RecordedVotes.from_columns({"item": [1, 1], "draw": [0, 1], "answer": ["yes", nothing]})
    assert as_lists(votes) == {"1": ["yes"]}
    assert votes.n_missing == 1


def test_the_word_nan_is_an_answer():
    assert as_lists(RecordedVotes.from_columns({"item": [1], "draw": [0], "answer": ["nan"]})) == {
        "1": ["nan"]
    }


def test_tokens_go_with_their_votes_and_those_of_failed_calls_do_not_matter():
    votes = RecordedVotes.from_columns(
        {"item": [1, 1, 1], "draw": [2, 1, 0], "answer": ["a", None, "b"], "tokens": [7, None, 5.5]}
    )
    assert [tokens.tolist() for tokens in votes.tokens] == [[5.5, 7.0]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": [1], "answer": ["yes"], "model": ["x"]}, "no column draw, found item, answer, model"),
        ({}, "no column item and no column draw and no column answer, found none"),
        ({"item": [], "draw": [], "answer": []}, "has no votes"),
        ({"item": [1, 1], "draw": [3, 3.0], "answer": ["yes", "no"]}, "draw 3 of item '1' occurs twice"),
        ({"item": [1, None], "draw": [0, 1], "answer": ["yes", "no"]}, "row 2: no item"),
        ({"item": [1], "draw": ["x"], "answer": ["yes"]}, "row 1: draw must be an integer, got 'x'"),
        ({"item": [1], "draw": [0.5], "answer": ["yes"]}, "draw must be an integer, got 0.5"),
        ({"item": [1], "draw": [True], "answer": ["yes"]}, "draw must be an integer, got True"),
        ({"item": [1], "draw": [None], "answer": ["yes"]}, "draw must be an integer, got None"),
        ({"item": [1], "draw": [math.inf], "answer": ["yes"]}, "draw must be an integer, got inf"),
        (
            {"item": [1], "draw": [0], "answer": ["yes"], "tokens": [-1]},
            "tokens must be a number of at least 0",
        ),
        (
            {"item": [1], "draw": [0], "answer": ["yes"], "tokens": [None]},
            "tokens must be a number of at least 0",
        ),
        (
            {"item": [1], "draw": [0], "answer": ["a"], "tokens": [10**400]},
            "tokens must be a number of at least 0",
        ),
    ],
)
def test_columns_that_cannot_be_votes_are_refused_with_the_reason(columns, message):
    with pytest.raises(InvalidInputError, match=message):
        RecordedVotes.from_columns(columns)


CSV = 'item,draw,answer,tokens,model\na,1,yes,3,x\na,0,"no, never",4,x\n\nb,0,,,x\n'


def test_a_csv_file_is_read(tmp_path: Path):
    file = tmp_path / "votes.csv"
    file.write_text(CSV, encoding="utf-8-sig")
    votes = read_votes(file)
    assert as_lists(votes) == {"a": ["no, never", "yes"], "b": []}
    assert [tokens.tolist() for tokens in votes.tokens] == [[4, 3], []]
    assert votes.n_missing == 1


def test_a_parquet_file_gives_what_the_csv_file_gives(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"item": ["a", "a", "b"], "draw": [1, 0, 0], "answer": ["yes", "no, never", None]}
    parquet.write_table(pyarrow.table(columns | {"tokens": [3, 4, None]}), tmp_path / "votes.anything")
    (tmp_path / "votes.csv").write_text(CSV)
    found, expected = read_votes(tmp_path / "votes.anything"), read_votes(tmp_path / "votes.csv")
    assert as_lists(found) == as_lists(expected)
    assert [tokens.tolist() for tokens in found.tokens] == [tokens.tolist() for tokens in expected.tokens]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column item"),
        (b"item,draw,answer\n", "has no votes"),
        (b"item,draw,answer\na,0\n", "line 2: expected 3 values, got 2"),
        (b"item,draw,answer,answer\na,0,yes,no\n", "name occurs twice"),
        (b"item,draw,answer\na,0,yes\na,0,no\n", "draw 0 of item 'a' occurs twice"),
        (b"\xff\xfe\x00\x01", "unknown format"),
        (b'item,draw,answer\na,0,"yes', "unknown format"),
        (b"PAR1 and then nothing", "not a readable Parquet file"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path: Path, content, message):
    file = tmp_path / "votes.csv"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as error:
        read_votes(file)
    assert "votes.csv" in str(error.value)


CROWD = [
    ("t1", "ann", "cat"),
    ("t2", "ann", "dog"),
    ("t1", "bob", "cat"),
    ("t1", "cy", "dog"),
    ("t2", "bob", ""),
]
SCORED = [("a", 2, 0.5, "x"), ("a", 1, 1, "y"), ("b", 1, 0.5, "x")]


def table_files(folder: Path, names: list[str], rows: list[tuple]) -> list[Path]:
    """The same table as CSV, Parquet and JSON lines."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    files = [folder / "votes.csv", folder / "votes.parquet", folder / "votes.jsonl"]
    files[0].write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]))
    parquet.write_table(pyarrow.table(columns), files[1])
    files[2].write_text("\n\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows) + "\n")
    return files


def test_crowdsourced_labels_are_votes_in_the_order_of_the_rows(tmp_path: Path):
    for file in table_files(tmp_path, ["task", "worker", "label"], CROWD):
        votes = read_votes(file)
        assert as_lists(votes) == {"t1": ["cat", "cat", "dog"], "t2": ["dog"]}
        assert votes.n_missing == 1


def test_scores_of_epochs_are_votes_unless_there_are_answers(tmp_path: Path):
    for file in table_files(tmp_path, ["item", "epoch", "score"], [row[:3] for row in SCORED]):
        assert [[float(said) for said in votes] for votes in as_lists(read_votes(file)).values()] == [
            [1.0, 0.5],
            [0.5],
        ]
        with pytest.raises(FileFormatError, match="no column answer, found item, epoch, score"):
            read_votes(file, count="answer")
    for file in table_files(tmp_path, ["item", "epoch", "score", "answer"], SCORED):
        assert as_lists(read_votes(file)) == {"a": ["y", "x"], "b": ["x"]}
        assert len(read_votes(file, count="score").labels) == 2
        with pytest.raises(FileFormatError, match="scorer is only for Inspect logs"):
            read_votes(file, scorer="match")


@pytest.mark.parametrize(
    ("worker", "message"),
    [("ann", "row 2: worker 'ann' votes twice on 't': keep only one"), (None, "row 2: no worker")],
)
def test_a_worker_votes_once_on_a_task(worker, message):
    with pytest.raises(InvalidInputError, match=message):
        RecordedVotes.from_columns({"task": ["t", "t"], "worker": ["ann", worker], "label": ["a", "b"]})


def test_what_counts_as_the_vote_is_one_of_two(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="count must be one of answer, score, got 'label'"):
        RecordedVotes.from_columns({"item": [1], "draw": [1], "answer": ["a"]}, count="label")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"item": 1, "draw": 0, "answer": "a"}\n{"item"', "line 2: not a JSON object"),
        ('{"item": 1, "draw": 0, "answer": "a"}\n7\n', "line 2: not a JSON object"),
        ('{"item": 1, "draw": 0, "answer": "a"}\n{"draw": 1}\n', "row 2: no item"),
        ('{"x": 1, "draw": 0}', "no column item and no column answer, found x, draw"),
        pytest.param("{" * 10**5, "line 1: not a JSON object", id="deep"),
        ('{"item": "\udcff"}', "not UTF-8 text"),
    ],
)
def test_json_lines_that_are_no_votes_are_refused(tmp_path: Path, content, message):
    file = tmp_path / "votes.jsonl"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileFormatError, match=message) as error:
        read_votes(file)
    assert "votes.jsonl" in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(FileFormatError, match=r"cannot read .*nowhere\.csv: No such file"):
        read_votes(tmp_path / "nowhere.csv")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "votes.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"foregone\[replay\]"):
        read_votes(tmp_path / "votes.parquet")
