"""Stops: rows by answer and number of votes asked, in files and from arrays that are checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import FileFormatError, InvalidInputError
from foregone.monitoring import Stops
from foregone.strategy.json_file import Fields


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=40))
def test_rows_are_counted_by_answer_and_votes(rows):
    asked, answers = [[row[k] for row in rows] for k in (0, 1)]
    stops = Stops.count(np.array(asked, int), np.array(answers, int), n_voters=9, n_classes=3)
    for answer in range(3):
        for n_asked in range(10):
            assert stops.counts[answer, n_asked] == rows.count((n_asked, answer))
    assert stops.n_rows == len(rows)
    assert stops.mean_asked == pytest.approx(np.mean(asked) if rows else 0)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_any_whole_numbers_are_taken(dtype):
    stops = Stops.count(np.array([1, 1, 0]).astype(dtype), np.array([0, 1, 1]).astype(dtype), 3, 2)
    assert stops.counts.tolist() == [[0, 1, 0, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("asked", "answers", "problem"),
    [
        ([4], [0], "from 0 to 3"),
        ([-1], [0], "from 0 to 3"),
        ([1], [2], "from 0 to 1"),
        ([2**32 + 1], [0], "from 0 to 3"),
        ([1], [-1], "from 0 to 1"),
        ([1, 2], [0], "one entry for each row"),
        ([1.5], [0], "integers"),
        ([["1"]], [0], "integers"),
        (["1"], [0], "integers"),
    ],
)
def test_what_has_no_place_is_refused_and_nothing_is_counted(asked, answers, problem):
    with pytest.raises(InvalidInputError, match=problem):
        Stops.count(asked, answers, n_voters=3, n_classes=2)


def test_fields_give_back_the_same():
    stops = Stops.count([3, 1, 3], [0, 1, 0], n_voters=7, n_classes=2, n_differing=1)
    again = Stops.from_fields(Fields(stops.to_fields(), "test"))
    assert (again.counts == stops.counts).all()
    assert again.n_differing == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": [[0, 8, 1]]},
        {"rows": [[2, 1, 1]]},
        {"rows": [[0, 1, -1]]},
        {"rows": [[0, 1]]},
        {"rows": [[0, 1, "1"]]},
        {"rows": [[0.0, 1, 1]]},
        {"n_differing": 4},
        {"n_differing": -1},
        {"n_voters": 0},
        {"n_voters": 2**30, "n_classes": 2**30},
    ],
)
def test_damaged_fields_are_refused(changed):
    stops = Stops.count([3, 1, 3], [0, 1, 0], n_voters=7, n_classes=2)
    with pytest.raises(FileFormatError):
        Stops.from_fields(Fields({**stops.to_fields(), **changed}, "test"))
