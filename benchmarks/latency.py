"""Measure single rows as in a server: slow calls, parallel calls, and memory.

    python -m benchmarks.latency
    python -m benchmarks.latency --datasets skin --calls 1000000
    python -m benchmarks.latency --write-docs

A saved classifier is served by processes of its own, each with one or more threads that ask about one row
after another; every call is timed. Beside it the same forest in scikit-learn and in ONNX Runtime, one thread
each. Leave the machine alone meanwhile: the slowest calls are those that something else interrupts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import NAMES, data_folder, load
from benchmarks.facts import facts_of, load_average
from benchmarks.forests import Cache, Task
from benchmarks.markdown import as_list, put_into, table
from benchmarks.rivals.onnx_runtime import graph_of
from foregone import early_stop
from foregone.forest.execution import usable_cores

ROOT = Path(__file__).parent.parent
WORKER = Path(__file__).parent / "latency_worker.py"
DOCS = ROOT / "docs" / "measurements" / "speed.md"
DATASETS = ("skin", "ground_cover", "dota2")
QUANTILES = (0.5, 0.99, 0.999)
FEWER_CALLS = {"foregone": 1, "onnx": 10, "scikit-learn": 100}  # a call of these takes that much longer
PACKAGES = ("foregone", "numpy", "numba", "scikit-learn", "onnxruntime")
TITLES = {"foregone": "foregone", "onnx": "ONNX Runtime", "scikit-learn": "scikit-learn"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", choices=NAMES, default=list(DATASETS), metavar="NAME")
    parser.add_argument("--calls", type=int, default=400_000, help="calls per thread (default 400,000)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for models")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/speed.md"
    )
    options = parser.parse_args(arguments)
    load_before = load_average()
    alone, together, memory = [], [], []
    for name in options.datasets:
        with tempfile.TemporaryDirectory() as folder:
            files = _files(name, Path(folder), Cache(options.cache))
            for what in TITLES:
                calls = options.calls // FEWER_CALLS[what]
                served = _serve(what, files, 1, 1, calls)
                alone.append([name, TITLES[what], f"{calls:,}", *_quantiles(served["times"])])
                size = f"{files[what].stat().st_size / 1e6:.3g}"
                memory.append([name, TITLES[what], size, *(f"{mb:.0f}" for mb in served["memory"])])
            for processes, threads in _at_once():
                served = _serve("foregone", files, processes, threads, options.calls)
                rate = f"{served['times'].size / served['seconds']:,.0f}"
                together.append([name, f"{processes}", f"{threads}", rate, *_quantiles(served["times"])])
    quantiles = [f"p{100 * share:.3g}" for share in QUANTILES]
    parts = {
        "One row a call, every call timed: µs": table(["dataset", "engine", "calls", *quantiles], alone),
        "Several at once: calls a second of all, µs a call": table(
            ["dataset", "processes", "threads in each", "calls a second", *quantiles], together
        ),
        "Memory of a process that serves: MB": table(
            ["dataset", "engine", "file of the model", "resident", "of it unshared"], memory
        ),
    }
    facts = facts_of("python -m benchmarks.latency", PACKAGES) | {"load before": load_before}
    text = f"{as_list(facts)}\n\n" + "\n".join(f"### {title}\n\n{body}\n" for title, body in parts.items())
    print("\n" + text)
    if options.write_docs:
        put_into(DOCS, text, "latency")
    return 0


def _at_once() -> list[tuple[int, int]]:
    """Return numbers of processes and threads, from one to twice as many as there are cores."""
    cores = usable_cores()
    several = list(dict.fromkeys([1, cores, 2 * cores]))
    return [*((n, 1) for n in several), *((1, n) for n in several[1:])]


def _files(name: str, folder: Path, cache: Cache) -> dict[str, Path]:
    """Return the files of a forest for each engine, and of rows."""
    task = Task(load(name, data_folder(), 100_000, 20_000), cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hard votes beside soft ones
        stopped = early_stop(task.model, task.dataset.X_calibration, 1e-3, voting="hard", random_state=0)
    files = {"foregone": folder / "forest.foregone", "rows": folder / "rows.npy"}
    stopped.save(files["foregone"])
    np.save(files["rows"], task.dataset.X_test[:1000])
    return files | {"scikit-learn": cache.forest_path(task.dataset), "onnx": graph_of(task)}


def _serve(what: str, files: dict[str, Path], processes: int, threads: int, calls: int) -> dict[str, Any]:
    """Return the times of all calls in microseconds, the seconds of the slowest process, and memory."""
    words = [
        sys.executable,
        str(WORKER),
        what,
        str(files[what]),
        str(files["rows"]),
        str(threads),
        str(calls),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    servers = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(processes)
    ]
    memory = [_read(server)["memory"] for server in servers]
    with tempfile.TemporaryDirectory() as folder:
        targets = [Path(folder) / f"{number}.npy" for number in range(processes)]
        for server, target in zip(servers, targets, strict=True):
            assert server.stdin is not None
            server.stdin.write(f"{target}\n")
            server.stdin.flush()
        seconds = max(_read(server)["seconds"] for server in servers)
        for server in servers:
            server.communicate()
        times = np.concatenate([np.load(target).ravel() for target in targets]) / 1e3
    return {"times": times, "seconds": seconds, "memory": memory[0]}


def _read(server: subprocess.Popen[str]) -> dict[str, Any]:
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        raise SystemExit("a process that serves has ended; its error is above")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _quantiles(times: Any) -> list[str]:
    return [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in np.quantile(times, QUANTILES)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
