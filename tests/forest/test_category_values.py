"""Categories become their positions in a list; what is not there becomes NaN; the lists survive a file."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest.category_values import CategoryValues, category_list
from foregone.strategy.json_file import Fields

pl = pytest.importorskip("polars")

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False), st.just(0.1)
)
TEXTS = st.text(max_size=3)


def slow_position(values, entry):
    """The first place where the entry stands, told by Python's own equality."""
    if isinstance(entry, float) and math.isnan(entry):
        return math.nan
    return next((float(place) for place, value in enumerate(values) if value == entry), math.nan)


def lists(kind):
    return st.lists(kind, max_size=6, unique_by=lambda value: value + 0.0 if kind is NUMBERS else value)


@given(
    values=lists(NUMBERS),
    entries=st.lists(st.one_of(NUMBERS, st.sampled_from([math.nan, math.inf])), min_size=1),
)
def test_numbers_are_found_by_equality(values, entries):
    encoded = CategoryValues((0,), (category_list(values),)).encode(np.array(entries)[:, None])
    np.testing.assert_array_equal(encoded[:, 0], [slow_position(values, entry) for entry in entries])


@given(
    values=lists(TEXTS).filter(bool), entries=st.lists(st.one_of(TEXTS, st.none(), st.just(1.0)), min_size=1)
)
def test_texts_are_found_by_equality_in_arrays_and_frames(values, entries):
    coder = CategoryValues((1,), (category_list(values),))
    expected = [slow_position(values, entry) for entry in entries]
    rows = np.array([[0.5, entry] for entry in entries], dtype=object)
    for given_rows in (rows, pd.DataFrame(rows), rows.tolist()):
        encoded = coder.encode(given_rows)
        np.testing.assert_array_equal(encoded[:, 1], expected)
        np.testing.assert_array_equal(encoded[:, 0], 0.5)


def test_columns_of_dtype_category_are_found_by_their_values_not_their_codes():
    coder = CategoryValues((1,), (category_list(["S", "M", "L"]),))
    sizes = ["L", None, "S", "XL"]
    for frame in (
        pd.DataFrame({"a": range(4), "size": pd.Categorical(sizes)}),
        pd.DataFrame({"a": range(4), "size": pd.Categorical(sizes, categories=["XL", "L", "M", "S"])}),
        pl.DataFrame({"a": range(4), "size": pl.Series(sizes, dtype=pl.Categorical)}),
        pl.DataFrame({"a": range(4), "size": pl.Series(sizes, dtype=pl.Enum(["XL", "L", "M", "S"]))}),
    ):
        np.testing.assert_array_equal(coder.encode(frame), [[0, 2], [1, np.nan], [2, 0], [3, np.nan]])
        by_type = coder._replace(features=None)
        np.testing.assert_array_equal(by_type.encode(frame), coder.encode(frame))


def test_arrays_that_hold_positions_already_are_left_alone():
    rows = np.array([[1.0, 2.0]])
    assert CategoryValues(None, (category_list(["a"]),)).encode(rows) is rows


def test_rows_of_a_wrong_shape_are_left_for_others_to_judge():
    coder = CategoryValues((2,), (category_list([1, 2]),))
    for rows in (np.zeros((2, 2)), np.zeros(3), np.zeros((1, 1, 3))):
        assert coder.encode(rows) is rows


def test_texts_in_a_column_of_numbers_are_refused_by_the_number_of_the_column():
    with pytest.raises(InvalidInputError, match="column 0: could not convert string"):
        CategoryValues((1,), (category_list([1]),)).encode([["x", 1]])


@pytest.mark.parametrize(
    "values", [[1, "a"], [math.nan], [math.inf], [None], [2**53 + 1], ["a", None], [(1, 2)]], ids=repr
)
def test_lists_of_anything_but_texts_or_finite_numbers_are_refused(values):
    with pytest.raises(InvalidInputError, match="all texts, or all finite numbers"):
        category_list(values)


def test_a_category_that_stands_twice_is_refused():
    with pytest.raises(InvalidInputError, match="twice"):
        category_list([0.0, 1.0, -0.0])


@given(values=st.lists(st.one_of(lists(NUMBERS), lists(TEXTS)), max_size=3), by_type=st.booleans())
def test_lists_survive_a_file(values, by_type):
    features = None if by_type else tuple(range(0, 2 * len(values), 2))
    lists_before = CategoryValues(features, tuple(map(category_list, values)))
    text = json.dumps({"lists": lists_before.to_field()})
    read = CategoryValues.from_field(Fields(json.loads(text), "file"), "lists", 6)
    assert read.features == features
    assert [(list(a), a.dtype) for a in read.values] == [(list(a), a.dtype) for a in lists_before.values]


@pytest.mark.parametrize(
    "field",
    [
        {"features": [0]},
        {"features": [0, 1], "values": [[1]]},
        {"features": [6], "values": [[1]]},
        {"features": [-1], "values": [[1]]},
        {"features": [1, 1], "values": [[1], [2]]},
        {"features": [1], "values": [["a", 1]]},
        {"features": [1], "values": [[2, 2]]},
        {"features": [1], "values": [[None]]},
        {"features": [1], "values": [3]},
        {"features": [1], "values": ["abc"]},
        {"features": [1], "values": [[[1], [2]]]},
        {"features": [1], "values": [[10**400]]},
        [],
    ],
    ids=lambda field: repr(field)[:50],
)
def test_damaged_lists_are_found_out(field):
    with pytest.raises(FileFormatError, match="lists"):
        CategoryValues.from_field(Fields({"lists": field}, "file"), "lists", 6)
