"""Attack every reader with mutants of valid files, and count what the readers do.

    python -m fuzzing files
    python -m fuzzing files --mutations 2000 --formats journal,classifier
    python -m fuzzing files --repeat journal:1234 --formats journal

Mutants are made from a seed, so a second run attacks with the same ones. They are loaded in processes that
are limited in time and memory. A mutant that does harm is saved. Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.markdown import table

from fuzzing.attack import BAD, OUTCOMES, USED, Attack, Result, make_mutant
from fuzzing.formats import FORMATS
from fuzzing.formats.format import write_folder

__all__ = ["attack_all", "main", "summary"]

ROOT = Path(__file__).parent.parent
SECONDS = 20.0  # for one mutant
SECONDS_TO_START = 300.0  # imports, and compilation where nothing is compiled yet
AT_ONCE = 50  # mutants in one order to a worker


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    names = list(FORMATS) if options.formats is None else options.formats.split(",")
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        print(f"no format {', '.join(unknown)}; there are {', '.join(FORMATS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        samples = Path(folder) / "samples"
        _write_samples(names, samples)
        if options.repeat is not None:
            name, _, number = options.repeat.rpartition(":")
            print(Attack(name, samples / name, Path(folder) / "scratch", options.seed).run(int(number)))
            return 0
        began = time.monotonic()
        shares = _shares(names, options.mutations)
        results = list(
            attack_all(
                shares, samples, Path(folder), options.seed, options.jobs, options.seconds, options.output
            )
        )
        seconds = time.monotonic() - began
    rows = summary(results, names)
    if options.as_json:
        bad = [result._asdict() for result in results if result.outcome in BAD]
        print(json.dumps({"seed": options.seed, "seconds": seconds, "formats": rows, "bad": bad}, indent=1))
    else:
        print(_table(rows))
        rate = len(results) / seconds
        print(f"\n{len(results):,} mutants in {seconds:.0f} s, {rate:.0f} a second; seed {options.seed}")
        shown: Counter[tuple[str, str]] = Counter()
        for result in results:
            shown[result.format, result.outcome] += 1
            if result.outcome in BAD and shown[result.format, result.outcome] <= options.show:
                print(f"{result.outcome}: {result.format}:{result.number}: {result.detail}")
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
    parser.add_argument("--show", type=int, default=3, help="of each kind of harm, mutants to list")
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


def attack_all(
    shares: dict[str, int], samples: Path, folder: Path, seed: int, jobs: int, seconds: float, output: Path
) -> Iterator[Result]:
    """Attack with so many mutants of each format; yield what becomes of each, and save those that do harm."""
    orders: queue.SimpleQueue[tuple[str, int, int]] = queue.SimpleQueue()
    for name, total in shares.items():
        for start in range(0, total, AT_ONCE):
            orders.put((name, start, min(start + AT_ONCE, total)))
    found: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()

    def serve(number: int) -> None:
        try:
            worker = _Worker(samples, folder / f"worker-{number}", seed, seconds)
            with worker:
                while True:
                    for result in worker.do(*orders.get_nowait()):
                        found.put(result)
        except queue.Empty:
            found.put(None)
        except BaseException as error:
            found.put(error)

    threads = [threading.Thread(target=serve, args=(number,), daemon=True) for number in range(jobs)]
    for thread in threads:
        thread.start()
    ended = 0
    while ended < jobs:
        result = found.get()
        if isinstance(result, BaseException):
            raise result
        if result is None:
            ended += 1
            continue
        if result.outcome in BAD:
            _save(result, samples, seed, output)
        yield result


def _save(result: Result, samples: Path, seed: int, output: Path) -> None:
    format = FORMATS[result.format]
    valid = format.read_samples(samples / result.format)
    mutant, _ = make_mutant(format, valid, format.forge(valid), seed, result.number)
    folder = output / result.format.replace(" ", "-") / f"{result.outcome}-{seed}-{result.number}"
    write_folder(folder, mutant)
    (folder.with_suffix(".txt")).write_text(f"{result.detail}\n")


class _Worker:
    """A worker process, started anew when it dies or hangs."""

    def __init__(self, samples: Path, folder: Path, seed: int, seconds: float) -> None:
        self._command = [
            sys.executable,
            "-m",
            "fuzzing.worker",
            str(samples),
            str(folder / "mutant"),
            str(seed),
        ]
        self._seconds = seconds
        self._errors = folder / "stderr"
        folder.mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[str] = set()
        self._report = b""

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with self._errors.open("w") as errors:
            return subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )  # fmt: skip

    def _stop(self) -> int:
        """End the process and return its status."""
        process, self._process, self._report = self._process, None, b""
        self._known.clear()
        if process is None:
            return 0
        process.kill()
        process.stdin.close()
        process.stdout.close()
        return process.wait()

    def do(self, name: str, start: int, end: int) -> Iterator[Result]:
        """Attack with the mutants of these numbers."""
        while start < end:
            self._process = self._process or self._start()
            self._process.stdin.write(json.dumps([name, start, end]).encode() + b"\n")
            self._process.stdin.flush()
            for number in range(start, end):
                outcome = self._one(name, number)
                yield outcome
                start = number + 1
                if outcome.outcome in ("died", "hang"):
                    break

    def _one(self, name: str, number: int) -> Result:
        first = name not in self._known
        begins = self._line(SECONDS_TO_START if first else self._seconds)
        if not begins:
            status = self._stop()
            said = self._errors.read_text()[-2000:]
            raise RuntimeError(f"a worker ended with status {status} before {name}:{number}:\n{said}")
        self._known.add(name)
        line = self._line(self._seconds)
        if line is None:
            self._stop()
            return Result(name, number, "hang", f"no end within {self._seconds:g} s", self._seconds)
        if not line:
            status = self._process.wait()
            self._stop()
            return Result(name, number, "died", f"exit status {status}: {_first_lines(self._errors)}")
        return Result(*json.loads(line))

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line of the report: None if there is none in time, an empty one at its end."""
        stream = self._process.stdout.fileno()
        until = time.monotonic() + seconds
        while b"\n" not in self._report:
            if not select.select([stream], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            some = os.read(stream, 1 << 16)
            if not some:
                return b""
            self._report += some
        line, _, self._report = self._report.partition(b"\n")
        return line


def _first_lines(file: Path) -> str:
    lines = [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-12:])[:600]


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
