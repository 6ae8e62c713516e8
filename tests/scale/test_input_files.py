from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foregone._kernels.csv_lines import LINE_START, find_line_ends
from foregone.errors import FileFormatError, InvalidInputError
from foregone.scale import input_files
from foregone.scale.input_files import InputFiles

TEXTS = st.text(st.sampled_from('ab,"\n '), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.floats(-9, 9), TEXTS), min_size=1, max_size=30),
    part_bytes=st.integers(1, 60),
    scan_bytes=st.integers(1, 40),
)
def test_csv_is_cut_only_between_rows_whatever_is_quoted(rows, part_bytes, scan_bytes, tmp_path):
    file = tmp_path / "rows.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(["x", "text"])
        writer.writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_files, "PART_BYTES", part_bytes)
        patch.setattr(input_files, "SCAN_BYTES", scan_bytes)
        files = InputFiles.at(file)
        parts = files.parts()
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    assert parts[-1].end == file.stat().st_size
    read = [
        row
        for part in parts
        for x, text in files.kept_batches(part, {"x": ""}, ["x", "text"])
        for row in zip(x.to_pylist(), text.to_pylist(), strict=True)
    ]
    assert read == rows


@given(text=st.text(st.sampled_from('ab,"\n\r'), max_size=60), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_line_ends_are_those_of_arrows_parser_however_the_text_is_cut(text, cuts):
    content = text.encode()
    places = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    found, state = [], LINE_START
    for start, end in itertools.pairwise(places):
        ends = np.empty(end - start, np.int64)
        n_ends, state = find_line_ends(np.frombuffer(content[start:end], np.uint8), state, ends)
        found += [start + int(place) for place in ends[:n_ends]]
    assert found == slow_line_ends(content)


def slow_line_ends(content):
    """Field by field, as RFC 4180 and Arrow have it: a quote means something only where a field begins."""
    ends, place = [], 0
    while place < len(content):
        if content[place : place + 1] == b'"':
            place += 1
            while True:
                place = content.find(b'"', place)
                if place < 0:
                    return ends
                place += 1
                if content[place : place + 1] != b'"':
                    break
                place += 1
        field = re.compile(rb"[^,\r\n]*").match(content, place)
        place = field.end() + 1
        if content[field.end() : place] == b"\n":
            ends.append(place)
    return ends


def test_a_lone_quote_inside_a_field_is_a_character_like_any_other(tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    texts = [f'{k}" pipe' if k % 7 else f'"{k}, ""quoted""\nand so on"' for k in range(300)]
    file.write_text("x,text\n" + "".join(f"{k},{text}\n" for k, text in enumerate(texts)), newline="\n")
    monkeypatch.setattr(input_files, "PART_BYTES", 400)
    monkeypatch.setattr(input_files, "SCAN_BYTES", 50)
    files = InputFiles.at(file)
    parts = files.parts()
    assert len(parts) > 10
    kept = [text for part in parts for (column,) in files.kept_batches(part, {}, ["text"]) for text in column]
    assert [text.as_py() for text in kept] == [
        f'{k}" pipe' if k % 7 else f'{k}, "quoted"\nand so on' for k in range(300)
    ]


def test_a_quote_that_is_never_closed_is_found_before_the_memory_is_full(tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    file.write_text('x,text\n1,"never closed\n' + "2,b\n" * 1000)
    monkeypatch.setattr(input_files, "PART_BYTES", 100)
    monkeypatch.setattr(input_files, "SCAN_BYTES", 50)
    monkeypatch.setattr(input_files, "MOST_PART_BYTES", 1000)
    with pytest.raises(
        FileFormatError, match=r"rows\.csv: no line end within .* quote at the start of a field"
    ):
        InputFiles.at(file).parts()


def test_csv_is_cut_into_parts_of_about_the_size_wanted(tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    file.write_text("x\n" + "1.5\n" * 1000, newline="\n")
    monkeypatch.setattr(input_files, "PART_BYTES", 400)
    monkeypatch.setattr(input_files, "SCAN_BYTES", 64)
    parts = InputFiles.at(file).parts()
    assert len(parts) in (9, 10, 11)
    assert all(part.end - part.start <= 400 + 64 for part in parts)


def test_parts_of_parquet_are_whole_row_groups_of_enough_rows(tmp_path, monkeypatch):
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"x": range(100)}).to_parquet(file, row_group_size=7)
    monkeypatch.setattr(input_files, "PART_ROWS", 20)
    files = InputFiles.at(file)
    parts = files.parts()
    assert [(part.start, part.end) for part in parts] == [(0, 3), (3, 6), (6, 9), (9, 12), (12, 15)]
    read = [x for part in parts for batch in files.batches(part, {"x": ""}) for x in batch["x"].to_pylist()]
    assert read == list(range(100))


def test_a_batch_of_many_columns_has_few_rows(tmp_path, monkeypatch):
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"x": range(100), "y": range(100)}).to_parquet(file)
    monkeypatch.setattr(input_files, "BATCH_VALUES", 20)
    files = InputFiles.at(file)
    (part,) = files.parts()
    assert {batch.num_rows for batch in files.batches(part, {"x": "", "y": ""})} == {10}


