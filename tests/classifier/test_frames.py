"""Frames take a short way to the forest, and come to what scikit-learn would make of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.utils.validation import validate_data

from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier import row_checks
from foregone.classifier.row_checks import frame_values

pl = pytest.importorskip("polars")

NAMES = ["a", "b", "c", "d"]
X, Y = make_classification(1_500, 4, n_informative=3, n_redundant=0, random_state=0)
FRAME = pd.DataFrame(np.round(3 * X), columns=NAMES)


@pytest.fixture(scope="module", params=["votes", "scores"])
def stopped(request: pytest.FixtureRequest) -> EarlyStoppingClassifier:
    """Keys of 32 bits, and of 64."""
    model = RandomForestClassifier(11, random_state=0)
    if request.param == "scores":
        model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    return early_stop(model.fit(FRAME[:500], Y[:500]), FRAME[500:], 0.1, random_state=0)


def as_types(*types: Any) -> pd.DataFrame:
    return FRAME.astype(dict(zip(NAMES, types, strict=True)))


FRAMES = {
    "float64": as_types(*["float64"] * 4),
    "float32": as_types(*["float32"] * 4),
    "int64": as_types(*["int64"] * 4),
    "int8": as_types(*["int8"] * 4),
    "bool": FRAME > 0,
    "both floats": as_types("float32", "float64", "float32", "float64"),
    "numbers of all kinds": as_types("int8", "float32", "int64", "float64"),
    "small integers and a float32": as_types("int8", "int16", "float32", "int8"),
    "integers of two kinds": as_types("int64", "int8", "int32", "int64"),
    "too large for float32": (FRAME * 16_777_217).astype("int64"),
    "bool and float": FRAME.assign(a=FRAME.a > 0),
    "nullable": as_types("Int64", "Float64", "float64", "float64"),
    "half floats": as_types(*["float16"] * 4),
    "objects": as_types(*["object"] * 4),
    "polars": pl.DataFrame({name: FRAME[name].to_numpy() for name in NAMES}),
    "polars, of two types": pl.DataFrame(
        {name: FRAME[name].to_numpy().astype(np.int32 if name == "b" else np.float32) for name in NAMES}
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_values_are_those_that_scikit_learn_would_make(
    stopped: EarlyStoppingClassifier, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = FRAMES[kind]
    shortly = stopped._check_rows(frame)
    labels = stopped.predict(frame)
    one_by_one = [stopped.predict(frame[row : row + 1])[0] for row in range(20)]
    np.testing.assert_array_equal(one_by_one, labels[:20])
    monkeypatch.setattr(stopped, "_frame_names", None)
    checked = stopped._check_rows(frame)
    # Of polars, scikit-learn rounds what trees with keys of 32 bits would round themselves.
    compared = np.float32 if stopped.ensemble_.rows.key_bits == 32 else np.float64
    np.testing.assert_array_equal(shortly.astype(compared), checked.astype(compared))
    assert shortly.dtype == checked.dtype or kind.startswith("polars")
    np.testing.assert_array_equal(stopped.predict(frame), labels)


def test_plain_numbers_are_not_looked_at_by_scikit_learn(
    stopped: EarlyStoppingClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("scikit-learn was asked")

    monkeypatch.setattr(row_checks, "validated", refuse)
    monkeypatch.setattr("foregone.classifier.predicting.validated", refuse)
    for kind in ("float64", "int64", "numbers of all kinds", "polars"):
        stopped.predict(FRAMES[kind])
        stopped.predict(FRAMES[kind][:1])


@pytest.mark.parametrize(
    "frame",
    [
        FRAME[NAMES[::-1]],
        FRAME.rename(columns={"a": "z"}),
        FRAME[NAMES[:3]],
        FRAME.assign(e=1.0),
        FRAME[:0],
        FRAME.assign(a="text"),
        pd.DataFrame(FRAME.to_numpy()),
        X,
        X.tolist(),
    ],
)
def test_anything_else_is_left_to_scikit_learn(stopped: EarlyStoppingClassifier, frame: Any) -> None:
    assert frame_values(frame, NAMES, stopped.ensemble_.rows) is None


@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_no_tree_takes_raise_scikit_learns_error(n_rows: int, value: float) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(FRAME[:500], Y[:500])
    forest.estimators_[0]._support_missing_values = lambda X: False  # an older forest
    stopped = early_stop(forest, FRAME[500:], 0.1, random_state=0)
    bad = FRAME[:n_rows].copy()
    bad.iloc[-1, 2] = value
    with pytest.raises(ValueError, match="Input X contains") as ours:
        stopped.predict(bad)
    with pytest.raises(ValueError, match="Input X contains") as theirs:
        validate_data(stopped, bad, reset=False, dtype=[np.float32, np.float64])
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]


def test_frames_in_another_order_are_refused_as_scikit_learn_does(stopped: EarlyStoppingClassifier) -> None:
    with pytest.raises(ValueError, match="must be in the same order"):
        stopped.predict(FRAME[NAMES[::-1]][:1])


def test_no_names_are_warned_of_and_names_are_not(stopped: EarlyStoppingClassifier) -> None:
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        stopped.predict(X[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped.predict(FRAME[:1])
