"""Test that limits are kept: in simulated calibrations, by classifiers in use, and on real data.

    python -m benchmarks.guarantees
    python -m benchmarks.guarantees --draws 50 --splits 1 --seeds 10
    python -m benchmarks.guarantees --write-docs

Exit status 1 if a target is missed. All draws have fixed seeds, so a second run gives the same figures. Real
data are read from FOREGONE_DATA or ../shared/data; what is not there is left out and named.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

from benchmarks.calibrations import Case, Outcome, simulate
from benchmarks.classifier_in_use import LIMITS, REAL, SETTINGS, InUse, in_use, in_use_on_real_data
from benchmarks.datasets import data_folder
from benchmarks.forests import Cache
from benchmarks.guarantee_tables import (
    class_table,
    in_use_table,
    luck_table,
    overall_table,
    risk_table,
    variants_table,
)
from benchmarks.guarantee_targets import targets_in_use, targets_of, targets_table
from benchmarks.markdown import put_into
from benchmarks.rare_classes import NAMES, WITH_LUCK, Luck, Risk, luck, risks, votes_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "measurements" / "guarantees.md"
SHAPES = ((0.15, 0.15), (0.4, 0.6), (0.1, 1.2), (2.0, 2.0), (0.02, 0.02))
CLASS_SHAPES = ((0.1, 1.2), (0.05, 3.0))
ROWS = (100, 300, 1_000, 5_000, 20_000)
VARIANT_ROWS = 1_000
REAL_SEEDS = 20
NO_DATA = "Left out, since there are no data."
LIMIT, CONFIDENCE = 1e-3, 0.95
EACH = {"yes": LIMIT, "no": LIMIT}
CONFIDENT = {"confidence": CONFIDENCE}


def cases(n_draws: int) -> dict[str, list[Case]]:
    """Return all that is simulated, by the table it is for."""
    return {
        "overall": [
            Case(shape, n_rows, n_draws, LIMIT, criterion, options)
            for shape in SHAPES
            for n_rows in ROWS
            for criterion, options in (("minimean", {}), ("minimean", CONFIDENT), ("minimixed", {}))
        ],
        "classes": [
            Case(shape, n_rows, n_draws, EACH, "minimean", options)
            for shape in CLASS_SHAPES
            for n_rows in ROWS
            for options in ({}, CONFIDENT)
        ],
        "variants": [
            Case(shape, VARIANT_ROWS, n_draws, LIMIT, "minimean", CONFIDENT | options)
            for shape in SHAPES
            for options in ({"looks": 10}, {"answer": "likeliest"})
        ],
    }


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    began = time.time()
    cache = Cache(options.cache)
    outcomes = _simulate_all(options.draws, options.workers)
    generated, real = _run_all(options.seeds, cache, options.workers)
    found, lucks, left_out = _real_data(options.splits, options.orders, cache)
    targets = targets_of(outcomes) + targets_in_use(generated, real)
    facts = [
        f"- date: {datetime.date.today().isoformat()}",
        f"- command: `make bench-guarantees` ({options.draws} calibrations drawn for each figure of the "
        f"simulations, {options.seeds} seeds for each classifier in use, {options.splits} splits of each "
        f"dataset, {options.orders} shared orders)",
        f"- versions: Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("foregone", "numpy", "scipy", "scikit-learn")),
    ]
    parts = [
        "\n".join(facts),
        "### Targets\n\n" + targets_table(targets),
        "### The classifier in use\n\n" + in_use_table(generated),
        "### The classifier in use: real data\n\n" + (in_use_table(real) if real else NO_DATA),
        "### One limit: simulated calibrations\n\n" + overall_table(outcomes["overall"]),
        "### A limit for each class: simulated calibrations\n\n" + class_table(outcomes["classes"]),
        "### Looks and likeliest answers: simulated calibrations\n\n" + variants_table(outcomes["variants"]),
        "### Real data: the rare class\n\n" + (risk_table(found) if found else left_out),
        "### Real data: one shared order\n\n" + (luck_table(lucks) if lucks else left_out),
    ]
    text = "\n\n".join(parts) + "\n"
    print("\n" + text + (left_out and f"\n{left_out}"))
    print(f"{time.time() - began:.0f} s")
    if options.write_docs:
        put_into(DOCS, text)
    missed = [target for target in targets if not target.is_met]
    for target in missed:
        print(f"MISSED: {target.what}: {target.reached:.4g}, at most {target.most:.4g} wanted")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.guarantees",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--draws", type=int, default=200, help="simulated calibrations per figure")
    parser.add_argument("--seeds", type=int, default=60, help="classifiers in use per figure")
    parser.add_argument("--splits", type=int, default=5, help="splits of each real dataset")
    parser.add_argument("--orders", type=int, default=200, help="shared orders drawn on the first split")
    parser.add_argument("--workers", type=int, default=2, help="processes for the simulations")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for votes")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/guarantees.md"
    )
    return parser


def _simulate_all(n_draws: int, n_workers: int) -> dict[str, list[Outcome]]:
    wanted = cases(n_draws)
    with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
        running = {name: [pool.submit(simulate, case) for case in some] for name, some in wanted.items()}
        outcomes = {}
        for name, futures in running.items():
            outcomes[name] = [future.result() for future in futures]
            print(f"simulated: {name}", flush=True)
    return outcomes


def _run_all(n_seeds: int, cache: Cache, n_workers: int) -> tuple[list[InUse], list[InUse]]:
    """Run classifiers in every setting, and on the real data that are there."""
    folder = data_folder()
    there = [name for name in REAL if folder is not None and (folder / f"{name}.parquet").exists()]
    with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
        on_real = [pool.submit(in_use_on_real_data, name, folder, REAL_SEEDS, cache) for name in there]
        running = [pool.submit(in_use, name, limit, n_seeds) for name in SETTINGS for limit in LIMITS]
        generated = [future.result() for future in running]
        print("run: classifiers in use", flush=True)
        return generated, [one for future in on_real for one in future.result()]


def _real_data(n_splits: int, n_orders: int, cache: Cache) -> tuple[list[Risk], list[Luck], str]:
    folder = data_folder()
    there = [name for name in NAMES if folder is not None and (folder / f"{name}.parquet").exists()]
    found, lucks = [], []
    for name in there:
        for split in range(n_splits):
            votes = votes_of(name, folder, split, cache)
            found += risks(votes)
            if split == 0:
                lucks += [luck(votes, mode, n_orders) for mode in WITH_LUCK]
            print(f"{name}: split {split}", flush=True)
    missing = ", ".join(name for name in NAMES if name not in there)
    return found, lucks, missing and f"Left out, since there are no data: {missing}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
