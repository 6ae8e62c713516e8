"""Time early-stopped forests against every other way to run them, in batches and row by row.

    python -m benchmarks.predict
    python -m benchmarks.predict --datasets skin dota2 --rivals onnx onedal --rounds 9
    python -m benchmarks.predict --write-docs

Every engine runs in every round and medians over the rounds are compared, so that a busy moment slows all
of them alike; still, leave the machine alone meanwhile. Rivals that are not installed are left out and
named, and so is one whose labels are not what they should be.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.datasets import MANY, NAMES, data_folder, load
from benchmarks.forests import Cache, Task
from benchmarks.many_classes import measure_many_classes, table_of
from benchmarks.markdown import put_into
from benchmarks.measure import measure
from benchmarks.rivals import ADAPTERS
from benchmarks.tables import all_tables

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "benchmarks.md"


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    folder = options.data or data_folder()
    if folder is not None and not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    print(
        "No folder of datasets: generated ones stand in" if folder is None else f"data: {folder}", flush=True
    )
    began, load_before = time.time(), _load()
    results, many = [], []
    for name in options.datasets:
        dataset = load(name, folder, options.training_rows, options.rows)
        print(f"{name}{'' if dataset.is_real else ' (generated)'} ...", flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rivals' own
            task = Task(dataset, Cache(options.cache))
            results.append(measure(task, options.rivals, options.rounds, _say))
            if name in MANY:
                classes = load(name, folder, options.training_rows, options.rows, n_classes=MANY[name])
                many.append(measure_many_classes(classes, Cache(options.cache), options.rounds))
        print(f"  {time.time() - began:.0f} s so far, load {_load()}", flush=True)
    facts = _facts(options, f"{load_before} before, {_load()} after", time.time() - began)
    text = "\n".join(f"- {key}: {value}" for key, value in facts.items()) + "\n\n" + all_tables(results)
    if many:
        text += f"\n### More than two classes, one thread: µs a row, and µs a call\n\n{table_of(many)}\n"
    print("\n" + text)
    if options.json:
        options.json.write_text(
            json.dumps({"facts": facts, "results": results, "many": many}, indent=1) + "\n"
        )
    if options.write_docs:
        put_into(DOCS, text)
    return 0


def _say(text: str) -> None:
    print("  " + text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    parser.add_argument("--datasets", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--rivals", nargs="*", choices=ADAPTERS, default=list(ADAPTERS), metavar="NAME")
    parser.add_argument("--rows", type=int, default=20_000, help="most test rows in a batch")
    parser.add_argument("--training-rows", type=int, default=100_000, help="most rows to train on")
    parser.add_argument("--rounds", type=int, default=5, help="one-row calls get three times as many")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for models")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    return parser


def _load() -> str:
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"


def _facts(options: argparse.Namespace, load: str, seconds: float) -> dict[str, Any]:
    packages = ["foregone", "numpy", "numba", *(ADAPTERS[name][1] for name in options.rivals)]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "load": load,
        "command": f"`{_command(options)}`",
        "rounds": f"{options.rounds}; {seconds / 60:.0f} minutes in all",
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in packages)]
        ),
    }


def _command(options: argparse.Namespace) -> str:
    """Return the command that measures the same again; where files are is nobody else's business."""
    usual = vars(_parser().parse_args([]))
    words = ["python -m benchmarks.predict"]
    for key in ("datasets", "rivals", "rows", "training_rows", "rounds"):
        value = getattr(options, key)
        if value != usual[key]:
            words.append(f"--{key.replace('_', '-')} {' '.join(value) if isinstance(value, list) else value}")
    return " ".join(words)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
