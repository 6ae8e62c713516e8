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
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.spark_ml import import_model
from foregone.plurality import rules
from tests.forest.slow_class_scores import assert_packs_the_same, class_sums, class_votes
from tests.golden import make_spark_forest as golden

FOLDER = golden.FOLDER
THREE = FOLDER / "three-classes"
NUMBERS = [0.0, 1.0, 2.0]


def said(folder=FOLDER):
    content = json.loads((folder / "predictions.json").read_text())
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


def assert_the_same_of_many(folder, rows, content):
    found = import_model(folder)
    sums = class_sums(found, rows)
    np.testing.assert_array_equal(sums, content["sums"])  # bit for bit
    assert found.classes[sums.argmax(axis=1)].tolist() == content["forest"]
    assert class_votes(found, rows).tolist() == content["every_tree"]
    assert_packs_the_same(found, rows)
    forest = PluralityForest.from_spark(folder)
    assert forest.classes[forest.vote_matrix(rows)].tolist() == content["every_tree"]
    return found


def test_a_saved_forest_of_three_classes_adds_up_and_votes_as_in_spark():
    rows, content = said(THREE)
    found = assert_the_same_of_many(THREE, rows, content)
    assert found.classes.tolist() == NUMBERS
    shares = np.array(content["sums"]) / len(list(found.trees()))
    np.testing.assert_allclose(found.link.probability(np.array(content["sums"])), shares, rtol=1e-15)
    assert set(content["forest"]) == set(NUMBERS)


def test_counts_that_are_no_whole_numbers_are_added_up_as_spark_does(tmp_path):
    folder = Path(shutil.copytree(THREE, tmp_path / "model"))
    rng = np.random.default_rng(0)

    def weigh(nodes):
        for node in nodes:
            node["impurityStats"] = rng.gamma(0.3, size=3).tolist()
        nodes[-1]["impurityStats"] = [0.0, 0.0, 0.0]

    nodes = rewrite(folder, change_nodes(weigh))["nodeData"].to_pylist()
    for node, score in zip(
        nodes, np.concatenate([t.score for t in import_model(folder).trees()]), strict=True
    ):
        total = 0.0
        for count in node["impurityStats"]:  # Python's own sum is more exact than Spark's
            total += count
        expected = [count / total if total else 0.0 for count in node["impurityStats"]]
        assert score.tolist() == expected


def test_rows_of_three_classes_one_by_one_and_after_saving_are_as_all_together(tmp_path):
    rows, content = said(THREE)
    forest = PluralityForest.from_spark(THREE, classes=["ash", "birch", "cherry"])
    forest.save(tmp_path / "forest")
    loaded = PluralityForest.load(tmp_path / "forest")
    assert loaded.classes.tolist() == ["ash", "birch", "cherry"]
    counts = [[line.count(number) for number in NUMBERS] for line in content["every_tree"]]
    for same in (forest, loaded):
        assert same.votes(rows).tolist() == counts
        assert [same.votes(row[None]).tolist() for row in rows] == [[count] for count in counts]
    strategy = rules.lead(forest.n_trees, 3)
    outcome = forest.run(rows, strategy, seed=3)
    alone = [loaded.run_one(row, strategy, seed=3) for row in rows]
    assert np.array(alone).T.tolist() == np.array(outcome).tolist()
    assert outcome.asked.min() == 3 < outcome.asked.max()


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
        (lambda table: table.slice(0, len(table) - 3), "a node is invalid"),
        (lambda table: table.slice(len(table) // 2), "expected 7 trees"),
        (lambda table: table.drop_columns(["nodeData"]), "the Parquet files cannot be read"),
        (change_nodes(lambda nodes: nodes[0].update(leftChild=0)), "a node is invalid"),
        (change_nodes(lambda nodes: nodes[0].update(rightChild=10**6)), "a node is invalid"),
        (change_nodes(lambda nodes: nodes[0].update(impurityStats=[1.0, 2.0, 3.0])), "a node is invalid"),
        (change_nodes(lambda nodes: nodes[0].update(impurityStats=[1.0, np.nan])), "a node is invalid"),
        (change_nodes(lambda nodes: nodes[0]["split"].update(featureIndex=4)), "a node is invalid"),
        (change_nodes(lambda nodes: nodes[0]["split"].update(numCategories=0)), "a node is invalid"),
        (
            change_nodes(lambda nodes: nodes[0]["split"].update(leftCategoriesOrThreshold=[0.0, 9.0])),
            "a node is invalid",
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
    with pytest.raises(FileFormatError, match="model: damaged data: the Parquet"):
        PackedForest.from_spark(folder)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda head: head.update({"class": "a.b.GBTClassificationModel"}), FileFormatError, "found a GBTCl"),
        (lambda head: head.update(numTrees=True), FileFormatError, "numTrees is True"),
        (lambda head: head.pop("class"), FileFormatError, "metadata cannot be read"),
        (lambda head: head.update(numClasses=1), InvalidInputError, "the forest has 1"),
        (lambda head: head.update(numClasses=10**9), InvalidInputError, "the forest has 1,000,000,000"),
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


def test_votes_of_three_classes_no_folder_and_wrong_labels_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="expected a model of two classes, got 3"):
        PackedForest.from_spark(THREE, classes=NUMBERS)
    with pytest.raises(FileFormatError, match="not a model saved by Spark ML"):
        PackedForest.from_spark(tmp_path)
    with pytest.raises(InvalidInputError, match="classes must be 2 unique labels"):
        PackedForest.from_spark(FOLDER, classes=["only"])
    for wrong in (["a", "b"], ["a", "b", "a"], [["a", "b", "c"]]):
        with pytest.raises(InvalidInputError, match="classes must be 3 unique labels"):
            PluralityForest.from_spark(THREE, classes=wrong)


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
            many = golden.grow(spark, seed=7, n_trees=5, n_classes=6)
            many.write().save(str(tmp_path / "many"))
            rows_of_many = golden.new_rows(many, seed=8, n_rows=60)
            said_of_many = golden.predictions(spark, many, rows_of_many)
        finally:
            if is_ours:
                spark.stop()
    assert_the_same(tmp_path / "model", rows, content)
    assert_the_same_of_many(tmp_path / "many", rows_of_many, said_of_many)
