from __future__ import annotations

from pathlib import Path

import pytest

from foregone.cli.vote_file import read_counts, read_labelled_counts, read_values
from foregone.errors import FileFormatError


def written(folder: Path, text: str) -> Path:
    file = folder / "counts.csv"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "text",
    [
        "5\n0\n2.5\n7\n",
        "5,0,2.5,7\n",
        "5;0;2.5;7",
        "5 0\t2.5  7\n",
        "5,0,2.5,7,\n",
        "count\n5\n0\n2.5\n7\n",
        "n,count\n0,5\n1,0\n2,2.5\n3,7\n",
        "3,7\n2,2.5\n0,5\n1,0\n",
        "# observed in May\n5\n\n0  # nobody\n2.5\n7\n",
        "\ufeffcount\r\n5\r\n0\r\n2.5\r\n7\r\n",
    ],
)
def test_every_way_to_write_counts_is_understood(text: str, tmp_path: Path) -> None:
    assert read_counts(written(tmp_path, text)) == [5, 0, 2.5, 7]


def test_an_n_that_does_not_occur_counts_zero_when_the_voters_are_known(tmp_path: Path) -> None:
    assert read_counts(written(tmp_path, "n,count\n0,5\n3,1\n"), n_voters=4) == [5, 0, 0, 1, 0]


def test_with_gaps_and_unknown_voters_it_asks_how_many_there_are(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="--voters N"):
        read_counts(written(tmp_path, "0,5\n3,1\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no numbers"),
        ("count\n", "no numbers"),
        ("1\nx\n3\n", "line 2: a count must be a number of at least 0, got 'x'"),
        (f"0,1\n{'9' * 5000},1\n", "line 2: n must be an integer of at least 0, got '9{50,}"),
        ("count\n1\n-2\n", "line 3: .* got '-2'"),
        ("1\nnan\n", "line 2: .* got 'nan'"),
        ("1\ninf\n", "line 2: .* got 'inf'"),
        ("1\n2,3\n", "line 2: expected one count, found 2"),
        ("0,1\n1,2,3\n", "line 2: expected two columns"),
        ("0,1\n-1,2\n", "line 2: n must be an integer"),
        ("0,1\n0,2\n", "line 2: n = 0 appears twice"),
        ("0,1\n9,2\n", "line 2: n is 9, but there are 3 voters"),
        ("1,2,3,4\n4,5,6,7\n", "line 2: expected one line of counts"),
        ("0,1,2\n1,2\n", "line 2: expected three columns"),
        ("0,0,0,0\n", "all counts are zero"),
        ("1,2\n", "2 counts do not fit 3 voters"),
    ],
)
def test_a_complaint_names_the_file_and_the_line(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=rf"counts\.csv.*{complaint}"):
        read_counts(written(tmp_path, text), n_voters=3)


def test_three_columns_tell_what_is_true(tmp_path: Path) -> None:
    file = written(tmp_path, "n,no,yes\n0,5,1\n2,0,7\n1,2,2\n")
    assert read_labelled_counts(file) == ([5, 2, 0], [1, 2, 7])
    assert read_counts(file) == [6, 4, 7]
    assert read_labelled_counts(file, n_voters=3) == ([5, 2, 0, 0], [1, 2, 7, 0])


def test_one_or_two_columns_tell_nothing_about_the_truth(tmp_path: Path) -> None:
    assert read_labelled_counts(written(tmp_path, "5\n0\n7\n")) is None
    assert read_labelled_counts(written(tmp_path, "0,5\n1,7\n")) is None


@pytest.mark.parametrize("text", ["1 0.5 0 1", "value\n1\n0.5\n0\n1\n", "0,1\n1,0.5\n3,1\n"])
def test_values_are_read_like_counts(text: str, tmp_path: Path) -> None:
    assert read_values(written(tmp_path, text), 3) == [1, 0.5, 0, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2,0,1", "line 1: a value must be a number from 0 to 1, got '2'"),
        ("1\nx\n0\n1\n", "line 2: a value must be"),
        ("1,0,1", "3 values do not fit 3 voters"),
        ("0,1,2\n1,1,2\n", "expected one line of values"),
    ],
)
def test_values_that_are_none_are_refused(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=rf"counts\.csv.*{complaint}"):
        read_values(written(tmp_path, text), 3)


def test_a_single_count_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="only one count"):
        read_counts(written(tmp_path, "7\n"))


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_bytes(b"\x89PNG\xff")
    with pytest.raises(FileFormatError, match="not a text file"):
        read_counts(file)
