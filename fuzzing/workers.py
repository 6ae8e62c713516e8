"""attack_all(): many mutants in worker processes, which are started anew when they die or hang."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fuzzing.attack import Result

__all__ = ["attack_all"]

ROOT = Path(__file__).parent.parent
SECONDS_TO_START = 300.0  # imports, and compilation where nothing is compiled yet
AT_ONCE = 50  # mutants in one order to a worker


def attack_all(
    shares: dict[str, int],
    folder: Path,
    *,
    seed: int,
    jobs: int,
    seconds: float,
    worker: str = "fuzzing.worker",
) -> Iterator[Result]:
    """Attack with so many mutants of each format; yield what becomes of each.

    Parameters
    ----------
    shares : dict
        How many mutants of which format.
    folder : Path
        Where the samples are, in ``samples``, and mutants go.
    seed : int
        Decides the mutants.
    jobs : int
        Processes at a time.
    seconds : float
        How long a mutant may take.
    worker : str
        The module that is run, as `fuzzing.worker`.
    """
    orders: queue.SimpleQueue[tuple[str, int, int]] = queue.SimpleQueue()
    for name, total in shares.items():
        for start in range(0, total, AT_ONCE):
            orders.put((name, start, min(start + AT_ONCE, total)))
    found: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()

    def serve(number: int) -> None:
        try:
            command = [sys.executable, "-m", worker, str(folder / "samples")]
            with _Worker(command, folder / f"worker-{number}", seed, seconds) as process:
                while True:
                    for result in process.do(*orders.get_nowait()):
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
        else:
            yield result


class _Worker:
    """A worker process, started anew when it dies or hangs."""

    def __init__(self, command: list[str], folder: Path, seed: int, seconds: float) -> None:
        self._command = [*command, str(folder / "mutant"), str(seed)]
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
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT / "src"), str(ROOT)]
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
