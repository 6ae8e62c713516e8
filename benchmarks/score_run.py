"""Shared parts of `benchmarks.scores` and `benchmarks.class_scores`: options, cached results, the report."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import Dataset
from benchmarks.forests import Cache
from benchmarks.markdown import put_into
from benchmarks.score_tables import Target, targets_table

__all__ = ["ROOT", "KeptPieces", "options_of", "publish"]

ROOT = Path(__file__).parent.parent
# `make bench-scores` gives the same options to both: each takes what is for the other, and leaves it alone.
DATASETS = ("diabetes", "income", "ground_cover", "hospitalization", "digits", "shuttle", "education")
PARTS = ("table", "splits", "simulation", "memory")


def options_of(
    arguments: list[str], program: str, description: str | None, **defaults: int
) -> argparse.Namespace:
    """Return the options of a run; ``defaults`` are numbers of rows and rounds."""
    parser = argparse.ArgumentParser(
        prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    add("--only", nargs="+", choices=DATASETS, metavar="NAME", help="only these datasets")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    add("--rows", type=int, help="largest number of test rows")
    add("--training-rows", type=int, help="largest number of training rows")
    add(
        "--boosting-rows",
        type=int,
        default=200_000,
        help="largest number of training rows for boosted trees of two classes",
    )
    add("--splits", type=int, default=100, help="random calibrations")
    add("--rounds", type=int, help="rounds of timing")
    add("--no-rivals", dest="rivals", action="store_false", help="omit the other rules")
    add("--again", action="store_true", help="repeat measurements that are cached")
    add(
        "--cache",
        type=Path,
        default=ROOT / "build" / "benchmarks",
        help="folder for cached measurements and models",
    )
    add("--write-docs", action="store_true", help="write the tables to the docs")
    parser.set_defaults(**defaults)
    return parser.parse_args(arguments)


class KeptPieces:
    """What is measured, piece by piece; each piece is kept as soon as it is there."""

    folder: str  # within the cache

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.cache = Cache(options.cache)
        self.loaded: tuple[str, Dataset] | None = None

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Return those of the datasets that are asked for."""
        return [name for name in names if not self.options.only or name in self.options.only]

    def piece(self, part: str, name: str, sizes: str, work: Callable[[], Any]) -> Any:
        """Return what is kept of a piece, or measure it; None if it is neither kept nor wanted."""
        options = self.options
        file = f"{name} {sizes}.json".replace(" ", "_").replace(",", "")
        path = self.cache.folder / self.folder / file
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


def publish(
    options: argparse.Namespace,
    docs: Path,
    sizes: str,
    packages: Sequence[str],
    results: Sequence[dict[str, Any]],
    targets: Sequence[Target],
    tables: dict[str, str],
) -> int:
    """Print what was measured, put it into the docs if asked, and return the exit status."""
    versions = [platform.python_version(), *(f"{p} {importlib.metadata.version(p)}" for p in packages)]
    facts = [
        f"- date: {datetime.date.today().isoformat()}",
        f"- command: `make bench-scores` ({sizes})",
        f"- versions: Python {', '.join(versions)}",
    ]
    if generated := sorted({one["dataset"] for one in results if not one["is_real"]}):
        facts.append(f"- generated, since there are no data: {', '.join(generated)}")
    sections = [f"### {title}\n\n{table}" for title, table in tables.items()]
    text = "\n\n".join(["\n".join(facts), targets_table(targets), *sections]) + "\n"
    print("\n" + text)
    if options.write_docs:
        put_into(docs, text)
    return 0 if all(target.is_met for target in targets) else 1
