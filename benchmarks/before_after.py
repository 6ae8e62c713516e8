"""Time this checkout of foregone against another one, in one run, to see what a change costs or gains.

    git worktree add --detach ../before COMMIT
    python -m benchmarks.before_after ../before
    python -m benchmarks.before_after ../before --cases solve --rounds 25
    python -m benchmarks.before_after ../before --cases forests boosted --allowed 1
    python -m benchmarks.before_after . --before-cpu generic

Each checkout has a process of its own that prepares the same models and problems; the two take turns, case
by case, and the fastest rounds are compared, in processor time, so that a busy moment does not count. Where a
process happens to lay out its memory makes some calls a tenth slower, so both are started several times. A
ratio above 1 means that this checkout is slower. Exit status 1 if one is above ``--allowed``.

The cases ``forests`` and ``boosted`` are those of `benchmarks.predict` and `benchmarks.boosted`: forests of
101 trees on real data, or on generated rows that stand in for them. They are run only where they are named.
With ``--before-cpu generic``, the other checkout, which may be the same, has its kernels compiled for every
processor of this architecture.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.facts import facts_of
from benchmarks.markdown import as_list, put_into, table

ROOT = Path(__file__).parent.parent
USUAL = ("solve", "votes", "scores", "classes", "committee", "files")
KINDS = (*USUAL, "forests", "boosted")


class Checkout:
    """A process that runs the cases with the foregone of one checkout."""

    def __init__(self, folder: Path, kinds: list[str], cpu: str = "native") -> None:
        if not (folder / "src" / "foregone").is_dir():
            raise SystemExit(f"there is no src/foregone in {folder}")
        path = os.pathsep.join([str(folder.resolve() / "src"), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        if cpu == "generic":
            environment |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        worker = [sys.executable, str(ROOT / "benchmarks" / "before_after_cases.py"), *kinds]
        self.process = subprocess.Popen(
            worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        ready = self._read()
        if Path(ready["foregone"]).resolve() != (folder / "src" / "foregone").resolve():
            raise SystemExit(f"{folder} was to be timed, but {ready['foregone']} was imported")
        self.cases: list[str] = ready["cases"]

    def seconds(self, case: str) -> float:
        """Return the processor time of a call, the mean of as many as make a sample."""
        assert self.process.stdin is not None
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return float(self._read()["seconds"])

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process that runs the cases has ended; its error is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.before_after",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, help="folder of the other checkout")
    parser.add_argument("--cases", nargs="+", choices=KINDS, default=list(USUAL), metavar="KIND")
    parser.add_argument("--before-cpu", choices=("native", "generic"), default="native")
    parser.add_argument("--starts", type=int, default=3, help="times to start both processes (default 3)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per case and process (default 7)")
    parser.add_argument("--allowed", type=float, default=1.03, help="largest allowed ratio (default 1.03)")
    parser.add_argument("--write-docs", help="section of docs/measurements/speed.md to write the table to")
    options = parser.parse_args(arguments)
    times: dict[str, list[tuple[float, float]]] = {}
    for start in range(options.starts):
        before = Checkout(options.before, options.cases, options.before_cpu)
        after = Checkout(ROOT, options.cases)
        for case in after.cases:
            pairs = [(before.seconds(case), after.seconds(case)) for _ in range(options.rounds)]
            times.setdefault(case, []).extend(pairs)
        before.end()
        after.end()
        print(f"start {start + 1} of {options.starts} done", file=sys.stderr, flush=True)
    rows, slower = [], []
    for case, pairs in times.items():
        old, new = (min(seconds) for seconds in zip(*pairs, strict=True))
        ratio, median = new / old, statistics.median(b / a for a, b in pairs)
        rows.append([case, _shown(old), _shown(new), f"{ratio:.3f}", f"{median:.3f}"])
        if min(ratio, median) > options.allowed:
            slower.append(case)
    shown = table(["case", "before", "after", "ratio of the fastest", "median ratio"], rows)
    print(shown)
    if options.write_docs:
        words = [
            "python -m benchmarks.before_after",
            "." if options.before.resolve() == ROOT else "../before",
        ]
        words += ["--cases", *options.cases]
        words += ["--before-cpu", options.before_cpu] if options.before_cpu != "native" else []
        text = f"{as_list(facts_of(' '.join(words)))}\n\n{shown}"
        put_into(ROOT / "docs" / "measurements" / "speed.md", text, options.write_docs)
    if slower:
        print(f"\nslower by more than {options.allowed - 1:.0%}: {', '.join(slower)}")
    return int(bool(slower))


def _shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
