"""Time early-stopped forests against other engines, in batches and row by row.

    python -m benchmarks.predict
    python -m benchmarks.predict --datasets skin dota2 --rivals onnx onedal --rounds 9
    python -m benchmarks.predict --write-docs

Every engine runs in every round and medians over the rounds are compared, so that a busy moment slows all
of them alike; still, leave the machine alone meanwhile. Rivals that are not installed are left out and
named, and so is one whose labels are not what they should be.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.datasets import MANY, NAMES, data_folder, load
from benchmarks.environments import REQUIREMENTS
from benchmarks.facts import facts_of, load_average
from benchmarks.forests import Cache, Task
from benchmarks.many_classes import measure_many_classes, table_of
from benchmarks.markdown import as_list, put_into
from benchmarks.measure import measure
from benchmarks.rivals import ADAPTERS
from benchmarks.tables import all_tables, tables_of_more_trees

ROOT = Path(__file__).parent.parent
MORE_TREES_ON, MORE_TRAINING_ROWS = ("ground_cover", "income", "skin"), 10_000
DOCS = ROOT / "docs" / "measurements" / "speed.md"


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    folder = options.data or data_folder()
    if folder is not None and not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    print(
        "No folder of datasets: generated ones stand in" if folder is None else f"data: {folder}", flush=True
    )
    began, load_before = time.time(), load_average()
    results, many, more = [], [], []
    kept = Kept(options.cache / "predict", resumes=options.resume)
    for name in options.datasets:
        print(f"{name} ...", flush=True)
        results.append(kept.result(name, lambda name=name: _two_classes(name, folder, options)))
        if name in MANY:
            many.append(kept.result(f"{name}, classes", lambda name=name: _classes(name, folder, options)))
        print(f"  {time.time() - began:.0f} s so far, load {load_average()}", flush=True)
    for name, n_trees in product(options.datasets, options.more_trees):
        if name in MORE_TREES_ON:
            print(f"{name}, {n_trees:,} trees ...", flush=True)
            found = kept.result(
                f"{name}, {n_trees} trees", lambda name=name, n=n_trees: _trees(name, n, folder, options)
            )
            more.append(found)
    facts = _facts(options, f"{load_before} before, {load_average()} after", time.time() - began)
    text = f"{as_list(facts)}\n\n{all_tables(results)}"
    if more:
        text += f"\n{tables_of_more_trees(more)}\n"
    if many:
        text += f"\n### More than two classes, one thread: µs a row, and µs a call\n\n{table_of(many)}\n"
    print("\n" + text)
    if options.json:
        options.json.write_text(
            json.dumps({"facts": facts, "results": results, "many": many, "more": more}, indent=1) + "\n"
        )
    if options.write_docs:
        put_into(DOCS, text)
    return 0


class Kept(NamedTuple):
    """A folder with the figures of each dataset, so that a run that was stopped can go on."""

    folder: Path
    resumes: bool

    def result(self, name: str, measured: Callable[[], Any]) -> Any:
        """Return the figures that are kept, if wanted, or measure and keep them."""
        path = self.folder / f"{name.replace(', ', '-').replace(' ', '-')}.json"
        if not (self.resumes and path.exists()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the rivals' own
                found = measured()
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
        return json.loads(path.read_text())


def _two_classes(name: str, folder: Path | None, options: argparse.Namespace) -> Any:
    task = Task(load(name, folder, options.training_rows, options.rows), Cache(options.cache))
    return measure(task, options.rivals, options.rounds, _say)


def _classes(name: str, folder: Path | None, options: argparse.Namespace) -> Any:
    classes = load(name, folder, options.training_rows, options.rows, n_classes=MANY[name])
    return measure_many_classes(classes, Cache(options.cache), options.rounds)


def _trees(name: str, n_trees: int, folder: Path | None, options: argparse.Namespace) -> Any:
    """Measure a larger forest, on one thread: two processes of each rival would not fit into memory."""
    dataset = load(name, folder, MORE_TRAINING_ROWS, options.rows)
    found = measure(Task(dataset, Cache(options.cache), n_trees), options.rivals, options.rounds, _say, (1,))
    return found | {"n_trees": n_trees}


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
    parser.add_argument("--rows", type=int, default=20_000, help="largest number of test rows in a batch")
    parser.add_argument("--training-rows", type=int, default=100_000, help="largest number of training rows")
    parser.add_argument(
        "--more-trees", type=int, nargs="*", default=[300, 1000], help="also time forests of these sizes"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds of timing; single-row calls get three times as many"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for models")
    parser.add_argument("--resume", action="store_true", help="reuse figures from an earlier run")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/speed.md"
    )
    return parser


def _facts(options: argparse.Namespace, load: str, seconds: float) -> dict[str, str]:
    packages = ["foregone", "numpy", "numba", *filter(None, (ADAPTERS[name][1] for name in options.rivals))]
    apart = [name for name in REQUIREMENTS if name in options.rivals]
    return facts_of(_command(options), packages, apart) | {
        "load": load,
        "rounds": f"{options.rounds}; {seconds / 60:.0f} minutes in all",
    }


def _command(options: argparse.Namespace) -> str:
    """Return the command that measures the same again; where files are is nobody else's business."""
    usual = vars(_parser().parse_args([]))
    words = ["python -m benchmarks.predict"]
    for key in ("datasets", "rivals", "rows", "training_rows", "more_trees", "rounds"):
        value = getattr(options, key)
        if value != usual[key]:
            words.append(
                f"--{key.replace('_', '-')} {' '.join(map(str, value)) if isinstance(value, list) else value}"
            )
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