def test_empty_cells_are_missing_numbers_but_texts_stay_as_they_are(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("\ufeffx,id\n1,007\n,NA\nnan,\n")
    files = InputFiles.at(file)
    ((numbers, names),) = files.kept_batches(files.parts()[0], {"x": ""}, ["x", "id"])
    assert files.columns == ("x", "id")
    assert names.to_pylist() == ["007", "NA", ""]
    assert str(numbers.to_pylist()) == "[1.0, None, None]"


def test_a_folder_is_read_by_name_without_hidden_files(tmp_path):
    for name in ("b.parquet", "a.parquet", "_metadata.parquet"):
        pd.DataFrame({"x": [name]}).to_parquet(tmp_path / name)
    (tmp_path / "notes.txt").write_text("x")
    assert [Path(file).name for file in InputFiles.at(tmp_path).files] == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", b"", "empty: a CSV file needs a header line"),
        ("rows.csv", b"x,x\n1,2\n", "twice"),
        ("rows.csv", b"\xff\xfe\x00\n", "neither Parquet nor CSV"),
        ("rows.csv.gz", b"\x1f\x8b123", "decompress the file first"),
        ("rows.parquet", b"PAR1 and nothing more", "not a readable Parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        InputFiles.at(tmp_path / name)
    assert name in str(caught.value)


def test_files_that_do_not_fit_together_are_named(tmp_path):
    pd.DataFrame({"x": [1.0], "id": [1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": ["1"], "id": ["1"]}).to_parquet(tmp_path / "b.parquet")
    files = InputFiles.at(tmp_path)
    with pytest.raises(InvalidInputError, match=r"column 'x' of .*b\.parquet has type (large_)?string"):
        files.kept_schema({"x": ""}, [])
    with pytest.raises(FileFormatError, match=r"column 'id' has type .* in .*b\.parquet, but int64 in"):
        files.kept_schema({}, ["id"])
    with pytest.raises(InvalidInputError, match=r"a\.parquet has no column 'y'; available: 'x', 'id'"):
        files.kept_schema({"y": ""}, [])
    kept = InputFiles.at(tmp_path / "a.parquet").kept_schema({"x": ""}, ["id"])
    assert kept == pa.schema([("id", pa.int64())])
    (tmp_path / "c.parquet").write_text("x,id\n")
    with pytest.raises(FileFormatError, match=r"c\.parquet is not Parquet"):
        InputFiles.at(tmp_path)


def test_a_parquet_file_of_types_that_arrow_does_not_know_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise pa.ArrowNotImplementedError("Integers with less than 8 bits not implemented")

    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("pyarrow.parquet.ParquetFile", refuse)
    with pytest.raises(FileFormatError, match=r"rows\.parquet: not a readable Parquet file: Integers"):
        InputFiles.at(tmp_path / "rows.parquet")
