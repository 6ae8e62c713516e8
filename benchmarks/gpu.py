"""Time early-stopped forests on a GPU against nvForest, all trees, the CPU, and the speed of copying.

    python -m benchmarks.gpu
    python -m benchmarks.gpu --only ground_cover --rows 2000000
    python -m benchmarks.gpu --write-docs

Forests of 101 trees are trained on at most 100,000 rows. Test rows are repeated in random order until there
are enough. Times are wall times of whole calls, with results ready, medians of several. What a GPU answers is
compared with the CPU, row for row. Skips itself with a word where there is no GPU. nvForest is left out where
it is not installed. Exit status 1 if any answer differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.datasets import data_folder, load
from benchmarks.markdown import put_into, table
from foregone import early_stop
from foregone._system.gpu import find_gpu

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "measurements" / "gpu.md"
N_TREES, TRAINING_ROWS = 101, 100_000
TASKS = (
    ("ground_cover", "hard"),
    ("income", "hard"),
    ("diabetes", "hard"),
    ("dota2", "hard"),
    ("hospitalization", "hard"),
    ("income", "soft"),
    ("income", "LightGBM"),
)
LIMITS = {"hard": 0.001, "soft": 0.005, "LightGBM": 0.005}
TARGETS = {"ground_cover": 4.0, "income": 4.0, "diabetes": 4.0, "dota2": 1.5, "hospitalization": 1.5}
LAYOUTS, CHUNKS = ("depth_first", "breadth_first", "layered"), (1, 2, 4, 8, 16, 32)
LIKELY_LAYOUTS, LIKELY_CHUNKS = LAYOUTS[:2], CHUNKS[-2:]  # what was best for every model
BATCHES = (1, 10, 100, 1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000)
CALLS = 7


class Task(NamedTuple):
    """A model, the classifier made of it, and rows."""

    name: str
    kind: str
    model: Any
    classifier: Any
    rows: Any


def make_task(name: str, kind: str, folder: Path | None, n_rows: int) -> Task:
    data = load(name, folder, TRAINING_ROWS, TRAINING_ROWS)
    if kind == "LightGBM":
        from lightgbm import LGBMClassifier

        model: Any = LGBMClassifier(n_estimators=300, random_state=0, verbose=-1)
    else:
        leaf = {"min_samples_leaf": 5} if kind == "soft" else {}
        model = RandomForestClassifier(N_TREES, n_jobs=-1, random_state=0, **leaf)
    model.fit(data.X_train, data.y_train)
    voting: Any = "hard" if kind == "hard" else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = early_stop(model, data.X_calibration, LIMITS[kind], voting=voting, random_state=0)
    rng, n_test = np.random.default_rng(0), len(data.X_test)
    some = np.concatenate([rng.permutation(n_test) for _ in range(-(-n_rows // n_test))])[:n_rows]
    return Task(name, kind, model, classifier, np.ascontiguousarray(data.X_test[some]))


def seconds(work: Callable[[], Any], calls: int = CALLS) -> float:
    """Return the median wall time of a call that ends when the GPU is done."""
    import cupy

    work()
    spent = []
    for _ in range(calls):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        spent.append(time.perf_counter() - start)
    return float(np.median(spent))


def treelite_of(task: Task) -> Any:
    import treelite

    if task.kind == "LightGBM":
        return treelite.frontend.from_lightgbm(task.model.booster_)
    return treelite.sklearn.import_model(task.model)


def nvforest_seconds(task: Task, there: Any, briefly: bool) -> tuple[float, str] | None:
    """Return nvForest's best time for all trees, and with which layout and chunk size."""
    try:
        import nvforest
    except ImportError as error:
        print(f"Without nvForest: {error}", flush=True)
        return None
    best, how, source = np.inf, "", treelite_of(task)
    for layout in LIKELY_LAYOUTS if briefly else LAYOUTS:
        forest = nvforest.load_from_treelite_model(source, device="gpu", layout=layout, precision="single")
        for chunk in LIKELY_CHUNKS if briefly else CHUNKS:
            spent = seconds(
                lambda forest=forest, chunk=chunk: forest.predict_proba(there, chunk_size=chunk), 3
            )
            if spent < best:
                best, how = spent, f"{layout}, {chunk}"
    return best, how


