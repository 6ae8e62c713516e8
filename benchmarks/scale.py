"""Score many generated rows locally, on a Dask cluster and on Spark, and measure the overhead of a cluster.

    python -m benchmarks.scale
    python -m benchmarks.scale --rows 1000000 --engines local,dask
    python -m benchmarks.scale --write-docs

Rows are generated into a temporary folder. Both clusters are local, of two workers. What is compared is rows
for each second of processor time, all processes together, which a busy machine disturbs less than the clock.
Exit status 1 if an engine's labels or votes differ from the command's own, memory is above the limit, or Dask
is below its share.
"""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier

from benchmarks.markdown import put_into, table
from foregone import EarlyStoppingClassifier, early_stop
from foregone.scale.model_file import n_loads

DOCS = Path(__file__).parent.parent / "docs" / "measurements" / "scale.md"
N_FEATURES, N_TREES, N_WORKERS = 10, 101, 2
FILE_ROWS, GROUP_ROWS = 1_000_000, 250_000
MOST_MEMORY = 1e9  # bytes, besides the model
DASK_SHARE = 0.7  # of the rows per processor second of the engine in one process
NAMES = [f"x{k}" for k in range(N_FEATURES)]

# The command, and then how much memory it took at most and how much processor time.
COMMAND = """
import resource, sys
from pathlib import Path
from foregone.cli import main
code = main(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(int(peak) * 1024, sum(one.ru_utime + one.ru_stime for one in used), file=sys.stderr)
sys.exit(code)
"""


class Run(NamedTuple):
    """What one way to score took."""

    name: str
    seconds: float
    processor_seconds: float
    loads: int | None
    equal: bool | None


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    engines = options.engines.split(",")
    with tempfile.TemporaryDirectory(prefix="foregone-scale-") as name:
        folder = Path(name)
        model = folder / "forest.foregone"
        _make_model(model)
        rows = folder / "rows"
        _make_rows(rows, options.rows)
        rates = [_in_memory_rate(model)]
        command, peak, summary, reference = _command(model, rows, folder)
        join_rate = _join_rate(model, rows, folder)
        runs = [command]
        rates.append(_in_memory_rate(model))
        if "dask" in engines:
            runs.extend(_dask(model, rows, reference))
            rates.append(_in_memory_rate(model))
        if "spark" in engines:
            runs.append(_spark(model, rows, folder, reference))
            rates.append(_in_memory_rate(model))
        engine_rate = float(np.median(rates))
    model_bytes = summary["model_bytes"]
    text = "\n\n".join(
        [
            _facts(options.rows, summary, peak, engine_rate),
            "### Rows for each second of processor time\n\n" + _rates(runs, options.rows, engine_rate),
            "### What travels\n\n" + _shipped(model_bytes),
            "### Where it stops scaling\n\n" + _limits(command, options.rows, join_rate),
        ]
    )
    print("\n" + text + "\n")
    if options.write_docs:
        put_into(DOCS, text + "\n")
    missed = _missed(runs, options.rows, engine_rate, peak, model_bytes)
    for what in missed:
        print(f"MISSED: {what}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000, help="number of rows to score")
    parser.add_argument("--engines", default="local,dask,spark", help="engines to run: local, dask, spark")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/scale.md"
    )
    return parser


# What is scored ------------------------------------------------------------------------------


def _generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose label is a noisy rule with interactions, so that votes are spread."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, N_FEATURES), np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8 + 0.5 * X[:, 4]
    return X, (score + 0.5 * generator.standard_normal(n_rows, np.float32) > 0).astype(np.int64)


def _make_model(file: Path) -> None:
    X, y = _generate(40_000, 0)
    forest = RandomForestClassifier(N_TREES, random_state=0, n_jobs=2).fit(X[:20_000], y[:20_000])
    early_stop(forest, X[20_000:], max_disagreement=1e-3, random_state=0).save(file)


