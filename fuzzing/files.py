"""Attack every reader with mutants of valid files, and count what the readers do.

    python -m fuzzing files
    python -m fuzzing files --mutations 2000 --formats journal,classifier
    python -m fuzzing files --repeat journal:1234 --formats journal

Mutants are made from a seed, so a second run attacks with the same ones. They are loaded in processes that
are limited in time and memory. A mutant that does harm is saved. Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.markdown import table

from fuzzing.attack import BAD, OUTCOMES, USED, Attack, Result, make_mutant
from fuzzing.formats.format import write_folder
from fuzzing.mutations import Files
from fuzzing.registry import FORMATS
from fuzzing.workers import attack_all

__all__ = ["main", "summary"]

SECONDS = 20.0  # for one mutant
PLACED = ("crash", "memory")  # what ends in an error, which says where


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    names = list(FORMATS) if options.formats is None else options.formats.split(",")
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        print(f"no format {', '.join(unknown)}; there are {', '.join(FORMATS)}", file=sys.stderr)
        return 2
    results: list[Result] = []
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        samples = Path(folder) / "samples"
        _write_samples(names, samples)
        if options.repeat is not None:
            name, _, number = options.repeat.rpartition(":")
            attack = Attack(FORMATS[name], samples / name, Path(folder) / "scratch", options.seed)
            print(attack.run(int(number)))
            return 0
        began = time.monotonic()
        shares = _shares(names, options.mutations)
        settings = {"seed": options.seed, "jobs": options.jobs, "seconds": options.seconds}
        for result in attack_all(shares, Path(folder), **settings):
            results.append(result)
            if result.outcome in BAD:
                _save(result, samples, options.seed, options.output)
        seconds = time.monotonic() - began
    rows = summary(results, names)
    if options.as_json:
        bad = [result._asdict() for result in results if result.outcome in BAD]
        print(json.dumps({"seed": options.seed, "seconds": seconds, "formats": rows, "bad": bad}, indent=1))
    else:
        print(_table(rows))
        rate = len(results) / seconds
        print(f"\n{len(results):,} mutants in {seconds:.0f} s, {rate:.0f} a second; seed {options.seed}")
        kinds = Counter(_kind(result) for result in results if result.outcome in BAD)
        firsts = {_kind(result): result for result in reversed(results)}
        for kind, times in kinds.items():
            first = firsts[kind]
            where = f"{first.format}:{first.number}"
            print(f"{first.outcome} {times} times, such as {where}: {first.detail}")
    return int(any(result.outcome in BAD for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzzing files", description=__doc__.split("\n")[0])
    parser.add_argument("--mutations", type=int, default=100_000, help="mutants in all (default 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="decides the mutants (default 0)")
    parser.add_argument("--formats", metavar="LIST", help="some formats only, with commas between them")
    parser.add_argument(
        "--jobs", type=int, default=_n_cores(), help="processes at a time (default: the cores)"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one mutant (default 20)")
    parser.add_argument(
        "--output", type=Path, default=Path("fuzz-findings"), help="folder for harmful mutants"
    )
    parser.add_argument("--repeat", metavar="FORMAT:NUMBER", help="attack with one mutant in this process")
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON instead of a table")
    return parser


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fast_folder() -> Path | None:
    """Return a folder in memory where the system has one: most of the time would go into writing mutants."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def _write_samples(names: Sequence[str], folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that a sample's forest is no good
        for name in names:
            FORMATS[name].write_samples(folder / name)


def _shares(names: Sequence[str], total: int) -> dict[str, int]:
    """Spread the mutants evenly over the formats."""
    return {name: (total + place) // len(names) for place, name in enumerate(names)}


def _kind(result: Result) -> tuple[str, str, str]:
    """Return what harmful mutants have in common that show the same fault: the lines that were passed."""
    before, _, places = result.detail.rpartition("(")
    return result.format, result.outcome, places if before and result.outcome in PLACED else ""


@functools.cache
def _bases(name: str, samples: Path) -> tuple[list[Files], list[Files]]:
    """Return what mutants of a format are made of: valid samples, and forgeries."""
    valid = FORMATS[name].read_samples(samples / name)
    return valid, FORMATS[name].forge(valid)


def _save(result: Result, samples: Path, seed: int, output: Path) -> None:
    mutant, _ = make_mutant(FORMATS[result.format], *_bases(result.format, samples), seed, result.number)
    folder = output / result.format.replace(" ", "-") / f"{result.outcome}-{seed}-{result.number}"
    write_folder(folder, mutant)
    (folder.with_suffix(".txt")).write_text(f"{result.detail}\n")


def summary(results: Sequence[Result], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return for each format how many mutants came to what, the longest time and the most memory."""
    rows = {}
    for name in names:
        own = [result for result in results if result.format == name]
        counts = Counter(result.outcome for result in own)
        rows[name] = {
            "mutations": len(own),
            **{outcome: counts[outcome] for outcome in OUTCOMES},
            "used": sum(result.detail == USED for result in own),
            "slowest_s": round(max((result.seconds for result in own), default=0.0), 2),
            "peak_mb": round(max((result.memory for result in own), default=0) / 1e6, 1),
        }
    return rows


def _table(rows: dict[str, dict[str, float]]) -> str:
    head = ["format", *next(iter(rows.values()))]
    total = [sum(row[column] for row in rows.values()) for column in head[1:-2]]
    worst = [max(row[column] for row in rows.values()) for column in head[-2:]]
    lines = [[name, *(f"{value:,}" for value in row.values())] for name, row in rows.items()]
    return table(
        [column.replace("_", ", ") for column in head],
        [*lines, ["all", *(f"{value:,}" for value in (*total, *worst))]],
    )