def measure(task: Task, briefly: bool) -> dict[str, Any]:
    """Return million rows a second of everything, and how many answers differ."""
    import cupy

    decider, rows = task.classifier._decider, task.rows
    there, n_rows, n_cores = cupy.asarray(rows), len(rows), len(os.sched_getaffinity(0))
    found: dict[str, Any] = {
        "name": f"{task.name}, {task.kind}",
        "asked": 0.0,
        "voters": decider.ensemble.n_voters,
        "megabytes": decider.ensemble.nbytes / 1e6,
    }
    differing = compared = 0
    for early in (True, False):
        way = "stopped" if early else "all"
        found[way] = (
            n_rows / 1e6 / seconds(lambda early=early: decider.run(there, 1, early=early, device="cuda"))
        )
        got = decider.run(there, 1, early=early, device="cuda")
        start = time.perf_counter()
        wanted = decider.run(rows, n_cores, early=early)
        if early:
            found["asked"] = float(wanted[1].mean())
            found["cpu"] = n_rows / 1e6 / min(
                time.perf_counter() - start,
                seconds(lambda: decider.run(rows, n_cores, early=True), 3),
            )  # fmt: skip
        wrong = np.zeros(n_rows, bool)
        for mine, theirs in zip(wanted, got, strict=True):
            wrong |= mine != cupy.asnumpy(theirs)
        differing, compared = differing + int(wrong.sum()), compared + n_rows
    found |= {"differing": differing, "compared": compared}
    rival = nvforest_seconds(task, there, briefly)
    found["nvforest"], found["how"] = (None, "") if rival is None else (n_rows / 1e6 / rival[0], rival[1])
    return found


def stream(task: Task) -> dict[str, Any]:
    """Return how fast rows on the host are answered, beside copying alone."""
    from numba import cuda

    from foregone.forest import gpu_forest

    decider, rows = task.classifier._decider, task.rows[:4_000_000]
    gigabytes, whole = rows.nbytes / 1e9, gpu_forest._start
    room = cuda.device_array(rows.shape, rows.dtype)

    def answer() -> Any:
        return decider.run(rows, 1, early=True, device="cuda")

    found = {"name": f"{task.name}, {task.kind}", "run": gigabytes / seconds(answer)}
    found["rows"] = found["run"] / gigabytes * len(rows) / 1e6
    found["copy"] = gigabytes / seconds(lambda: room.copy_to_device(rows))
    gpu_forest._start = lambda starts: None
    try:
        found["pipeline"] = gigabytes / seconds(answer)
    finally:
        gpu_forest._start = whole
    pinned = cuda.pinned_array(rows.shape, rows.dtype)
    found["pinned"] = gigabytes / seconds(lambda: room.copy_to_device(pinned))
    return found


def small(task: Task) -> list[dict[str, Any]]:
    """Return microseconds for batches of several sizes, on the CPU and on the GPU."""
    import cupy

    decider, cores = task.classifier._decider, len(os.sched_getaffinity(0))
    found = []
    for n_rows in BATCHES:
        rows = task.rows[:n_rows]
        there = cupy.asarray(rows)
        ways: dict[str, Callable[[], Any]] = {
            "cpu1": lambda rows=rows: decider.run(rows, 1, early=True),
            "cpu": lambda rows=rows: decider.run(rows, cores, early=True),
            "host": lambda rows=rows: decider.run(rows, 1, early=True, device="cuda"),
            "device": lambda there=there: decider.run(there, 1, early=True, device="cuda"),
        }
        calls = 30 if n_rows < 100_000 else 7
        found.append({"rows": n_rows, **{way: 1e6 * seconds(work, calls) for way, work in ways.items()}})
    return found


