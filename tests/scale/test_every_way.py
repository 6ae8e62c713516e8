"""Every way to a label gives the label of the model's own ``predict``, on frames of every type of column.

`ways.py` has the models and the frames; what Spark says of them is in `test_spark.py`.
"""

from __future__ import annotations

import json
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.monitoring import MonitorWarning
from foregone.monitoring.audit_rows import AuditRows
from foregone.scale import score_file
from foregone.scores import CannotCertifyWarning
from tests.scale.ways import CASES, case_of

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

from foregone.scale.dask import predict, predict_with_votes  # noqa: E402  # after the skips


@pytest.fixture(params=CASES, ids=" on ".join)
def case(request):
    return case_of(*request.param)


def test_predict(case, tmp_path):
    case.check(case.classifier.predict(case.rows))
    case.check(EarlyStoppingClassifier.load(case.file(tmp_path)).predict(case.rows))
    case.check(case.classifier.set_params(n_jobs=2).predict(case.rows))
    if not case.tied.any():
        case.check(case.classifier.full_predict(case.rows))


def test_one_row(case):
    some = [k for k in range(0, len(case.rows), 23) if not case.tied[k]]
    got = [case.classifier.predict(case.rows[k : k + 1])[0] for k in some]
    assert got == case.want[some].tolist()


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("input", ["rows.parquet", "rows.csv"])
def test_score(case, input, output, tmp_path):
    if input.endswith("csv"):
        case.rows.to_csv(tmp_path / input, index=False)
    else:
        case.rows.to_parquet(tmp_path / input)
    made = score_file(case.file(tmp_path), tmp_path / input, tmp_path / output)
    got = (pd.read_csv if output.endswith("csv") else pd.read_parquet)(tmp_path / output)["label"]
    case.check(got)
    assert {label: n for label, n in made.by_label.items() if n} == got.value_counts().to_dict()


def test_dask(case, tmp_path):
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        lazy = dd.from_pandas(case.rows, npartitions=3)
        case.check(predict(lazy, case.file(tmp_path)).compute())


def test_the_same_rows_are_audited_as_a_monitor_audits(case, tmp_path):
    monitor = case.classifier.monitor(audit=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)  # these rows are few and close
        monitor.predict(case.rows)
    full = case.classifier.full_predict(case.rows)
    chosen = AuditRows(0.2).choose(case.classifier._check_rows(case.rows))
    assert 0.1 * len(full) < len(chosen) == monitor.state.n_audited < 0.3 * len(full)
    case.rows.to_csv(tmp_path / "rows.csv", index=False)
    case.rows.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        score_file(case.file(tmp_path), tmp_path / name, tmp_path / "out.parquet", audit=0.2)
        got = pd.read_parquet(tmp_path / "out.parquet")["full_label"]
        assert np.flatnonzero(got.notna()).tolist() == chosen.tolist()
        assert got[chosen].tolist() == full[chosen].tolist()
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        lazy = predict_with_votes(dd.from_pandas(case.rows, npartitions=3), case.file(tmp_path), audit=0.2)
        got = lazy.compute()["full_label"]
    assert np.flatnonzero(got.notna()).tolist() == chosen.tolist()
    assert got[chosen].tolist() == full[chosen].tolist()
    assert got.dtype == lazy.dtypes["full_label"]


@pytest.mark.parametrize("name", ["LightGBM", "XGBoost"])
def test_a_frame_whose_categories_lost_their_type_is_refused_as_the_model_itself_does(name, tmp_path):
    case = case_of(name, "categories")
    plain = case.rows.astype({"integer": int})
    with pytest.raises(
        InvalidInputError, match=r"columns of dtype category, but the model was trained on \d: convert"
    ):
        case.classifier.predict(plain)
    with pytest.raises(
        InvalidInputError, match="'integer' of the Dask frame has type int64, but the model was"
    ):
        predict(dd.from_pandas(plain, npartitions=2), case.file(tmp_path))


def test_texts_where_categories_are_numbers_are_refused(tmp_path):
    case = case_of("hist boosting", "categories")
    case.rows.astype({"integer": str}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        InvalidInputError, match=r"'integer' of .* but the model's categories for it are numbers"
    ):
        score_file(case.file(tmp_path), tmp_path / "rows.parquet", tmp_path / "out.parquet")


def test_integers_in_arrays_are_rounded_as_lightgbm_does():
    case = case_of("LightGBM", "numbers")
    whole = case.rows[["beyond_float32", "beyond_int32", "beyond_float64", "small", "flag"]].astype("int64")
    y = np.arange(len(whole)) % 2
    model = lgb.LGBMClassifier(n_estimators=5, min_child_samples=1, verbose=-1).fit(whole, y)
    array = whole.to_numpy()
    forest = ScoredForest.from_model(model)
    np.testing.assert_array_equal(forest.full_scores(whole), model.predict(whole, raw_score=True))
    model.fit(array, y)
    forest = ScoredForest.from_model(model)
    np.testing.assert_array_equal(forest.full_scores(array), model.predict(array, raw_score=True))
    assert (forest.full_scores(array) != forest.full_scores(whole)).any()


def test_a_model_that_does_not_know_its_columns_of_categories_is_refused(tmp_path):
    rows = case_of("LightGBM", "categories").rows
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM's own, that not all columns of categories are used as such
        model.fit(rows, np.arange(len(rows)) % 2, categorical_feature=["text"])
        classifier = early_stop(model, rows, max_disagreement=0, random_state=0)
    np.testing.assert_array_equal(classifier.predict(rows), model.predict(rows))
    classifier.save(tmp_path / "model.foregone")
    rows.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidInputError, match="does not record the values of each column's categories"):
        score_file(tmp_path / "model.foregone", tmp_path / "rows.parquet", tmp_path / "out.parquet")


def test_models_of_old_xgboost_do_not_know_their_categories_and_are_refused_too(monkeypatch, tmp_path):
    """Before 3.1 XGBoost kept no lists, so nobody can tell values from positions in a file."""
    rows = case_of("XGBoost", "categories").rows.drop(columns="text")
    model = xgb.XGBClassifier(n_estimators=3, enable_categorical=True, max_cat_to_onehot=1)
    model.fit(rows, np.asarray(rows["integer"].cat.codes) % 2)
    parse = json.loads

    def without_lists(text):
        content = parse(text)
        content["learner"]["gradient_booster"]["model"].pop("cats")
        return content

    monkeypatch.setattr("foregone.forest.importers.xgboost.json.loads", without_lists)
    forest = ScoredForest.from_model(model)
    monkeypatch.undo()
    codes = rows.assign(integer=rows["integer"].cat.codes).to_numpy(np.float64)
    np.testing.assert_array_equal(forest.full_scores(codes) > 0, model.predict(rows))
    with pytest.raises(InvalidInputError, match=r"1 columns of dtype category, but .* trained on 0"):
        forest.full_scores(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CannotCertifyWarning)
        classifier = early_stop(forest, codes, max_disagreement=0, random_state=0)
    rows.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidInputError, match="does not record the values of each"):
        score_file(classifier, tmp_path / "rows.parquet", tmp_path / "out.parquet")
