"""How often counting votes and averaging differ, for forests from other libraries.

Run  python -m benchmarks.hard_against_soft  (some minutes; Spark needs Java, ranger needs R), or name some of
treelite, ydf, ranger, spark after it. The same 1,000 rows are given to each library and 4,000 others are
answered by all trees, once by counting their votes (`PackedForest`) and once by averaging (`ScoredForest`);
the table in docs/forests_from_elsewhere.md is its output. Beside it stands how often the library's own answer
differs from the one here that follows the same rule.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone.forest import PackedForest, ScoredForest

N_TREES, N_TRAIN, N_TEST = 101, 1_000, 4_000
SHALLOW = 5

GROW_IN_R = """
args <- commandArgs(TRUE)
train <- read.csv(file.path(args[1], "train.csv")); test <- read.csv(file.path(args[1], "test.csv"))
train$y <- factor(train$y)
depth <- as.integer(args[2])
fit <- ranger::ranger(y ~ ., train, num.trees = as.integer(args[3]), max.depth = if (depth > 0) depth,
                      probability = args[4] == "shares", seed = 1)
exact <- function(x) sprintf("%.17g", x)
forest <- rapply(unclass(fit$forest), exact, classes = c("numeric", "integer"), how = "replace")
writeLines(jsonlite::toJSON(forest), file.path(args[1], "forest.json"))
said <- predict(fit, test)$predictions
yes <- if (is.matrix(said)) said[, "1"] > 0.5 else said == "1"
writeLines(as.character(as.integer(yes)), file.path(args[1], "said.txt"))
"""


class Grown(NamedTuple):
    """A forest of some library, both ways, and the library's own answers."""

    name: str
    rule: str
    packed: PackedForest
    scored: ScoredForest
    own: np.ndarray


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(
        N_TRAIN + N_TEST, n_informative=6, n_redundant=2, flip_y=0.1, class_sep=0.8, random_state=0
    )
    X = X.astype(np.float32).astype(np.float64)  # so that libraries that round get the same rows
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]


def treelite_models(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Iterator[Grown]:
    if importlib.util.find_spec("treelite") is None:
        print("treelite is not installed (extra forests)")
        return
    import treelite

    for depth in (None, SHALLOW):
        fitted = RandomForestClassifier(N_TREES, max_depth=depth, random_state=0, n_jobs=2).fit(X, y)
        model = treelite.sklearn.import_model(fitted)
        own = treelite.gtil.predict(model, rows).squeeze()[:, 1] > 0.5
        packed, scored = PackedForest.from_treelite(model), ScoredForest.from_treelite(model)
        yield Grown(f"treelite of scikit-learn, depth {depth or 'any'}", "averages", packed, scored, own)


def ydf_models(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Iterator[Grown]:
    if importlib.util.find_spec("ydf") is None:
        print("ydf is not installed (extra forests)")
        return
    import ydf

    ydf.verbose(0)
    names = [f"x{place:02d}" for place in range(X.shape[1])]
    train, test = pd.DataFrame(X, columns=names), pd.DataFrame(rows, columns=names)
    for depth, winner_take_all in ((16, True), (SHALLOW, True), (SHALLOW, False)):
        learner = ydf.RandomForestLearner(
            label="y", num_trees=N_TREES, max_depth=depth, winner_take_all=winner_take_all
        )
        model = learner.train(train.assign(y=y))
        own = model.predict(test) > 0.5
        rule = "votes" if winner_take_all else "averages"
        packed, scored = PackedForest.from_ydf(model), ScoredForest.from_ydf(model)
        yield Grown(f"ydf, depth {depth}", rule, packed, scored, own)


def spark_models(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Iterator[Grown]:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        print("Without Spark ML: it needs pyspark (extra spark) and Java")
        return
    from pyspark.ml.classification import RandomForestClassifier as SparkForest
    from pyspark.ml.linalg import Vectors
    from tests.golden.make_spark_forest import start_session

    spark = start_session()
    train = [(Vectors.dense(x.tolist()), float(label)) for x, label in zip(X, y, strict=True)]
    test = [(Vectors.dense(x.tolist()),) for x in rows]
    for depth in (10, SHALLOW):
        forest = SparkForest(numTrees=N_TREES, maxDepth=depth, seed=1)
        model = forest.fit(spark.createDataFrame(train, ["features", "label"]))
        said = model.transform(spark.createDataFrame(test, ["features"])).select("prediction").collect()
        with tempfile.TemporaryDirectory() as folder:
            model.write().overwrite().save(folder)
            packed, scored = PackedForest.from_spark(folder), ScoredForest.from_spark(folder)
        yield Grown(f"Spark ML, depth {depth}", "averages", packed, scored, np.array(said)[:, 0] == 1)
    spark.stop()


def ranger_models(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Iterator[Grown]:
    if shutil.which("Rscript") is None:
        print("Without ranger: it needs R with ranger and jsonlite")
        return
    names = [f"x{place:02d}" for place in range(X.shape[1])]
    for depth, kind in ((0, "votes"), (SHALLOW, "votes"), (SHALLOW, "shares")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, frame in {
                "train.csv": pd.DataFrame(X, columns=names).assign(y=y),
                "test.csv": pd.DataFrame(rows, columns=names),
            }.items():
                frame.to_csv(folder / file, index=False)
            (folder / "grow.R").write_text(GROW_IN_R)
            subprocess.run(
                ["Rscript", str(folder / "grow.R"), name, str(depth), str(N_TREES), kind], check=True
            )
            path = folder / "forest.json"
            own = np.loadtxt(folder / "said.txt") == 1
            packed, scored = PackedForest.from_ranger(path), ScoredForest.from_ranger(path)
        rule = "votes" if kind == "votes" else "averages"
        yield Grown(f"ranger, depth {depth or 'any'}", rule, packed, scored, own)


def main() -> None:
    X, y, rows = data()
    columns = "its own rule | votes differ from average | foregone differs from the library"
    print(f"| forest of {N_TREES} trees | {columns} |")
    print("|---|---|---|---|")
    sources = {"treelite": treelite_models, "ydf": ydf_models, "ranger": ranger_models, "spark": spark_models}
    for source in sys.argv[1:] or sources:
        for grown in sources[source](X, y, rows):
            hard = 2 * grown.packed.votes(rows) > N_TREES
            soft = grown.scored.full_scores(rows) > 0
            ours = hard if grown.rule == "votes" else soft
            cells: list[Any] = [grown.name, grown.rule, f"{np.mean(hard != soft):.2%}"]
            cells.append(f"{np.sum(ours != grown.own)} of {N_TEST:,} rows")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
