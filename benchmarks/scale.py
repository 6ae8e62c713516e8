"""Score many generated rows here, on a Dask cluster and on Spark, and say what a cluster run costs.

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
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier

from benchmarks.markdown import put_into, table
from foregone import EarlyStoppingClassifier, early_stop
from foregone.scale.model_file import n_loads

DOCS = Path(__file__).parent.parent / "docs" / "scale.md"
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
        before = _in_memory_rate(model)
        command, peak, summary, reference = _command(model, rows, folder)
        join_seconds = _join_seconds(model, rows, folder)
        runs = [command]
        if "dask" in engines:
            runs.append(_dask(model, rows, reference))
        if "spark" in engines:
            runs.append(_spark(model, rows, folder, reference))
        engine_rate = (before + _in_memory_rate(model)) / 2
    model_bytes = summary["model_bytes"]
    text = "\n\n".join(
        [
            _facts(options.rows, summary, peak, engine_rate),
            "### Rows for each second of processor time\n\n" + _rates(runs, options.rows, engine_rate),
            "### What travels\n\n" + _shipped(model_bytes),
            "### Where it stops scaling\n\n" + _limits(command, options.rows, join_seconds),
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
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many to score")
    parser.add_argument("--engines", default="local,dask,spark", help="of local, dask, spark")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/scale.md")
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
    """Rows that the engine itself does in a second of processor time, on one thread, rows in memory."""
    classifier = EarlyStoppingClassifier.load(model).set_params(n_jobs=1)
    X, _ = _generate(300_000, 1)
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
    run = Run("`foregone score`", seconds, float(processor_seconds), 1, None)
    return run, int(peak), summary, pq.read_table(output)


def _join_seconds(model: Path, rows: Path, folder: Path) -> float:
    """How long it takes, on one core, to join all finished parts into the output."""
    from foregone.scale import score_file

    parts_done = 0.0

    def note(*_: int) -> None:
        nonlocal parts_done
        parts_done = time.process_time()

    score_file(model, rows, folder / "again.parquet", features=NAMES, progress=note)
    return time.process_time() - parts_done


def _dask(model: Path, rows: Path, reference: pa.Table) -> Run:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from foregone.scale.dask import predict_with_votes

    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet(rows, split_row_groups=1)
        predict_with_votes(
            frame.partitions[:N_WORKERS], model, features=NAMES
        ).compute()  # imports, compiled code
        used, began = sum(client.run(time.process_time).values()), time.perf_counter()
        scored = predict_with_votes(frame, model, features=NAMES).compute()
        seconds = time.perf_counter() - began
        used = sum(client.run(time.process_time).values()) - used
        loads = sum(client.run(n_loads).values())
    equal = bool(
        np.array_equal(scored["label"].to_numpy(), reference["label"].to_numpy())
        and np.array_equal(scored["votes_asked"].to_numpy(), reference["votes_asked"].to_numpy())
    )
    return Run("`foregone.scale.dask.predict_with_votes`", seconds, used, loads, equal)


def _spark(model: Path, rows: Path, folder: Path, reference: pa.Table) -> Run:
    import pandas as pd
    import psutil
    from pyspark.sql import SparkSession

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

    def count(batches: Any) -> Any:
        for _ in batches:
            time.sleep(0.5)  # so that every worker gets one
            yield pd.DataFrame({"process": [os.getpid()], "loads": [n_loads()]})

    output = folder / "spark"
    read = spark.read.parquet(str(rows))
    score(read.limit(10_000), model, NAMES).write.parquet(str(folder / "first"))  # starts workers
    before, began = used(), time.perf_counter()
    score(read, model, NAMES).select("number", "label", "votes_asked").write.parquet(str(output))
    seconds, processor_seconds = time.perf_counter() - began, used() - before
    counted = spark.range(0, 8, 1, 8).mapInPandas(count, "process long, loads long").collect()
    loads = sum({row["process"]: row["loads"] for row in counted}.values())
    spark.stop()
    scored = pq.read_table(output)
    place = np.argsort(scored["number"].to_numpy(), kind="stable")
    equal = all(
        np.array_equal(scored[name].to_numpy()[place], reference[name].to_numpy())
        for name in ("label", "votes_asked")
    )
    shutil.rmtree(output)
    return Run("`foregone.scale.spark.score`", seconds, processor_seconds, loads, equal)


# What is said --------------------------------------------------------------------------------


def _facts(n_rows: int, summary: dict[str, Any], peak: int, engine_rate: float) -> str:
    return (
        f"- date: {datetime.date.today().isoformat()}\n"
        f"- command: `make bench-scale BENCH='--rows {n_rows}'` ({n_rows:,} rows of {N_FEATURES} float32 "
        f"columns in Parquet, {N_TREES} trees, {summary['mean_votes_asked']:.1f} asked a row; local clusters "
        f"of {N_WORKERS} workers)\n"
        f"- model: a file of {summary['model_bytes'] / 1e6:.1f} MB\n"
        f"- most memory that `foregone score` had resident, Python and libraries too: {peak / 1e6:.0f} MB\n"
        f"- the engine alone, one thread, rows in memory: {engine_rate / 1e6:.2f} million rows / processor s"
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


def _limits(command: Run, n_rows: int, join_seconds: float) -> str:
    score_rate = n_rows / max(command.processor_seconds - join_seconds, 1e-9)
    join_rate = n_rows / join_seconds
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
        share = n_rows / run.processor_seconds / engine_rate
        if "dask" in run.name and share < DASK_SHARE:
            missed.append(f"{run.name}: {100 * share:.0f} % of the engine's rows per processor second")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