def _make_rows(folder: Path, n_rows: int) -> None:
    folder.mkdir()
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        X, _ = _generate(min(FILE_ROWS, n_rows - start), 1 + number)
        columns = {
            "number": np.arange(start, start + len(X)),
            **{name: X[:, k] for k, name in enumerate(NAMES)},
        }
        pq.write_table(pa.table(columns), folder / f"{number:04d}.parquet", row_group_size=GROUP_ROWS)


# The ways to score ---------------------------------------------------------------------------


def _in_memory_rate(model: Path) -> float:
    """Rows that the engine itself does in a second of processor time, on as many threads, rows in memory."""
    classifier = EarlyStoppingClassifier.load(model).set_params(n_jobs=N_WORKERS)
    X, _ = _generate(500_000, 1)
    classifier.predict_with_votes(X[:1000])
    times = []
    for _ in range(3):
        began = time.process_time()
        classifier.predict_with_votes(X)
        times.append(time.process_time() - began)
    return len(X) / float(np.median(times))


def _command(model: Path, rows: Path, folder: Path) -> tuple[Run, int, dict[str, Any], pa.Table]:
    """Run ``foregone score`` as a user would, in a process of its own."""
    output = folder / "labels.parquet"
    words = ["score", model, rows, output, "--columns", ",".join(NAMES), "--jobs", N_WORKERS, "--json"]
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, words)], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - began
    peak, processor_seconds = ended.stderr.split()[-2:]
    summary = json.loads(ended.stdout) | {"model_bytes": model.stat().st_size}
    run = Run("`foregone score`, rows in files", seconds, float(processor_seconds), 1, None)
    return run, int(peak), summary, pq.read_table(output)


def _join_rate(model: Path, rows: Path, folder: Path) -> float:
    """Rows that are joined into the output in a second of processor time, when all parts are finished."""
    from foregone.scale import score_file

    parts_done = 0.0

    def note(*_: int) -> None:
        nonlocal parts_done
        parts_done = time.process_time()

    first = min(rows.iterdir())
    made = score_file(model, first, folder / "again.parquet", features=NAMES, progress=note)
    return made.rows / (time.process_time() - parts_done)