def report(found: dict[str, Any]) -> str:
    """Return the tables."""
    gpu, speeds = found["gpu"], []
    for one in found["speeds"]:
        rival = one["nvforest"]
        speeds.append(
            [
                one["name"],
                f"{one['asked']:.1f} of {one['voters']}",
                f"{one['megabytes']:.1f}",
                f"{one['stopped']:,.0f}",
                f"{one['all']:,.0f}",
                "-" if rival is None else f"{rival:,.0f} ({one['how']})",
                "-" if rival is None else f"{one['stopped'] / rival:.1f}",
                "-" if rival is None else f"{one['all'] / rival:.2f}",
                f"{one['cpu']:,.1f}",
                f"{one['differing']:,} of {one['compared'] / 1e6:,.0f} million",
            ]
        )
    head = ["model", "trees asked", "MB", "stopped", "all trees", "nvForest (layout, chunk)",
            "stopped / nvForest", "all / nvForest", "CPU, stopped", "rows that differ"]  # fmt: skip
    streams = [
        [
            one["name"],
            f"{one['rows']:,.0f}",
            f"{one['run']:.1f}",
            f"{one['pipeline']:.1f}",
            f"{one['copy']:.1f}",
            f"{one['pinned']:.1f}",
            f"{100 * one['run'] / one['pipeline']:.0f} %",
            f"{100 * one['run'] / one['copy']:.0f} %",
        ]
        for one in found["streams"]
    ]
    stream_head = ["model", "million rows/s", "answered, GB/s", "the same without kernels", "one plain copy",
                   "from pinned memory", "of the same without kernels", "of a plain copy"]  # fmt: skip
    batches = [
        [f"{one['rows']:,}", *(f"{one[way]:,.0f}" for way in ("cpu1", "cpu", "host", "device"))]
        for one in found["small"]
    ]
    batch_head = [
        "rows in a batch",
        "CPU, 1 thread",
        "CPU, all cores",
        "GPU, rows on the host",
        "GPU, rows on it",
    ]
    return "\n\n".join(
        [
            f"Measured {found['date']} on one {gpu['name']} ({gpu['memory']:.0f} GiB, driver for CUDA "
            f"{gpu['driver']}), {found['cores']} CPU cores ({found['machine']}); {found['versions']}; "
            f"{found['n_rows']:,} rows; `{found['command']}`.",
            "### Rows in device memory, million rows a second\n\n" + table(head, speeds),
            "### Rows on the host\n\n" + table(stream_head, streams),
            "### Small batches, microseconds\n\n"
            + f"Model: {found['small_name']}.\n\n"
            + table(batch_head, batches),
        ]
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="datasets; by default all")
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--briefly", action="store_true", help="try only the likely layouts of nvForest")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to this file")
    parser.add_argument(
        "--from-json", type=Path, metavar="FILE", help="measure nothing, show the measurements in this file"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/gpu.md"
    )
    given = parser.parse_args(arguments)
    if given.from_json:
        found = json.loads(given.from_json.read_text())
    else:
        gpu = find_gpu()
        if gpu.problem is not None:
            print(f"Skipped: the benchmark needs a GPU. {gpu.problem}")
            return 0
        found = measure_all(given, gpu)
        if given.json:
            given.json.write_text(json.dumps(found))
    text = report(found)
    print(text)
    if given.write_docs:
        put_into(DOCS, text)
    return int(any(one["differing"] for one in found["speeds"]))


def measure_all(given: argparse.Namespace, gpu: Any) -> dict[str, Any]:
    folder = given.data or data_folder()
    speeds, streams, batches, small_name = [], [], [], ""
    for name, kind in TASKS:
        if given.only and name not in given.only:
            continue
        start = time.perf_counter()
        task = make_task(name, kind, folder, given.rows)
        trained = time.perf_counter() - start
        speeds.append(measure(task, given.briefly))
        print(speeds[-1], f"{trained:.0f} s to train", flush=True)
        if kind == "hard" and name in ("ground_cover", "income", "hospitalization"):
            streams.append(stream(task))
            print(streams[-1], flush=True)
        if not batches:
            batches, small_name = small(task), f"{name}, {kind}"
            print(batches, flush=True)
    return {
        "date": datetime.date.today().isoformat(),
        "gpu": gpu._asdict(),
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "versions": ", ".join(
            f"{name} {version}" for name, version in {**gpu.packages, "numpy": np.__version__}.items()
        ),
        "n_rows": given.rows,
        "command": " ".join(["python -m benchmarks.gpu", *sys.argv[1:]]),
        "speeds": speeds,
        "streams": streams,
        "small": batches,
        "small_name": small_name,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
