"""Stop forests that average, and boosted trees, early: what it asks, how often it differs, how fast it is.

    python -m benchmarks.scores
    python -m benchmarks.scores --only income --parts table
    python -m benchmarks.scores --again --write-docs

Models and figures are kept in build/benchmarks, so that a run that was stopped goes on, and one part can be
measured --again. Times are medians of runs in turns, on one thread. Real data are read from FOREGONE_DATA or
../shared/data; what is not there is generated, and said to be. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.class_scores import TASKS
from benchmarks.datasets import Dataset, data_folder, load
from benchmarks.forests import Cache
from benchmarks.markdown import put_into
from benchmarks.score_measure import measure
from benchmarks.score_models import DATASETS, MODELS, fitted
from benchmarks.score_splits import REAL, real_splits, simulated
from benchmarks.score_tables import (
    main_table,
    rules_table,
    simulation_table,
    splits_table,
    targets_of,
    targets_table,
)

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "scores.md"
PARTS = ("table", "splits", "simulation")
SIMULATED = ((0.005, 4_000, 50), (0.01, 2_000, 50), (0.01, 8_000, 100))
PACKAGES = ("foregone", "numpy", "scikit-learn", "lightgbm")


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    began = time.time()
    run = Run(options)
    results, splits, draws = run.table(), run.splits(), run.simulation()
    targets = targets_of(results, splits, draws)
    facts = [
        f"- date: {datetime.date.today().isoformat()}",
        f"- command: `make bench-scores` (at most {options.training_rows:,} rows to train forests on and "
        f"{options.boosting_rows:,} for boosted trees, "
        f"{options.rows:,} fresh ones; {options.splits} splits and draws; {options.rounds} rounds of timing)",
        "- versions: Python "
        + ", ".join([platform.python_version(), *(f"{p} {importlib.metadata.version(p)}" for p in PACKAGES)]),
    ]
    if generated := sorted({one["dataset"] for one in results if not one["is_real"]}):
        facts.append(f"- generated, since there are no data: {', '.join(generated)}")
    parts = [
        "\n".join(facts),
        targets_table(targets),
        "### Stopped early\n\n" + main_table(results),
        "### Other rules at the same disagreement\n\n" + rules_table(results),
        "### Random calibrations of real data\n\n" + splits_table(splits),
        "### Simulated calibrations\n\n" + simulation_table(draws),
    ]
    text = "\n\n".join(parts) + "\n"
    print("\n" + text + f"\n{time.time() - began:.0f} s")
    if options.write_docs:
        put_into(DOCS, text)
    return 0 if all(target.is_met for target in targets) else 1


class Run:
    """What is measured, piece by piece; each piece is kept as soon as it is there."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.cache = Cache(options.cache)
        self.loaded: tuple[str, Dataset] | None = None

    def table(self) -> list[dict[str, Any]]:
        """Return the figures of every model on every dataset that is wanted."""
        found = []
        for dataset in self._wanted(DATASETS):
            for model in MODELS:
                found += self._piece("table", f"table {dataset} {model}", self._measure(dataset, model)) or []
        return found

    def splits(self) -> list[dict[str, Any]]:
        """Return how often limits were exceeded over random calibrations of real data."""
        found = []
        for dataset, model, limit in REAL:
            if dataset in self._wanted(DATASETS):
                piece = self._piece("splits", f"splits {dataset} {model}", self._split(dataset, model, limit))
                found += [{"dataset": dataset, "model": model, **piece}] if piece else []
        return found

    def simulation(self) -> list[dict[str, Any]]:
        """Return how often limits were exceeded over drawn calibrations."""
        pieces = [
            self._piece("simulation", "simulation {:g} {} {}".format(*case), self._simulate(case))
            for case in SIMULATED
        ]
        return [piece for piece in pieces if piece]

    def _wanted(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if not self.options.only or name in self.options.only)

    def _data(self, name: str, model: str) -> Dataset:
        options = self.options
        if self.loaded is None or self.loaded[0] != name:
            most = max(options.training_rows, options.boosting_rows)
            self.loaded = name, load(name, options.data or data_folder(), most, options.rows)
        data = self.loaded[1]
        most = options.training_rows if model.startswith("forest") else options.boosting_rows
        return replace(data, X_train=data.X_train[:most], y_train=data.y_train[:most])

    def _measure(self, dataset: str, name: str) -> Callable[[], Any]:
        def work() -> Any:
            data = self._data(dataset, name)
            return measure(
                name, fitted(name, data, self.cache), data, self.options.rounds, self.options.rivals
            )

        return work

    def _split(self, dataset: str, name: str, limit: float) -> Callable[[], Any]:
        def work() -> Any:
            data = self._data(dataset, name)
            return real_splits(fitted(name, data, self.cache), data, limit, self.options.splits)

        return work

    def _simulate(self, case: tuple[float, int, int]) -> Callable[[], Any]:
        return lambda: simulated(*case, self.options.splits)

    def _piece(self, part: str, name: str, work: Callable[[], Any]) -> Any:
        """Return what is kept of a piece, or measure it; None if it is neither kept nor wanted."""
        options = self.options
        rows = f"{options.training_rows} {options.boosting_rows} {options.rows}"
        sizes = f"{rows} {options.rounds if part == 'table' else options.splits}"
        path = self.cache.folder / "scores" / f"{name} {sizes}.json".replace(" ", "_").replace(",", "")
        if part not in options.parts or (path.exists() and not options.again):
            return json.loads(path.read_text()) if path.exists() else None
        began = time.time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a limit that cannot be certified is shown in the table
            found = work()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
        print(f"{name}: {time.time() - began:.0f} s", flush=True)
        return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scores",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    # `make bench-scores` gives the same options to `benchmarks.class_scores`.
    names, parts = {*DATASETS, *TASKS}, {*PARTS, "memory"}
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="these datasets alone")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(PARTS), metavar="PART")
    parser.add_argument("--rows", type=int, default=40_000, help="most fresh rows")
    parser.add_argument("--training-rows", type=int, default=20_000, help="most rows to train forests on")
    parser.add_argument("--boosting-rows", type=int, default=200_000, help="most to train boosted trees on")
    parser.add_argument("--splits", type=int, default=100, help="random calibrations")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of timing")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false", help="leave the other rules out")
    parser.add_argument("--again", action="store_true", help="measure anew what is kept")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder to keep it in"
    )
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/scores.md")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
