"""Models of every kind, frames of every type of column, and what each model itself says of them.

The limit is 0, so that nothing stops before the outcome is certain and any other label is a wrong one. Large
integers differ by a few units around the points where the label changes: whoever rounds them further than
the model does gets hundreds of labels wrong.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.scores import CannotCertifyWarning

N_FIT, N_ROWS = 500, 900  # rows to train on; all rows


def numbers():
    """Columns of every type that holds numbers."""
    rng = np.random.default_rng(0)
    near = rng.integers(-9, 10, (N_ROWS, 4))
    return pd.DataFrame(
        {
            "beyond_float32": 2**27 + near[:, 0],
            "beyond_int32": 2**40 + near[:, 1] * 3,
            "beyond_float64": 2**60 + near[:, 2] * 2**5,
            "small": rng.integers(0, 200, N_ROWS).astype(np.uint8),
            "flag": rng.random(N_ROWS) < 0.5,
            "float64": 1 + near[:, 3] * 1e-12,
            "float32": rng.normal(size=N_ROWS).astype(np.float32),
        }
    )


def with_gaps():
    """Columns with missing values, of types that have one for them."""
    frame, rng = numbers(), np.random.default_rng(1)
    gone = rng.random((N_ROWS, 4)) < 0.1
    return frame.assign(
        **{
            "beyond_float32": frame["beyond_float32"].astype("Int64").mask(gone[:, 0]),
            "beyond_int32": frame["beyond_int32"].astype("int64[pyarrow]").mask(gone[:, 1]),
            "flag": frame["flag"].astype("boolean").mask(gone[:, 2]),
            "float64": frame["float64"].astype("double[pyarrow]"),
            "float32": frame["float32"].mask(gone[:, 3]),
        }
    )


def with_categories():
    """Columns of categories: texts, integers and floats, in another order than that of their values."""
    frame, rng = numbers()[["beyond_float32", "flag", "float64"]], np.random.default_rng(2)
    texts, integers, floats = ["no", "yes", "ü", "="], [30, 7, 20, 2], [2.5, -1.0, 0.125]
    return frame.assign(
        text=pd.Categorical(rng.choice(texts, N_ROWS), categories=texts),
        integer=pd.Categorical(rng.choice(integers, N_ROWS), categories=integers),
        float=pd.Categorical(rng.choice(floats, N_ROWS), categories=floats).astype("category"),
    ).assign(text=lambda f: f["text"].where(rng.random(N_ROWS) > 0.1))


def labels(frame, classes):
    """Labels that change at every value of some column."""
    parity = sum(
        (pd.factorize(frame[name], sort=True)[0] + 1) * weight
        for name, weight in zip(frame, (1, 1, 0, 0, 3, 1, 0), strict=False)
    )
    for name, weight in (("text", 2), ("integer", 3), ("float", 1)):
        if name in frame:
            parity = parity + frame[name].cat.codes * weight
    return np.array(classes)[np.asarray(parity) // 4 % len(classes)]


LGB = {"n_estimators": 12, "num_leaves": 63, "min_child_samples": 1, "verbose": -1, "max_bin": 1023}
LGB_SETS = {**LGB, "min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 1}
XGB = {"n_estimators": 12, "max_depth": 8, "enable_categorical": True, "max_cat_to_onehot": 1}
FOREST = {"n_estimators": 15, "random_state": 0}
MODELS = {
    "votes": (RandomForestClassifier(**FOREST), 2),
    "extra trees": (ExtraTreesClassifier(**FOREST), 2),
    "bag": (BaggingClassifier(DecisionTreeClassifier(), n_estimators=11, random_state=0), 2),
    "many classes": (RandomForestClassifier(n_estimators=10, random_state=0), 3),
    "averages of many classes": (RandomForestClassifier(**FOREST, min_samples_leaf=4), 3),
    "boosting of many classes": (
        HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=1, random_state=0),
        3,
    ),
    "average": (RandomForestClassifier(**FOREST, min_samples_leaf=4), 2),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=12, random_state=0), 2),
    "AdaBoost": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=7, random_state=0), 2),
    "hist boosting": (HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=1, random_state=0), 2),
    "LightGBM": (lgb.LGBMClassifier(**LGB), 2),
    "XGBoost": (xgb.XGBClassifier(**XGB), 2),
}
SETS = {
    "hist boosting": HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=1, categorical_features="from_dtype", random_state=0
    ),
    "LightGBM": lgb.LGBMClassifier(**LGB_SETS),
    "XGBoost": xgb.XGBClassifier(**XGB),
}
CANNOT_MISS = ("gradient boosting", "AdaBoost")  # of numbers that are missing
CASES = [
    *((name, "numbers") for name in MODELS),
    *((name, "gaps") for name in MODELS if name not in CANNOT_MISS),
    *((name, "categories") for name in SETS),
]
FRAMES = {"numbers": numbers, "gaps": with_gaps, "categories": with_categories}


class Case(NamedTuple):
    """A classifier, its file's content, rows that are new to it, and the model's own labels of them."""

    classifier: EarlyStoppingClassifier
    content: bytes
    rows: pd.DataFrame
    want: np.ndarray[Any, Any]
    tied: np.ndarray[Any, Any]  # rows that several of many classes lead: any of them is right

    def check(self, got: Any) -> None:
        """Compare labels with the model's own; where classes are tied, with those of predict."""
        got = np.asarray(got)
        np.testing.assert_array_equal(got[~self.tied], self.want[~self.tied])
        np.testing.assert_array_equal(got[self.tied], self.classifier.predict(self.rows)[self.tied])

    def file(self, folder: Path) -> Path:
        """Write the classifier's file."""
        path = folder / "model.foregone"
        path.write_bytes(self.content)
        return path


@functools.cache
def case_of(name: str, rows: str) -> Case:
    frame = FRAMES[rows]()
    model, n_classes = MODELS[name] if rows != "categories" else (SETS[name], 2)
    if name == "XGBoost" and rows == "categories":
        frame = frame.drop(columns="float")  # it knows no such categories, and texts of ASCII only
        frame["text"] = frame["text"].cat.rename_categories({"ü": "u"})
    if name == "LightGBM" and rows == "gaps":
        frame = frame.astype({"beyond_int32": "Int64", "float64": "Float64"})  # it takes no types of Arrow
    if name in ("LightGBM", "XGBoost") and rows == "gaps":
        frame["flag"] = frame["flag"].astype("Float64")  # these two take no missing booleans
    classes = [0, 1] if name == "XGBoost" else ["ham", "spam", "=1+1"][:n_classes]
    y = labels(frame, classes)
    model.fit(frame[:N_FIT], y[:N_FIT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CannotCertifyWarning)  # no score is certain early enough
        classifier = early_stop(model, frame[N_FIT:], max_disagreement=0, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "model")
        content = (Path(folder) / "model").read_bytes()
    new, want = frame[N_FIT:].reset_index(drop=True), np.asarray(model.predict(frame[N_FIT:]))
    tied = np.zeros(len(want), bool)
    if n_classes > 2 and classifier.voting_ == "hard":
        votes = np.sort(classifier.full_votes(new), axis=1)
        tied = votes[:, -1] == votes[:, -2]
    assert len(set(want)) == n_classes
    return Case(classifier, content, new, want, tied)
