from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from sklearn.utils import check_array

from foregone.errors import InvalidInputError
from foregone.forest.rows import RowFormat
from foregone.forest.tables import Columns
from foregone.scale.columns import choose_features, output_names
from foregone.scale.model_file import ModelFile

TYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]


def model(names=("a", "b"), n_features=2):
    return ModelFile(b"", "", n_features, names, np.array([0, 1]), ("",) * n_features, False)


@st.composite
def columns(draw):
    n_rows = draw(st.integers(1, 5))
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    return [
        draw(
            numpy_strategies.arrays(
                kind,
                n_rows,
                elements=numpy_strategies.from_dtype(np.dtype(kind), allow_nan=False, allow_infinity=False),
            )
        )
        for kind in types
    ]


@given(columns())
def test_rows_are_rounded_as_scikit_learn_rounds_a_frame(columns):
    frame = pd.DataFrame(dict(enumerate(columns)))
    with np.errstate(over="ignore"):
        want = check_array(frame, dtype=[np.float32, np.float64]).astype(np.float32)
        got = RowFormat("it", len(columns), True).as_rows(Columns(tuple(columns))).astype(np.float32)
    np.testing.assert_array_equal(got, want)


@given(columns())
def test_rows_of_a_model_that_compares_float64_keep_that_precision(columns):
    got = RowFormat("it", len(columns), True, True, 64).as_rows(Columns(tuple(columns)))
    assert got.dtype == np.float64
    for place, column in enumerate(columns):
        np.testing.assert_array_equal(got[:, place], column.astype(np.float64))


def test_features_are_found_by_name_in_the_models_order():
    assert choose_features(model(("b", "a")), ["a", "x", "b"], None, "it") == ["b", "a"]
    assert choose_features(model(None), ["x", "y"], None, "it") == ["x", "y"]
    assert choose_features(model(("b", "a")), ["x", "y", "z"], ["z", "x"], "it") == ["z", "x"]


@pytest.mark.parametrize(
    ("names", "there", "features", "message"),
    [
        (("a", "b"), ["a", "c"], None, "it has no column 'b', which the model needs; available: 'a', 'c'"),
        (None, ["a", "b", "c"], None, "3 columns, but the model has 2 features without names"),
        (None, ["a", "b", "c"], ["a"], "features must name 2 columns, one for each feature, got 1"),
        (None, ["a", "b", "c"], "ab", "got the string 'ab'"),
        (("a", "b"), ["a", "b", "b"], None, "column 'b' more than once"),
    ],
)
def test_columns_that_do_not_fit_are_named(names, there, features, message):
    with pytest.raises(InvalidInputError, match=message):
        choose_features(model(names), there, features, "it")


def test_new_columns_need_names_of_their_own():
    assert output_names(["a"], "", "it") == ("label", "votes_asked")
    with pytest.raises(InvalidInputError, match="it already has a column 'label': give a prefix"):
        output_names(["a", "label"], "", "it")
    assert output_names(["a", "label"], "our_", "it") == ("our_label", "our_votes_asked")