def _dask(model: Path, rows: Path, reference: pa.Table) -> list[Run]:
    """Score a frame that is read from the files, and one that the workers hold in memory."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    from foregone.scale.dask import predict_with_votes

    runs = []
    with (
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        ) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet(rows, split_row_groups=1)
        warm = frame.partitions[:N_WORKERS]  # imports, compiled code
        predict_with_votes(warm, model, features=NAMES).compute()
        for where in ("files", "memory"):
            if where == "memory":
                frame = frame[NAMES].persist()
                wait(frame)
            used, began = sum(client.run(time.process_time).values()), time.perf_counter()
            scored = predict_with_votes(frame, model, features=NAMES).compute()
            seconds = time.perf_counter() - began
            used = sum(client.run(time.process_time).values()) - used
            loads = sum(client.run(n_loads).values())
            equal = all(
                np.array_equal(scored[name].to_numpy(), reference[name].to_numpy())
                for name in ("label", "votes_asked")
            )
            runs.append(Run(f"Dask, rows in {where}", seconds, used, loads, equal))
    return runs


def _spark(model: Path, rows: Path, folder: Path, reference: pa.Table) -> Run:
    import psutil
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import pandas_udf

    from foregone.scale.spark import score

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    }
    spark = SparkSession.builder.master(f"local[{N_WORKERS}]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def used() -> float:
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    @pandas_udf("long")
    def process(number: pd.Series) -> pd.Series:
        return pd.Series(os.getpid(), index=number.index)

    output = folder / "spark"
    read = spark.read.parquet(str(rows))
    score(read.limit(10_000), model, NAMES).write.parquet(str(folder / "first"))  # starts workers
    before, began = used(), time.perf_counter()
    scored = score(read.withColumn("process", process("number")), model, NAMES)
    scored.select("number", "process", "label", "votes_asked").write.parquet(str(output))
    seconds, processor_seconds = time.perf_counter() - began, used() - before
    spark.stop()
    scored = pq.read_table(output)
    loads = len(scored["process"].unique())  # each of these Python workers loaded the model once
    place = np.argsort(scored["number"].to_numpy(), kind="stable")
    equal = all(
        np.array_equal(scored[name].to_numpy()[place], reference[name].to_numpy())
        for name in ("label", "votes_asked")
    )
    shutil.rmtree(output)
    return Run("Spark, rows in files", seconds, processor_seconds, loads, equal)


# What is said --------------------------------------------------------------------------------


def _facts(n_rows: int, summary: dict[str, Any], peak: int, engine_rate: float) -> str:
    return (
        f"- date: {datetime.date.today().isoformat()}\n"
        f"- command: `make bench-scale BENCH='--rows {n_rows}'` ({n_rows:,} rows of {N_FEATURES} float32 "
        f"columns in Parquet, {N_TREES} trees, {summary['mean_votes_asked']:.1f} asked a row; local clusters "
        f"of {N_WORKERS} workers)\n"
        f"- model: a file of {summary['model_bytes'] / 1e6:.1f} MB\n"
        f"- most memory that `foregone score` had resident, Python and libraries too: {peak / 1e6:.0f} MB\n"
        f"- the engine alone, in one process of {N_WORKERS} threads, rows in memory: "
        f"{engine_rate / 1e6:.2f} million rows / processor s"
    )


def _rates(runs: list[Run], n_rows: int, engine_rate: float) -> str:
    local = n_rows / runs[0].processor_seconds
    return table(
        ["", "million rows / processor s", "of the engine alone", "of `foregone score`", "million rows / s",
         "model loads", "labels and votes equal"],
        [
            [
                run.name,
                f"{n_rows / run.processor_seconds / 1e6:.2f}",
                f"{100 * n_rows / run.processor_seconds / engine_rate:.0f} %",
                f"{100 * n_rows / run.processor_seconds / local:.0f} %",
                f"{n_rows / run.seconds / 1e6:.2f}",
                f"{run.loads}",
                {None: "-", True: "yes", False: "NO"}[run.equal],
            ]
            for run in runs
        ],
    )  # fmt: skip


def _shipped(model_bytes: int) -> str:
    mega = f"{model_bytes / 1e6:.1f} MB"
    return table(
        ["", "the model", "each row, there and back"],
        [
            ["`foregone score`, any engine", f"{mega} to a worker", "0 B: workers read and write files"],
            ["Dask", f"{mega} to a worker, once", "0 B: workers read files; 12 B back if computed"],
            [
                "Spark",
                f"{mega} to an executor and stage",
                f"{4 * N_FEATURES} B to a Python worker of the same machine, 12 B back",
            ],
        ],
    )


def _limits(command: Run, n_rows: int, join_rate: float) -> str:
    score_rate = n_rows / (command.processor_seconds - n_rows / join_rate)
    return (
        f"Parts are scored independently, {score_rate / 1e6:.2f} million rows a core and second; joining "
        f"them into one file is one core's work, {join_rate / 1e6:.0f} million rows a second. So "
        f"`foregone score` stops gaining at about {join_rate / score_rate:.0f} cores; frames on Dask and "
        "Spark, which are not joined, do not."
    )


def _missed(runs: list[Run], n_rows: int, engine_rate: float, peak: int, model_bytes: int) -> list[str]:
    missed = [f"{run.name}: labels or votes differ" for run in runs if run.equal is False]
    if peak - model_bytes > MOST_MEMORY:
        missed.append(f"{peak / 1e6:.0f} MB resident")
    for run in runs:
        # Like is held against like: rows in files against the command, rows in memory against the engine.
        like = engine_rate if "memory" in run.name else n_rows / runs[0].processor_seconds
        share = n_rows / run.processor_seconds / like
        if "Dask" in run.name and share < DASK_SHARE:
            missed.append(f"{run.name}: {100 * share:.0f} % of the rows per processor second of one process")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
