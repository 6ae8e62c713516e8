"""Rows that come in frames and files are audited as the same rows in arrays are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from foregone.forest.tables import Columns
from foregone.monitoring.audit_rows import AuditRows, take_rows

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 2)), columns=["a", "b"])
    frame["whole"] = rng.integers(0, 9, 3000)
    frame["flag"] = rng.random(3000) < 0.5
    return frame


def arrow_columns(frame):
    return Columns(tuple(pa.array(frame[name], from_pandas=True) for name in frame))


def test_numbers_are_chosen_alike_in_every_form(frame):
    rows = AuditRows(0.1)
    chosen = rows.choose(frame.to_numpy(np.float64)).tolist()
    assert 200 < len(chosen) < 400
    for same in (
        frame,
        frame.to_numpy(np.float32),
        frame.astype(object),
        frame.astype({"whole": "Int64", "flag": "boolean"}),
        sparse.csr_array(frame.to_numpy(np.float64)),
        arrow_columns(frame),
        Columns(tuple(frame[name] for name in frame)),
    ):
        assert rows.choose(same).tolist() == chosen


def test_texts_and_missing_values_are_chosen_alike_in_frames_and_files(frame):
    gone = np.random.default_rng(1).random((2, len(frame))) < 0.1
    frame["text"] = pd.Categorical(np.where(frame["a"] > 0, "1", "red")).astype("category")
    frame["text"] = frame["text"].where(~gone[0])
    frame["flag"] = frame["flag"].astype("boolean").mask(gone[1])
    rows = AuditRows(0.1)
    chosen = rows.choose(frame).tolist()
    assert 200 < len(chosen) < 400
    assert rows.choose(arrow_columns(frame)).tolist() == chosen
    read_from_csv = frame.assign(
        whole=frame["whole"].astype(float), text=frame["text"].astype(object).fillna("")
    )
    assert rows.choose(Columns(tuple(read_from_csv[name] for name in frame))).tolist() == chosen


def test_a_row_is_chosen_whatever_the_other_rows_are(frame):
    frame["text"] = np.where(np.arange(len(frame)) % 2, "1", "red")
    rows = AuditRows(0.1)
    chosen = set(rows.choose(frame).tolist())
    by_text = [np.flatnonzero(frame["text"] == text) for text in ("1", "red")]
    parts = [set(places[rows.choose(frame.iloc[places])].tolist()) for places in by_text]
    assert parts[0] | parts[1] == chosen
    assert min(map(len, parts)) > 100


def test_rows_are_taken_of_every_form(frame):
    chosen = np.array([5, 2])
    want = frame.to_numpy(np.float64)[chosen].tolist()
    assert take_rows(frame, chosen).to_numpy(np.float64).tolist() == want
    assert take_rows(frame.to_numpy(np.float64), chosen).tolist() == want
    taken = take_rows(arrow_columns(frame), chosen)
    assert [column.to_pylist() for column in taken.columns] == [list(row) for row in zip(*want, strict=True)]
