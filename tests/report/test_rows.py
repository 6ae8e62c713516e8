"""Rows from files, and their columns as a model wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone.errors import FileFormatError, InvalidInputError
from foregone.report import read_rows
from foregone.report.choose_columns import choose_columns, match_labels, only_numbers

FRAME = pd.DataFrame({"age": [1.5, 2.5, 3.5], "size": [1, 2, 3], "label": ["a", "b", "a"]})


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.csv.gz", "rows.tsv", "without_suffix"])
def test_tables_come_back_as_they_were_written(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if "sv" in name:
        FRAME.to_csv(file, index=False, sep="\t" if "tsv" in name else ",")
    else:
        FRAME.to_parquet(file)
    pd.testing.assert_frame_equal(read_rows(file), FRAME, check_dtype=False)


def test_arrays_and_csv_without_names_come_back_as_arrays(tmp_path: Path) -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.save(tmp_path / "rows.npy", rows)
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",")
    np.testing.assert_array_equal(read_rows(tmp_path / "rows.npy"), rows)
    np.testing.assert_array_equal(read_rows(tmp_path / "rows.csv"), rows)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.arange(3))
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "rows.xlsx").write_bytes(b"PK\x03\x04")
    for name, words in {
        "objects.npy": "cannot read",
        "flat.npy": r"shape \(3,\)",
        "empty.npy": "no rows",
        "cut.parquet": "cannot read",
        "empty.csv": "cannot read",
        "rows.xlsx": "parquet, .csv, .tsv or .npy",
        "none.csv": "No such file",
    }.items():
        with pytest.raises((FileFormatError, InvalidInputError), match=words):
            read_rows(tmp_path / name)


def fitted_on(columns: list[str]) -> RandomForestClassifier:
    return RandomForestClassifier(1).fit(FRAME[columns], FRAME["label"])


def test_columns_are_matched_by_name_in_the_models_order() -> None:
    X, labels = choose_columns(FRAME, fitted_on(["size", "age"]), "label")
    assert list(X.columns) == ["size", "age"]
    assert labels is not None
    assert labels.tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(only_numbers(X), [[1, 1.5], [2, 2.5], [3, 3.5]])


def test_without_names_columns_are_counted() -> None:
    model = RandomForestClassifier(1).fit(FRAME[["age", "size"]].to_numpy(), FRAME["label"])
    X, _ = choose_columns(FRAME, model, "label")
    np.testing.assert_array_equal(X, [[1.5, 1], [2.5, 2], [3.5, 3]])
    X, labels = choose_columns(np.array([[1.0, 0, 5], [2, 1, 6]]), model, "1")
    assert (X.tolist(), labels.tolist()) == ([[1, 5], [2, 6]], [0, 1])
    with pytest.raises(InvalidInputError, match=r"has 3 columns, the model takes 2: .*--target COLUMN"):
        choose_columns(FRAME, model, None)
    with pytest.raises(InvalidInputError, match=r"has 1 columns, the model takes 2: give the columns"):
        choose_columns(FRAME[["age"]], model, None)


@pytest.mark.parametrize(
    ("table", "target", "words"),
    [
        (FRAME[["age", "label"]], None, r"no column 'size', .*Its columns: 'age', 'label'"),
        (FRAME, "truth", "no column 'truth'. Columns: 'age', 'size', 'label'"),
        (np.eye(2), "x", "a number from 0 to 1, or -1 for the last, .*got 'x'"),
        (np.eye(2), "2", "a number from 0 to 1"),
    ],
)
def test_missing_columns_are_named(table: Any, target: str | None, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        choose_columns(table, fitted_on(["age", "size"]), target)


def test_columns_without_numbers_are_named() -> None:
    with pytest.raises(InvalidInputError, match="column 'label' does not hold numbers"):
        only_numbers(FRAME)
    with pytest.raises(InvalidInputError, match="must be numbers"):
        only_numbers(np.array([["a"]]))
    missing = pd.DataFrame({"size": pd.array([1, None], dtype="Int64"), "well": [True, False]})
    np.testing.assert_array_equal(only_numbers(missing), [[1, 1], [np.nan, 0]])


def test_labels_are_matched_and_missing_ones_left_out() -> None:
    labels = np.array(["a", "b", None, np.nan, pd.NA], dtype=object)
    assert match_labels(labels, np.array(["a", "b"])).tolist() == [0, 1, -1, -1, -1]
    assert match_labels(np.array([0.0, 1, True]), np.array([0, 1])).tolist() == [0, 1, 1]
    with pytest.raises(InvalidInputError, match="holds 'c', but the model knows 'a' and 'b'"):
        match_labels(np.array(["c"], dtype=object), np.array(["a", "b"]))
