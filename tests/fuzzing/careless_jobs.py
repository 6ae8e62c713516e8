"""Jobs with faults for the harness to find: python -m tests.fuzzing.careless_jobs OPTIONS."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from fuzzing.jobs import JOBS, Job

from fuzzing import kills

STEPS = range(12)


def _careful(inputs: Path, work: Path) -> int:
    """Keep what is finished, and put every file in its place whole."""
    for step in STEPS:
        file = work / "out" / f"{step}.txt"
        if not file.exists():
            part = work / f"{step}.part"
            part.write_text(f"{step}\n" * 1_000)
            time.sleep(0.005)
            part.replace(file)
    return 0


def _forgetful(inputs: Path, work: Path) -> int:
    """Do everything again."""
    for file in (work / "out").iterdir():
        file.unlink()
    return _careful(inputs, work)


def _hasty(inputs: Path, work: Path) -> int:
    """Take a file that is half written for a finished one."""
    for step in STEPS:
        file = work / "out" / f"{step}.txt"
        if not file.exists():
            for _ in range(10):  # of these operations, which jobs are killed before, all but one see a half
                with file.open("a") as stream:
                    stream.write(f"{step}\n")
    return 0


def _untidy(inputs: Path, work: Path) -> int:
    """Leave a note behind that only an undisturbed run removes."""
    note = work / "out" / f"note-{time.monotonic_ns()}"
    note.touch()
    status = _careful(inputs, work)
    note.unlink()
    return status


def _abandoning(inputs: Path, work: Path) -> int:
    """Leave a process behind that only an undisturbed run ends."""
    helper = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(100)"])
    status = _careful(inputs, work)
    helper.kill()
    helper.wait()
    return status


def _stubborn(inputs: Path, work: Path) -> int:
    """Refuse to go on."""
    if any((work / "out").iterdir()):
        return 2
    return _careful(inputs, work)


RUNS = {
    "careful": _careful,
    "forgetful": _forgetful,
    "hasty": _hasty,
    "untidy": _untidy,
    "abandoning": _abandoning,
    "stubborn": _stubborn,
}

if __name__ == "__main__":
    kills.SECONDS_TO_FOLLOW = 0.3
    for name, run in RUNS.items():
        JOBS[name] = Job(name, lambda inputs: None, run, lambda inputs: None, "*.txt")
    sys.exit(kills.main([*sys.argv[1:], "--jobs-named", ",".join(RUNS)]))
