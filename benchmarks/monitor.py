"""Measure monitors: false alarms, rows until drift is detected, real drift, time and memory.

Four parts. ``level``: thousands of simulated streams of a million rows in which nothing changes. ``drift``:
how many rows it takes to find simulated drift, beside a test of fixed size that knows with hindsight where to
look. ``real``: forests on real data, split at random and by a feature. ``speed``: time and memory beside
`predict`. The targets are checked; the exit status is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.datasets import data_folder
from benchmarks.forests import Cache
from benchmarks.guarantee_targets import Target, targets_table
from benchmarks.markdown import put_into, table
from benchmarks.monitored_models import (
    MEMORY_ROWS,
    SIZES,
    SPLITS,
    Cost,
    Memory,
    Stream,
    costs_of,
    draw_figure,
    memory_of,
    streams_of,
)
from benchmarks.monitored_streams import (
    CHANGE,
    FALSE_ALARM,
    drift_table_rows,
    false_alarms,
    interval,
    level_settings,
)

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
PARTS = ("level", "drift", "real", "speed")
MOST_ADDED, MOST_ADDED_TO_ONE_ROW = 0.05, 0.5e-6
MOST_GROWTH = 64 * 1024  # bytes from 100,000 rows to 10 million; the history is full of moments only then


def main(arguments: list[str]) -> int:
    """Measure, print or write the tables, and check the targets."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.monitor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    add(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=PARTS,
        metavar="PART",
        help=f"parts to run: {', '.join(PARTS)}",
    )
    add(
        "--streams",
        type=int,
        default=2000,
        help="simulated streams without drift; a tenth as many with drift",
    )
    add("--splits", type=int, default=20, help="random splits of real data")
    add("--rounds", type=int, default=60, help="rounds of interleaved timing")
    add(
        "--memory-share",
        type=float,
        default=1.0,
        help="share of the 10 million rows of the memory measurement",
    )
    add("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for trained models")
    add("--again", action="store_true", help="repeat measurements that are cached")
    add("--figure", type=Path, default=ROOT / "docs" / "images" / "monitor.png", help="file for the figure")
    add("--write-docs", action="store_true", help="write the tables to docs/measurements/monitoring.md")
    options = parser.parse_args(arguments)
    targets: list[Target] = []
    text = "\n\n".join([*_parts(options, targets), _closing(options, targets)]) + "\n"
    print(text)
    if options.write_docs:
        put_into(ROOT / "docs" / "measurements" / "monitoring.md", text)
    return 0 if all(target.is_met for target in targets) else 1


def _parts(options: argparse.Namespace, targets: list[Target]) -> Iterator[str]:
    """Return the text of every part, and add its targets; what was measured before is kept."""
    sizes = {
        "level": options.streams,
        "drift": options.streams,
        "real": options.splits,
        "speed": options.rounds,
    }
    for part in options.parts:
        path = options.cache / "monitor" / f"{part}-{sizes[part]}.json"
        if options.again or not path.exists():
            began, found = time.time(), list[Target]()
            text = _measured(part, options, found)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"text": text, "targets": found}))
            print(f"{part}: {time.time() - began:.0f} s", file=sys.stderr, flush=True)
        kept = json.loads(path.read_text())
        targets += [Target(*each) for each in kept["targets"]]
        yield kept["text"]


