"""Makes tests/golden/spark-forest/, a forest that Spark ML has grown and saved, and what it says about rows.

Run it with Java and pyspark at hand:  python -m tests.golden.make_spark_forest
"""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "spark-forest"
N_CATEGORIES = {2: 5, 3: 8}


def start_session():
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def grow(spark, seed, n_trees=7, n_classes=2, rows=240):
    """A forest of Spark ML on two columns of numbers and two of categories."""
    from pyspark.ml.classification import RandomForestClassifier
    from pyspark.ml.feature import VectorIndexer
    from pyspark.ml.linalg import Vectors

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    for column, n_categories in N_CATEGORIES.items():
        X[:, column] = np.append(np.arange(n_categories), rng.integers(0, n_categories, rows - n_categories))
    noise = rng.normal(size=rows) * 0.7
    y = np.digitize(X[:, 0] + (X[:, 2] % 2) - (X[:, 3] % 3 == 0) + noise, np.arange(n_classes - 1) + 0.3)
    rows_of_spark = [(Vectors.dense(x.tolist()), float(label)) for x, label in zip(X, y, strict=True)]
    frame = spark.createDataFrame(rows_of_spark, ["raw", "label"])
    indexer = VectorIndexer(inputCol="raw", outputCol="features", maxCategories=8).fit(frame)
    forest = RandomForestClassifier(numTrees=n_trees, maxDepth=4, seed=seed)
    return forest.fit(indexer.transform(frame))


def splits_of(model):
    """The thresholds of the model's numbers, to make rows that lie exactly on them."""
    text = model.toDebugString
    words = text.replace(")", " ").split()
    return [float(word) for before, word in pairwise(words) if before == "<="]


def new_rows(model, seed, n_rows=150):
    """Rows with everything strange: gaps, infinities, categories that are none, values on thresholds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 4))
    for column, n_categories in N_CATEGORIES.items():
        rows[:, column] = rng.integers(0, n_categories, n_rows)
        strange = [np.nan, -1.0, 0.5, -0.0, 99.0, np.inf, -0.5]
        places = rng.random(n_rows) < 0.2
        rows[places, column] = rng.choice(strange, places.sum())
    for column in (0, 1):
        places = rng.random(n_rows) < 0.4
        strange = [np.nan, np.inf, -np.inf, -0.0, *splits_of(model)]
        rows[places, column] = rng.choice(strange, places.sum())
    return rows


def predictions(spark, model, rows):
    """What each tree says, and the forest's sum for each class and its answer."""
    from pyspark.ml.linalg import Vectors

    vectors = [Vectors.dense(row.tolist()) for row in rows]
    votes = [[tree.predict(vector) for vector in vectors] for tree in model.trees]
    frame = spark.createDataFrame([(vector,) for vector in vectors], ["features"])
    result = model.transform(frame).select("rawPrediction", "prediction").collect()
    return {
        "every_tree": np.array(votes).T.tolist(),
        "sums": [row[0].toArray().tolist() for row in result],
        "forest": [row[1] for row in result],
    }


def save_case(spark, folder, **options):
    """Save a forest, new rows and what it says of them."""
    model = grow(spark, seed=1, **options)
    model.write().overwrite().save(str(folder))
    rows = new_rows(model, seed=2)
    content = {
        "rows": [[repr(float(value)) for value in row] for row in rows],
        **predictions(spark, model, rows),
    }
    (folder / "predictions.json").write_text(json.dumps(content), encoding="utf-8")
    for extra in [*folder.rglob("*.crc"), *folder.rglob("_SUCCESS")]:
        extra.unlink()


def main():
    spark = start_session()
    save_case(spark, FOLDER)
    save_case(spark, FOLDER / "three-classes", n_classes=3)
    spark.stop()
    shutil.rmtree(FOLDER / "three-classes" / "treesMetadata")


if __name__ == "__main__":
    main()
