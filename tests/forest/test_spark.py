"""Forests of Spark ML, read from what it saves: every tree's vote and the forest's sums are Spark's own."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, ScoredForest
from tests.golden import make_spark_forest as golden

FOLDER = golden.FOLDER


def said():
    content = json.loads((FOLDER / "predictions.json").read_text())
    rows = np.array([[float(value) for value in row] for row in content.pop("rows")])
    return rows, content


def assert_the_same(folder, rows, content):
    packed, scored = PackedForest.from_spark(folder), ScoredForest.from_spark(folder)
    assert packed.vote_matrix(rows).tolist() == (np.array(content["every_tree"]) == 1.0).tolist()
    no, yes = np.array(content["sums"]).T
    sums = scored.full_scores(rows)
    np.testing.assert_allclose(2 * sums, yes - no, rtol=0, atol=1e-14)
    clear = np.abs(yes - no) > 1e-12
    answers = scored.classes[(sums > 0).astype(int)]
    assert clear.sum() > 0.9 * len(rows)
    assert answers[clear].tolist() == np.array(content["forest"])[clear].tolist()


def test_a_saved_forest_votes_as_in_spark_with_gaps_infinities_and_categories_that_are_none():
    rows, content = said()
    assert_the_same(FOLDER, rows, content)


def test_rows_one_by_one_and_after_saving_are_as_all_together(tmp_path):
    rows, _ = said()
    forest = PackedForest.from_spark(FOLDER, classes=["stays", "leaves"])
    forest.save(tmp_path / "forest")
    loaded = PackedForest.load(tmp_path / "forest")
    assert loaded.classes.tolist() == ["stays", "leaves"]
    votes = forest.votes(rows).tolist()
    assert loaded.votes(rows).tolist() == votes
    assert [loaded.run_one(row, None, seed=0)[2] for row in rows] == votes


def test_the_order_of_rows_in_the_file_does_not_matter(tmp_path):
    folder = Path(shutil.copytree(FOLDER, tmp_path / "model"))
    table = rewrite(folder, lambda table: table.take(np.random.default_rng(0).permutation(len(table))))
    half = len(table) // 2
    (part,) = (folder / "data").glob("part*")
    parquet.write_table(table.slice(half), part)
    parquet.write_table(table.slice(0, half), part.with_name("part-00001.parquet"))
    rows, content = said()
    assert_the_same(folder, rows, content)


def rewrite(folder, change):
    (part,) = (folder / "data").glob("part*")
    table = change(parquet.read_table(part))
    parquet.write_table(table, part)
    return table


def change_nodes(change):
    """A change of the table of nodes, given one of the list of them."""

    def changed(table):
        nodes = table["nodeData"].to_pylist()
        change(nodes)
        column = pa.array(nodes, table.schema.field("nodeData").type)
        return table.set_column(1, table.schema.field("nodeData"), column)

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.slice(0, len(table) - 3), "cannot be understood"),
        (lambda table: table.slice(len(table) // 2), "do not hold 7 trees"),
        (lambda table: table.drop_columns(["nodeData"]), "cannot be read as Parquet of nodes"),
        (change_nodes(lambda nodes: nodes[0].update(leftChild=0)), "cannot be understood"),
        (change_nodes(lambda nodes: nodes[0].update(rightChild=10**6)), "cannot be understood"),
        (change_nodes(lambda nodes: nodes[0].update(impurityStats=[1.0, 2.0, 3.0])), "cannot be understood"),
        (change_nodes(lambda nodes: nodes[0].update(impurityStats=[1.0, np.nan])), "cannot be understood"),
        (change_nodes(lambda nodes: nodes[0]["split"].update(featureIndex=4)), "cannot be understood"),
        (change_nodes(lambda nodes: nodes[0]["split"].update(numCategories=0)), "cannot be understood"),
        (
            change_nodes(lambda nodes: nodes[0]["split"].update(leftCategoriesOrThreshold=[0.0, 9.0])),
            "cannot be understood",
        ),
    ],
)
def test_damaged_data_are_refused_by_name(change, message, tmp_path):
    folder = Path(shutil.copytree(FOLDER, tmp_path / "model"))
    rewrite(folder, change)
    for kind in (PackedForest, ScoredForest):
        with pytest.raises(FileFormatError, match=f"model: .*{message}"):
            kind.from_spark(folder)


def test_a_file_cut_short_is_refused_by_name(tmp_path):
    folder = Path(shutil.copytree(FOLDER, tmp_path / "model"))
    (part,) = (folder / "data").glob("part*")
    part.write_bytes(part.read_bytes()[:900])
    with pytest.raises(FileFormatError, match="model: its data cannot be read as Parquet"):
        PackedForest.from_spark(folder)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda head: head.update({"class": "a.b.GBTClassificationModel"}), FileFormatError, "holds a GBTCl"),
        (lambda head: head.update(numTrees=True), FileFormatError, "numTrees is True"),
        (lambda head: head.pop("class"), FileFormatError, "metadata is damaged"),
        (lambda head: head["paramMap"].update(thresholds=[0.2, 0.8]), InvalidInputError, "thresholds"),
    ],
)
def test_other_models_are_refused_by_name(change, error, message, tmp_path):
    folder = Path(shutil.copytree(FOLDER, tmp_path / "model"))
    (part,) = (folder / "metadata").glob("part*")
    head = json.loads(part.read_text())
    change(head)
    part.write_text(json.dumps(head))
    with pytest.raises(error, match=message):
        PackedForest.from_spark(folder)


def test_three_classes_no_folder_and_wrong_labels_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="two classes, the forest has 3"):
        PackedForest.from_spark(FOLDER / "three-classes")
    with pytest.raises(FileFormatError, match="not a folder that Spark ML saved a model to"):
        PackedForest.from_spark(tmp_path)
    with pytest.raises(InvalidInputError, match="classes must be two labels"):
        PackedForest.from_spark(FOLDER, classes=["only"])


@pytest.mark.slow
@pytest.mark.xdist_group("spark")  # one Java process is enough
def test_a_forest_that_spark_grows_now_votes_the_same(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("there is no Java for Spark here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark's own, about versions of pandas
        from pyspark.sql import SparkSession

        is_ours = SparkSession.getActiveSession() is None  # else another test's, which goes on
        spark = golden.start_session()
        try:
            model = golden.grow(spark, seed=5, n_trees=4)
            model.write().save(str(tmp_path / "model"))
            rows = golden.new_rows(model, seed=6, n_rows=60)
            content = golden.predictions(spark, model, rows)
        finally:
            if is_ours:
                spark.stop()
    assert_the_same(tmp_path / "model", rows, content)