def _measured(part: str, options: argparse.Namespace, targets: list[Target]) -> str:
    folder, cache = options.data or data_folder(), Cache(options.cache)
    if part == "level":
        return _level(options.streams, targets)
    if part == "drift":
        return _drift(max(options.streams // 10, 5))
    if part == "real":
        found = {name: streams_of(name, folder, cache, options.splits) for name in SPLITS}
        draw_figure(found, options.figure)
        return _real(found, targets)
    memory = memory_of(folder, cache, options.memory_share)
    return _speed(costs_of(folder, cache, options.rounds), memory, targets)


def _level(n_streams: int, targets: list[Target]) -> str:
    lines = []
    with ProcessPoolExecutor(2) as workers:
        for setting in level_settings():
            spread, audits = false_alarms(setting, n_streams, workers)
            low, high = interval(spread + audits, n_streams)
            lines.append(
                [setting.title, f"{setting.n_rows:,}", str(spread), str(audits), f"{low:.2%} to {high:.2%}"]
            )
            what = f"{setting.title}, {setting.n_rows:,} rows: share of streams with a false alarm"
            targets.append(Target(what, FALSE_ALARM, (spread + audits) / n_streams))
    head = [
        "nothing changes",
        "calibration rows",
        f"spread, of {n_streams:,}",
        "disagreement",
        "95 % interval",
    ]
    return f"### False alarms\n\n{table(head, lines)}"


def _drift(n_streams: int) -> str:
    with ProcessPoolExecutor(2) as workers:
        spread, audits = drift_table_rows(n_streams, workers)
    since = ["from the start: median", "90 %", f"after {CHANGE:,} rows: median", "90 %", "hindsight"]
    first = table(["rows until the alarm", "calibration rows", *since], spread)
    second = table(["disagreement", "audit", *since], audits)
    return f"### Rows until drift is found\n\n{first}\n\n{second}"


def _real(found: dict[str, list[Stream]], targets: list[Target]) -> str:
    lines = []
    for name, streams in found.items():
        randomly = [stream for stream in streams if stream.change is None]
        false = sum(bool(stream.alarms) for stream in randomly)
        differing = sum(stream.disagreement for stream in randomly) / len(randomly)
        rows = randomly[0].rows[-1]
        said = f"{false} of {len(randomly)} streams of {rows:,} rows"
        lines.append([f"{name}, random splits", f"{differing:.2%}", "", said, ""])
        targets.append(
            Target(f"{name}, random splits: share with an alarm", FALSE_ALARM, false / len(randomly))
        )
        (drifting,) = [stream for stream in streams if stream.change is not None]
        title = f"{name}, {drifting.feature} rising from its median"
        for alarm in drifting.alarms:
            after = alarm.time - (drifting.change or 0)
            lines.append([title, f"{drifting.disagreement:.2%}", f"{after:,}", alarm.kind, alarm.sentence])
            title = ""
        is_found = any(alarm.time > (drifting.change or 0) for alarm in drifting.alarms)
        targets.append(Target(f"{name}, {drifting.feature}: drift that was missed", 0, int(not is_found)))
    head = ["stream", "disagreement", "rows until the alarm", "alarm", "what it said"]
    return f"### Real data\n\n{table(head, lines)}"


def _speed(costs: list[Cost], memory: list[Memory], targets: list[Target]) -> str:
    lines = []
    for cost in costs:
        batches = [
            figure
            for own, added, auditing in zip(cost.own, cost.added, cost.added_auditing, strict=True)
            for figure in (f"{own * 1e9:,.0f} ns", f"{added:+.1%}", f"{auditing:+.1%}")
        ]
        single = [f"{cost.one_row * 1e6:.2f} µs", f"{cost.one_row_added * 1e6:+.2f} µs"]
        lines.append([cost.model, f"{cost.mean_asked:.1f}", *batches, *single])
        for n_rows, added, auditing in zip(SIZES, cost.added, cost.added_auditing, strict=True):
            what = f"{cost.model}: share added, batches of {n_rows:,}"
            targets.append(Target(what, MOST_ADDED, added))
            targets.append(Target(f"{what}, auditing 1 %", MOST_ADDED, auditing))
        targets.append(
            Target(f"{cost.model}: seconds added to one row", MOST_ADDED_TO_ONE_ROW, cost.one_row_added)
        )
    head = ["time", "trees asked"]
    head += [title for n_rows in SIZES for title in (f"a row of {n_rows:,}", "added", "auditing 1 %")]
    head += ["one row", "added"]
    sizes = []
    for one in memory:
        targets.append(
            Target(f"memory by {one.way}: growth in bytes", MOST_GROWTH, one.allocated[1] - one.allocated[0])
        )
        figures = [
            f"{n_bytes / 1024:,.0f} KB"
            for pair in zip(one.state, one.allocated, strict=True)
            for n_bytes in pair
        ]
        sizes.append([f"rows by {one.way}", *figures])
    rows = [title for n_rows in MEMORY_ROWS for title in (f"state after {n_rows:,}", "allocated")]
    return f"### Time and memory\n\n{table(head, lines)}\n\n{table(['memory', *rows], sizes)}"


def _closing(options: argparse.Namespace, targets: list[Target]) -> str:
    how = f"{options.streams:,} streams, {options.splits} splits, {options.rounds} rounds"
    checked = f"### Targets\n\n{targets_table(targets)}\n\n" if targets else ""
    return f"{checked}Measured on {datetime.date.today()} by `make bench-monitor`, {how}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
