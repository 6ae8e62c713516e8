"""On a real Spark: one classic session for all, and a Spark Connect client of the same process."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone import early_stop
from foregone.errors import InvalidInputError
from foregone.scale import input_files, score_file
from foregone.scale.model_file import n_loads
from tests.classifier import models
from tests.scale.ways import CASES, case_of

pyspark = pytest.importorskip("pyspark", reason="no pyspark: install the extra 'spark'")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("no Java: Spark needs version 17 or newer", allow_module_level=True)

from pyspark.sql import SparkSession, functions  # noqa: E402  # after the skips

from foregone.scale.spark import predict_udf, score  # noqa: E402  # after the skips

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # one session is enough
    # Spark warns of every new pandas in each of its modules; what is used of it here is tested here.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Spark leaves sockets and pipes to its Java process to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module")
def port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def spark(port):
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[1]").appName("foregone tests")
        session = builder.config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def rows(spark, frame, tmp_path_factory):
    """The rows as a Spark frame, with a number to tell them by."""
    file = tmp_path_factory.mktemp("spark") / "rows.parquet"
    frame.assign(number=range(len(frame))).to_parquet(file)
    return spark.read.parquet(str(file))


def in_order(scored):
    collected = pd.DataFrame([row.asDict() for row in scored.collect()])
    return collected.sort_values("number", ignore_index=True)


@pytest.mark.parametrize("n_partitions", [1, 7])
def test_frames_are_scored_as_on_one_machine(n_partitions, rows, frame, expected, classifier):
    got = in_order(score(rows.repartition(n_partitions), classifier))
    assert got.columns.tolist() == [*frame.columns, "number", "label", "votes_asked"]
    pd.testing.assert_frame_equal(got[["label", "votes_asked"]], expected, check_dtype=False)
    assert got["key"].tolist() == frame["key"].tolist()


def test_audited_rows_have_the_label_of_all_voters(rows, frame, expected, classifier):
    got = in_order(score(rows.repartition(3), classifier, audit=0.2, prefix="our_"))
    assert got.columns.tolist()[-3:] == ["our_label", "our_votes_asked", "our_full_label"]
    assert got["our_label"].tolist() == expected["label"].tolist()
    full, audited = classifier.full_predict(frame.drop(columns="key")), got["our_full_label"].notna()
    assert 150 < audited.sum() < 350
    assert got["our_full_label"][audited].tolist() == full[audited].tolist()


@pytest.mark.parametrize("of_truth", [False, True])
def test_audits_of_numbers_and_booleans_are_null_elsewhere(of_truth, spark, tmp_path):
    X, y = models.rows()
    forest = RandomForestClassifier(9, random_state=0).fit(X[:500], y[:500] > 0 if of_truth else y[:500])
    classifier = early_stop(forest, X[500:900], max_disagreement=0.05, random_state=0)
    names = [f"x{k}" for k in range(X.shape[1])]
    pd.DataFrame(X[900:1000], columns=names).assign(number=range(100)).to_parquet(tmp_path / "r.parquet")
    scored = score(spark.read.parquet(str(tmp_path / "r.parquet")), classifier, names, audit=0.3)
    assert scored.schema["full_label"].dataType == scored.schema["label"].dataType
    got, full = in_order(scored)["full_label"], classifier.full_predict(X[900:1000]).tolist()
    assert 10 < got.notna().sum() < 60
    assert got.dropna().tolist() == [label for label, known in zip(full, got.notna(), strict=True) if known]


def test_the_function_takes_a_struct_or_an_array(rows, frame, expected, model_path):
    ask = predict_udf(model_path)
    columns = [functions.col(f"`{name}`").cast("double") for name in frame.columns[:-1]]
    for given in (functions.struct(*columns), functions.array(*columns)):
        got = in_order(rows.select("number", ask(given).alias("vote")).select("number", "vote.*"))
        assert got["label"].tolist() == expected["label"].tolist()
        assert got["votes_asked"].tolist() == expected["votes_asked"].tolist()


def test_nulls_are_missing_values_and_labels_keep_their_type(spark, tmp_path):
    X, y = models.rows()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    forest = RandomForestClassifier(9, random_state=0).fit(X[:500, :1], y[:500] > 0)
    classifier = early_stop(forest, X[500:900, :1], max_disagreement=0.05, random_state=0)
    values = X[900:1000, :1]
    pd.DataFrame(values, columns=["x"]).assign(number=range(100)).to_parquet(tmp_path / "rows.parquet")
    read = spark.read.parquet(str(tmp_path / "rows.parquet"))
    got = in_order(score(read, classifier, features=["x"]))
    assert got["label"].tolist() == classifier.predict(values).tolist()
    assert got["label"].dtype == bool


def test_columns_that_do_not_fit_are_named_before_anything_is_computed(rows, model_path):
    with pytest.raises(InvalidInputError, match="the Spark frame has no column 'b', which the model needs"):
        score(rows.drop("b"), model_path)
    text = rows.withColumn("b", functions.lit("text"))
    with pytest.raises(InvalidInputError, match="column 'b' of the Spark frame has type string"):
        score(text, model_path)
    taken = rows.withColumn("label", functions.lit(1))
    with pytest.raises(InvalidInputError, match="already has a column 'label'"):
        score(taken, model_path)
    assert score(taken, model_path, prefix="our_").columns[-3:] == ["label", "our_label", "our_votes_asked"]


def test_a_worker_loads_the_model_once(spark, rows, classifier):
    def loads(batches):
        for _ in batches:
            yield pd.DataFrame({"n": [n_loads()]})

    def counted():
        return spark.range(1).mapInPandas(loads, "n long").collect()[0]["n"]

    model = early_stop(models.forest(), models.fresh()[:500], max_disagreement=0.05, random_state=5)
    names = [name for name in rows.columns if name not in ("key", "number")]
    before = counted()
    for n_partitions in (5, 3):
        score(rows.repartition(n_partitions), model, features=names).select("label").collect()
    assert counted() == before + 1


def test_files_are_scored_by_spark(spark, frame, expected, model_path, tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "PART_ROWS", 400)
    file, output = tmp_path / "rows.parquet", tmp_path / "out.parquet"
    frame.to_parquet(file, row_group_size=400)
    made = score_file(model_path, file, output, engine="spark")
    assert (made.rows, made.parts) == (1200, 3)
    pd.testing.assert_frame_equal(pd.read_parquet(output), expected, check_dtype=False)
    frame.assign(a=np.inf).to_parquet(file)
    with pytest.raises(InvalidInputError, match=r"rows\.parquet: Input X contains infinity"):
        score_file(model_path, file, output, engine="spark")


CONNECTED = """
import sys
from pyspark.sql import SparkSession
from foregone.scale import score_file
from foregone.scale.spark import score
address, model, rows, scored, filed = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
assert "connect" in type(spark).__module__
score(spark.read.parquet(rows).repartition(3), model).write.parquet(scored)
score_file(model, rows, filed, engine="spark", cluster=address)
"""


def test_it_works_under_spark_connect(spark, port, frame, expected, model_path, tmp_path):
    pytest.importorskip("grpc", reason="no grpc: install the extra 'spark'")
    rows, scored, filed = (tmp_path / name for name in ("rows.parquet", "scored.parquet", "filed.parquet"))
    frame.assign(number=range(len(frame))).to_parquet(rows)
    arguments = [f"sc://127.0.0.1:{port}", model_path, rows, scored, filed]
    ended = subprocess.run(
        [sys.executable, "-c", CONNECTED, *map(str, arguments)],
        timeout=300, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    got = pd.read_parquet(scored).sort_values("number", ignore_index=True)
    pd.testing.assert_frame_equal(got[["label", "votes_asked"]], expected, check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_parquet(filed), expected, check_dtype=False)


@pytest.mark.parametrize("case", CASES, ids=" on ".join)
def test_every_kind_of_model_and_column_gives_the_models_own_label(case, spark, tmp_path):
    case = case_of(*case)
    file = tmp_path / "rows.parquet"
    case.rows.assign(number=range(len(case.rows))).to_parquet(file)
    case.check(in_order(score(spark.read.parquet(str(file)), case.file(tmp_path)))["label"])


@pytest.mark.parametrize("name", ["many classes", "boosting of many classes"])
def test_many_classes_are_scored_from_files_by_spark(name, spark, tmp_path):
    case = case_of(name, "numbers")
    file, output = tmp_path / "rows.parquet", tmp_path / "out.parquet"
    case.rows.to_parquet(file)
    score_file(case.file(tmp_path), file, output, engine="spark")
    case.check(pd.read_parquet(output)["label"])
